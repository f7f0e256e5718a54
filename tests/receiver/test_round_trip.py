"""A run that was pushed and received again: calls, inputs, outputs, usage, status and tree are what they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg.interop.foreign_run import stable_id
from agentdbg.interop.otel.otlp import encode_batch, encode_span
from agentdbg.interop.otel.outline import Outline
from agentdbg.interop.otel.spans_out import SpanMaker, trace_id_of
from agentdbg.storage import load_events, load_run_meta

if TYPE_CHECKING:
    from pathlib import Path

    from tests.receiver.conftest import Receiving

# `replay` tells of the tape, which is never pushed.
_OURS = ("owner", "agentdbg_version", "run_id", "metadata", "event_counts", "guardrails", "last_event_ts", "replay")


def pushed(data_dir: Path, batch: int = 10_000, *, openinference: bool = False, lean: bool = False) -> list[bytes]:
    """The requests `agentdbg push latest` makes."""
    meta = load_run_meta("latest", data_dir)
    outline = Outline()
    maker = SpanMaker(meta["run_id"], openinference_names=openinference, lean=lean)
    nodes = [node for event in load_events("latest", data_dir) for node in outline.take(event)]
    spans = [encode_span(maker.make(node, meta)) for node in [*nodes, *outline.finish()]]
    return [
        encode_batch(spans[first : first + batch], {"service.name": "demo"}) for first in range(0, len(spans), batch)
    ]


def received(receiving: Receiving, bodies: list[bytes], there: Path) -> list[dict[str, Any]]:
    """The run another machine has after it received these."""
    receiving.data_dir = there
    receiving.start()
    for body in bodies:
        assert receiving.take(body) == []
    receiving.wait(2)
    return receiving.only()


def as_received(event: dict[str, Any], trace_id: str, run_id: str) -> dict[str, Any]:
    """An event with the ids it gets where it is received."""
    ids: dict[str, Any] = json.loads(json.dumps(event))

    def renamed(told: str | None) -> str | None:
        return None if told is None else stable_id("event", trace_id, told)

    ids.update(run_id=run_id, event_id=renamed(event["event_id"]), parent_id=renamed(event["parent_id"]))
    payload = ids["payload"]
    for key in ("call_id", "first_event_id"):
        if key in payload:
            payload[key] = renamed(payload[key])
    for example in payload.get("evidence", ()):
        example["event_id"] = renamed(example["event_id"])
    if "evidence_event_ids" in payload:
        payload["evidence_event_ids"] = [renamed(told) for told in payload["evidence_event_ids"]]
    return ids


def check(here: Path, there: Path, events: list[dict[str, Any]]) -> None:
    """The run in `there` is the one in `here`."""
    told: list[dict[str, Any]] = [dict(event) for event in load_events("latest", here)]
    trace_id = trace_id_of(told[0]["run_id"]).hex()
    expected = [as_received(event, trace_id, events[0]["run_id"]) for event in told]
    found = {event["event_id"]: event for event in events}

    for event in expected:
        if event["event_type"] not in ("RUN_START", "RUN_END", "CALL_START"):
            assert found[event["event_id"]] == event
    order = [event["event_id"] for event in expected if event["event_type"] in ("LLM_CALL", "TOOL_CALL")]
    assert [event["event_id"] for event in events if event["event_type"] in ("LLM_CALL", "TOOL_CALL")] == order
    assert events[0]["event_id"] == expected[0]["event_id"]
    assert events[-1]["payload"] == {**told[-1]["payload"], **_without_start(events[-1]["payload"])}
    first, second = load_run_meta("latest", here), load_run_meta("latest", there)
    assert {key: value for key, value in first.items() if key not in _OURS} == {
        key: value for key, value in second.items() if key not in _OURS
    }


def _without_start(payload: dict[str, Any]) -> dict[str, Any]:
    """What RUN_END says beyond itself: the beginning, where that was not known when the run began."""
    return {key: payload[key] for key in ("run_start",) if key in payload}


@agentdbg.trace
def _nested() -> str:
    with agentdbg.tool_call("search", {"q": "x"}) as call:
        agentdbg.record_llm_call("gpt-4o-mini", prompt="inside a tool", response="yes")
        call.result = {"found": [1, 2, 3]}
    agentdbg.record_state({"step": 1})
    return "done"


def record_everything() -> None:
    """A run with every type of event, spans, failures and a loop."""
    with agentdbg.traced_run("everything", meta={"session_id": "s1", "tags": ["a"]}):
        usage = {
            "prompt_tokens": 90,
            "completion_tokens": 8,
            "total_tokens": 98,
            "prompt_tokens_details": {"cached_tokens": 64},
        }
        prompt = [{"role": "user", "content": "Hi"}]
        agentdbg.record_llm_call("gpt-4o", prompt, "Hello", usage, temperature=0.5, stop_reason="stop", top_p=1)
        agentdbg.record_llm_call("nobody", prompt, error=LookupError("no such model"), provider="openai")
        _nested()
        agentdbg.record_state({"step": 2})
        agentdbg.record_event("CHECKPOINT", "half", {"at": 2})
        agentdbg.record_error(ValueError("handled"), context="while packing")
        for _ in range(4):
            agentdbg.record_tool_call("poll", {"id": 1}, {"status": "pending"})
        agentdbg.record_tool_call("write", {"text": "ü" * 30_000}, "x" * 50_000)


@pytest.mark.parametrize("batch", [10_000, 1])
@pytest.mark.parametrize("openinference", [False, True])
def test_every_event_comes_back(
    receiving: Receiving,
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
    openinference: bool,
) -> None:
    """In one request, or span by span with the run's own span last; in either vocabulary."""
    record_everything()
    bodies = pushed(data_dir, batch, openinference=openinference)
    there = tmp_path / "there"
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(there))

    check(data_dir, there, received(receiving, bodies, there))


