"""What a file says besides answers and results: who spoke, what was said last, how it was judged, how it failed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.files import CHAT, asks, imported, kinds, take, write

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_said_after_the_last_answer_is_kept(tmp_path: Path, data_dir: Path) -> None:
    """Simulated users end a conversation with the word that tells why, and no prompt holds it."""
    chat = [*CHAT, {"role": "user", "content": "###STOP###"}, {"role": "user", "content": "really"}]

    events = imported(write(tmp_path / "chat.json", chat), data_dir)

    assert kinds(events)[-3:] == ["MESSAGE", "MESSAGE", "RUN_END"]
    assert [event["payload"]["content"] for event in events[-3:-1]] == ["###STOP###", "really"]


def test_a_conversation_that_ends_with_an_answer_says_nothing_twice(tmp_path: Path, data_dir: Path) -> None:
    """What a prompt holds is not told again."""
    assert "MESSAGE" not in kinds(imported(write(tmp_path / "chat.json", CHAT), data_dir))


def test_a_call_that_got_no_result_is_there(tmp_path: Path, data_dir: Path) -> None:
    """A conversation that broke off in a call says in which."""
    chat = [*CHAT[:2], asks("search", {"to": "SEA"}), {"role": "assistant", "content": "I wait."}]

    events = imported(write(tmp_path / "chat.json", chat), data_dir)

    (begun,) = [event for event in events if event["event_type"] == "CALL_START"]
    assert (begun["payload"]["name"], begun["payload"]["input"]) == ("search", {"to": "SEA"})
    assert begun["parent_id"] == events[1]["event_id"]


def test_speakers_of_a_group_chat_keep_their_names(tmp_path: Path, data_dir: Path) -> None:
    """All of them are assistants to the model; to a reader they are the planner and the critic."""
    chat: list[dict[str, Any]] = [
        {"role": "user", "name": "admin", "content": "Plan it."},
        {"role": "assistant", "name": "planner", "content": "First this."},
        {"role": "assistant", "name": "critic", "content": "No."},
        {"role": "user", "name": "admin", "content": "Enough."},
    ]

    events = imported(write(tmp_path / "group.json", chat), data_dir)

    assert [event["meta"].get("speaker") for event in events[1:-1]] == ["planner", "critic", "admin"]
    assert events[2]["payload"]["prompt"][1]["name"] == "planner"


def test_nested_scores_and_the_error_of_an_entry_are_kept(tmp_path: Path, data_dir: Path) -> None:
    """Benchmarks say how a run was judged in an object, and why it broke beside it."""
    entry = {
        "messages": CHAT,
        "reward_info": {"reward": 0.0, "checks": [{"db": False}]},
        "scores": {"accuracy": 1},
        "error": {"type": "Timeout", "message": "took too long"},
    }

    events = imported(write(tmp_path / "runs.json", [entry]), data_dir)

    assert events[0]["meta"]["reward_info"] == {"reward": 0.0, "checks": [{"db": False}]}
    assert events[0]["meta"]["scores"] == {"accuracy": 1}
    assert events[-1]["payload"]["error"]["error_type"] == "Timeout"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"SQLite format 3\x00" + b"\0" * 50, "is a SQLite database; export"),
        (b"PAR1" + b"\0" * 50, "is a Parquet file; write its rows"),
        (b"<!DOCTYPE html><html>", "is a web page"),
        ('[{"role": "user"}]'.encode("utf-16"), "is text in UTF-16"),
        (b"\x80\x04\x95abc", "is a Python pickle, which is not opened"),
        (b'{"resourceMetrics": []}', "holds OpenTelemetry metrics; export the traces"),
        (b'{"cells": [], "nbformat": 4}', "is a Jupyter notebook"),
        (b'[{"mapping": {}, "current_node": "x"}]', "is a ChatGPT conversation"),
        (b'{"working_dir": "/w", "message_count": 1}\n{"role": "user", "content": []}', "is a session of goose"),
        (b'{"role": "assistant", "sessionID": "s", "modelID": "m"}', "is one message of an opencode session"),
        (b'[{"ts": 1, "type": "say", "say": "text", "text": "x"}]', "is what Cline or Roo Code showed"),
        (b'{"type": "session", "version": 3, "id": "x", "cwd": "/w"}', "is a session of pi"),
        (b'{"type": "session_start", "id": "x", "owner": "ada", "cwd": "/w"}', "is a session of Factory's Droid"),
        (b'{"session_type": "user", "conversation": [{"role": "user", "content": []}]}', "is a session of goose"),
        (b'{"composerId": "c", "conversation": [{"type": 1, "text": "x"}]}', "is a chat of Cursor"),
        (b'{"messages": [{"role": "user", "segments": []}], "cumulative_token_usage": {}}', "is a thread of Zed"),
        (b'{"conversation_id": "k", "history": [{"user": {}, "assistant": {}}]}', "is a chat of Kiro or Amazon Q"),
        (b'{"sessionId": "s", "chatHistory": []}', "is a session of Auggie"),
        (b'{"history": [], "workspaceDirectory": "/w"}', "is a session of Continue"),
        (b'{"task": "x", "llm_interactions": []}', "is a trajectory of Trae Agent"),
        (b'{"trajectoryId": "t", "steps": []}', "is a trajectory of Windsurf"),
        (b'{"requests": [], "responderUsername": "x"}', "is a chat of VS Code"),
        (b'{"type": "started", "key": "k", "agentId": "a"}', "is the journal of a workflow of Claude Code"),
        (b'{"data": [{"traceID": "a", "spans": [], "processes": {}}]}', "is an export of Jaeger"),
        (b'[{"traceId": "a", "id": "b", "localEndpoint": {}}]', "holds spans of Zipkin"),
        (b'[{"trace_id": "1", "span_id": "2", "meta": {}}]', "holds spans of Datadog"),
        (b'[{"id": "1", "project_name": "p", "start_time": "x", "input": {}}]', "is an export of Opik"),
        (b'{"id": "b", "custom_id": "r-1", "response": {"body": {}}}', "is the output of a batch"),
        (b'{"messages": [{"role": "user", "content": "hi"', "is JSON that ends too early"),
        (b'[{"role": "user", "content": "h', "is JSON that ends too early"),
        (b'{"messages": [} and so on and on and on', "is not JSON"),
        (b"trace_id,span name,kind\n1,2,3\n", "is a table (CSV)"),
        (b"trace_id\tname\n1\t2\n", "is a table (TSV)"),
        (b"spans:\n  - name: x\n", "seems to be YAML"),
        (b"2026-01-02 10:00 INFO started, waiting\n2026-01-02 INFO done, left\n", "is not JSON"),
        (b"Dear all, this is prose.\nIt goes on, and on.\n", "is not JSON"),
        (b'{"colour": 1, "size": 2}', "it holds an object with colour, size"),
        (b"[1, 2]", "a list of 2 values that are no objects"),
    ],
)
def test_a_refused_file_is_named_by_what_it_seems_to_be(
    tmp_path: Path, data_dir: Path, content: bytes, said: str
) -> None:
    """`not JSON: line 1 column 1` helps nobody who picked the wrong file."""
    from agentdbg.interop.sources import NotReadable

    path = tmp_path / "given.json"
    path.write_bytes(content)
    with pytest.raises(NotReadable, match=re.escape(said)):
        take(path)


def test_a_chat_in_a_file_called_like_every_other_is_named_by_its_task(tmp_path: Path, data_dir: Path) -> None:
    """Cline calls each of its histories the same; its messages tell when they were sent."""
    history = [
        {"role": "user", "content": [{"type": "text", "text": "<task>\nMend the net.\n</task>"}], "ts": 1736000000000},
        {"role": "assistant", "content": "Mended.", "ts": 1736000002000},
    ]
    events = imported(write(tmp_path / "api_conversation_history.json", history), data_dir)

    assert events[0]["name"] == "Mend the net."
    assert events[1]["ts"] == "2025-01-04T14:13:22.000Z"


def test_a_session_is_named_by_its_first_real_request(tmp_path: Path, data_dir: Path) -> None:
    """A list in which half of the sessions are called /clear tells nobody which is which."""
    said = [
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
        "<local-command-stdout>cleared</local-command-stdout>",
        "Mend the net.",
    ]
    lines = [
        {"type": "user", "uuid": f"u{n}", "sessionId": "s", "message": {"role": "user", "content": text}}
        for n, text in enumerate(said)
    ]

    events = imported(write(tmp_path / "s.jsonl", "\n".join(map(json.dumps, lines)) + "\n"), data_dir)

    assert events[0]["name"] == "Mend the net."
    assert [event["name"] for event in events[1:-1]] == ["user", "command", "user"]


def test_a_session_that_begins_with_many_hooks_is_known(tmp_path: Path, data_dir: Path) -> None:
    """What the program wrote before the first request is no reason to refuse the session."""
    hook = {"type": "hook_success", "hookName": "SessionStart", "content": "ready"}
    lines: list[dict[str, Any]] = [
        {"type": "attachment", "uuid": f"a{n}", "sessionId": "s", "attachment": hook} for n in range(80)
    ]
    lines.append({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Mend it."}})

    events = imported(write(tmp_path / "s.jsonl", "\n".join(map(json.dumps, lines)) + "\n"), data_dir)

    assert [event["name"] for event in events[1:-1]] == ["hook"] * 80 + ["user"]


@pytest.mark.parametrize("told", [None, 5, [1], {"a": 1}, "x"])
def test_a_line_with_anything_in_it_costs_that_line(tmp_path: Path, data_dir: Path, told: Any) -> None:
    """A session from elsewhere may hold anything anywhere; what can be read of it is worth having."""
    user = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Mend it."}}
    lines = [
        user,
        {"type": "attachment", "uuid": "1", "attachment": told},
        {"type": "attachment", "uuid": "2", "attachment": {"type": "hook_blocking_error", "blockingError": told}},
        {"type": "attachment", "uuid": "3", "attachment": {"type": told, "prompt": told}},
        {"type": "progress", "data": {"type": "agent_progress", "agentId": told, "message": {"type": "user"}}},
        {"type": "progress", "data": {"type": "agent_progress", "agentId": "a", "message": told}},
        {"type": "system", "subtype": "stop_hook_summary", "hookErrors": [told]},
        {"type": "system", "subtype": told, "content": told, "level": told},
        {**user, "uuid": "4", "origin": told, "costUSD": told},
    ]

    events = imported(write(tmp_path / "s.jsonl", "\n".join(map(json.dumps, lines)) + "\n"), data_dir)

    assert sum(event["name"] == "user" for event in events) == 2


@pytest.mark.parametrize(
    ("results", "open_calls"), [([{"content": "ok"}], 0), ([{"content": "a"}, {"content": "b"}], 1)]
)
def test_a_result_that_names_no_call_is_that_of_the_steps_only_one(
    tmp_path: Path, data_dir: Path, results: list[Any], open_calls: int
) -> None:
    """Harbor leaves out whose result it is where there is nothing to choose from."""
    call = {"tool_call_id": "c1", "function_name": "ring", "arguments": {"bell": 3}}
    step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": [call], "observation": {"results": results}}
    document = {"schema_version": "ATIF-v1.5", "session_id": "s", "agent": {"name": "a"}, "steps": [step]}

    events = imported(write(tmp_path / "atif.json", document), data_dir)

    assert kinds(events).count("CALL_START") == open_calls
    named = [event["name"] for event in events if event["event_type"] == "TOOL_CALL"]
    assert named == (["ring"] if not open_calls else ["tool", "tool"])


def test_running_totals_do_not_count_again_what_answers_told(tmp_path: Path, data_dir: Path) -> None:
    """OpenHands writes the use of each answer beside the conversation, and totals that come after them into it."""
    folder = tmp_path / "conversations/5f0e"
    (folder / "events").mkdir(parents=True)
    usages = [
        {"response_id": "r1", "prompt_tokens": 1000, "completion_tokens": 40},
        {"response_id": "r2", "prompt_tokens": 2000, "completion_tokens": 80, "cache_read_tokens": 1000},
    ]
    metrics = {"model_name": "m", "token_usages": usages, "costs": [{"cost": 0.02}, {"cost": 0.03}]}
    totals = {"accumulated_cost": 0.05, "accumulated_token_usage": {"prompt_tokens": 3000, "completion_tokens": 120}}
    said: list[Any] = [
        {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": "Count"}},
        *(
            {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": "12"}, "llm_response_id": of}
            for of in ("r1", "r2")
        ),
        {"kind": "ConversationStateUpdateEvent", "key": "stats", "value": {"usage_to_metrics": {"agent": totals}}},
        {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": "13"}, "llm_response_id": "r3"},
        {
            "kind": "UserRejectObservation",
            "tool_name": "terminal",
            "tool_call_id": "c9",
            "rejection_reason": "not that",
        },
    ]
    for number, event in enumerate(said):
        told: dict[str, object] = {"id": f"e{number}", "timestamp": f"2026-01-05T08:00:0{number}"}
        write(folder / f"events/event-{number:05d}-0000000{number}.json", {**told, **event})
    write(folder / "base_state.json", {"id": "5f0e", "stats": {"usage_to_metrics": {"agent": metrics}}})

    events = imported(folder, data_dir)
    assert events[-1]["payload"]["summary"]["total_tokens"] == 3_120
    assert events[-1]["payload"]["summary"]["cost_usd"] == pytest.approx(0.05)
    assert [event["payload"]["error"]["message"] for event in events if event["name"] == "terminal"] == ["not that"]


def test_what_came_from_the_cache_is_kept_where_a_run_tells_only_sums(tmp_path: Path, data_dir: Path) -> None:
    """LangSmith's own counts stand beside the run, the details in its answer."""
    used = {"input_tokens": 20, "output_tokens": 10, "input_token_details": {"cache_read": 5}}
    run = {
        "id": "22222222-2222-4222-8222-222222222222",
        "trace_id": "22222222-2222-4222-8222-222222222222",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "start_time": "2026-01-05T08:00:01",
        "end_time": "2026-01-05T08:00:02",
        "inputs": {"messages": [[{"type": "human", "content": "mend"}]]},
        "outputs": {"generations": [[{"message": {"kwargs": {"content": "done", "usage_metadata": used}}}]]},
        "prompt_tokens": 20,
        "completion_tokens": 10,
        "total_tokens": 30,
    }
    call = next(e for e in imported(write(tmp_path / "r.json", [run]), data_dir) if e["event_type"] == "LLM_CALL")

    assert call["payload"]["usage"]["prompt_tokens_details"] == {"cache_read": 5}


def test_what_inspect_read_from_the_cache_is_a_part_of_the_prompt(tmp_path: Path, data_dir: Path) -> None:
    """It stands beside the input there, and the total says so."""
    used = {"input_tokens": 18, "output_tokens": 8, "total_tokens": 38, "input_tokens_cache_read": 12}
    answer = {"message": {"role": "assistant", "content": "done"}, "stop_reason": "stop"}
    output = {"model": "gpt-4o", "choices": [answer], "usage": used}
    model = {"event": "model", "timestamp": "2026-01-05T08:00:01+00:00", "model": "openai/gpt-4o", "input": []}
    sample = {"id": 1, "epoch": 1, "input": "mend", "messages": [], "events": [{**model, "output": output}]}
    log = {"version": 2, "status": "success", "eval": {"task": "mend", "model": "openai/gpt-4o"}, "samples": [sample]}
    call = next(e for e in imported(write(tmp_path / "log.json", log), data_dir) if e["event_type"] == "LLM_CALL")

    assert call["payload"]["usage"]["prompt_tokens"] == 30
    assert call["payload"]["usage"]["total_tokens"] == 38
    assert call["payload"]["usage"]["prompt_tokens_details"] == {"cached_tokens": 12}
