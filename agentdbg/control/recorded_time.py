"""
How far each lane of a replay has come in the recorded time: a sleep lasts until what ended meanwhile has ended again.

A lane that sleeps for three seconds wakes, at the earliest, three seconds after its last call had ended. What had ended
by then in the recording had done so without it, so it waits for that, however little time it takes now. A background
thread that looks at something every second so does it as often as it did beside a program that sleeps. A program that
does something else may wait for what never comes, or hold a lock meanwhile that is needed for it: where nothing moves a
sleep ends, and after a few of those none waits any more.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from agentdbg.recorder import lanes
from agentdbg.recorder.context import current_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.replayed_run import ReplayedRun
    from agentdbg.control.session import Session
    from agentdbg.control.tapes import RecordedRun

__all__ = ["RecordedTime", "at_once"]

_PATIENCE_S = 0.3
_MOST_GIVEN_UP = 3
_CLOSE_MS = 2
"""Ends so close to when a sleep ends may have come after it: the recorded times are whole milliseconds."""


def at_once() -> bool:
    """A sleep that waits for nobody may end."""
    return True


class RecordedTime:
    """Where each lane is in the recorded time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reached: dict[tuple[int, str], float] = {}
        """By recorded run and lane: the millisecond that it has come to at least."""
        self._ends: dict[int, list[int]] = {}
        """By recorded run: when each call ended, in their order."""
        self._given_up = 0

    def served(self, recorded: RecordedRun, call: RecordedCall) -> None:
        """A lane has come to the end of this call."""
        place = id(recorded), call.lane
        self._reached[place] = max(self._reached.get(place, 0.0), float(call.ended_ms))

    def sleep(self, seconds: float) -> Callable[[], bool]:
        """A sleep begins here and now: gives what says whether it may end."""
        session, scope = self._session, current_scope()
        if scope is None or session.is_live or session.stopped or self._given_up >= _MOST_GIVEN_UP:
            return at_once
        run, lane = session.known_run(scope.run.run_id), lanes.known(scope.run.run_id)
        if run is None or lane is None or not lane.is_bound:
            return at_once
        place = id(run.recorded), lane.name
        wakes = self._reached[place] = self._reached.get(place, 0.0) + seconds * 1000
        before = bisect_left(self._ends_of(run), wakes - _CLOSE_MS)
        began = time.monotonic()

        def may_end() -> bool:
            if run.gate.have_ended(before) or session.stopped or session.is_live:
                return True
            if run.gate.still_for(began) < _PATIENCE_S:
                return False
            self._given_up += 1
            return True

        return may_end

    def _ends_of(self, run: ReplayedRun) -> list[int]:
        place = id(run.recorded)
        known = self._ends.get(place)
        if known is None:
            ended = (call.ended_ms for call in run.recorded.recording.calls)
            known = self._ends[place] = list(accumulate(ended, max))
        return known
