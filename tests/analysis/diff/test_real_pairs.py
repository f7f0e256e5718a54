"""
Every two runs of the same task among 200 real ones: nothing is lost, and the verdict tells good from bad.

The trajectories are public but not part of this project; without them these tests are skipped.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from agentdbg.analysis.diff import Diff, apply, compare, make_patch, mirror, mirror_patch
from agentdbg.analysis.effects import EffectRules
from agentdbg.storage import list_runs, load_events
from tests.interop.files import DATA, agentdbg

if TYPE_CHECKING:
    from agentdbg.events import Event

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "taubench-airline").exists(), reason="the public trajectories are not here"),
]

RULES = EffectRules(write_tools=("book_*", "cancel_*", "update_*", "send_*"))


class Compared(NamedTuple):
    """Two runs of one task, whether each solved it, and the comparison."""

    a: list[Event]
    b: list[Event]
    solved: tuple[bool, bool]
    diff: Diff


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    data_dir = tmp_path_factory.mktemp("real") / "data"
    assert agentdbg("import", DATA / "taubench-airline", AGENTDBG_DATA_DIR=str(data_dir)).code == 0
    tasks: dict[Any, list[tuple[list[Event], bool]]] = {}
    for meta in sorted(list_runs(None, data_dir), key=lambda meta: str(meta["metadata"])):
        run = list(load_events(meta["run_id"], data_dir)), meta["metadata"]["reward"] == 1.0
        tasks.setdefault(meta["metadata"]["task_id"], []).append(run)
    return [
        Compared(a, b, (good, also_good), compare(a, b, RULES))
        for runs in tasks.values()
        for (a, good), (b, also_good) in combinations(runs, 2)
    ]


def test_every_pair_is_rebuilt_exactly(pairs: list[Compared]) -> None:
    """B from A and the difference, and A from B, through JSON."""
    assert len(pairs) == 300
    for pair in pairs:
        patch = json.loads(json.dumps(make_patch(pair.a, pair.b, pair.diff)))

        assert apply(pair.a, patch) == pair.b
        assert apply(pair.b, mirror_patch(patch)) == pair.a


def test_every_pair_swapped_is_the_mirrored_comparison(pairs: list[Compared]) -> None:
    """Which one is called A decides nothing."""
    for pair in pairs:
        assert mirror(pair.diff).to_json() == compare(pair.b, pair.a, RULES).to_json()


def test_the_first_difference_is_where_equal_beginnings_end(pairs: list[Compared]) -> None:
    """Counted without our reader: how many events at the beginning are equal but for their ids and times."""
    for pair in pairs:
        equal = 0
        for left, right in zip(_plain(pair.a), _plain(pair.b), strict=False):
            if left != right:
                break
            equal += 1
        before = pair.diff.rows[: pair.diff.first_difference]

        assert sum(row.kind != _LOOP for row in before) == equal


def test_before_they_part_both_runs_do_the_same(pairs: list[Compared]) -> None:
    """Counted without our reader: up to there, the same tools with the same arguments in the same order."""
    parted = 0
    for pair in pairs:
        at = pair.diff.first_divergence
        numbers = [{row.a for row in pair.diff.rows[:at]}, {row.b for row in pair.diff.rows[:at]}]
        done = [
            [_action(event) for number, event in enumerate(run, 1) if number in mine and _action(event)]
            for run, mine in zip((pair.a, pair.b), numbers, strict=True)
        ]
        parted += at is not None

        assert done[0] == done[1]
    assert parted > 250


def test_the_effects_tell_good_runs_from_bad_ones(pairs: list[Compared]) -> None:
    """Two good runs take different steps and leave the same behind; a bad one does not."""
    found = Counter((sum(pair.solved), pair.diff.verdict) for pair in pairs)
    both_good = found[2, "same"] + found[2, "same_effects"]
    print(
        f"same effects in {both_good} of 82 good pairs, different in {found[1, 'different_effects']} of 88 mixed ones"
    )

    assert sum(count for (solved, _), count in found.items() if solved == 2) == 82
    assert sum(count for (solved, _), count in found.items() if solved == 1) == 88
    assert both_good == 82
    assert found[1, "different_effects"] == 81


def test_guessing_by_name_gives_the_same_verdicts(pairs: list[Compared]) -> None:
    """Most people declare nothing, and these tools are named by what they do."""
    for pair in pairs:
        assert compare(pair.a, pair.b).verdict == pair.diff.verdict


_LOOP = 5


def _plain(run: list[Event]) -> list[Any]:
    """Each event as far as it is not new every time; findings of ours left out."""
    told: list[Any] = []
    for event in run:
        payload = event["payload"]
        if event["event_type"] == "LLM_CALL":
            told.append(_without_ids([payload["prompt"], payload["response"], payload["status"], payload["error"]]))
        elif event["event_type"] == "TOOL_CALL":
            told.append([event["name"], payload["args"], payload["result"], payload["error"]])
        elif event["event_type"] != "LOOP_WARNING":
            told.append([event["event_type"], payload.get("status")])
    return told


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_ids(item) for key, item in value.items() if key not in ("id", "tool_call_id")}
    return [_without_ids(item) for item in value] if isinstance(value, list) else value


def _action(event: Event) -> str | None:
    """A tool call; what the agent only thinks, looks up as text or says to a person is wording."""
    if event["event_type"] != "TOOL_CALL" or event["name"] in ("think", "transfer_to_human_agents"):
        return None
    return event["name"] + json.dumps(event["payload"]["args"], sort_keys=True)
