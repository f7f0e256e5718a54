"""
Files as other tools write them, by hand from their documentation and source: what comes out, counted by a person.

Each line of `COUNTED` was read off the file, not off the importer.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentdbg.config import load_config
from agentdbg.interop.imports import Importing
from agentdbg.interop.sources import find_sources
from tests.interop.files import events_of

FIXTURES = Path(__file__).parent / "fixtures"


_MARK = re.compile(r"#\d{3,4}\b")


class Counted(NamedTuple):
    """What a file holds."""

    path: str
    name: str
    answers: int
    results: int
    failed: int
    """Failed calls, and errors beside them."""
    tokens: int | None
    requests: int
    """What people said, as events of their own."""
    spans: int = 0
    open_calls: int = 0
    runs: int = 1
    problems: int = 0


COUNTED = [
    Counted("claude/5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl", "The till rounds", 3, 3, 2, 37_501, 2),
    Counted("claude/0b6c1a52-7d1e-4c55-9f0e-2f5d8c3a9b10.jsonl", "/plan-less", 6, 4, 2, 8_576, 3, spans=2, problems=1),
    Counted("claude/7d3c8a10-1111-4222-8333-444455556666.jsonl", "#003 Why", 10, 8, 6, 75_526, 8, spans=1),
    Counted("claude/0aa00000-1111-4222-8333-444455556666.jsonl", "#101 count", 2, 1, 0, 335, 1),
    Counted("claude/stream.jsonl", "stream", 2, 1, 1, 309, 0, open_calls=1),
    Counted(
        "codex/rollout-2025-11-20T14-00-00-019aa1c2-5d4e-7f00-9abc-0123456789ab.jsonl", "Departures", 3, 3, 1, 13_730, 2
    ),
    Counted(
        "codex/rollout-2025-12-01T08-00-00-019b0000-aaaa-7bbb-8ccc-000000000002.jsonl",
        "What grinds?",
        3,
        2,
        2,
        1_390,
        1,
        open_calls=1,
    ),
    Counted(
        "codex/rollout-2026-05-04T08-00-00-019c8a00-7777-7aaa-8bbb-0123456789ab.jsonl", "#203 Why", 8, 9, 2, 21_600, 3
    ),
    Counted("codex/exec.jsonl", "#310 All done.", 6, 5, 3, 24_885, 0, open_calls=1),
    Counted("codex/rollout-2025-05-20T10-00-00-old.jsonl", "Count the bees.", 2, 1, 0, None, 1),
    Counted("codex/rollout-2025-04-18-older.json", "Name the rivers.", 2, 1, 1, None, 1),
    Counted("gemini/session-2025-12-05T16-00-3f9a12bc.json", "Why is the lamp", 2, 3, 2, 6_575, 2),
    Counted("gemini/session-2026-03-02T09-00-77aa00bb.jsonl", "Draw the harbour.", 2, 1, 1, 1_933, 3, open_calls=1),
    Counted("gemini/session-2026-01-05T10-00-aaaa.json", "#402 Fix", 2, 6, 4, 3_060, 2, open_calls=1),
    Counted("gemini/chats/session-2026-06-04T08-00-5c0ffee5.jsonl", "#1600 Check", 5, 3, 1, 452, 3, spans=1),
    Counted("gemini/stream.jsonl", "#320 list", 2, 1, 0, 900, 1),
    Counted("gemini/checkpoint-harbour.json", "Measure the quay.", 3, 2, 1, None, 2),
    Counted("gemini/logs.json", "list the boats", 0, 0, 0, None, 3, runs=2),
    Counted("qwen/1d0c9a77-2222-4333-8444-55556666aaaa.jsonl", "Prune the old", 2, 2, 2, 2_662, 2),
    Counted("qwen/orchard-2.jsonl", "Read the two beds.", 2, 2, 0, None, 1),
    Counted("qwen/orchard-3.jsonl", "Ladder repairs", 1, 0, 0, 79, 1, open_calls=1, problems=1),
    Counted("qwen/orchard-4.jsonl", "#480 prune", 2, 2, 3, 180, 2),
    Counted("mini_swe_agent/lighthouse__lamp-12.traj.json", "lighthouse__lamp-12", 3, 4, 1, 2_090, 1),
    Counted("mini_swe_agent/first.traj.json", "first", 2, 1, 2, 325, 2),
    Counted("mini_swe_agent/crashed.traj.json", "crashed", 1, 1, 2, 12, 1),
    Counted("mini_swe_agent/limited.traj.json", "x__y-1", 1, 2, 2, 110, 2),
    Counted("copilot/pier.jsonl", "#861 mend", 3, 3, 1, 100, 1),
    Counted("copilot/worn.jsonl", "#871 count", 2, 1, 1, 1_960, 2, open_calls=1),
    Counted("copilot/cut.jsonl", "#880 ring", 1, 0, 1, 3, 1, problems=1),
    Counted("amp/T-019b9d03-62e3-772f-9780-3e637f90eaec.json", "Lock gates", 3, 3, 1, 44_976, 2),
    Counted("amp/T-01980000-aaaa-7bbb-8ccc-000000000002.json", "Which bollards", 3, 2, 3, 2_458, 2, open_calls=1),
    Counted("amp/T-01990000-aaaa-7bbb-8ccc-000000000003.json", "Survey the tide", 2, 1, 0, 1_489, 1, problems=1),
    Counted("opencode/pier.json", "#900 Mend", 2, 3, 1, 2_627, 1),
    Counted("opencode/early.json", "#920 early", 3, 1, 2, 42, 2, open_calls=1),
    Counted("opencode/sunk.json", "#930 sunk", 2, 0, 1, 47, 1, problems=1),
    Counted("swe_agent/harbour__lamp-1.traj", "harbour__lamp-1", 4, 3, 1, None, 0),
    Counted("swe_agent/quay__rope-3.traj", "quay__rope-3", 3, 3, 1, None, 0),
    Counted("swe_agent/anchor.traj", "anchor", 2, 0, 0, None, 0),
    Counted("inspect/watch.json", "harbour_watch watch-1", 2, 2, 1, 330, 0, spans=1),
    Counted("inspect/sunk.json", "harbour_watch 7", 3, 1, 3, 94, 0, problems=1),
    Counted("inspect/tide.json", "tide tide", 4, 2, 0, None, 0, runs=2),
    Counted("aider/.aider.chat.history.md", "make the buoy", 2, 2, 1, 3_663, 4, runs=2),
    Counted("aider/one.aider.chat.history.md", "rename the jetty", 2, 0, 0, 1_910, 1),
    Counted("aider/empty.aider.chat.history.md", "aider", 0, 0, 1, None, 0),
    Counted("atif/trajectory.json", "Feed the terns.", 2, 2, 1, 1_212, 2),
    Counted("atif/images.json", "#784 do", 2, 3, 0, 235, 2),
    Counted("atif/summarised.json", "Go on.", 1, 1, 0, 44, 1),
    Counted("atif/delegated.json", "#1501 Survey", 6, 4, 1, 383, 3, spans=3),
    Counted("atif/many.jsonl", "First tern.", 2, 0, 0, None, 2, open_calls=1, runs=2, problems=2),
    Counted("openhands/sessions/9d1f", "Paint the hull.", 2, 2, 1, 2_270, 2),
    Counted("openhands/conversations/77e0", "Caulk the deck.", 2, 1, 1, 1_890, 1),
    Counted("openhands/conversations/88aa", "#501 Fix bug", 5, 5, 5, 1_045, 2),
    Counted("openhands/output.jsonl", "shipyard__keel-7", 4, 3, 3, 2_270, 1, runs=2, problems=1),
    Counted("openhands/sdk-history.json", "Caulk the deck.", 1, 1, 2, None, 1),
    Counted("langsmith/runs.json", "AgentExecutor: Is the ferry", 2, 1, 1, 460, 0, spans=1),
    Counted("langsmith/nested.json", "ask: Who sails?", 1, 1, 0, 340, 0, spans=1),
    Counted("langsmith/export.jsonl", "ChatOpenAI: Is the ferry", 1, 0, 1, 340, 0, spans=1, runs=2, problems=1),
    Counted("langsmith/graph.json", "LangGraph: #703", 2, 3, 1, 67, 0, spans=1),
    Counted("langfuse/trace.json", "dock-bot: How deep", 1, 1, 1, 25, 0, spans=2),
    Counted("langfuse/observations.json", "answer: Name it.", 1, 1, 0, 115, 0, problems=1),
    Counted("langfuse/blob.jsonl", "g: Moor.", 1, 0, 1, 11, 0, runs=2),
    Counted("langfuse/judged.json", "#720 trace: #721", 2, 2, 0, 21, 0, spans=3),
    Counted("weave/calls.jsonl", "TideAgent.run: #1001", 2, 2, 1, 89, 0, spans=1),
    Counted("weave/early.json", "answer: #1010", 1, 0, 1, 12, 0, spans=2, runs=2),
    Counted("weave/langchain.json", "langchain.Chain.RunnableSequence: #1020", 1, 1, 0, 16, 0, spans=1, problems=1),
    Counted("braintrust/logs.jsonl", "harbour-desk: #1101", 2, 2, 1, 99, 0, spans=2),
    Counted("braintrust/experiment.json", "eval: #1110", 1, 0, 1, 6, 0, spans=2, runs=2),
    Counted("braintrust/rows.json", "row: #1120", 1, 0, 0, 5, 0, spans=1, problems=1),
    Counted("gateway/litellm.jsonl", "gpt-4o-mini: #1201", 3, 0, 1, 56, 0),
    Counted("gateway/spend.json", "gpt-4o-mini: #1210", 2, 0, 1, 15, 0),
    Counted("gateway/helicone.json", "desk: #1311", 3, 1, 1, 56, 0, runs=2),
    Counted("promptfoo/results.json", "#1400 Name a star", 3, 0, 1, 24, 0, runs=3),
    Counted("promptfoo/lines.jsonl", "#1461 Star?", 1, 0, 0, 30, 0),
    Counted("promptfoo/earlier.json", "#1470 Hello", 1, 0, 0, 5, 0, problems=1),
    Counted("agents_sdk/batch.json", "Harbour desk: When is", 2, 2, 1, 140, 0, spans=3),
    Counted("agents_sdk/lines.jsonl", "Harbour desk", 0, 0, 1, None, 0, spans=2, runs=2, problems=1),
    Counted("agents_sdk/mcp.json", "Tools: Sail.", 1, 1, 0, 6, 0),
    Counted("agents_sdk/every-kind.json", "#740 Desk: #744", 3, 3, 1, 18, 0, spans=4),
    Counted("mlflow/trace.json", "sailor: Too much", 1, 1, 1, 36, 0, spans=1),
    Counted("mlflow/old.json", "predict: Which sail?", 0, 1, 1, None, 0, spans=1),
    Counted("mlflow/rows.jsonl", "LLM call: Luff?", 1, 1, 0, 36, 0, runs=2),
    Counted("mlflow/assessed.json", "agent: #760", 1, 2, 1, 12, 0, spans=1),
    Counted("phoenix/spans.json", "agent: Tie a knot", 1, 1, 1, 16, 0, spans=1),
    Counted("phoenix/frame.jsonl", "agent: Tie a knot", 1, 1, 1, 16, 0, spans=1),
    Counted("phoenix/columns.json", "agent", 1, 0, 0, 16, 0, spans=1),
    Counted("vercel/trace.json", "ai.generateText: Any rope?", 2, 1, 0, 84, 0, spans=1),
    Counted("vercel/lines.jsonl", "ai.generateText: Any rope?", 2, 1, 0, 84, 0, spans=1),
    Counted("vercel/stream.json", "ai.streamText", 1, 0, 1, 12, 0, spans=1),
    Counted("otel/openinference.json", "agent: #600", 2, 2, 0, 127, 0, spans=2),
    Counted("otel/openllmetry.json", "joke.workflow", 1, 1, 0, 22, 0, spans=2),
    Counted("otel/genai.json", "bot: #635 root", 2, 2, 2, 149, 0, spans=1),
    Counted("otel/genai-events.json", "Strands Agents: #650 add", 1, 1, 0, 42, 0, spans=2),
    Counted("otel/vercel.json", "#660 fn: #662 rope?", 2, 2, 1, 52, 0, spans=1),
    Counted("otel/pydantic1.json", "#680 : #681 hi", 1, 1, 0, 59, 0, spans=1),
    Counted("otel/pydantic2.json", "bot: #690 hi", 1, 1, 0, 59, 0, spans=2),
    Counted("chat/harbour-team.json", "harbour-team", 7, 0, 0, None, 1),
    Counted("chat/tide-experts.json", "tide-experts", 4, 0, 0, None, 2),
    Counted("chat/poets.jsonl", "poets", 3, 0, 0, None, 2),
]


def _text(path: Path) -> str:
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    return "".join(file.read_text() for file in files)


MARKED = [path for path in (FIXTURES / counted.path for counted in COUNTED) if _MARK.search(_text(path))]


@pytest.mark.parametrize("counted", COUNTED, ids=lambda counted: counted.path)
def test_everything_in_a_file_is_in_its_run(data_dir: Path, counted: Counted) -> None:
    """A session that lost a call on the way, or counts a token twice, says something false about an agent."""
    outcomes = _take(FIXTURES / counted.path)
    runs = [events_of(data_dir, outcome.run.run_id) for outcome in outcomes if outcome.run is not None]
    events = [event for run in runs for event in run]
    summaries = [run[-1]["payload"]["summary"] for run in runs]
    totals = [summary["total_tokens"] for summary in summaries if summary["total_tokens"] is not None]

    assert len(runs) == counted.runs
    assert runs[0][0]["name"].startswith(counted.name)
    assert _number(events, "LLM_CALL") == counted.answers
    assert _number(events, "TOOL_CALL") == counted.results
    assert _number(events, "CALL_START") == counted.open_calls
    assert sum(summary["errors"] for summary in summaries) == counted.failed
    assert (sum(totals) if totals else None) == counted.tokens
    assert (
        sum(event["event_type"] == "MESSAGE" and event["payload"]["role"] == "user" for event in events)
        == counted.requests
    )
    assert sum("span" in event["meta"] for event in events) == counted.spans
    assert sum(bool(outcome.problem) for outcome in outcomes) == counted.problems


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.name)
def test_every_marked_sentence_of_a_file_is_in_its_run(data_dir: Path, path: Path) -> None:
    """Numbered sentences stand in every place of a file where a person or a program says something."""
    marks = set(_MARK.findall(_text(path)))
    stored = "".join(
        json.dumps(events_of(data_dir, outcome.run.run_id)) for outcome in _take(path) if outcome.run is not None
    )

    assert marks - set(_MARK.findall(stored)) == set()


@pytest.mark.parametrize("counted", COUNTED, ids=lambda counted: counted.path)
def test_every_event_hangs_in_the_tree_and_in_its_time(data_dir: Path, counted: Counted) -> None:
    """A parent that is not there, or a child that ended after the run, is drawn in the wrong place."""
    for outcome in _take(FIXTURES / counted.path):
        if outcome.run is None:
            continue
        events = events_of(data_dir, outcome.run.run_id)
        ids = [event["event_id"] for event in events]

        assert len(set(ids)) == len(ids)
        assert {event["parent_id"] for event in events[1:]} <= set(ids)
        assert events[0]["ts"] == min(event["ts"] for event in events)
        assert events[-1]["ts"] == max(event["ts"] for event in events)
        # A chat does not say which program wrote it.
        assert set(events[0]["meta"]) & {"framework", "trace_id"} or counted.path.startswith("chat/")


@pytest.mark.parametrize("format_name", sorted({counted.path.partition("/")[0] for counted in COUNTED}))
def test_every_format_has_three_files_that_are_counted(format_name: str) -> None:
    """One example proves little: the forms of a format differ by version and by what happened."""
    assert sum(counted.path.startswith(f"{format_name}/") for counted in COUNTED) >= 3


def test_a_folder_of_sessions_gives_one_run_for_each(data_dir: Path) -> None:
    """A subagent's file is part of its session, not a session of its own."""
    sources = find_sources([str(FIXTURES / "claude")])

    assert sorted(source.path.name for source in sources) == [
        "0aa00000-1111-4222-8333-444455556666.jsonl",
        "0b6c1a52-7d1e-4c55-9f0e-2f5d8c3a9b10.jsonl",
        "5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl",
        "7d3c8a10-1111-4222-8333-444455556666.jsonl",
        "stream.jsonl",
    ]


