"""
Let calls end in the order in which they ended in the recording.

Results alone are not enough: with `as_completed`, queues and first-answer-wins the order in which calls end is what a
program acts on. A call waits until every recorded call that had ended before it has ended now, its event written, and
until every one that had begun before it ended has begun. This cannot lock up a program that repeats itself: what had
happened before this call ended had happened without it. A program that does something else may wait for a call that
never comes; after a while without any progress the lowest waiting call goes on, which is counted.

What a program does about the first of two ends may come before or after the second. So they are as many rounds of the
event loop apart as they were, those of one round in one round; else a moment is left between ends that were apart.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.loading import lock_of
from agentdbg.recorder.lanes import current_round

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Gate", "Turn", "real_sleep", "running_loop"]

_APART_MS = 2
_LONGEST_MOMENT_S = 0.002
_MOST_ROUNDS = 24
real_sleep = time.sleep
"""The real one: a replay lets the program's own sleeps take no time."""


class Turn(NamedTuple):
    """What is known of one call of the recording: `begun` is its number in the order in which calls began."""

    begun: int
    had_begun: int
    """How many calls had begun when it ended."""
    gap_ms: int
    """How long before it the last call of another lane had ended; 0 when it was of the same lane."""
    rounds: int | None
    """How many rounds of its event loop lie between those two; None where that is not known."""


