"""
Traces of observability tools as runs: spans in a tree, some of them model calls and some tool calls.

Each tool's importer reads its own form into `Node`s; what a trace amounts to as a run is decided here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import RunDraft, Step, model_call, read_arguments, span, tool_call
from agentdbg.interop.importers.message_forms import request_in
from agentdbg.interop.sessions import short_name
from agentdbg.interop.shapes import as_dict, as_word
from agentdbg.interop.span_steps import unwrapped_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.interop.sources import Source

__all__ = ["MODEL", "SPAN", "TOOL", "Node", "Trace", "error_in_words", "listed_in", "runs_of"]

MODEL, TOOL, SPAN = "model", "tool", "span"


@dataclass
class Node:
    """One span; `said` holds what a model call has beyond input and output (model, usage, tools …)."""

    span_id: str
    parent_id: str
    name: str
    kind: str
    started_ms: float | None
    ended_ms: float | None
    input: Any = None
    output: Any = None
    error: dict[str, Any] | None = None
    said: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass
class Trace:
    """The spans of one trace, and what is known of the whole."""

    trace_id: str
    nodes: dict[str, Node] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    input: Any = None
    output: Any = None
    error: dict[str, Any] | None = None
    started_ms: float | None = None
    ended_ms: float | None = None
    preview: str = ""
    """What lists show of its output: a part of it, or what somebody chose."""
    is_log: bool = False
    """Whether its spans stand side by side, so that only the newest says how it went."""

    def add(self, node: Node) -> None:
        """A span; one that is told twice counts once, as it was told last."""
        self.nodes[node.span_id] = node


def listed_in(document: Any, wrappers: Sequence[str]) -> list[Any]:
    """The entries of a document: a list, an object that holds one under one of these names, or it alone."""
    if isinstance(document, list):
        return document
    inside = next((as_dict(document)[key] for key in wrappers if isinstance(as_dict(document).get(key), list)), None)
    return [document] if inside is None else inside


def error_in_words(told: Any) -> dict[str, Any] | None:
    """An error that is kept as text: an exception's repr, or its type and message, with the traceback behind it."""
    if isinstance(told, dict):
        kind = as_word(told.get("type")) or as_word(told.get("name")) or "Error"
        return {"error_type": kind, "message": told.get("message") or told} if told else None
    text = as_word(told).strip()
    if not text:
        return None
    head, traceback, _ = text.partition("Traceback (most recent call last)")
    head = head.strip()
    if traceback and not head:  # the exception stands in the last line
        head = text.rpartition("\n")[2].strip()
    stack = text if traceback else None
    kind, bracket, rest = head.partition("(")
    if bracket and kind.isidentifier():
        return {"error_type": kind, "message": rest.rstrip().removesuffix(")").strip("'\""), "stack": stack}
    kind, colon, rest = head.partition(": ")
    is_named = bool(colon) and kind.replace(".", "").isidentifier()
    return {
        "error_type": kind.rpartition(".")[2] if is_named else "Error",
        "message": rest if is_named else head,
        "stack": stack,
    }


def runs_of(traces: dict[str, Trace], source: Source, format_name: str, framework: str) -> Iterator[RunDraft]:
    """A run for each trace."""
    source.expected = len(traces)
    for trace in traces.values():
        yield _draft(trace, source, format_name, framework, alone=len(traces) == 1)


def _draft(trace: Trace, source: Source, format_name: str, framework: str, *, alone: bool) -> RunDraft:
    nodes = list(trace.nodes.values())
    depths = _depths(trace.nodes)
    # In the order things ended; what ends in the same instant from the inside out.
    nodes.sort(key=lambda node: (node.ended_ms or node.started_ms or 0.0, -depths[node.span_id]))
    roots = [node for node in nodes if node.parent_id not in trace.nodes]
    main = min(roots, key=lambda node: node.started_ms or 0.0, default=None)
    began = [node.started_ms for node in nodes if node.started_ms is not None]
    ended = [node.ended_ms for node in nodes if node.ended_ms is not None]
    judging = sorted(roots, key=lambda node: node.started_ms or 0.0)[-1:] if trace.is_log else roots
    error = trace.error or next((root.error for root in judging if root.error is not None), None)
    named = trace.name or (main.name if main is not None else "")
    request = request_in(trace.input) or (request_in(main.input) if main is not None else "")
    last = judging[0] if trace.is_log and judging else main
    result = trace.output if trace.output is not None else last.output if last is not None else None
    return RunDraft(
        identity=[format_name, trace.trace_id, sorted(trace.nodes)],
        name=short_name(f"{named}: {request}" if named and request else "", named, request, source.stem),
        format=format_name,
        steps=[_step(node) for node in nodes],
        entry="" if alone else f"trace {trace.trace_id}",
        started_ms=trace.started_ms if trace.started_ms is not None else min(began, default=None),
        ended_ms=trace.ended_ms if trace.ended_ms is not None else max(ended, default=None),
        error=error,
        result=_previewed(trace.preview, result),
        meta={
            "framework": framework,
            "trace_id": trace.trace_id,
            **{key: value for key, value in trace.facts.items() if value not in (None, "", [], {})},
        },
    )


def _previewed(preview: str, whole: Any) -> Any:
    """The whole output where the preview is a part of it, else the preview."""
    part = preview.strip().removesuffix("...").removesuffix("…")
    if not part:
        return whole
    text = whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False, default=str)
    is_part = any(words in text for words in (part, json.dumps(part, ensure_ascii=False)[1:-1]))
    return whole if whole is not None and is_part else read_arguments(preview)


def _step(node: Node) -> Step:
    length = None
    if node.started_ms is not None and node.ended_ms is not None:
        length = max(node.ended_ms - node.started_ms, 0.0)
    place: dict[str, Any] = {
        "key": node.span_id,
        "parent": node.parent_id or None,
        "at_ms": node.ended_ms if node.ended_ms is not None else node.started_ms,
        "duration_ms": length,
    }
    meta = {"span_id": node.span_id, **node.meta}
    if node.kind == MODEL:
        said = dict(node.said)
        model = said.pop("model", None) or node.name
        return model_call(model, node.input, node.output, error=node.error, meta=meta, **said, **place)
    if node.kind == TOOL:
        given, output, failed = unwrapped_call(node.input, node.output)
        error = node.error or ({"error_type": "Error", "message": str(output)} if failed else None)
        return tool_call(node.name, given, None if error else output, error=error, meta=meta, **place)
    made = span(node.name, error=node.error, input=node.input, output=node.output, **place)
    made.meta.update(meta)
    return made


def _depths(nodes: dict[str, Node]) -> dict[str, int]:
    """How many spans each one lies in; spans that lie in each other have some depth too."""
    depths: dict[str, int] = {}
    for start in nodes:
        path: dict[str, None] = {}
        at = start
        while at in nodes and at not in depths and at not in path:
            path[at] = None
            at = nodes[at].parent_id
        depth = depths.get(at, -1)
        for step, known in enumerate(reversed(path), 1):
            depths[known] = depth + step
    return depths
