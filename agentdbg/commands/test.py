"""
`agentdbg test`: make an offline regression test of a recorded run.

It writes the recording and a test that replays it, runs the test once, and leaves both only if it passes.
"""

from __future__ import annotations

import ast
import contextlib
import os
import pprint
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.run_files import facts_of
from agentdbg.commands.terminal import Styled, Terminal, clean
from agentdbg.control.recorded_runs import CannotReplay, Opened, open_recorded
from agentdbg.control.recording_file import write_recording
from agentdbg.events import REDACTED
from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.policy_file import effect_rules, tools_policy
from agentdbg.storage.layout import run_dir
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.analysis.effects import SideEffect

__all__: list[str] = []

EXAMPLES = """
agentdbg test latest                              # tests/test_<name>.py and its recording
agentdbg test 3f2a --name refund
agentdbg test 3f2a --call shop.agent:handle       # the function to test
agentdbg test 3f2a --out checks --force
"""


class TestDoesNotPass(AgentDbgError):
    """The test that was made does not pass, so it was not left."""

    exit_code = 1


def command(
    run: Annotated[str, Argument("RUN", "A run: its id, a unique prefix, or `latest`.", "runs")],
    out: Annotated[str, Option("--out", metavar="FOLDER", help="Where the test goes.")] = "tests",
    call: Annotated[
        str | None,
        Option("--call", metavar="MODULE:FUNCTION", help="What the test calls; else what the run began with."),
    ] = None,
    name: Annotated[str | None, Option("--name", metavar="NAME", help="What to call the test.")] = None,
    force: Annotated[bool, Option("--force", help="Replace a test that is there already.")] = False,
) -> None:
    """
    Make a regression test of a recorded run, offline and without a key: a recording beside your tests, and a test that
    replays it and checks the side effects. The test is run once, and left only if it passes.
    """
    data_dir = default_data_dir()
    opened = open_recorded(find(run, data_dir), data_dir)
    folder = Path(out)
    shown = _test_name(name, opened, call)
    test, recording = folder / f"test_{shown}.py", folder / "agentdbg" / f"{shown}.jsonl"
    taken = next((path for path in (test, recording) if path.exists()), None)
    if taken is not None and not force:
        raise UsageError(f"{taken} is there already; --force replaces it, --name gives the test another name")
    effects = _effects(opened.main.run_id, data_dir)
    content = _content(opened, shown, call, effects, test)
    with _left_if_it_passes(test, recording):
        try:
            size = write_recording(run_dir(data_dir, opened.main.run_id), recording)
            redacted = recording.read_bytes().count(REDACTED.encode())
            test.write_text(content, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--out {out}: the test cannot be written there: {error.strerror}") from None
        opened.close()
        _try(test)
    terminal = Terminal()
    terminal.sentence(Styled("wrote  ", "ok"), str(test), Styled("  it passes", "muted"))
    note = f"  {size // 1000 or 1} kB, {redacted} values redacted; look at it before you commit it"
    terminal.sentence(Styled("wrote  ", "ok"), str(recording), Styled(note, "muted"), hang=7)
    terminal.line()
    terminal.sentence(f"Next: pytest {test}")


def _test_name(given: str | None, opened: Opened, call: str | None) -> str:
    began = opened.head.get("call")
    function = call or (began.get("function") if isinstance(began, dict) else None)
    argv = opened.argv or [""]
    text = given or (str(function).rpartition(":")[2] if function else Path(argv[0]).stem) or opened.main.run_id[:8]
    return re.sub(r"\W+", "_", text).strip("_").lower() or "run"


def _effects(run_id: str, data_dir: Path) -> list[SideEffect]:
    facts = facts_of(run_id, data_dir, effect_rules(tools_policy(None)))
    return sorted((*facts.effects, *facts.unknown_calls), key=lambda effect: effect.number)


def _content(opened: Opened, name: str, call: str | None, effects: list[SideEffect], test: Path) -> str:
    began = opened.head.get("call")
    target = call or (str(began.get("function")) if isinstance(began, dict) else "")
    module, _, function = target.partition(":")
    is_function = bool(function) and module != "__main__" and "<locals>" not in function and "." not in function
    imports, arguments, body = _calling(module, function) if is_function else _running(opened, test)
    body = _expecting_failure(opened, body)
    expected = pprint.pformat([(effect.name, effect.args) for effect in effects], width=100, sort_dicts=False)
    lines = [f"agentdbg_run.assert_effects({expected})"]
    lines.append("# assert agentdbg_run.answer == …")
    inner = textwrap.indent("\n".join([*body, *lines]), "    ")
    head = f'"""Made by `agentdbg test {opened.place}`: replays agentdbg/{name}.jsonl, offline."""'
    return f"""{head}

{imports}

@pytest.mark.agentdbg_replay("agentdbg/{name}.jsonl")
def test_{name}({arguments}):
{inner}
"""


def _calling(module: str, function: str) -> tuple[str, str, list[str]]:
    call = f"{function}(**agentdbg_run.recorded.arguments)"
    if _is_coroutine(module, function):
        imports = f"import asyncio\n\nimport pytest\n\nfrom {module} import {function}\n"
        return imports, "agentdbg_run", [f"asyncio.run({call})"]
    return f"import pytest\n\nfrom {module} import {function}\n", "agentdbg_run", [call]


def _is_coroutine(module: str, function: str) -> bool:
    """Whether a function of the project is a coroutine function, by its source: nothing is imported."""
    path = Path(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py", Path("src") / path.with_suffix(".py")):
        if file.is_file():
            tree = ast.parse(file.read_text(encoding="utf-8"))
            return any(isinstance(node, ast.AsyncFunctionDef) and node.name == function for node in tree.body)
    return False


def _running(opened: Opened, test: Path) -> tuple[str, str, list[str]]:
    argv = opened.argv
    module = opened.head.get("module")
    if argv is None or (not module and argv[0] in ("", "-c", "-")):
        raise CannotReplay(f"{opened.place} does not say which program it was; name a function: --call module:function")
    if isinstance(module, str) and module:
        run = f'runpy.run_module({module!r}, run_name="__main__", alter_sys=True)'
        # The first word was this machine's path of the module; `run_module` puts the one of its own machine there.
        body = [f"monkeypatch.setattr(sys, 'argv', {[module, *argv[1:]]!r})", *_leaving(run)]
        return "import contextlib\nimport runpy\nimport sys\n\nimport pytest\n", "agentdbg_run, monkeypatch", body
    script = Path(str(opened.head.get("cwd") or ".")) / argv[0]
    relative = os.path.relpath(script, test.parent.absolute())
    imports = (
        "import contextlib\nimport runpy\nimport sys\nfrom pathlib import Path\n\nimport pytest\n\n"
        f"SCRIPT = Path(__file__).parent / {relative!r}\n"
    )
    body = [
        f"monkeypatch.setattr(sys, 'argv', [{', '.join(['str(SCRIPT)', *map(repr, argv[1:])])}])",
        "monkeypatch.syspath_prepend(SCRIPT.resolve().parent)",
        *_leaving('runpy.run_path(str(SCRIPT), run_name="__main__")'),
    ]
    return imports, "agentdbg_run, monkeypatch", body


def _leaving(run: str) -> list[str]:
    return ["with contextlib.suppress(SystemExit):", f"    {run}"]


def _expecting_failure(opened: Opened, body: list[str]) -> list[str]:
    """A run that failed is expected to fail again, in the same way."""
    end = opened.main.end or {}
    error: Any = end.get("error")
    kind = error.get("error_type") if isinstance(error, dict) else None
    if kind in (None, "SystemExit", "KeyboardInterrupt"):
        return body
    return [
        "with pytest.raises(Exception) as raised:",
        *(f"    {line}" for line in body),
        f"assert type(raised.value).__name__ == {kind!r}",
    ]


@contextlib.contextmanager
def _left_if_it_passes(test: Path, recording: Path) -> Iterator[None]:
    """Put everything back as it was when what is done here fails: no file of ours, and the ones that were replaced."""
    before = {path: path.read_bytes() if path.exists() else None for path in (test, recording)}
    folders = [folder for folder in (recording.parent, test.parent) if not folder.exists()]
    try:
        yield
    except BaseException:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)
        for folder in folders:
            with contextlib.suppress(OSError):
                folder.rmdir()  # unless pytest left something in it
        raise


def _try(test: Path) -> None:
    """Run the test once."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "--disable-warnings", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own words
    if done.returncode == 0:
        return
    if "No module named pytest" in done.stderr:
        raise UsageError("pytest is not installed here; pip install pytest, then try again")
    told = (done.stdout.strip() or done.stderr.strip()).splitlines()[-25:]
    sys.stderr.write(clean("\n".join([*told, ""]), keep_lines=True))
    raise TestDoesNotPass("the test that was made does not pass, so it was not left; its output is above")
