"""
Runs to try the loop detector on: made ones with a known answer, and real ones of other tools turned into events.

The converters record what AgentDbg would have recorded had it been there: an LLM_CALL with the messages so far and the
answer, a TOOL_CALL with arguments and result. A tool that returned an error text returned normally: its status is ok.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentdbg.events import Event

__all__ = ["HEALTHY", "LOOPING", "WORDS", "Recorder", "chat_run", "openhands_run", "swe_agent_run", "trail_run"]


class Recorder:
    """Makes events with counted ids and a clock that ticks once per event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._numbers = count(1)

    def add(
        self, event_type: str, name: str, payload: dict[str, Any] | None = None, meta: dict[str, Any] | None = None
    ) -> Event:
        """Record any event."""
        number = next(self._numbers)
        event: Event = {
            "spec_version": "0.1",
            "event_id": f"{number:08x}-0000-4000-8000-000000000000",
            "run_id": "00000000-0000-4000-8000-000000000000",
            "parent_id": None,
            "event_type": event_type,
            "ts": f"2025-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "duration_ms": 5,
            "name": name,
            "payload": payload or {},
            "meta": meta or {},
        }
        self.events.append(event)
        return event

    def model(self, response: Any, prompt: Any = None, model: str = "gpt-4", **payload: Any) -> Event:
        """Record a model call."""
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        full = {"model": model, "prompt": prompt, "response": response, "usage": usage, "status": "ok", "error": None}
        return self.add("LLM_CALL", model, {**full, **payload})

    def tool(
        self, name: str, args: Any = None, result: Any = None, error: Any = None, meta: dict[str, Any] | None = None
    ) -> Event:
        """Record a tool call."""
        status = "ok" if error is None else "error"
        payload = {"tool_name": name, "args": args, "result": result, "status": status, "error": error}
        return self.add("TOOL_CALL", name, payload, meta)

    def fail(self, name: str, args: Any = None, message: str = "connection refused") -> Event:
        """Record a tool call that raised."""
        error = {"error_type": "ConnectionError", "message": message, "stack": None, "details": None}
        return self.tool(name, args, error=error)


# -- made runs ---------------------------------------------------------------------------------------------------------

WORDS = [
    "river",
    "mountain",
    "engine",
    "paper",
    "orange",
    "window",
    "garden",
    "silver",
    "winter",
    "bridge",
    "candle",
    "forest",
    "market",
    "planet",
    "rocket",
    "signal",
    "temple",
    "velvet",
    "wagon",
    "yellow",
    "anchor",
    "basket",
    "copper",
    "desert",
    "ember",
    "feather",
    "glacier",
    "harbor",
    "island",
    "jungle",
]


def _prose(chance: random.Random, words: int = 12) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words))


def _cycle(period: int, thoughts: bool) -> Callable[[random.Random], list[Event]]:
    def make(chance: random.Random) -> list[Event]:
        run = Recorder()
        block = [(f"tool_{position}", {"q": _prose(chance, 3)}, _prose(chance)) for position in range(period)]
        for _ in range(4):
            for name, args, result in block:
                if thoughts:
                    run.model(_prose(chance))
                run.tool(name, dict(args), result)
        return run.events

    return make


def _cycle_with_noise(chance: random.Random) -> list[Event]:
    run = Recorder()
    block = [(f"tool_{position}", {"q": _prose(chance, 3)}, _prose(chance)) for position in range(3)]
    for _ in range(5):
        for name, args, result in block:
            run.tool(name, dict(args), result)
            if chance.random() < 0.3:
                run.add("STATE_UPDATE", "state", {"state": {"note": _prose(chance, 2)}, "diff": None})
            if chance.random() < 0.2:
                run.tool(f"noise_{chance.randrange(99)}", {"n": chance.random()}, _prose(chance))
    return run.events


def _one_tool_many_inputs(chance: random.Random) -> list[Event]:
    run = Recorder()
    queries = [_prose(chance, 4) for _ in range(4)]
    for turn in range(16):
        run.tool("search", {"q": queries[turn % 4]}, f"results for {queries[turn % 4]}")
    return run.events


def _retry(chance: random.Random) -> list[Event]:
    run = Recorder()
    args = {"url": f"https://example.org/{_prose(chance, 1)}"}
    for _ in range(4):
        run.model(_prose(chance))
        run.fail("fetch", args)
    return run.events


def _retry_not_in_a_row(chance: random.Random) -> list[Event]:
    run = Recorder()
    args = {"order": _prose(chance, 2), "amount": 12}
    for _ in range(3):
        run.tool("book", dict(args), "Error: the amount does not add up")
        run.model(_prose(chance))
        run.tool("think", {"thought": _prose(chance)}, "")
    return run.events


