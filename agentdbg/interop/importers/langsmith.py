"""
LangSmith exports: runs as JSON, in a list, one on each line, or with their children inside (`child_runs`).

Every trace is a run here. Feedback becomes the run's scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value, stop_reason_in, usage_in
from agentdbg.interop.importers.span_trees import MODEL, SPAN, TOOL, Node, Trace, error_in_words, runs_of
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.sources import Source

TITLE = "LangSmith export"

_KINDS = {"llm": MODEL, "chat_model": MODEL, "tool": TOOL, "retriever": TOOL, "embedding": MODEL}
_WRAPPERS = ("runs", "data", "results", "items")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_run(item) for _, document in source.documents[:5] for item in _items(document)[:3])


def _is_run(item: Any) -> bool:
    told = as_dict(item)
    return isinstance(told.get("run_type"), str) and "id" in told and ("start_time" in told or "inputs" in told)


def _items(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    told = as_dict(document)
    inside = next((told[key] for key in _WRAPPERS if isinstance(told.get(key), list)), None)
    return inside if inside is not None and not _is_run(document) else [document]


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, Trace] = {}
    for place, document in source.documents:
        for number, item in enumerate(_items(document), 1):
            if _is_run(item):
                _take(traces, item, "")
            else:
                where = place if _items(document) == [document] else f"{place}, entry {number}".removeprefix(", ")
                yield EntryProblem(where, "no run of LangSmith: it has no run_type")
    yield from runs_of(traces, source, "langsmith", "langsmith")


def _take(traces: dict[str, Trace], run: dict[str, Any], around: str) -> None:
    trace_id = str(run.get("trace_id") or around or run["id"])
    trace = traces.setdefault(trace_id, Trace(trace_id))
    trace.add(_node(run))
    if not run.get("parent_run_id"):
        trace.facts.update(_facts(run))
    for child in as_list(run.get("child_runs")):
        if _is_run(child):
            _take(traces, {**child, "parent_run_id": child.get("parent_run_id") or run["id"]}, trace_id)


def _node(run: dict[str, Any]) -> Node:
    kind = _KINDS.get(run["run_type"], SPAN)
    extra = as_dict(run.get("extra"))
    given, output = run.get("inputs"), run.get("outputs")
    node = Node(
        span_id=str(run["id"]),
        parent_id=str(run.get("parent_run_id") or ""),
        name=as_word(run.get("name")) or run["run_type"],
        kind=kind,
        started_ms=moment_ms(run.get("start_time")),
        ended_ms=moment_ms(run.get("end_time")),
        input=given,
        output=output,
        error=error_in_words(run.get("error")),
        meta={"tags": run["tags"]} if as_list(run.get("tags")) else {},
    )
    if kind == MODEL:
        metadata, given_params = as_dict(extra.get("metadata")), as_dict(extra.get("invocation_params"))
        node.input, node.output = messages_in_value(given), answer_in(output)
        node.said = {
            "model": metadata.get("ls_model_name") or given_params.get("model") or given_params.get("model_name"),
            "provider": metadata.get("ls_provider"),
            "temperature": metadata.get("ls_temperature", given_params.get("temperature")),
            "tools": given_params.get("tools"),
            "usage": _usage(run, output),
            "cost_usd": run.get("total_cost"),
            "stop_reason": stop_reason_in(output),
        }
    elif kind == TOOL:
        node.input, node.output = _alone(given, "input"), _alone(output, "output")
    return node


def _usage(run: dict[str, Any], output: Any) -> dict[str, Any] | None:
    counted = {key: run.get(key) for key in ("prompt_tokens", "completion_tokens", "total_tokens")}
    if not any(counted.values()):
        return usage_in(output)
    used = as_dict(usage_in(output))
    details = {
        "prompt_tokens_details": run.get("prompt_token_details") or used.get("input_token_details"),
        "completion_tokens_details": run.get("completion_token_details") or used.get("output_token_details"),
    }
    counted.update({name: told for name, told in details.items() if isinstance(told, dict) and told})
    return counted


def _alone(value: Any, key: str) -> Any:
    """What stands under the one key a tool's input or output has."""
    return value[key] if isinstance(value, dict) and set(value) == {key} else value


def _facts(run: dict[str, Any]) -> dict[str, Any]:
    metadata = as_dict(as_dict(run.get("extra")).get("metadata"))
    scores = {
        name: told.get("avg", told.get("score"))
        for name, told in as_dict(run.get("feedback_stats")).items()
        if isinstance(told, dict)
    }
    session = next((metadata[key] for key in ("session_id", "thread_id", "conversation_id") if metadata.get(key)), None)
    return {
        "session_id": session,
        "project": run.get("session_name") or run.get("session_id"),
        "tags": run.get("tags"),
        "scores": {name: score for name, score in scores.items() if score is not None},
        "score_comments": {
            name: comments[0] if len(comments) == 1 else comments
            for name, told in as_dict(run.get("feedback_stats")).items()
            if (comments := as_list(as_dict(told).get("comments")))
        },
        "user_id": metadata.get("user_id"),
    }