def test_a_subagent_works_inside_the_call_that_started_it(data_dir: Path) -> None:
    """Both ways a session tells of it: by the prompt, and by the agent's id."""
    events = _events(data_dir, "claude/0b6c1a52-7d1e-4c55-9f0e-2f5d8c3a9b10.jsonl")
    by_id = {event["event_id"]: event for event in events}
    inside = {event["name"]: event for event in events if "span" in event["meta"]}

    assert by_id[inside["Explore"]["parent_id"]]["meta"]["source_id"] == "toolu_A"
    assert by_id[inside["general-purpose"]["parent_id"]]["meta"]["source_id"] == "toolu_B"
    (grep,) = [event for event in events if event["name"] == "Grep"]
    assert by_id[by_id[grep["parent_id"]]["parent_id"]] is inside["Explore"]


def test_what_a_history_was_shortened_to_is_not_what_happened(data_dir: Path) -> None:
    """Gemini CLI rewrites its history to save room: results are masked, and a summary takes the place of the rest."""
    events = _events(data_dir, "gemini/chats/session-2026-06-04T08-00-5c0ffee5.jsonl")
    (read,) = [event["payload"]["result"] for event in events if event["name"] == "read_file"]
    told = [event["payload"]["role"] for event in events if event["event_type"] == "MESSAGE"]

    assert read.startswith("#1603 beam")
    assert told == ["user", "user", "compaction", "user"]
    assert len(find_sources([str(FIXTURES / "gemini/chats")])) == 1  # the subagent's file is part of the session


