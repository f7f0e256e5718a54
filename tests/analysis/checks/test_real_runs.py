"""
The gate on repeated trials of a real agent: it leaves good runs in peace and stops most of the bad ones.

The trajectories are public but not part of this project; without them these tests are skipped.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from agentdbg.analysis.checks import judge
from agentdbg.analysis.checks.policy import make_policy
from agentdbg.analysis.checks.run_baseline import baseline_of, combine
from agentdbg.analysis.checks.run_facts import RunFacts, gather
from agentdbg.analysis.effects import EffectRules
from agentdbg.storage import list_runs, load_events
from tests.interop.files import DATA, agentdbg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from agentdbg.events import Event, RunMeta

    ByTask = Mapping[int, list[RunFacts]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "taubench-airline").exists(), reason="the public trajectories are not here"),
]

_RULES = EffectRules(("book_*", "cancel_*", "update_*", "send_*"))
_POLICY = make_policy(with_baseline=True)


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> tuple[ByTask, ByTask]:
    """The good and the bad runs by task."""
    data_dir = tmp_path_factory.mktemp("real") / "data"
    assert agentdbg("import", DATA / "taubench-airline", AGENTDBG_DATA_DIR=str(data_dir)).code == 0
    good: dict[int, list[RunFacts]] = defaultdict(list)
    bad: dict[int, list[RunFacts]] = defaultdict(list)
    for run in list_runs(None, data_dir):
        side = good if run["metadata"].get("reward") == 1.0 else bad
        side[run["metadata"]["task_id"]].append(gather(_reader(run, data_dir), run, _RULES))
    return good, bad


def _reader(run: RunMeta, data_dir: Path) -> Callable[[], Iterable[Event]]:
    return lambda: load_events(run["run_id"], data_dir)


def _blocks(facts: RunFacts, *good: RunFacts) -> bool:
    return not judge(facts, _POLICY, combine(baseline_of(one) for one in good)).passed


def test_good_runs_pass_against_each_other(trials: tuple[ByTask, ByTask]) -> None:
    """A gate that cries wolf is switched off: of 164 comparisons none is stopped."""
    good, _ = trials
    judged = [_blocks(one, other) for runs in good.values() for one in runs for other in runs if one is not other]

    assert len(judged) == 164
    assert sum(judged) == 0


def test_good_runs_pass_against_two_others(trials: tuple[ByTask, ByTask]) -> None:
    """Two runs already know the noise of their agent."""
    good, _ = trials
    judged = [
        _blocks(one, *others)
        for runs in good.values()
        for one in runs
        for others in combinations([run for run in runs if run is not one], 2)
    ]

    assert len(judged) == 132
    assert sum(judged) == 0


def test_most_bad_runs_are_stopped(trials: tuple[ByTask, ByTask]) -> None:
    """Bad runs here left the wrong things behind, and seven of 88 did not even that."""
    good, bad = trials
    judged = [_blocks(one, other) for task, runs in good.items() for other in runs for one in bad.get(task, [])]

    assert len(judged) == 88
    assert sum(judged) >= 80
