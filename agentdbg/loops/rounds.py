"""
A block that goes round exactly: once it is told, its events need only be counted.

A `Round` first learns one round, event by event, and then says whether the next event is the one that has to come.
While it is, nothing is looked into: the event is kept as an id, a time and what had been spent. When another event
comes, the detector takes in the kept ones as if they had come just then. Of a long loop only the last rounds are kept,
more of them than any rule looks back.
"""

from __future__ import annotations

from collections import deque
from itertools import cycle
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.faults import pass_on
from agentdbg.loops.ledger import price_of
from agentdbg.loops.steps import NOTHING_SPENT
from agentdbg.loops.turns import is_cut

if TYPE_CHECKING:
    from agentdbg.loops.steps import Spent, Step
    from agentdbg.loops.values import Input, Outcome

__all__ = ["Expected", "Round", "fingerprint", "skip_rounds"]

_MAX_PRINT = 16_384
_ROUNDS_LOOKED_BACK = 8
"""As many as there are calls or answers that nearly equal ones are looked for among."""

_TELLING = frozenset({"polling", "span"})
_TYPES = {"tool": "TOOL_CALL", "model": "LLM_CALL", "state": "STATE_UPDATE"}

Counted = tuple[str, str, "Spent"]
"""The id, the time and what had been spent, of an event that was only counted."""


class Expected:
    """An event of the block: how to know it again, and what it was reduced to."""

    __slots__ = ("asked", "encoded", "event_type", "fingerprint", "following", "got", "name", "price", "step")

    def __init__(self, name: str, known: str | bytes, step: Step) -> None:
        self.name = name
        self.fingerprint = known
        self.event_type = _TYPES[step.kind]
        self.encoded = b""
        """The payload as it was last written, if that is known: what is written the same needs no fingerprint."""
        self.price = NOTHING_SPENT
        """What a model call with that payload cost."""
        self.following = self
        """What has to come after it."""
        self.step = step
        # The step lets go of them after a while.
        self.asked: Input = step.asked
        self.got: Outcome = step.got


class Round:
    """One round of a block, and the events that went round since it was learnt."""

    __slots__ = ("_expected", "counted", "is_learnt", "kept", "next", "period")

    def __init__(self, period: int, reach: int, repetitions: int) -> None:
        self.period = period
        self.counted = 0
        self.is_learnt = False
        rounds = max(-(-reach // period), _ROUNDS_LOOKED_BACK, repetitions) + 2
        self._expected: list[Expected] = []
        self.kept: deque[Counted] = deque(maxlen=rounds * period)
        self.next: Expected
        """What has to come next, once the round is learnt."""

    def learn(self, step: Step, name: str, known: str | bytes | None) -> bool:
        """Remember the next event of the round; False when it is one that has to be looked into each time."""
        if known is None:
            return False
        expected = Expected(name, known, step)
        if self._expected:
            self._expected[-1].following = expected
        self._expected.append(expected)
        if len(self._expected) == self.period:
            expected.following = self.next = self._expected[0]
            self.is_learnt = True
        return True

    def expects(
        self, event_type: str, name: str, payload: dict[str, Any], meta: dict[str, Any], encoded: bytes
    ) -> bool:
        """Whether this event is what has to come next."""
        expected = self.next
        if event_type != expected.event_type or name != expected.name or (meta and not _TELLING.isdisjoint(meta)):
            return False
        if fingerprint(event_type, payload, meta) != expected.fingerprint:
            return False
        expected.encoded = encoded
        if event_type == "LLM_CALL":
            expected.price = price_of(payload)
        return True

    def replay(self) -> tuple[int, list[tuple[Expected, Counted]]]:
        """How many whole rounds were let go, and the events after them with what each repeats."""
        kept, period = self.kept, self.period
        skipped = -((len(kept) - self.counted) // period)
        for _ in range(skipped * period - (self.counted - len(kept))):
            kept.popleft()
        return skipped, list(zip(cycle(self._expected), kept, strict=False))


def skip_rounds(steps: list[Step], rounds: int) -> int:
    """
    Let the last round count for more rounds, which are no longer kept; how many tool calls that is.

    `steps` are the last two rounds: what grew from the one to the other has grown by as much each time.
    """
    period = len(steps) // 2
    newest = steps[period:]
    for before, step in zip(steps, newest, strict=False):
        step.streak += (step.streak - before.streak) * rounds
        step.near += (step.near - before.near) * rounds
    return rounds * sum(step.kind == "tool" for step in newest)


def fingerprint(event_type: str, payload: dict[str, Any], meta: dict[str, Any]) -> str | bytes | None:
    """Equal for events of one name that no rule can tell apart; None for those that have to be looked into."""
    if event_type == "STATE_UPDATE":
        return ""
    get = payload.get
    error, status = get("error"), get("status")
    if event_type == "LLM_CALL":
        if is_cut(get("prompt")):
            return None
        said = get("response")
        if type(said) is str and error is None and status != "error":
            return said if len(said) <= _MAX_PRINT else None
        judged: tuple[Any, ...] = (said, error, status)
    elif meta and meta.get("polling"):
        return None
    else:
        judged = (get("args"), get("result"), error, status)
    try:
        known = encode_json(judged)
    except (TypeError, ValueError, RecursionError) as error:
        pass_on(error)
        return None
    return known if len(known) <= _MAX_PRINT else None
