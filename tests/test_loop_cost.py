"""What loops cost, told where people look first: RUN_END, run.json and the lists."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_llm_call, record_tool_call, traced_run
from agentdbg.events import Event, new_id, utc_timestamp
from agentdbg.loops import LoopDetector
from agentdbg.recorder.counters import Counters
from agentdbg.recorder.guardrails import Guards, Limits
from agentdbg.storage import load_run_meta

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Recorded, RecordedRun


def _round(cost_usd: float | None = 0.25) -> None:
    record_llm_call("m", "find it", "let me look", cost_usd=cost_usd)
    record_tool_call("search", {"q": "x"}, {"hits": []})


def _work(number: int) -> None:
    words = random.Random(number)
    said = " ".join("".join(words.choices("abcdefghij", k=7)) for _ in range(12))
    record_llm_call("m", said, said[::-1], cost_usd=1.0)
    record_tool_call(f"tool_{number}", {"q": said}, {"page": number, "text": said})


def _loop_cost(run: RecordedRun) -> float | None:
    cost: float | None = run.one("RUN_END")["payload"]["summary"]["loop_cost_usd"]
    assert run.meta["loop_cost_usd"] == cost
    return cost


def test_a_loop_costs_what_was_spent_from_its_first_round_to_its_last(recorded: Recorded) -> None:
    """The warning comes after three rounds; the bill comes for all of them, and for nothing but them."""
    with traced_run("r"):
        for number in range(5):
            _work(number)
        for _ in range(20):
            _round()
        for number in range(5, 9):
            _work(number)

    run = recorded.only()
    assert run.meta["cost_usd"] == pytest.approx(14.0)
    assert _loop_cost(run) == pytest.approx(5.0)


def test_two_loops_add_up_and_work_between_them_does_not(recorded: Recorded) -> None:
    """Also when the run falls back into the loop it had left."""
    with traced_run("r"):
        for part in range(2):
            for _ in range(6):
                _round()
            for number in range(30):
                _work(part * 100 + number)

    cost = _loop_cost(recorded.only())
    # What brings the run back into a loop that was told before is known only after some rounds of it.
    assert cost is not None
    assert 1.5 <= cost <= 3.0


def test_a_healthy_run_and_one_without_prices_have_no_cost_of_loops(recorded: Recorded) -> None:
    """Unknown is not nothing, and neither is it a sum."""
    with traced_run("healthy"):
        for number in range(6):
            _work(number)
    with traced_run("unpriced"):
        for _ in range(8):
            _round(None)

    assert [_loop_cost(run) for run in recorded.all()] == [None, None]


def test_a_run_nobody_closed_says_what_its_loops_had_cost_when_told(recorded: Recorded, data_dir: Path) -> None:
    """Counted from the events alone, as a crash leaves them."""
    with traced_run("r"):
        for _ in range(8):
            _round()
    run = recorded.only()
    folder = run.path
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    warning = run.one("LOOP_WARNING")["payload"]
    (folder / "run.json").unlink()

    assert load_run_meta(folder.name, data_dir)["loop_cost_usd"] == pytest.approx(2.0)
    (folder / "events.jsonl").write_bytes(b"".join(lines[:-1]))
    assert load_run_meta(folder.name, data_dir)["loop_cost_usd"] == warning["spent"]["cost_usd"] == 0.75
    assert json.loads(lines[-1])["event_type"] == "RUN_END"


@pytest.mark.parametrize("seed", range(16))
def test_a_loop_that_only_goes_round_is_added_up_late_and_to_the_same_sum(seed: int) -> None:
    """While nothing else happens one sum does for all rounds; nobody may see the difference."""
    late, at_once = _spent_on_loops(seed, settle_each=False), _spent_on_loops(seed, settle_each=True)
    assert late == pytest.approx(at_once)
    assert late[0] > 0


def _spent_on_loops(seed: int, *, settle_each: bool) -> list[float]:
    """The cost of loops and of everything, after answers, calls, states and errors of which many come again."""
    counters, chance = Counters(), random.Random(seed)
    guards = Guards(Limits(), counters, LoopDetector)
    for number in range(25):
        kind = chance.choice(["model", "model", "both", "work", "state", "error"])
        for _ in range(chance.choice([1, 2, 5, 12, 40])):
            for event in _made(kind, number, chance):
                guards.judge(event, 0.0, is_span=False)
                if settle_each:
                    guards.settle()
    guards.last_finding()
    return [counters.loop_cost_usd, counters.cost_usd]


def _made(kind: str, number: int, chance: random.Random) -> list[Event]:
    asked = "find it" if kind != "work" else " ".join(chance.choices("abcdefghij", k=30))
    answer = {"prompt": asked, "response": f"{asked} again", "status": "ok", "usage": None, "cost_usd": 0.125}
    call: dict[str, Any] = {
        "tool_name": "search",
        "args": {"q": asked},
        "result": {"hits": []},
        "status": "ok",
        "error": None,
    }
    parts: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
        "model": [("LLM_CALL", "m", answer)],
        "both": [("LLM_CALL", "m", answer), ("TOOL_CALL", "search", call)],
        "work": [("LLM_CALL", "m", answer), ("TOOL_CALL", f"tool_{number}", call)],
        "state": [("STATE_UPDATE", "state", {"state": {"step": number}, "diff": {}})],
        "error": [("ERROR", "ValueError", {"error_type": "ValueError", "message": "no"})],
    }
    return [
        Event(
            spec_version="0.1", event_id=new_id(), run_id="r", parent_id=None, event_type=event_type,
            ts=utc_timestamp(), duration_ms=None, name=name, payload=payload, meta={},
        )
        for event_type, name, payload in parts[kind]
    ]  # fmt: skip
