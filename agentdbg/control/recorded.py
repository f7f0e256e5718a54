"""
The calls of a recording, as a replay looks for them.

A `Recording` is a tape with its indexes: by lane and place, by what was asked, by what stands inside what. It holds
the small fields of every call; inputs and outcomes are read from the tape when they are needed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.control.gate import Turn
from agentdbg.recorder.draws import WAITING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "ONLY_OBSERVED",
    "Key",
    "RecordedCall",
    "Recording",
    "counted_calls",
    "is_unasked",
    "kind_of_worker",
    "shape_of",
]

ONLY_OBSERVED = "it was only observed"
Key = tuple[str, str, str]
"""What a call asks for: its kind, its name, the hash of its input."""
_NUMBER = re.compile(r"~\d+")
_DIGITS = re.compile(r"\d+")


class RecordedCall(NamedTuple):
    """One call on the tape. `turn` is its number in the order in which calls ended, from 0."""

    turn: int
    number: int
    """As people count, see `counted_calls`; one that is not counted has the number of the next one that is."""
    event_id: str
    kind: str
    name: str
    lane: str
    place: int
    digest: str
    input_hash: str
    is_servable: bool
    is_late: bool
    began_ms: int
    ended_ms: int
    source: str | None
    begun: int
    """Its number in the order in which calls began."""
    had_begun: int
    """How many calls had begun when it ended."""
    round: tuple[int, int] | None
    """The event loop that it ended in, and its round; None outside loops."""
    tape_call: Any
    """The line as the tape's reader gives it."""

    @property
    def key(self) -> Key:
        return self.kind, self.name, self.input_hash

    @property
    def is_unasked(self) -> bool:
        """Whether the program did not ask for it: which of some jobs were done when it had waited."""
        return is_unasked(self.key)

    @property
    def is_only_observed(self) -> bool:
        """Whether a framework only reported it, so that nobody can answer in its place."""
        return bool(self.tape_call.why == ONLY_OBSERVED)


class Recording:
    """The calls of one run, found by lane, by place and by what they ask for."""

    def __init__(self, calls: Iterable[RecordedCall]) -> None:
        self.calls = list(calls)
        self.by_key: dict[tuple[str, Key], list[RecordedCall]] = {}
        self.by_lane: dict[str, list[RecordedCall]] = {}
        self.by_id: dict[str, RecordedCall] = {}
        self._over_http: dict[str, list[int]] = {}
        for call in self.calls:
            self.by_key.setdefault((call.lane, call.key), []).append(call)
            self.by_lane.setdefault(call.lane, []).append(call)
            self.by_id.setdefault(call.event_id, call)
            if call.kind == "http":
                self._over_http.setdefault(call.event_id, []).append(call.turn)
        for same in self.by_key.values():
            same.sort(key=_place)
        for lane in self.by_lane.values():
            lane.sort(key=_place)
        self.by_shape: dict[str, list[str]] = {}
        """Lanes that were started the same way, whatever their numbers; the lowest numbers first."""
        for name in sorted(self.by_lane, key=_in_numeric_order):
            self.by_shape.setdefault(shape_of(name), []).append(name)
        self._inside = _insides(self.calls)
        self._workers: dict[str, list[str]] = {}
        for name in self.by_lane:
            self._workers.setdefault(kind_of_worker(name), []).append(name)

    def turns(self) -> list[Turn]:
        """What the gate has to know of each call, in the order in which they ended."""
        in_order = sorted(self.calls, key=lambda call: call.begun)
        rank = {call.turn: at for at, call in enumerate(in_order)}
        begins = [call.begun for call in in_order]
        turns: list[Turn] = []
        for at, call in enumerate(self.calls):
            before = self.calls[at - 1] if at else None
            gap = 0 if before is None or before.lane == call.lane else call.ended_ms - before.ended_ms
            turns.append(Turn(rank[call.turn], bisect_left(begins, call.had_begun), gap, _rounds_between(before, call)))
        return turns

    def inside(self, call: RecordedCall) -> list[int]:
        """The turns of all calls that were made inside this one."""
        return self._inside.get(f"{call.lane}:{call.place}", [])

    def made_for(self, call: RecordedCall) -> list[int]:
        """The same, and the exchanges of a client that asks when the first piece of its answer is read."""
        return self.inside(call) or (self._over_http.get(call.event_id, []) if call.kind == "llm" else [])

    def is_answered_inside(self, call: RecordedCall) -> bool:
        """Whether it is a client's call that is made again, because the exchanges made for it are what is answered."""
        is_client = call.kind == "llm" and not call.is_servable and not call.is_only_observed
        return is_client and any(self.calls[turn].kind == "http" for turn in self.made_for(call))

    def workers_beside(self, lane: str) -> list[str]:
        """The lanes that the same lane started with the same function, this one among them."""
        return self._workers.get(kind_of_worker(lane), [])

    def place_of(self, event_id: str) -> RecordedCall:
        """
        Of all that was recorded of one step, the call whose outcome the program gets.

        A model's client and a framework's tool are only reported: what the client asks over HTTP and the function
        behind the tool are what can be answered.
        """
        same = [call for call in self.calls if call.event_id == event_id]
        over_http = [call for call in same if call.kind == "http"]
        others = [call for call in same if call.kind != "http"]
        if over_http and all(call.kind == "llm" for call in others):
            return over_http[-1]
        answered = [call for call in others if not call.is_only_observed]
        return (answered or others)[-1]

    def computed_ms(self, call: RecordedCall) -> int:
        """How long its lane had worked by itself before it made the call."""
        before = [other.ended_ms for other in self.by_lane[call.lane] if other.place < call.place]
        return max(0, call.began_ms - max(before, default=0))

    def __len__(self) -> int:
        return len(self.calls)


