"""
Compare a running call with a recorded one, and describe what differs.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.control.differences import are_permuted, differences, different_values
from agentdbg.control.divergence import Divergence
from agentdbg.control.inputs import matches_wildcard
from agentdbg.control.tapes import shown_input
from agentdbg.control.volatile_inputs import without_volatile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.control.inputs import LiveInputs
    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.tapes import RecordedRun
    from agentdbg.control.volatile_inputs import VolatileRule
    from agentdbg.recorder.deciders import AnnouncedCall

__all__ = ["Comparison", "missing", "replay_mode"]

_COMPARED = 1_000


class Comparison:
    """Compares inputs under the rules of a session."""

    def __init__(self, inputs: LiveInputs, volatile: Sequence[VolatileRule]) -> None:
        self._inputs = inputs
        self._volatile = volatile
        self._passed_over: set[bytes] = set()
        """What a rule has let differ in a call; what a client then asks over HTTP differs in the same."""

    def is_same_but(self, run: RecordedRun, expected: RecordedCall, call: AnnouncedCall) -> bool:
        """Whether the call that is expected here is this one, but for what was redacted or is volatile."""
        name = self._inputs.name(call.name)
        if (expected.kind, expected.name) != (call.kind, name):
            return False
        was, now = run.input_of(expected), self._inputs.plain(call.input)
        if matches_wildcard(was, now) or self._inputs.chance.is_same(was, now, run.moment_of(expected)):
            return True
        rules = [rule for rule in self._volatile if rule.holds_for(call.kind, name)]
        if not rules:
            differing = different_values(was, now) if call.kind == "http" and self._passed_over else ()
            return bool(differing) and self._passed_over.issuperset(differing)
        shown = without_volatile(shown_input(call.kind, was), rules)
        is_same = matches_wildcard(shown, without_volatile(shown_input(call.kind, now), rules))
        if is_same:
            self._passed_over.update(different_values(was, now))
        return is_same

    def closest(self, run: RecordedRun, left: list[RecordedCall], call: AnnouncedCall) -> RecordedCall | None:
        """Of calls that any of some workers could have made, the one that this is most likely, changed."""
        name, now = self._inputs.name(call.name), _as_text(self._inputs.plain(call.input))
        same = [one for one in left if (one.kind, one.name) == (call.kind, name)]
        matcher = difflib.SequenceMatcher(b=now, autojunk=False)

        def likeness(one: RecordedCall) -> float:
            matcher.set_seq1(_as_text(run.input_of(one)))
            return matcher.ratio()

        return max(same, key=likeness, default=None)

    def tell_differences(
        self, divergence: Divergence, run: RecordedRun, expected: RecordedCall, call: AnnouncedCall
    ) -> None:
        """Say where the inputs of the two calls differ."""
        was = shown_input(call.kind, run.input_of(expected))
        now = shown_input(call.kind, self._inputs.plain(call.input))
        divergence.differences = differences(was, now)
        if are_permuted(was, now):
            divergence.hint = "the same items in another order: a set? Record with PYTHONHASHSEED=0"

    def described(self, kind_of: str, call: AnnouncedCall, recorded: RecordedCall | None) -> Divergence:
        """A divergence at a call of the program."""
        return Divergence(
            kind_of,
            number=None if recorded is None else recorded.number,
            event_id=None if recorded is None else recorded.event_id,
            kind=call.kind,
            name=self._inputs.name(call.name),
            lane="" if call.lane is None else call.lane.name,
            place=call.place,
            source=call.source,
        )


def _as_text(plain: Any) -> str:
    return encoding.encode(plain).decode()[-_COMPARED:]  # the newest of a conversation stands last


def replay_mode(call: AnnouncedCall) -> str:
    """What `@tool(replay=…)` says: serve, run or refuse."""
    return str(call.meta.get("replay") or "serve")


def missing(recorded: RecordedCall, ended_by: str = "") -> Divergence:
    """A recorded call that the program has not made; `ended_by` is the exception that ended it before."""
    return Divergence(
        "missing",
        number=recorded.number,
        event_id=recorded.event_id,
        kind=recorded.kind,
        name=recorded.name,
        lane=recorded.lane,
        place=recorded.place,
        source=recorded.source,
        what=f"recorded, but not made now: {ended_by} ended the program" if ended_by else "recorded, but not made now",
    )