class Gate:
    """Who may end now. A turn is a call's number in the order in which calls ended."""

    def __init__(self, turns: Sequence[Turn], patience: Callable[[int], float]) -> None:
        self._turns = turns
        self._patience = patience
        """How many seconds to wait for a turn in which nothing moves."""
        self._ended = bytearray(len(turns))
        self._begun = bytearray(len(turns))
        self._next_end = 0
        self._next_begin = 0
        self._lock = lock_of(self)
        self._waiting: dict[int, Callable[[], None]] = {}
        self._futures: dict[int, Any] = {}
        """What tasks wait for."""
        self._last_end: tuple[int, int] | None = None
        """The event loop, and its round, in which the last call ended."""
        self._moved = time.monotonic()
        self.forced = 0
        """How many calls went on before their turn."""
        self._left_out: set[int] = set()
        """Calls that may never come, or that another lane makes."""
        self._is_open = False

    def open(self) -> None:
        """Let everybody pass from here on."""
        with self._lock:
            self._is_open = True
            waiting, self._waiting = self._waiting, {}
        for wake in waiting.values():
            wake()

    def begin(self, turn: int) -> None:
        """This call has begun."""
        with self._lock:
            self._begun[self._turns[turn].begun] = 1
            self._advance()

    def end(self, turns: Iterable[int]) -> None:
        """These calls have ended, or will not be made."""
        with self._lock:
            self._last_end = current_round()
            for turn in turns:
                self._ended[turn] = 1
                self._begun[self._turns[turn].begun] = 1
            self._advance()

    def leave_out(self, turns: list[int], *, is_certain: bool) -> None:
        """A lane has passed these calls over. Unless that is certain they are waited for, until nothing moves once."""
        if is_certain or self.forced:
            self.end(turns)
        else:
            self._left_out.update(turns)

    @property
    def is_through(self) -> bool:
        """Whether all calls have ended."""
        return self.have_ended(len(self._turns))

    def have_ended(self, count: int) -> bool:
        """Whether so many calls have ended, the first of the recording."""
        return self._is_open or self._next_end >= count

    def still_for(self, since: float) -> float:
        """How many seconds nothing has moved; of those since a moment."""
        return time.monotonic() - max(self._moved, since)

    def _advance(self) -> None:
        before = self._next_end, self._next_begin
        self._next_end = _first_zero(self._ended, self._next_end)
        self._next_begin = _first_zero(self._begun, self._next_begin)
        if (self._next_end, self._next_begin) != before:
            self._moved = time.monotonic()
            # All before it have ended, so of those that wait only this one can have its turn.
            wake = self._waiting.get(self._next_end)
            if wake is not None and self._may_end(self._next_end):
                del self._waiting[self._next_end]
                wake()

    def _may_end(self, turn: int) -> bool:
        return self._is_open or (self._next_end >= turn and self._next_begin >= self._turns[turn].had_begun)

    def wait(self, turn: int) -> None:
        """Wait for a turn. A thread that runs an event loop must not wait for what that loop may have to do."""
        if running_loop() is not None:
            return
        if not self._may_end(turn):
            woken = threading.Event()
            with self._lock:
                if not self._may_end(turn):
                    self._waiting[turn] = woken.set
                else:
                    woken.set()
            while not woken.wait(self._time_left()):
                self._force_if_stuck(turn)
        moment = self._moment(turn)
        if moment:
            real_sleep(moment)

    async def wait_async(self, turn: int) -> None:
        """Do the same without keeping the event loop from its other work."""
        loop = running_loop()
        has_waited = False
        while not self._may_end(turn):
            has_waited = True
            woken = loop.create_future()
            with self._lock:
                if self._may_end(turn):
                    break
                self._futures[turn] = woken
                self._waiting[turn] = lambda: self._wake(turn, loop)
            timer = loop.call_later(self._time_left(), self._look, turn, loop, woken)
            try:
                await woken
            finally:
                timer.cancel()
                self._waiting.pop(turn, None)
                self._futures.pop(turn, None)
        left = -1 if has_waited else self._rounds_left(turn)
        if left > 0 or (left == 0 and self._beside(turn)):
            self._futures[turn] = later = loop.create_future()
            self._settle_in(max(1, left), turn, loop)
            await later
            self._futures.pop(turn, None)
        elif self._turns[turn].rounds is None and (moment := self._moment(turn)):
            later = loop.create_future()
            loop.call_later(moment, _settle, later)
            await later

    def _wake(self, turn: int, loop: Any) -> None:
        """All before this call have ended; it is to end as many rounds of its loop later as it had."""
        if running_loop() is loop:
            self._settle_in(max(1, self._rounds_left(turn)), turn, loop)
        else:
            loop.call_soon_threadsafe(self._settle_in, 1, turn, loop)

    def _settle_in(self, rounds: int, turn: int, loop: Any) -> None:
        """Let a call go on so many rounds from now, and with it those that had ended in the same round."""
        if rounds > 1:
            loop.call_soon(self._settle_in, rounds - 1, turn, loop)
            return
        for one in (turn, *self._beside(turn)):
            if (future := self._futures.get(one)) is not None and future.get_loop() is loop:
                _settle(future)

    def _beside(self, turn: int) -> list[int]:
        """The calls that wait and had ended right after this one, in the same round."""
        found: list[int] = []
        after = turn + 1
        while after < len(self._turns) and self._turns[after].rounds == 0 and after in self._futures:
            found.append(after)
            after += 1
        return found

    def _rounds_left(self, turn: int) -> int:
        """How many rounds there are to be until the end of a call whose turn it is; -1 where that is not known."""
        rounds, ended, now = self._turns[turn].rounds, self._last_end, current_round()
        if rounds is None or ended is None or now is None or ended[0] != now[0]:
            return -1
        return max(0, min(rounds, _MOST_ROUNDS) - (now[1] - ended[1]))

    def _look(self, turn: int, loop: Any, woken: Any) -> None:
        if not woken.done():
            self._force_if_stuck(turn)
            loop.call_later(self._time_left(), self._look, turn, loop, woken)

    def _moment(self, turn: int) -> float:
        gap = self._turns[turn].gap_ms
        return 0.0 if gap < _APART_MS or self._is_open else min(_LONGEST_MOMENT_S, gap / 20_000)

    def _time_left(self) -> float:
        return max(0.05, self._moved + self._patience(self._next_end) - time.monotonic())

    def _force_if_stuck(self, turn: int) -> None:
        """Go on when nothing has moved for long, and this is the first of those that wait."""
        with self._lock:
            is_stuck = time.monotonic() - self._moved >= self._patience(self._next_end)
            if not is_stuck or min(self._waiting, default=turn) != turn or self._may_end(turn):
                return
            self.forced += 1
            self.end(self._left_out)
            missing = [at for at, known in enumerate(self._turns) if known.begun < self._turns[turn].had_begun]
            for at in missing:  # who comes after need not wait for them again
                self._begun[self._turns[at].begun] = 1
            self.end(range(self._next_end, turn))
            self._advance()


def _first_zero(flags: bytearray, start: int) -> int:
    found = flags.find(0, start)
    return len(flags) if found < 0 else found


def _settle(future: Any) -> None:
    if not future.done():
        future.set_result(None)


def running_loop() -> Any:
    """The event loop that runs in this thread; None where none does."""
    asyncio: Any = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001 -- the other one raises