def counted_calls(calls: Sequence[Any]) -> tuple[list[bool], list[int]]:
    """
    Which calls of a tape people count, those that a replay answers, each once; and the number of every call.

    Not counted is what a framework only reports, and what was done inside a call that is answered as a whole: such a
    call has the number of the next one. Nor is a client's call around the exchanges of a stream, which are what is
    answered: it has their number.
    """
    asked = [call for call in calls if call.why != ONLY_OBSERVED and call.name not in WAITING]
    whole = {f"{call.lane}:{call.place}" for call in asked if call.servable}
    exchanges = {call.lane: at for at, call in enumerate(calls) if call.kind == "http"}
    read_later = {call.event_id: at for at, call in enumerate(calls) if call.kind == "http" and call.event_id}

    def exchange_of(call: Any) -> int | None:
        return exchanges.get(f"{call.lane}:{call.place}", read_later.get(call.event_id))

    def is_client(call: Any) -> bool:
        return call.kind == "llm" and not call.servable and exchange_of(call) is not None

    def is_counted(call: Any) -> bool:
        is_asked = call.why != ONLY_OBSERVED and call.name not in WAITING
        return is_asked and not is_client(call) and whole.isdisjoint(_enclosing(call.lane))

    counted = [is_counted(call) for call in calls]
    numbers = [count + (not one) for count, one in zip(accumulate(counted), counted, strict=True)]
    for at, call in enumerate(calls):
        exchange = exchange_of(call) if is_client(call) else None
        if exchange is not None:
            numbers[at] = numbers[exchange]
    return counted, numbers


def _rounds_between(before: RecordedCall | None, call: RecordedCall) -> int | None:
    """How many rounds of one event loop lie between the ends of two calls; None when it was not the same loop."""
    if before is None or before.round is None or call.round is None or before.round[0] != call.round[0]:
        return None
    return 0 if before.lane == call.lane else max(0, call.round[1] - before.round[1])


def is_unasked(key: Key) -> bool:
    """Whether a program does not know that it asks for this: which of some jobs were done when it had waited."""
    return key[0] == "draw" and key[1] in WAITING


def shape_of(lane: str) -> str:
    """The name of a lane without its numbers."""
    return _NUMBER.sub("~", lane)


def kind_of_worker(lane: str) -> str:
    """The name of a lane without its own number; the lanes that started it keep theirs."""
    start, _, number = lane.rpartition("~")
    return start if number.isdigit() else lane


def _place(call: RecordedCall) -> int:
    return call.place


def _in_numeric_order(name: str) -> list[int]:
    return [int(number) for number in _DIGITS.findall(name)]


def _insides(calls: Iterable[RecordedCall]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for call in calls:
        for outer in _enclosing(call.lane):
            found.setdefault(outer, []).append(call.turn)
    return found


def _enclosing(lane: str) -> Iterator[str]:
    """`m/a~0:3/b~1:2` stands inside `m/a~0:3` and `m/a~0:3/b~1:2`."""
    at = lane.find(":")
    while at >= 0:
        end = at + 1
        while end < len(lane) and lane[end].isdigit():
            end += 1
        yield lane[:end]
        at = lane.find(":", end)
