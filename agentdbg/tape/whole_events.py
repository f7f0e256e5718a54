"""
Events with their values whole: what was cut in the log is fetched from the tape.

`WholeEvents` is for one run. A field is replaced only where it was cut, by what the tape has of it, in the form that a
person reads. An event whose call is not on the tape stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.events import MEDIA, TRUNCATED
from agentdbg.tape.decoder import readable
from agentdbg.tape.tape_reader import TapeDamaged, TapeReader, find_tape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from agentdbg.events import Event
    from agentdbg.tape.tape_reader import TapeCall

__all__ = ["LARGEST_SHOWN", "WholeEvents", "is_cut"]

LARGEST_SHOWN = 32_000_000
"""Bytes of a field that is sent to a page or an assistant."""
_MARKS = (TRUNCATED.encode(), MEDIA.encode())
_INPUTS = {"LLM_CALL": "prompt", "TOOL_CALL": "args"}
_OUTPUTS = {"LLM_CALL": "response", "TOOL_CALL": "result"}


def is_cut(value: Any) -> bool:
    """Whether something of a stored value was left out, or described instead."""
    encoded = encode_json(value)
    return any(mark in encoded for mark in _MARKS)


def _is_truncated(value: Any) -> bool:
    return _MARKS[0] in encode_json(value)


class WholeEvents:
    """The events of a run that has a tape, whole; without one, as they are."""

    def __init__(self, folder: Path, largest: int = LARGEST_SHOWN, most_in_all: int | None = None) -> None:
        self._largest = largest
        self._left = most_in_all
        self.fetched = 0
        """How many fields were fetched."""
        self.left_out = 0
        """How many fields stayed as they are because they, or all of them together, would be too large."""
        self._tape: TapeReader | None = None
        self.problem: str | None = None
        """Why there is nothing to fetch from."""
        path = find_tape(folder)
        if path is None:
            self.problem = "the run has no tape"
            return
        try:
            self._tape = TapeReader(path)
        except TapeDamaged as error:
            self.problem = str(error)

    def __enter__(self) -> WholeEvents:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tape is not None:
            self._tape.close()

    def has(self, event_id: str) -> bool:
        """Whether the tape has the values of an event."""
        return self._tape is not None and self._tape.find(event_id) is not None

    def whole(self, event: Any) -> tuple[Any, list[str]]:
        """An event with what was cut of it put back, and the names of the payload's fields that are whole now."""
        payload, event_type = event.get("payload"), str(event.get("event_type"))
        call = None if self._tape is None else self._tape.find(str(event.get("event_id")))
        if call is None or not isinstance(payload, dict) or event_type not in _INPUTS:
            return event, []
        filled: dict[str, Any] = {}
        for field, value in ((_INPUTS[event_type], call.input), (_OUTPUTS[event_type], _outcome(call))):
            if value is not None and field in payload and is_cut(payload[field]):
                found = self._value(value, call)
                if found is not None:
                    filled[field] = found
        self.fetched += len(filled)
        return ({**event, "payload": {**payload, **filled}}, list(filled)) if filled else (event, [])

    def all_of(self, events: Iterable[Event]) -> Iterator[Event]:
        """Events, each whole."""
        for event in events:
            yield self.whole(event)[0]

    def sources_of(self, events: Iterable[Event]) -> Iterator[Event]:
        """Events with what came into the run whole: the results of calls and the first prompt; later ones repeat it."""
        asked_before = False
        for event in events:
            event_type: str = event["event_type"]
            payload: Any = event.get("payload")
            is_source = event_type == "TOOL_CALL" or (event_type == "LLM_CALL" and not asked_before)
            asked_before = asked_before or event_type == "LLM_CALL"
            is_needed = is_source or (isinstance(payload, dict) and _is_truncated(payload.get("response")))
            yield self.whole(event)[0] if is_needed and _is_truncated(payload) else event

    def _value(self, reference: Any, call: TapeCall) -> Any:
        assert self._tape is not None
        try:
            found = readable(self._tape.value(reference))
        except TapeDamaged:
            return None
        if "items" in call.out and reference is call.out["items"] and all(type(item) is str for item in found):
            found = "".join(found)
        size = len(encode_json(found))
        if size > self._largest or (self._left is not None and size > self._left):
            self.left_out += 1
            return None
        if self._left is not None:
            self._left -= size
        return found


def _outcome(call: TapeCall) -> Any:
    """The reference to what the event has as its result."""
    return call.out.get("items", call.out.get("ok"))
