"""
All traces that are being received, each the run it becomes.

A batch is on disk when `take` returns, so what was acknowledged survives the receiver. One lock: requests are served
in threads, and the runs are few. A run is ended when its trace is complete and has been quiet for a moment, or has
been quiet for `idle_s`. A span that comes after that begins a run of its own which says what it continues, because
nothing is written after RUN_END. A receiver that is started again goes on with the runs it finds unfinished.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.encoding import encode_json
from agentdbg.interop.foreign_run import Names, stable_id
from agentdbg.receiver.log_events import messages_of
from agentdbg.receiver.quota import DiskQuota
from agentdbg.receiver.trace_run import (
    NOTHING_EARLIER,
    UNREADABLE,
    Earlier,
    NotStored,
    TraceRun,
    event_id_of,
    start_id_of,
)
from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.layout import runs_dir
from agentdbg.storage.lines import events_path, iter_lines, open_events
from agentdbg.storage.runfile import is_being_written, read_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.config import Config
    from agentdbg.events import Event
    from agentdbg.interop.otel_spans import Span, SpanEvent
    from agentdbg.receiver.log_events import LogEvent

__all__ = ["IDLE_SECONDS", "RunNews", "Traces"]

IDLE_SECONDS = 600.0
_COMPLETE_SECONDS = 2.0
_MANY_SERVICES_SECONDS = 12.0
"""Exporters send every five seconds; of several services the slowest decides."""
_MOST_OPEN = 200
_MOST_PARTS = 1000
_MOST_TRACES_IN_A_BODY = 1000
"""Each is a run; exporters send 512 spans at once."""
_TOO_MANY_TRACES = f"one request may hold {_MOST_TRACES_IN_A_BODY:,} traces; send the rest in another"
_MOST_NOTED = 32 << 20
"""Bytes of log records that wait for their spans; when there are more, the oldest go."""
_NOTE_BYTES = 500
"""What a record takes besides what it says."""
_QUOTA_SECONDS = 5.0
_OVER_QUOTA = "removed: the runs received take more than --max-disk"

Clock = Callable[[], float]


class RunNews(NamedTuple):
    """A run that began, or ended."""

    run_id: str
    run_name: str
    trace_id: str
    has_ended: bool
    was_removed: bool = False


class Traces:
    """Takes spans, writes runs. `on_news` is told which of them began and ended, once for each request."""

    def __init__(
        self,
        config: Config,
        *,
        idle_s: float = IDLE_SECONDS,
        max_disk: int | None = None,
        clock: Clock = time.monotonic,
        on_news: Callable[[list[RunNews]], None] | None = None,
    ) -> None:
        self._config = config
        self._names: Names = {}
        self._runs_dir = str(runs_dir(config.data_dir))
        self._idle_s = idle_s
        self._quota = DiskQuota(self._runs_dir, max_disk) if max_disk is not None else None
        self._weighed_at = clock()
        self._clock = clock
        self._on_news = on_news
        self._news: list[RunNews] = []
        self._notes: dict[tuple[str, str], list[tuple[int, SpanEvent]]] = {}
        """What was said in calls whose spans have not come, by trace and span, with its size."""
        self._noted = 0
        self._open: dict[str, TraceRun] = {}
        """By trace id, the one that was quiet longest first."""
        self._lock = threading.Lock()

    def take(self, spans: Sequence[Span]) -> list[str]:
        """Store the spans of one request; says which could not be read. Raises NotStored, and may be tried again."""
        by_trace: dict[str, list[Span]] = {}
        for span in spans:
            if span.attributes.get("logfire.span_type") != "pending_span":  # told again when it has ended
                by_trace.setdefault(span.trace_id, []).append(span)
        with self._lock:
            by_trace = {trace_id: [self._with_notes(span) for span in group] for trace_id, group in by_trace.items()}
        rejected: list[str] = []
        with self._lock, self._telling():
            for at, (trace_id, group) in enumerate(by_trace.items()):
                if at >= _MOST_TRACES_IN_A_BODY and trace_id not in self._open:
                    rejected += [_TOO_MANY_TRACES] * len(group)
                    continue
                try:
                    rejected += self._take_trace(trace_id, group)
                except UNREADABLE as error:
                    self._give_up(trace_id)
                    why = f"the trace {trace_id} cannot be read ({type(error).__name__}: {str(error)[:200]})"
                    rejected += [why] * len(group)
        return rejected

    def note(self, found: Sequence[LogEvent]) -> int:
        """
        Keep what was said in model calls until their spans come; says how much of it is not kept.

        A call that is stored already gets it as messages of its own. Raises NotStored.
        """
        left_out = 0
        with self._lock:
            for item in found:
                try:
                    left_out += not self._is_noted(item)
                except UNREADABLE:
                    left_out += 1
        return left_out

    def _is_noted(self, item: LogEvent) -> bool:
        run = self._open.get(item.trace_id)
        if run is not None and run.has_span(item.span_id):
            run.add_messages(item.span_id, messages_of(item.event), self._clock())
            return True
        size = _NOTE_BYTES + len(item.event.name) + len(encode_json(item.event.attributes))
        if size > _MOST_NOTED:
            return False
        while self._noted + size > _MOST_NOTED:  # the spans of the oldest are the least likely to come
            self._take_notes(next(iter(self._notes)))
        self._notes.setdefault((item.trace_id, item.span_id), []).append((size, item.event))
        self._noted += size
        return True

    def _take_notes(self, key: tuple[str, str]) -> list[SpanEvent]:
        noted = self._notes.pop(key, ())
        self._noted -= sum(size for size, _ in noted)
        return [event for _, event in noted]

    def _with_notes(self, span: Span) -> Span:
        span.events = [*self._take_notes((span.trace_id, span.span_id)), *span.events]
        return span

    def look_around(self) -> None:
        """End what has been quiet for long enough, and keep the others' run.json up to date; call it now and then."""
        with self._lock, self._telling():
            now = self._clock()
            for run in list(self._open.values()):
                quiet_s = now - run.heard_at
                waits_longer = run.has_many_services or run.awaits_messages
                patience_s = _MANY_SERVICES_SECONDS if waits_longer else _COMPLETE_SECONDS
                if quiet_s >= (min(patience_s, self._idle_s) if run.is_complete else self._idle_s):
                    self._end(run, quiet_s)
                else:
                    run.refresh(now)
            self._keep_within_quota(now)

    def _keep_within_quota(self, now: float) -> None:
        if self._quota is None or now - self._weighed_at < _QUOTA_SECONDS:
            return
        self._weighed_at = now
        in_use = {run.run_id for run in self._open.values()}
        for run_id in self._quota.enforce(in_use):
            self._news.append(RunNews(run_id, _OVER_QUOTA, "", has_ended=True, was_removed=True))

    def close(self) -> None:
        """End the complete runs, and leave the others for a later receiver."""
        with self._lock, self._telling():
            now = self._clock()
            for run in list(self._open.values()):
                if run.is_complete:
                    self._end(run, now - run.heard_at)
                else:
                    run.let_go()
            self._open.clear()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        finally:
            news, self._news = self._news, []
            if news and self._on_news is not None:
                self._on_news(news)

    def _take_trace(self, trace_id: str, spans: list[Span]) -> list[str]:
        known = self._open.pop(trace_id, None)
        run = known or self._find_or_begin(trace_id, spans)
        if run is None:
            return []
        self._open[trace_id] = run
        try:
            run.take(spans, self._clock())
        except NotStored:
            self._give_up(trace_id)
            raise
        if known is None:
            self._note(run, has_ended=False)
        rejected, run.rejected = run.rejected, []
        return rejected

    def _give_up(self, trace_id: str) -> None:
        """What really is on disk is found out when more of the trace comes."""
        run = self._open.pop(trace_id, None)
        if run is not None:
            run.let_go()

    def _find_or_begin(self, trace_id: str, spans: list[Span]) -> TraceRun | None:
        """The run of a trace that is not open: one to go on with, or a new one; None when all of this is stored."""
        earlier = NOTHING_EARLIER
        for part in range(1, _MOST_PARTS + 1):
            run_id = stable_id("run", "otlp", trace_id, str(part))
            folder = os.path.join(self._runs_dir, run_id)
            if not os.path.lexists(folder):
                break
            event_ids, is_over = _known_of(folder, run_id)
            if not is_over and not is_being_written(events_path(folder), None, now=float("inf")):
                return self._resume(trace_id, run_id, folder, earlier)
            found = read_run(folder, run_id)
            earlier = Earlier(
                run_id=run_id,
                run_name=earlier.run_name or str(found["run_name"] if found else ""),
                event_ids=earlier.event_ids | event_ids,
            )
        else:
            raise ValueError(f"{_MOST_PARTS} runs continue it already")
        if all(event_id_of(trace_id, span) in earlier.event_ids for span in spans):
            return None
        self._make_room()
        return TraceRun(
            trace_id,
            run_id,
            folder,
            self._config,
            self._names,
            start_id=None if earlier.run_id else start_id_of(trace_id, spans),
            earlier=earlier,
        )

    def _resume(self, trace_id: str, run_id: str, folder: str, earlier: Earlier) -> TraceRun:
        self._make_room()
        starts = (event["event_id"] for event in _stored(folder, run_id) if event["event_type"] == "RUN_START")
        start_id = next(starts, None)
        run = TraceRun(trace_id, run_id, folder, self._config, self._names, start_id=start_id, earlier=earlier)
        run.resume(_stored(folder, run_id))
        return run

    def _make_room(self) -> None:
        """Each open run holds a file; where there are too many, the one that was quiet longest is ended."""
        if len(self._open) >= _MOST_OPEN:
            oldest = next(iter(self._open.values()))
            quietest = next((run for run in self._open.values() if run.is_complete), oldest)
            self._end(quietest, self._clock() - quietest.heard_at)

    def _end(self, run: TraceRun, quiet_s: float) -> None:
        del self._open[run.trace_id]
        run.end(quiet_s)
        self._note(run, has_ended=True)

    def _note(self, run: TraceRun, *, has_ended: bool) -> None:
        self._news.append(RunNews(run.run_id, run.name, run.trace_id, has_ended))


def _known_of(folder: str, run_id: str) -> tuple[set[str], bool]:
    """The ids of what a run holds, and whether it has ended; its events are not kept, there may be very many."""
    event_ids, is_over = set(), False
    for event in _stored(folder, run_id):
        event_ids.add(event["event_id"])
        is_over = is_over or event["event_type"] == "RUN_END"
    return event_ids, is_over


def _stored(folder: str, run_id: str) -> Iterator[Event]:
    """The events that are on disk, damaged lines left out."""
    file = open_events(folder)
    if file is None:
        return
    with file:
        for offset, line in iter_lines(file):
            if line is not None and line.strip():
                try:
                    yield parse_event(line, run_id, offset)
                except DamagedLine:
                    continue
