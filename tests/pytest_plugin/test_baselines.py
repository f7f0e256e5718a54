"""Baselines of tests: missing, accepted, compared, accepted anew; in one process and in several."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.pytest_plugin.projects import XDIST

if TYPE_CHECKING:
    from tests.pytest_plugin.projects import Project

pytestmark = pytest.mark.slow

MARKED = """
import os


@pytest.mark.agentdbg(baseline="baselines/refund.json")
def test_refund():
    run_agent(amount=int(os.environ.get("AMOUNT", 40)), tokens=int(os.environ.get("TOKENS", 100)))
"""


def test_a_baseline_is_accepted_compared_and_accepted_anew(project: Project) -> None:
    """The whole life of a snapshot, each step with the words that lead to the next."""
    project.test(MARKED)
    missing = project.run()
    accepted = project.run("--agentdbg-update")
    same = project.run()
    other = project.run(AMOUNT="4000")
    costly = project.run(TOKENS="200")
    anew = project.run("--agentdbg-update", AMOUNT="4000")
    after = project.run(AMOUNT="4000")

    assert "yet; `pytest --agentdbg-update` accepts this run as the first" in missing.out
    assert "wrote baselines/refund.json, from 1 run" in accepted.out
    assert accepted.outcomes == same.outcomes == {"passed": 1}
    assert other.outcomes == {"failed": 1}
    assert "  - amount: 40\n  + amount: 4000\n" in other.out
    assert "If this is what the agent should do now: pytest --agentdbg-update" in other.out
    assert "max_tokens: 420 tokens, 385 allowed: the baseline's 1 run needed 220" in costly.out
    assert anew.outcomes == after.outcomes == {"passed": 1}


def test_updating_leaves_a_baseline_alone_that_says_the_same(project: Project) -> None:
    """A hundred files with new ids and times in them hide the one whose side effects changed."""
    project.test(MARKED)
    project.run("--agentdbg-update")
    path = project.folder / "baselines" / "refund.json"
    before = path.read_bytes()
    again = project.run("--agentdbg-update")

    assert again.outcomes == {"passed": 1}
    assert "kept baselines/refund.json, which says the same" in again.out
    assert path.read_bytes() == before
    assert "wrote baselines/refund.json, from 1 run" in project.run("--agentdbg-update", TOKENS="101").out


def test_updating_accepts_a_run_that_only_took_longer_where_that_is_asked(project: Project) -> None:
    """Otherwise the test fails, says that an update accepts it, and fails after the update too."""
    project.test("""
@pytest.mark.agentdbg(baseline="refund.json", max_duration_s="baseline")
def test_refund():
    __import__("time").sleep(0.01)
    run_agent()
""")
    project.run("--agentdbg-update")
    path = project.folder / "refund.json"
    path.write_text(re.sub(r'"duration_ms": \[\d+\]', '"duration_ms": [1]', path.read_text()))

    assert project.run().outcomes == {"failed": 1}
    assert "wrote refund.json, from 1 run" in project.run("--agentdbg-update").out


def test_an_assertion_on_a_file_is_accepted_the_same_way(project: Project) -> None:
    """Effects alone, for tests that do not care what else happened."""
    project.test(
        """
def test_refund(agentdbg_run):
    run_agent(tokens=100 if agentdbg_run.data_dir else 0)
    agentdbg_run.assert_effects("refund.json")
"""
    )

    assert "there is no baseline" in project.run().out
    assert "wrote refund.json" in project.run("--agentdbg-update").out
    assert project.run().outcomes == {"passed": 1}


def test_a_test_that_fails_writes_no_baseline(project: Project) -> None:
    """Nobody accepts what they know to be wrong."""
    project.test(MARKED + "    assert False\n")
    session = project.run("--agentdbg-update")

    assert session.outcomes == {"failed": 1}
    assert "nothing was written" in session.out
    assert not (project.folder / "baselines").exists()


def test_updating_still_makes_the_other_checks(project: Project) -> None:
    """A limit is not a snapshot."""
    project.test(MARKED.replace('refund.json"', 'refund.json", max_tokens=10'))
    session = project.run("--agentdbg-update")

    assert session.outcomes == {"failed": 1}
    assert not (project.folder / "baselines").exists()


def test_tests_that_share_a_baseline_make_it_together(project: Project) -> None:
    """Repeating a test is how a baseline learns the noise of its agent."""
    project.test(
        """
