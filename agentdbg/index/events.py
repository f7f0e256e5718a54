"""
One run's events as columns: where each stands in the file, and what is known of it without opening it.

An `EventIndex` is built lazily and extended as the file grows, a slice of time at a time, so that a page out of a
million events costs as much as one out of ten. It is a cache: what it keeps between processes lies in <data_dir>/index
and may be deleted at any time. An event's number counts from 1 among the undamaged lines; its value in a column stands
at `number - 1`.
"""

from __future__ import annotations

import threading
import time
from array import array
from typing import TYPE_CHECKING, Any, cast

from agentdbg.analysis import run_columns as columns
from agentdbg.encoding import decode_json
from agentdbg.events import EVENT_KEYS, utc_timestamp
from agentdbg.exceptions import EventNotFound
from agentdbg.index.column_cache import ColumnFile
from agentdbg.index.links import ID_BYTES, Links, pack_id, split_ids
from agentdbg.index.source import EventSource
from agentdbg.index.stretch import NOT_STRICT, STRICT_AFTER_GAP, STRICT_JOINED, Stretch, read_stretch
from agentdbg.storage.dialects import DamagedLine, parse_event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TypeVar

    from agentdbg.events import Event

    _Number = TypeVar("_Number", int, float)

__all__ = ["NOT_STRICT", "STRICT_AFTER_GAP", "STRICT_JOINED", "EventIndex"]

_SHOWN_DAMAGE = 20
_MOST_TYPES = 255
_KEYS = frozenset(EVENT_KEYS)
_LEAST_CACHE = 1 << 20


