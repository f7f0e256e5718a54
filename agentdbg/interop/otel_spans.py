"""
Spans of OpenTelemetry, whatever file they come in, as one plain shape.

Reads OTLP JSON (`resourceSpans`), spans that hold their children (`child_spans`), and flat spans as SDK exporters and
Phoenix write them.

Several instrumentations may tell of one call: a framework's, the client library's, another vendor's.

Their spans lie inside each other. Whichever of such a nest is written first is the call; since a span arrives when it
ends, that is the innermost, which stands closest to the model. The others stay in the tree as plain spans, so nothing
they say is lost and nothing is counted twice. What lies between may be any number of plain spans, but no other call: a
model that is asked inside a tool is asked once more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.interop.drafts import span
from agentdbg.interop.shapes import as_dict, as_list, as_number, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.interop.drafts import Step

__all__ = [
    "REMOTE_PARENT",
    "Overlaps",
    "Span",
    "SpanEvent",
    "as_plain_span",
    "depths_of",
    "fill_from_around",
    "is_span_document",
    "plain_value",
    "read_spans",
]

_BEGAN = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "start_timestamp", "timestamp")
_ENDED = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "end_timestamp")
_FLAT_ID = "context.span_id"
_KIND = "openinference.span.kind"
_OTEL_KINDS = frozenset({"INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER", "UNSPECIFIED"})
_WHOLE = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_NOTED = ("timeUnixNano", "time_unix_nano", "timestamp", "Timestamp", "time")
REMOTE_PARENT = 0x200
"""The bit of a span's flags that says so."""
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?")


@dataclass(slots=True)
class SpanEvent:
    """Something a span noted while it lasted."""

    name: str
    at_ms: float | None
    attributes: dict[str, Any]