@pytest.mark.parametrize("tokens", [100, 150, 200])
@pytest.mark.agentdbg(baseline="refund.json")
def test_refund(tokens):
    run_agent(tokens=tokens)
"""
    )
    session = project.run("--agentdbg-update", *XDIST)
    stored = json.loads((project.folder / "refund.json").read_text())

    assert session.outcomes == {"passed": 3}, session.out
    assert session.out.count("wrote refund.json, from 3 runs") == 1
    assert sorted(stored["totals"]["total_tokens"]) == [220, 320, 420]
    assert project.run().outcomes == {"passed": 3}


def test_the_order_in_which_tests_ran_is_no_news(project: Project) -> None:
    """Workers finish as they like, and plugins shuffle; a review would show numbers that only changed places."""
    project.test("""
@pytest.mark.parametrize("case", [3, 1, 2, 4])
@pytest.mark.agentdbg(baseline="refund.json", effects="off", max_tokens="off", max_cost_usd="off")
def test_refund(case):
    run_agent(amount=case % 2, tokens=100 * case)
""")
    project.run("--agentdbg-update")
    path = project.folder / "refund.json"
    before = path.read_bytes()
    backwards = project.run("--agentdbg-update", *(f"test_agent.py::test_refund[{case}]" for case in (4, 2, 1, 3)))
    stored = json.loads(before)
    for column in (*stored["tools"].values(), *stored["totals"].values()):
        column.reverse()
    path.write_text(json.dumps(stored))
    by_hand = project.run("--agentdbg-update")

    assert stored["totals"]["total_tokens"] == [820, 620, 420, 220]
    assert "kept refund.json, which says the same" in backwards.out
    assert "kept refund.json, which says the same" in by_hand.out


def test_xdist_workers_report_their_runs_and_failures(project: Project) -> None:
    """The section of a failed test travels from the worker to the one who reads it."""
    project.test(
        """
@pytest.mark.parametrize("amount", [40, 41, 42, 43])
def test_refund(agentdbg_run, amount):
    run_agent(amount=amount)
    assert agentdbg_run.tools == ["find_order", "refund"]
    agentdbg_run.assert_effects([("refund", {"order_id": "A-17", "amount": 40})])
"""
    )
    session = project.run(*XDIST)

    assert session.outcomes == {"passed": 1, "failed": 3}, session.out
    assert session.out.count("-- agentdbg --") == 3
    assert session.out.count("folder: ") == 3


def test_a_damaged_baseline_fails_with_its_name(project: Project) -> None:
    """A merge conflict in a JSON file, most likely."""
    project.test(MARKED)
    (project.folder / "baselines").mkdir()
    (project.folder / "baselines" / "refund.json").write_text("<<<<<<< HEAD\n")
    session = project.run()

    assert session.outcomes == {"failed": 1}
    assert "refund.json is not JSON" in session.out


def test_one_run_is_the_baseline_of_several_tests_and_stays_as_it_is(project: Project) -> None:
    """A recorded run that three tests compare with is not rewritten because three tests did the same."""
    project.test("""
@pytest.mark.agentdbg(baseline="refund.json")
def test_first():
    run_agent()
""")
    project.run("--agentdbg-update")
    before = (project.folder / "refund.json").read_bytes()
    project.test("""
@pytest.mark.parametrize("case", [1, 2, 3])
@pytest.mark.agentdbg(baseline="refund.json")
def test_refund(case):
    run_agent()
""")
    session = project.run("--agentdbg-update")

    assert session.outcomes == {"passed": 3}, session.out
    assert "kept refund.json, which says the same" in session.out
    assert (project.folder / "refund.json").read_bytes() == before
