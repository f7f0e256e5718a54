"""What README and getting-started tell a newcomer to type works, word by word, on a machine with nothing of ours."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.docs.pages import ROOT, blocks, every_sample, steady_output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

_FROM_A_CHECKOUT = "make "
_WITHIN_S = 600


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A clean environment and a clean checkout; nothing is installed yet."""
    return Machine(tmp_path_factory.mktemp("machine"))


class Machine:
    """A newcomer's machine: a checkout, an empty environment and an empty home."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        files = ("pytest_agentdbg.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "SPEC.md")
        wanted = ("agentdbg", "scripts", *files)
        self.checkout.mkdir()
        for name in wanted:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, self.checkout / name)
        self._bin = folder / "venv" / "bin"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True, timeout=_WITHIN_S)
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("AGENTDBG_", "PYTHON", "VIRTUAL"))
        }
        self.served: list[dict[str, Any]] = []
        """The runs that the last viewer showed."""
        self._environment = {
            **kept,
            "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": "200",
        }

    def start_afresh(self, home: Path) -> None:
        """Have nothing recorded yet."""
        home.mkdir()
        self._environment["HOME"] = str(home)

    def run(self, command: str, folder: Path) -> str:
        """Type one line as it stands on the page; what the terminal shows."""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=_WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
        return done.stdout

    def serve(self, command: str, folder: Path) -> str:
        """Start what serves until it is stopped; its first line."""
        words = [*shlex.split(command), "--no-browser", "--port", "0", "--json"]
        with subprocess.Popen(
            words, cwd=folder, env=self._environment, stdout=subprocess.PIPE, encoding="utf-8"
        ) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            if line:
                address = urlsplit(json.loads(line)["url"])
                with urlopen(f"http://{address.netloc}/api/runs", timeout=30) as answer:
                    self.served = json.loads(answer.read())["runs"]
            process.send_signal(signal.SIGINT)
        return line


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_every_line_of_a_page_works_as_it_stands(page: str, machine: Machine, tmp_path: Path) -> None:
    """A newcomer copies line after line; the first one that fails is the last one they try."""
    machine.start_afresh(tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    printed = ""
    with every_sample(page) as was_compared:
        for block in blocks((ROOT / page).read_text(encoding="utf-8")):
            where = f"{page}:{block.line}"
            if block.language == "python":
                named = re.match(r"# (\w+\.py)\n", block.text)
                file = project / (named.group(1) if named else "example.py")
                file.write_text(block.text, encoding="utf-8")
                printed = "" if named else machine.run("python example.py", project)
            elif block.language == "output":
                assert steady_output(printed) == steady_output(block.text), where
            elif block.language == "sh":
                _type(block.text, machine, project)
            elif block.language == "console":
                _type_and_compare(block.text, where, machine, project, was_compared)


def test_four_commands_lead_from_nothing_to_ones_own_run_in_the_page(tmp_path: Path) -> None:
    """A newcomer who has not seen their own agent after three minutes has left; most of it is installing."""
    machine = Machine(tmp_path)
    machine.start_afresh(tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    agent = next(block for block in blocks((ROOT / "README.md").read_text(encoding="utf-8")) if "@trace" in block.text)
    began = time.monotonic()

    machine.run("pip install -q .", machine.checkout)
    (project / "agent.py").write_text(agent.text, encoding="utf-8")
    machine.run("python agent.py", project)
    machine.serve("agentdbg view", project)

    assert [run["counts"]["tool_calls"] for run in machine.served] == [1]
    assert time.monotonic() - began < 180


def test_the_demos_source_links_open_the_demos_code(machine: Machine, tmp_path: Path) -> None:
    """Installed among the libraries, its agents are still the program that is looked at."""
    machine.start_afresh(tmp_path / "home")
    machine.run("pip install -q .", machine.checkout)
    machine.run("agentdbg demo --no-view --live-seconds 0", tmp_path)

    exported = machine.run("agentdbg export latest --out -", tmp_path)
    sources = set(re.findall(r'"source": ?"([^"]+):\d+"', exported))
    shown = {source.rpartition("site-packages/")[2] for source in sources}
    assert "agentdbg/demo/agents.py" in shown
    assert not [source for source in shown if source.endswith("bin/agentdbg")]


def _type(lines: str, machine: Machine, project: Path) -> None:
    for line in lines.splitlines():
        command = line.partition("  #")[0].strip()
        if command.startswith("pip install"):
            machine.run(command, machine.checkout)
        elif command == "agentdbg view":
            assert '"status":"serving"' in machine.serve(command, project).replace(" ", "")
        elif command and not command.startswith(_FROM_A_CHECKOUT):  # those are what CI itself runs
            machine.run(command, project)


def _type_and_compare(
    text: str, where: str, machine: Machine, project: Path, was_compared: Callable[[str], None]
) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        shown = machine.run(command, project)
        assert steady_output(shown) == steady_output(expected), f"{where}: $ {command}\n{shown}"
        was_compared(command)


def test_a_released_package_leads_to_its_repository(machine: Machine, tmp_path: Path) -> None:
    """On a package index nothing is relative: every link and picture of the README has to name its place."""
    machine.start_afresh(tmp_path / "home")
    machine.run("AGENTDBG_REPOSITORY=https://example.com/agentdbg pip wheel -q --no-deps -w wheels .", machine.checkout)

    (wheel,) = (machine.checkout / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (one for one in packed.namelist() if one.endswith("/METADATA"))
        page = packed.read(name).decode()
    assert "Project-URL: Source, https://example.com/agentdbg\n" in page
    assert not re.findall(r"\]\((?!https://|#)[^)]*\)", page)
    assert not re.findall(r"(?:src|srcset)=\"(?!https://)[^\"]*", page)