@dataclass(slots=True)
class Span:
    """One span, with its attributes flat and its times in milliseconds."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    started_ms: float | None
    ended_ms: float | None
    attributes: dict[str, Any]
    failed: bool = False
    message: str = ""
    events: list[SpanEvent] = field(default_factory=list)
    resource: dict[str, Any] = field(default_factory=dict)
    scope: str = ""
    """The instrumentation that made it."""
    has_remote_parent: bool = False
    """Whether its parent is a span of another process."""

    @property
    def duration_ms(self) -> float | None:
        if self.started_ms is None or self.ended_ms is None:
            return None
        return max(self.ended_ms - self.started_ms, 0.0)


def is_span_document(document: Any) -> bool:
    """Whether spans are in it."""
    document = _as_rows(document)
    if isinstance(document, list):
        return bool(document) and all(is_span_document(item) for item in document[:3])
    if not isinstance(document, dict):
        return False
    if _listed(document, "resourceSpans", "resource_spans", "batches"):
        return True
    inside = _listed(document, "spans", "data")
    if inside:
        return all(is_span_document(item) for item in inside[:3])
    return _span_id(document) is not None and _named(document) is not None


def read_spans(document: Any, resource: dict[str, Any] | None = None, scope: str = "") -> Iterator[Span | str]:
    """The spans of a document in the order they stand there; a text for each that is none, saying why."""
    document = _as_rows(document)
    if isinstance(document, list):
        for item in document:
            yield from read_spans(item, resource, scope)
        return
    if not isinstance(document, dict):
        yield f"a {type(document).__name__} stands where a span should be"
        return
    groups = _listed(document, "resourceSpans", "resource_spans", "batches")
    if groups:
        for group in groups:
            if isinstance(group, dict):
                shared = attributes_of(as_dict(group.get("resource")).get("attributes"))
                for part in _listed(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                    made_by = as_word(as_dict(as_dict(part).get("scope")).get("name"))
                    yield from read_spans(as_list(as_dict(part).get("spans")), shared, made_by)
        return
    if _span_id(document) is None:
        inside = _listed(document, "spans", "data")
        if not inside:
            yield f"an object without a span id: {', '.join(list(document)[:4])}"
        yield from read_spans(inside, resource, scope)
        return
    yield _span(document, resource or {}, scope)
    for child in _listed(document, "child_spans", "children"):
        yield from read_spans(child, resource, scope)


def attributes_of(given: Any) -> dict[str, Any]:
    """Attributes as a flat dict; OTLP wraps each value in its type."""
    if isinstance(given, dict):
        return _flat(given)
    if not isinstance(given, list):
        return {}
    return {item["key"]: plain_value(item.get("value")) for item in given if as_word(as_dict(item).get("key"))}


def depths_of(spans: list[Span]) -> dict[str, int]:
    """How many of these spans each one lies in, by span id; spans that lie in each other have some depth too."""
    parents = {found.span_id: found.parent_id for found in spans}
    depths: dict[str, int] = {}
    for span_id in parents:
        path: dict[str, None] = {}  # in order, and quick to ask
        at: str | None = span_id
        while at in parents and at not in depths and at not in path:
            path[at] = None
            at = parents[at]
        depth = depths.get(at, -1) if at is not None else -1
        for step, known in enumerate(reversed(path), 1):
            depths[known] = depth + step
    return depths


def _as_rows(document: Any) -> Any:
    """A table of spans, as Phoenix and pandas write one by columns, as a list of spans."""
    ids = document.get(_FLAT_ID) if isinstance(document, dict) else None
    if not isinstance(ids, dict):
        return document
    columns = {name: column for name, column in document.items() if isinstance(column, dict)}
    return [{name: column.get(row) for name, column in columns.items()} for row in ids]


def _unflattened(item: dict[str, Any]) -> dict[str, Any]:
    """A row of such a table with its context and its attributes as objects again."""
    if _FLAT_ID not in item:
        return item
    made: dict[str, Any] = {"context": {}, "attributes": {}}
    for name, value in item.items():
        group, dot, rest = name.partition(".")
        if dot and group in made and value is not None:
            made[group][rest] = value
        elif not dot:
            made[name] = value
    return made


def _with_kind(attributes: dict[str, Any], kind: Any) -> dict[str, Any]:
    """The attributes, with the kind that Phoenix and others write beside them."""
    if isinstance(kind, str) and kind and not kind.startswith("SPAN_KIND_") and kind.upper() not in _OTEL_KINDS:
        attributes.setdefault(_KIND, kind)
    return attributes


def _span(item: dict[str, Any], resource: dict[str, Any], scope: str) -> Span:
    item = _unflattened(item)
    context = as_dict(item.get("context"))
    started = moment_ms(_first(item, *_BEGAN))
    ended = moment_ms(_first(item, *_ENDED))
    if ended is None and started is not None:
        length = _duration_ms(item.get("duration"))
        ended = None if length is None else started + length
    status = item.get("status")
    status = status if isinstance(status, dict) else {"code": status}
    code = _first(item, "status_code", "statusCode") or _first(status, "code", "status_code")
    message = _first(item, "status_message", "statusMessage") or _first(status, "message", "description")
    parent = _first(item, "parentSpanId", "parent_span_id", "parent_id", "parentId")
    return Span(
        trace_id=_id(_first(item, "traceId", "trace_id") or context.get("trace_id")),
        span_id=_span_id(item) or "",
        parent_id=_id(parent) or None,
        name=_named(item) or "span",
        started_ms=started,
        ended_ms=ended,
        attributes=_with_kind(attributes_of(_first(item, "attributes", "span_attributes")), item.get("span_kind")),
        failed=str(code).rpartition("_")[2].upper() in ("ERROR", "2"),
        message=message if isinstance(message, str) else "",
        events=[_event(event) for event in as_list(item.get("events")) if isinstance(event, dict)],
        resource=resource or attributes_of(item.get("resource_attributes")),
        scope=scope,
        has_remote_parent=bool(as_number(item.get("flags")) & REMOTE_PARENT),
    )


def _event(item: dict[str, Any]) -> SpanEvent:
    return SpanEvent(
        as_word(_first(item, "name", "Name")),
        moment_ms(_first(item, *_NOTED)),
        attributes_of(_first(item, "attributes", "Attributes")),
    )


def _span_id(item: dict[str, Any]) -> str | None:
    if isinstance(item.get(_FLAT_ID), str):
        return _id(item[_FLAT_ID]) or None
    return _id(_first(item, "spanId", "span_id") or as_dict(item.get("context")).get("span_id")) or None


def _named(item: dict[str, Any]) -> str | None:
    name = _first(item, "name", "span_name", "operationName")
    return name if isinstance(name, str) and name else None


def _id(value: Any) -> str:
    text = value.lower().removeprefix("0x") if isinstance(value, str) else ""
    return "" if not text.strip("0") else text


def _first(item: dict[str, Any], *keys: str) -> Any:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _listed(item: dict[str, Any], *keys: str) -> list[Any]:
    return next((item[key] for key in keys if isinstance(item.get(key), list)), [])


def _duration_ms(value: Any) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000


def plain_value(wrapped: Any) -> Any:
    if not isinstance(wrapped, dict):
        return wrapped
    for kind, value in wrapped.items():
        if kind in ("intValue", "int_value"):
            return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value
        if kind in ("arrayValue", "array_value"):
            return [plain_value(item) for item in as_list(as_dict(value).get("values"))]
        if kind in ("kvlistValue", "kvlist_value"):
            return attributes_of(as_list(as_dict(value).get("values")))
        return value
    return None


def _flat(given: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested attributes (`{"llm": {"model_name": …}}`) with their names joined by dots."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, dict) and value and "." not in key:
            found.update(_flat(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value
    return found


MODEL, TOOL = "LLM_CALL", "TOOL_CALL"
# Spans that lie between two that tell of one call, and tools used inside one span: more is no honest trace.
_FARTHEST, _MOST_INSIDE = 100, 200
_FILLED = ("prompt", "response", "usage", "tools", "temperature", "stop_reason")


class _Call(NamedTuple):
    """A model call, or a call of a tool by an instrumentation."""

    kind: str
    name: str = ""
    scope: str = ""

    def is_same_as(self, other: _Call) -> bool:
        """Whether two calls, one inside the other, are one."""
        if self.kind != other.kind:
            return False
        # A tool may well use itself, but not in two instrumentations' words.
        return self.kind == MODEL or (self.name == other.name and self.scope != other.scope)


_A_MODEL_CALL = _Call(MODEL)


class Overlaps:
    """The spans of one trace by event id: their parents, which of them are calls, and what those have around them."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._calls: dict[str, _Call] = {}
        self._inside: dict[str, set[_Call]] = {}

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._parents

    def is_told_already(
        self, event_id: str, parent_id: str, event_type: str = "", name: str = "", scope: str = ""
    ) -> bool:
        """Take in a span; whether the call it tells of has been written, so that this one is a plain span."""
        call = None
        if event_type == MODEL:
            call = _A_MODEL_CALL
        elif event_type == TOOL:
            call = _Call(TOOL, name, scope)
        is_double = call is not None and (self._is_inside(event_id, call) or self._is_around(parent_id, call))
        self._parents[event_id] = parent_id
        if call is not None and not is_double:
            self._calls[event_id] = call
            self._spread({call}, parent_id)
        else:
            self._spread(self._inside.get(event_id, set()), parent_id)
        return is_double

    def _is_inside(self, event_id: str, call: _Call) -> bool:
        return any(call.is_same_as(inner) for inner in self._inside.get(event_id, ()))

    def _is_around(self, parent_id: str, call: _Call) -> bool:
        """Whether the nearest call around is this one, told from further out."""
        at = parent_id
        for _ in range(_FARTHEST):
            if at in self._calls:
                return call.is_same_as(self._calls[at])
            if at not in self._parents:
                break
            at = self._parents[at]
        return False

    def _spread(self, calls: set[_Call], parent_id: str) -> None:
        """Tell the spans around of the calls inside them, up to the next call or as far as is known yet."""
        at = parent_id
        while calls:
            known = self._inside.setdefault(at, set())
            calls = calls - known
            if len(known) < _MOST_INSIDE:
                known |= calls
            if at in self._calls or at not in self._parents or len(known) >= _MOST_INSIDE:
                return
            at = self._parents[at]


