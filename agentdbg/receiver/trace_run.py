"""
One trace on its way to becoming a run.

Spans arrive when they end, children before their parents, in any number of requests and from any number of services.
Events are only ever appended, so each is written when it comes: its id, and that of its parent, follow from the ids of
the spans, whether or not the parent has been seen. RUN_START is written with the first span and RUN_END when the trace
is known to be complete, or has been quiet for so long that nothing more is expected.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentdbg.interop.foreign_run import Ending, ForeignRun, stable_id, usable_duration
from agentdbg.interop.otel_spans import Overlaps, as_plain_span, depths_of, fill_from_around
from agentdbg.interop.own_spans import ToldRun, is_own, told_event_id, told_run, told_run_id, told_start_id, told_steps
from agentdbg.interop.shapes import as_dict, as_number
from agentdbg.interop.span_steps import facts_of, name_of_run, said_in, step_of
from agentdbg.recorder.described_errors import describe_error
from agentdbg.storage.dialects import timestamp_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentdbg.config import Config
    from agentdbg.events import Event
    from agentdbg.interop.drafts import Step
    from agentdbg.interop.foreign_run import Names
    from agentdbg.interop.otel_spans import Span

__all__ = ["NOTHING_EARLIER", "UNREADABLE", "Arrived", "Earlier", "NotStored", "TraceRun", "event_id_of", "start_id_of"]

_RESULTS = ("output", "result", "response")
_REFRESH_SECONDS = 1.0
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError)
"""What a span that nobody thought of may raise in our own code."""
_LONGEST_REASON = 200
_ID_LENGTH = 16
_IDS = re.compile(r"[0-9a-f]{32} [0-9a-f]{16}")


class NotStored(OSError):
    """The disk did not take what arrived; the sender may try again."""


@dataclass(frozen=True)
class Earlier:
    """What is stored of a trace in runs that have ended."""

    run_id: str = ""
    run_name: str = ""
    event_ids: frozenset[str] = frozenset()


NOTHING_EARLIER = Earlier()


@dataclass
class Arrived:
    """A step with the place it has in the run."""

    step: Step
    event_id: str
    parent_id: str
    at_ms: float
    name: str = ""
    """What the span is called, and the instrumentation that made it."""
    scope: str = ""


@dataclass(frozen=True)
class _Root:
    """What the outermost span came to."""

    started_ms: float
    failure: dict[str, Any] | None
    result: Any


class TraceRun:
    """The run of one trace; `heard_at` is when something last came, `rejected` says which spans could not be read."""

    def __init__(
        self,
        trace_id: str,
        run_id: str,
        folder: str,
        config: Config,
        names: Names,
        *,
        start_id: str | None = None,
        earlier: Earlier = NOTHING_EARLIER,
    ) -> None:
        self.trace_id = trace_id
        self.heard_at = 0.0
        self.rejected: list[str] = []
        self._earlier = earlier
        self._walk = ForeignRun(run_id, "", folder, config, names, start_id=start_id)
        self._overlaps = Overlaps()
        self._missing: dict[str, bool] = {}
        """Parents that were named and have not come; True for those of another process."""
        self._has_root = bool(earlier.event_ids)
        self._root: _Root | None = None
        self._told: ToldRun | None = None
        self._told_run_id = ""
        self._began_untold = False
        self._services: set[str] = set()
        self.awaits_messages = False
        """Whether a call came without what was said in it, which its instrumentation may send as log records."""
        self._ended_ms = 0.0
        self._is_begun = False
        self._begun_with: Span | None = None
        """The root that named the run, when it was there from the start."""
        self._is_fresh = True
        self._refreshed_at = 0.0

    @property
    def run_id(self) -> str:
        return self._walk.run_id

    @property
    def name(self) -> str:
        return self._walk.name

    @property
    def is_complete(self) -> bool:
        """Whether the root is here, and everything that was named as a parent."""
        if self._told_run_id:
            return self._told is not None
        return self._has_root and not self._missing

    @property
    def has_many_services(self) -> bool:
        return len(self._services) > 1

    def resume(self, events: Iterable[Event]) -> None:
        """Go on with a run that an earlier receiver began and did not end."""
        parents: set[str] = set()
        for event in events:
            self._walk.count_again(event)
            at_ms = float(timestamp_ms(event["ts"]))
            self._ended_ms = max(self._ended_ms, at_ms)
            if event["event_type"] == "RUN_START":
                self._is_begun = True
                self._began_untold = True
                self._told_run_id = str(as_dict(event["meta"].get("received_from")).get("run_id") or "")
                self._walk.describe(event["name"])
                self._walk.started_ms = at_ms
            elif event["event_type"] == "LOOP_WARNING":
                self._overlaps.is_told_already(event["event_id"], event["parent_id"] or "")
            else:
                parent_id = event["parent_id"] or ""
                parents.add(parent_id)
                self._overlaps.is_told_already(event["event_id"], parent_id, event["event_type"], event["name"])
                if parent_id == self._walk.start_id and not self._told_run_id:
                    self._see_root(at_ms - (event["duration_ms"] or 0), event["payload"])
        if not self._told_run_id:
            self._missing = {parent: False for parent in parents if parent not in self._overlaps}
            self._missing.pop(self._walk.start_id, None)

    def take(self, spans: Iterable[Span], now: float) -> int:
        """Write what is new among these spans; how many spans that were. Raises NotStored."""
        # An exporter that tries again sends a span twice.
        told = {event_id_of(self.trace_id, span): span for span in spans}
        fresh = {event_id: span for event_id, span in told.items() if not self._is_known(event_id, span)}
        self.heard_at = now
        if not fresh:
            return 0
        if not self._is_begun:
            self._begin(list(fresh.values()))
        arrived = [item for _, item in sorted(self._arrived(fresh), key=lambda pair: pair[0])]
        fill_from_around([(item.step, item.event_id, item.parent_id) for item in arrived])
        for item in arrived:
            try:
                self._write(item)
            except UNREADABLE as error:
                self._reject(item.name, error)
        self._flush()
        self._is_fresh = False
        return len(fresh)

    def has_span(self, span_id: str) -> bool:
        """Whether the event of a span is written."""
        return _id_of_span(self.trace_id, span_id) in self._overlaps

    def add_messages(self, span_id: str, steps: Iterable[Step], now: float) -> None:
        """Write what was said in a call that is written already. Raises NotStored."""
        self.heard_at = now
        for step in steps:
            message_id = stable_id("message", self.trace_id, span_id, str(self._walk.written))
            self._walk.take(step, message_id, _id_of_span(self.trace_id, span_id), step.at_ms or self._ended_ms)
        self._flush()

    def _flush(self) -> None:
        self._walk.flush()
        if self._walk.dropped:
            raise NotStored("the disk is full, or the data folder cannot be written to")

    def refresh(self, now: float) -> None:
        """Keep run.json up to date, about once a second; a run that is about to end gets it then."""
        if not self._is_fresh and not self.is_complete and now - self._refreshed_at >= _REFRESH_SECONDS:
            self._walk.refresh()
            self._is_fresh, self._refreshed_at = True, now

    def end(self, quiet_s: float) -> None:
        """Write RUN_END; `quiet_s` is how long nothing has come."""
        try:
            self._walk.end(self._ending(quiet_s))
        except UNREADABLE as error:
            message = f"how the run ended was told in a way that cannot be read ({type(error).__name__})"
            self._walk.end(Ending(self._ended_ms, describe_error({"error_type": "EndUnreadable", "message": message})))

    def let_go(self) -> None:
        """Close the file and leave the run as it is on disk, for a later receiver to go on with."""
        if not self._is_fresh:
            self._walk.refresh()
        self._walk.let_go()

    def _is_known(self, event_id: str, span: Span) -> bool:
        is_told_again = self._told is not None and told_run_id(span) == self._told_run_id and span.parent_id is None
        return event_id in self._overlaps or event_id in self._earlier.event_ids or is_told_again

    def _begin(self, spans: list[Span]) -> None:
        roots = [span for span in spans if span.parent_id is None]
        main = min(roots or spans, key=lambda span: span.started_ms or 0.0)
        told = told_run(main)
        self._told_run_id = told_run_id(main)
        self._began_untold = bool(self._told_run_id) and told is None
        moments = [moment for span in spans if (moment := span.started_ms or span.ended_ms)]
        name = told.name if told else name_of_run(main) if roots else _early_name(main)
        if self._earlier.run_id:
            name = f"{self._earlier.run_name} (continued)"
        self._begun_with = main if roots else None
        self._walk.describe(name)
        self._ended_ms = min(moments, default=time.time() * 1000)
        known = {key: value for key, value in told.start.items() if key != "run_name"} if told else None
        self._walk.begin(self._ended_ms, self._meta(main, told), known)
        self._is_begun = True

    def _meta(self, main: Span, told: ToldRun | None) -> dict[str, Any]:
        origin: dict[str, Any] = {"format": "otlp"}
        if self._told_run_id:
            origin["run_id"] = self._told_run_id
        if self._earlier.run_id:
            origin["continues"] = self._earlier.run_id
        return {**(told.meta if told else {}), **facts_of(main), "received_from": origin}

    def _arrived(self, spans: dict[str, Span]) -> Iterator[tuple[tuple[float, float], Arrived]]:
        """What the spans say happened, each with what it is sorted by: its time, and children before parents."""
        depths = depths_of(list(spans.values()))
        for event_id, span in spans.items():
            try:
                if is_own(span):
                    yield from self._told_steps(span)
                else:
                    item = self._one_step(event_id, span)
                    yield (item.at_ms, -depths[span.span_id]), item
            except UNREADABLE as error:
                self._reject(span.name, error)

    def _reject(self, name: str, error: Exception) -> None:
        """A span that trips over our own code costs only itself."""
        why = str(error)[:_LONGEST_REASON]
        self.rejected.append(f"the span {name[:60]!r} cannot be read ({type(error).__name__}: {why})")

    def _one_step(self, event_id: str, span: Span) -> Arrived:
        step, at_ms, parent_id = step_of(span), self._moment_of(span), self._parent_id(span)
        if step.event_type == "LLM_CALL" and span.scope.startswith("opentelemetry.instrumentation."):
            self.awaits_messages |= not (step.fields["prompt"] or step.fields["response"])
        if parent_id == self._walk.start_id:
            self._see_outermost(span, step, at_ms)
        elif parent_id not in self._overlaps:
            self._missing.setdefault(parent_id, span.has_remote_parent)
        return Arrived(step, event_id, parent_id, at_ms, span.name, span.scope)

    def _told_steps(self, span: Span) -> Iterator[tuple[tuple[float, float], Arrived]]:
        """What a span tells that was an event of ours: that event, and those that happened in it."""
        run, at_ms = told_run(span), self._moment_of(span)
        if run is not None:
            self._told = run
            self._walk.describe(run.name, self._meta(span, run))
            self._walk.started_ms = span.started_ms or self._walk.started_ms
        for sequence, step in told_steps(span, self._rename):
            yield (sequence, 0), Arrived(step, str(step.key), step.parent or self._walk.start_id, step.at_ms or at_ms)

    def _moment_of(self, span: Span) -> float:
        at_ms = span.ended_ms or span.started_ms or time.time() * 1000
        self._ended_ms = max(self._ended_ms, at_ms)
        self._services.add(str(span.resource.get("service.instance.id") or span.resource.get("service.name")))
        return at_ms

    def _parent_id(self, span: Span) -> str:
        if span.parent_id is None or span.parent_id == span.span_id:
            return self._walk.start_id
        parent_id = _id_of_span(self.trace_id, span.parent_id)
        return self._walk.start_id if parent_id in self._earlier.event_ids else parent_id

    def _see_outermost(self, span: Span, step: Step, at_ms: float) -> None:
        if span.parent_id is not None and self._earlier.run_id:
            return  # a late child of something in the run before
        is_better_known = self._see_root(span.started_ms or at_ms, step.fields) and not self._earlier.run_id
        if is_better_known and span is not self._begun_with:
            self._walk.describe(name_of_run(span), self._meta(span, None))

    def _see_root(self, started_ms: float, fields: dict[str, Any]) -> bool:
        """Whether this root stands for the run: the first to begin, unless only a later one failed."""
        self._has_root = True
        before, failure = self._root, fields.get("error")
        self._walk.started_ms = min(self._walk.started_ms, started_ms)
        if before is not None and (before.failure or not failure) and before.started_ms <= started_ms:
            return False
        result = next((fields[key] for key in _RESULTS if fields.get(key) is not None), None)
        self._root = _Root(started_ms, describe_error(failure) if isinstance(failure, dict) else None, result)
        return before is None or started_ms < before.started_ms

    def _rename(self, told_id: str) -> str:
        return stable_id("event", self.trace_id, told_id)

    def _write(self, item: Arrived) -> None:
        step = item.step
        if step.is_told:
            if item.event_id in self._overlaps or item.event_id == self._walk.start_id:
                return  # an event has one id and is written once, whoever else claims it
            self._overlaps.is_told_already(item.event_id, item.parent_id)
        elif self._overlaps.is_told_already(item.event_id, item.parent_id, step.event_type, step.name, item.scope):
            step = as_plain_span(step, item.name)
        self._missing.pop(item.event_id, None)
        self._walk.take(step, item.event_id, item.parent_id, item.at_ms)

    def _ending(self, quiet_s: float) -> Ending:
        if self._told is not None:
            return self._told_ending(self._told)
        root = self._root
        if root is not None and root.failure is not None:
            return Ending(self._ended_ms, root.failure)
        is_part_of_more = bool(self._missing) and all(self._missing.values())
        if not self._has_root and not is_part_of_more:
            message = (
                f"the root span of the trace did not come within {quiet_s:.0f} s of the last one: the program ended "
                "before it, or sends it elsewhere"
            )
            return Ending(self._ended_ms, describe_error({"error_type": "TraceIncomplete", "message": message}))
        return Ending(self._ended_ms, outcome={} if root is None or root.result is None else {"result": root.result})

    def _told_ending(self, told: ToldRun) -> Ending:
        end = told.end or {}
        failure = end.get("error")
        if told.failed and not isinstance(failure, dict):
            failure = describe_error({"error_type": "RunNotEnded", "message": "the run ended without being closed"})
        outcome = {key: value for key, value in end.items() if key not in ("status", "summary", "error")}
        if self._began_untold:
            outcome["run_start"] = told.start
        duration_ms = as_number(as_dict(end.get("summary")).get("duration_ms"), -1)
        return Ending(
            self._ended_ms,
            failure if told.failed else None,
            outcome,
            duration_ms if usable_duration(duration_ms) is not None else None,
            is_told=True,
        )


def event_id_of(trace_id: str, span: Span) -> str:
    """The id of the event that a span becomes."""
    told = told_event_id(span)
    return stable_id("event", trace_id, told) if told else _id_of_span(trace_id, span.span_id)


def _id_of_span(trace_id: str, span_id: str) -> str:
    # The spans of a trace name the same parent again and again; but what is no id may be of any length.
    return _spelt_id(trace_id, span_id) if len(span_id) == _ID_LENGTH else stable_id("span", trace_id, span_id)


@lru_cache(maxsize=4096)
def _spelt_id(trace_id: str, span_id: str) -> str:
    """A UUID that begins with the span's id, so that a person finds the one by the other, and ends with the trace's."""
    if not _IDS.fullmatch(f"{trace_id} {span_id}"):
        return stable_id("span", trace_id, span_id)
    return f"{span_id[:8]}-{span_id[8:12]}-4{span_id[12:15]}-8{span_id[15]}{trace_id[18:20]}-{trace_id[20:]}"


def start_id_of(trace_id: str, spans: list[Span]) -> str | None:
    """The id RUN_START must have, where spans of ours name it as their parent."""
    told = told_start_id([span for span in spans if is_own(span)])
    return None if told is None else stable_id("event", trace_id, told)


def _early_name(span: Span) -> str:
    """What a run is called whose root has not come yet."""
    name = said_in(span.attributes).get("workflow_name")
    service = span.resource.get("service.name")
    if not name and isinstance(service, str) and not service.startswith("unknown_service"):
        name = service
    return str(name or f"trace {span.trace_id[:8]}")
