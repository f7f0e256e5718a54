"""What is recorded in the benchmarks: the same data for us and for every peer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["WORKLOADS", "real_messages"]

_WORDS = [
    "the",
    "agent",
    "looked",
    "at",
    "the",
    "page",
    "and",
    "found",
    "that",
    "the",
    "price",
    "had",
    "changed",
    "since",
    "the",
    "last",
    "time",
    "it",
    "was",
    "there",
]
_USAGE = {"prompt_tokens": 812, "completion_tokens": 64, "total_tokens": 876}


def _text(size: int) -> str:
    words: list[str] = []
    length = 0
    while length < size:
        word = _WORDS[len(words) % len(_WORDS)]
        words.append(word)
        length += len(word) + 1
    return " ".join(words)[:size]


def _llm(prompt: Any, response: Any) -> dict[str, Any]:
    return {"kind": "llm", "name": "gpt-4o", "input": prompt, "output": response, "usage": _USAGE}


WORKLOADS: dict[str, dict[str, Any]] = {
    "LLM call, tiny": _llm("What is the capital of France?", "Paris is the capital of France."),
    "LLM call, 2 KB": _llm(_text(1_600), _text(400)),
    "LLM call, 20 KB": _llm(_text(16_000), _text(4_000)),
    "200 nested keys": {
        "kind": "tool",
        "name": "load_profile",
        "input": {"id": 7},
        "output": {f"group{i}": {f"field{j}": i * j for j in range(9)} for i in range(20)},
    },
    "tool call": {
        "kind": "tool",
        "name": "search_flights",
        "input": {"origin": "SFO", "destination": "JFK", "day": 12, "cabin": "economy"},
        "output": {"found": 3, "cheapest": 199.5, "numbers": ["HAT001", "HAT023", "HAT170"]},
    },
    "state, 50 keys": {"kind": "state", "name": "state", "input": None, "output": {f"slot{i}": i for i in range(50)}},
}


def real_messages() -> list[dict[str, Any]]:
    """Messages of real agents, full of call ids and reservation numbers; empty when the data is not beside us."""
    for folder in (Path("../shared/data"), Path(__file__).parents[2] / "shared" / "data"):
        path = folder / "taubench-airline" / "gpt-4o-airline.json"
        if path.is_file():
            return [
                _llm(run["traj"][max(0, at - 3) : at], message)
                for run in json.loads(path.read_text())[:40]
                for at, message in enumerate(run["traj"])
                if message["role"] == "assistant"
            ][:300]
    return []
