"""
A block that goes round exactly: once it is told, its events need only be counted.

A `Round` first learns one round, event by event, and then says whether the next event is the one that has to come.
While it is, nothing is looked into: the event is kept as an id, a time and what had been spent. When another event
comes, the detector takes in the kept ones as if they had come just then. Of a long loop only the last rounds are kept,
more of them than any rule looks back; how many were let go is in `skipped_rounds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.encoding import encode_json
from agentdbg.loops.turns import is_cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.events import Event
    from agentdbg.loops.steps import Named, Spent, Step
    from agentdbg.loops.values import Input, Outcome

__all__ = ["Expected", "Round", "fingerprint"]

_MAX_PRINT = 16_384
_ROUNDS_LOOKED_BACK = 8
"""As many as there are calls or answers that nearly equal ones are looked for among."""

Counted = tuple[str, str, "Spent"]
"""The id, the time and what had been spent, of an event that was only counted."""


class Expected(NamedTuple):
    """An event of the block: how to know it again, and what it was reduced to."""

    event_type: str
    name: Any
    fingerprint: str | bytes
    kind: str
    named: Named
    asked: Input
    got: Outcome
    polling: bool


class Round:
    """One round of a block, and the events that went round since it was learnt."""

    __slots__ = ("_capacity", "_expected", "counted", "kept", "period", "skipped_rounds")

    def __init__(self, period: int, reach: int, repetitions: int) -> None:
        self.period = period
        rounds = max(-(-reach // period), _ROUNDS_LOOKED_BACK, repetitions) + 1
        self._capacity = rounds * period
        self._expected: list[Expected] = []
        self.counted = 0
        self.kept: list[Counted] = []
        self.skipped_rounds = 0

    def learn(self, step: Step, event: Event) -> bool:
        """Remember the next event of the round; False when it is one that has to be looked into each time."""
        known = fingerprint(event)
        if known is not None:
            about = (step.kind, step.named, step.asked, step.got, step.polling)
            self._expected.append(Expected(event["event_type"], event["name"], known, *about))
        return known is not None

    def is_learnt(self) -> bool:
        """Whether the whole round is known."""
        return len(self._expected) == self.period

    def expects(self, event: Event) -> Expected | None:
        """What `event` repeats, if it is the one that has to come next."""
        expected = self._expected[self.counted % self.period]
        event_type, name, known = expected[:3]
        if event["event_type"] == event_type and event["name"] == name and fingerprint(event) == known:
            return expected
        return None

    def count(self, event: Event, spent: Spent) -> None:
        """Keep what little is needed of an event that was expected."""
        kept = self.kept
        self.counted += 1
        kept.append((event["event_id"], event["ts"], spent))
        if len(kept) > self._capacity:
            del kept[: self.period]
            self.skipped_rounds += 1

    def replay(self) -> Iterator[tuple[Expected, Counted]]:
        """The kept events, each with what it repeats; the first of them begins a round."""
        expected, period = self._expected, self.period
        for index, counted in enumerate(self.kept):
            yield expected[index % period], counted


def fingerprint(event: Event) -> str | bytes | None:
    """Equal for events that no rule can tell apart; None for those that have to be looked into."""
    event_type, payload, meta = event["event_type"], event["payload"], event.get("meta")
    if event_type == "STATE_UPDATE":
        return None if meta and "span" in meta else ""
    get = payload.get
    try:
        if event_type == "LLM_CALL":
            if is_cut(get("prompt")):
                return None
            response = get("response")
            if type(response) is str and get("error") is None and get("status") != "error":
                return response if len(response) <= _MAX_PRINT else None
            known = encode_json((response, get("error"), get("status")))
        else:
            if meta and meta.get("polling"):
                return None
            known = encode_json((get("args"), get("result"), get("error"), get("status")))
    except (TypeError, ValueError, RecursionError):
        return None
    return known if len(known) <= _MAX_PRINT else None
