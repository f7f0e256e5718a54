"""
MLflow traces, as `mlflow.search_traces`, the API and the pages give them: a trace with `info` and `data.spans`.

What a span's attributes hold is JSON in a text. Assessments become the run's scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, read_arguments
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value, stop_reason_in, usage_in
from agentdbg.interop.importers.span_trees import MODEL, SPAN, TOOL, Node, Trace, runs_of
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.sources import Source

TITLE = "MLflow trace"

_KINDS = {"LLM": MODEL, "CHAT_MODEL": MODEL, "EMBEDDING": MODEL, "TOOL": TOOL, "RETRIEVER": TOOL, "RERANKER": TOOL}


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_spans(item) is not None for _, document in source.documents[:5] for item in _items(document)[:3])


def _items(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    inside = as_dict(document).get("traces")
    return inside if isinstance(inside, list) else [document]


def _spans(item: Any) -> list[Any] | None:
    """The spans of a trace, if they are MLflow's; `search_traces` writes rows with columns instead."""
    told = as_dict(item)
    data = as_dict(read_arguments(told.get("data")))
    spans = data.get("spans", told.get("spans"))
    spans = read_arguments(spans) if isinstance(spans, str) else spans
    if not isinstance(spans, list):
        return None
    is_theirs = "info" in told or "trace_id" in told or "request_id" in told
    return spans if is_theirs and any(_is_span(each) for each in spans[:3]) else None


def _is_span(item: Any) -> bool:
    attributes = as_dict(as_dict(item).get("attributes"))
    return any(name.startswith("mlflow.") for name in attributes) or "span_type" in as_dict(item)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, Trace] = {}
    for place, document in source.documents:
        for number, item in enumerate(_items(document), 1):
            where = f"{place}, entry {number}".removeprefix(", ")
            spans = _spans(item)
            if spans is None:
                yield EntryProblem(where, "no trace of MLflow: it has no spans")
                continue
            trace = _trace(item, where)
            traces[trace.trace_id] = trace
            for each in spans:
                if isinstance(each, dict):
                    trace.add(_node(each))
                else:
                    yield EntryProblem(where, "a span is not an object, left out")
    yield from runs_of(traces, source, "mlflow", "mlflow")


def _trace(item: dict[str, Any], where: str) -> Trace:
    info = as_dict(read_arguments(item.get("info"))) or item
    trace = Trace(str(info.get("trace_id") or info.get("request_id") or where))
    tags = _pairs(info.get("tags"))
    metadata = _pairs(info.get("trace_metadata") or info.get("request_metadata"))
    trace.name = as_word(tags.get("mlflow.traceName"))
    began = info.get("request_time", info.get("timestamp_ms"))
    trace.started_ms = moment_ms(began)
    data = as_dict(read_arguments(item.get("data")))
    trace.input = read_arguments(data.get("request") or info.get("request_preview") or item.get("request"))
    trace.output = read_arguments(data.get("response") or item.get("response"))
    trace.preview = as_word(info.get("response_preview"))
    scores = {
        as_word(each.get("assessment_name") or each.get("name")): as_dict(
            each.get("feedback") or each.get("expectation")
        ).get("value")
        for each in as_list(info.get("assessments"))
        if isinstance(each, dict)
    }
    trace.facts = {
        "session_id": metadata.get("mlflow.trace.session"),
        "user_id": metadata.get("mlflow.trace.user"),
        "experiment_id": info.get("experiment_id")
        or as_dict(as_dict(info.get("trace_location")).get("mlflow_experiment")).get("experiment_id"),
        "scores": {name: value for name, value in scores.items() if name and value is not None},
        "score_comments": {
            as_word(each.get("assessment_name") or each.get("name")): each["rationale"]
            for each in as_list(info.get("assessments"))
            if isinstance(each, dict) and as_word(each.get("rationale"))
        },
        "tags": {name: value for name, value in tags.items() if not name.startswith("mlflow.")},
    }
    return trace


def _pairs(told: Any) -> dict[str, Any]:
    """Tags, which are an object or a list of keys and values."""
    if isinstance(told, list):
        return {as_word(each.get("key")): each.get("value") for each in told if isinstance(each, dict)}
    return as_dict(told)


def _node(item: dict[str, Any]) -> Node:
    attributes = {name: read_arguments(value) for name, value in as_dict(item.get("attributes")).items()}
    context = as_dict(item.get("context"))
    kind = _KINDS.get(as_word(attributes.get("mlflow.spanType") or item.get("span_type")).upper(), SPAN)
    node = Node(
        span_id=str(item.get("span_id") or context.get("span_id") or ""),
        parent_id=as_word(item.get("parent_span_id") or item.get("parent_id")),
        name=as_word(item.get("name")) or "span",
        kind=kind,
        started_ms=moment_ms(_first(item, "start_time_unix_nano", "start_time", "start_time_ns")),
        ended_ms=moment_ms(_first(item, "end_time_unix_nano", "end_time", "end_time_ns")),
        input=_first(attributes, "mlflow.spanInputs") if "mlflow.spanInputs" in attributes else item.get("inputs"),
        output=_first(attributes, "mlflow.spanOutputs") if "mlflow.spanOutputs" in attributes else item.get("outputs"),
        error=_error(item),
    )
    if kind == MODEL:
        given = as_dict(node.input)
        usage = as_dict(attributes.get("mlflow.chat.tokenUsage")) or usage_in(node.output)
        model = attributes.get("mlflow.llm.model") or attributes.get("model") or given.get("model")
        node.said = {
            "model": model or as_dict(attributes.get("invocation_params")).get("model"),
            "provider": attributes.get("mlflow.llm.provider") or attributes.get("mlflow.message.format"),
            "temperature": given.get("temperature"),
            "tools": attributes.get("mlflow.chat.tools") or given.get("tools"),
            "usage": usage or None,
            "cost_usd": as_dict(attributes.get("mlflow.llm.cost")).get("total_cost"),
            "stop_reason": stop_reason_in(node.output),
        }
        node.input = messages_in_value(attributes.get("mlflow.chat.messages") or node.input)
        node.output = answer_in(node.output)
    return node


def _error(item: dict[str, Any]) -> dict[str, Any] | None:
    status = item.get("status")
    told = status if isinstance(status, dict) else {"code": status or item.get("status_code")}
    if as_word(told.get("code")).rpartition("_")[2].upper() != "ERROR" and told.get("code") != 2:
        return None
    for event in reversed(as_list(item.get("events"))):
        said = as_dict(as_dict(event).get("attributes"))
        if said.get("exception.type"):
            return {
                "error_type": as_word(said["exception.type"]).rpartition(".")[2],
                "message": said.get("exception.message") or "",
                "stack": said.get("exception.stacktrace"),
            }
    message = as_word(told.get("message")) or as_word(told.get("description")) or as_word(item.get("status_message"))
    return {"error_type": "Error", "message": message or "the span failed"}


def _first(told: dict[str, Any], *names: str) -> Any:
    return next((told[name] for name in names if told.get(name) is not None), None)