def as_plain_span(step: Step, name: str) -> Step:
    """A call as the stretch of work around the same call, under the name its instrumentation gave it."""
    fields = step.fields
    is_model = step.event_type == "LLM_CALL"
    made = span(
        name,
        error=fields["error"],
        input=fields["prompt" if is_model else "args"],
        output=fields["response" if is_model else "result"],
        at_ms=step.at_ms,
        duration_ms=step.duration_ms,
        key=step.key,
        parent=step.parent,
    )
    made.meta["same_call"] = True
    return made


def fill_from_around(arrived: Sequence[tuple[Step, str, str]]) -> None:
    """
    Give a model call what only the span around it says, where both are known: each step with its id and its parent's.

    Some instrumentations leave the messages out, and the one around the same call may have them.
    """
    models = {event_id: step for step, event_id, _ in arrived if step.event_type == "LLM_CALL" and not step.is_told}
    inside: dict[str, list[Step]] = {}
    for step, event_id, parent_id in arrived:
        if event_id in models and parent_id in models:
            inside.setdefault(parent_id, []).append(step)
    for around, steps in inside.items():
        if len(steps) == 1:  # else the answers of several calls stand there as one
            said, known = steps[0].fields, models[around].fields
            said.update({key: known[key] for key in _FILLED if said.get(key) is None and known.get(key) is not None})
