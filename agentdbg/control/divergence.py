"""
What is different in a replay: nine classes, and how each is told.

| class | when | strict |
|---|---|---|
| changed | a call of this kind and name stands at this place with other input | stop |
| extra | the recording has no such call here | stop |
| moved | found, but its lane had made a later call already | served, exit 1 |
| missing | recorded, and never made (known at the end) | exit 1 |
| effect | network, process or write outside every served call | stop before it happens |
| unservable | the result could not be stored, and running the call again is not allowed | stop |
| ambiguous | two recorded calls fit, their lanes have no certain names, and their outcomes differ | stop |
| outcome | the program ended otherwise: exit status, exception | exit 1 |
| ended | the recording stops here: its process was killed in this call, or a limit had stopped it | stop, exit 0 |
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentdbg.control.differences import ABSENT

if TYPE_CHECKING:
    from agentdbg.control.differences import Difference

__all__ = ["HARMLESS", "STOPPING", "Divergence", "shown_value"]

STOPPING = frozenset({"changed", "extra", "effect", "unservable", "ambiguous"})
HARMLESS = frozenset({"ended"})
_LONGEST = 160
_MOST_SHOWN = 3


class Divergence:
    """One difference between a replay and its recording."""

    def __init__(
        self,
        kind_of: str,
        *,
        number: int | None = None,
        event_id: str | None = None,
        kind: str = "",
        name: str = "",
        lane: str = "",
        place: int | None = None,
        source: str | None = None,
        found: list[Difference] | None = None,
        what: str = "",
    ) -> None:
        self.kind_of = kind_of
        """The class of it, as in the table above."""
        self.number = number
        """The number of the recorded call, from 1; None where it belongs to none."""
        self.event_id = event_id
        self.kind = kind
        self.name = name
        self.lane = lane
        self.place = place
        self.source = source
        self.differences = found or []
        self.what = what
        """What happened, where it is not a difference of inputs."""
        self.equal_before = 0
        self.total = 0
        self.hint = ""

    @property
    def is_harmless(self) -> bool:
        """Whether the replay counts as equal all the same."""
        return self.kind_of in HARMLESS

    @property
    def in_recorded_order(self) -> int:
        """For sorting: the first one of the recording is told first."""
        return self.number or 1 << 60

    def to_json(self) -> dict[str, Any]:
        """The divergence as the report has it."""
        return {
            "class": self.kind_of,
            "n": self.number,
            "event_id": self.event_id,
            "kind": self.kind or None,
            "name": self.name or None,
            "lane": self.lane or None,
            "place": self.place,
            "source": self.source,
            "what": self.what or None,
            "differences": [found.to_json() for found in self.differences],
            "equal_before": self.equal_before,
            "hint": self.hint or None,
        }

    def headline(self) -> str:
        """Where it is, in one line without the run."""
        where = f"call {self.number} of {self.total}: " if self.number is not None and self.total else ""
        place = ", ".join(
            part for part in (self.source, f"in {self.lane}" if self.lane not in ("", "m") else None) if part
        )
        subject = f"{self.name or self.kind}" if self.name or self.kind else self.what
        return f"{where}{subject}{f' ({place})' if place else ''}"

    def at(self) -> str:
        """The headline as it goes on from "diverged": ` at call 2 of 5: …`, or what the program was about to do."""
        if self.name or self.kind:
            return f" at {self.headline()}"
        return f": it would {self.headline()}" if self.kind_of == "effect" else f": {self.headline()}"

    def lines(self) -> list[str]:
        """What is to be said below the headline."""
        told: list[str] = []
        if self.what and (self.name or self.kind):
            told.append(self.what)
        shown = self.differences[:_MOST_SHOWN]
        width = max((len(found.path) for found in shown), default=0)
        for found in shown:
            told.append(f"{found.path.ljust(width)}   recorded  {shown_value(found.recorded)}")
            told.append(f"{' ' * width}   now       {shown_value(found.now)}")
        if len(self.differences) > _MOST_SHOWN:
            told.append(f"… and {len(self.differences) - _MOST_SHOWN} more differences")
        if self.hint:
            told.append(self.hint)
        return told

    def text(self) -> str:
        """Headline and lines, for an exception or an assertion."""
        return "\n  ".join([f"diverged{self.at()}", *self.lines()])


def shown_value(value: Any) -> str:
    """A value as JSON, cut in the middle so that both ends can be compared."""
    if value is ABSENT:
        return "(absent)"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