class EventIndex:
    """The columns of one run. `lock` is held while they are extended, and by whoever reads several of them at once."""

    def __init__(self, folder: str | Path, run_id: str, cache: Path | None = None) -> None:
        self.run_id = run_id
        self.lock = threading.RLock()
        self._source = EventSource(folder)
        self._cache = ColumnFile(cache / f"{run_id}.columns") if cache is not None else None
        self._saved_total = 0
        self._clear()
        if self._cache is not None:
            self._load(self._cache)

    def _clear(self) -> None:
        self.offset = array("Q")
        self.length = array("I")
        self.strictness = bytearray()
        self.kind = bytearray()
        self.status = bytearray()
        self.severity = bytearray()
        self.type = bytearray()
        self.types: list[str] = []
        self.parent_n = array("I")
        self.start_ms = array("I")
        self.duration_ms = array("I")
        self.tokens = array("I")
        self._previous = array("I")
        self._alike = array("I")
        self._likeness = array("Q")
        self._ids = bytearray()
        self.started_ms = 0
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.total_tokens: int | None = None
        self.cost_usd: float | None = None
        self.damaged_lines: list[int] = []
        self.line_count = 0
        self.indexed_bytes = 0
        self.changed: list[int] = []
        """Numbers of earlier events whose parent or status became known later, in the order that happened."""
        self._damaged = 0
        self._last_ts_ms = 0
        self._links: Links | None = Links(self._ids)
        self._loose_ends: dict[str, Any] | None = None

    @property
    def total(self) -> int:
        """How many events are indexed so far."""
        return len(self.kind)

    @property
    def complete(self) -> bool:
        """Whether that is the whole file, as far as it was there when `extend` last looked."""
        return self._source.is_at_end(self.indexed_bytes)

    @property
    def progress(self) -> float:
        """How much of the file is indexed, from 0 to 1."""
        return 1.0 if self.complete else self.indexed_bytes / max(1, self._source.size)

    @property
    def damaged_total(self) -> int:
        """How many lines are no events, a torn last one included."""
        return self._damaged + self._source.has_torn_end

    @property
    def clean_bytes(self) -> int:
        """How far the file from its beginning is nothing but lines that may be served as they stand."""
        strict = len(self.strictness) - len(self.strictness.lstrip(bytes([STRICT_JOINED])))
        return self.offset[strict - 1] + self.length[strict - 1] if strict else 0

    @property
    def generation(self) -> int:
        """Changes when the file was replaced and everything known of it with it."""
        return self._source.generation

    def extend(self, max_ms: float | None = None, keep_going: Callable[[], bool] = lambda: True) -> int:
        """Index what is new, for at most about `max_ms` and while `keep_going` says so; gives how many events."""
        deadline = None if max_ms is None else time.perf_counter() + max_ms / 1000
        with self.lock:
            if not self._source.refresh(self.indexed_bytes):
                self._clear()
            before = self.total
            while self._go_on() and keep_going():
                if deadline is not None and time.perf_counter() > deadline:
                    break
            if self.complete:
                self._settle()
            return self.total - before

    def is_behind(self) -> bool:
        """Whether there is more to index, as far as a `stat` can tell."""
        return not self.complete or self._source.is_stale()

    def event(self, number: int) -> Event:
        """The whole event, read again from the file."""
        line = self.line(number)
        event = _as_it_stands(line) if self.strictness[number - 1] else None
        if event is not None:
            return event
        fallback = utc_timestamp((self.started_ms + self.start_ms[number - 1]) / 1000)
        try:
            return parse_event(line, self.run_id, self.offset[number - 1], fallback)
        except DamagedLine:  # the file changed under us
            raise EventNotFound(str(number), self.run_id) from None

    def line(self, number: int) -> bytes:
        """The bytes of an event as they stand in the file."""
        if not 1 <= number <= self.total:
            raise EventNotFound(str(number), self.run_id)
        return self._source.read(self.offset[number - 1], self.length[number - 1])

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the file, uncompressed."""
        return self._source.read(offset, length)

    def number_of(self, event_id: str) -> int | None:
        """Where an event stands; None for an id this run does not have."""
        packed, start = pack_id(event_id), 0
        if self._links is not None:
            return self._links.number_of(packed) or None
        while (found := self._ids.find(packed, start)) >= 0:
            if found % ID_BYTES == 0:
                return found // ID_BYTES + 1
            start = found + 1
        return None

    def same_as(self, number: int) -> int | None:
        """The first earlier call of the same tool with the same arguments."""
        earlier = self._alike[number - 1]
        if not earlier:
            return None
        first, second = self.event(earlier), self.event(number)
        is_same = first["name"] == second["name"] and first["payload"].get("args") == second["payload"].get("args")
        return earlier if is_same else None

    def previous_call(self, number: int) -> int | None:
        """The latest earlier call of the same tool."""
        return self._previous[number - 1] or None

    def save(self) -> bool:
        """Keep the columns for the next process, if they are complete and grew enough to be worth it."""
        with self.lock:
            if self._cache is None or not self.complete or self.total < max(1000, self._saved_total * 1.2):
                return False
            loose_ends = self._loose_ends if self._links is None else self._links.loose_ends()
            if loose_ends is None:
                return False
            facts = {name: getattr(self, name) for name in _FACTS}
            facts["loose_ends"] = loose_ends
            facts["file"] = self._source.fingerprint(self.indexed_bytes)
            self._saved_total = self.total
            return self._cache.write(facts, {name: getattr(self, name) for name in _COLUMNS})

    def close(self) -> None:
        """Let go of the file."""
        with self.lock:
            self._source.close()

    def _load(self, cache: ColumnFile) -> None:
        if not cache.exists():
            return
        self._source.refresh(0)
        # No event is shorter than its columns are by much; whatever is longer is not ours.
        found = cache.read({name: getattr(self, name) for name in _COLUMNS}, _LEAST_CACHE + 4 * self._source.size)
        if found is None or found.pop("file", None) != self._source.fingerprint(found["indexed_bytes"]):
            self._clear()
            return
        self._loose_ends = found.pop("loose_ends")
        self._links = None
        for name, value in found.items():
            setattr(self, name, value)
        self._saved_total = self.total

    def _go_on(self) -> bool:
        """Do a little of what is to be done; whether there was anything."""
        block = self._source.next_block(self.indexed_bytes)
        if block.end:
            self._take(self._read(block.lines) if block.lines else _TOO_LONG, block.end)
        return bool(block.end)

    def _read(self, lines: bytes) -> Stretch:
        """What the next lines say."""
        started_ms = self.started_ms if self.kind else None
        return read_stretch(lines, self.indexed_bytes, self.run_id, started_ms, self._last_ts_ms)

    def _take(self, stretch: Stretch, end: int) -> None:
        """Join what the lines up to `end` say to what is known."""
        first = self.total + 1
        self.indexed_bytes = end
        self._note_damage(stretch.damaged, stretch.line_count)
        if not stretch.kind:
            return
        links = self._linked()
        if first == 1:
            self.started_ms = stretch.first_ms
        self._last_ts_ms = stretch.last_ms
        joint = self.offset[-1] + self.length[-1] if self.offset else 0
        for name in _JOINED:
            column = getattr(self, name)
            (column.frombytes if isinstance(column, array) else column.extend)(getattr(stretch, name))
        if self.strictness[first - 1] == STRICT_JOINED and self.offset[first - 1] != joint:
            self.strictness[first - 1] = STRICT_AFTER_GAP
        codes = self._type_codes(stretch.types)
        self.type.extend(map(codes.__getitem__, stretch.type))
        self._add_links(links, stretch, first)
        self._add_calls(links, stretch, first)
        self.tokens_in = _sum(self.tokens_in, stretch.tokens_in)
        self.tokens_out = _sum(self.tokens_out, stretch.tokens_out)
        self.total_tokens = _sum(self.total_tokens, stretch.total_tokens)
        self.cost_usd = _sum(self.cost_usd, stretch.cost_usd)

    def _type_codes(self, names: Sequence[str]) -> list[int]:
        """The positions of names in `types`; those that find no place any more share the last."""
        known = {name: code for code, name in enumerate(self.types)}
        for name in names:
            if name not in known:
                if len(self.types) < _MOST_TYPES:
                    self.types.append(name)
                known[name] = min(len(self.types), _MOST_TYPES) - 1
        return [known[name] for name in names]

    def _add_links(self, links: Links, stretch: Stretch, first: int) -> None:
        self._ids += stretch.ids
        started = dict(zip(stretch.started_positions, split_ids(stretch.started_ids), strict=True))
        awaited = split_ids(stretch.ids) if started or links.is_waiting() else []
        self.parent_n.extend(links.parents_of(stretch.parents, stretch.parent, first))
        for parent, children in links.arrived(awaited, first):
            for child in children:
                self.parent_n[child - 1] = parent
                self.changed.append(child)
        for number in links.ended(awaited, started, first):
            self.status[number - 1] = columns.ENDED
            self.changed.append(number)

    def _add_calls(self, links: Links, stretch: Stretch, first: int) -> None:
        likeness = array("Q", stretch.likeness)
        self._likeness.extend(likeness)
        nothing = bytes(len(stretch.kind) * self._previous.itemsize)
        self._previous.frombytes(nothing)
        self._alike.frombytes(nothing)
        numbers = map(first.__add__, stretch.tool_positions)
        tools = map(stretch.tools.__getitem__, stretch.tool)
        for number, previous, alike in links.earlier_calls(numbers, tools, likeness):
            self._previous[number - 1] = previous
            self._alike[number - 1] = alike

    def _note_damage(self, positions: Sequence[int], line_count: int) -> None:
        for position in positions[: max(0, _SHOWN_DAMAGE - len(self.damaged_lines))]:
            self.damaged_lines.append(self.line_count + position + 1)
        self._damaged += len(positions)
        self.line_count += line_count

    def _linked(self) -> Links:
        """The links, taken up again from the columns when they had been let go."""
        if self._links is None:
            self._links = Links(self._ids)
            tools = [number for number, kind in enumerate(self.kind, 1) if kind == columns.TOOL]
            self._links.restore(self._loose_ends or {}, zip(self._likeness, tools, strict=True))
            self._loose_ends = None
        return self._links

    def _settle(self) -> None:
        """A run that has ended will hardly grow, so what only growth needs is let go."""
        if self._links is not None and self.kind and self.kind[-1] == columns.END:
            self._loose_ends = self._links.loose_ends()
            if self._loose_ends is not None:
                self._links = None


def _as_it_stands(line: bytes) -> Event | None:
    """The event of a line that was in the strict form when it was indexed; None when it has to be read with care."""
    try:
        event: Any = decode_json(line)
    except ValueError:
        return None
    return cast("Event", event) if isinstance(event, dict) and event.keys() == _KEYS else None


def _sum(known: _Number | None, more: _Number | None) -> _Number | None:
    """What was told so far, None when nothing was."""
    return known if more is None else more if known is None else known + more


_TOO_LONG = Stretch(line_count=1, damaged=(0,))  # a line too long to be kept
# The columns that a stretch has ready.
_JOINED = ("offset", "length", "strictness", "kind", "status", "severity", "start_ms", "duration_ms", "tokens")
_COLUMNS = (
    "offset",
    "length",
    "strictness",
    "kind",
    "status",
    "severity",
    "type",
    "parent_n",
    "start_ms",
    "duration_ms",
    "tokens",
    "_previous",
    "_alike",
    "_likeness",
    "_ids",
)
_FACTS = (
    "types",
    "started_ms",
    "tokens_in",
    "tokens_out",
    "total_tokens",
    "cost_usd",
    "damaged_lines",
    "line_count",
    "indexed_bytes",
    "_damaged",
    "_last_ts_ms",
)
