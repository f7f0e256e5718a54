"""What a run says and what a receiver says of it, in the same plain words, so that the two can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg import record_llm_call, record_state, record_tool_call, trace, traced_run
from agentdbg.cli import _run
from agentdbg.interop.otel.spans_out import span_id_of
from agentdbg.storage import list_runs, load_events

if TYPE_CHECKING:
    from collections.abc import Iterator

Message = tuple[str, str, tuple[str, ...]]
"""The role, the words, the tools asked for."""


@dataclass(frozen=True)
class Told:
    """One span, as far as every receiver tells it."""

    kind: str
    name: str
    parent: str | None
    error: str | None
    model: str | None = None
    tokens: tuple[int | None, int | None] = (None, None)
    cached: int | None = None
    asked: tuple[Message, ...] = ()
    answered: tuple[Message, ...] = ()


def record_agents() -> list[str]:
    """The demo's agents, of which one fails and one loops, and one with everything a model call can have."""
    assert _run(["demo", "--no-view", "--live-seconds", "0"]) == 0

    @trace("plan")
    def plan() -> None:
        record_llm_call(
            "claude-4",
            provider="anthropic",
            prompt=[{"role": "system", "content": "Plan."}, {"role": "user", "content": "Grüße, 世界 🙂"}],
            response=[
                {"type": "text", "text": "I look it up."},
                {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}},
            ],
            usage={"input_tokens": 40, "output_tokens": 7, "cache_read_input_tokens": 60},
            stop_reason="tool_use",
            temperature=0.3,
        )
        record_tool_call("search", {"q": "x"}, ["one", "two"])

    with traced_run("everything", meta={"session_id": "s-9"}):
        plan()
        record_state({"step": 1})
        record_llm_call("gpt-4o", prompt="And then?", error=TimeoutError("no answer in 60 s"))
    return [run["run_id"] for run in list_runs()]


def told_by_run(run_id: str) -> dict[str, Told]:
    """The run as its file has it: the spans it must become, by their ids."""
    events = list(load_events(run_id))
    start = events[0]["event_id"]
    end = events[-1]["payload"]
    name = events[0]["payload"]["run_name"]
    found = {
        span_id_of(run_id, None).hex(): Told("agent", name, None, end["error"]["message"] if "error" in end else None)
    }
    for event in events:
        payload, kind = event["payload"], event["event_type"]
        is_span = kind == "STATE_UPDATE" and "span" in event["meta"]
        if kind not in ("LLM_CALL", "TOOL_CALL") and not is_span:
            continue
        parent = event["parent_id"] if event["parent_id"] != start else None
        error = payload["error"]["message"] if payload["error"] else None
        around = span_id_of(run_id, parent).hex()
        if kind == "LLM_CALL":
            usage = payload["usage"] or {}
            one = Told(
                "llm",
                event["name"],
                around,
                error,
                payload["model"],
                (usage.get("prompt_tokens"), usage.get("completion_tokens")),
                usage.get("cache_read_input_tokens"),
                tuple(_messages(payload["prompt"])),
                tuple(_messages(payload["response"], "assistant")),
            )
        else:
            one = Told("tool" if kind == "TOOL_CALL" else "agent", event["name"], around, error)
        found[span_id_of(run_id, event["event_id"]).hex()] = one
    return found


def _messages(given: Any, speaker: str = "user") -> Iterator[Message]:
    """The messages these agents use, read without the code under test: chat messages, blocks and plain text."""
    if given is None:
        return
    if isinstance(given, str):
        yield speaker, given, ()
        return
    if isinstance(given, dict):
        given = [given]
    if all("role" not in item for item in given):
        given = [{"role": speaker, "content": given}]
    for message in given:
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        words = "".join(block["text"] for block in blocks if block["type"] == "text")
        asked = [block["name"] for block in blocks if block["type"] == "tool_use"]
        asked += [call["function"]["name"] for call in message.get("tool_calls", [])]
        yield message["role"], words, tuple(asked)
