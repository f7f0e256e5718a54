"""
What the result of an MCP tool says about itself.

A tool that failed answers like any other and sets `isError`; the reason stands in the content, for the model to read.
"""

from __future__ import annotations

from typing import Any

from agentdbg.faults import pass_on

__all__ = ["NO_MCP_RESULTS", "mcp_failure", "text_of"]

NO_MCP_RESULTS = frozenset({type(None), str, int, float, bool, bytes, list, tuple, set})
"""What most tools return, for a quick look before `mcp_failure`."""
_SILENT = "the MCP tool returned an error without a text"


def mcp_failure(result: Any) -> dict[str, Any] | None:
    """The error that a tool's result is, if it is an MCP result with `isError` set, as an object or as a dict."""
    if not (issubclass(type(result), dict) or _is_result(result)):
        return None
    failed = _field(result, "isError")
    content = _field(result, "content")
    if (failed if failed is not None else _field(result, "is_error")) is not True:
        return None
    if not issubclass(type(content), (list, tuple)):
        return None
    return {"error_type": "MCPToolError", "message": text_of(content) or _SILENT}


def text_of(blocks: Any) -> str:
    """The words in a list of content blocks, or in what stands in the place of one."""
    if issubclass(type(blocks), str):
        return str(blocks)
    if not issubclass(type(blocks), (list, tuple)):
        return ""
    texts = [block if issubclass(type(block), str) else _field(block, "text") for block in blocks]
    return "\n".join(text for text in texts if type(text) is str and text)


def _is_result(value: Any) -> bool:
    return any(kind.__name__ == "CallToolResult" for kind in type(value).__mro__)


def _field(block: Any, name: str) -> Any:
    """What stands under a name in a dict or an object, without asking any code of theirs."""
    if issubclass(type(block), dict):
        return dict.get(block, name)
    try:
        fields = object.__getattribute__(block, "__dict__")
    except AttributeError as error:
        pass_on(error)
        return None
    return dict.get(fields, name) if issubclass(type(fields), dict) else None
