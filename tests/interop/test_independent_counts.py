"""
Sessions of coding agents in every shape their lines take, made at random, against a count that knows no importer.

The counts are plain loops over the lines: what a person would write who wants to know what a file holds.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.files import imported

if TYPE_CHECKING:
    from pathlib import Path

    Line = dict[str, Any]


class _Claude:
    """Writes a session of Claude Code, line by line."""

    def __init__(self, seed: int) -> None:
        self.lines: list[Line] = []
        self._random = random.Random(seed)
        self._asked: list[str] = []

    def session(self) -> list[Line]:
        self._add("user", message={"role": "user", "content": "Mend the weir."})
        shapes = [self._answer] * 6 + [self._results] * 5 + [self._typed, self._other, self._failed]
        for _ in range(self._random.randint(10, 50)):
            self._random.choice(shapes)()
        return self.lines

    def _add(self, kind: str, **more: Any) -> None:
        number = len(self.lines)
        stamp = f"2026-01-02T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.250Z"
        common = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s-1"}
        self.lines.append({"type": kind, "timestamp": stamp, "isSidechain": False, "cwd": "/w", **common, **more})

    def _answer(self) -> None:
        """One message over several lines, as it streamed, with what it used growing."""
        message_id = f"msg_{len(self.lines)}"
        blocks: list[Any] = [
            {"type": "thinking", "thinking": "Hm.", "signature": "x" * 40},
            {"type": "text", "text": "So"},
        ]
        blocks += [
            {"type": "tool_use", "id": f"{message_id}-{number}", "name": "Bash", "input": {"command": "ls"}}
            for number in range(self._random.randint(0, 3))
        ]
        for number, block in enumerate(blocks, 1):
            usage = {"input_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
            message = {"id": message_id, "role": "assistant", "model": "claude-opus-4-6", "content": [block]}
            self._add("assistant", message={**message, "usage": {**usage, "output_tokens": number * 5}})
            if block["type"] == "tool_use":
                self._asked.append(block["id"])
                if self._random.random() < 0.3:  # a result may come before the last lines of its message
                    self._results()

    def _results(self) -> None:
        if not self._asked:
            return
        of = self._asked.pop(self._random.randrange(len(self._asked)))
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
        content = self._random.choice(["done", [{"type": "text", "text": "a"}, image], [], "Exit code 1\nno"])
        block = {"type": "tool_result", "tool_use_id": of, "content": content, "is_error": content == "Exit code 1\nno"}
        self._add("user", message={"role": "user", "content": [block]}, toolUseResult={"stdout": "done"})

    def _typed(self) -> None:
        if self._random.random() < 0.5:
            self._add(
                "user", message={"role": "user", "content": [{"type": "text", "text": f"And {len(self.lines)}?"}]}
            )
            return
        note = {"type": "queued_command", "prompt": f"Also {len(self.lines)}", "commandMode": "prompt"}
        self._add("queue-operation", operation="enqueue", content=note["prompt"])
        self._add("attachment", attachment=note)

    def _other(self) -> None:
        """What is no message: nothing of it is counted."""
        others: list[tuple[str, Line]] = [
            ("user", {"isMeta": True, "message": {"role": "user", "content": "Caveat: not yours."}}),
            ("file-history-snapshot", {"snapshot": {}}),
            ("progress", {"data": {"type": "hook_progress"}}),
            ("summary", {"summary": "Weirs", "leafUuid": "u1"}),
            ("system", {"subtype": "turn_duration", "durationMs": 12}),
            ("system", {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 9}}),
            ("attachment", {"attachment": {"type": "todo", "content": []}}),
            (
                "attachment",
                {
                    "attachment": {
                        "type": "queued_command",
                        "prompt": "<task-notification>",
                        "origin": {"kind": "task-notification"},
                    }
                },
            ),
        ]
        kind, more = self._random.choice(others)
        self._add(kind, **more)
        if self._random.random() < 0.3:
            self.lines.append(dict(self.lines[-1]))  # a session taken up again repeats lines

    def _failed(self) -> None:
        self._add("system", subtype="api_error", error={"status": 529}, retryAttempt=1, maxRetries=10)


def _count_claude(lines: list[Line]) -> dict[str, Any]:
    answers: dict[str, int] = {}
    results: dict[str, bool] = {}
    requests = errors = 0
    for line in {line["uuid"]: line for line in lines}.values():
        message = line.get("message") or {}
        if line["type"] == "assistant":
            answers[message["id"]] = sum(message["usage"].values())
        elif line["type"] == "user" and not line.get("isMeta"):
            blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text"}]
            for block in blocks:
                if block["type"] == "tool_result":
                    results[block["tool_use_id"]] = bool(block["is_error"])
            requests += any(block["type"] == "text" for block in blocks)
        elif line["type"] == "attachment" and line["attachment"].get("commandMode") == "prompt":
            requests += 1
        errors += line.get("subtype") == "api_error"
    return {
        "answers": len(answers),
        "results": len(results),
        "requests": requests,
        "errors": errors + sum(results.values()),
        "tokens": sum(answers.values()),
    }


class _Codex:
    """Writes a rollout of Codex, line by line."""

    def __init__(self, seed: int) -> None:
        self.lines: list[Line] = []
        self._random = random.Random(seed)
        self._total = 0

    def session(self) -> list[Line]:
        self._add(
            "session_meta", {"id": "c-1", "timestamp": "2026-01-02T00:00:00Z", "cwd": "/w", "cli_version": "0.98"}
        )
        self._add("turn_context", {"cwd": "/w", "model": "gpt-5.2-codex"})
        self._said("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>")
        for number in range(self._random.randint(1, 8)):
            self._said(f"Mend weir {number}.")
            for _ in range(self._random.randint(1, 5)):
                self._turn()
        return self.lines

    def _add(self, kind: str, payload: Any) -> None:
        number = len(self.lines)
        stamp = f"2026-01-02T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.500Z"
        self.lines.append({"timestamp": stamp, "type": kind, "payload": payload})

    def _said(self, text: str) -> None:
        self._add(
            "response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        )
        if not text.startswith("<"):
            self._add("event_msg", {"type": "user_message", "message": text})

    def _turn(self) -> None:
        """One request to the model: what it put out, what it used, what came back."""
        if self._random.random() < 0.7:
            summary = [{"type": "summary_text", "text": "**Looking**"}]
            self._add("event_msg", {"type": "agent_reasoning", "text": "**Looking**"})
            self._add("response_item", {"type": "reasoning", "summary": summary, "encrypted_content": "x" * 60})
        calls = [self._call(number) for number in range(self._random.randint(0, 3))]
        if not calls or self._random.random() < 0.3:
            self._add("event_msg", {"type": "agent_message", "message": "Mended."})
            content = [{"type": "output_text", "text": "Mended."}]
            self._add("response_item", {"type": "message", "role": "assistant", "content": content})
        self._used()
        for kind, of in calls:
            output = self._random.choice(
                ["Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok", "Exit code: 2\nOutput:\nno"]
            )
            self._add("response_item", {"type": f"{kind}_output", "call_id": of, "output": output})
        if self._random.random() < 0.2:
            self._add("event_msg", {"type": "token_count", "info": None, "rate_limits": {}})
        if self._random.random() < 0.1:
            self._add("compacted", {"message": "They mended weirs.", "replacement_history": []})

    def _call(self, number: int) -> tuple[str, str]:
        of = f"call_{len(self.lines)}_{number}"
        if self._random.random() < 0.7:
            more = {"name": "shell_command", "arguments": json.dumps({"command": "ls"})}
            self._add("response_item", {"type": "function_call", "call_id": of, **more})
            return "function_call", of
        patch = {"name": "apply_patch", "input": "*** Begin Patch\n*** End Patch"}
        self._add("response_item", {"type": "custom_tool_call", "call_id": of, "status": "completed", **patch})
        return "custom_tool_call", of

    def _used(self) -> None:
        used = self._random.randint(100, 900)
        self._total += used + 20
        latest = {"input_tokens": used, "cached_input_tokens": 50, "output_tokens": 20, "total_tokens": used + 20}
        info = {"total_token_usage": {"total_tokens": self._total}, "last_token_usage": latest}
        for _ in range(self._random.choice([1, 1, 2])):  # the same total is often written twice
            self._add("event_msg", {"type": "token_count", "info": info})


def _count_codex(lines: list[Line]) -> dict[str, Any]:
    totals, results, errors, requests = [], 0, 0, 0
    for line in lines:
        item = line["payload"]
        if item.get("type") == "token_count" and item["info"]:
            totals.append(item["info"]["total_token_usage"]["total_tokens"])
        elif line["type"] == "response_item" and str(item["type"]).endswith("_output"):
            results += 1
            errors += item["output"].startswith("Exit code: 2")
        requests += item.get("type") == "user_message"
    answers = len(set(totals))  # each request to the model is followed by what it used
    return {"answers": answers, "results": results, "requests": requests, "errors": errors, "tokens": max(totals)}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_session_holds_what_a_plain_count_finds(tmp_path: Path, data_dir: Path, agent: str, seed: int) -> None:
    """A call lost, a token counted twice or an error overlooked would be told of an agent that is not so."""
    lines = _Claude(seed).session() if agent == "claude" else _Codex(seed).session()
    counted = _count_claude(lines) if agent == "claude" else _count_codex(lines)
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    events = imported(path, data_dir)

    summary = events[-1]["payload"]["summary"]
    kinds = [event["event_type"] for event in events]
    found = {
        "answers": kinds.count("LLM_CALL"),
        "results": kinds.count("TOOL_CALL"),
        "requests": sum(event["event_type"] == "MESSAGE" and event["payload"]["role"] == "user" for event in events),
        "errors": summary["errors"],
        "tokens": summary["total_tokens"],
    }
    assert found == counted
    given = [
        line["timestamp"] for line in lines if '"tool_result"' in json.dumps(line) or '_output"' in json.dumps(line)
    ]
    assert [event["ts"] for event in events if event["event_type"] == "TOOL_CALL"] == given