def _model_retry(_chance: random.Random) -> list[Event]:
    run = Recorder()
    error = {"error_type": "RateLimitError", "message": "429: slow down", "stack": None, "details": None}
    for _ in range(4):
        run.model(None, [{"role": "user", "content": "go"}], status="error", error=error)
    return run.events


def _near_same(chance: random.Random) -> list[Event]:
    run = Recorder()
    base = _prose(chance, 9)
    for extra in ("", " please", " now", " again", " today"):
        run.model(_prose(chance))
        run.tool("search", {"query": base + extra}, "No results found for this query in the index.")
    return run.events


def _ids_and_clocks(chance: random.Random) -> list[Event]:
    run = Recorder()
    for turn in range(5):
        request = f"{chance.getrandbits(32):08x}-1111-4222-8333-{chance.getrandbits(48):012x}"
        result = {"request_id": request, "at": f"2025-03-01T10:0{turn}:07.123Z", "items": [WORDS[0]], "took_ms": turn}
        run.model({"id": f"chatcmpl-{chance.getrandbits(64):x}", "choices": [{"message": {"content": _prose(chance)}}]})
        run.tool("list_items", {"limit": 5, "tool_call_id": f"call_{chance.getrandbits(80):x}"}, result)
    return run.events


def _echo(chance: random.Random) -> list[Event]:
    run = Recorder()
    base = _prose(chance, 20)
    for _ in range(5):
        run.model(f"{base} {chance.choice(WORDS)}")
    return run.events


def _paging(chance: random.Random) -> list[Event]:
    run = Recorder()
    for page in range(12):
        run.model("Let me look at the next page of the results.")
        run.tool("list_orders", {"customer": "c-17", "limit": 20, "page": page}, [_prose(chance) for _ in range(3)])
    return run.events


def _paging_without_arguments(chance: random.Random) -> list[Event]:
    run = Recorder()
    for page in range(12):
        ids = [f"{chance.getrandbits(128):032x}" for _ in range(10)]
        run.tool("next_page", {}, {"page": page, "ids": ids})
    return run.events


def _polling_marked(_chance: random.Random) -> list[Event]:
    run = Recorder()
    for _ in range(8):
        run.tool("job_status", {"job": 7}, {"status": "running"}, meta={"polling": True})
        run.model("Still running, I will wait a moment and look again.")
    return run.events


def _polling_with_progress(_chance: random.Random) -> list[Event]:
    run = Recorder()
    for turn in range(10):
        run.tool("job_status", {"job": 7}, {"status": "running", "percent": turn * 10})
    return run.events


def _batch(chance: random.Random) -> list[Event]:
    run = Recorder()
    for item in range(15):
        run.model("Now I will handle the next item of the list as planned.")
        body = {"template": WORDS, "item": f"item-{item}", "recipient": _prose(chance, 1)}
        run.tool("send_message", body, {"status": "sent"})
    return run.events


def _batch_lookup(chance: random.Random) -> list[Event]:
    run = Recorder()
    for item in range(15):
        run.tool("get_customer", {"id": item}, {"id": item, "name": _prose(chance, 2), "plan": "basic", "active": True})
    return run.events


def _think_and_act(chance: random.Random) -> list[Event]:
    run = Recorder()
    for _ in range(20):
        run.model(_prose(chance, 15))
        run.tool(chance.choice(("search", "read", "write")), {"q": _prose(chance, 4)}, _prose(chance, 20))
    return run.events


def _retry_that_works(chance: random.Random) -> list[Event]:
    run = Recorder()
    for _ in range(6):
        args = {"url": _prose(chance, 1)}
        run.model(_prose(chance))
        run.fail("fetch", args)
        run.model(_prose(chance))
        run.tool("fetch", args, _prose(chance))
    return run.events


def _user_turns(chance: random.Random) -> list[Event]:
    run = Recorder()
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are helpful."}]
    for _ in range(6):
        messages.append({"role": "user", "content": _prose(chance)})
        run.model("Let me look at your order to see where it is now.", list(messages))
        run.tool("get_order", {"id": 17}, {"id": 17, "state": "on its way", "carrier": "north"})
        messages += [{"role": "tool", "content": "on its way"}]
        run.model("Your order 17 is on its way with the carrier north.", list(messages))
        messages.append({"role": "assistant", "content": "Your order 17 is on its way."})
    return run.events


