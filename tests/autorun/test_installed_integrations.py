"""Integrations that other packages bring: found by their entry points, enabled when their package is imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from agentdbg.autorun.installed import Offer, offered_integrations
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.autorun.conftest import Programs
    from tests.conftest import Recorded

ENTRY_POINTS = """
[console_scripts]
ganglion = ganglion.cli:main

[agentdbg.integrations]
# a comment
ganglion = agentdbg_ganglion
ganglion.cloud=agentdbg_ganglion.cloud:enable [cloud]
broken line
= nothing

[other]
x = y
"""


def install(folder: Path, name: str, entry_points: str) -> None:
    """What an installer leaves in an environment."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def test_what_installed_packages_offer_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installing a package is all a user has to do."""
    install(tmp_path, "agentdbg_ganglion", ENTRY_POINTS)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "gone.zip"), str(tmp_path), ""])

    assert offered_integrations() == [
        Offer("ganglion", "agentdbg_ganglion"),
        Offer("ganglion.cloud", "agentdbg_ganglion.cloud:enable"),
    ]


def test_files_that_nobody_can_read_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One broken package must not keep a program from being recorded."""
    (tmp_path / "torn-1.0.dist-info").mkdir()
    (tmp_path / "torn-1.0.dist-info" / "entry_points.txt").write_bytes(b"[agentdbg.integrations]\n\xff\xfe")
    (tmp_path / "odd-1.0.dist-info").write_text("a file")
    (tmp_path / "folder-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    install(tmp_path, "good", "[agentdbg.integrations]\nganglion=good")
    monkeypatch.setattr(sys, "path", [None, 3, b"bytes", str(tmp_path)])

    assert offered_integrations() == [Offer("ganglion", "good")]


@pytest.mark.slow
def test_one_that_fails_is_said_and_stops_nothing(programs: Programs, recorded: Recorded) -> None:
    """It was installed on purpose, so its user wants to know; the program does not care."""
    install(programs.folder, "broken", "[agentdbg.integrations]\nganglion = no_such_module\nganglion = also:wrong.name")
    programs.write("also.py", "raise_at_once = 1")
    programs.write("ganglion.py", "value = 1")
    programs.write("agent.py", "import ganglion\nprint(ganglion.value)")
    ended = programs.recorded("agent.py")

    assert (ended.stdout, ended.returncode) == (b"1\n", 0)
    assert b"could not enable no_such_module" in ended.stderr
    assert b"could not enable also:wrong.name" in ended.stderr
    assert recorded.only().meta["status"] == "ok"


# A package of somebody's own, as its author would write and publish it.
PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "agentdbg-ganglion"
    version = "1.0"

    [project.entry-points."agentdbg.integrations"]
    ganglion = "agentdbg_ganglion"

    [tool.hatch.build.targets.wheel]
    packages = ["agentdbg_ganglion.py", "ganglion.py"]
"""
FRAMEWORK = """
    class Agent:
        def __init__(self, tools):
            self.tools = tools

        def ask(self, question):
            city = self.complete(question)
            return self.complete(self.call("weather", city=city))

        def complete(self, prompt):
            return f"answer to {prompt}"

        def call(self, tool, **arguments):
            return self.tools[tool](**arguments)
"""
INTEGRATION = """
    import functools
    import agentdbg

    def enable():
        import ganglion

        def complete(self, prompt):
            with agentdbg.llm_call("ganglion-1", prompt, provider="ganglion") as call:
                call.response = ask(self, prompt)
            return call.response

        def call(self, tool, **arguments):
            with agentdbg.tool_call(tool, arguments, meta={"framework": "ganglion"}) as made:
                made.result = use(self, tool, **arguments)
            return made.result

        ask, use = ganglion.Agent.complete, ganglion.Agent.call
        ganglion.Agent.complete = functools.wraps(ask)(complete)
        ganglion.Agent.call = functools.wraps(use)(call)
"""
PROGRAM = """
    import sys
    from ganglion import Agent

    def weather(city):
        return f"rain in {city}"

    print(Agent({"weather": weather}).ask("where?"))
"""


@pytest.mark.slow
def test_a_package_from_elsewhere_is_recorded_under_run(tmp_path: Path, recorded: Recorded) -> None:
    """Whoever has a framework of their own can publish its recording, and users only install it."""
    project, checkout = tmp_path / "project", tmp_path / "checkout"
    for name, text in {
        "pyproject.toml": PROJECT,
        "ganglion.py": FRAMEWORK,
        "agentdbg_ganglion.py": INTEGRATION,
        "agent.py": PROGRAM,
    }.items():
        project.mkdir(exist_ok=True)
        (project / name).write_text(textwrap.dedent(text), encoding="utf-8")
    checkout.mkdir()
    for path in ("agentdbg", "pytest_agentdbg.py", "pyproject.toml", "README.md", "LICENSE", "scripts"):
        source = ROOT / path
        (shutil.copytree if source.is_dir() else shutil.copy)(source, checkout / path)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=300)
    bin_folder = tmp_path / "venv" / "bin"
    installing = [str(bin_folder / "python"), "-m", "pip", "install", "-q", str(checkout), str(project)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(installing, check=True, timeout=300, env=environment)

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        program = str(project / "agent.py")
        command = [str(bin_folder / "agentdbg"), "run", *options, program]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False, timeout=60
        )

    ended = run()
    assert (ended.stdout, ended.returncode) == ("answer to rain in answer to where?\n", 0), ended.stderr
    stopped = run("--max-llm-calls", "1")
    assert (stopped.stdout, stopped.returncode) == ("", 1)

    whole, cut = recorded.all()
    assert [call["name"] for call in whole.of_type("LLM_CALL")] == ["ganglion-1", "ganglion-1"]
    tool = whole.one("TOOL_CALL")
    assert (tool["payload"]["args"], tool["meta"]) == ({"city": "answer to where?"}, {"framework": "ganglion"})
    assert tool["parent_id"] == whole.of_type("LLM_CALL")[0]["event_id"]
    assert len(cut.of_type("LLM_CALL")) == 1
