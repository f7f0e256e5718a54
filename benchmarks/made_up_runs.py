"""
Runs of a support agent that never existed, the same ones every time: what the tables are measured on.

Two versions of the agent, two models, five tools, thirty days. The newer version has a longer system prompt, a web
search that is slow, and refunds that often fail after it; both sometimes search twice for the same. Everything is
written the way the recorder writes it.
"""

from __future__ import annotations

import json
import random
import uuid
from typing import TYPE_CHECKING, Any

from agentdbg.events import utc_timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["write_long_run", "write_many_runs"]

BEGAN_S = 1_793_491_200
"""The first of November 2026."""
RELEASED_S = BEGAN_S + 12.5 * 86_400
"""From then on most runs are of the newer version."""
_PROMPTS = {
    "1.4": "You are the support agent of a shop. Help the customer, be brief.",
    "1.5": "You are the support agent of a shop. Help the customer, be brief. " + "Always cite the policy. " * 30,
}
_MODELS = {"gpt-4o": (2.5e-6, 1e-5, 900), "gpt-4o-mini": (1.5e-7, 6e-7, 400)}
_TOOLS = {
    "get_customer": (40, 0.0),
    "search_orders": (180, 0.01),
    "web_search": (1400, 0.04),
    "refund": (260, 0.03),
    "send_email": (90, 0.005),
}
_WORDS: tuple[str, ...] = ("order", "customer", "refund", "delivery", "late", "parcel", "broken", "screen")
_WORDS += ("invoice", "policy", "week", "money", "address", "please", "thanks")


