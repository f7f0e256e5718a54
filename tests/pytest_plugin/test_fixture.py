"""The fixture and the marker, in pytest sessions of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pytest_plugin.projects import ASYNC

if TYPE_CHECKING:
    from tests.pytest_plugin.projects import Project

pytestmark = pytest.mark.slow


def test_the_run_says_what_the_agent_did(project: Project) -> None:
    """Everything an assertion is likely to be about, without a line of set-up."""
    project.test(
        """
def test_run(agentdbg_run):
    run_agent()

    assert agentdbg_run.tools == ["find_order", "refund"]
    assert agentdbg_run.effects == [("refund", {"amount": 40, "order_id": "A-17"})]
    assert agentdbg_run.args_of("find_order") == [{"order_id": "A-17"}]
    assert agentdbg_run.answer == "You get 40 back."
    assert (agentdbg_run.llm_calls, agentdbg_run.tool_calls, agentdbg_run.steps) == (2, 2, 4)
    assert agentdbg_run.total_tokens == 220
    assert 0 < agentdbg_run.cost_usd < 0.01
    assert agentdbg_run.errors == agentdbg_run.loops == []
    assert agentdbg_run.status == "ok"
    assert (agentdbg_run.path / "events.jsonl").exists()
    assert agentdbg_run.events[0]["event_type"] == "RUN_START"
    agentdbg_run.assert_no_loops()
    agentdbg_run.assert_no_errors()
    agentdbg_run.assert_effects([("refund", {"order_id": "A-17", "amount": 40})])
    agentdbg_run.check(must_call=["refund"], max_tokens=1000)


def test_each_test_has_its_own(agentdbg_run):
    assert agentdbg_run.tools == []
"""
    )
    session = project.run()

    assert session.outcomes == {"passed": 2}, session.out


def test_nothing_goes_to_the_users_own_data_folder(project: Project, tmp_path: Path) -> None:
    """A hundred test runs in `agentdbg list` would hide the ones a person is looking for."""
    project.test("def test_run(agentdbg_run):\n    run_agent()\n")
    project.run(AGENTDBG_DATA_DIR=str(tmp_path / "mine"))

    assert not (tmp_path / "mine").exists()


def test_a_failure_names_the_difference_the_run_and_its_findings(project: Project) -> None:
    """What a person needs next is in the report, and the test's own line is the last one of the traceback."""
    project.test(
        """
def test_amount(agentdbg_run):
    run_agent(amount=4000)
    agentdbg_run.assert_effects([("refund", {"order_id": "A-17", "amount": 40})])


def test_loop(agentdbg_run):
    for _ in range(5):
        find_order("A-17")
    assert agentdbg_run.tools == ["find_order"]


def test_cost(agentdbg_run):
    record_llm_call("nobody-knows", prompt="p", response="r")
    assert agentdbg_run.cost_usd < 1
"""
    )
    session = project.run()

    assert session.outcomes == {"failed": 3}, session.out
    assert "E       AssertionError: effects: Other side effects: #6: `refund` has other arguments." in session.out
    assert "E         - amount: 40\nE         + amount: 4000" in session.out
    assert "expectations.py" not in session.out
    assert "-- agentdbg --" in session.out
    assert "run " in session.out
    assert "2 model calls, 2 tool calls, 0 errors, 220 tokens" in session.out
    assert "AGENTDBG_DATA_DIR=" in session.out
    assert "critical: #8 The step find_order repeated 3 times" in session.out
    assert "what this run cost is not known" in session.out
    folder = next(line for line in session.out.splitlines() if line.startswith("folder: ")).removeprefix("folder: ")
    assert json.loads((Path(folder) / "run.json").read_text())["status"] == "ok"


