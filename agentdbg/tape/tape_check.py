"""
Whether a tape is what its format says: names that are hashes of what they name, references that lead somewhere, and a
recorded event for every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.tape.tape_reader import TapeReader
from agentdbg.tape.value_names import name_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

__all__ = ["tape_problems"]

_BEFORE_VALUE = 34
"""How much of a value's line stands before the value."""


def tape_problems(path: Path, run_id: str, event_ids: Container[str], *, is_whole: bool) -> Iterator[str]:
    """
    What is wrong with a tape, a sentence each.

    `event_ids` are those of the run's events; `is_whole` says that the run has ended, so that each call has its event.
    """
    with TapeReader(path) as tape:
        if not tape.head:
            yield "the tape has no head"
        elif tape.head.get("tape") != 1:
            yield f"the tape has the version {tape.head.get('tape')!r:.20}, and 1 is known"
        elif tape.head.get("run_id") != run_id:
            yield "the tape is of another run"
        if tape.damaged_lines:
            yield f"{tape.damaged_lines:,} lines of the tape are damaged"
        for name in tape.names():
            yield from _line_problems(tape, name.decode())
        for call in tape.calls:
            yield from _missing(tape, f"the call {call.name:.60}", [call.input, call.out, call.after])
            event_id = call.event_id or call.stands_behind
            if is_whole and event_id is not None and event_id not in event_ids:
                yield f"the tape has a call {call.name:.60} of the event {event_id!s:.40}, which does not exist"


def _line_problems(tape: TapeReader, name: str) -> Iterator[str]:
    raw = tape.raw_line(name)
    try:
        line = decode_json(raw)
    except ValueError:
        yield f"the value {name} on the tape is damaged"
        return
    if line.get("scrubbed") is True:
        return
    if "v" in line:
        is_right = name_of(raw[_BEFORE_VALUE:-2]).decode() == name
    else:
        yield from _missing(tape, f"the list {name}", [f"@{line['b']}"] if "b" in line else [])
        yield from _missing(tape, f"the list {name}", line.get("a"))
        is_right = _chain_name(line) == name
    if not is_right:
        yield f"the value {name} on the tape is not what its name says; it was changed"


def _chain_name(line: dict[str, Any]) -> str:
    name = str(line.get("b", "")).encode()
    items = line.get("a")
    for item in items if isinstance(items, list) else []:
        name = name_of(name + encode_json(item))
    return name.decode()


def _missing(tape: TapeReader, owner: str, references: Any) -> Iterator[str]:
    """What is referred to and not there."""
    waiting = [references]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
        elif isinstance(found, str) and found[:1] == "@" and found[:2] != "@@" and not tape.has(found[1:]):
            yield f"{owner} refers to {found[:40]}, which is not on the tape"
