"""
What a check says: whether it holds, in a sentence, with the events that prove it and the difference that caused it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.wording import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.analysis.checks.run_facts import EventRef

__all__ = ["CheckResult", "diff_text", "joined", "numbered", "quoted"]

_MOST_NAMED = 5
_MOST_JOINED = 12
_LONGEST_NAME = 100
_MOST_LINES = 60
_LONGEST_LINE = 400


@dataclass(frozen=True)
class CheckResult:
    """One check of one run."""

    name: str
    passed: bool
    sentence: str
    events: tuple[EventRef, ...] = ()
    diff: str = ""
    """Lines that begin with `-` for what was expected and `+` for what came."""

    def as_json(self) -> dict[str, Any]:
        """The result as plain JSON."""
        return {
            "name": self.name,
            "passed": self.passed,
            "sentence": self.sentence,
            "events": [{"n": event.number, "event_id": event.event_id} for event in self.events],
            "diff": self.diff,
        }


def numbered(events: Iterable[EventRef]) -> str:
    """` (#3, #8)`: the events a sentence speaks of, the first few of them."""
    numbers = [f"#{event.number}" for event in events]
    if not numbers:
        return ""
    more = len(numbers) - _MOST_NAMED
    return f" ({', '.join(numbers[:_MOST_NAMED])}{f' and {more} more' if more > 0 else ''})"


def diff_text(lines: Sequence[str]) -> str:
    """The lines of a difference as one text that a person can read, however many there are."""
    # What a tool is called may hold anything; a line of its own would read as another difference.
    shown = [cut(line.replace("\n", " "), _LONGEST_LINE) for line in lines[:_MOST_LINES]]
    return "\n".join([*shown, f"  {len(lines) - _MOST_LINES:,} more lines"] if len(lines) > _MOST_LINES else shown)


def quoted(name: str) -> str:
    """A recorded name between backticks; one of its own would end it early, and nothing between two is no name."""
    return f"`{cut(name, _LONGEST_NAME).replace('`', chr(39)) or chr(34) * 2}`"


def joined(names: Iterable[str]) -> str:
    """`a`, `b` and `c`; of very many the first, and how many more there are."""
    each = [quoted(name) for name in names]
    if len(each) > _MOST_JOINED:
        return f"{', '.join(each[:_MOST_JOINED])} and {len(each) - _MOST_JOINED:,} more"
    return f"{', '.join(each[:-1])} and {each[-1]}" if len(each) > 1 else "".join(each)
