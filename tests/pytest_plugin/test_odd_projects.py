"""Tests as people really write them: classes, odd names, fixtures that run the agent, folders with spaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest_plugin.projects import Project

pytestmark = pytest.mark.slow


def test_classes_and_odd_names_are_recorded_each_in_a_folder_that_any_system_can_have(project: Project) -> None:
    """Ids hold slashes, dots and whatever else a parameter was; a folder's name may not."""
    project.test("""
import unittest

@pytest.mark.parametrize("name", ["a/b/../../c", "con:*?<>|", "ü" * 200, "..", "a\\\\b", " "])
def test_named(agentdbg_run, name):
    run_agent()
    assert agentdbg_run.path.is_dir()

class TestClass:
    def test_method(self, agentdbg_run):
        run_agent()
        agentdbg_run.assert_no_errors()

@pytest.mark.agentdbg(max_steps=3)
class TestUnit(unittest.TestCase):
    def test_too_many_steps(self):
        run_agent()
""")
    session = project.run("--agentdbg-dir", "kept runs")
    names = [folder.name for folder in (project.folder / "kept runs").iterdir()]

    assert session.outcomes == {"failed": 1, "passed": 7}
    assert "max_steps: 4 steps, 3 allowed" in session.out
    assert len(names) == 8
    assert not any(set(name) & set('/\\:*?"<>| ') or name.endswith(".") or len(name) > 100 for name in names)
    # What is printed to be typed can be typed.
    assert f"AGENTDBG_DATA_DIR='{project.folder}/kept runs/" in session.out


def test_a_fixture_that_runs_the_agent_is_recorded_when_it_takes_the_run(project: Project) -> None:
    """And one that does not is the first thing to suspect when nothing was recorded."""
    project.test("""
@pytest.fixture
def before():
    run_agent()

@pytest.fixture
def within(agentdbg_run):
    run_agent()

@pytest.mark.agentdbg(must_call=["refund"])
def test_before(before):
    pass

@pytest.mark.agentdbg(must_call=["refund"])
def test_within(within):
    pass
""")
    session = project.run()

    assert session.outcomes == {"failed": 1, "passed": 1}
    assert "FAILED test_agent.py::test_before" in session.out
    assert "No call was recorded in this test. A fixture that runs the agent is recorded if" in session.out


def test_the_data_folder_of_one_test_does_not_stay_for_the_next(project: Project) -> None:
    """`monkeypatch` puts back what it found, and what it found was ours."""
    project.test("""
import os

def test_one(agentdbg_run, monkeypatch):
    monkeypatch.setenv("AGENTDBG_DATA_DIR", "elsewhere")

def test_two(monkeypatch, agentdbg_run):
    monkeypatch.setenv("AGENTDBG_DATA_DIR", "elsewhere")

def test_three():
    assert os.environ["AGENTDBG_DATA_DIR"] == "mine"
""")
    assert project.run(AGENTDBG_DATA_DIR="mine").outcomes == {"passed": 3}


def test_a_check_that_cannot_be_meant_is_no_failure_of_the_agent(project: Project) -> None:
    """The mistake is in the test; a finding `critical` on the run would send people to the wrong place."""
    project.test("""
def test_it(agentdbg_run):
    run_agent()
    agentdbg_run.check(max_step=3)
""")
    session = project.run()

    assert session.outcomes == {"failed": 1}
    assert "this check has no rule 'max_step'; did you mean max_steps?" in session.out
    assert "0 errors" in session.out
    assert "policy.py" not in session.out


def test_effects_and_files_that_are_none_are_refused_by_name(project: Project) -> None:
    """`too many values to unpack`, deep inside a library, is no answer to a test that forgot the arguments."""
    project.test("""
@pytest.mark.parametrize("effects", [["refund"], {"refund": {}}, None, [("refund",)], [(1, {})]], ids=str)
def test_effects(agentdbg_run, effects):
    run_agent()
    agentdbg_run.assert_effects(effects)


@pytest.mark.agentdbg(baseline=5)
def test_baseline():
    run_agent()


@pytest.mark.agentdbg(policy=["strict.yaml"], max_tokens=9000)
def test_policy():
    run_agent()


def test_check(agentdbg_run):
    run_agent()
    agentdbg_run.check(baseline="")
""")
    session = project.run()

    assert session.outcomes == {"failed": 8}
    told = [line for line in session.out.splitlines() if line.startswith("E ")]
    assert (
        sum('assert_effects takes a list like [("refund", {"amount": 40})], or the file' in line for line in told) == 5
    )
    assert "; 'refund' is neither" in session.out
    assert "; {'refund': {}} is neither" in session.out
    assert "baseline is 5; it is the name of a file beside the test" in session.out
    assert "policy is ['strict.yaml']; it is the name of a file beside the test" in session.out
    assert "baseline is ''; it is the name of a file beside the test" in session.out
    assert "expectations.py" not in session.out


