"""An assistant that may act: it finds the failing step, forks it fixed, sees the run pass and keeps a test of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp_server.client import Assistant, talk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
pytest.importorskip("mcp")

PROGRAM = """
from agentdbg import tool, trace

@tool(effect="read")
def read_invoice(path):
    return {"total": 12}

@tool(effect="read")
def parse(invoice):
    return invoice["due"]

@trace(name="invoices")
def agent():
    return f"due {parse(read_invoice('a.pdf'))}"

if __name__ == "__main__":
    agent()
"""
LIVE = ("--control", "--live", "--max-cost-usd", "0.5")


@pytest.fixture
def project(tmp_path: Path, data_dir: Path) -> Path:
    """A program that fails at its second tool, because of what the first one gave."""
    (tmp_path / "agent.py").write_text(PROGRAM)
    env = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)}
    subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=env, check=False, capture_output=True)
    return tmp_path


def test_an_assistant_finds_the_step_forks_it_and_sees_the_run_pass(project: Path, data_dir: Path) -> None:
    """With these tools alone, from failure to proof."""

    async def conversation(assistant: Assistant) -> None:
        explained = (await assistant.call("explain_run")).text
        assert "KeyError" in explained
        events = (await assistant.call("read_events")).json["events"]
        step = next(event["n"] for event in events if event["name"] == "read_invoice")
        replayed = (await assistant.call("replay_run")).json
        assert replayed["report"]["verdict"] == "equal"

        fixed = ['result={"total": 12, "due": "May"}']
        forked = await assistant.call("fork_run", at=str(step), set=fixed, run="latest")

        assert forked.json["exit_code"] == 0, forked.text
        new = forked.json["report"]["run_id"]
        runs = (await assistant.call("list_runs")).json["runs"]
        assert next(run["status"] for run in runs if run["run_id"] == new) == "ok"

    talk(data_dir, conversation, LIVE, project)


def test_an_assistant_goes_from_a_failure_of_the_demo_to_a_test(tmp_path: Path, data_dir: Path) -> None:
    """What whoever tries this first has: a folder with nothing in it but the demo's runs."""
    env = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)}
    words = [sys.executable, "-m", "agentdbg", "demo", "--no-view", "--live-seconds", "0"]
    subprocess.run(words, cwd=tmp_path, env=env, check=True, capture_output=True)

    async def conversation(assistant: Assistant) -> None:
        failed = (await assistant.call("list_runs", status="error")).json["runs"]
        run = next(one["run_id"] for one in failed if "KeyError" in one["headline"])
        finding = (await assistant.call("explain_run", run=run)).json["findings"][0]
        result = 'result={"total": "120.00", "due_date": "1 May"}'

        forked = await assistant.call("fork_run", run=run, at=str(finding["event"]), set=[result])

        new = forked.json["report"]["run_id"]
        listed = (await assistant.call("list_runs")).json["runs"]
        assert next(one["status"] for one in listed if one["run_id"] == new) == "ok"
        assert (await assistant.call("replay_run", run=new)).json["report"]["verdict"] == "equal"
        assert (await assistant.call("write_test", run=new)).json["exit_code"] == 0

    talk(data_dir, conversation, LIVE, tmp_path)
    assert (tmp_path / "tests" / "test_read_invoice.py").exists()


def test_without_live_nothing_live_is_made(project: Path, data_dir: Path) -> None:
    """Offline is the rule, and a program outside the folder is not run at all."""

    async def conversation(assistant: Assistant) -> None:
        refused = await assistant.call("fork_run", at="3", set=["result=1"])
        assert refused.is_error
        assert "--live" in refused.text
        assert not (await assistant.call("replay_run")).is_error

    talk(data_dir, conversation, ("--control",), project)

    async def elsewhere(assistant: Assistant) -> None:
        refused = await assistant.call("replay_run")
        assert refused.is_error
        assert "does not lie under the folder" in refused.text

    other = project / "other"
    other.mkdir()
    talk(data_dir, elsewhere, ("--control",), other)


def test_a_program_is_run_only_as_a_person_named_it(project: Path, data_dir: Path) -> None:
    """Named, live and allowed to write; options are a person's, and the new run is given back."""

    async def refused(assistant: Assistant) -> None:
        answer = await assistant.call("run_program")
        assert answer.is_error
        assert "--program" in answer.text

    talk(data_dir, refused, LIVE, project)

    async def denied(assistant: Assistant) -> None:
        answer = await assistant.call("run_program")
        assert answer.is_error
        assert "--writes allow" in answer.text

    talk(data_dir, denied, (*LIVE, "--program", "python agent.py"), project)

    async def allowed(assistant: Assistant) -> None:
        assert (await assistant.call("run_program", args=["--break=every"])).is_error
        ran = (await assistant.call("run_program", args=["a value"])).json
        runs = (await assistant.call("list_runs")).json["runs"]
        assert ran["run_id"] == runs[0]["run_id"]
        assert ran["exit_code"] == 1

    talk(data_dir, allowed, (*LIVE, "--writes", "allow", "--program", "python agent.py"), project)


def test_a_module_that_is_not_named_is_refused(project: Path) -> None:
    """The first value of the assistant would be the module."""
    words = [sys.executable, "-m", "agentdbg", "mcp", *LIVE, "--program", "python -m"]
    done = subprocess.run(words, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert '"python -m agent"' in done.stderr


def test_without_control_there_is_no_tool_that_acts(project: Path, data_dir: Path) -> None:
    """The plain server only reads."""

    async def conversation(assistant: Assistant) -> None:
        assert all(tool["annotations"]["readOnlyHint"] for tool in await assistant.tools())

    talk(data_dir, conversation, (), project)


@pytest.mark.parametrize(
    "arguments",
    [
        {"at": "--writes=allow", "set": ["result=1"]},
        {"at": "3", "set": ["result=@/etc/passwd"]},
        {"at": "3", "mocks": ["read_invoice=py:evil.py:run"]},
    ],
)
def test_nothing_the_assistant_says_becomes_a_command_line(
    project: Path, data_dir: Path, arguments: dict[str, object]
) -> None:
    """Options, files and functions are a person's."""

    async def conversation(assistant: Assistant) -> None:
        assert (await assistant.call("fork_run", **arguments)).is_error

    talk(data_dir, conversation, LIVE, project)


def test_a_pause_is_answered_by_the_assistant(project: Path, data_dir: Path) -> None:
    """The program waits, the assistant gives the result that was missing, the run passes."""
    env = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)}
    words = [sys.executable, "-m", "agentdbg", "run", "--break", "tool:read_invoice:after", "--wait", "60", "agent.py"]
    ended: list[int] = []

    def run() -> None:
        done = subprocess.run(words, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        ended.append(done.returncode)

    running = threading.Thread(target=run)
    running.start()

    async def conversation(assistant: Assistant) -> None:
        waiting: list[dict[str, str]] = []
        while not waiting:
            waiting = (await assistant.call("paused")).json["paused"]
        which = {"run": waiting[0]["run"], "pause_id": waiting[0]["pause_id"]}
        senseless = await assistant.call("answer_pause", **which, do="skip")
        assert senseless.is_error
        assert "needs a value" in senseless.text
        assert (await assistant.call("answer_pause", **which, set=["args.x=1"])).is_error
        told: dict[str, Any] = {**which, "set": ["result.due=May", 'result.lines=["a"]']}
        assert not (await assistant.call("answer_pause", **told)).is_error
        assert (await assistant.call("answer_pause", **told)).is_error

    talk(data_dir, conversation, ("--control",), project)
    running.join(30)

    assert ended == [0]