def test_a_trajectory_inside_another_is_work_of_the_call_that_started_it(data_dir: Path) -> None:
    """What subagents said and used is most of a delegating agent's work."""
    events = _events(data_dir, "atif/delegated.json")
    by_id = {event["event_id"]: event for event in events}
    spans = {event["payload"].get("input", event["name"]): event for event in events if "span" in event["meta"]}
    calls = {
        event["payload"]["args"]["task"]: event["event_id"]
        for event in events
        if event["event_type"] == "TOOL_CALL" and "task" in event["payload"]["args"]
    }
    (store,) = [event for event in events if event["name"] == "store"]

    assert {task: spans[task]["parent_id"] for task in calls} == calls
    assert by_id[spans["auk"]["parent_id"]]["event_type"] == "RUN_START"
    assert by_id[store["parent_id"]]["event_type"] == "RUN_START"  # no answer of a model asked for it


@pytest.mark.parametrize(
    "path",
    ["langsmith/runs.json", "langfuse/trace.json", "agents_sdk/batch.json", "mlflow/trace.json", "vercel/trace.json"],
)
def test_an_event_can_be_found_again_where_it_came_from(data_dir: Path, path: str) -> None:
    """Somebody who has found the step that went wrong wants to see it in the tool that recorded it, too."""
    events = _events(data_dir, path)
    stored = (FIXTURES / path).read_text()

    assert all(event["meta"]["span_id"] in stored for event in events[1:-1])
    assert len({event["meta"]["span_id"] for event in events[1:-1]}) == len(events) - 2


