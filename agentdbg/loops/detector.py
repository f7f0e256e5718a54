"""
Watch a run go by and say when it repeats itself.

`LoopDetector.observe` takes one stored event after the other and gives at most one finding for each. The finding is
decided from the events alone, so a log read again gives what was given when it was written.

The order of judgement: a block that repeats exactly; else a call that fails or stalls, or an answer that is an echo;
else the documents' rule, names alone. A finding that could turn out to be part of a block still forming waits
(`_Held`) until the block is complete, and the finding obsolete, or broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.loops.blocks import has_period, periods, smallest_rotation
from agentdbg.loops.calls import RecentCalls
from agentdbg.loops.echoes import RecentReplies
from agentdbg.loops.explain import examples, explain, seconds_between
from agentdbg.loops.findings import ActiveLoop, Kind, LoopFinding, Severity, severity_rank
from agentdbg.loops.signatures import Step
from agentdbg.loops.tape import Tape
from agentdbg.loops.turns import UserTurns, is_cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event

__all__ = ["LoopDetector"]

_MAX_WINDOW = 10_000
_MIN_REACH = 24
_LONGEST_HOLD = 12
_MAX_EVIDENCE = 1_000
_MAX_REMEMBERED = 4_096
_SEVERITY: dict[str, Severity] = {
    "repetition": "info",
    "cycle": "critical",
    "error_retry": "critical",
    "stall": "warning",
    "echo": "warning",
}


@dataclass
class _Candidate:
    """A finding before it is known whether it is new."""

    kind: Kind
    block: list[Step]
    steps: list[Step]
    repetitions: int
    polling: bool = False
    new_work: bool = False
    may_wait: bool = True

    @property
    def key(self) -> tuple[str, ...]:
        """What the finding is known by: all rotations of a block are one pattern."""
        return smallest_rotation(self.pattern)

    @property
    def pattern(self) -> tuple[str, ...]:
        return tuple(step.signature for step in self.block)

    @property
    def last_round(self) -> tuple[int, int]:
        """The numbers of the events from the last repetition but one to the newest."""
        return self.steps[-min(len(self.block) + 1, len(self.steps))].number, self.steps[-1].number

    @property
    def rank(self) -> int:
        return severity_rank(_SEVERITY[self.kind])


@dataclass
class _Held:
    """A finding that waits, and the block length with which its events could still become an exact repetition."""

    candidate: _Candidate
    finding: LoopFinding
    period: int


class LoopDetector:
    """Finds the loops of one run, online."""

    def __init__(self, window: int = 12, repetitions: int = 3, ignore_tools: Iterable[str] = ()) -> None:
        self._window = max(4, min(int(window), _MAX_WINDOW))
        self._repetitions = max(2, int(repetitions))
        self._ignored = frozenset(ignore_tools)
        self._tape = Tape(max(2 * self._window, _MIN_REACH))
        self._calls = RecentCalls(self._repetitions, self._window * 2 // 3)
        self._replies = RecentReplies(self._repetitions)
        self._turns = UserTurns()
        self._number = 0
        self._turn = 0
        self._turn_began = 0
        self._last_tool = 0
        self._last_outcome = b""
        self._asked_nothing = False
        self._work = 0
        self._llm_calls = 0
        self._tokens = 0
        self._cost_usd: float | None = None
        self._running: tuple[int, int, int] = (0, 0, 0)
        self._reported: dict[tuple[str, ...], int] = {}
        self._findings: dict[tuple[str, ...], LoopFinding] = {}
        self._latest: LoopFinding | None = None
        self._covered: dict[int, int] = {}
        self._held: _Held | None = None
        self._active: ActiveLoop | None = None

    @property
    def active(self) -> ActiveLoop | None:
        """The warning or critical loop that the newest event belongs to, with its repetitions so far."""
        return self._active

    def observe(self, event: Event) -> LoopFinding | None:
        """Take the next event of the run; the finding it completes, if any."""
        event_type = event["event_type"]
        if event_type == "TOOL_CALL":
            candidate = self._tool_call(event)
        elif event_type == "LLM_CALL":
            candidate = self._model_call(event)
        elif event_type == "STATE_UPDATE" and "span" not in (event.get("meta") or ()):
            self._append(Step(event, self._number + 1, "state", event_type), recurs=True)
            candidate = None
        else:
            return None
        return self._judge(candidate)

    def finish(self) -> LoopFinding | None:
        """What was still held back when the run ended; to be asked for once, before RUN_END."""
        held, self._held = self._held, None
        return None if held is None else self._say(held.candidate, held.finding)

    # -- taking events in ------------------------------------------------------------------------------------------

    def _tool_call(self, event: Event) -> _Candidate | None:
        signature = f"TOOL_CALL:{event['name']}"
        step = Step(event, self._number + 1, "tool", signature)
        step.read_tool_call(event["payload"])
        meta = event.get("meta")
        step.polling = bool(meta and meta.get("polling")) or event["name"] in self._ignored
        recurs = self._tape.recurs(signature)
        if recurs:
            first = self._tape.resolve(signature)
            if first is not None:
                self._calls.begin(first)
        step.turn = self._turn
        self._append(step, recurs=recurs)
        self._last_tool = step.number
        self._last_outcome = step.outcome
        if self._tape.is_new(step):
            self._replies.clear()
            if not step.failed and not step.is_bare:
                self._work += 1
                step.fresh = True
        step.work = self._work
        if not recurs:
            self._calls.add(step)
            return None
        self._calls.follow(step)
        similar = self._calls.similar(step)
        return None if step.polling else self._repeated_call(step, similar)

    def _repeated_call(self, step: Step, similar: list[Step]) -> _Candidate | None:
        """The error_retry or stall that this call completes."""
        wanted = self._repetitions
        if step.streak >= wanted:
            chain = self._calls.exact(step, wanted)
            new_work = _worked_between(chain)
            one_turn = chain[0].turn == step.turn
            if step.failed and one_turn and not new_work:
                return _Candidate("error_retry", [step], chain, step.streak)
            if len(chain) == wanted and (not new_work or self._calls.is_recent(chain[0])):
                return _Candidate("stall", [step], chain, step.streak, new_work=new_work)
        if len(similar) >= wanted:
            new_work = _worked_between(similar)
            return _Candidate("stall", [step], similar, max(len(similar), step.streak), new_work=new_work)
        return None

    def _model_call(self, event: Event) -> _Candidate | None:
        signature = f"LLM_CALL:{event['name']}"
        payload = event["payload"]
        step = Step(event, self._number + 1, "model", signature)
        step.read_model_call(payload)
        prompt = payload.get("prompt")
        if self._turns.begins_turn(prompt, self._last_outcome):
            self._begin_turn()
            self._turn_began = self._number
        elif self._asked_nothing and self._last_tool < self._number and is_cut(prompt):
            self._begin_turn()
        self._asked_nothing = not step.arguments
        recurs = self._tape.recurs(signature)
        if recurs:
            self._tape.resolve(signature)
        step.turn = self._turn
        step.work = self._work
        self._append(step, recurs=recurs)
        self._account(payload)
        if step.failed:
            failures = self._replies.failures(step)
            if len(failures) >= self._repetitions:
                return _Candidate("error_retry", [step], failures, step.streak)
            return None
        echoes = self._replies.echoes(step)
        if len(echoes) >= self._repetitions:
            return _Candidate("echo", [step], echoes, len(echoes))
        return None

    def _begin_turn(self) -> None:
        self._turn += 1
        self._replies.clear()

    def _append(self, step: Step, *, recurs: bool) -> None:
        self._number = step.number
        step.llm_calls = self._llm_calls
        step.tokens = self._tokens
        step.cost_usd = self._cost_usd
        gone = self._tape.append(step, recurs=recurs)
        if gone is not None and gone.kind == "tool":
            self._calls.drop(gone)

    def _account(self, payload: dict[str, Any]) -> None:
        self._llm_calls += 1
        usage = payload.get("usage")
        if isinstance(usage, dict):
            self._tokens += _tokens_of(usage)
        cost = payload.get("cost_usd")
        if isinstance(cost, (int, float)) and not isinstance(cost, bool):
            self._cost_usd = (self._cost_usd or 0.0) + cost

    # -- judging ---------------------------------------------------------------------------------------------------

    def _judge(self, finer: _Candidate | None) -> LoopFinding | None:
        self._active = None
        block = self._exact_block()
        if block is not None:
            self._held = None
            block.may_wait = False
            return self._admit(block)
        held = self._release()
        if held is not None:
            return held
        if finer is not None:
            return self._admit(finer)
        repetition = self._repetition()
        return None if repetition is None else self._admit(repetition)

    def _exact_block(self) -> _Candidate | None:
        """The block, if any, that the run ends with, repeated without a difference since the user last spoke."""
        tape, wanted = self._tape, self._repetitions
        newest = tape.steps[-1]
        length = min(self._window, self._number - self._turn_began)
        since_tool = self._number - self._last_tool
        period = 0
        if since_tool and length >= wanted:
            # No tool for a while: a block of model calls alone, so their answers decide.
            quiet = min(length, since_tool)
            period = next(periods(tape.words, wanted, quiet), 0) if newest.kind == "model" or quiet > wanted else 0
            if period and all(step.kind == "state" for step in tape.last(period)):
                period = 0
        if not period and self._last_tool:
            period = next(periods(tape.exact, wanted, length, since_tool + 1), 0)
        if not period:
            return None
        total = self._length_of_run(period, tape.words if period <= since_tool else tape.exact, length)
        steps = tape.last(min(total, length))
        steps = steps[len(steps) % period :]
        return self._classify(steps, period, total // period)

    def _length_of_run(self, period: int, text: str, length: int) -> int:
        """How many events have gone round with this period, also those that have left the window."""
        running_period, until, total = self._running
        if running_period == period and until == self._number - 1:
            total += 1
        else:
            total = period * self._repetitions
            while total < min(length, len(text)) and text[-total - 1] == text[-total - 1 + period]:
                total += 1
        self._running = (period, self._number, total)
        return total

    def _classify(self, steps: list[Step], period: int, repetitions: int) -> _Candidate:
        block = steps[-period:]
        tools = [step for step in block if step.kind == "tool"]
        if any(step.polling for step in tools):
            return _Candidate("repetition", _smallest(steps[:period]), steps, repetitions, polling=True)
        if tools and tools[-1].failed and all(step.exact == tools[0].exact for step in tools):
            calls = [step for step in steps if step.kind == "tool"]
            return _Candidate("error_retry", [calls[-1]], calls, max(repetitions, calls[-1].streak))
        if not tools and all(step.failed for step in block if step.kind == "model"):
            calls = [step for step in steps if step.kind == "model"]
            return _Candidate("error_retry", [calls[-1]], calls, max(repetitions, calls[-1].streak))
        return _Candidate("cycle", _smallest(steps[:period]), steps, repetitions)

    def _repetition(self) -> _Candidate | None:
        """The documents' rule: a block of names at the end of the window, often enough."""
        tape, wanted = self._tape, self._repetitions
        period = next(periods(tape.names, wanted, self._window), 0)
        if not period:
            return None
        steps = tape.last(period * wanted)
        polling = any(step.polling for step in steps[:period])
        return _Candidate("repetition", steps[:period], steps, wanted, polling=polling)

    # -- saying it once --------------------------------------------------------------------------------------------

    def _admit(self, candidate: _Candidate) -> LoopFinding | None:
        """The finding, unless it was told already or has to wait."""
        if self._is_told(candidate):
            return None
        if candidate.may_wait:
            period = self._forming(candidate, 1)
            if period:
                if self._held is None or self._held.candidate.rank < candidate.rank:
                    self._held = _Held(candidate, self._finding(candidate), period)
                return None
        return self._say(candidate, self._finding(candidate))

    def _release(self) -> LoopFinding | None:
        """The finding that waited, now that its events can no longer become a block."""
        held = self._held
        if held is None:
            return None
        held.period = self._forming(held.candidate, held.period)
        if held.period:
            return None
        self._held = None
        return None if self._is_told(held.candidate) else self._say(held.candidate, held.finding)

    def _forming(self, candidate: _Candidate, shortest: int) -> int:
        """
        The length of a block that all events of the candidate could belong to, going by what followed; 0 for none.

        Once a length is ruled out it stays ruled out, so the search goes on from the last answer.
        """
        tape = self._tape
        begun = candidate.steps[0].number
        length = self._number - begun + 1
        if length > len(tape.steps) or begun <= self._turn_began:
            return 0
        if all(step.kind == "state" for step in candidate.steps):
            return 0
        span = (tape.exact if self._last_tool >= begun else tape.words)[-length:]
        longest = self._window // self._repetitions
        for period in range(shortest, min(longest, length - 1) + 1):
            if has_period(span, period):
                return period
        return length if length <= min(longest, _LONGEST_HOLD) else 0

    def _is_told(self, candidate: _Candidate) -> bool:
        """Whether this pattern, or these events, were reported as severely before; notes that the loop goes on."""
        rank = candidate.rank
        covered = self._covered
        key = candidate.key
        if self._reported.get(key, 0) < rank and all(covered.get(step.number, 0) < rank for step in candidate.steps):
            return False
        if rank > 1:
            # What lies between two rounds of a loop belongs to it, else every step of a long block would stall too.
            self._cover(*candidate.last_round, rank)
            finding = self._findings.get(key, self._latest)
            if finding is not None:
                self._active = ActiveLoop(finding, candidate.repetitions)
        return True

    def _say(self, candidate: _Candidate, finding: LoopFinding) -> LoopFinding:
        rank, key = candidate.rank, candidate.key
        _bounded_set(self._reported, key, rank)
        self._cover(candidate.steps[0].number, candidate.steps[-1].number, rank)
        if rank > 1:
            _bounded_set(self._findings, key, finding)
            self._latest = finding
            self._active = ActiveLoop(finding, candidate.repetitions)
        return finding

    def _cover(self, first: int, last: int, rank: int) -> None:
        """Note that everything from one event to another belongs to a loop told as `rank`."""
        covered = self._covered
        for number in range(max(first, last - _MAX_REMEMBERED + 1), last + 1):
            _bounded_set(covered, number, max(rank, covered.get(number, 0)))

    def _finding(self, candidate: _Candidate) -> LoopFinding:
        steps = candidate.steps[-_MAX_EVIDENCE:]
        first = steps[0]
        newest = self._tape.steps[-1]
        spent: dict[str, Any] = {
            "events": newest.number - first.number + 1,
            "llm_calls": self._llm_calls - first.llm_calls,
            "tokens": self._tokens - first.tokens,
            "seconds": seconds_between(first.ts, newest.ts),
        }
        if self._cost_usd is not None:
            spent["cost_usd"] = round(self._cost_usd - (first.cost_usd or 0.0), 6)
        kind, repetitions = candidate.kind, candidate.repetitions
        return LoopFinding(
            pattern=" -> ".join(candidate.pattern),
            repetitions=repetitions,
            window_size=min(self._number, self._window),
            evidence_event_ids=[step.event_id for step in steps],
            severity=_SEVERITY[kind],
            kind=kind,
            explanation=explain(
                kind, candidate.block, repetitions, polling=candidate.polling, new_work=candidate.new_work
            ),
            evidence=examples(steps),
            first_event_id=first.event_id,
            cost=spent,
        )


def _worked_between(steps: list[Step]) -> bool:
    """Whether another tool brought something new between these calls."""
    return steps[-1].work - steps[0].work > sum(step.fresh for step in steps[1:])


def _smallest(block: list[Step]) -> list[Step]:
    """The block of names within a block of calls: `a` for `a(1), a(2)`."""
    names = "".join(step.name for step in block)
    for period in range(1, len(block)):
        if len(block) % period == 0 and has_period(names, period):
            return block[:period]
    return block


def _tokens_of(usage: dict[str, Any]) -> int:
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    return sum(part for part in parts if isinstance(part, int))


def _bounded_set(memory: dict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    if len(memory) > _MAX_REMEMBERED:
        del memory[next(iter(memory))]
