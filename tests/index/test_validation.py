"""The strict look at a stored run: what is sound passes, and everything that is not is said with its line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from agentdbg import record_llm_call, record_state, tool_call, trace, traced_run
from agentdbg.events import schema_problems
from agentdbg.index.validation import Problem, RunCheck

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Recorded


def record_something() -> None:
    """A run with most of what a run can hold."""

    @trace
    def inner() -> None:
        record_llm_call("gpt-4o", "hello", "hi", usage={"prompt_tokens": 3, "completion_tokens": 2})

    with traced_run("sound"):
        inner()
        with tool_call("search", {"q": "x"}) as call:
            call.result = "y"
        with pytest.raises(ValueError, match="no"), tool_call("book"):
            raise ValueError("no")
        record_state({"step": 1})


def problems_of(folder: Path, *, is_running: bool = False) -> list[tuple[str, int | None, str]]:
    found = RunCheck(folder, folder.name, is_running=is_running).problems()
    return [(problem.kind, problem.line, problem.sentence) for problem in found]


def test_what_the_recorder_writes_is_sound(recorded: Recorded) -> None:
    """Whoever sees a problem has to be able to believe it."""
    record_something()

    check = RunCheck(recorded.only().path, recorded.only().path.name)
    assert list(check.problems()) == []
    assert check.events == check.lines == len(recorded.only().events)


def test_a_run_that_is_still_recorded_may_lack_its_end(recorded: Recorded) -> None:
    """What has not happened yet is no fault; once nobody writes any more it is."""
    with traced_run("live"):
        record_llm_call("m", "p", "r")
        folder = recorded.only().path
        assert problems_of(folder, is_running=True) == []
        ended = [problem for problem in problems_of(folder) if problem[1] is None]

    assert ended == [("integrity", None, "the run was never closed: there is no RUN_END")]


def _twice(events: list[dict[str, Any]]) -> None:
    events[2]["event_id"] = events[1]["event_id"]


def _foreign_run(events: list[dict[str, Any]]) -> None:
    events[1]["run_id"] = "0" * 36


def _lost_parent(events: list[dict[str, Any]]) -> None:
    events[1]["parent_id"] = "00000000-0000-4000-8000-000000000000"


def _no_start(events: list[dict[str, Any]]) -> None:
    events[0]["event_type"] = "MINE"


def _second_start(events: list[dict[str, Any]]) -> None:
    events[1] = {**events[0], "event_id": "00000000-0000-4000-8000-000000000000"}


def _after_the_end(events: list[dict[str, Any]]) -> None:
    events.insert(1, events.pop())


def _wrong_type(events: list[dict[str, Any]]) -> None:
    events[1]["duration_ms"] = "long"


def _no_time(events: list[dict[str, Any]]) -> None:
    events[1]["ts"] = "yesterday"


def _wrong_model(events: list[dict[str, Any]]) -> None:
    next(event for event in events if event["event_type"] == "LLM_CALL")["payload"]["temperature"] = "hot"


def _one_call_less(events: list[dict[str, Any]]) -> None:
    events[:] = [event for event in events if event["event_type"] != "LLM_CALL"]


def _end_of_a_call_less(events: list[dict[str, Any]]) -> None:
    started = next(event for event in events if event["event_type"] == "CALL_START")
    events[:] = [event for event in events if event["event_id"] != started["payload"]["call_id"]]


@pytest.mark.parametrize(
    ("damage", "kind", "words"),
    [
        (_twice, "integrity", "was given before"),
        (_foreign_run, "integrity", "the event is of run"),
        (_lost_parent, "integrity", "the parent 00000000-0000-4000-8000-000000000000 does not exist"),
        (_no_start, "integrity", "the first event is not RUN_START"),
        (_second_start, "integrity", "the run begins a second time"),
        (_after_the_end, "integrity", "there is more after RUN_END, which is line 2"),
        (_wrong_type, "schema", "event.duration_ms is str, not integer or null"),
        (_no_time, "schema", "event.ts is 'yesterday', which is not a time"),
        (_wrong_model, "schema", "event.payload.temperature is str"),
        (_one_call_less, "integrity", "run.json says counts is"),
        (_end_of_a_call_less, "integrity", "began here and has no end"),
    ],
)
def test_what_disagrees_is_said(
    recorded: Recorded, damage: Callable[[list[dict[str, Any]]], None], kind: str, words: str
) -> None:
    """Each of these has been written by some tool, and readers show it without a word."""
    record_something()
    folder = recorded.only().path
    events = recorded.only().events
    damage(events)
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))

    found = problems_of(folder)
    assert any(problem[0] == kind and words in problem[2] for problem in found), found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"spec_version": "0.1", "eve', "the line is not JSON"),
        (b"[1, 2]", "a JSON list, not an object"),
        (b"", "the line is empty"),
        (b"\xff\xfe{}", "the line is not JSON"),
        (b'{"text": "' + b"x" * 1_000_100 + b'"}', "longer than 1,000,000 bytes"),
    ],
)
def test_a_damaged_line_is_named_and_hides_no_other(recorded: Recorded, line: bytes, words: str) -> None:
    """A disk that filled up leaves half a line; the rest of the file is still worth checking."""
    record_something()
    folder = recorded.only().path
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    (folder / "events.jsonl").write_bytes(b"\n".join([lines[0], line, *lines[1:]]) + b"\n")

    damaged = [problem for problem in problems_of(folder) if problem[0] == "damaged"]
    assert [problem[1] for problem in damaged] == [2]
    assert words in damaged[0][2]
    assert all(problem[1] in (2, None) for problem in problems_of(folder))


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"spec_version": "0.1"}'])
def test_a_run_file_that_is_no_use_is_said(recorded: Recorded, content: str | None) -> None:
    """It is only a cache, but one that other tools read."""
    record_something()
    file = recorded.only().path / "run.json"
    file.unlink() if content is None else file.write_text(content)

    assert any("run.json" in problem[2] for problem in problems_of(file.parent))


def test_a_folder_without_events_is_one_problem_and_no_error(tmp_path: Path) -> None:
    """A copy that went wrong has to be answered, not to fail."""
    assert ("integrity", None, "there is no events.jsonl") in problems_of(tmp_path)


_ERROR_OBJECT = {"error_type": "ValueError", "message": "no"}
_DOCUMENTED: list[tuple[str, dict[str, Any]]] = [
    ("STATE_UPDATE", {"state": {"step": 2}, "diff": None}),
    ("STATE_UPDATE", {"state": {"step": 2}}),
    ("TOOL_CALL", {"tool_name": "t", "args": {}, "result": None, "status": "error", "error": "no such table"}),
    ("TOOL_CALL", {"tool_name": "t", "args": {}, "result": None, "status": "error", "error": _ERROR_OBJECT}),
    ("ERROR", _ERROR_OBJECT),
    ("ERROR", {**_ERROR_OBJECT, "stack": "Traceback (most recent call last): ..."}),
    (
        "ERROR",
        {
            "error_type": "AgentDbgGuardrailExceeded",
            "message": "max_llm_calls exceeded",
            "stack": None,
            "guardrail": "max_llm_calls",
            "threshold": 10,
            "actual": 11,
        },
    ),
    (
        "LLM_CALL",
        {
            "model": "gpt-4",
            "prompt": "p",
            "response": "r",
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            "provider": "openai",
            "temperature": 0.0,
            "stop_reason": None,
        },
    ),
]


@pytest.mark.parametrize(("event_type", "payload"), _DOCUMENTED)
def test_every_payload_the_documents_show_is_valid(
    recorded: Recorded, event_type: str, payload: dict[str, Any]
) -> None:
    """Whoever writes what the format's own pages show must not be told that it is wrong."""
    with traced_run("theirs"):
        record_llm_call("m", "p", "r")
    event: dict[str, Any] = {**recorded.only().events[1], "event_type": event_type, "payload": payload}

    assert schema_problems(event) == []
    assert _after_writing(recorded, event).problems == []


