"""A suite of scenarios as a CI server sees it: one verdict, and for each scenario how steady it is."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentdbg.analysis.checks.suite import pass_hat, wilson
from tests.analysis.checks.runs import refund_story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable

    Cli = Callable[..., Ran]


@pytest.fixture
def gates(cli: Cli, data_dir: Path) -> Path:
    """A suite with a steady scenario of two runs, and an empty folder beside it."""
    folder = Path("gates")
    cli("baseline", store(data_dir, refund_story(), name="refund"), "--out", "gates/refund/baseline.json")
    for number, says in enumerate(("You get 40 back.", "40 are on their way.")):
        _add(cli, data_dir, f"gates/refund/runs/{number}.json", says=says)
    (folder / "notes").mkdir()
    return folder


def _add(cli: Cli, data_dir: Path, path: str, says: str = "You get 40 back.", amount: float = 40) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    ran = cli("export", store(data_dir, refund_story(amount=amount, says=says), name="refund"), "--out", path)
    assert ran.code == 0, ran.err


def test_a_suite_of_good_runs_passes(cli: Cli, gates: Path) -> None:
    """What a team wants to see nearly every day."""
    ran = cli("gate", str(gates))

    assert ran.code == 0, ran.out + ran.err
    assert ran.out == "PASS  1 scenario passed, 2 trials\n ✓ refund  2 of 2 passed (95 %: 34% to 100%), pass^2 1.00\n"


def test_a_flaky_scenario_says_so_and_fails_unless_some_failures_are_allowed(
    cli: Cli, gates: Path, data_dir: Path
) -> None:
    """One failure in three trials is neither a pass nor a broken agent."""
    _add(cli, data_dir, "gates/refund/runs/9.json", amount=4000)
    ran = cli("gate", str(gates))

    assert ran.code == 1
    assert " ✕ refund  flaky, failed: 2 of 3 passed" in ran.out
    assert "effects: Other side effects: #5: `refund` has other arguments." in ran.out
    assert cli("gate", str(gates), "--min-pass", "0.6").code == 0


def test_a_scenario_that_passed_has_no_failure_for_a_server_to_count(cli: Cli, gates: Path, data_dir: Path) -> None:
    """A server that finds a failure in the file stops the merge that the exit code allows."""
    _add(cli, data_dir, "gates/refund/runs/9.json", amount=4000)
    assert cli("gate", str(gates), "--min-pass", "0.6", "--out", "report").code == 0
    suites = ET.parse("report/junit.xml").getroot()

    assert suites.get("failures") == suites.get("errors") == suites[0].get("failures") == "0"
    assert not list(suites.iter("failure"))
    assert [flaky.get("type") for flaky in suites.iter("flakyFailure")] == ["check"]


def test_all_formats_are_written_into_one_folder(cli: Cli, gates: Path, data_dir: Path) -> None:
    """A workflow uploads one folder, and each reader finds its file in it."""
    _add(cli, data_dir, "gates/refund/runs/9.json", amount=4000)
    ran = cli("gate", str(gates), "--out", "made/report")
    out = Path("made/report")
    suites = ET.parse(out / "junit.xml").getroot()
    page = (out / "report.html").read_text()

    assert "Wrote 4 files into made/report: junit.xml, summary.md, report.html, gate.json." in ran.out
    assert [suite.get("name") for suite in suites] == ["refund"]
    assert suites.get("failures") == "1"
    assert {case.get("classname") for case in suites.iter("testcase")} == {f"refund.trial {n}" for n in (1, 2, 3)}
    assert "| ❌ | refund | flaky, failed |" in (out / "summary.md").read_text()
    assert "- amount: 40\n+ amount: 4000" in (out / "summary.md").read_text()
    assert page.count("Trial ") == 3
    assert "Compared with a run of the baseline" in page
    assert "≠ refund writes\n        args.amount  40 → 4000" in page
    assert "\\_" not in page  # it is no Markdown
    assert "<script" not in page
    assert json.loads((out / "gate.json").read_text())["scenarios"][0]["pass_hat"] == {"1": 0.6667, "2": 0.3333, "3": 0}


@pytest.mark.slow
def test_a_command_is_tried_as_often_as_asked(cli: Cli, gates: Path) -> None:
    """A live agent: each trial is a process of its own, and what it records is judged."""
    Path("agent.py").write_text(
        "import os, sys\nfrom agentdbg import tool, trace\n"
        "@tool(effect='write')\ndef pay(amount): return {'ok': True}\n"
        "@trace('pay')\ndef agent(): pay(int(sys.argv[1]))\nagent()\n"
    )
    place = gates / "pay"
    place.mkdir()
    (place / "policy.yaml").write_text("must_call: [pay]\nmax_errors: 0\n")
    (place / "scenario.yaml").write_text(f"command: {sys.executable} agent.py 40\ntrials: 3\n")
    broken = gates / "broken"
    broken.mkdir()
    (broken / "policy.yaml").write_text("max_errors: 0\n")
    (broken / "scenario.yaml").write_text(f"command: {sys.executable} -c 'raise SystemExit(7)'\n")
    ran = cli("gate", str(gates))

    assert ran.code == 1
    assert " ✓ pay     3 of 3 passed" in ran.out
    assert " ✕ broken  0 of 1 passed" in ran.out
    assert "exited with 7" in ran.out


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("comand: x\n", "'comand', which is not known"),
        ("command: x\ntrials: many\n", "which is not a number over 0"),
        ("runs: 5\n", "is not a list of files"),
        ("trials: 2\n", "has nothing to try"),
    ],
)
def test_a_mistake_in_a_scenario_is_named(cli: Cli, written: str, sentence: str) -> None:
    """A gate that reads half of its scenario checks half."""
    place = Path("gates/one")
    place.mkdir(parents=True)
    (place / "scenario.yaml").write_text(written)
    ran = cli("gate", "gates")

    assert ran.code == 2
    assert sentence in ran.err


def test_several_runs_are_asserted_at_once(cli: Cli, gates: Path, data_dir: Path) -> None:
    """What another job has uploaded is a folder of files."""
    _add(cli, data_dir, "gates/refund/runs/9.json", amount=4000)
    given = ("gates/refund/runs/*.json", "-b", "gates/refund/baseline.json")
    ran = cli("assert", *given)

    assert ran.code == 1
    assert ran.out.endswith("1 of 3 runs failed.\n")
    assert len(list(ET.fromstring(cli("assert", *given, "-f", "junit").out))) == 3
    assert [run["passed"] for run in json.loads(cli("assert", *given, "--json").out)["runs"]] == [True, True, False]
    assert "nothing matches" in cli("assert", "nowhere/*.json", "--max-errors", "0").err


def test_the_figures_are_those_of_the_textbook() -> None:
    """A confidence that is wrong is worse than none."""
    low, high = wilson(8, 10)

    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)
    assert pass_hat(3, 4, 2) == 0.5


def test_a_scenario_that_nobody_would_judge_is_refused(cli: Cli, gates: Path, data_dir: Path) -> None:
    """A forgotten baseline, or a folder one level too deep, must not make the suite pass."""
    (gates / "booking/runs").mkdir(parents=True)
    forgotten = cli("gate", str(gates))
    (gates / "booking/runs").rmdir()
    (gates / "booking/hotel").mkdir()
    (gates / "booking/hotel/baseline.json").write_text((gates / "refund/baseline.json").read_text())
    deeper = cli("gate", str(gates))

    assert forgotten.code == deeper.code == 2
    assert "has runs and nothing to judge them by" in forgotten.err
    assert "holds scenarios of its own, one level too deep" in deeper.err
