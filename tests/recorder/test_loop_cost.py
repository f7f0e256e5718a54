"""What loops cost, told where people look first: RUN_END, run.json and the lists."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from agentdbg import record_llm_call, record_tool_call, traced_run
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
