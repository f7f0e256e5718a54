"""
Langfuse exports: traces with their observations, as the API gives them, as the pages export them, and as blob storage
has them (`trace_id` instead of `traceId`).

Every trace is a run here. Scores of a trace become the run's scores, those of an observation the event's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, read_arguments
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value, stop_reason_in
from agentdbg.interop.importers.span_trees import MODEL, SPAN, TOOL, Node, Trace, runs_of
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.sources import Source

TITLE = "Langfuse export"

_KINDS = {"GENERATION": MODEL, "EMBEDDING": MODEL, "TOOL": TOOL, "RETRIEVER": TOOL}
_TYPES = frozenset({*_KINDS, "SPAN", "EVENT", "AGENT", "CHAIN", "EVALUATOR", "GUARDRAIL"})
_PROMPT = ("input", "prompt_tokens", "promptTokens", "input_tokens")
_COMPLETION = ("output", "completion_tokens", "completionTokens", "output_tokens")
_TOTAL = ("total", "total_tokens", "totalTokens")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_known(item) for _, document in source.documents[:5] for item in _items(document)[:3])


def _items(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    told = as_dict(document)
    for key in ("data", "traces"):
        if isinstance(told.get(key), list):
            beside = as_list(told.get("observations")) if key == "traces" else []
            return [*told[key], *beside]
    if isinstance(told.get("trace"), dict):
        return [
            {**told["trace"], "observations": as_list(told.get("observations")) or told["trace"].get("observations")}
        ]
    return [document]


def _is_known(item: Any) -> bool:
    return _is_observation(item) or _is_trace(item)


def _is_observation(item: Any) -> bool:
    told = as_dict(item)
    return (
        as_word(told.get("type")) in _TYPES and _of(told, "traceId") is not None and _of(told, "startTime") is not None
    )


def _is_trace(item: Any) -> bool:
    told = as_dict(item)
    if "id" not in told or "timestamp" not in told or "messageId" in told:
        return False
    marks = (
        "observations",
        "totalCost",
        "latency",
        "bookmarked",
        "htmlPath",
        "scores",
        "sessionId",
        "session_id",
        "total_cost",
    )
    return any(mark in told for mark in marks) and ("input" in told or "observations" in told)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, Trace] = {}
    for place, document in source.documents:
        for number, item in enumerate(_items(document), 1):
            if _is_observation(item):
                trace_id = str(_of(item, "traceId"))
                traces.setdefault(trace_id, Trace(trace_id)).add(_node(item))
            elif _is_trace(item):
                _take_trace(traces, item)
            else:
                where = f"{place}, entry {number}".removeprefix(", ")
                yield EntryProblem(where, "neither a trace nor an observation of Langfuse")
    yield from runs_of(traces, source, "langfuse", "langfuse")


def _take_trace(traces: dict[str, Trace], item: dict[str, Any]) -> None:
    trace = traces.setdefault(str(item["id"]), Trace(str(item["id"])))
    trace.name, trace.input = as_word(item.get("name")), read_arguments(item.get("input"))
    trace.output = read_arguments(item.get("output"))
    trace.started_ms = moment_ms(item.get("timestamp"))
    lasted = item.get("latency")
    if trace.started_ms is not None and isinstance(lasted, (int, float)) and not isinstance(lasted, bool):
        trace.ended_ms = trace.started_ms + lasted * 1000
    for told in as_list(item.get("observations")):
        if isinstance(told, dict) and as_word(told.get("type")) in _TYPES:
            trace.add(_node(told))
    by_observation: dict[str, dict[str, Any]] = {}
    scores: dict[str, Any] = {}
    for name, score, of in _scores(item.get("scores")):
        (by_observation.setdefault(of, {}) if of else scores)[name] = score
    for span_id, told in by_observation.items():
        if span_id in trace.nodes:
            trace.nodes[span_id].meta["scores"] = told
    comments = {
        score["name"]: score["comment"]
        for score in as_list(item.get("scores"))
        if isinstance(score, dict) and as_word(score.get("name")) and as_word(score.get("comment"))
        if not _of(score, "observationId")
    }
    metadata = read_arguments(item.get("metadata"))
    trace.facts = {
        "session_id": _of(item, "sessionId"),
        "user_id": _of(item, "userId"),
        "project": _of(item, "projectId"),
        "environment": item.get("environment"),
        "version": item.get("version"),
        "release": item.get("release"),
        "tags": item.get("tags"),
        "scores": scores,
        "score_comments": comments,
        "total_cost_usd": _of(item, "totalCost"),
        "metadata": metadata if isinstance(metadata, dict) else None,
    }


def _scores(told: Any) -> Iterator[tuple[str, Any, str]]:
    """Name, value and observation of each score; the pages export them as lists by name."""
    if isinstance(told, dict):
        for name, values in told.items():
            yield name, values[0] if isinstance(values, list) and len(values) == 1 else values, ""
    for score in as_list(told):
        if isinstance(score, dict) and as_word(score.get("name")):
            value = score.get("value")
            words = _of(score, "stringValue")
            yield (
                score["name"],
                words if value is None or as_word(words) else value,
                as_word(_of(score, "observationId")),
            )


def _node(told: dict[str, Any]) -> Node:
    kind = _KINDS.get(told["type"], SPAN)
    given, output = read_arguments(told.get("input")), read_arguments(told.get("output"))
    level, message = as_word(told.get("level")), as_word(_of(told, "statusMessage"))
    began = moment_ms(_of(told, "startTime"))
    ended = moment_ms(_of(told, "endTime"))
    node = Node(
        span_id=str(told.get("id")),
        parent_id=as_word(_of(told, "parentObservationId")),
        name=as_word(told.get("name")) or told["type"].lower(),
        kind=kind,
        started_ms=began,
        ended_ms=ended if ended is not None else began if told["type"] == "EVENT" else None,
        input=given,
        output=output,
        error=_error(message) if level.upper() == "ERROR" else None,
    )
    if message and node.error is None:
        node.meta["status_message"] = message
    if level.upper() == "WARNING":
        node.meta["level"] = "WARNING"
    if kind == MODEL:
        parameters = as_dict(read_arguments(_of(told, "modelParameters")))
        costs = as_dict(read_arguments(_of(told, "costDetails")))
        node.input, node.output = messages_in_value(given), answer_in(output)
        node.said = {
            "model": told.get("model") or _of(told, "providedModelName"),
            "temperature": parameters.get("temperature"),
            "usage": _usage(told),
            "cost_usd": _first(told.get("calculatedTotalCost"), costs.get("total"), _of(told, "totalCost")),
            "tools": as_dict(given).get("tools"),
            "stop_reason": stop_reason_in(output),
        }
    return node


def _error(message: str) -> dict[str, Any]:
    kind, colon, rest = message.partition(": ")
    is_named = bool(colon) and kind.replace(".", "").isidentifier()
    return {"error_type": kind.rpartition(".")[2] if is_named else "Error", "message": rest if is_named else message}


def _usage(told: dict[str, Any]) -> dict[str, Any] | None:
    """Counts by what they are of; cached tokens and the like stand beside input and output."""
    counted = as_dict(read_arguments(_of(told, "usageDetails"))) or as_dict(told.get("usage"))
    counts = {name: count for name, count in counted.items() if isinstance(count, int) and not isinstance(count, bool)}
    prompt, completion, total = (
        _first(*(counts.get(name) for name in names)) for names in (_PROMPT, _COMPLETION, _TOTAL)
    )
    if prompt is None:
        prompt = told.get("promptTokens")
        completion, total = _first(completion, told.get("completionTokens")), _first(total, told.get("totalTokens"))
    if prompt is completion is total is None:
        return None
    cached = sum(count for name, count in counts.items() if "cache_read" in name or "cached" in name)
    beside = sum(
        count for name, count in counts.items() if name.startswith(("input_", "cache_")) and name not in _PROMPT
    )
    hidden = sum(count for name, count in counts.items() if name.startswith("output_") and name not in _COMPLETION)
    usage: dict[str, Any] = {"prompt_tokens": (prompt or 0) + beside, "completion_tokens": (completion or 0) + hidden}
    usage["total_tokens"] = total if total is not None else usage["prompt_tokens"] + usage["completion_tokens"]
    if cached:
        usage["prompt_tokens_details"] = {"cached_tokens": min(cached, usage["prompt_tokens"])}
    if hidden:
        usage["completion_tokens_details"] = {"reasoning_tokens": hidden}
    return usage


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _of(told: dict[str, Any], name: str) -> Any:
    """A field by its name, in the spelling of the API or in that of blob storage."""
    if name in told:
        return told[name]
    return told.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))
