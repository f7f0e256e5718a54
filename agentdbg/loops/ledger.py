"""
Say each loop once, in words: the sentence for a person, and examples of what repeats.

The ledger remembers which patterns were told and how severely, which steps belong to a told loop, and what the run has
spent. It turns a loop into a finding, or keeps quiet.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.events.facts import cost_of, tokens_of
from agentdbg.faults import pass_on
from agentdbg.loops.step_contents import CALL_KEYS
from agentdbg.loops.step_window import MODEL, NOTHING_SPENT, STATE, TOOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.loops.detector import Kind, Loop
    from agentdbg.loops.step_window import Step

__all__ = ["ActiveLoop", "Ledger", "LoopFinding", "Severity", "examples", "explain", "rank_of"]

Severity = Literal["info", "warning", "critical"]

_SEVERITY: dict[str, Severity] = {
    "repetition": "info",
    "cycle": "critical",
    "error_retry": "critical",
    "stall": "warning",
    "echo": "warning",
}
_RANKS = {"info": 1, "warning": 2, "critical": 3}
_MAX_EVIDENCE = 1_000
_MAX_REMEMBERED = 4_096
_MAX_STRETCHES = 256


class LoopFinding(NamedTuple):
    """One repetition worth telling a person about, as it stood when it was found."""

    pattern: str
    repetitions: int
    window_size: int
    evidence_event_ids: list[str]
    severity: Severity
    kind: Kind
    explanation: str
    evidence: list[dict[str, Any]]
    first_event_id: str
    spent: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """The payload of the LOOP_WARNING that reports this finding."""
        return self._asdict()


class ActiveLoop(NamedTuple):
    """A warning or critical loop that the newest event belongs to, and how often it has gone round by now."""

    finding: LoopFinding
    repetitions: int


def rank_of(loop: Loop) -> int:
    """A number that grows with how bad a loop is: 1 is info."""
    return _RANKS[_SEVERITY[loop.kind]]


class Ledger:
    """What was told of one run, and what the run has spent."""

    def __init__(self, window_size: int) -> None:
        self._window_size = window_size
        self._told: dict[tuple[str, ...], int] = {}
        """How severely each pattern was told."""
        self._findings: dict[tuple[str, ...], LoopFinding] = {}
        """The severe ones, by pattern."""
        self._covered: list[list[int]] = []
        """Stretches of step numbers that belong to a told loop: the first, the last, and how severely."""
        self._latest: LoopFinding | None = None
        self.active: ActiveLoop | None = None
        """The severe loop that the newest event belongs to; the detector takes it away when another event comes."""
        self.spent = NOTHING_SPENT

    def spend(self, payload: dict[str, Any]) -> None:
        """Add up what a model call cost."""
        llm_calls, tokens, cost_usd, priced = self.spent
        cost = cost_of(payload)
        known = cost is not None
        self.spent = (llm_calls + 1, tokens + (tokens_of(payload).total or 0), cost_usd + (cost or 0.0), priced + known)

    def knows(self, loop: Loop) -> bool:
        """Whether this pattern was told as severely before."""
        return self._told.get(_smallest_rotation(loop.pattern), 0) >= rank_of(loop)

    def is_told(self, loop: Loop) -> bool:
        """Whether this pattern, or any of these steps, was told as severely before; a severe loop is then active."""
        rank = rank_of(loop)
        if not self.knows(loop) and not self._covers(loop.steps, rank):
            return False
        if rank > 1:
            # What lies between two rounds of a loop belongs to it, else every step of a long block would stall too.
            last_round = loop.steps[-min(len(loop.block) + 1, len(loop.steps)) :]
            self._cover(last_round[0].number, last_round[-1].number, rank)
            self._activate(self._findings.get(_smallest_rotation(loop.pattern), self._latest), loop.repetitions)
        return True

    def go_on(self, number: int, repetitions: int) -> None:
        """Note that the loop that was told last went on with the step of that number."""
        if self._latest is not None:
            self._cover(number, number, _RANKS[self._latest.severity])
            self._activate(self._latest, repetitions)

    def tell(self, loop: Loop, finding: LoopFinding) -> LoopFinding:
        """Note that the finding goes out."""
        rank, key = rank_of(loop), _smallest_rotation(loop.pattern)
        _remember(self._told, key, rank)
        self._cover(loop.steps[0].number, loop.steps[-1].number, rank)
        if rank > 1:
            _remember(self._findings, key, finding)
            self._activate(finding, loop.repetitions)
        return finding

    def finding(self, loop: Loop, newest: Step) -> LoopFinding:
        """The loop in words and figures, as of the newest step."""
        steps = loop.steps[-_MAX_EVIDENCE:]
        return LoopFinding(
            pattern=" -> ".join(loop.pattern),
            repetitions=loop.rounds,
            window_size=max(min(newest.number, self._window_size), newest.number - loop.steps[0].number + 1),
            evidence_event_ids=[step.event_id for step in steps],
            severity=_SEVERITY[loop.kind],
            kind=loop.kind,
            explanation=explain(loop),
            evidence=examples(steps),
            first_event_id=steps[0].event_id,
            spent=self._spent_since(steps[0], newest),
        )

    def _spent_since(self, first: Step, newest: Step) -> dict[str, Any]:
        llm_calls, tokens, cost_usd, priced = (now - then for now, then in zip(self.spent, first.spent, strict=True))
        spent: dict[str, Any] = {
            "events": newest.number - first.number + 1,
            "llm_calls": llm_calls,
            "tokens": tokens,
            "seconds": _seconds_between(first.ts, newest.ts),
        }
        if priced:  # an unknown price is not a price of nothing
            spent["cost_usd"] = round(cost_usd, 6)
        return spent

    def _activate(self, finding: LoopFinding | None, repetitions: int) -> None:
        if finding is not None:
            self._latest = finding
            self.active = ActiveLoop(finding, repetitions)

    def _cover(self, first: int, last: int, rank: int) -> None:
        """Note that the steps from `first` to `last` belong to a told loop; one that goes on has one long stretch."""
        stretches = self._covered
        if stretches and stretches[-1][2] == rank and stretches[-1][0] <= first <= stretches[-1][1] + 1:
            stretches[-1][1] = max(stretches[-1][1], last)
            return
        if len(stretches) >= _MAX_STRETCHES:
            del stretches[: _MAX_STRETCHES // 2]
        stretches.append([first, last, rank])

    def _covers(self, steps: list[Step], rank: int) -> bool:
        """Whether any of these steps belongs to a loop told as severely."""
        oldest = min(step.number for step in steps)
        near = [(first, last) for first, last, told in self._covered if told >= rank and last >= oldest]
        return any(first <= step.number <= last for first, last in near for step in steps)


def _smallest_rotation(pattern: tuple[str, ...]) -> tuple[str, ...]:
    """The same circle of names, begun where it sorts first: two rotations of one pattern give equal results."""
    least = min(pattern)
    return min(pattern[start:] + pattern[:start] for start, name in enumerate(pattern) if name == least)


def _remember(memory: dict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    if len(memory) > _MAX_REMEMBERED:
        del memory[next(iter(memory))]


def _seconds_between(earlier: str, later: str) -> float | None:
    """Seconds from one timestamp to another; None when either cannot be read."""
    try:
        start, end = (datetime.fromisoformat(ts.replace("Z", "+00:00")) for ts in (earlier, later))
        return round(max((end - start).total_seconds(), 0.0), 3)
    except (AttributeError, TypeError, ValueError) as error:
        pass_on(error)
        return None


_CALL_KEYS = [key.encode() for key in CALL_KEYS]
_EXAMPLES = 3
_EXCERPT = 160
_NAMES_SHOWN = 4
_POLLS = "; polling is expected to repeat"
_EXPECTED = "; waiting, voting and scrolling are expected to repeat"
_NOTHING_SAID = ", and nothing new was said to it"


def explain(loop: Loop) -> str:
    """One sentence that says what repeats and why that is, or is not, bad. Each word of it is true of the events."""
    name, times = _name(loop.block[-1]), f"{loop.rounds} times"
    if loop.kind == "error_retry":
        return f"{name} failed the same way {times}{_quoted(loop.steps[-1].got.text)}."
    if loop.kind == "stall":
        return f"{name} was called {times} with {_what_is_near(loop)}."
    if loop.kind == "echo":
        return f"{name} gave nearly the same answer {times}, and no tool returned anything new in between."
    if [step.event_type for step in loop.block] == [STATE]:
        return f"Only the state was recorded, {times} in a row."
    why = _what_is_equal(loop) if loop.kind == "cycle" else _expected(loop) if loop.polling else _what_differs(loop)
    return f"{_round(loop)} repeated {times}{why}."


def _expected(loop: Loop) -> str:
    return _POLLS if any(step.polling for step in loop.steps) else _EXPECTED


def examples(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Up to three of the events, each with the beginning of what was asked and what came back."""
    shown = []
    for step in steps[-_EXAMPLES:]:
        example: dict[str, Any] = {"event_id": step.event_id, "event_type": step.event_type, "name": _name(step)}
        if step.asked.text:
            example["input"] = _excerpt(step.asked.text)
        if step.got.text:
            example["error" if step.failed else "outcome"] = _excerpt(step.got.text)
        shown.append(example)
    return shown


