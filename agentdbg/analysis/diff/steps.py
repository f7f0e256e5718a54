"""
A run as the steps that are compared: each event's own content, without what is different every time.

Ids, times, durations, token counts and costs are no content, nor is what a prompt only repeats; meta is labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.conversation import Turn, answer
from agentdbg.analysis.diff.fingerprints import digest, fingerprint
from agentdbg.analysis.effects import SideEffect, normal_form
from agentdbg.analysis.run_columns import END, LLM, SPAN, START, TOOL
from agentdbg.loops.volatile import VOLATILE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.analysis.call_results import Outcome
    from agentdbg.analysis.diff.prompts import History
    from agentdbg.analysis.diff.side_totals import Totals

__all__ = ["IN_WORDS", "NOT_CONTENT", "Side", "Step", "comparable", "families_of"]

NOT_CONTENT = frozenset({"usage", "cost_usd", "served", "source", "tool_name", "duration_ms", "call_id"})
"""Numbers that follow from the rest, places in the code, and what only repeats the event's name."""
_NAMELESS = frozenset({LLM, START, END})
"""Steps that stay the same under another name."""


@dataclass(slots=True, eq=False)
class Step:
    """
    One event as it is compared.

    `content` is what it says itself, `context` what a model was given beside the messages (instructions, tools,
    parameters), `history` how many messages its prompt holds, and their fingerprint. Steps of equal content have the
    same `key`. `effect` marks a tool's call that changes something outside the agent; it is None where nobody knows.
    """

    number: int
    kind: int
    name: str
    start_ms: int
    end_ms: int
    failed: bool
    content: dict[str, Any]
    key: int = 0
    context: dict[str, Any] | None = None
    context_key: int = 0
    history: History = (0, 0)
    effect: bool | None = False
    parent: Step | None = None
    children: Sequence[Step] = ()
    depth: int = 0
    words: Any = None
    """What `likeness` keeps of it."""
    _action: int | str = ""
    _said: Turn | None = None
    _families: frozenset[str] | None = None

    @property
    def said(self) -> Turn:
        """What the model answered, read when it is needed."""
        if self._said is None:
            self._said = answer(self.content.get("response"))
        return self._said

    @property
    def families(self) -> frozenset[str]:
        """Two steps that share one can be each other, changed: the kind, and its tool or each that a model asks for."""
        if self._families is None:
            self._families = _families_of(self)
        return self._families

    @property
    def digest(self) -> bytes:
        """As `key`, but the same in every process: for where an order has to be decided."""
        return digest(comparable(self))

    @property
    def action(self) -> int | str:
        """What the step does, whatever is said with it or comes of it: a coarser key than its content."""
        if not self._action:
            self._action = _action_of(self)
        return self._action


@dataclass
class Side:
    """One of two runs: its steps by event number, those at the top, and what it came to."""

    steps: dict[int, Step]
    top: list[Step]
    order: list[Step]
    """Every step, parents before children."""
    totals: Totals
    effects: list[SideEffect]
    """The calls that changed something, and those of which nobody knows."""
    refused: list[SideEffect]
    """Writes that were not done."""
    starts: dict[int, int]
    """The CALL_STARTs that have no step of their own, and the event each belongs to."""
    count: int
    has_findings: bool

    @cached_property
    def outcomes(self) -> dict[int, Outcome]:
        """What came of the calls that did something or may have, by their numbers."""
        return {effect.number: effect.outcome for effect in self.effects}


def _action_of(step: Step) -> int | str:
    if step.kind == LLM:
        calls = step.said.calls
        return fingerprint([[call.name, normal_form(call.args)] for call in calls]) if calls else step.key
    if step.kind == TOOL:
        return fingerprint([step.name, normal_form(step.content.get("args"))])
    if step.kind in (START, END, SPAN):
        return f"{step.kind}:{step.name if step.kind == SPAN else ''}"
    return step.key


def families_of(steps: Iterable[Step]) -> list[frozenset[str]]:
    """The `families` of each, which most often are known: asking the property is a call."""
    return [step._families or step.families for step in steps]  # noqa: SLF001 -- its own module


def _families_of(step: Step) -> frozenset[str]:
    if step.kind == LLM:
        calls = step.said.calls
        if not calls:
            return IN_WORDS
        if len(calls) == 1:
            return _family(LLM, calls[0].name)
        return frozenset().union(*[_family(LLM, call.name) for call in calls])
    return _family(step.kind, None if step.kind in _NAMELESS else step.name)


@lru_cache(maxsize=4096)
def _family(kind: int, name: str | None) -> frozenset[str]:
    """A set of one, made once: a run has few tools."""
    return frozenset({str(kind) if name is None else f"{kind}:{name}"})


IN_WORDS = _family(LLM, None)
"""The family of every model call that asks for no tool."""


def comparable(step: Step) -> list[Any]:
    """What makes two steps the same: name and content, a result without the fields that belong to the single call."""
    kind, content = step.kind, step.content
    result = content.get("result")
    if isinstance(result, dict) and not VOLATILE_KEYS.isdisjoint(result):
        kept = {key: item for key, item in result.items() if key not in VOLATILE_KEYS}
        content = {**content, "result": kept}
    return [kind if kind in _NAMELESS else f"{kind}:{step.name}", content]