def _edit_and_test(chance: random.Random) -> list[Event]:
    run = Recorder()
    for turn in range(6):
        run.model(_prose(chance))
        run.tool("edit_file", {"path": "a.py", "text": _prose(chance, 20)}, f"edited, {turn + 3} lines changed here")
        run.tool("run_tests", {}, f"{6 - turn} failed, {turn} passed in 0.{turn}2s: {_prose(chance, 5)}")
    return run.events


LOOPING: dict[str, Callable[[random.Random], list[Event]]] = {
    **{f"cycle of {period}": _cycle(period, thoughts=False) for period in range(1, 11)},
    **{f"cycle of {period}, thoughts between": _cycle(period, thoughts=True) for period in range(1, 11)},
    "cycle of 3 with noise between": _cycle_with_noise,
    "one tool round four inputs": _one_tool_many_inputs,
    "error retried": _retry,
    "error text retried, thinking between": _retry_not_in_a_row,
    "model error retried": _model_retry,
    "nearly the same query, nothing found": _near_same,
    "ids and clocks in results": _ids_and_clocks,
    "the same answer in slightly other words": _echo,
}
"""Made runs that loop: each has to give a warning or a critical finding."""

HEALTHY: dict[str, Callable[[random.Random], list[Event]]] = {
    "paging": _paging,
    "paging without arguments, ids only": _paging_without_arguments,
    "polling, marked": _polling_marked,
    "polling with progress": _polling_with_progress,
    "batch of messages, bare answers": _batch,
    "batch of look-ups": _batch_lookup,
    "think and act": _think_and_act,
    "one retry that works, six times": _retry_that_works,
    "new user turns": _user_turns,
    "edit and test": _edit_and_test,
}
"""Made runs that work: none may give more than info."""


# -- real runs of other tools ------------------------------------------------------------------------------------------


def chat_run(messages: list[dict[str, Any]], model: str = "model") -> list[Event]:
    """OpenAI-style messages with tool calls, as tau-bench stores them."""
    run = Recorder()
    asked: dict[str, Any] = {}
    for position, message in enumerate(messages):
        if message["role"] == "assistant":
            run.model(message, messages[:position], model)
            for call in message.get("tool_calls") or ():
                asked[call["id"]] = call["function"]
        elif message["role"] == "tool":
            call_id = message.get("tool_call_id") or (message.get("tool_call_ids") or [""])[0]
            function = asked.get(call_id, {})
            name = message.get("name") or function.get("name") or "tool"
            run.tool(name, _loads(function.get("arguments")), message.get("content"))
    return run.events


def swe_agent_run(trajectory: dict[str, Any]) -> list[Event]:
    """A SWE-agent `.traj`: each step's answer, and its command as a call of the tool it begins with."""
    if "trajectory" not in trajectory:
        return chat_run(trajectory["history"])
    run = Recorder()
    history: list[dict[str, Any]] = []
    for step in trajectory["trajectory"]:
        run.model(step.get("response"), list(history))
        action = (step.get("action") or "").strip()
        name = action.split(None, 1)[0] if action else "none"
        run.tool(name, {"command": action}, step.get("observation"))
        history += [
            {"role": "assistant", "content": step.get("response")},
            {"role": "user", "content": step.get("observation")},
        ]
    return run.events


def trail_run(trace: dict[str, Any]) -> list[Event]:
    """OpenInference spans: model and tool spans in the order they began."""
    run = Recorder()
    spans = sorted((span for top in trace["spans"] for span in _walk(top)), key=lambda span: str(span["timestamp"]))
    for span in spans:
        attributes = span["span_attributes"]
        kind = attributes.get("openinference.span.kind")
        value, output = _loads(attributes.get("input.value")), attributes.get("output.value")
        if kind == "LLM":
            prompt = value.get("messages") if isinstance(value, dict) else value
            run.model(_loads(output), prompt, attributes.get("llm.model_name") or "model")
        elif kind == "TOOL":
            failed = span.get("status_code") == "Error"
            error = {"error_type": "Error", "message": span.get("status_message")} if failed else None
            run.tool(attributes.get("tool.name") or span["span_name"], value, output, error=error)
    return run.events


def openhands_run(path: Path) -> list[Event]:
    """OpenHands events: an action and the observation that answers it make one tool call."""
    run = Recorder()
    actions: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        item = json.loads(line)
        if item.get("action") and item.get("tool_name"):
            actions[item.get("tool_call_id", "")] = item
            run.model({"content": item.get("thought")}, None)
        elif item.get("observation") is not None and item.get("tool_name"):
            action = actions.get(item.get("tool_call_id", ""), {})
            run.tool(item["tool_name"], action.get("action"), item["observation"])
    return run.events


def _walk(span: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield span
    for child in span.get("child_spans") or ():
        yield from _walk(child)


def _loads(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
