"""
Findings on real runs: healthy ones are left in peace, known troubles are named.

The trajectories are public but not part of this project; without them these tests are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.analysis.findings import Finding, find
from agentdbg.storage import list_runs, load_events
from tests.interop.files import DATA, agentdbg

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.events import Event, RunMeta

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "taubench-airline").exists(), reason="the public trajectories are not here"),
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[RunMeta, list[Finding]]]:
    data_dir = tmp_path_factory.mktemp("real") / "data"
    assert agentdbg("import", DATA, AGENTDBG_DATA_DIR=str(data_dir)).code == 0
    return [(run, find(_unrewarded(run, data_dir), {**run, "metadata": {}})) for run in list_runs(None, data_dir)]


def _unrewarded(run: RunMeta, data_dir: Path) -> Iterator[Event]:
    """The events without what the run says of its reward: nothing is said of a run known to be good."""
    for event in load_events(run["run_id"], data_dir):
        yield {**event, "meta": {}} if event["event_type"] == "RUN_START" else event


def test_healthy_runs_have_nothing_above_info(judged: list[tuple[RunMeta, list[Finding]]]) -> None:
    """Of 84 solved tasks one made the same failing call four times; that is really so, and the only warning."""
    healthy = [(run, found) for run, found in judged if run["metadata"].get("reward") == 1.0]
    troubled = {
        (run["metadata"]["task_id"], run["metadata"]["trial"]): {
            finding.kind for finding in found if finding.severity != "info"
        }
        for run, found in healthy
        if any(finding.severity != "info" for finding in found)
    }

    assert len(healthy) == 84
    assert all(finding.severity != "critical" for _, found in healthy for finding in found)
    assert troubled == {(13, 2): {"swallowed_error", "loop"}}


def test_a_tool_called_wrongly_ten_times_is_named_with_its_mistake(
    judged: list[tuple[RunMeta, list[Finding]]],
) -> None:
    """`page_down` takes no arguments, and was given one without a name."""
    (found,) = [found for run, found in judged if "59365b27641e501d" in (run["run_name"] or "")]
    by_kind = {finding.kind: finding for finding in found}

    assert by_kind["arguments_misfit"].evidence.count == 10
    assert "an argument without a name is not in its schema" in by_kind["arguments_misfit"].sentence
    assert by_kind["swallowed_error"].evidence.count == 10
    assert by_kind["loop"].severity == "critical"


def test_a_rate_limit_that_ended_a_run_is_its_first_failure(judged: list[tuple[RunMeta, list[Finding]]]) -> None:
    """Three frameworks deep, and still the model's refusal is what happened."""
    (found,) = [found for run, found in judged if "swe-bench" in (run["run_name"] or "")]

    assert found[0].kind == "first_failure"
    assert found[0].severity == "critical"
    assert "RateLimitError" in found[0].sentence
    assert "It ended the run" in found[0].sentence
