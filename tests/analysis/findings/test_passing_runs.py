"""A failed run beside one that passed the same task: which of them is taken, and what is said on top."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.beside import told_beside
from agentdbg.analysis.findings import examine
from agentdbg.analysis.wording import text_of
from agentdbg.index.passing_runs import beside_passing
from agentdbg.index.run_index import RunIndex
from agentdbg.storage.reader import load_events, load_run_meta
from tests.analysis.story import Story
from tests.commands.stored import store

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.analysis.beside import Beside

Calls = list[tuple[str, dict[str, Any]]]
BOOKED: Calls = [("get_user", {"id": "u1"}), ("book_flight", {"flight": "HAT1", "cabin": "economy"})]


def _run(calls: Calls, asked: str = "Book me a seat on HAT1", outcome: bool | None = None) -> Story:
    story, prompt = Story(), [{"role": "user", "content": asked}]
    for name, args in calls:
        story.llm(prompt, {"content": "", "tool_calls": [{"function": {"name": name, "arguments": json.dumps(args)}}]})
        story.tool(name, args, {"ok": True, "seen": name})
    story.llm(prompt, "It is done.")
    if outcome is not None:
        story.write("OUTCOME", "passed" if outcome else "failed", {"passed": outcome, "score": None, "why": None})
    story.end()
    return story


def _sentences(failed: Calls, passed: Calls = BOOKED) -> list[str]:
    meta: Any = {"run_id": "p" * 36, "run_name": "good"}
    beside = told_beside(_run(failed).events, [(meta, _run(passed).events)])
    return [] if beside is None else [text_of(line) for line in beside.lines]


def test_a_write_with_another_argument_is_told_first() -> None:
    """Both values stand side by side, with the events of both runs."""
    first, second = _sentences([("get_user", {"id": "u1"}), ("book_flight", {"flight": "HAT1", "cabin": "business"})])
    assert first == 'book_flight #5 got cabin "business"; in the passing run (its #5) it got "economy".'
    assert second == (
        'First difference: this run #4 calls book_flight with flight: "HAT1", cabin: "business"; '
        'the passing run (its #4) calls book_flight with flight: "HAT1", cabin: "economy".'
    )


def test_a_missing_write_is_told_and_one_too_many() -> None:
    """What was not done leaves no event of its own, so that of the other run is named."""
    (missing, parting) = _sentences(BOOKED[:1])
    assert missing.startswith("The passing run called book_flight with ")
    assert missing.endswith("(its #5); this run never did.")
    assert parting == "First difference: this run #4 answers; the passing run (its #4) calls book_flight."
    extra = _sentences([*BOOKED, ("cancel_flight", {"flight": "HAT9"})])[0]
    assert extra.startswith("cancel_flight #7 was called with ")
    assert extra.endswith("the passing run did not do that.")


def test_of_several_the_nearest_is_taken_and_equal_runs_say_nothing() -> None:
    """Good runs differ too; the one that did nearly the same shows what matters."""
    far, near = _run([("delete_user", {"id": "u1"}), ("delete_user", {"id": "u2"})]), _run(BOOKED)
    metas: Any = [{"run_id": "far", "run_name": "far"}, {"run_id": "near", "run_name": "near"}]
    beside = told_beside(_run(BOOKED[:1]).events, zip(metas, (far.events, near.events), strict=True))
    assert beside is not None
    assert beside.run_id == "near"
    assert _sentences(BOOKED) == []


def _beside(data_dir: Path, failed: dict[str, Any], passed: dict[str, Any], **asked: Any) -> Beside | None:
    """What is said of a failed run in a folder that holds one other."""
    stored = []
    for story, given in ((_run(BOOKED, **asked), passed), (_run(BOOKED[:1]), failed)):
        run_id = store(data_dir, story, name=given.pop("name", "agent"))
        path = data_dir / "runs" / run_id / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | given), "utf-8")
        stored.append(run_id)
    runs = RunIndex(data_dir)
    runs.refresh()
    meta = load_run_meta(stored[1], data_dir)
    return beside_passing(runs, meta, examine(load_events(stored[1], data_dir), meta)).beside


def test_the_suspect_that_the_difference_shows_comes_first(data_dir: Path) -> None:
    """Two writes are suspect alike; the passing run made one of them too."""
    charged: Calls = [("charge_card", {"amount": 80}), ("send_mail", {"to": "ann"})]
    passed = store(data_dir, _run([*BOOKED, *charged]), name="agent")
    failed = store(data_dir, _run([*BOOKED, ("charge_card", {"amount": 300}), charged[1]]), name="agent")
    for run_id, reward in ((passed, 1), (failed, 0)):
        path = data_dir / "runs" / run_id / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"metadata": {"reward": reward}}), "utf-8")
    runs = RunIndex(data_dir)
    runs.refresh()
    meta = load_run_meta(failed, data_dir)

    found = beside_passing(runs, meta, examine(load_events(failed, data_dir), meta))

    assert found.beside is not None
    assert "charge_card" in found.suspects[0].sentence
    assert [suspect.rank for suspect in found.suspects] == [1, 2, 3]


FAILED, PASSED = {"metadata": {"reward": 0}}, {"metadata": {"reward": 1}}
LONG = {"llm_calls": 2_000, "tool_calls": 2_000, "errors": 0, "loop_warnings": 0}


@pytest.mark.parametrize(
    ("failed", "passed", "asked", "is_same"),
    [
        ({}, {}, {}, True),
        ({"metadata": {"reward": 0, "task_id": 3}}, {"metadata": {"reward": 1, "task_id": 3}}, {"asked": "Hi"}, True),
        ({"metadata": {"reward": 0, "task_id": 3}}, {"metadata": {"reward": 1, "task_id": 4}}, {}, False),
        (
            {"name": "air 3/1", "metadata": {"reward": 0, "task_id": 3}},
            {"name": "shop 3/1", "metadata": {"reward": 1, "task_id": 3}},
            {},
            False,
        ),
        ({}, {}, {"asked": "What is the weather in Porto today?"}, False),
        ({}, {"metadata": {}}, {}, False),
        ({}, {"metadata": {}}, {"outcome": True}, True),
        ({}, {"metadata": {}}, {"outcome": False}, False),
        ({}, {"event_counts": None, "counts": LONG}, {}, False),
    ],
    ids=[
        "request",
        "task id",
        "other task",
        "other set",
        "other request",
        "unknown",
        "recorded",
        "recorded failed",
        "too long to be read, by an older writer",
    ],
)
def test_only_a_run_of_the_same_task_that_passed_is_taken(
    data_dir: Path, failed: dict[str, Any], passed: dict[str, Any], asked: dict[str, Any], is_same: bool
) -> None:
    """Another task's run would say that everything is different, and one that nobody judged may be wrong too."""
    beside = _beside(data_dir, {**FAILED, **failed}, {**PASSED, **passed}, **asked)
    assert (beside is not None) is is_same