def test_a_baseline_that_cannot_be_written_is_said_and_ends_no_session(project: Project) -> None:
    """The other baselines are there, and the exit code is not that of a success."""
    (project.folder / "taken").write_text("")
    project.test("""
@pytest.mark.agentdbg(baseline="good.json")
def test_good():
    run_agent()

@pytest.mark.agentdbg(baseline="taken/b.json")
def test_taken():
    run_agent()
""")
    session = project.run("--agentdbg-update")

    assert session.code == 4
    assert "INTERNALERROR" not in session.out
    assert "wrote good.json, from 1 run" in session.out
    assert "taken/b.json cannot be written: " in session.out


def test_the_policy_says_what_writes_when_the_run_is_asked(project: Project) -> None:
    """`run.effects` and a check of the effects must not disagree about one tool."""
    (project.folder / ".agentdbg").mkdir()
    (project.folder / ".agentdbg" / "policy.yaml").write_text("write_tools: [find_order]\n")
    project.test("""
def test_effects(agentdbg_run):
    run_agent()
    assert [name for name, _ in agentdbg_run.effects] == ["find_order", "refund"]
    agentdbg_run.assert_effects(agentdbg_run.effects)
""")

    assert project.run().outcomes == {"passed": 1}


def test_a_tool_of_which_nobody_knows_what_it_changes_has_to_be_expected(project: Project) -> None:
    """`rm -rf /` in a test that lists the side effects it expects is not one of them."""
    project.test("""
@tool
def bash(command):
    return "done"


def test_unexpected(agentdbg_run):
    bash("frob -rf /")
    assert agentdbg_run.effects == []
    agentdbg_run.assert_effects([])


def test_expected(agentdbg_run):
    bash("frob -q")
    assert agentdbg_run.unknown_calls == [("bash", {"command": "frob -q"})]
    agentdbg_run.assert_effects(agentdbg_run.unknown_calls)
""")
    session = project.run()

    assert session.outcomes == {"passed": 1, "failed": 1}, session.out
    assert "AssertionError: effects: Side effects unknown: #3: `bash` is new." in session.out
    assert "`read_tools: [bash]`" in session.out


def test_an_agent_that_fails_in_a_fixture_is_reported_like_one_that_fails_in_a_test(project: Project) -> None:
    """Its run is what one wants to look at, wherever the agent was started."""
    project.test("""
@pytest.fixture
def answered(agentdbg_run):
    run_agent()
    raise ValueError("no such order")

def test_it(answered):
    pass
""")
    session = project.run()

    assert session.outcomes == {"error": 1}
    assert "2 model calls, 2 tool calls, 1 error" in session.out
    assert re.search(r"critical: #\d+ The first failure was ValueError: no such order", session.out)
    assert "agentdbg view" in session.out


def test_the_policy_nearest_to_the_test_holds(project: Project) -> None:
    """A repository of several projects is tested from its root, and each has its own rules."""
    for folder, steps in ((project.folder, 30), (project.folder / "shop", 3)):
        (folder / ".agentdbg").mkdir(parents=True)
        (folder / ".agentdbg" / "policy.yaml").write_text(f"max_steps: {steps}\n")
    project.test("@pytest.mark.agentdbg\ndef test_it():\n    run_agent()\n")
    (project.folder / "shop" / "test_shop.py").write_text((project.folder / "test_agent.py").read_text())
    session = project.run("--import-mode=append")

    assert session.outcomes == {"passed": 1, "failed": 1}
    assert "max_steps: 4 steps, 3 allowed" in session.out


def test_calls_in_a_second_run_are_not_passed_over_in_silence(project: Project) -> None:
    """A test that looks at one of two runs passes whatever the other did."""
    project.test("""
from agentdbg import traced_run

def one(limit):
    with traced_run("limited", max_tool_calls=limit):
        run_agent()

def test_one(agentdbg_run):
    one(5)
    assert agentdbg_run.tools == ["find_order", "refund"]

def test_two(agentdbg_run):
    one(5)
    one(6)

def test_two_and_a_failure(agentdbg_run):
    one(5)
    one(6)
    assert agentdbg_run.tools == []
""")
    session = project.run("-W", "default")

    assert session.outcomes == {"passed": 2, "failed": 1}
    assert session.out.count("agentdbg looks at one run of this test") == 1
    assert "calls were recorded in others too (limited)" in session.out
    strict = project.run("-W", "error")
    assert strict.outcomes == {"failed": 2, "passed": 1}
    assert "assert agentdbg_run.tools == []" in strict.out
    assert "test_two" in session.out