def _round(loop: Loop) -> str:
    """What makes one round, by name."""
    names = [_name(step) for step in loop.block]
    rounds_of_names = loop.period // len(names)
    if rounds_of_names > 1:
        again = "" if len(names) == 1 else f", each {rounds_of_names} times"
        return f"The {loop.period} steps of a round ({', '.join(names)}{again})"
    if len(names) > _NAMES_SHOWN:
        return f"The {len(names)} steps {', '.join(names[: _NAMES_SHOWN - 1])}, … {names[-1]}"
    if len(names) > 1:
        return f"The steps {', '.join(names[:-1])} and {names[-1]}"
    return f"The step {names[0]}"


def _name(step: Step) -> str:
    name = step.signature.partition(":")[2]
    # A model that nobody named stands as `model` in the rows, too.
    return "model" if step.event_type == MODEL and name == "unknown" else name or "state"


def _what_is_near(loop: Loop) -> str:
    is_same = not _differ(step.asked.key() for step in loop.steps) and not _has_ids(loop.steps)
    new = "nearly the same each time" if _differ(step.got.key() for step in loop.steps) else "nothing new"
    between = ", with other work in between" if loop.new_work else ""
    return f"{'' if is_same else 'nearly '}the same input and returned {new}{between}"


def _what_is_equal(loop: Loop) -> str:
    """What is the same in every round of a cycle: what the tools were asked and returned, else what the models said."""
    tools = [same for same in _places(loop) if same[0].event_type == TOOL]
    if not tools:
        has_prompt = any(step.question for step in loop.steps)
        return f" with the same {'answers' if loop.period > 1 else 'answer'}{_NOTHING_SAID if has_prompt else ''}"
    inputs = "the same inputs but for ids" if any(map(_has_ids, tools)) else "the same inputs"
    is_equal = not any(_differ((step.got.text, step.got.rest) for step in same) for same in tools)
    results = "the same results" if is_equal else "the same results but for ids and times"
    if all(step.event_type != MODEL for step in loop.steps):
        return f" with {inputs} and {results}"
    whose = _name(tools[0][0]) if len(tools) == 1 else "the tools"
    return f", and {whose} had {inputs} and {results}"