def test_an_exception_of_the_agent_ends_its_run_as_error(project: Project) -> None:
    """The trace of a failed test shows the agent's fault, and nothing of the test's own assertions."""
    project.test(
        """
@tool
def broken():
    raise KeyError("due")


def test_it(agentdbg_run):
    broken()
"""
    )
    session = project.run()
    folder = next(line for line in session.out.splitlines() if line.startswith("folder: ")).removeprefix("folder: ")

    assert "critical: #3 The first failure was broken: KeyError: 'due'. It ended the run." in session.out
    assert json.loads((Path(folder) / "run.json").read_text())["status"] == "error"


def test_the_marker_checks_limits_whether_or_not_the_test_takes_the_run(project: Project) -> None:
    """A decorator is enough, and a failed check is a failed test, not an error of its teardown."""
    project.test(
        """
@pytest.mark.agentdbg(max_tokens=1000, must_call=["refund"])
def test_within():
    run_agent()


@pytest.mark.agentdbg(max_tokens=100)
class TestLimits:
    def test_over(self, agentdbg_run):
        run_agent()

    @pytest.mark.agentdbg(max_tokens=1000)
    def test_the_closest_marker_wins(self):
        run_agent()
"""
    )
    session = project.run()

    assert session.outcomes == {"passed": 2, "failed": 1}, session.out
    assert "max_tokens: 220 tokens, 100 allowed; #2 went over it." in session.out


def test_a_marker_that_asks_nothing_or_nonsense_fails_with_a_sentence(project: Project) -> None:
    """A gate with a typing mistake is a gate that is open."""
    project.test(
        """
@pytest.mark.agentdbg
def test_nothing():
    run_agent()


@pytest.mark.agentdbg(max_token=5)
def test_typo():
    run_agent()


@pytest.mark.agentdbg("refund.json")
def test_position():
    run_agent()
"""
    )
    session = project.run()

    assert session.outcomes == {"failed": 3}, session.out
    assert "no checks is not a pass" in session.out
    assert "@pytest.mark.agentdbg has no rule 'max_token'; did you mean max_tokens?" in session.out
    assert "takes rules by name, and was given 'refund.json'" in session.out
    assert "Traceback" not in session.out


def test_the_policy_of_the_project_holds_for_marked_tests(project: Project) -> None:
    """One place for what every run has to hold; the marker beats it rule by rule."""
    (project.folder / ".agentdbg").mkdir()
    (project.folder / ".agentdbg" / "policy.yaml").write_text("must_not_call: [refund]\n")
    project.test(
        """
@pytest.mark.agentdbg
def test_policy():
    run_agent()


@pytest.mark.agentdbg(must_not_call="off", status="ok")
def test_exception():
    run_agent()
"""
    )
    session = project.run()

    assert session.outcomes == {"passed": 1, "failed": 1}, session.out
    assert "must_not_call: #6: `refund` must not be called." in session.out


def test_async_tests_threads_and_subprocesses_are_recorded(project: Project) -> None:
    """Whichever loop or thread the agent runs on, it is this test's agent."""
    project.test(
        """
import asyncio
import subprocess
import sys
import threading


@pytest.mark.asyncio
async def test_asyncio(agentdbg_run):
    async def one():
        await asyncio.sleep(0)
        find_order("A-17")

    await asyncio.gather(one(), one())
    await asyncio.to_thread(find_order, "A-17")
    assert agentdbg_run.tools == ["find_order"] * 3


@pytest.mark.asyncio
@pytest.mark.agentdbg(must_call=["gone"])
async def test_asyncio_marked():
    await asyncio.sleep(0)
    find_order("A-17")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_anyio(agentdbg_run, anyio_backend):
    find_order("A-17")
    assert agentdbg_run.tools == ["find_order"]


def test_thread(agentdbg_run):
    thread = threading.Thread(target=find_order, args=("A-17",))
    thread.start()
    thread.join()
    assert agentdbg_run.tools == ["find_order"]


def test_subprocess(agentdbg_run):
    subprocess.run([sys.executable, "-c", "import agent; agent.run_agent()"], check=True)
    assert agentdbg_run.tools == ["find_order", "refund"]
"""
    )
    session = project.run(*ASYNC)

    assert session.outcomes == {"passed": 4, "failed": 1}, session.out
    assert "must_call: `gone` was not called." in session.out


