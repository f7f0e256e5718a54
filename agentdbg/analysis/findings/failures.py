"""
What failed by itself: calls, errors that were recorded, and spans whose failure nothing inside them explains.

An exception leaves every span around the call that raised it, and may be recorded once more at the end; frameworks wrap
it on the way. All that is one failure, and it belongs to the innermost.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.errors import Failure, failure_of
from agentdbg.events.facts import call_failed, is_span

if TYPE_CHECKING:
    from agentdbg.events import Event

__all__ = ["Failures"]

_MOST_PARENTS = 10_000
_MOST_INSIDE = 20
_MOST_RECENT = 50


class Failures:
    """Takes every event in order; `current` is what the latest one says of a failure."""

    def __init__(self) -> None:
        self.current: Failure | None = None
        self._around_model: dict[str, str | None] = {}
        self._inside: dict[str, list[Failure]] = {}
        self._recent: deque[Failure] = deque(maxlen=_MOST_RECENT)

    def observe(self, event: Event, payload: dict[str, Any]) -> None:
        """Take the next event."""
        event_type = event["event_type"]
        self.current = None
        if event_type == "LLM_CALL":
            self._around_model[event["event_id"]] = event.get("parent_id")
            _bound(self._around_model)
        if event_type in ("LLM_CALL", "TOOL_CALL"):
            if call_failed(payload):
                self.current = failure_of(payload)
                self._note(event, self.current)
        elif event_type == "ERROR":
            failure = failure_of(payload)
            self.current = None if any(before.is_part_of(failure) for before in self._recent) else failure
        elif is_span(event_type, event.get("meta")):
            self._span(event, payload)

    def _span(self, event: Event, payload: dict[str, Any]) -> None:
        inside = self._inside.pop(event["event_id"], [])
        if call_failed(payload):
            failure = failure_of(payload)
            self._note(event, failure)
            if not any(inner.is_part_of(failure) for inner in inside):
                self.current = failure

    def _note(self, event: Event, failure: Failure) -> None:
        """Remember what failed for the span around it; a tool stands where the model call does that asked for it."""
        self._recent.append(failure)
        around = event.get("parent_id")
        around = self._around_model.get(around, around) if around else None
        if around:
            inside = self._inside.setdefault(around, [])
            inside.append(failure)
            del inside[:-_MOST_INSIDE]
            _bound(self._inside)


def _bound(memory: dict[str, Any]) -> None:
    if len(memory) > _MOST_PARENTS:
        del memory[next(iter(memory))]