def test_scores_are_kept_with_the_run_and_with_the_step(data_dir: Path) -> None:
    """Which runs were good is what a baseline is made from."""
    events = _events(data_dir, "langfuse/trace.json")

    assert events[0]["meta"]["scores"] == {"helpful": 1}
    assert [event["meta"]["scores"] for event in events if event["meta"].get("span_id") == "o-2"] == [{"tone": "warm"}]
    assert _events(data_dir, "langsmith/runs.json")[0]["meta"]["scores"] == {"correctness": 0.5}
    assert _events(data_dir, "mlflow/trace.json")[0]["meta"]["scores"] == {"safe": True}


def test_messages_of_a_framework_are_chat_messages(data_dir: Path) -> None:
    """The page shows a conversation; it does not show the constructors of LangChain's classes."""
    first = next(event for event in _events(data_dir, "langsmith/runs.json") if event["event_type"] == "LLM_CALL")
    seen = next(event for event in _events(data_dir, "phoenix/spans.json") if event["event_type"] == "LLM_CALL")

    assert [message["role"] for message in first["payload"]["prompt"]] == ["system", "user"]
    assert first["payload"]["response"]["tool_calls"][0]["function"] == {
        "name": "timetable",
        "arguments": {"line": "A"},
    }
    assert seen["payload"]["prompt"] == [{"role": "user", "content": "Tie a knot"}]
    assert seen["payload"]["response"] == {"role": "assistant", "content": "A bowline."}


