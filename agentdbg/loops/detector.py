"""
Watch a run go by and say when it repeats itself.

`LoopDetector` takes one stored event after the other and gives at most one finding for each. The finding is decided
from the events alone, so a log read again gives what was given when it was written.

A finding that could turn out to be part of a block still forming waits until the block is complete, and the finding
obsolete, or broken.

The five rules are one function each: what makes a loop of that kind, going by the last steps. `RULES` is in the order
of docs/loops.md, and the first rule that finds something is the one that is told. A rule looks at the window and
changes nothing; whether a loop was told before is for the ledger to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.events.facts import is_span, reads_something
from agentdbg.loops.ledger import Ledger, rank_of
from agentdbg.loops.step_contents import find_period, has_period, overlap, read_answer, read_call
from agentdbg.loops.step_window import MODEL, STATE, TOOL, Step, Window
from agentdbg.loops.user_turns import asks_for_verdict, is_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentdbg.events import Event
    from agentdbg.loops.ledger import ActiveLoop, LoopFinding

__all__ = ["RULES", "Kind", "Loop", "LoopDetector", "cycle", "echo", "error_retry", "repetition", "stall"]

_COUNTED = frozenset({TOOL, MODEL, STATE})
_MAX_WINDOW = 10_000
_LONGEST_GUESS = 12
"""A block that has not begun to repeat is waited for only up to this length."""


_LONGEST_VERDICT = 200


class _Held(NamedTuple):
    """A finding that waits, and the block length with which its steps could still become an exact repetition."""

    loop: Loop
    finding: LoopFinding
    period: int


class LoopDetector:
    """Finds the loops of one run, online."""

    def __init__(self, window: int = 12, repetitions: int = 3, ignore_tools: Iterable[str] = ()) -> None:
        size = max(4, min(int(window), _MAX_WINDOW))
        self._window = Window(size, max(2, int(repetitions)))
        self._ledger = Ledger(size)
        self._ignored = frozenset(f"{TOOL}:{name}" for name in ignore_tools)
        self._held: _Held | None = None
        self._last_question = 0
        self._is_severe = self._is_known = False
        """Whether the block that goes round is a warning or worse, and whether it was told by its own name."""
        self._told_names = 0
        """The length of a block of names that repeats and was told; 0 for none."""

    @property
    def active(self) -> ActiveLoop | None:
        """The warning or critical loop that the newest event belongs to, with its repetitions so far."""
        return self._ledger.active

    def observe(self, event: Event) -> LoopFinding | None:
        """Take the next event of the run; the finding it completes, if any."""
        parts = (event["event_type"], event["event_id"], event["ts"], event["name"], event["payload"])
        return self.take(*parts, event.get("meta") or {})

    def take(
        self, event_type: str, event_id: str, ts: str, name: str, payload: dict[str, Any], meta: dict[str, Any]
    ) -> LoopFinding | None:
        """Like `observe`, for an event whose dict does not exist yet."""
        if event_type not in _COUNTED or is_span(event_type, meta):
            return None
        step = Step(event_type, name, event_id, ts, self._ledger.spent)
        if event_type == TOOL:
            step.asked, step.got = read_call(payload)
            step.polling = bool(meta.get("polling")) or step.signature in self._ignored
        elif event_type == MODEL:
            step.asked, step.got = read_answer(payload)
            self._listen(step, payload.get("prompt"))
            self._ledger.spend(payload)
        self._ledger.active = None
        self._window.append(step)
        return self._judge()

    def finish(self) -> LoopFinding | None:
        """What was still held back when the run ended; to be asked for once, before RUN_END."""
        held, self._held = self._held, None
        return None if held is None else self._ledger.tell(held.loop, held.finding)

    def _listen(self, step: Step, prompt: Any) -> None:
        """Find out what a model was asked, and whether a person spoke."""
        window, call = self._window, self._window.last_call
        heard = window.turns.hear(prompt, step.got, None if call is None else call.got)
        step.question = heard.question
        if heard.question == self._last_question != 0:
            step.judges = not step.asked.text and len(step.got.text) <= _LONGEST_VERDICT and asks_for_verdict(prompt)
        self._last_question = heard.question
        if heard.spoken:
            window.begin_turn()
        if is_cut(prompt):
            step.question = -window.number - 1  # nobody knows whether it was asked before
            if window.has_answered and (call is None or call.number < window.number):
                # The model had answered in words, and the end of the prompt is not stored: the user probably spoke.
                window.turns.begin(window.number + 1)

    def _judge(self) -> LoopFinding | None:
        window, ledger = self._window, self._ledger
        if window.goes_on and self._is_severe:
            ledger.go_on(window.number, window.rounds)
            return None
        if window.goes_on and window.polls and self._is_known:
            return None
        loop = self._apply_rules()
        if window.period and loop is not None:
            self._held = None
            finding = None if ledger.is_told(loop) else ledger.tell(loop, ledger.finding(loop, window.newest))
            self._is_severe, self._is_known = rank_of(loop) > 1, ledger.knows(loop)
            return finding
        released = self._release()
        if released is not None or loop is None or ledger.is_told(loop):
            return released
        return self._tell_or_hold(loop)

    def _apply_rules(self) -> Loop | None:
        """What the first rule finds that finds something."""
        window, told = self._window, self._told_names
        for rule in RULES:
            if rule is repetition and told and not window.period and window.names[-1] == window.names[-1 - told]:
                return None  # names that were told to repeat only go on
            loop = rule(window)
            if loop is not None:
                is_known = rule is repetition and not window.period and self._ledger.knows(loop)
                self._told_names = loop.period if is_known else 0
                return loop
        self._told_names = 0
        return None

    def _tell_or_hold(self, loop: Loop) -> LoopFinding | None:
        finding = self._ledger.finding(loop, self._window.newest)
        period = self._forming(loop, 1)
        if not period:
            return self._ledger.tell(loop, finding)
        if self._held is None or rank_of(self._held.loop) < rank_of(loop):
            self._held = _Held(loop, finding, period)
        return None

    def _release(self) -> LoopFinding | None:
        """The finding that waited, if its steps can no longer become a block."""
        held = self._held
        if held is None:
            return None
        period = self._forming(held.loop, held.period)
        self._held = held._replace(period=period) if period else None
        if period or self._ledger.is_told(held.loop):
            return None
        return self._ledger.tell(held.loop, held.finding)

    def _forming(self, loop: Loop, shortest: int) -> int:
        """
        The length of a block that all steps of the loop could belong to, going by what followed; 0 for none.

        Once a length is ruled out it stays ruled out, so the search goes on from the last answer.
        """
        window, begun = self._window, loop.steps[0].number
        length = window.number - begun + 1
        if length > window.size or begun < window.turns.spoken or _is_settled(loop):
            return 0
        has_call = window.last_call is not None and window.last_call.number >= begun
        span = (window.exact if has_call else window.answers())[-length:]
        longest = window.size // window.wanted
        for period in range(shortest, min(longest, length - 1) + 1):
            if has_period(span, period):
                return period
        return length if length <= min(longest, _LONGEST_GUESS) else 0


def _is_settled(loop: Loop) -> bool:
    """Whether a block would be told as the same: of states alone, or one failing call with only models between."""
    if all(step.event_type == STATE for step in loop.steps):
        return True
    between = loop.steps[-1].call_number - loop.steps[0].call_number
    return loop.kind == "error_retry" and between < len(loop.steps)


# The rules.

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
    if _fails(steps) or _is_expected(steps, window.rounds // window.wanted):
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
    if step.event_type == TOOL and (
        calls[0].number < window.turns.first or _worked_between(window, calls) or _tries(window, calls)
    ):
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
        is_over = step.streak >= 2 * wanted or not _tries(window, calls)
        is_expected = _only_confirm(window, calls) or _is_expected(calls, step.streak // wanted)
        if len(calls) == wanted and is_recent and is_over and not is_expected:
            return Loop("stall", calls, step.streak, new_work=new_work)
    if len(window.alike) < wanted or _only_confirm(window, window.alike):
        return None
    if step.near < 2 * wanted and _tries(window, window.alike):
        return None
    if _is_expected(window.alike, step.near // wanted):
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


def _is_expected(steps: list[Step], times: int) -> bool:
    """
    Whether to repeat is what these steps are for: to wait for something, to go on in a page, to vote.

    What says that it is not finished is asked again until it is, and a page that was moved without being shown says the
    same each time. A judge, or whether a thing is well, may be asked several times, but not for ever.
    """
    calls = [step for step in steps if step.event_type == TOOL]
    if any(_WAITS.search(_name_of(call)) or call.got.says_wait() for call in calls):
        return True
    if calls and all(_MOVES.search(_name_of(call)) and call.got.is_brief() for call in calls):
        return True
    if times >= _MOST_VOTES:
        return False
    if calls:
        return all(_ASKED_OFTEN.search(_name_of(call)) and call.got.is_brief() and not call.failed for call in calls)
    return all(step.judges for step in steps[1:] if step.event_type == MODEL)


def _name_of(step: Step) -> str:
    return _HUMP.sub("_", step.signature.partition(":")[2])


_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WAITS = re.compile(
    r"(?:^|[_.\-])(?:wait|sleep|poll|heartbeat|ping|receive|dequeue|consume|listen|inbox)(?:$|[_.\-])", re.IGNORECASE
)
_MOVES = re.compile(
    r"(?:^|[_.\-])(?:scroll|swipe|page[_\-]?(?:down|up)|(?:next|previous)[_\-]?page|press(?:[_\-]?key)?)(?:$|[_.\-])"
    r"|(?:^|[_.\-])(?:advance|decrement|drive|increment|jog|move|nudge|redo|roll|rotate|step|turn|undo|walk|zoom)"
    r"(?:[_.\-](?:back|backward|by|down|east|forward|in|left|north|out|right|robot|south|up|west))?$",
    re.IGNORECASE,
)
"""Where every call goes one step further, in a page or in the world."""
_ASKED_OFTEN = re.compile(
    r"(?:^|[_.\-])(?:judge|grade|grader|vote|moderate|moderation|health|healthy|healthcheck|progress|ready|readiness|alive"
    r"|liveness|uptime|monitor)(?:$|[_.\-])",
    re.IGNORECASE,
)
"""Tools that judge, and those that say whether a thing is well or done."""
_MOST_VOTES = 3
"""What says the same so many times as often as makes a loop is asked in circles."""


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


def _tries(window: Window, calls: list[Step]) -> bool:
    """Whether another tool did something new before each of these: tests that an edit did not mend yet."""

    def has_changed(step: Step) -> bool:
        name = step.signature.partition(":")[2]
        is_done = not step.failed and not reads_something(name) and not _THINKS.search(name)
        return is_done and bool(step.asked.words()) and step.signature != calls[-1].signature

    gaps = (window.new_calls(earlier.number, later.number) for earlier, later in pairwise(calls))
    tools = [{step.signature for step in between if has_changed(step)} for between in gaps]
    return bool(tools) and bool(set.intersection(*tools))


_THINKS = re.compile(r"think|thought|plan|reflect|reason|note|todo|memo", re.IGNORECASE)
"""Tools that keep a thought and change nothing."""


def _asks_like(step: Step, other: Step) -> bool:
    if step.signature != other.signature:
        return False
    return overlap(step.asked.words(), other.asked.words()) >= _ASKS_LIKE
