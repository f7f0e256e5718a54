"""
The examples that users know from the documents of the format, as programs.

Each test is one thing a page tells people to write: the decorator, the recording helpers, a script over the stored
files. If one of these breaks, somebody's script breaks.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from agentdbg import (
    AgentDbgGuardrailExceeded,
    AgentDbgLoopAbort,
    record_error,
    record_event,
    record_llm_call,
    record_state,
    record_tool_call,
    trace,
    traced_run,
)
from agentdbg.events import EVENT_KEYS, EVENT_TYPES, load_schema, validate_event
from agentdbg.storage import get_event, list_runs, load_events, load_run_meta

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.events import Event
    from tests.conftest import Recorded

pytestmark = pytest.mark.slow

SIGNATURES = {
    record_llm_call: "model prompt response usage meta provider temperature stop_reason status error duration_ms",
    record_tool_call: "name args result meta status error duration_ms",
    record_state: "state meta diff name",
    record_error: "error context details fatal meta",
    record_event: "event_type name payload meta duration_ms",
}


@pytest.fixture
def run_id() -> str:
    """A finished run with a bit of everything: two model calls, a tool, a state."""

    @trace
    def agent(question: str, *, temperature: float = 0.7) -> str:
        record_llm_call(
            model="gpt-4",
            prompt=question,
            response="I will search.",
            usage={"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
            meta={"framework": "custom"},
        )
        record_tool_call(name="search_database", args={"query": "active users"}, result={"count": 42}, duration_ms=234)
        record_state(state={"step": 1, "facts": 3}, meta={"tags": ["checkpoint"]})
        record_llm_call(model="gpt-4", prompt="sum up", response="There are 42.", usage={"total_tokens": 20})
        return "There are 42."

    agent("How many users are active?", temperature=0.2)
    return list_runs(limit=1)[0]["run_id"]


# The SDK.


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_the_helpers_take_what_the_documents_name(function: Any) -> None:
    """Positional calls are in people's code too, so the order is part of it."""
    parameters = inspect.signature(function).parameters.values()

    named = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    assert named == SIGNATURES[function].split()


