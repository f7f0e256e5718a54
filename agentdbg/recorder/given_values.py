"""
What a caller gave, of whatever type, read without trusting it: a meta, and the result of a tool.

A tool of MCP that failed answers like any other and sets `isError`; the reason stands in the content, for the model to
read.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from agentdbg.faults import pass_on
from agentdbg.user_code import UserCode, mapping_items

__all__ = ["NO_MCP_RESULTS", "as_mapping", "mcp_failure", "text_of", "with_effect"]

_MOST_ENTRIES = 10_000
"""More than any event can hold; a mapping of the user's may have no end."""


def as_mapping(meta: Any) -> dict[str, Any]:
    """What was given as meta, as a table; under `meta` where it is none."""
    if issubclass(type(meta), dict):  # not isinstance: that asks the object, which may lie or raise
        return dict(mapping_items(meta, _MOST_ENTRIES))
    table = UserCode().call(meta, _read_table, dict)
    return table if isinstance(table, dict) else {"meta": meta}


def _read_table(meta: Any) -> dict[str, Any] | None:
    if isinstance(meta, (list, tuple)):  # never an iterator, here or as a pair: that would use it up
        pairs = list(islice(meta, _MOST_ENTRIES))
        return dict(pairs) if all(type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs) else None
    if hasattr(type(meta), "keys"):  # of the type: a mock has whatever it is asked for
        return {key: meta[key] for key in islice(meta.keys(), _MOST_ENTRIES)}
    return None


def with_effect(meta: Any, effect: Any) -> dict[str, Any]:
    """The meta of a tool call whose effect was declared with it."""
    return {**({} if meta is None else as_mapping(meta)), "effect": effect}


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