_LOOSE: list[dict[str, Any]] = [
    {"ts": "2026-02-15T20:31:05.123456Z"},
    {"ts": "2026-02-15T20:31:05+01:00"},
    {"meta": None},
    {"duration_ms": 12.7},
    {"spec_version": "0.2"},
    {"event_id": "a1b2c3d4-1234-5678-90ab-cdef12345678"},
    {"event_type": "LLM_CALL", "payload": {"prompt": "p", "finish_reason": "stop", "status": "success"}},
    {"event_type": "TOOL_CALL", "payload": {"args": {}, "status": "failed", "error": {"type": "E", "message": "m"}}},
    {"event_type": "STATE_UPDATE", "payload": {"step": 2, "notes": []}},
    {"event_type": "LOOP_WARNING", "payload": {"pattern": "A -> B", "repetition_count": 3, "evidence": ["x"]}},
    {"event_type": "ERROR", "payload": {"error_type": "E", "message": "m", "stack_trace": "…"}},
    {"extra": 1},
]


@pytest.mark.parametrize("change", _LOOSE)
def test_what_readers_understand_is_a_note_and_no_problem(recorded: Recorded, change: dict[str, Any]) -> None:
    """A run that every command shows is not called broken; the note says what a newer writer would store."""
    with traced_run("theirs"):
        record_llm_call("m", "p", "r")

    found = _after_writing(recorded, {**recorded.only().events[1], **change})
    assert found.problems == []
    assert [note.line for note in found.check.notes]
    assert all(note.kind == "note" and note.sentence for note in found.check.notes)


def test_a_run_file_of_another_writer_is_a_note(recorded: Recorded) -> None:
    """`success` and microseconds are read as what they mean."""
    with traced_run("theirs"):
        pass
    file = recorded.only().path / "run.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, "status": "success", "ended_at": "2026-02-15T20:31:05.123456Z"}))

    check = RunCheck(file.parent, file.parent.name)
    assert [problem for problem in check.problems() if problem.kind == "schema"] == []
    assert [note.line for note in check.notes] == [None, None]


class _Found(NamedTuple):
    check: RunCheck
    problems: list[Problem]


def _after_writing(recorded: Recorded, event: dict[str, Any]) -> _Found:
    """The run with its second event replaced, and what is wrong with the shape of any of its events."""
    folder, events = recorded.only().path, recorded.only().events
    events[1] = event
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    check = RunCheck(folder, folder.name)
    return _Found(check, [problem for problem in check.problems() if problem.kind in ("schema", "damaged")])