def test_a_decorated_function_makes_a_start_and_an_end(recorded: Recorded, run_id: str) -> None:
    """The first promise of all: one decorator, and the run is there."""
    run = recorded.only()

    assert run.types() == ["RUN_START", "LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "LLM_CALL", "RUN_END"]
    assert run.meta["run_id"] == run_id
    assert run.one("RUN_END")["payload"]["status"] == "ok"
    assert run.one("RUN_START")["payload"]["kwargs"] == {"temperature": 0.2}


def test_an_exception_is_recorded_and_raised_again(recorded: Recorded) -> None:
    """A debugger that swallows the bug is worse than none."""

    @trace
    def broken() -> None:
        raise ValueError("Invalid input parameter")

    with pytest.raises(ValueError, match="Invalid input parameter"):
        broken()

    run = recorded.only()
    assert run.types() == ["RUN_START", "ERROR", "RUN_END"]
    assert run.one("ERROR")["payload"]["error_type"] == "ValueError"
    assert "Traceback" in run.one("ERROR")["payload"]["stack"]
    assert run.one("ERROR")["payload"]["fatal"] is True
    assert run.one("RUN_END")["payload"]["status"] == "error"


def test_a_trace_inside_a_run_makes_no_second_run(recorded: Recorded) -> None:
    """What is recorded inside belongs to the run that is there."""

    @trace
    def inner() -> None:
        record_tool_call(name="search_db", args={"query": "x"}, result=[])

    @trace
    def outer() -> None:
        inner()

    outer()

    run = recorded.only()
    assert run.one("TOOL_CALL")["run_id"] == run.meta["run_id"]
    assert run.one("STATE_UPDATE")["meta"] == {"span": "inner"}


def test_a_block_is_a_run_of_that_name(recorded: Recorded) -> None:
    """For code that is no single function."""
    with traced_run(name="my_agent_run"):
        record_state(state={"phase": "data_processing"})

    assert recorded.only().meta["run_name"] == "my_agent_run"


def test_outside_a_run_the_helpers_do_nothing(recorded: Recorded) -> None:
    """A library that records must not make runs for programs that do not want any."""
    assert record_llm_call(model="gpt-4.1", prompt="p", response="r", usage=None, meta=None) is None
    assert record_tool_call(name="search_db", args={}, result=None, meta=None) is None
    assert record_state(state={}, meta=None) is None
    assert recorded.all() == []


def test_a_failed_call_in_the_older_words_is_understood(recorded: Recorded) -> None:
    """`success`, `finish_reason`, `type` and `stack_trace` are in documents people have read."""
    with traced_run("older words"):
        record_llm_call(model="gpt-4", prompt="p", response="r", finish_reason="stop")
        record_tool_call(name="a", result=1, status="success")
        record_tool_call(
            name="external_api",
            args={"endpoint": "/users"},
            status="error",
            error={"type": "ConnectionError", "message": "timeout after 5 seconds", "stack_trace": "…"},
            duration_ms=5000,
        )

    run = recorded.only()
    assert run.one("LLM_CALL")["payload"]["stop_reason"] == "stop"
    good, bad = run.of_type("TOOL_CALL")
    assert good["payload"]["status"] == "ok"
    assert bad["payload"]["error"] == {
        "error_type": "ConnectionError",
        "message": "timeout after 5 seconds",
        "stack": "…",
        "details": None,
    }
    assert run.meta["counts"]["errors"] == 1


def test_a_large_prompt_can_be_cut_by_its_author(recorded: Recorded) -> None:
    """The tip of the size guidelines: keep the beginning, and note how much there was."""
    prompt = "x" * 50_000
    with traced_run("large"):
        record_llm_call(prompt=prompt[:10_000] + "...", meta={"original_sizes": {"prompt": len(prompt)}})

    event = recorded.only().one("LLM_CALL")
    assert len(event["payload"]["prompt"]) == 10_003
    assert event["meta"] == {"original_sizes": {"prompt": 50_000}}


def test_an_own_type_of_event_is_recorded(recorded: Recorded) -> None:
    """Nobody has to build the ten keys by hand."""
    with traced_run("own types"):
        record_event("MEMORY_CHECKPOINT", "before planning", {"facts_extracted": 3}, meta={"custom": True})

    event = recorded.only().one("MEMORY_CHECKPOINT")
    assert (event["name"], event["payload"]["facts_extracted"]) == ("before planning", 3)
    assert event["meta"] == {"custom": True}


def test_a_guardrail_writes_its_error_with_threshold_and_actual(recorded: Recorded) -> None:
    """CI reads these three fields to say which limit a run hit."""
    with pytest.raises(AgentDbgGuardrailExceeded) as stop, traced_run("limited", max_llm_calls=10):
        for _ in range(20):
            record_llm_call(model="gpt-4")

    payload = recorded.only().one("ERROR")["payload"]
    assert (payload["guardrail"], payload["threshold"], payload["actual"]) == ("max_llm_calls", 10, 11)
    assert payload["message"].startswith("max_llm_calls exceeded")
    assert payload["stack"] is None
    assert (stop.value.guardrail, stop.value.threshold, stop.value.actual) == ("max_llm_calls", 10, 11)


def test_a_stopped_loop_is_warning_then_error_then_end(recorded: Recorded) -> None:
    """The order in which a reader learns of it."""
    with pytest.raises(AgentDbgLoopAbort), traced_run("circles", stop_on_loop=True):
        for _ in range(20):
            record_llm_call(model="gpt-4", response="search again")
            record_tool_call(name="search", args={"q": "users"}, result="nothing found")

    run = recorded.only()
    assert run.types()[-3:] == ["LOOP_WARNING", "ERROR", "RUN_END"]
    warning = run.one("LOOP_WARNING")["payload"]
    assert {"pattern", "repetitions", "window_size", "evidence_event_ids"} <= set(warning)


# The files.


def test_every_event_has_the_ten_keys_in_their_order(recorded: Recorded, run_id: str) -> None:
    """Scripts in other languages rely on the envelope."""
    for event in recorded.only().events:
        assert tuple(event) == EVENT_KEYS
        assert event["spec_version"].startswith("0.")
        assert str(uuid.UUID(event["event_id"], version=4)) == event["event_id"]
        assert event["run_id"] == run_id
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["ts"])


def test_run_json_has_every_required_field(recorded: Recorded, run_id: str) -> None:
    """A quick summary of a run without reading its events."""
    meta = recorded.only().meta

    jsonschema.validate(meta, load_schema("run"))
    assert meta["counts"] == {"llm_calls": 2, "tool_calls": 1, "errors": 0, "loop_warnings": 0}
    assert meta["duration_ms"] == recorded.only().one("RUN_END")["duration_ms"]


def test_validating_events_with_any_json_schema_validator(run_id: str) -> None:
    """The schemas are ordinary JSON Schema, and ours and the usual validator agree on every stored event."""
    for event in load_events(run_id):
        jsonschema.validate(instance=event, schema=load_schema(event["event_type"]))
        assert validate_event(event)


@pytest.mark.parametrize("event_type", EVENT_TYPES)
def test_an_event_without_its_payload_is_not_valid(event_type: str, run_id: str) -> None:
    """A validator that lets everything pass helps nobody."""
    event = {**next(iter(load_events(run_id))), "event_type": event_type, "payload": {}}

    assert not validate_event(event)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(instance=event, schema=load_schema(event_type))