def test_a_failed_request_that_was_tried_again_fails_no_run(data_dir: Path) -> None:
    """A gateway logs every attempt; how the work went is what came of the newest."""
    tried, given_up = _events(data_dir, "gateway/litellm.jsonl"), _events(data_dir, "gateway/spend.json")

    assert (tried[-1]["payload"]["status"], given_up[-1]["payload"]["status"]) == ("ok", "error")
    assert tried[-1]["payload"]["result"]["content"] == "#1205 Again."


def test_what_an_outer_call_adds_up_of_the_inner_ones_counts_once(data_dir: Path) -> None:
    """Weave writes the use of all inner calls to the outer one; only where nothing is inside is it the call's own."""
    (outer,) = [event for event in _events(data_dir, "weave/calls.jsonl") if "span" in event["meta"]]
    costs = [
        event["payload"]["cost_usd"]
        for event in _events(data_dir, "braintrust/logs.jsonl")
        if event["event_type"] == "LLM_CALL"
    ]

    assert "usage" not in outer["payload"]
    assert costs[0] == 0.01


def test_an_edit_is_a_diff_that_can_be_read(data_dir: Path) -> None:
    """What a coding agent changed is what people look for first."""
    (edit,) = [
        event
        for event in _events(data_dir, "claude/5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl")
        if event["name"] == "Edit"
    ]

    assert edit["payload"]["diff"].splitlines()[2:] == [
        "@@ -1,2 +1,2 @@",
        " def total(lines):",
        "-    return sum(round(line) for line in lines)",
        "+    return round(sum(lines))",
    ]


