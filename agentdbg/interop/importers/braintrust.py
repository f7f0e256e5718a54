"""
Braintrust exports: spans of logs and experiments as JSON, in a list, one on each line, or as the API and its queries
answer (`events`, `data`).

Every trace is a run here. Scores of the root are the run's, those of another span the event's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value, stop_reason_in, usage_in
from agentdbg.interop.importers.span_trees import MODEL, SPAN, TOOL, Node, Trace, error_in_words, listed_in, runs_of
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.sources import Source

TITLE = "Braintrust export"

_WRAPPERS = ("events", "data", "rows", "objects")
_KINDS = {"llm": MODEL, "tool": TOOL}
_DETAILS = {
    "prompt_cached_tokens": ("prompt_tokens_details", "cached_tokens"),
    "prompt_cache_creation_tokens": ("prompt_tokens_details", "cache_creation_tokens"),
    "completion_reasoning_tokens": ("completion_tokens_details", "reasoning_tokens"),
}


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_span(item) for _, document in source.documents[:5] for item in listed_in(document, _WRAPPERS)[:3])


def _is_span(item: Any) -> bool:
    told = as_dict(item)
    return isinstance(told.get("span_id"), str) and "root_span_id" in told and ("input" in told or "metrics" in told)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, Trace] = {}
    for place, document in source.documents:
        for number, item in enumerate(listed_in(document, _WRAPPERS), 1):
            if not _is_span(item):
                where = place if item is document else f"{place}, entry {number}".removeprefix(", ")
                yield EntryProblem(where, "no span of Braintrust: it has no span_id")
                continue
            trace_id = str(item["root_span_id"])
            trace = traces.setdefault(trace_id, Trace(trace_id))
            node = _node(item)
            trace.add(node)
            if not node.parent_id:
                trace.facts.update(_facts(item))
    yield from runs_of(traces, source, "braintrust", "braintrust")


def _node(item: dict[str, Any]) -> Node:
    attributes, metrics = as_dict(item.get("span_attributes")), as_dict(item.get("metrics"))
    kind = _KINDS.get(as_word(attributes.get("type")), SPAN)
    parents = [parent for parent in as_list(item.get("span_parents")) if as_word(parent)]
    node = Node(
        span_id=item["span_id"],
        parent_id=parents[0] if parents else "",
        name=as_word(attributes.get("name")) or as_word(attributes.get("type")) or "span",
        kind=kind,
        started_ms=moment_ms(metrics.get("start", item.get("created"))),
        ended_ms=moment_ms(metrics.get("end")),
        input=item.get("input"),
        output=item.get("output"),
        error=error_in_words(item.get("error")),
    )
    if kind == MODEL:
        metadata = as_dict(item.get("metadata"))
        node.input, node.output = messages_in_value(item.get("input")), answer_in(item.get("output"))
        node.said = {
            "model": metadata.get("model"),
            "provider": metadata.get("provider"),
            "temperature": metadata.get("temperature"),
            "tools": as_list(metadata.get("tools")),
            "usage": _usage(metrics) or usage_in(item.get("output")),
            "cost_usd": metrics.get("estimated_cost", item.get("estimated_cost")),
            "stop_reason": stop_reason_in(item.get("output")),
        }
    if node.parent_id and (scores := _scores(item)):
        node.meta["scores"] = scores
    return node


def _usage(metrics: dict[str, Any]) -> dict[str, Any] | None:
    usage: dict[str, Any] = {
        "prompt_tokens": metrics.get("prompt_tokens"),
        "completion_tokens": metrics.get("completion_tokens"),
        "total_tokens": metrics.get("tokens", metrics.get("total_tokens")),
    }
    if not any(usage.values()):
        return None
    for name, (part, detail) in _DETAILS.items():
        if metrics.get(name):
            usage.setdefault(part, {})[detail] = metrics[name]
    return usage


def _scores(item: dict[str, Any]) -> dict[str, Any]:
    return {name: score for name, score in as_dict(item.get("scores")).items() if score is not None}


def _facts(item: dict[str, Any]) -> dict[str, Any]:
    metadata = as_dict(item.get("metadata"))
    session = next((metadata[key] for key in ("session_id", "thread_id", "conversation_id") if metadata.get(key)), None)
    return {
        "project": item.get("project_id"),
        "experiment_id": item.get("experiment_id"),
        "session_id": session,
        "user_id": metadata.get("user_id"),
        "tags": item.get("tags"),
        "scores": _scores(item),
        "expected": item.get("expected"),
        "metadata": metadata,
    }
