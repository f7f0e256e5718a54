"""Chat transcripts: the form most benchmarks and most people's own logs have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentdbg.interop.sources import NotReadable
from tests.interop.files import CHAT, agentdbg, asks, events_of, imported, kinds, take, write


def test_an_answer_is_a_model_call_and_a_result_a_tool_call_under_it(tmp_path: Path, data_dir: Path) -> None:
    """So that the viewer shows a transcript as it shows a recorded run."""
    events = imported(write(tmp_path / "chat.json", CHAT), data_dir)

    assert kinds(events) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "LLM_CALL", "RUN_END"]
    assert events[1]["payload"]["prompt"] == CHAT[:2]
    assert events[1]["payload"]["response"] == CHAT[2]
    assert events[2]["payload"]["args"] == {"to": "SEA"}
    assert events[2]["payload"]["result"] == "HAT069"
    assert events[2]["parent_id"] == events[1]["event_id"]
    assert events[3]["parent_id"] == events[0]["event_id"]


@pytest.mark.parametrize(
    "document",
    [
        {"messages": CHAT, "model": "gpt-4o"},
        {"runs": [{"traj": CHAT}]},
        [{"task_id": 1, "trajectory": CHAT}],
        "\n".join(json.dumps(message) for message in CHAT),
        json.dumps({"messages": CHAT}) + "\n" + json.dumps({"messages": CHAT[:3], "id": "other"}),
    ],
    ids=["object", "runs under a key", "list of runs", "a message on each line", "a run on each line"],
)
def test_messages_are_found_wherever_they_stand(tmp_path: Path, data_dir: Path, document: Any) -> None:
    """Everybody stores transcripts a little differently."""
    outcomes = take(write(tmp_path / "chat.json", document))

    assert [outcome.problem for outcome in outcomes] == [""] * len(outcomes)
    assert outcomes[0].run is not None
    assert kinds(events_of(data_dir, outcomes[0].run.run_id))[:4] == ["RUN_START", "LLM_CALL", "TOOL_CALL", "LLM_CALL"]


def test_trials_that_went_the_same_way_are_runs_of_their_own(tmp_path: Path, data_dir: Path) -> None:
    """Three trials are three runs, and the same three when the file is imported again, here or somewhere else."""
    path = write(tmp_path / "trials.json", [{"messages": CHAT}] * 3)
    first = [outcome.run for outcome in take(path)]
    again = [outcome.run for outcome in take(path.rename(tmp_path / "moved.json"))]

    assert len({run.run_id for run in first if run}) == 3
    assert [run and (run.run_id, run.is_new) for run in again] == [run and (run.run_id, False) for run in first]


def test_a_stored_request_ends_with_its_response(tmp_path: Path, data_dir: Path) -> None:
    """A logged API call has the answer beside the messages, with what it used."""
    answer = {"role": "assistant", "content": "Four."}
    document = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "2+2?"}],
        "choices": [{"message": answer, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }

    call = imported(write(tmp_path / "request.json", document), data_dir)[1]["payload"]

    assert call["model"] == "gpt-4o"
    assert call["stop_reason"] == "stop"
    assert call["usage"]["total_tokens"] == 12
    assert call["cost_usd"] > 0


def test_facts_beside_the_messages_become_metadata(tmp_path: Path, data_dir: Path) -> None:
    """Task, trial and reward are what people filter benchmark runs by."""
    document = [{"task_id": 9, "trial": 2, "reward": 0.0, "info": {"big": 1}, "traj": CHAT}]

    start = imported(write(tmp_path / "airline.json", document), data_dir)[0]

    assert start["name"] == "airline 9/2"
    assert {key: start["meta"][key] for key in ("task_id", "trial", "reward")} == {
        "task_id": 9,
        "trial": 2,
        "reward": 0.0,
    }
    assert start["meta"]["imported_from"]["entry"] == "entry 1"


@pytest.mark.parametrize("key", ["metadata", "meta", "results"])
def test_scores_in_a_table_beside_the_messages_are_kept(tmp_path: Path, data_dir: Path, key: str) -> None:
    """They say whether the run did its task, however deep they stand."""
    document = {"messages": CHAT, key: {"task_id": 9, "eval": {"utility": False}}}

    start = imported(write(tmp_path / "judged.json", document), data_dir)[0]

    assert start["meta"][key] == {"task_id": 9, "eval": {"utility": False}}


@pytest.mark.parametrize(
    ("content", "error_type", "message"),
    [
        ("Error: no such flight", "Error", "no such flight"),
        ("KeyError: 'due'", "KeyError", "'due'"),
        ("Traceback (most recent call last):\n  File x\nValueError: bad", "ValueError", "bad"),
    ],
)
def test_a_tool_that_answers_with_an_error_failed(
    tmp_path: Path, data_dir: Path, content: str, error_type: str, message: str
) -> None:
    """A transcript has no other way to say so, and failures are what people look for."""
    chat = [*CHAT[:3], {**CHAT[3], "content": content}]

    call = imported(write(tmp_path / "chat.json", chat), data_dir)[2]["payload"]

    assert call["status"] == "error"
    assert (call["error"]["error_type"], call["error"]["message"]) == (error_type, message)


def test_a_text_about_errors_is_no_failure(tmp_path: Path, data_dir: Path) -> None:
    """A page that explains exceptions is a fine result."""
    chat = [*CHAT[:3], {**CHAT[3], "content": "How to read a KeyError: it names the key."}]

    assert imported(write(tmp_path / "chat.json", chat), data_dir)[2]["payload"]["status"] == "ok"


def test_content_blocks_are_read_too(tmp_path: Path, data_dir: Path) -> None:
    """Anthropic's messages hold calls and results as blocks."""
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sky"}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "blue"}]}],
        },
    ]

    tool = imported(write(tmp_path / "chat.json", chat), data_dir)[2]

    assert tool["name"] == "look"
    assert (tool["payload"]["args"], tool["payload"]["result"]) == ({"at": "sky"}, "blue")