def _what_differs(loop: Loop) -> str:
    """Why a block of names is not a cycle."""
    places = _places(loop)
    tools = [same for same in places if same[0].event_type == TOOL]
    models = [same for same in places if same[0].event_type == MODEL]
    differing = []
    if not any(step.forgotten for step in loop.steps):
        inputs = any(_differ(step.asked.key() for step in same) for same in tools)
        results = any(_differ(step.got.key() for step in same) for same in tools)
        differing = ["inputs"] * inputs + ["results"] * results
        if not differing and any(_differ((step.asked.text, step.got.key()) for step in same) for same in models):
            differing = ["answers"]
    if not differing and any(_differ(step.question for step in same) for same in models):
        differing = ["prompts"]
    if differing:
        return f" with different {' and '.join(differing)}, so this is probably progress"
    return ", with something new from the user in between" if loop.spoken else ""


def _places(loop: Loop) -> list[list[Step]]:
    """The steps by their place in the round."""
    return [list(loop.steps[place :: loop.period]) for place in range(loop.period)]


def _differ(values: Iterator[object]) -> bool:
    """Whether not all are the same; the first that differs is enough."""
    first = next(values)
    return any(value != first for value in values)


def _has_ids(steps: Sequence[Step]) -> bool:
    """Whether what was asked may differ in an id of the single call."""
    texts = {step.asked.text for step in steps}
    return len(texts) > 1 and any(key in text for text in texts for key in _CALL_KEYS)


def _quoted(outcome: bytes) -> str:
    said = _excerpt(outcome).strip().strip('"').strip().rstrip(".")
    return f": {said}" if said else ""


def _excerpt(text: bytes) -> str:
    shown = text[: 4 * _EXCERPT].decode(errors="ignore")
    return shown if len(shown) <= _EXCERPT else shown[: _EXCERPT - 1] + "…"
