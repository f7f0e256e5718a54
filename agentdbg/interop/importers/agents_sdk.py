"""
Traces of the OpenAI Agents SDK, as its exporters send them: traces and spans in a list, under `data`, or one on each
line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, read_arguments
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value
from agentdbg.interop.importers.span_trees import MODEL, SPAN, TOOL, Node, Trace, runs_of
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.sources import Source

TITLE = "OpenAI Agents trace"

_MODELS = frozenset({"generation", "response", "transcription", "speech"})


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_item(item) for _, document in source.documents[:5] for item in _items(document)[:3])


def _is_item(item: Any) -> bool:
    told = as_dict(item)
    return told.get("object") in ("trace", "trace.span") and "id" in told


def _items(document: Any) -> list[Any]:
    if isinstance(document, list):
        return [inner for item in document for inner in (_items(item) if "data" in as_dict(item) else [item])]
    told = as_dict(document)
    if isinstance(told.get("data"), list):
        return as_list(told["data"])
    if told.get("object") == "trace" and isinstance(told.get("spans"), list):
        return [document, *told["spans"]]
    return [document]


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, Trace] = {}
    for place, document in source.documents:
        for number, item in enumerate(_items(document), 1):
            if not _is_item(item):
                yield EntryProblem(f"{place}, entry {number}".removeprefix(", "), "neither a trace nor a span")
            elif item["object"] == "trace":
                _head(traces.setdefault(str(item["id"]), Trace(str(item["id"]))), item)
            else:
                trace_id = str(item.get("trace_id", ""))
                traces.setdefault(trace_id, Trace(trace_id)).add(_node(item))
    for trace in traces.values():
        _ask(trace)
    yield from runs_of(traces, source, "agents_sdk", "openai-agents")


def _head(trace: Trace, item: dict[str, Any]) -> None:
    trace.name = as_word(item.get("workflow_name"))
    metadata = as_dict(item.get("metadata"))
    trace.facts.update({"session_id": item.get("group_id"), "metadata": metadata, "user_id": metadata.get("user_id")})


def _ask(trace: Trace) -> None:
    """A trace's input and output are those of its first and last model calls; it has none of its own."""
    calls = sorted(
        (node for node in trace.nodes.values() if node.kind == MODEL), key=lambda node: node.started_ms or 0.0
    )
    if calls:
        trace.input, trace.output = calls[0].input, calls[-1].output
    failed = [node.error for node in trace.nodes.values() if not node.parent_id and node.error is not None]
    trace.error = failed[0] if failed else None


def _node(item: dict[str, Any]) -> Node:
    data = as_dict(item.get("span_data"))
    kind = as_word(data.get("type"))
    node = Node(
        span_id=str(item["id"]),
        parent_id=as_word(item.get("parent_id")),
        name=_name(data, kind),
        kind=MODEL if kind in _MODELS else TOOL if kind in ("function", "mcp_tools") else SPAN,
        started_ms=moment_ms(item.get("started_at")),
        ended_ms=moment_ms(item.get("ended_at")),
        input=read_arguments(data.get("input")),
        output=data.get("output"),
        error=_error(item.get("error")),
    )
    if node.kind == MODEL:
        _model(node, data)
    elif kind == "function":
        node.output = read_arguments(data.get("output"))
        if as_dict(data.get("mcp_data")):
            node.meta["mcp"] = data["mcp_data"]
    elif kind == "mcp_tools":
        node.input, node.output = {"server": data.get("server")}, data.get("result")
    else:
        rest = {
            key: value for key, value in data.items() if key not in ("type", "name") and value not in (None, [], {})
        }
        node.input = rest or None
    return node


def _model(node: Node, data: dict[str, Any]) -> None:
    config, response = as_dict(data.get("model_config")), as_dict(data.get("response"))
    node.input = messages_in_value(data.get("input"))
    told = data.get("output") if data.get("output") is not None else response.get("output")
    node.output = answer_in(told) if told is not None else None
    usage = as_dict(data.get("usage")) or as_dict(response.get("usage"))
    node.said = {
        "model": data.get("model") or response.get("model") or ("response" if data["type"] == "response" else None),
        "provider": "openai",
        "temperature": config.get("temperature", response.get("temperature")),
        "usage": usage or None,
        "tools": response.get("tools"),
    }
    if as_word(data.get("response_id")):
        node.meta["response_id"] = data["response_id"]


def _name(data: dict[str, Any], kind: str) -> str:
    if kind == "handoff":
        return f"handoff: {data.get('from_agent')} → {data.get('to_agent')}"
    if kind == "mcp_tools":
        return "mcp_tools"
    return as_word(data.get("name")) or kind or "span"


def _error(told: Any) -> dict[str, Any] | None:
    error = as_dict(told)
    if not error:
        return {"error_type": "Error", "message": told} if isinstance(told, str) and told else None
    data = as_dict(error.get("data"))
    message = as_word(error.get("message"))
    inner = as_word(data.get("error"))
    return {
        "error_type": "AgentsError",
        "message": f"{message}: {inner}" if inner else message,
        "details": data or None,
    }
