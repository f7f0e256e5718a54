"""Talks written down one message on a line, imported as a person would import them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.interop.files import imported

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Talk", "events_and_cause", "talks_in"]

_MESSAGE = re.compile(r"(\*?)([^:]{1,60}):(?: |$)(.*)")
_ROLES = {"S": "system", "U": "user", "A": "assistant"}


@dataclass
class Talk:
    """One talk: its name, its messages in the form of chats, and which of the decisions is the cause."""

    name: str
    is_group: bool
    messages: list[dict[str, Any]] = field(default_factory=list)
    cause: int = 0
    decisions: int = 0

    def take(self, line: str) -> None:
        found = _MESSAGE.match(line)
        if found is None or (found[2].isupper() and len(found[2]) > 1):  # an answer's second line
            self.messages[-1]["content"] += f"\n{line}"
            return
        star, who, text = found.groups()
        self.cause = self.decisions if star else self.cause
        is_person = who in ("S", "U", "human", "User")
        self.decisions += not is_person and "terminal" not in who.lower()
        if who == "C":
            self._call(text)
        else:
            role = who if self.is_group else _ROLES[who]
            self.messages.append({"role": role, "content": _plain(text)})

    def _call(self, text: str) -> None:
        asked, _, result = text.partition(" => ")
        tool, _, arguments = asked.partition(" ")
        call = {"id": f"c{len(self.messages)}", "type": "function", "function": {"name": tool, "arguments": arguments}}
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "name": tool, "content": _plain(result)})


def _plain(text: str) -> str:
    """A text with its line breaks; JSON has its own."""
    try:
        json.loads(text)
    except ValueError:
        return text.replace("\\n", "\n")
    return text


def talks_in(path: Path) -> list[Talk]:
    """All talks of a file."""
    talks: list[Talk] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("## "):
            kind, _, name = line[3:].partition(" ")
            talks.append(Talk(name, kind == "group"))
        elif line.strip() and talks:
            talks[-1].take(line)
    return talks


def events_and_cause(talk: Talk, folder: Path, data_dir: Path) -> tuple[list[Any], int]:
    """The events of a talk as they are imported, and the number of the one that is the cause."""
    path = folder / f"{talk.name}.json"
    document = {"history": talk.messages} if talk.is_group else {"messages": talk.messages}
    path.write_text(json.dumps(document), "utf-8")
    events = imported(path, data_dir)
    calls = [number for number, event in enumerate(events, 1) if event["event_type"] == "LLM_CALL"]
    return events, calls[talk.cause] if talk.cause < len(calls) else 0
