"""Stored runs as no writer of ours leaves them: a file of lines, each odd in some way, and sometimes torn."""

from __future__ import annotations

import gzip
import json
import os
import uuid
from typing import TYPE_CHECKING, Any

from tests.storage.handmade import event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

_NUMBERS: list[Any] = [0, 1, 7, 1300, -5, 2.0, 2.5, -0.0, 1e16, 2**53, 2**53 - 1, 2**64, 10**30, True, False, None]
_NUMBERS += ["12", " 9", "1_000", "²", "१२", "1e3", "NaN", [], {}]
_COUNTS = ["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "totalTokens"]
_COUNTS += ["cached_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "reasoning_tokens"]
_COUNTS += ["thoughts_token_count", "candidates_token_count", "cost", "cost_usd", "Prompt_Tokens"]
_COSTS: list[Any] = [*_NUMBERS, 0.01, 1.5, 1e-9, 3e11, 1e13, "0.25", "$3"]
_STATUSES: list[Any] = [
    "ok",
    "ok",
    "error",
    "ERROR",
    " failed ",
    "completed",
    "timeout",
    "running",
    "",
    None,
    0,
    ["error"],
    {},
]
_ERRORS: list[Any] = [
    None,
    None,
    "boom",
    "",
    {},
    [],
    ["x"],
    0,
    1,
    False,
    True,
    {"error_type": "KeyError", "message": "'a'"},
]
_ERRORS += [
    {"error_type": "KeyError", "message": "'a'"},
    {"type": "KeyError", "message": "'a'"},
    {"message": None},
    {"error_type": ["x"], "message": {"a": 1}},
]
_TYPES = ["LLM_CALL", "LLM_CALL", "LLM_CALL", "TOOL_CALL", "TOOL_CALL", "ERROR", "STATE_UPDATE", "LOOP_WARNING"]
_TYPES += ["CALL_START", "OUTCOME", "llm_call", "RUN_END", "RUN_START"]
_BETWEEN = [
    b"",
    b"garbage",
    b"{}",
    b"null",
    b'{"event_type":"LLM_CALL"}',
    b'{"event_type":"TOOL_CALL","status":"error"}',
]
_REPLACED: dict[str, list[Any]] = {
    "payload": [None, [], "text", 5, [{"usage": {"total_tokens": 4}}]],
    "meta": [None, [], "text", {"usage": {"total_tokens": 4}}, {"span": ""}, {"span": "part"}],
    "ts": ["yesterday", None, 1.7e9, 1.7e12, "2026-04-12 10:30", "2026-04-12T10:30:00.123456+02:00", -5],
    "duration_ms": [-5, 2.5, 1e300, "7", True, 2**60],
    "spec_version": ["0.2", "0", "1.0", 0.1, None],
    "event_type": [None, "", 5, "LLM_CALL "],
    "name": [None, 5, ""],
}
_IN_THE_TEXT = [
    ('"total_tokens":', '"total_tokens":1e999,"x":'),
    ('"total_tokens":', '"total_tokens":4,"total_tokens":'),
    ('"usage":', '"usage":' + "1" * 4_000 + ',"y":'),
    ('"cost_usd":', '"cost_usd":NaN,"z":'),
    ("{", " \ufeff{"),
]


def store_odd_run(data_dir: Path, chance: Random) -> str:
    """Put one on disk, long since over; gives its id."""
    run_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    kinds = ["RUN_START"] * (chance.random() < 0.9) + chance.choices(_TYPES, k=chance.randrange(1, 12))
    kinds += ["RUN_END"] * (chance.random() < 0.7)
    lines: list[bytes] = []
    for number, kind in enumerate(kinds):
        line = _line(_odd_event(run_id, kind, number, chance), chance)
        lines += [line] * (2 if chance.random() < 0.1 else 1)  # written again
        if chance.random() < 0.05:
            lines.append(chance.choice(_BETWEEN))
    raw = chance.choice([b"\n", b"\n", b"\r\n"]).join(lines) + b"\n"
    if chance.random() < 0.2:  # torn, or only without its newline
        raw = raw[: -chance.choice([1, chance.randrange(1, min(200, len(raw)))])]
    folder = data_dir / "runs" / run_id
    folder.mkdir(parents=True)
    path = folder / chance.choice(["events.jsonl", "events.jsonl", "events.jsonl.gz"])
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return run_id


def _odd_event(run_id: str, kind: str, number: int, chance: Random) -> dict[str, Any]:
    span = {"span": "part"} if chance.random() < 0.5 else {}
    odd = event(run_id, kind, number * 7, payload=_payload(chance), meta=span, duration_ms=chance.choice([None, 5]))
    if chance.random() < 0.5:
        return odd
    for key in list(odd):
        if chance.random() < 0.07 and key != "event_type":
            del odd[key]
        elif chance.random() < 0.05 and key in _REPLACED:
            odd[key] = chance.choice(_REPLACED[key])
    payload = odd.get("payload")
    if isinstance(payload, dict) and payload and chance.random() < 0.2:  # beside the payload
        key = chance.choice(list(payload))
        odd[key] = payload.pop(key)
    return odd


def _payload(chance: Random) -> dict[str, Any]:
    def usage() -> Any:
        if chance.random() < 0.1:
            return chance.choice([None, "", [], "12", 5, True])
        counts = {name: chance.choice(_NUMBERS) for name in chance.sample(_COUNTS, chance.randrange(6))}
        return {**counts, "prompt_tokens_details": chance.choice([None, 5, {"cached_tokens": chance.choice(_NUMBERS)}])}

    def summary() -> Any:
        counted = {name: chance.choice(_NUMBERS) for name in ("llm_calls", "errors", "total_tokens", "cost_usd")}
        return chance.choice([counted, counted, None, "x", []])

    fields: dict[str, tuple[float, Callable[[], Any]]] = {
        "usage": (0.7, usage),
        "cost_usd": (0.5, lambda: chance.choice(_COSTS)),
        "cost": (0.2, lambda: chance.choice(_COSTS)),
        "status": (0.6, lambda: chance.choice(_STATUSES)),
        "error": (0.5, lambda: chance.choice(_ERRORS)),
        "served": (0.1, lambda: chance.choice(["tape", None, {}, False, ""])),
        "model": (0.5, lambda: chance.choice(["gpt-4o", None, 5, ""])),
        "tool_name": (0.5, lambda: chance.choice(["search", None, 5])),
        "result": (0.3, lambda: chance.choice(["found", None, {"error": "no"}, [1]])),
        "error_type": (0.5, lambda: chance.choice(["KeyError", None, 5, ["x"]])),
        "message": (0.5, lambda: chance.choice(["'a'", "boom", "", None, {"a": 1}])),
        "severity": (0.3, lambda: chance.choice(["info", "critical", None, 5])),
        "total_tokens": (0.1, lambda: chance.choice(_NUMBERS)),
        "summary": (0.3, summary),
    }
    return {name: make() for name, (share, make) in fields.items() if chance.random() < share}


def _line(odd: dict[str, Any], chance: Random) -> bytes:
    text = json.dumps(odd, separators=(",", ":"), ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.1:
        text = text.replace(*chance.choice(_IN_THE_TEXT), 1)
    line = text.encode()
    return line[: chance.randrange(len(line))] if chance.random() < 0.02 else line
