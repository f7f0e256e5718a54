"""
Several instrumentations may tell of one call: a framework's, the client library's, another vendor's.

Their spans lie inside each other. Whichever of such a nest is written first is the call; since a span arrives when it
ends, that is the innermost, which stands closest to the model. The others stay in the tree as plain spans, so nothing
they say is lost and nothing is counted twice. What lies between may be any number of plain spans, but no other call: a
model that is asked inside a tool is asked once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentdbg.interop.drafts import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.interop.drafts import Step

__all__ = ["Overlaps", "as_plain_span", "fill_from_around"]

MODEL, TOOL = "LLM_CALL", "TOOL_CALL"
# Spans that lie between two that tell of one call, and tools used inside one span: more is no honest trace.
_FARTHEST, _MOST_INSIDE = 100, 200
_FILLED = ("prompt", "response", "usage", "tools", "temperature", "stop_reason")


class _Call(NamedTuple):
    """A model call, or a call of a tool by an instrumentation."""

    kind: str
    name: str = ""
    scope: str = ""

    def is_same_as(self, other: _Call) -> bool:
        """Whether two calls, one inside the other, are one."""
        if self.kind != other.kind:
            return False
        # A tool may well use itself, but not in two instrumentations' words.
        return self.kind == MODEL or (self.name == other.name and self.scope != other.scope)


_A_MODEL_CALL = _Call(MODEL)


class Overlaps:
    """The spans of one trace by event id: their parents, which of them are calls, and what those have around them."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._calls: dict[str, _Call] = {}
        self._inside: dict[str, set[_Call]] = {}

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._parents

    def is_told_already(
        self, event_id: str, parent_id: str, event_type: str = "", name: str = "", scope: str = ""
    ) -> bool:
        """Take in a span; whether the call it tells of has been written, so that this one is a plain span."""
        call = None
        if event_type == MODEL:
            call = _A_MODEL_CALL
        elif event_type == TOOL:
            call = _Call(TOOL, name, scope)
        is_double = call is not None and (self._is_inside(event_id, call) or self._is_around(parent_id, call))
        self._parents[event_id] = parent_id
        if call is not None and not is_double:
            self._calls[event_id] = call
            self._spread({call}, parent_id)
        else:
            self._spread(self._inside.get(event_id, set()), parent_id)
        return is_double

    def _is_inside(self, event_id: str, call: _Call) -> bool:
        return any(call.is_same_as(inner) for inner in self._inside.get(event_id, ()))

    def _is_around(self, parent_id: str, call: _Call) -> bool:
        """Whether the nearest call around is this one, told from further out."""
        at = parent_id
        for _ in range(_FARTHEST):
            if at in self._calls:
                return call.is_same_as(self._calls[at])
            if at not in self._parents:
                break
            at = self._parents[at]
        return False

    def _spread(self, calls: set[_Call], parent_id: str) -> None:
        """Tell the spans around of the calls inside them, up to the next call or as far as is known yet."""
        at = parent_id
        while calls:
            known = self._inside.setdefault(at, set())
            calls = calls - known
            if len(known) < _MOST_INSIDE:
                known |= calls
            if at in self._calls or at not in self._parents or len(known) >= _MOST_INSIDE:
                return
            at = self._parents[at]


def as_plain_span(step: Step, name: str) -> Step:
    """A call as the stretch of work around the same call, under the name its instrumentation gave it."""
    fields = step.fields
    is_model = step.event_type == "LLM_CALL"
    made = span(
        name,
        error=fields["error"],
        input=fields["prompt" if is_model else "args"],
        output=fields["response" if is_model else "result"],
        at_ms=step.at_ms,
        duration_ms=step.duration_ms,
        key=step.key,
        parent=step.parent,
    )
    made.meta["same_call"] = True
    return made


def fill_from_around(arrived: Sequence[tuple[Step, str, str]]) -> None:
    """
    Give a model call what only the span around it says, where both are known: each step with its id and its parent's.

    Some instrumentations leave the messages out, and the one around the same call may have them.
    """
    models = {event_id: step for step, event_id, _ in arrived if step.event_type == "LLM_CALL" and not step.is_told}
    inside: dict[str, list[Step]] = {}
    for step, event_id, parent_id in arrived:
        if event_id in models and parent_id in models:
            inside.setdefault(parent_id, []).append(step)
    for around, steps in inside.items():
        if len(steps) == 1:  # else the answers of several calls stand there as one
            said, known = steps[0].fields, models[around].fields
            said.update({key: known[key] for key in _FILLED if said.get(key) is None and known.get(key) is not None})
