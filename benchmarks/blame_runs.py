"""
Made runs of several agents that fail at a known step, and the same without the fault.

Each run is a talk: a request, a plan, some steps of work with results, an answer that is checked and repeated. A fault
spoils one step. Up to three harmless things that look like faults stand before or after it: a lookup that gives nothing
and is followed by one that does, an assumption nothing hangs on, a figure from nowhere that is not used. `written`
reads talks that were written by hand, without looking at any rule.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.events import Event

__all__ = ["FAULTS", "Talk", "healthy", "spoilt", "written"]

_NAMES = ("Lisboa", "Porto", "Braga", "Faro", "Evora", "Aveiro", "Sintra", "Tomar")
_ROLES = ("Data_Expert", "Web_Expert", "Travel_Expert", "Math_Expert")


class Talk:
    """Events in file order, and the number of the step that was spoilt."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.events: list[Event] = []
        self.cause = 0
        self.messages: list[dict[str, Any]] = []
        self.run_id = self._id()
        self._write("RUN_START", "made", {})

    def _id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4)) if hasattr(self, "events") else "0" * 36

    def _write(self, event_type: str, name: str, payload: dict[str, Any]) -> int:
        parent = self.events[0]["event_id"] if self.events else None
        event: Any = {"spec_version": "0.1", "event_id": self._id(), "run_id": self.run_id, "parent_id": parent}
        event |= {"event_type": event_type, "ts": "2026-01-01T00:00:00.000Z", "duration_ms": 0, "name": name}
        event |= {"payload": payload, "meta": {}}
        self.events.append(event)
        return len(self.events)

    def hear(self, content: str, role: str = "user") -> None:
        self.messages.append({"role": role, "content": content})

    def say(self, text: str, tool: str | None = None, name: str | None = None) -> int:
        speaker = name or self.chance.choice(_ROLES)
        message: dict[str, Any] = {"role": "assistant", "name": speaker, "content": text}
        if tool:
            message["tool_calls"] = [{"function": {"name": tool, "arguments": "{}"}}]
        return self.answer(message)

    def answer(self, message: dict[str, Any]) -> int:
        number = self._write("LLM_CALL", "model", {"prompt": list(self.messages), "response": message, "status": "ok"})
        self.messages.append(message)
        return number

    def tool(self, name: str, args: Any, result: Any, error: str | None = None) -> int:
        told = {"error_type": "Error", "message": error} if error else None
        status = "error" if error else "ok"
        payload = {"tool_name": name, "args": args, "result": result, "status": status, "error": told}
        self.messages.append({"role": "tool", "content": error or str(result)})
        return self._write("TOOL_CALL", name, payload)

    def end(self) -> None:
        self._write("RUN_END", "run_end", {"status": "ok", "result": None})


class _Task:
    """What a made run is about: towns with figures, and the question which has the largest."""

    def __init__(self, chance: random.Random) -> None:
        self.towns = chance.sample(_NAMES, 4)
        self.figures = [chance.randint(1_000, 9_999) for _ in self.towns]
        self.code = f"T{chance.randint(1000, 9999)}X"
        self.total = sum(self.figures)


def healthy(chance: random.Random) -> Talk:
    """A talk in which everything is found, and the answer follows."""
    return _talk(chance, None)


def spoilt(kind: str, chance: random.Random) -> Talk:
    """A talk with one fault; `cause` is its step."""
    return _talk(chance, FAULTS[kind])


def _talk(chance: random.Random, fault: Callable[[Talk, _Task], None] | None) -> Talk:
    talk, task = Talk(chance), _Task(chance)
    talk.hear(f"What is the sum of the visitors of {', '.join(task.towns)}? The report is {task.code}.")
    talk.say("We look up the figures of the report, add them, and check the sum.", name="Planner")
    if chance.random() < 0.5:
        talk.say("I look at the report.", "read_report")
        talk.tool("read_report", {"id": task.code}, None, "timeout, try again")
        talk.say("I try once more.", "read_report")
        talk.tool("read_report", {"id": task.code}, {"title": "Visitors", "towns": task.towns})
    for town in chance.sample(task.towns, chance.randint(0, 3)):
        talk.say(f"What does the report say about {town}?", "search")
        talk.tool("search", {"q": town}, {"text": f"{town} is in the report {task.code}.", "page": chance.random()})
    for distract in chance.sample(_DISTRACTIONS, chance.randint(0, 3)):
        distract(talk, task)
    if fault is not None:
        fault(talk, task)
    else:
        talk.say("Now the figures.", "read_table")
        talk.tool("read_table", {"id": task.code}, dict(zip(task.towns, task.figures, strict=True)))
        rows = ", ".join(f'("{town}", {figure})' for town, figure in zip(task.towns, task.figures, strict=True))
        talk.say(f"```python\nrows = [{rows}]\nprint(sum(figure for _, figure in rows))\n```")
        talk.hear(f"exitcode: 0 (execution succeeded)\nCode output: {task.total}")
        talk.say(f"The sum is {task.total}.")
        talk.say(f"I checked the figures. FINAL ANSWER: {task.total}", name="Verifier")
    talk.end()
    return talk


def _empty_then_found(talk: Talk, task: _Task) -> None:
    talk.say("Is there an older report?", "search")
    talk.tool("search", {"q": f"{task.code} old"}, {"hits": []})
    talk.say("Then by its title.", "search")
    talk.tool("search", {"q": "Visitors"}, {"hits": [f"Visitors {task.code}"]})


def _harmless_assumption(talk: Talk, _task: _Task) -> None:
    talk.say("Let's assume that the report is the newest there is; the page says so.")


def _harmless_claim(talk: Talk, _task: _Task) -> None:
    talk.say(f"Such reports have {talk.chance.randint(100, 400)} pages and come out in Coimbra, as far as I know.")