def test_thinking_and_the_parts_of_one_answer_stay_together(data_dir: Path) -> None:
    """Claude Code writes each part of an answer on a line of its own, all with the same usage."""
    first = next(
        event
        for event in _events(data_dir, "claude/5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl")
        if event["event_type"] == "LLM_CALL"
    )

    assert [part["type"] for part in first["payload"]["response"]["content"]] == ["thinking", "text", "tool_use"]
    assert first["payload"]["usage"]["completion_tokens"] == 118
    assert first["payload"]["usage"]["prompt_tokens"] == 12_004


def test_a_session_that_grew_is_written_anew_and_keeps_its_name(tmp_path: Path, data_dir: Path) -> None:
    """Somebody who imports every evening wants today's part too, in the run they have named."""
    lines = (FIXTURES / "claude/5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl").read_text().splitlines()
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(lines[:8]) + "\n")
    first = _take(path)[0].run
    assert first is not None
    (data_dir / "runs" / first.run_id / "label.json").write_text('{"run_name": "mine"}')
    path.write_text("\n".join(lines) + "\n")
    second = _take(path)[0].run
    path.write_text("\n".join(lines[:8]) + "\n")
    third = _take(path)[0].run

    assert second is not None
    assert third is not None
    assert (second.run_id, second.is_new, second.is_longer) == (first.run_id, True, True)
    assert json.loads((data_dir / "runs" / first.run_id / "label.json").read_text()) == {"run_name": "mine"}
    assert len(events_of(data_dir, first.run_id)) == second.events
    assert not third.is_new


def _take(path: Path) -> list[Any]:
    (source,) = find_sources([str(path)])
    return list(Importing(load_config()).take(source)[1])


def _events(data_dir: Path, path: str) -> list[dict[str, Any]]:
    run = next(outcome.run for outcome in _take(FIXTURES / path) if outcome.run is not None)
    return events_of(data_dir, run.run_id)


def _number(events: list[dict[str, Any]], event_type: str) -> int:
    return sum(event["event_type"] == event_type for event in events)
