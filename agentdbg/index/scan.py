"""
Walk through whole lines of events.jsonl and say what each one is.

`scan_lines` gives the events of a block in file order, each able to answer what an index asks, and the damaged lines.
Lines in our strict form are decoded all at once; a block that holds anything else is taken line by line, and a line
that is not strict goes through the tolerant reader.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import sub
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import run_columns as columns
from agentdbg.encoding import IS_FAST, encode_json
from agentdbg.events import BUILTIN_EVENT_TYPES
from agentdbg.events.facts import cost_of, tokens_of
from agentdbg.storage.dialects import DamagedLine, parse_event, parse_timestamp, timestamp_ms
from agentdbg.storage.lines import is_too_long

if TYPE_CHECKING:
    from agentdbg.events import Event
    from agentdbg.events.facts import Tokens

__all__ = ["LooseEvent", "Scan", "scan_lines"]

_OPENING, _CLOSING = {ord("{")}, {ord("}")}

if IS_FAST:
    from agentdbg.index.strict import decode_own, decode_strict, decode_strict_lines


@dataclass
class Scan:
    """The events of one block: parallel lists, and the lines (counted from 0) that are no events."""

    events: list[Any] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    ts_ms: list[int] = field(default_factory=list)
    is_strict: bytearray = field(default_factory=bytearray)
    damaged: list[int] = field(default_factory=list)
    line_count: int = 0
    is_whole: bool = False
    """Every line is an event in the strict form, and so the block may be served as it stands."""


def scan_lines(block: bytes, offset: int, run_id: str, last_ts_ms: int = 0) -> Scan:
    """What the lines of `block` are, which starts at `offset`; its last line may lack the newline."""
    scan = _scan_strict(block, offset) if IS_FAST else None
    if scan is None:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        scan = _scan_each(lines, offset, run_id, last_ts_ms)
        scan.line_count = len(lines)
    if scan.lengths and scan.offsets[-1] + scan.lengths[-1] > offset + len(block):  # without its newline
        scan.lengths[-1] -= 1
    return scan


def _scan_strict(block: bytes, offset: int) -> Scan | None:
    """The block when every line of it is in the strict form, else None."""
    ends = _line_ends(block)
    if ends is None:
        return None
    try:
        if not block.isascii():
            block.decode()  # the decoder steps over long texts without looking at their encoding
        events = decode_strict_lines(block)
    except (ValueError, RecursionError):
        return None
    if len(events) != len(ends):  # two on one line
        return None
    times = [ts_ms for event in events if (ts_ms := _strict_ms(event.ts)) is not None]
    if len(times) != len(events):
        return None
    starts = [0, *ends[:-1]]
    lengths = list(map(sub, ends, starts))
    offsets = [offset + start for start in starts]
    whole = bytearray(b"\x01") * len(events)
    return Scan(events, offsets, lengths, times, whole, line_count=len(events), is_whole=True)


def _line_ends(block: bytes) -> list[int] | None:
    """
    Where each line ends, its newline included; None unless every line is framed as one object.

    In JSON no `{` follows a `}` but for one value ending and another beginning, so no value reaches over such lines.
    """
    ends = []
    find = block.find
    end = find(b"\n") + 1
    while end:
        ends.append(end)
        end = find(b"\n", end) + 1
    if not ends or ends[-1] != len(block):
        ends.append(len(block) + 1)
    opening = {block[0], *map(block.__getitem__, ends[:-1])}
    closing = {block[end - 2] for end in ends}
    return ends if opening == _OPENING and closing == _CLOSING else None


def _scan_each(lines: list[bytes], offset: int, run_id: str, last_ts_ms: int) -> Scan:
    scan = Scan()
    for position, line in enumerate(lines):
        length = len(line) + 1
        found = _scan_one(line, offset, run_id)
        if found is not None:
            event, ts_ms, is_strict = found
            last_ts_ms = last_ts_ms if ts_ms is None else ts_ms
            scan.events.append(event)
            scan.offsets.append(offset)
            scan.lengths.append(length)
            scan.ts_ms.append(last_ts_ms)
            scan.is_strict.append(is_strict)
        elif line.strip():
            scan.damaged.append(position)
        offset += length
    return scan


def _scan_one(line: bytes, offset: int, run_id: str) -> tuple[Any, int | None, bool] | None:
    if not line.strip() or is_too_long(line):
        return None
    strict = _decode_strictly(line) if IS_FAST else None
    if strict is not None:
        ts_ms = _strict_ms(strict.ts)
        if ts_ms is not None:
            return strict, ts_ms, True
    try:
        event = parse_event(line, run_id, offset, fallback_ts="")
    except DamagedLine:
        return None
    return LooseEvent(event), timestamp_ms(event["ts"]) if event["ts"] else None, False


def _decode_strictly(line: bytes) -> Any:
    try:
        line.decode()
        return decode_strict(line)
    except (ValueError, RecursionError):
        pass
    try:
        own = decode_own(line)
    except (ValueError, RecursionError):
        return None
    return None if own.event_type in BUILTIN_EVENT_TYPES else own


class LooseEvent:
    """An event the tolerant reader made, answering what the strict ones answer."""

    __slots__ = ("duration_ms", "event_id", "event_type", "kind", "name", "parent_id", "payload", "severity", "status")

    def __init__(self, event: Event) -> None:
        self.event_id = event["event_id"]
        self.parent_id = event["parent_id"]
        self.event_type = event["event_type"]
        self.duration_ms = event["duration_ms"]
        self.name = event["name"]
        self.payload = event["payload"]
        self.kind = columns.kind_of(event["event_type"], event["meta"])
        self.status = columns.status_of(self.kind, self.payload)
        self.severity = columns.severity_of(self.kind, self.payload)

    @property
    def usage(self) -> Tokens:
        return tokens_of(self.payload)

    @property
    def cost_usd(self) -> float | None:
        return cost_of(self.payload)

    @property
    def args(self) -> bytes:
        return encode_json(self.payload.get("args"))

    @property
    def call_id(self) -> str | None:
        call_id = self.payload.get("call_id")
        return call_id if isinstance(call_id, str) else None


_SECONDS = {f":{number:02d}": number * 1000 for number in range(60)}
_MILLISECONDS = {f".{number:03d}Z": number for number in range(1000)}
_MOST_MINUTES = 10_000
_minute_ms: dict[str, int] = {}


def _strict_ms(text: str) -> int | None:
    """Milliseconds since 1970 of a strict timestamp, None for any other text."""
    minute, second, millisecond = _minute_ms.get(text[:16]), _SECONDS.get(text[16:19]), _MILLISECONDS.get(text[19:])
    if second is None or millisecond is None:
        return None
    if minute is None:
        if parse_timestamp(text) != text:
            return None
        minute = timestamp_ms(f"{text[:16]}:00.000Z")
        if len(_minute_ms) > _MOST_MINUTES:
            _minute_ms.clear()
        _minute_ms[text[:16]] = minute
    return minute + second + millisecond
