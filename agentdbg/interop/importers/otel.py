"""
OpenTelemetry spans as JSON: OpenInference, the GenAI conventions and OpenLLMetry.

Every trace of a file is a run. Model spans are model calls, tool and retriever spans tool calls, all others spans, each
written when it ended and under its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.importers.message_forms import request_in
from agentdbg.interop.otel_spans import (
    Overlaps,
    Span,
    as_plain_span,
    depths_of,
    fill_from_around,
    is_span_document,
    read_spans,
)
from agentdbg.interop.sessions import short_name
from agentdbg.interop.span_steps import facts_of, failure_of, name_of_run, output_of, step_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import Step
    from agentdbg.interop.sources import Source

TITLE = "OpenTelemetry spans"


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    looked_at = [document for _, document in source.documents[:20] if not _is_other_signal(document)]
    return bool(looked_at) and all(is_span_document(document) for document in looked_at[:3])


def _is_other_signal(document: Any) -> bool:
    """Whether this is OTLP, but of metrics or logs; collectors write them into one file."""
    return isinstance(document, dict) and any(
        isinstance(document.get(key), list) for key in ("resourceMetrics", "resourceLogs")
    )


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, dict[str, Span]] = {}
    for place, document in source.documents:
        for found in () if _is_other_signal(document) else read_spans(document):
            if isinstance(found, Span):
                # An exporter that tries again writes a span twice; the later one is the finished one.
                traces.setdefault(found.trace_id, {})[found.span_id] = found
            else:
                yield EntryProblem(place, found)
    source.expected = len(traces)
    for trace_id, spans in traces.items():
        yield _draft(source, trace_id, list(spans.values()), alone=len(traces) == 1)


def _draft(source: Source, trace_id: str, spans: list[Span], *, alone: bool) -> RunDraft:
    ids = {found.span_id for found in spans}
    # Spans that are each other's parents have no root; the first one stands for it.
    roots = [found for found in spans if found.parent_id not in ids] or spans[:1]
    depths = depths_of(spans)
    began = [found.started_ms for found in spans if found.started_ms is not None]
    ended = [found.ended_ms for found in spans if found.ended_ms is not None]
    # In the order things ended, as a recorder writes them; what ends in the same instant from the inside out.
    ordered = sorted(spans, key=lambda found: (found.ended_ms or found.started_ms or 0.0, -depths[found.span_id]))
    failed = next((root for root in roots if root.failed), None)
    main = min(roots, key=lambda root: root.started_ms or 0.0)
    return RunDraft(
        identity=[trace_id, sorted(ids)],
        name=_run_name(main, source, alone=alone),
        format="otel",
        steps=_steps(ordered),
        entry="" if alone else f"trace {trace_id}",
        started_ms=min(began, default=None),
        ended_ms=max(ended, default=None),
        error=failure_of(failed) if failed is not None else None,
        result=output_of(main),
        meta=facts_of(main),
    )


def _run_name(main: Span, source: Source, *, alone: bool) -> str:
    name = name_of_run(main)
    said = step_of(main).fields
    request = request_in(said.get("input", said.get("prompt")))
    if request:
        return short_name(f"{name}: {request}")
    return f"{name} ({source.stem[:16]})" if alone else name


def _steps(spans: list[Span]) -> list[Step]:
    """What the spans say happened; those that tell of a call another one has told are plain spans."""
    steps = [step_of(found) for found in spans]
    fill_from_around([(step, found.span_id, found.parent_id or "") for step, found in zip(steps, spans, strict=True)])
    overlaps = Overlaps()
    made = [
        as_plain_span(step, found.name)
        if overlaps.is_told_already(found.span_id, found.parent_id or "", step.event_type, step.name, found.scope)
        else step
        for step, found in zip(steps, spans, strict=True)
    ]
    for step, found in zip(made, spans, strict=True):
        step.meta["span_id"] = found.span_id  # so that it can be found again where it came from
    return made