def test_one_bad_entry_costs_only_itself(tmp_path: Path, data_dir: Path) -> None:
    """A file of a thousand runs is not refused because one is broken."""
    document = [{"traj": CHAT}, {"nothing": 1}, {"traj": [*CHAT[:3], "oops"]}, {"traj": CHAT[:3]}]

    outcomes = take(write(tmp_path / "runs.json", document))

    assert [outcome.entry for outcome in outcomes] == ["entry 1", "entry 2", "entry 3", "entry 4"]
    assert [outcome.run is not None for outcome in outcomes] == [True, False, False, True]
    assert "object with nothing" in outcomes[1].problem
    assert "message 4 is a text" in outcomes[2].problem


def test_a_torn_line_costs_only_itself(tmp_path: Path, data_dir: Path) -> None:
    """A log that was being written when it was copied ends in the middle of a line."""
    lines = [json.dumps({"messages": CHAT, "id": number}) for number in range(4)]
    lines[1] = lines[1][:40]

    outcomes = take(write(tmp_path / "runs.jsonl", "\n".join(lines)))

    assert sum(outcome.run is not None for outcome in outcomes) == 3
    assert [outcome.entry for outcome in outcomes if outcome.problem] == ["line 2"]


def test_a_long_prompt_keeps_its_newest_messages(tmp_path: Path, data_dir: Path) -> None:
    """What the model did next follows from what it was told last, not from what it was told first."""
    turns = [{"role": "user", "content": f"turn {number} " + "x" * 3000} for number in range(20)]
    chat = [{"role": "system", "content": "Rules."}, *turns, {"role": "assistant", "content": "Done."}]

    prompt = imported(write(tmp_path / "long.json", chat), data_dir)[1]["payload"]["prompt"]

    assert prompt[0] == {"role": "system", "content": "Rules."}
    (marker,) = [message["__TRUNCATED__"] for message in prompt if "__TRUNCATED__" in message]
    assert marker == f"{21 - len(prompt) + 1} messages, {round((21 - len(prompt) + 1) * 3.04)} kB"
    assert prompt[-1]["content"].startswith("turn 19 ")
    assert len(json.dumps(prompt, separators=(",", ":"))) <= 20_000


