"""
What sealing a payload costs, beside merely encoding it.

Prints microseconds (the best of several interleaved rounds) and the ratio to a plain encode of the same payload.
Give a JSON file of agent conversations (a list of objects with a `traj` list of messages) to measure real messages.
"""

from __future__ import annotations

import json
import sys
from time import thread_time
from typing import Any

from agentdbg.encoding import encode_json
from agentdbg.redaction import RedactionRules, Redactor

ROUNDS = 30


def main() -> None:
    payloads = {name: [payload] for name, payload in _payloads().items()}
    if len(sys.argv) > 1:
        payloads["real messages"] = _real_messages(sys.argv[1])
    redactor = Redactor(RedactionRules())
    plain = Redactor(RedactionRules(), use_re2=False)
    print(f"{'payload':<24}{'bytes':>8}{'encode µs':>11}{'seal µs':>9}{'ratio':>7}{'at speed':>10}{'no re2 µs':>12}")
    for name, group in payloads.items():
        size = sum(len(encode_json(payload)) for payload in group) // len(group)
        encode, seal, without = _best(group, encode_json, redactor.seal, plain.seal)
        at_speed = sum(redactor.seal(payload).value is payload for payload in group) / len(group)
        print(f"{name:<24}{size:>8}{encode:>11.2f}{seal:>9.2f}{seal / encode:>7.1f}{at_speed:>10.0%}{without:>12.1f}")


def _best(group: list[Any], *functions: Any) -> list[float]:
    repeat = max(1, 300 // len(group))
    best = [float("inf")] * len(functions)
    for _ in range(ROUNDS if len(group) < 50 else 5):
        for index, function in enumerate(functions):
            began = thread_time()
            for _ in range(repeat):
                for payload in group:
                    function(payload)
            best[index] = min(best[index], (thread_time() - began) / (repeat * len(group)) * 1e6)
    return best


def _payloads() -> dict[str, dict[str, Any]]:
    words = "The agent looked at the reservation and found that the second passenger had no seat yet. "
    nested = {f"section_{i}": {f"item_{j}": f"value {i} {j}" for j in range(10)} for i in range(20)}
    return {
        "tiny model call": _llm("What is the weather in Paris?", "It is sunny."),
        "model call, 2 KB": _llm((words * 30)[:2000], "Fine."),
        "model call, 20 KB": _llm((words * 300)[:19_900], "Fine."),
        "200 nested keys": {"state": nested, "diff": None},
        "tool call, 4 arguments": {
            "tool_name": "search",
            "args": {"query": "flights to Paris", "limit": 10, "sort": "price", "page": 2},
            "result": "12 flights found",
            "status": "ok",
            "error": None,
            "source": "agent.py:42",
        },
        "state of 50 keys": {"state": {f"field_{i}": i if i % 2 else f"text {i}" for i in range(50)}, "diff": None},
        "2 KB with a secret": _llm((words * 30)[:1900] + " password=hunter2 and more", "Fine."),
    }


def _llm(prompt: str, response: str) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "prompt": prompt,
        "response": response,
        "usage": {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20},
        "provider": "openai",
        "temperature": 0.2,
        "stop_reason": "stop",
        "status": "ok",
        "error": None,
    }


def _real_messages(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        conversations = json.load(file)
    messages = [message for conversation in conversations for message in conversation["traj"]]
    return [{"prompt": message, "response": None, "model": "gpt-4o", "status": "ok"} for message in messages[:1500]]


if __name__ == "__main__":
    main()