def test_a_secret_is_redacted_and_a_long_text_cut(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two markers every reader has to know."""
    monkeypatch.setenv("AGENTDBG_MAX_FIELD_BYTES", "200")
    with traced_run("markers"):
        record_tool_call(name="login", args={"user": "ada", "deep": [{"API_KEY": "abc"}]}, result="x" * 1_000)

    payload = recorded.only().one("TOOL_CALL")["payload"]
    assert payload["args"] == {"user": "ada", "deep": [{"API_KEY": "__REDACTED__"}]}
    assert payload["result"].endswith("__TRUNCATED__")
    assert len(payload["result"]) <= 200


def test_the_loop_settings_and_the_data_folder_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The knobs the documents name."""
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("AGENTDBG_LOOP_WINDOW", "20")
    monkeypatch.setenv("AGENTDBG_LOOP_REPETITIONS", "5")
    with traced_run("knobs") as run:
        for _ in range(4):
            record_tool_call(name="same", args={}, result="the same old thing")

    assert run is not None
    assert run.path.parent.parent == tmp_path / "elsewhere"
    assert load_run_meta(run.run_id)["counts"]["loop_warnings"] == 0


# Scripts over stored runs.


def _children(run_id: str, parent_id: str) -> list[Event]:
    return [event for event in load_events(run_id) if event.get("parent_id") == parent_id]


def _root(run_id: str, event: Event) -> Event:
    while event.get("parent_id"):
        event = get_event(run_id, str(event["parent_id"]))
    return event


def _llm_usage(run_id: str) -> dict[str, float]:
    calls = [event for event in load_events(run_id) if event["event_type"] == "LLM_CALL"]
    tokens = sum(call["payload"]["usage"]["total_tokens"] for call in calls if call["payload"].get("usage"))
    return {"total_llm_calls": len(calls), "total_tokens": tokens, "estimated_cost": tokens * 0.00002}


def test_finding_the_children_of_an_event(run_id: str) -> None:
    """The tree can be walked with a list comprehension."""
    start = next(iter(load_events(run_id)))

    children = _children(run_id, start["event_id"])
    assert [child["event_type"] for child in children] == ["LLM_CALL", "STATE_UPDATE", "LLM_CALL", "RUN_END"]
    assert [child["event_type"] for child in _children(run_id, children[0]["event_id"])] == ["TOOL_CALL"]


def test_finding_the_root_of_an_event(run_id: str) -> None:
    """Every chain of parents ends in RUN_START, however deep it begins."""
    roots = {_root(run_id, event)["event_type"] for event in load_events(run_id)}

    assert roots == {"RUN_START"}


def test_adding_up_the_tokens_of_a_run(run_id: str) -> None:
    """The script everybody writes first; run.json gives the same sum for free."""
    usage = _llm_usage(run_id)

    assert usage == {"total_llm_calls": 2, "total_tokens": 170, "estimated_cost": pytest.approx(0.0034)}
    assert load_run_meta(run_id).get("total_tokens") == 170


def test_events_come_one_by_one(run_id: str) -> None:
    """A consumer may stop after the first without paying for the rest."""
    events: Iterator[Event] = load_events(run_id[:8])

    assert next(events)["event_type"] == "RUN_START"
    assert iter(events) is events


def test_an_event_written_by_hand_in_the_looser_form_is_read(run_id: str, data_dir: Path) -> None:
    """Microseconds, no meta, `aborted`: producers exist that follow the looser documents."""
    by_hand = {
        "spec_version": "0.1",
        "event_id": str(uuid.uuid4()),
        "run_id": run_id,
        "parent_id": None,
        "event_type": "TOOL_CALL",
        "ts": datetime(2026, 1, 15, 14, 32, 15, 123456, timezone.utc).isoformat(),
        "name": "search_database",
        "payload": {"args": {}, "result": None, "status": "aborted", "error": {"type": "Timeout", "message": "m"}},
    }
    with (data_dir / "runs" / run_id / "events.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(by_hand) + "\n")

    event = get_event(run_id, str(by_hand["event_id"]))
    assert event["ts"] == "2026-01-15T14:32:15.123Z"
    assert event["meta"] == {}
    assert event["payload"]["tool_name"] == "search_database"
    assert (event["payload"]["status"], event["payload"]["error"]["error_type"]) == ("error", "Timeout")


# The command line.


def _agentdbg(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentdbg", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False, env={**os.environ})


def test_listing_as_json(run_id: str) -> None:
    """For scripts: the same fields as run.json."""
    listed = json.loads(_agentdbg("list", "--json").stdout)

    assert listed["spec_version"] == "0.1"
    assert [run["run_id"] for run in listed["runs"]] == [run_id]
    assert listed["runs"][0]["counts"]["llm_calls"] == 2


def test_listing_nothing_is_no_error() -> None:
    """The first thing a new user types."""
    assert _agentdbg("list").returncode == 0
    assert json.loads(_agentdbg("list", "--json").stdout)["runs"] == []


def test_exporting_a_run_as_one_document(run_id: str, tmp_path: Path) -> None:
    """What is sent to a colleague holds everything."""
    out = tmp_path / "file.json"
    done = _agentdbg("export", run_id, "--out", str(out))

    document = json.loads(out.read_text(encoding="utf-8"))
    assert done.returncode == 0, done.stderr
    assert set(document) == {"spec_version", "run", "events"}
    assert document["run"]["run_id"] == run_id
    assert document["events"] == list(load_events(run_id))


def test_exporting_a_run_that_is_not_there_exits_with_2(run_id: str, tmp_path: Path) -> None:
    """CI tells a wrong id from a fault by the exit code."""
    done = _agentdbg("export", str(uuid.uuid4()), "--out", str(tmp_path / "file.json"))

    assert done.returncode == 2
    assert done.stdout == ""
    assert "agentdbg list" in done.stderr
