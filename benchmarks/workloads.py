"""What is recorded in the benchmarks: the same data for us and for every peer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

__all__ = ["WORKLOADS", "different_ones", "real_messages", "words_of"]

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
# With these about as many words as a text of a few pages has.
_BEGINNINGS = ("", "un", "re", "over", "out", "fore", "mis", "sub")
_ENDINGS = ("", "s", "ing", "ed", "er", "al", "ful", "ish")
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


def words_of(chance: random.Random, number: int) -> str:
    """So many words, of about as many different ones as a text of a few pages has."""
    parts = (_BEGINNINGS, _WORDS, _ENDINGS)
    return " ".join("".join(chance.choice(part) for part in parts) for _ in range(number))


def different_ones(count: int = 500) -> dict[str, list[dict[str, Any]]]:
    """The same sizes with other words each time, as an agent that gets on with its work leaves them."""
    chance = random.Random(7)

    def words(number: int) -> str:
        return words_of(chance, number)

    def flight() -> dict[str, Any]:
        asked = {"origin": words(1), "destination": words(1), "day": chance.randrange(31), "cabin": "economy"}
        found = {"found": chance.randrange(9), "cheapest": chance.randrange(999) / 2, "numbers": words(3).split()}
        return {"kind": "tool", "name": "search_flights", "input": asked, "output": found}

    return {
        "LLM call, tiny": [_llm(words(4) + "?", words(4) + ".") for _ in range(count)],
        "LLM call, 2 KB": [_llm(words(200), words(50)) for _ in range(count)],
        "tool call": [flight() for _ in range(count)],
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
