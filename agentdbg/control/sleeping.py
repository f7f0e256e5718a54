"""
Let the sleeps of a program take no time, and end in the order in which they would have ended.

Each sleeping task of an event loop has a time at which it would wake; who would wake first goes on first, and the
others only when it had the rounds of the loop to do what it does then, which may be to sleep again. A timeout that
would have struck meanwhile really strikes before.
"""

from __future__ import annotations

import functools
import sys
import time
import weakref
from itertools import count
from typing import TYPE_CHECKING, Any

from agentdbg.control.gate import running_loop
from agentdbg.control.recorded_time import at_once
from agentdbg.import_hook import when_imported

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["is_timeout", "skip_sleep"]

_SHORT_SLEEP_S = 0.05
_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 40
_ROUNDS_AT_ONCE, _LOOK_AGAIN_S = 400, 0.001


def is_timeout(timer: Any) -> bool:
    """Whether somebody waits no longer than until then: not a pause, nor a piece of work for later."""
    name = getattr(timer._callback, "__qualname__", "")  # noqa: SLF001 -- None once it was cancelled
    return "timeout" in name or name == "_release_waiter"


def skip_sleep(begin: Callable[[float], Callable[[], bool]] = lambda _: at_once) -> Callable[[], None]:
    """
    Let sleeps of more than 50 ms take no time; gives what undoes it.

    `begin` is told of each, and gives what says when it may end.
    """
    undo: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        undo.append((owner, name, original))
        setattr(owner, name, functools.wraps(original)(make(original)))

    replace(time, "sleep", lambda sleep: _short(sleep, begin))
    when_imported(["asyncio"], lambda _: _replace_in_asyncio(replace, begin))

    def restore() -> None:
        for owner, name, original in undo:
            setattr(owner, name, original)

    return restore


def _replace_in_asyncio(
    replace: Callable[[Any, str, Callable[[Any], Any]], None], begin: Callable[[float], Callable[[], bool]]
) -> None:
    asyncio: Any = sys.modules["asyncio"]
    sleepers: weakref.WeakKeyDictionary[Any, _Sleepers] = weakref.WeakKeyDictionary()

    def short(sleep: Callable[..., Any]) -> Callable[..., Any]:
        async def sleep_shortly(delay: float, result: Any = None, **kwargs: Any) -> Any:
            if not delay > _SHORT_SLEEP_S:
                return await sleep(delay, result, **kwargs)
            loop = asyncio.get_running_loop()
            of_loop = sleepers.get(loop)
            if of_loop is None:
                of_loop = sleepers[loop] = _Sleepers()
            await of_loop.sleep(delay, loop, sleep, begin(delay))
            return result

        return sleep_shortly

    for module in ("asyncio", "asyncio.tasks"):
        replace(sys.modules[module], "sleep", short)


def _short(sleep: Callable[[float], None], begin: Callable[[float], Callable[[], bool]]) -> Callable[[float], None]:
    def sleep_shortly(seconds: float, /) -> None:
        if not seconds > _SHORT_SLEEP_S:
            sleep(seconds)
            return
        sleep(0)
        may_end = begin(seconds) if running_loop() is None else at_once  # a loop's thread may be what others wait for
        while not may_end():
            sleep(_LOOK_AGAIN_S)

    return sleep_shortly


class _Sleepers:
    """The tasks of one event loop that sleep."""

    def __init__(self) -> None:
        self._ahead = 0.0
        """How much later it would be by now, had everybody slept."""
        self._wakes: set[tuple[float, int]] = set()
        """When each would wake, and its number."""
        self._numbers = count()
        self._strikes: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
        """When each timeout that is set would strike."""

    async def sleep(self, delay: float, loop: Any, sleep: Callable[..., Any], may_end: Callable[[], bool]) -> None:
        """Go on when nobody would wake before."""
        mine = loop.time() + self._ahead + delay, next(self._numbers)
        self._wakes.add(mine)
        rounds = as_first = 0
        try:
            while as_first < self._rounds_until(mine[0], loop):
                self._note_timeouts(loop)
                await sleep(0 if rounds < _ROUNDS_AT_ONCE else _LOOK_AGAIN_S)
                rounds += 1
                is_first = min(self._wakes) == mine and not self._may_strike_before(mine[0], loop) and may_end()
                as_first = as_first + 1 if is_first else 0
        finally:
            self._wakes.discard(mine)
        self._note_timeouts(loop)
        self._ahead = max(self._ahead, mine[0] - loop.time())

    def _rounds_until(self, moment: float, loop: Any) -> int:
        """How many rounds of the loop others get for what they would do until then."""
        left = moment - loop.time() - self._ahead
        return min(_MOST_ROUNDS, max(_FEWEST_ROUNDS, int(left / _SHORT_SLEEP_S)))

    def _note_timeouts(self, loop: Any) -> None:
        # A loop that is not Python's own (uvloop) does not show what it will do.
        for timer in list(getattr(loop, "_scheduled", ())):
            if timer not in self._strikes and is_timeout(timer):
                self._strikes[timer] = timer.when() + self._ahead

    def _may_strike_before(self, moment: float, loop: Any) -> bool:
        return any(
            self._strikes.get(timer, moment) < moment and not timer.cancelled()
            for timer in list(getattr(loop, "_scheduled", ()))
        )
