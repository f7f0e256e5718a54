"""
Where two inputs differ, exactly: by paths into plain JSON, as `args.query` or `messages[3].content`.

`agentdbg diff` passes over what says nothing (ids, clocks, other wording). A replay cannot: one character is another
prompt. So this compares everything, and only what a rule of the user's leaves out is left out (`volatile_inputs`).
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.encoding import encode_json
from agentdbg.tape.codec import HELD, KIND

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ABSENT", "Difference", "are_permuted", "differences", "different_values"]

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "(absent)"})()
_MOST = 20
_DEEPEST = 100
_WORD = re.compile(r"[^\s,;:'\"(){}\[\]|]+")


class Difference(NamedTuple):
    """One place where two inputs differ."""

    path: str
    recorded: Any
    now: Any

    def to_json(self) -> dict[str, Any]:
        """The difference as the report has it; a side that is not there is left out."""
        told: dict[str, Any] = {"path": self.path}
        if self.recorded is not ABSENT:
            told["recorded"] = self.recorded
        if self.now is not ABSENT:
            told["now"] = self.now
        return told


def differences(recorded: Any, now: Any) -> list[Difference]:
    """The first differences between two plain values, in their order."""
    return list(islice(_differences(recorded, now, "", 0), _MOST))


def different_values(recorded: Any, now: Any) -> Iterator[bytes]:
    """Each two values that differ, whatever path they stand at."""
    for difference in _differences(recorded, now, "", 0):
        yield b"\0".join(b"" if side is ABSENT else encode_json(side) for side in difference[1:])


def _differences(recorded: Any, now: Any, path: str, depth: int) -> Iterator[Difference]:
    if depth < _DEEPEST and type(recorded) is dict and type(now) is dict:
        for key in (*recorded, *(key for key in now if key not in recorded)):
            below = path if key == HELD and KIND in recorded else f"{path}.{key}" if path else str(key)
            yield from _differences(recorded.get(key, ABSENT), now.get(key, ABSENT), below, depth + 1)
    elif depth < _DEEPEST and type(recorded) is list and type(now) is list:
        for at in range(max(len(recorded), len(now))):
            old = recorded[at] if at < len(recorded) else ABSENT
            new = now[at] if at < len(now) else ABSENT
            yield from _differences(old, new, f"{path}[{at}]", depth + 1)
    elif type(recorded) is not type(now) or recorded != now:
        yield Difference(path or "input", recorded, now)


def are_permuted(recorded: Any, now: Any) -> bool:
    """Whether the first list in which they differ has the same items in another order, or a text the same words."""
    if type(recorded) is str and type(now) is str:
        return recorded != now and sorted(_WORD.findall(recorded)) == sorted(_WORD.findall(now))
    if type(recorded) is list and type(now) is list:
        if len(recorded) == len(now) and recorded != now and _sorted(recorded) == _sorted(now):
            return True
        return any(are_permuted(old, new) for old, new in zip(recorded, now, strict=False) if old != new)
    if type(recorded) is dict and type(now) is dict:
        return any(are_permuted(recorded[key], now[key]) for key in recorded if key in now)
    return False


def _sorted(items: list[Any]) -> list[bytes]:
    return sorted(map(encode_json, items))
