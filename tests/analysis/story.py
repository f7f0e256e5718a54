"""Write a run event by event, the way the recorder would, with a clock the test holds."""

from __future__ import annotations

import uuid
from typing import Any

from agentdbg.analysis.rows import Row, RowBuilder
from agentdbg.analysis.run_columns import MemoryColumns
from agentdbg.analysis.stats import Tally
from agentdbg.analysis.verdict import Verdict, judge
from agentdbg.analysis.wording import text_of
from agentdbg.events import Event, RunMeta, utc_timestamp

BEGAN_MS = 1_700_000_000_000


class Story:
    """Events in file order; every verb returns the number of the event it wrote."""

    def __init__(self, **guardrails: Any) -> None:
        self.events: list[Event] = []
        self.now_ms = BEGAN_MS
        self.run_id = self._id()
        self.guardrails = guardrails
        self.write("RUN_START", "story", {"python_version": "3.12.7", "platform": "linux", "guardrails": guardrails})

    def _id(self) -> str:
        return str(uuid.UUID(int=len(self.events) + 1 if hasattr(self, "events") else 1, version=4))

    def id_of(self, number: int) -> str:
        return self.events[number - 1]["event_id"]

    def write(
        self,
        event_type: str,
        name: str,
        payload: dict[str, Any],
        *,
        duration_ms: int | None = None,
        parent: str | int | None = 1,
        meta: dict[str, Any] | None = None,
        event_id: str | None = None,
    ) -> int:
        if event_type != "RUN_END":
            self.now_ms += duration_ms or 0
        if isinstance(parent, int):
            parent = self.id_of(parent) if self.events else None
        self.events.append(
            {
                "spec_version": "0.1",
                "event_id": event_id or self._id(),
                "run_id": self.run_id,
                "parent_id": parent,
                "event_type": event_type,
                "ts": utc_timestamp((self.now_ms + 0.5) / 1000),
                "duration_ms": duration_ms,
                "name": name,
                "payload": payload,
                "meta": meta or {},
            }
        )
        return len(self.events)

    def llm(
        self,
        prompt: Any = None,
        response: Any = None,
        *,
        model: str = "gpt-4o",
        tokens: tuple[int, int] | None = None,
        error: Any = None,
        duration_ms: int = 1000,
        **place: Any,
    ) -> int:
        usage = None
        if tokens:
            usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
        payload = {"model": model, "prompt": prompt, "response": response, "usage": usage, "error": error}
        payload["status"] = "error" if error else "ok"
        return self.write("LLM_CALL", model, payload, duration_ms=duration_ms, **place)

    def tool(
        self, name: str, args: Any = None, result: Any = None, *, error: Any = None, duration_ms: int = 50, **place: Any
    ) -> int:
        payload = {"tool_name": name, "args": args, "result": result, "error": error}
        payload["status"] = "error" if error else "ok"
        return self.write("TOOL_CALL", name, payload, duration_ms=duration_ms, **place)

    def call_start(self, name: str, kind: str = "tool", given: Any = None) -> int:
        payload = {"call_id": str(uuid.uuid4()), "kind": kind, "name": name, "input": given}
        return self.write("CALL_START", name, payload)

    def error(self, error_type: str, message: str, **more: Any) -> int:
        payload = {"error_type": error_type, "message": message, "stack": None, "details": None, "fatal": True, **more}
        return self.write("ERROR", error_type, payload)

    def loop(
        self, kind: str, severity: str, pattern: str, evidence: list[int], explanation: str = "It repeats."
    ) -> int:
        payload = {
            "pattern": pattern,
            "repetitions": 3,
            "window_size": 12,
            "evidence_event_ids": [self.id_of(number) for number in evidence],
            "severity": severity,
            "kind": kind,
            "explanation": explanation,
        }
        return self.write("LOOP_WARNING", pattern, payload)

    def end(self, status: str = "ok", result: Any = None, error: Any = None) -> int:
        length = self.now_ms - BEGAN_MS
        payload = {"status": status, "summary": {"duration_ms": length}, "result": result, "error": error}
        return self.write("RUN_END", "run_end", payload, duration_ms=length)

    def columns(self) -> MemoryColumns:
        return MemoryColumns(self.events)

    def tally(self) -> Tally:
        return Tally(self.columns()).catch_up()

    def meta(self, status: str = "ok") -> RunMeta:
        return {
            "spec_version": "0.1",
            "run_id": self.run_id,
            "run_name": "story",
            "started_at": self.events[0]["ts"],
            "ended_at": None,
            "duration_ms": None if status == "running" else self.now_ms - BEGAN_MS,
            "status": status,  # type: ignore[typeddict-item] # the tests give one of the three
            "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0},
            "last_event_ts": self.events[-1]["ts"],
            "guardrails": self.guardrails,
        }

    def verdict(self, status: str = "ok", later_ms: int = 0) -> Verdict:
        return judge(self.tally(), self.meta(status), self.now_ms + later_ms)

    def said(self, status: str = "ok", later_ms: int = 0) -> list[tuple[int | None, str]]:
        """The verdict's sentences as (number, text)."""
        return [(line["n"], text_of(line)) for line in self.verdict(status, later_ms)["lines"]]

    def row(self, number: int, *, running: bool = False) -> Row:
        return RowBuilder(self.columns()).row(number, running=running)
