"""
Find the recorded call that a call of the running program is.

A call is looked for in its own lane, by what it asks for and how many times the lane has asked for that. Lanes have
the names that they had in the recording; where a set or a race started them in another order, a lane takes the name of
a recorded one that began with the same call. Workers that one lane started with one function may take jobs from a
queue, and which of them takes a job is chance: what a worker asks for is looked for among the others too, and served
if all that fit came to the same. Nothing here waits, serves or raises.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.control.recorded import is_unasked, kind_of_worker, shape_of
from agentdbg.loading import lock_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.control.recorded import Key, RecordedCall, Recording
    from agentdbg.recorder.lanes import Lane

__all__ = ["Found", "Matcher"]

_MOST_LEFT = 200


class Found(NamedTuple):
    """What the recording has for a call."""

    call: RecordedCall | None
    """The same call; None when there is none."""
    expected: RecordedCall | None
    """The next recorded call of the lane that was not made yet; None when the lane made no more."""
    is_moved: bool = False
    """Whether the lane has made a later call already."""
    is_ambiguous: bool = False
    """Whether it could be another one with another outcome, because its lane has no certain name."""


class Matcher:
    """Which recorded calls were made so far, and which lane of the recording each running lane is."""

    def __init__(self, recording: Recording, *, any_lane: bool = False) -> None:
        self._recording = recording
        self._any_lane = any_lane
        self._lock = lock_of(self)
        self._bound: dict[str, bool] = {}
        """Names of recorded lanes that a running one has."""
        self.made: set[int] = set()
        """Turns of the calls that were made."""
        self._shared: set[str] = set()
        """Kinds of workers that have taken each other's jobs."""
        self._first_left_at: dict[str, int] = {}
        """By lane: how many of its calls, from the first on, were all made."""

    def find(self, lane: Lane, key: Key) -> Found:
        """The recorded call that this is; it counts as made from here on."""
        with self._lock:
            if not lane.is_bound:
                self._bind(lane, key)
            expected = self._next_of(lane, key)
            if is_unasked(key):
                return Found(self._next_wait(lane, key), None)
            call = self._first_left(self._recording.by_key.get((lane.name, key), ()))
            if call is None and self._any_lane:
                call = self._first_left(sorted(self._everywhere(key)))
            is_ambiguous = False
            if call is None and lane.is_started:
                call, is_ambiguous = self._of_other_worker(lane.name, key)
                if call is not None:
                    self._shared.add(kind_of_worker(lane.name))
            if call is None:
                return Found(None, expected)
            is_ambiguous = is_ambiguous or (call.is_late and self._has_rival(call))
            is_moved = call.place < lane.reached.get(call.lane, 0)
            self._make(call, lane)
            return Found(call, expected, is_moved, is_ambiguous)

    def take(self, call: RecordedCall, lane: Lane) -> None:
        """Count a call as made by a lane that was found otherwise: by wildcards, or as the nearest one."""
        with self._lock:
            self._make(call, lane)

    def passed_over(self, call: RecordedCall) -> list[int]:
        """The turns of the calls that its lane made before it in the recording, and has not made now."""
        with self._lock:
            before = takewhile(lambda other: other.place < call.place, self._left_in(call.lane))
            return [other.turn for other in before]

    def has_workers_beside(self, lane: str) -> bool:
        """Whether another lane may make the calls of this one."""
        return len(self._recording.workers_beside(lane)) > 1

    def is_shared(self, lane: str) -> bool:
        """Whether a worker of that kind has made what another one had made in the recording."""
        return kind_of_worker(lane) in self._shared

    def left_to_workers(self, lane: str) -> list[RecordedCall]:
        """What the lane and the workers beside it have not made yet, in recorded order; some of it."""
        with self._lock:
            lanes = self._recording.workers_beside(lane)
            return sorted(call for name in lanes for call in islice(self._left_in(name), _MOST_LEFT))[:_MOST_LEFT]

    def _make(self, call: RecordedCall, lane: Lane) -> None:
        self.made.add(call.turn)
        lane.reached[call.lane] = max(lane.reached.get(call.lane, 0), call.place + 1)
        calls, at = self._recording.by_lane[call.lane], self._first_left_at.get(call.lane, 0)
        while at < len(calls) and calls[at].turn in self.made:
            at += 1
        self._first_left_at[call.lane] = at

    def _first_left(self, calls: list[RecordedCall] | tuple[RecordedCall, ...]) -> RecordedCall | None:
        return next((call for call in calls if call.turn not in self.made), None)

    def _next_of(self, lane: Lane, key: Key) -> RecordedCall | None:
        """What the lane made next; what a framework only reports stands beside what it asks of others."""
        reached = lane.reached.get(lane.name, 0)
        left = (call for call in self._left_in(lane.name) if call.place >= reached)

        def is_beside(call: RecordedCall) -> bool:
            return call.is_only_observed or call.is_unasked

        return next((call for call in left if not is_beside(call) or call.key[:2] == key[:2]), None)

    def _next_wait(self, lane: Lane, key: Key) -> RecordedCall | None:
        """
        What a lane had got when it waited between the calls that it is between now.

        How often it waits there may be chance. A wait more or less is no difference, and none gets what another wait
        had got, which was for other jobs.
        """
        for name in dict.fromkeys((lane.name, *lane.reached)):  # a worker may have made what another one had
            reached = lane.reached.get(name, 0)
            call = next((call for call in self._left_in(name) if call.place >= reached), None)
            if call is not None and call.key == key:
                self._make(call, lane)
                return call
        return None

    def _left_in(self, lane: str) -> Iterator[RecordedCall]:
        """The calls of a lane that were not made yet, in their order."""
        calls = self._recording.by_lane.get(lane, [])
        for at in range(self._first_left_at.get(lane, 0), len(calls)):
            if calls[at].turn not in self.made:
                yield calls[at]

    def _of_other_worker(self, lane: str, key: Key) -> tuple[RecordedCall | None, bool]:
        """What another worker of the same kind made, and whether several fit that came to different ends."""
        lanes = self._recording.workers_beside(lane)
        left = [self._first_left(self._recording.by_key.get((name, key), ())) for name in lanes]
        found = sorted(call for call in left if call is not None)
        is_ambiguous = any(call.tape_call.out != found[0].tape_call.out for call in found[1:])
        return (found[0] if found else None), is_ambiguous

    def _everywhere(self, key: Key) -> Iterator[RecordedCall]:
        for (_, known), calls in self._recording.by_key.items():
            if known == key:
                yield from calls

    def _has_rival(self, call: RecordedCall) -> bool:
        """Whether another call of a late lane that was not made asks for the same and came to something else."""
        out = call.tape_call.out
        return any(
            other.is_late and other.turn not in self.made and other.turn != call.turn and other.tape_call.out != out
            for other in self._everywhere(call.key)
        )

    # Lanes.

    def _bind(self, lane: Lane, key: Key) -> None:
        """At a lane's first call: find the recorded lane that it is."""
        lane.is_bound = True
        if not lane.is_started:  # what a call does; its name follows from the lane around it
            return
        fitting = [name for name in self._candidates(lane) if self._recording.by_lane[name][0].key == key]
        digest = lane.first_digest
        alike = [name for name in fitting if self._recording.by_lane[name][0].digest == digest]
        own = lane.name
        chosen = next((name for name in (*([own] if own in alike else []), *alike, *fitting)), own)
        self._bound[chosen] = True
        self._name_makers(lane, chosen)

    def _candidates(self, lane: Lane) -> list[str]:
        """The recorded lanes of that kind that are free, and whose makers are the makers of this one."""
        names = self._recording.by_shape.get(shape_of(lane.name), ())
        return [name for name in names if name not in self._bound and self._makers_agree(lane, name)]

    def _makers_agree(self, lane: Lane, name: str) -> bool:
        for maker, of_recorded in _ancestors(lane, name):
            if maker.name != of_recorded and (maker.is_bound or (maker.is_started and of_recorded in self._bound)):
                return False
        return True

    def _name_makers(self, lane: Lane, name: str) -> None:
        """The lane is this one, so the lanes that started it are those that started this one."""
        lane.rename(name)
        for maker, of_recorded in _ancestors(lane, name):
            if maker.is_bound:
                break
            maker.rename(of_recorded)
            maker.is_bound = self._bound[of_recorded] = True


def _ancestors(lane: Lane, name: str) -> Iterator[tuple[Lane, str]]:
    """The lanes that started a running lane, each with the name that it has if the lane has this name."""
    maker = lane.maker
    while maker is not None:
        at = max(name.rfind("/"), name.rfind(":"))
        if at < 0:
            return
        name = name[:at]
        yield maker, name
        maker = maker.maker