def _harmless_table(talk: Talk, _task: _Task) -> None:
    talk.say("```python\nwidths = {'town': 125, 'visitors': 240, 'share': 118}\nprint(sum(widths.values()))\n```")
    talk.hear("exitcode: 0 (execution succeeded)\nCode output: 483")


def _harmless_error(talk: Talk, _task: _Task) -> None:
    talk.say("```python\nimport tabulate\n```")
    talk.hear("exitcode: 1 (execution failed)\nCode output: ModuleNotFoundError: No module named 'tabulate'")
    talk.say("We can do without a table.")


_DISTRACTIONS = (_empty_then_found, _harmless_assumption, _harmless_claim, _harmless_table, _harmless_error)


def _close(talk: Talk, figure: int) -> None:
    if talk.chance.random() < 0.4:
        talk.chance.choice(_DISTRACTIONS)(talk, _Task(talk.chance))
    talk.say(f"The figures were added, and the sum is {figure}.")
    talk.say(f"That agrees with the plan. FINAL ANSWER: {figure}", name="Verifier")


def _failing_code(talk: Talk, task: _Task) -> None:
    talk.cause = talk.say(f"```python\nprint(total_of('{task.code}'))\n```")
    talk.hear("exitcode: 1 (execution failed)\nCode output: NameError: name 'total_of' is not defined")
    _close(talk, task.total + 7)


def _failing_tool(talk: Talk, task: _Task) -> None:
    talk.cause = talk.say("Now the figures.", "read_table")
    talk.tool("read_table", {"report": task.code}, None, "missing argument id")
    _close(talk, task.total + 11)


def _failure_inside(talk: Talk, task: _Task) -> None:
    talk.cause = talk.say("Now the figures.", "read_table")
    talk.tool("read_table", {"id": task.code}, {"status_code": 404, "body": ""})
    _close(talk, task.total + 13)


def _nothing_found(talk: Talk, task: _Task) -> None:
    talk.cause = talk.say("Now the figures.", "search_figures")
    talk.tool("search_figures", {"q": "visiters"}, {"hits": []})
    _close(talk, task.total + 17)


def _typed_data(talk: Talk, task: _Task) -> None:
    made_up = [talk.chance.randint(10_000, 99_999) for _ in task.towns]
    rows = ", ".join(f'("{town}", {figure})' for town, figure in zip(task.towns, made_up, strict=True))
    talk.cause = talk.say(f"```python\nrows = [{rows}]\nprint(sum(figure for _, figure in rows))\n```")
    talk.hear(f"exitcode: 0 (execution succeeded)\nCode output: {sum(made_up)}")
    _close(talk, sum(made_up))


def _assumption(talk: Talk, task: _Task) -> None:
    talk.cause = talk.say(f"The table is long. Let's assume that {task.towns[0]} has about half of all visitors.")
    talk.say("Now the figures.", "read_table")
    talk.tool("read_table", {"id": task.code}, dict(zip(task.towns, task.figures, strict=True)))
    _close(talk, task.total + 19)


def _claim(talk: Talk, task: _Task) -> None:
    talk.cause = talk.say(f"The four towns have {task.total + 23} visitors.")
    talk.say("That seems plausible, because the report is new.")
    _close(talk, task.total + 23)


def _wrong_id(talk: Talk, task: _Task) -> None:
    wrong = f"U{talk.chance.randint(1000, 9999)}Y"
    talk.cause = talk.say("Now the figures.", "read_table")
    other = [figure + 3 for figure in task.figures]
    talk.tool("read_table", {"id": wrong}, dict(zip(task.towns, other, strict=True)))
    _close(talk, sum(other))


FAULTS: dict[str, Callable[[Talk, _Task], None]] = {
    "code that fails": _failing_code,
    "a call that fails": _failing_tool,
    "a failure inside a result": _failure_inside,
    "a lookup that gives nothing": _nothing_found,
    "data typed into code": _typed_data,
    "an assumption": _assumption,
    "a claim from nowhere": _claim,
    "an id from nowhere": _wrong_id,
}


_SPEAKS = re.compile(r"(\*?)(\[result\]|[A-Z]\w*(?= ?:)):? ?(.*)")
_PRINTS = ("Terminal", "Console")


def written(half: str) -> list[tuple[str, Talk]]:
    """The talks of `blame_logs.txt` of one half (`dev` or `held`), with what is wrong in each."""
    text = (Path(__file__).parent / "blame_logs.txt").read_text("utf-8")
    found = []
    for part in text.split("## ")[1:]:
        title, *lines = part.strip().splitlines()
        of, _, what = title.partition(", ")
        if of == half:
            found.append((what, _read_talk(lines)))
    return found


def _read_talk(lines: list[str]) -> Talk:
    talk = Talk(random.Random(0))
    turns: list[list[str]] = []
    for line in lines:
        speaks = _SPEAKS.fullmatch(line)
        if speaks:
            turns.append(list(speaks.groups()))
        else:
            turns[-1][2] += f"\n{line}"
    asked: tuple[str, Any] = ("", {})
    for mark, name, said in turns:
        if name == "User":
            talk.hear(said)
        elif name in _PRINTS:
            talk.say(said, name=name)
        elif name == "[result]":
            talk.tool(*asked, json.loads(said))
        else:
            number = talk.say("" if said.startswith("[call]") else said, name=name)
            if said.startswith("[call]"):
                tool, _, args = said.removeprefix("[call] ").partition(" ")
                asked = (tool, json.loads(args))
                call = {"function": {"name": tool, "arguments": args}}
                talk.events[-1]["payload"]["response"]["tool_calls"] = [call]
            talk.cause = number if mark else talk.cause
    talk.end()
    return talk