@pytest.mark.parametrize("openinference", [False, True])
def test_a_lean_push_comes_back_with_every_call(
    receiving: Receiving,
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    openinference: bool,
) -> None:
    """Without its stored events a trace still says which model answered what, what it used, and what tools gave."""
    record_everything()
    bodies = pushed(data_dir, openinference=openinference, lean=True)
    there = tmp_path / "there"
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(there))
    events = received(receiving, bodies, there)
    first, second = load_run_meta("latest", data_dir), load_run_meta("latest", there)

    def calls(told: list[dict[str, Any]]) -> list[Any]:
        found = [event["payload"] for event in told if event["event_type"] in ("LLM_CALL", "TOOL_CALL")]
        keys = ("model", "temperature", "tool_name", "args", "result", "status", "cost_usd")
        return [
            [call.get(key) for key in keys]
            + [(call.get("usage") or {}).get("total_tokens"), (call["error"] or {}).get("message")]
            for call in found
        ]

    assert calls(events) == calls([dict(event) for event in load_events("latest", data_dir)])
    assert [event["name"] for event in events if "span" in event["meta"]] == ["_nested"]
    assert {**first["counts"], "tokens": first["total_tokens"], "cost": first["cost_usd"]} == {
        **second["counts"],
        "tokens": second["total_tokens"],
        "cost": second["cost_usd"],
    }


def test_a_failed_run_comes_back_failed(
    receiving: Receiving, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error stands there once, with its stack."""
    with pytest.raises(LookupError), agentdbg.traced_run("fails"), agentdbg.tool_call("find", {"id": 8812}):
        raise LookupError("no order 8812")
    bodies = pushed(data_dir)
    there = tmp_path / "there"
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(there))
    events = received(receiving, bodies, there)

    check(data_dir, there, events)
    assert [event["event_type"] for event in events].count("ERROR") == 1


def test_a_pushed_run_that_is_interrupted_goes_on(
    receiving: Receiving, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides may be started again: the push, and the receiver."""
    record_everything()
    bodies = pushed(data_dir, 3)
    there = tmp_path / "there"
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(there))
    receiving.data_dir = there
    receiving.start()
    for body in bodies[:3]:
        receiving.take(body)
    receiving.wait(60)
    receiving.traces.close()

    check(data_dir, there, received(receiving, bodies[1:], there))


def test_pushing_twice_and_into_the_same_folder_is_no_double(receiving: Receiving, data_dir: Path) -> None:
    """The run that is received is a run of its own; the one it came from is not touched."""
    record_everything()
    bodies = pushed(data_dir)
    before = (data_dir / "runs" / load_run_meta("latest", data_dir)["run_id"] / "events.jsonl").read_bytes()
    for _ in range(2):
        for body in bodies:
            receiving.take(body)
        receiving.wait(2)

    first, second = sorted(receiving.data_dir.glob("runs/*/events.jsonl"), key=lambda path: path.read_bytes() != before)
    assert first.read_bytes() == before
    assert second.read_bytes() != before