class _Run:
    """Writes the events of one run, one after the other, by a clock of its own."""

    def __init__(self, seed: int, began_s: float) -> None:
        self.chance = random.Random(seed)
        self.now_ms = int(began_s * 1000)
        self.run_id = self._id()
        self.began_ms = self.now_ms
        self.version = "1.5" if began_s > RELEASED_S and self.chance.random() < 0.8 else "1.4"
        self.model = "gpt-4o" if self.chance.random() < 0.6 else "gpt-4o-mini"
        self.counts = {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}
        self.tokens, self.cost = 0, 0.0
        self.status = "ok"
        self.gives_up = True
        self._messages = [{"role": "system", "content": _PROMPTS[self.version]}, self._said("user", 40)]
        self._asked: dict[str, dict[str, Any]] = {}
        self._root: str | None = None

    def events(self, calls: int) -> Iterator[dict[str, Any]]:
        start = {
            "run_name": "support agent",
            "python_version": "3.12.7",
            "platform": "linux",
            "cwd": "/app",
            "argv": [],
        }
        first = self._event("RUN_START", "support agent", start, None)
        self._root = first["event_id"]
        yield first
        before = ""
        for _ in range(calls):
            tool = self.chance.choice(list(_TOOLS))
            if self.version == "1.4" and tool == "web_search":
                tool = "search_orders"
            model_call = self._model_call(tool)
            yield model_call
            tool_call = self._tool_call(tool, before, model_call["event_id"])
            yield tool_call
            before = tool
            if self.gives_up and tool_call["payload"]["status"] == "error" and self.chance.random() < 0.3:
                self.status = "error"
                break
        if self.status == "ok":
            yield self._model_call(None)
        payload = {"status": self.status, "summary": {**self.counts, "duration_ms": self.now_ms - self.began_ms}}
        yield self._event("RUN_END", "run_end", payload, self.now_ms - self.began_ms)

    def meta(self, last_ts: str) -> dict[str, Any]:
        return {
            "spec_version": "0.1",
            "run_id": self.run_id,
            "run_name": "support agent",
            "started_at": utc_timestamp(self.began_ms / 1000),
            "ended_at": last_ts,
            "duration_ms": self.now_ms - self.began_ms,
            "status": self.status,
            "counts": self.counts,
            "last_event_ts": last_ts,
            "total_tokens": self.tokens,
            "cost_usd": round(self.cost, 6),
            "metadata": {"version": self.version, "environment": "production", "framework": "none"},
            "agentdbg_version": "0.1.0",
            "redaction": "on",
        }

    def _model_call(self, tool: str | None) -> dict[str, Any]:
        price_in, price_out, usual_ms = _MODELS[self.model]
        tokens_in = sum(len(message["content"]) for message in self._messages) // 4
        tokens_out = self.chance.randrange(20, 120)
        cost = tokens_in * price_in + tokens_out * price_out
        self.counts["llm_calls"] += 1
        self.tokens += tokens_in + tokens_out
        self.cost += cost
        answer = self._said("assistant", 12)
        payload = {
            "model": self.model,
            "prompt": [dict(message) for message in self._messages[:1] + self._messages[-5:]],
            "response": {**answer, "tool_calls": [{"function": {"name": tool}}]} if tool else answer,
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
                "prompt_tokens_details": {"cached_tokens": tokens_in * self.chance.randrange(0, 80) // 100},
            },
            "provider": "openai",
            "stop_reason": "tool_calls" if tool else "stop",
            "status": "ok",
            "error": None,
            "cost_usd": round(cost, 8),
        }
        self._messages.append(answer)
        return self._event("LLM_CALL", self.model, payload, self._took(usual_ms))

    def _tool_call(self, tool: str, before: str, parent_id: str) -> dict[str, Any]:
        usual_ms, risk = _TOOLS[tool]
        if tool == "refund" and before == "web_search":
            risk = 0.35
        is_broken = self.chance.random() < risk
        self.counts["tool_calls"] += 1
        self.counts["errors"] += is_broken
        result = self._said("tool", 30)
        self._messages.append(result)
        payload = {
            "tool_name": tool,
            "args": self._arguments(tool),
            "result": None if is_broken else result["content"],
            "status": "error" if is_broken else "ok",
            "error": {"error_type": "Timeout", "message": f"{tool} took too long", "stack": None, "details": None}
            if is_broken
            else None,
        }
        return self._event("TOOL_CALL", tool, payload, self._took(usual_ms), parent_id)

    def _arguments(self, tool: str) -> dict[str, Any]:
        """Now and then the agent asks for what it has asked for before."""
        if tool != "search_orders" or tool not in self._asked or self.chance.random() > 0.1:
            self._asked[tool] = {"customer_id": self.chance.randrange(10_000), "note": self._words(6)}
        return self._asked[tool]

    def _event(
        self, event_type: str, name: str, payload: dict[str, Any], duration_ms: int | None, parent_id: str | None = None
    ) -> dict[str, Any]:
        return {
            "spec_version": "0.1",
            "event_id": self._id(),
            "run_id": self.run_id,
            "parent_id": parent_id or self._root,
            "event_type": event_type,
            "ts": utc_timestamp(self.now_ms / 1000),
            "duration_ms": duration_ms,
            "name": name,
            "payload": payload,
            "meta": {},
        }

    def _took(self, usual_ms: int) -> int:
        took = int(usual_ms * self.chance.lognormvariate(0, 0.5))
        self.now_ms += took
        return took

    def _said(self, role: str, count: int) -> dict[str, str]:
        return {"role": role, "content": self._words(count)}

    def _words(self, count: int) -> str:
        return " ".join(self.chance.choices(_WORDS, k=count))

    def _id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))


def write_many_runs(data_dir: Path, count: int) -> int:
    """Runs of about thirty events each over thirty days; how many events there are."""
    total = 0
    for number in range(count):
        run = _Run(number, BEGAN_S + number * 30 * 86_400 / count)
        total += _write(data_dir, run, run.chance.randrange(5, 24))
    return total


def write_long_run(data_dir: Path, events: int) -> str:
    """One run that went on and on; its id."""
    run = _Run(1, BEGAN_S)
    run.gives_up = False
    folder = data_dir / "runs" / run.run_id
    folder.mkdir(parents=True, mode=0o700)
    written = 0
    last = ""
    with open(folder / "events.jsonl", "w", encoding="utf-8") as file:
        for event in run.events(events):
            if written == events:
                break
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
            written += 1
            last = event["ts"]
            del run._messages[1:-5]
    (folder / "run.json").write_text(json.dumps(run.meta(last)))
    return run.run_id


def _write(data_dir: Path, run: _Run, calls: int) -> int:
    folder = data_dir / "runs" / run.run_id
    folder.mkdir(parents=True, mode=0o700)
    events = list(run.events(calls))
    lines = [json.dumps(event, separators=(",", ":")) for event in events]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(run.meta(events[-1]["ts"])), encoding="utf-8")
    return len(events)
