"""
Pairs of long made-up runs, as agents of very different habits leave them: what `benchmarks/diff_speed.py` compares.

Every pair is the same each time but for its ids.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.events import new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.events import Event

__all__ = ["SHAPES", "Shape"]

_TOOLS = ("search_flights", "get_user", "book_flight", "calculate", "send_mail", "think")
_WORDS = ("the", "flight", "leaves", "at", "noon", "and", "costs", "less", "than", "you", "said", "with", "two", "bags")


class Shape(NamedTuple):
    """A sort of pair: what it is called, how it is made (for side "a" and "b"), and how long it may take."""

    label: str
    make: Callable[[str, int], list[Event]]
    wanted_ms: int
    events: int = 2_000


class _Run:
    """A run being written, one event every 5 ms."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._now_ms = 0
        self.start = self.put("RUN_START", "agent", {"run_name": "agent"}, None)

    def put(
        self, event_type: str, name: str, payload: dict[str, Any], parent: Event | None, at_ms: int = 0, **more: Any
    ) -> Event:
        self._now_ms = at_ms or self._now_ms + 5
        seconds, milliseconds = divmod(self._now_ms, 1000)
        event: Event = {
            "spec_version": "0.1",
            "event_id": new_id(),
            "run_id": "",
            "parent_id": parent["event_id"] if parent else None,
            "event_type": event_type,
            "ts": f"2026-11-15T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{milliseconds:03d}Z",
            "duration_ms": more.get("duration_ms"),
            "name": name,
            "payload": payload,
            "meta": more.get("meta", {}),
        }
        self.events.append(event)
        return event

    def model(self, prompt: list[Any], response: Any) -> Event:
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        payload = {"model": "gpt-4o", "prompt": prompt, "response": response, "usage": usage, "status": "ok"}
        return self.put("LLM_CALL", "gpt-4o", {**payload, "error": None}, self.start)

    def tool(self, name: str, args: Any, result: Any, parent: Event | None = None, **more: Any) -> Event:
        payload = {"tool_name": name, "args": args, "result": result, "status": "ok", "error": None}
        return self.put("TOOL_CALL", name, payload, parent or self.start, **more)

    def ended(self) -> list[Event]:
        self.put("RUN_END", "run_end", {"status": "ok", "summary": {}}, self.start)
        return self.events