def test_limits_of_the_agent_hold_inside_a_test(project: Project) -> None:
    """An agent that stops itself in production has to stop itself in its tests."""
    project.test(
        """
from agentdbg import AgentDbgGuardrailExceeded


@trace(max_tool_calls=2)
def runaway():
    while True:
        find_order("A-17")


def test_it_stops(agentdbg_run):
    with pytest.raises(AgentDbgGuardrailExceeded):
        runaway()
    assert agentdbg_run.tools == ["find_order"] * 2
    assert agentdbg_run.status == "error"
"""
    )
    session = project.run()

    assert session.outcomes == {"passed": 1}, session.out


def test_runs_can_be_kept_in_a_folder(project: Project) -> None:
    """CI keeps what failed tests recorded; pytest's temporary folder is gone by then."""
    project.test("def test_run(agentdbg_run):\n    run_agent()\n")
    project.run("--agentdbg-dir", "kept")

    assert list((project.folder / "kept" / "test_agent.py-test_run" / "runs").iterdir())


def test_a_skipped_test_and_one_without_recording_say_so(project: Project) -> None:
    """Recording switched off must not make every assertion about it true."""
    project.test(
        """
def test_skip(agentdbg_run):
    pytest.skip("not today")


def test_run(agentdbg_run):
    run_agent()
    assert agentdbg_run.tools
"""
    )
    assert project.run().outcomes == {"passed": 1, "skipped": 1}
    session = project.run(AGENTDBG_ENABLED="0")

    assert session.code == 1
    assert "recording is switched off" in session.out


def test_the_plugin_loads_nothing_of_ours_until_a_test_asks() -> None:
    """It is loaded by every pytest of the environment, also in projects that have never heard of agents."""
    program = (
        "import sys, pytest\n"
        "class Look:\n"
        "    def pytest_sessionfinish(self):\n"
        "        print('LOADED', sorted(name for name in sys.modules if name.partition('.')[0] == 'agentdbg'))\n"
        "        print('PLUGIN', 'pytest_agentdbg' in sys.modules)\n"
        "pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider', '/dev/null'], plugins=[Look()])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert "LOADED []" in done.stdout, done.stdout + done.stderr
    assert "PLUGIN True" in done.stdout


def test_each_example_of_hypothesis_is_a_run_of_its_own(project: Project) -> None:
    """What a hundred examples did is no single run that loops; and the one that fails is the one that is shown."""
    project.test("""
from hypothesis import HealthCheck, given, settings, strategies as st

FEW = settings(max_examples=8, database=None, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(amount=st.integers(1, 90))
def test_fixture(agentdbg_run, amount):
    run_agent(amount=amount)
    assert agentdbg_run.effects == [("refund", {"order_id": "A-17", "amount": amount})]


@FEW
@given(amount=st.integers(1, 90))
@pytest.mark.agentdbg(max_tool_calls=2, loops="none")
def test_marker(amount):
    run_agent(amount=amount)


@FEW
@given(amount=st.integers(1, 90))
@pytest.mark.agentdbg(max_tool_calls=2)
def test_too_much(amount):
    run_agent(amount=amount)
    refund("A-17", amount)
""")
    session = project.run("-p", "_hypothesis_pytestplugin", "--agentdbg-dir", "kept", "-W", "ignore")
    kept = {folder.name: len(list((folder / "runs").iterdir())) for folder in (project.folder / "kept").iterdir()}

    assert session.outcomes == {"failed": 1, "passed": 2}, session.out
    assert kept["test_agent.py-test_fixture"] == kept["test_agent.py-test_marker"] == 8
    assert "max_tool_calls: 3 tool calls, 2 allowed" in session.out
    assert "amount=1," in session.out
