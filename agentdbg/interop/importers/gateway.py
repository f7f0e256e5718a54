"""
Logs of gateways that model calls go through: LiteLLM (what its loggers are given, and the rows of its spend logs) and
Helicone (requests, from the API or the pages).

A gateway sees the calls of a model and nothing between them. Those of one trace or session are one run; a call that
names neither is a run by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import amount
from agentdbg.interop.drafts import EntryProblem, read_arguments
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value, stop_reason_in, usage_in
from agentdbg.interop.importers.span_trees import MODEL, TOOL, Node, Trace, error_in_words, listed_in, runs_of
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.sources import Source

TITLE = "gateway log"

_WRAPPERS = ("data", "logs", "requests", "results")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_LEAST_FAILURE = 400
"""The first HTTP status that says a request failed."""


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_known(item) for _, document in source.documents[:5] for item in listed_in(document, _WRAPPERS)[:3])


def _is_known(item: Any) -> bool:
    return _is_of_litellm(item) or _is_of_helicone(item)


def _is_of_litellm(item: Any) -> bool:
    told = as_dict(item)
    return isinstance(told.get("call_type"), str) and "startTime" in told and ("spend" in told or "model" in told)


def _is_of_helicone(item: Any) -> bool:
    told = as_dict(item)
    return "request_id" in told and "request_created_at" in told and ("request_body" in told or "response_id" in told)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, Trace] = {}
    for place, document in source.documents:
        for number, item in enumerate(listed_in(document, _WRAPPERS), 1):
            if not _is_known(item):
                where = place if item is document else f"{place}, entry {number}".removeprefix(", ")
                yield EntryProblem(where, "no request that a gateway logged")
                continue
            of, node, facts = _of_litellm(item) if _is_of_litellm(item) else _of_helicone(item)
            trace = traces.setdefault(of or node.span_id, Trace(of or node.span_id, is_log=True))
            trace.add(node)
            trace.facts.update({key: value for key, value in facts.items() if value})
            trace.name = as_word(trace.facts.get("session_name"))
    yield from runs_of(traces, source, "gateway", "gateway")


def _of_litellm(item: dict[str, Any]) -> tuple[str, Node, dict[str, Any]]:
    metadata = as_dict(read_arguments(item.get("metadata")))
    request = as_dict(read_arguments(item.get("proxy_server_request")))
    request = as_dict(read_arguments(request.get("body"))) or request
    response = read_arguments(item.get("response"))
    given = read_arguments(item.get("messages")) or messages_in_value(request) or None
    parameters = as_dict(item.get("model_parameters")) or request
    model, prefix = as_word(item.get("model")), as_word(item.get("custom_llm_provider"))
    node = Node(
        span_id=as_word(item.get("id")) or as_word(item.get("request_id")) or str(item["startTime"]),
        parent_id="",
        name=model or item["call_type"],
        kind=TOOL if item["call_type"] == "call_mcp_tool" else MODEL,
        started_ms=moment_ms(item["startTime"]),
        ended_ms=moment_ms(item.get("endTime")),
        input=messages_in_value(given),
        output=answer_in(response) or None,
        error=_failure_of_litellm(item, metadata),
    )
    if node.kind == TOOL:
        called = as_dict(metadata.get("mcp_tool_call_metadata"))
        node.name = as_word(called.get("name")) or node.name
        node.input = called.get("arguments", node.input)
    else:
        node.said = {
            "model": model,
            "provider": prefix,
            "temperature": parameters.get("temperature"),
            "tools": as_list(parameters.get("tools")),
            "usage": _used(item, usage_in(response) or as_dict(metadata.get("usage_object"))),
            "cost_usd": amount(item.get("response_cost", item.get("spend"))) if node.error is None else None,
            "stop_reason": stop_reason_in(response),
        }
    of = as_word(item.get("session_id")) or as_word(item.get("trace_id"))
    facts = {
        "session_id": item.get("session_id"),
        "user_id": item.get("end_user") or item.get("user"),
        "tags": as_list(read_arguments(item.get("request_tags"))),
    }
    return of, node, facts


def _failure_of_litellm(item: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any] | None:
    status = as_word(item.get("status")) or as_word(metadata.get("status"))
    told = as_dict(item.get("error_information")) or as_dict(metadata.get("error_information"))
    words = as_word(item.get("error_str")) or as_word(told.get("error_message"))
    if status != "failure" and not words:
        return None
    error = error_in_words(words) or {"error_type": "Error", "message": "the request failed"}
    error["error_type"] = as_word(told.get("error_class")) or error["error_type"]
    return error


def _of_helicone(item: dict[str, Any]) -> tuple[str, Node, dict[str, Any]]:
    request = as_dict(read_arguments(item.get("request_body")))
    response = read_arguments(item.get("response_body"))
    properties = as_dict(item.get("request_properties")) or as_dict(item.get("properties"))
    is_tool = request.get("_type") == "tool"
    began, lasted = moment_ms(item["request_created_at"]), amount(item.get("delay_ms"))
    ended = moment_ms(item.get("response_created_at"))
    node = Node(
        span_id=str(item["request_id"]),
        parent_id="",
        name=as_word(request.get("toolName")) or as_word(item.get("request_model")) or "request",
        kind=TOOL if is_tool else MODEL,
        started_ms=began,
        ended_ms=began + lasted if began is not None and lasted is not None else ended,
        error=_failure_of_helicone(item, response),
    )
    if is_tool:
        node.input, node.output = request.get("input"), as_dict(response).get("output", response)
    else:
        given, tools = messages_in_value(request), as_list(request.get("tools"))
        model = item.get("response_model") or item.get("model") or item.get("request_model") or request.get("model")
        node.input = given
        node.output = None if node.error is not None else answer_in(response)
        node.said = {
            "model": model,
            "provider": as_word(item.get("provider")).lower(),
            "temperature": request.get("temperature"),
            "tools": tools,
            "usage": _used(item, usage_in(response)),
            "cost_usd": item.get("costUSD", item.get("cost")),
            "stop_reason": stop_reason_in(response),
        }
    scores = {name: as_dict(told).get("value", told) for name, told in as_dict(item.get("scores")).items()}
    if scores:
        node.meta["scores"] = scores
    facts = {
        "session_id": properties.get("Helicone-Session-Id"),
        "session_name": properties.get("Helicone-Session-Name"),
        "user_id": item.get("request_user_id"),
    }
    return as_word(properties.get("Helicone-Session-Id")), node, facts


def _failure_of_helicone(item: dict[str, Any], response: Any) -> dict[str, Any] | None:
    status = item.get("response_status")
    told = as_dict(as_dict(response).get("error"))
    if not (isinstance(status, int) and status >= _LEAST_FAILURE):
        return None
    message = as_word(told.get("message")) or as_word(as_dict(response).get("error")) or f"HTTP status {status}"
    return {"error_type": as_word(told.get("type")) or f"HTTP {status}", "message": message}


def _used(item: dict[str, Any], told: dict[str, Any] | None) -> dict[str, Any] | None:
    """The counts beside a request, with what its response adds to them (cached and reasoning tokens)."""
    counted = {key: item.get(key) for key in _COUNTS}
    if not any(counted.values()):
        return told or None
    details = {key: value for key, value in as_dict(told).items() if key.endswith("_details")}
    return {**counted, **details}