def _chat(drift: float, window: int) -> Callable[[str, int], list[Event]]:
    """
    Turns of a question, an answer and a tool. `drift` is how many turns of B go another way.

    The prompt holds all messages until there are more than `window`, and then goes on with the last tenth of them.
    """

    def make(side: str, count: int) -> list[Event]:
        chance, other = random.Random(1), random.Random(2)
        run, messages = _Run(), list[Any]()

        def turn(question: str, thought: str, tool: str, city: int) -> None:
            messages.append({"role": "user", "content": question})
            if len(messages) > window:
                del messages[: -window // 10]
            args = {"city": city, "seats": 2, "note": "window"}
            call = {"id": new_id(), "name": tool, "args": args}
            answer = {"role": "assistant", "content": thought, "tool_calls": [call]}
            asked = run.model([{"role": "system", "content": "Help."}, *messages], answer)
            result = {"flights": [{"number": f"HAT{city + at}", "price": city * 3 + at} for at in range(3)]}
            run.tool(tool, args, result, asked)
            messages.extend([answer, {"role": "tool", "tool_call_id": call["id"], "content": str(result)}])

        while len(run.events) < count - 1:
            question, thought, tool, city = _said(chance), _said(chance), chance.choice(_TOOLS), chance.randrange(10**4)
            if side == "b" and other.random() < drift:
                kind = other.random()
                if kind < 0.4:
                    thought = _said(other)
                elif kind < 0.7:
                    city = other.randrange(10**4)
                elif kind < 0.85:
                    continue
                else:
                    turn(_said(other), _said(other), "calculate", other.randrange(99))
            turn(question, thought, tool, city)
        return run.ended()

    return make


def _nothing_equal(side: str, count: int) -> list[Event]:
    chance, run = random.Random(side), _Run()
    while len(run.events) < count - 1:
        tool, args = chance.choice(_TOOLS), {"city": chance.randrange(10**6), "note": _said(chance, 8)}
        answer = {"role": "assistant", "content": _said(chance), "tool_calls": [{"name": tool, "args": args}]}
        asked = run.model([{"role": "user", "content": _said(chance)}], answer)
        run.tool(tool, args, {"text": _said(chance)}, asked)
    return run.ended()


def _one_tool(side: str, count: int) -> list[Event]:
    chance, run = random.Random(side), _Run()
    while len(run.events) < count - 1:
        run.tool("book_flight", {"who": _said(chance, 6), "number": chance.randrange(10**6)}, {"text": _said(chance)})
    return run.ended()


def _few_steps_again_and_again(side: str, count: int) -> list[Event]:
    chance, other, run = random.Random(1), random.Random(side), _Run()
    while len(run.events) < count - 1:
        page = chance.randrange(4)
        page = other.randrange(8) if other.random() < 0.2 else page
        run.tool("get_page", {"page": page}, {"text": f"page {page}"})
    return run.ended()


def _nested(side: str, count: int) -> list[Event]:
    """Spans inside spans, sixty deep, and results twenty deep."""
    chance, other, run = random.Random(1), random.Random(side), _Run()
    parent = run.start
    while len(run.events) < count - 2:
        value: Any = chance.randrange(10**6)
        value = other.randrange(10**6) if other.random() < 0.2 else value
        for _ in range(20):
            value = {"in": [value, "x"]}
        level = len(run.events) // 2 % 60
        payload = {"state": None, "diff": None, "error": None}
        span = run.put("STATE_UPDATE", f"level {level}", payload, parent if level else run.start, meta={"span": "s"})
        run.tool("get_node", {"level": level}, value, span)
        parent = span
    return run.ended()


def _long_texts(side: str, count: int) -> list[Event]:
    """20 KB each, of which one word differs."""
    chance, other, run = random.Random(1), random.Random(side), _Run()
    for number in range(count - 2):
        words = chance.choices(_WORDS, k=4_000)
        words[other.randrange(4_000)] = f"{side}{number}"
        run.tool("read_file", {"path": f"file {number}"}, " ".join(words))
    return run.ended()


def _at_once(side: str, count: int) -> list[Event]:
    """Ten tools at a time that come back in any order, half of them with other arguments."""
    chance, other, run = random.Random(1), random.Random(side), _Run()
    began_ms = 0
    while len(run.events) < count - 12:
        asked = run.model([{"role": "user", "content": _said(chance)}], {"role": "assistant", "content": "Looking."})
        pages = [chance.randrange(10**6) for _ in range(10)]
        pages = [other.randrange(10**6) if other.random() < 0.5 else page for page in pages]
        other.shuffle(pages)
        for at, page in enumerate(pages):
            run.tool("get_page", {"page": page}, {"text": str(page)}, asked, at_ms=began_ms + 900 + at, duration_ms=900)
        began_ms += 1_000
    return run.ended()


def _lists(side: str, count: int) -> list[Event]:
    """Results that are lists of two hundred records, a few changed and a few put in."""
    chance, other, run = random.Random(1), random.Random(side), _Run()
    for number in range(count - 2):
        records = [{"id": at, "price": chance.randrange(100), "seats": chance.randrange(9)} for at in range(200)]
        for _ in range(5):
            records[other.randrange(200)] = {"id": 0, "price": other.randrange(100), "seats": 1}
            records.insert(other.randrange(200), {"id": other.randrange(10**6), "price": 1, "seats": 2})
        run.tool("list_flights", {"day": number}, {"flights": records})
    return run.ended()


def _said(chance: random.Random, words: int = 25) -> str:
    return " ".join(chance.choices(_WORDS, k=words)) + f" {chance.randrange(10**6)}."


SHAPES = (
    Shape("nothing differs", _chat(0.0, 12), 200),
    Shape("one turn in ten differs", _chat(0.1, 12), 200),
    Shape("every other turn differs", _chat(0.5, 12), 200),
    Shape("one turn in ten, prompts grow to 300 messages", _chat(0.1, 300), 400),
    Shape("ten tools at once, in another order, half with other arguments", _at_once, 200),
    Shape("spans sixty deep, results twenty deep", _nested, 200),
    Shape("four different steps again and again", _few_steps_again_and_again, 200),
    Shape("nothing is equal", _nothing_equal, 400),
    Shape("nothing is equal, one tool that writes", _one_tool, 400),
    Shape("texts of 20 KB that differ in one word", _long_texts, 600),
    Shape("lists of 200 records", _lists, 400, 400),
    Shape("one turn in ten differs", _chat(0.1, 12), 5_000, 50_000),
    Shape("every other turn differs", _chat(0.5, 12), 5_000, 50_000),
    Shape("nothing is equal", _nothing_equal, 10_000, 50_000),
)
