"""
Watch a run go by and say when it repeats itself.

`LoopDetector.observe` takes one stored event after the other and gives at most one finding for each. The finding is
decided from the events alone, so a log read again gives what was given when it was written.

The order of judgement: a block that repeats exactly; else a call that fails or stalls, or an answer that is an echo;
else the documents' rule, names alone. A finding that could turn out to be part of a block still forming waits until the
block is complete, and the finding obsolete, or broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.loops.blocks import find_period, has_period
from agentdbg.loops.intake import Intake
from agentdbg.loops.kinds import classify, is_one_failing_call
from agentdbg.loops.ledger import Candidate, Held
from agentdbg.loops.rounds import Round, fingerprint, skip_rounds
from agentdbg.loops.steps import Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event
    from agentdbg.loops.findings import ActiveLoop, LoopFinding
    from agentdbg.loops.rounds import Expected
    from agentdbg.loops.turns import Heard

__all__ = ["LoopDetector"]

_KINDS = {"TOOL_CALL": "tool", "LLM_CALL": "model", "STATE_UPDATE": "state"}
_NO_META: dict[str, Any] = {}
_MAX_WINDOW = 10_000
_LONGEST_GUESS = 12
"""A block that has not begun to repeat is waited for only up to this length."""


class LoopDetector(Intake):
    """Finds the loops of one run, online."""

    def __init__(self, window: int = 12, repetitions: int = 3, ignore_tools: Iterable[str] = ()) -> None:
        super().__init__(max(4, min(int(window), _MAX_WINDOW)), max(2, int(repetitions)), ignore_tools)
        self._held: Held | None = None
        # The exact block going round: its length, its newest event, and how many events have gone round by now.
        self._period = self._until = self._going = 0
        self._going_is_severe = self._going_is_known = False
        self._round: Round | None = None
        self._is_unlike = False
        self.is_counting = False
        """Whether the newest event only went round once more in a loop that is known."""

    @property
    def active(self) -> ActiveLoop | None:
        """The warning or critical loop that the newest event belongs to, with its repetitions so far."""
        if self._round is not None and self._round.counted:
            self._note_counted(self._round)
        return self._ledger.active

    def is_looping(self) -> bool:
        """Whether `active` would be a loop; quicker, for whoever only asks that."""
        return self._ledger.current is not None

    def observe(self, event: Event) -> LoopFinding | None:
        """Take the next event of the run; the finding it completes, if any."""
        return self.take(
            event["event_type"],
            event["event_id"],
            event["ts"],
            event["name"],
            event["payload"],
            event.get("meta") or _NO_META,
        )

    def take(
        self,
        event_type: str,
        event_id: str,
        ts: str,
        name: str,
        payload: dict[str, Any],
        meta: dict[str, Any],
        encoded: bytes = b"",
    ) -> LoopFinding | None:
        """
        The same for an event that is only being made.

        `encoded` is the payload as it will be written, if that is known: what is written the same is the same.
        """
        heard = None
        round_ = self._round
        if round_ is not None and round_.is_learnt:
            expected = round_.next
            # In line: a loop that goes on and on should cost next to nothing.
            if (
                encoded
                and encoded == expected.encoded
                and name == expected.name
                and event_type == expected.event_type
                and not meta
            ) or round_.expects(event_type, name, payload, meta, encoded):
                heard = self._hear_again(expected, payload)
                if heard is None or not (heard.spoken or heard.question != expected.step.question):
                    self._count(round_, expected, event_id, ts)
                    self.is_counting = True
                    return None
        self.is_counting = False
        kind = _KINDS.get(event_type)
        if kind is None or (kind == "state" and "span" in meta):
            return None
        key = (kind, "" if kind == "state" else name if type(name) is str else f"{name}")
        tape, ledger = self._tape, self._ledger
        named = tape.known.get(key)
        if round_ is not None and round_.is_learnt:  # nothing lies aside then
            self._catch_up(round_)
        elif (
            (named is None or not named.present)
            and self._held is None
            and round_ is None
            and self._put_aside(key, event_id, ts, payload, meta)
        ):
            return None
        elif self._aside.calls:
            self._take_in()
            named = tape.known.get(key)
        ledger.current = None
        step = Step(event_id, ts, named or tape.named(key), ledger.spent)
        if kind == "tool":
            finer = self._look_into_call(step, payload, meta)
        else:
            finer = self._look_into_answer(step, payload, heard)
        if finer is None and not step.recurs:
            return self._no_block()
        finding = self._judge(step, finer)
        if (self._until == tape.number or self._states_in_a_row) and finding is None and self._is_steady():
            self._learn(step, event_type, name, payload, meta)
        else:
            self._round = None
            self._is_unlike = False
        return finding

    def finish(self) -> LoopFinding | None:
        """What was still held back when the run ended; to be asked for once, before RUN_END."""
        held, self._held = self._held, None
        return None if held is None else self._ledger.tell(held.candidate, held.finding)

    def _no_block(self) -> LoopFinding | None:
        """A new name ends every block."""
        self._names_period = 0
        self._round = None
        return None if self._held is None else self._release()

    # -- only counting ---------------------------------------------------------------------------------------------

    def _is_steady(self) -> bool:
        """
        Whether the newest event went round in a told block, and the next one can do nothing else if it is the same.

        The block must have gone round once more since it was found: then each of its rotations has been searched for a
        shorter block. One without a tool must be too far from the last tool call for a block with that call in it.
        """
        if self._until == self._tape.number:
            if self._going < self._period * (self._repetitions + 1):
                return False
            if not self._going_is_severe and not self._goes_on_polling():
                return False
            has_tool = self._tape.number - self._last_tool < self._period
        else:
            has_tool = False
            if self._states_in_a_row <= self._repetitions or self._names_period != 1 or self._held is not None:
                return False
        return has_tool or not self._block_with_tool_is_possible()

    def _goes_on_polling(self) -> bool:
        """Whether the block was told as polling, and not because of one call that was marked as such and others not."""
        return self._going_is_known and any(step.polling for step in self._tape.last(self._period))

    def _learn(self, step: Step, event_type: str, name: str, payload: dict[str, Any], meta: dict[str, Any]) -> None:
        """Get to know one round, one event at a time."""
        if self._round is None:
            if self._is_unlike:
                return
            period = self._period if self._until == self._tape.number else 1
            self._round = Round(period, self._tape.reach, self._repetitions)
        if not self._round.learn(step, name, fingerprint(event_type, payload, meta)):
            self._round = None
            self._is_unlike = True

    def _hear_again(self, expected: Expected, payload: dict[str, Any]) -> Heard | None:
        """What the prompt of an event that was expected says; None where there is no prompt."""
        return self._hear(payload) if expected.event_type == "LLM_CALL" else None

    def _count(self, round_: Round, expected: Expected, event_id: str, ts: str) -> None:
        """Count an event that was expected."""
        spent = self._ledger.spent
        if expected.event_type == "LLM_CALL":
            self._ledger.spend_again(expected.price)
        elif expected.event_type == "TOOL_CALL":
            self._last_call = expected.step
            self._turns.was_called = True
        round_.counted += 1
        round_.next = expected.following
        round_.kept.append((event_id, ts, spent))

    def _note_counted(self, round_: Round) -> None:
        """Let the ledger know how far the block has gone round by now."""
        if self._until == self._tape.number and self._going_is_severe:
            repetitions = (self._going + round_.counted) // round_.period
            self._ledger.go_on(self._tape.number + 1, self._tape.number + round_.counted, repetitions)

    def _catch_up(self, round_: Round) -> None:
        """Take in the events that were only counted, as if they had come just now."""
        self._round = None
        if not round_.counted:
            self._is_unlike = True  # ids or clocks in it, perhaps: not worth learning again
            return
        self._note_counted(round_)
        if self._until == self._tape.number:
            self._until += round_.counted
            self._going += round_.counted
        skipped, counted = round_.replay()
        if skipped:
            calls = skip_rounds(self._tape.last(2 * round_.period), skipped)
            self._tape.skip(skipped * round_.period, calls)
        for like, (event_id, ts, spent) in counted:
            step = Step(event_id, ts, like.step.named, spent)
            step.hold(like.asked, like.got)
            step.arguments_key = like.step.arguments_key
            step.question = like.step.question
            step.polling = like.step.polling
            if step.kind == "tool":
                self._take_tool_call(step)
            elif step.kind == "model":
                self._take_model_call(step)
            else:
                self._take_state(step)

    # -- judging -------------------------------------------------------------------------------------------------------

    def _judge(self, step: Step, finer: Candidate | None) -> LoopFinding | None:
        # A tool call that is new ends every block.
        period = 0 if step.is_new and step.named.is_tool else self._exact_period()
        if period:
            self._held = None
            self._names_period = 0
            return self._going_round(period)
        if self._held is not None:
            released = self._release()
            if released is not None:
                self._names_period = 0
                return released
        if step.streak >= self._repetitions and step.named.is_tool:
            finer = self._calls.repeated(step)
        if finer is not None:
            self._names_period = 0
        candidate = finer or self._repetition()
        if candidate is None or self._ledger.is_told(candidate):
            return None
        finding = self._ledger.finding(candidate, self._tape.steps[-1])
        period = self._forming(candidate, 1)
        if not period:
            return self._ledger.tell(candidate, finding)
        if self._held is None or self._held.candidate.rank < candidate.rank:
            self._held = Held(candidate, finding, period)
        return None

    def _exact_period(self) -> int:
        """The length of the block that the run ends with, repeated without a difference since the user last spoke."""
        may_have_tool = self._block_with_tool_is_possible()
        if not may_have_tool and not self._block_of_answers_is_possible():
            return 0
        return self._period_since(self._turns.spoken, may_have_tool)

    def _period_since(self, first: int, may_have_tool: bool) -> int:
        """The same for what came since the step with that number; `may_have_tool` if its block may have one in it."""
        tape, wanted = self._tape, self._repetitions
        number = tape.number
        length = min(number - first + 1, self._window)
        since_tool = number - self._last_tool
        if may_have_tool:
            period = find_period(tape.exact, wanted, length, since_tool + 1)
            if period:
                return period
        quiet = min(since_tool, length)
        if quiet < wanted or not self._block_of_answers_is_possible() or tape.quiet.ends_with_a_new_one():
            return 0
        return find_period(tape.quiet.text(), wanted, quiet)

    def _block_with_tool_is_possible(self) -> bool:
        """A block with a tool in it ends with the last tool call or after it, so a new one rules every block out."""
        if self._tool_is_new or not self._last_tool:
            return False
        return (self._tape.number - self._last_tool + 1) * self._repetitions <= self._window

    def _block_of_answers_is_possible(self) -> bool:
        """Nobody spoke and no tool was called for a while: a block of model calls may end here, so answers decide."""
        wanted = self._repetitions
        before = self._tape.number - wanted
        if self._last_tool > before or self._turns.spoken > before + 1 or self._states_in_a_row >= wanted:
            return False
        return self._new_answer is None or not self._replies.can_tell(self._new_answer, self._longest_block)

    def _going_round(self, period: int) -> LoopFinding | None:
        """The finding for an exact block, told once; while it goes on only counted."""
        if self._period == period and self._until == self._tape.number - 1:
            self._until = self._tape.number
            self._going += 1
            if self._going_is_severe:
                self._ledger.go_on(self._tape.number, self._tape.number, self._going // period)
                return None
        else:
            self._period, self._until, self._going = period, self._tape.number, period * self._repetitions
        candidate = classify(self._tape.last(period * self._repetitions), period, self._going // period)
        self._going_is_known = self._ledger.knows(candidate)
        told = self._ledger.is_told(candidate)
        self._going_is_severe = candidate.rank > 1
        if told:
            return None
        return self._ledger.tell(candidate, self._ledger.finding(candidate, self._tape.steps[-1]))

    def _repetition(self) -> Candidate | None:
        """The documents' rule: a block of names at the end of the window, often enough."""
        names, known = self._tape.names, self._names_period
        if known:
            if names[-1] == names[-1 - known]:
                return None  # a told block of names goes on
            self._names_period = 0
        wanted = self._repetitions
        if wanted > 2:
            # Most often the last four names did not follow each other before, which rules out all but one name alone.
            size = len(names)
            first = size - 4 - self._longest_block
            if names.rfind(names[-4:], max(0, first), size - 1) < 0 and names[-3:] != names[-1] * 3:
                return None
        period = find_period(names, wanted, self._window)
        if not period:
            return None
        steps = self._tape.last(period * wanted)
        block = steps[:period]
        polling, spoken = any(step.polling for step in block), self._turns.spoken > steps[0].number
        candidate = Candidate("repetition", block, steps, wanted, period=period, polling=polling, spoken=spoken)
        if self._ledger.knows(candidate):
            self._names_period = period
            return None
        return candidate

    def _release(self) -> LoopFinding | None:
        """The finding that waited, if its events can no longer become a block."""
        held = self._held
        if held is None:
            return None
        period = self._forming(held.candidate, held.period)
        self._held = held._replace(period=period) if period else None
        if period:
            return None
        return None if self._ledger.is_told(held.candidate) else self._ledger.tell(held.candidate, held.finding)

    def _forming(self, candidate: Candidate, shortest: int) -> int:
        """
        The length of a block that all events of the candidate could belong to, going by what followed; 0 for none.

        Once a length is ruled out it stays ruled out, so the search goes on from the last answer.
        """
        begun = candidate.steps[0].number
        length = self._tape.number - begun + 1
        if length > self._window or begun < self._turns.spoken:
            return 0
        if all(step.kind == "state" for step in candidate.steps) or is_one_failing_call(candidate):
            return 0
        span = (self._tape.exact if self._last_tool >= begun else self._tape.quiet.text())[-length:]
        longest = self._longest_block
        for period in range(shortest, min(longest, length - 1) + 1):
            if has_period(span, period):
                return period
        return length if length <= min(longest, _LONGEST_GUESS) else 0
