"""
What the result of an MCP tool says about itself.

A tool that failed answers like any other and sets `isError`; the reason stands in the content, for the model to read.
"""

from __future__ import annotations

from typing import Any

__all__ = ["NO_MCP_RESULTS", "mcp_failure", "text_of"]

NO_MCP_RESULTS = frozenset({type(None), str, int, float, bool, bytes, list, tuple, set})
"""What most tools return, for a quick look before `mcp_failure`."""
_SILENT = "the MCP tool returned an error without a text"


def mcp_failure(result: Any) -> dict[str, Any] | None:
    """The error that a tool's result is, if it is an MCP result with `isError` set, as an object or as a dict."""
    fields: Any = result if isinstance(result, dict) else vars(result) if _is_result(result) else {}
    failed = fields.get("isError", fields.get("is_error"))
    content = fields.get("content")
    if failed is not True or not isinstance(content, (list, tuple)):
        return None
    return {"error_type": "MCPToolError", "message": text_of(content) or _SILENT}


def text_of(blocks: Any) -> str:
    """The words in a list of content blocks, or in what stands in the place of one."""
    if isinstance(blocks, str):
        return blocks
    if not isinstance(blocks, (list, tuple)):
        return ""
    texts = [block if isinstance(block, str) else _field(block, "text") for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _is_result(value: Any) -> bool:
    return any(kind.__name__ == "CallToolResult" for kind in type(value).__mro__) and hasattr(value, "__dict__")


def _field(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, dict) else getattr(block, name, None)
