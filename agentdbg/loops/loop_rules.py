"""
The five rules, one function each: what makes a loop of that kind, going by the last steps.

`RULES` is in the order of docs/loops.md, and the first rule that finds something is the one that is told. A rule looks
at the window and changes nothing; whether a loop was told before is for the ledger to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from agentdbg.loops.repeated_text import find_period
from agentdbg.loops.step_contents import overlap
from agentdbg.loops.step_window import MODEL, TOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.loops.step_window import Step, Window

__all__ = ["RULES", "Kind", "Loop", "cycle", "echo", "error_retry", "repetition", "stall"]

Kind = Literal["repetition", "cycle", "error_retry", "stall", "echo"]

_FEWEST_RECENT = 8
_ASKS_LIKE = 0.6


@dataclass
class Loop:
    """What a rule found: the steps that repeat, in rounds of `period` steps."""

    kind: Kind
    steps: list[Step]
    repetitions: int
    """How often it has gone round by now, also before what can still be looked at."""
    round: list[Step] | None = None
    """One round; of a loop that names one call, that call alone."""
    polling: bool = False
    new_work: bool = False
    """Whether a tool returned something new meanwhile."""
    spoken: bool = False
    """Whether a person spoke meanwhile."""

    def __post_init__(self) -> None:
        self.period = 1 if self.round is None else len(self.round)
        self.block = self.steps[-1:] if self.round is None else _smallest(self.round)
        """The steps that its pattern names."""

    @property
    def pattern(self) -> tuple[str, ...]:
        """The names that repeat."""
        return tuple([step.signature for step in self.block])

    @property
    def rounds(self) -> int:
        """How many repetitions can still be looked at."""
        return len(self.steps) // self.period


def cycle(window: Window) -> Loop | None:
    """A block repeats exactly: the same calls with the same results, or the same answers to the same questions."""
    if not window.period or window.polls:
        return None
    steps = _block(window)
    if _fails(steps):
        return None
    return Loop("cycle", steps, window.rounds, round=steps[: window.period])


def error_retry(window: Window) -> Loop | None:
    """One call fails the same way again and again, and nothing else of use happens in between."""
    step, wanted = window.newest, window.wanted
    if window.period:
        steps = _block(window)
        if window.polls or not _fails(steps):
            return None
        calls = _calls(steps)
        last = calls[-1]
        return Loop("error_retry", max(calls, last.chain(last.streak), key=len), max(window.rounds, last.streak))
    if not step.failed or step.streak < wanted or step.polling:
        return None
    calls = step.chain(wanted)
    if len(calls) < wanted:
        return None
    if step.event_type == TOOL and (calls[0].number < window.turns.first or _worked_between(window, calls)):
        return None
    return Loop("error_retry", calls, step.streak)


def stall(window: Window) -> Loop | None:
    """Nearly the same call returns nothing new, also when other steps lie in between."""
    step, wanted = window.newest, window.wanted
    if step.event_type != TOOL or step.polling or window.period:
        return None
    if step.streak >= wanted:
        calls = step.chain(wanted)
        new_work = _worked_between(window, calls)
        is_recent = not new_work or calls[0].call_number > window.calls - max(_FEWEST_RECENT, window.size * 2 // 3)
        if len(calls) == wanted and is_recent and not _only_confirm(window, calls):
            return Loop("stall", calls, step.streak, new_work=new_work)
    if len(window.alike) < wanted or _only_confirm(window, window.alike):
        return None
    return Loop("stall", window.alike, step.near, new_work=_worked_between(window, window.alike))


def echo(window: Window) -> Loop | None:
    """A model gives nearly the same answer again, and no tool returned anything new in between."""
    step = window.newest
    if step.event_type != MODEL or window.period or len(window.alike) < window.wanted:
        return None
    return Loop("echo", window.alike, step.near)


def repetition(window: Window) -> Loop | None:
    """A block of names repeats while inputs, results or questions differ, or a poller polls."""
    if window.period:
        steps = _block(window)
        return Loop("repetition", steps, window.rounds, round=steps[: window.period], polling=True)
    period = find_period(window.names, window.wanted, window.size)
    if not period:
        return None
    steps = window.last(period * window.wanted)
    block = steps[:period]
    polling, spoken = any(step.polling for step in block), window.turns.spoken > steps[0].number
    return Loop("repetition", steps, window.wanted, round=block, polling=polling, spoken=spoken)


RULES: tuple[Callable[[Window], Loop | None], ...] = (cycle, error_retry, stall, echo, repetition)


def _block(window: Window) -> list[Step]:
    """The rounds of the block that the run ends with."""
    return window.last(window.period * window.wanted)


def _calls(steps: list[Step]) -> list[Step]:
    """What decides of a block: its tool calls, or the model calls where there is none."""
    tools = [step for step in steps if step.event_type == TOOL]
    return tools or [step for step in steps if step.event_type == MODEL]


def _fails(steps: list[Step]) -> bool:
    """Whether a block is one call that fails."""
    calls = _calls(steps)
    is_one = calls[-1].event_type == MODEL or all(call.exact == calls[-1].exact for call in calls)
    return is_one and all(call.failed for call in calls)


def _smallest(block: list[Step]) -> list[Step]:
    """The block of names within a block of steps: `a` for `a(1), a(2)`."""
    names = [step.signature for step in block]
    for period in range(1, len(block)):
        if len(block) % period == 0 and names[period:] == names[:-period]:
            return block[:period]
    return block


def _worked_between(window: Window, calls: list[Step]) -> bool:
    """Whether another call returned something new between these."""
    return any(step.number > calls[0].number and step not in calls for step in window.work)


def _only_confirm(window: Window, calls: list[Step]) -> bool:
    """
    Whether each call says in a few words that all is well after something new was done: tests run after each edit.

    What only acknowledges something new is taken for something done; and where the call itself only acknowledges, as
    one that saves what there is by now, reading something new is enough.
    """
    newest = calls[-1]
    if not newest.got.is_brief():
        return False
    is_bare = newest.got.is_bare()

    def has_done(step: Step) -> bool:
        return (step.got.is_brief() or (is_bare and not step.failed)) and not _asks_like(step, newest)

    gaps = (window.new_calls(earlier.number, later.number) for earlier, later in pairwise(calls))
    return all(any(map(has_done, between)) for between in gaps)


def _asks_like(step: Step, other: Step) -> bool:
    if step.signature != other.signature:
        return False
    return overlap(step.asked.words(), other.asked.words()) >= _ASKS_LIKE
