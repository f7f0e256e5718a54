"""
Real runs of real agents: the loops people found in them are found, the healthy ones are left alone.

The trajectories are public but not part of this project; without them these tests are skipped.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.loop_quality import KNOWN_LOOPS, real_runs

if TYPE_CHECKING:
    from agentdbg.loops import LoopFinding

DATA = Path(os.environ.get("AGENTDBG_TRAJECTORIES", Path(__file__).parents[3] / "shared" / "data"))

pytestmark = pytest.mark.skipif(not (DATA / "taubench-airline").exists(), reason="the public trajectories are not here")


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, list[LoopFinding]]]:
    """Findings by group and run."""
    return {title: {name: findings for name, findings, _ in judged} for title, judged in real_runs(DATA)}


def test_healthy_runs_are_left_alone(found: dict[str, dict[str, list[LoopFinding]]]) -> None:
    """Eighty-four solved tasks: not one critical finding, at most two warnings."""
    solved = found["tau-bench airline, solved"]
    worst = [{finding.severity for finding in findings} for findings in solved.values()]

    assert len(solved) == 84
    assert sum("critical" in severities for severities in worst) == 0
    assert sum("warning" in severities for severities in worst) <= 2


@pytest.mark.parametrize(("name", "tool"), list(KNOWN_LOOPS.items()))
def test_known_loops_are_found(found: dict[str, dict[str, list[LoopFinding]]], name: str, tool: str) -> None:
    """Each was found by a person reading the run."""
    (findings,) = [runs[name] for runs in found.values() if name in runs]
    severe = [finding for finding in findings if finding.severity != "info" and tool in finding.pattern]

    assert severe
    assert any(tool == example["name"] for example in severe[0].evidence)