def test_loops_are_found_as_if_recorded(tmp_path: Path, data_dir: Path) -> None:
    """An imported run is judged like any other."""
    chat: list[dict[str, Any]] = [{"role": "user", "content": "Book it."}]
    for number in range(4):
        chat += [
            asks("book", {"seat": 1}, f"c{number}"),
            {"role": "tool", "tool_call_id": f"c{number}", "content": "Error: full"},
        ]

    events = imported(write(tmp_path / "loop.json", chat), data_dir)

    (warning,) = [event for event in events if event["event_type"] == "LOOP_WARNING"]
    assert warning["payload"]["severity"] == "critical"
    ids = {event["event_id"] for event in events}
    assert set(warning["payload"]["evidence_event_ids"]) <= ids
    assert events[-1]["payload"]["summary"]["loop_warnings"] == 1


GROUPS = Path(__file__).parent / "fixtures" / "chat"


@pytest.mark.parametrize("name", ["harbour-team.json", "tide-experts.json", "poets.jsonl"])
def test_every_message_of_a_group_is_a_step_called_by_its_speaker(data_dir: Path, name: str) -> None:
    """Who said the wrong thing is what is asked of a talk between agents."""
    text = (GROUPS / name).read_text()
    said = json.loads(text)["history"] if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]

    steps = imported(GROUPS / name, data_dir)[1:-1]

    assert [step["name"] for step in steps] == [message.get("name") or message["role"] for message in said]
    assert [step["meta"]["speaker"] for step in steps] == [step["name"] for step in steps]
    told = [step["payload"]["content" if step["event_type"] == "MESSAGE" else "response"] for step in steps]
    assert [one if isinstance(one, str) else one["content"] for one in told] == [message["content"] for message in said]


@pytest.mark.parametrize(("name", "secret"), [("harbour-team.json", "Quetzal"), ("tide-experts.json", "4 metres")])
def test_an_explanation_is_told_the_outcome_and_no_label(data_dir: Path, name: str, secret: str) -> None:
    """What people wrote about a run afterwards is what an explanation has to find out."""
    imported(GROUPS / name, data_dir)

    told = agentdbg("explain", "--json", AGENTDBG_DATA_DIR=str(data_dir))

    assert "mistake" not in told.out
    assert secret not in told.out
    assert told.json["outcome"]["outcome"] == "failed"
    assert {suspect["event"] for suspect in told.json["suspects"]} <= set(range(2, 10))


def test_people_in_a_chat_with_one_model_are_no_models(tmp_path: Path, data_dir: Path) -> None:
    """A name alone makes nobody an agent: what a person said was asked for and cost nothing."""
    talk = [
        {"role": "user", "name": "ada", "content": "When is high water?"},
        {"role": "assistant", "content": "At six."},
        {"role": "user", "name": "bob", "content": "And low water?"},
        {"role": "assistant", "content": "At noon."},
    ]

    assert kinds(imported(write(tmp_path / "two.json", talk[:2]), data_dir))[1:-1] == ["LLM_CALL"]
    both = imported(write(tmp_path / "three.json", talk), data_dir)
    assert kinds(both)[1:-1] == ["MESSAGE", "LLM_CALL", "MESSAGE", "LLM_CALL"]


def test_a_list_of_objects_with_other_roles_is_no_chat(tmp_path: Path) -> None:
    """A list of a company's people has roles, too."""
    path = write(tmp_path / "staff.json", [{"role": "engineer", "name": "Ada"}, {"role": "cook"}])

    with pytest.raises(NotReadable, match="no format that is known"):
        take(path)
