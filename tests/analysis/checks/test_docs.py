"""The pages about gates and the plugin: their files, their commands, and what those really print."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.storage import list_runs
from tests.docs.pages import ROOT, Block, blocks, every_sample, printed, steady

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


# What differs from run to run: ids, folders, how long it took.
_CHANGING = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"/\S*/pytest-of-\w+/pytest-\d+"), "FOLDER"),
    (re.compile(r"in \d+\.\d+s"), "in SECONDS"),
]


@pytest.mark.parametrize("path", ["docs/gates.md", "docs/pytest.md"])
def test_what_a_page_shows_is_what_happens(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who types it has to see the same."""
    # pytest prints longer lines where CI or BUILD_NUMBER is set.
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    with every_sample(path) as was_compared:
        for block in blocks((ROOT / path).read_text(encoding="utf-8")):
            if block.language == "python":
                _keep(block, folder)
            elif block.language == "console":
                for command in _type(block, folder, f"{path}:{block.line}"):
                    was_compared(command)


def _keep(block: Block, folder: Path) -> None:
    named = re.match(r"# (\w+\.py)\n", block.text)
    assert named, f"the block in line {block.line} names no file"
    (folder / named[1]).write_text(block.text, encoding="utf-8")


def _type(block: Block, folder: Path, where: str) -> list[str]:
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    for part in parts:
        command, _, expected = part.partition("\n")
        prepare = next((made for begin, made in PREPARED.items() if command.startswith(begin)), None)
        shown = _output(command, folder) if prepare is None else prepare(command, folder / prepare.__name__)
        assert steady(shown, _CHANGING) == steady(expected, _CHANGING), f"{where}: $ {command}\n{shown}"
    return [part.partition("\n")[0] for part in parts]


def _three_tools(command: str, folder: Path) -> str:
    """Two good runs of an agent whose third tool has a name that says nothing."""
    _record(folder, THREE_TOOLS)
    ids = [run["run_id"] for run in list_runs(None, folder / "data")]
    return _output(command.replace("a41f", ids[1]).replace("77c0", ids[0]), folder, **_own(folder))


def _other_arguments(command: str, folder: Path) -> str:
    """A tool whose name says nothing, called with something else than in the good run."""
    for argument in ("one", "everything"):
        _record(folder, FROBS.format(argument=argument))
        if argument == "one":
            _output("agentdbg baseline latest --out frob.json", folder, **_own(folder))
    shown = _output(command.partition(" | ")[0], folder, **_own(folder))
    return "".join(shown.splitlines(keepends=True)[4:8])


def _two_scenarios(command: str, folder: Path) -> str:
    """One whose trials agree, and one of which one trial refunds another amount."""
    for name, amounts in {"booking": [40] * 5, "refund": [40, 4000, 40]}.items():
        scenario = folder / "tests" / "gates" / name
        (scenario / "runs").mkdir(parents=True)
        for trial, amount in enumerate(amounts):
            _record(folder, TRIAL.format(name=name, amount=amount))
            exported = _output("agentdbg export latest --out -", folder, **_own(folder))
            (scenario / "runs" / f"{trial}.json").write_text(exported, encoding="utf-8")
        first = f"{scenario}/runs/0.json"
        _output(f"agentdbg baseline {first} --out {scenario}/baseline.json", folder, **_own(folder))
    return _output(command, folder, **_own(folder))


def _record(folder: Path, program: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "agent.py").write_text(program, encoding="utf-8")
    printed(folder, "agent.py", **_own(folder))


def _own(folder: Path) -> dict[str, str]:
    return {"AGENTDBG_DATA_DIR": str(folder / "data")}


# What has to be there before a command of a page, in a folder of its own.
PREPARED = {
    "agentdbg effects learn": _three_tools,
    "agentdbg gate": _two_scenarios,
    "agentdbg assert latest --baseline frob.json": _other_arguments,
}
FROBS = """
from agentdbg import record_tool_call, traced_run

with traced_run("agent"):
    record_tool_call("look", args={{"page": 1}}, result=1)
    record_tool_call("frob", args={{"at": "{argument}"}}, result="ok")
"""
THREE_TOOLS = """
from agentdbg import record_tool_call, traced_run

for day, name in ((1, "Dana"), (2, "Ada")):
    with traced_run("agent"):
        record_tool_call("search_orders", args={"q": "kettle"}, result=["A-17"])
        given = {"body": f"We refund 40 EUR, {name}.", "order": "A-17", "tags": ["a", "b"][:: 3 - 2 * day]}
        record_tool_call("send_refund", args={**given, "sent_at": f"2026-01-0{day}T00:00:00Z"}, result="ok")
        record_tool_call("frobnicate", args={"at": "one"}, result="ok")
"""
TRIAL = """
from agentdbg import record_tool_call, traced_run

with traced_run("{name}"):
    for number in range(3):
        record_tool_call("look_up", args={{"page": number}}, result=number)
    record_tool_call("{name}", args={{"amount": {amount}}}, result="ok")
"""


def _output(command: str, folder: Path, **more: Any) -> str:
    words = shlex.split(command)
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    program = {
        "agentdbg": ["-m", "agentdbg"],
        "python": [],
        "pytest": ["-m", "pytest", "-p", "pytest_agentdbg", "-p", "no:cacheprovider", f"--rootdir={folder}"],
    }[words[0]]
    return printed(folder, *program, *words[1:], **environment, **more)
