"""`agentdbg init`: the files a project needs to test its agent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from agentdbg.analysis.checks.run_facts import joined
from agentdbg.commands.init_files import FIRST_TEST, POLICY, WORKFLOW
from agentdbg.commands.init_tools import stub_for, unknown_tools
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import POLICY_FILE, tools_policy

EXAMPLES = """
agentdbg init
agentdbg init ../shop-agent
agentdbg init --force        # write all of it anew
"""

_TEST = Path("tests") / "test_agent.py"
_FILES = (
    (POLICY_FILE, POLICY, "what every run has to hold"),
    (_TEST, FIRST_TEST, "a first test; put your agent into it"),
    (Path(".github") / "workflows" / "agent.yml", WORKFLOW, "the tests in CI, with the runs of those that fail"),
)


def command(
    folder: Annotated[str, Argument("[FOLDER]", "The project's folder.")] = ".",
    force: Annotated[bool, Option("--force", help="Replace files that are there already.")] = False,
) -> None:
    """
    Write what a project needs to test its agent: a policy with every rule explained, a first test that passes as it is,
    and a CI workflow. The policy has a stub for the tools of your latest runs whose side effects are unknown. A file
    that is there already is left as it is.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"there is no folder {root}; make it first, or name another one")
    out = Terminal()
    is_new = force or not os.path.lexists(root / POLICY_FILE)
    policy = tools_policy(None if is_new else root / POLICY_FILE)
    unknown = unknown_tools(policy)
    width = max(len(str(path)) for path, _, _ in _FILES)
    written: set[Path] = set()
    for path, content, what in _FILES:
        stub = stub_for(unknown, policy) if path == POLICY_FILE else ""
        if _write(root / path, content + stub, force=force):
            written.add(path)
            head, note = Styled("wrote  ", "ok"), what
        else:
            head, note = Styled("kept   ", "warn"), "it is there already; --force replaces it"
        out.sentence(head, str(path).ljust(width), Styled(f"  {note}", "muted"), hang=7)
    if unknown:
        _say_unknown(out, unknown, "" if POLICY_FILE in written else stub_for(unknown, policy))
    out.line()
    out.sentence("Next:" if folder == "." else f"Next, in {folder}:")
    steps = (
        (f"pytest {_TEST}", "it passes; put your agent into it" if _TEST in written else "your own test"),
        ("agentdbg assert latest", "the policy, on the latest run you recorded"),
    )
    for typed, what in steps:
        out.sentence(f"{typed.ljust(28)}", Styled(what, "muted"), indent=2, hang=2)


def _say_unknown(out: Terminal, tools: list[str], stub: str) -> None:
    """Name the tools that somebody has to settle, and what to add to a policy that was kept."""
    out.line()
    out.sentence(f"Side effects unknown: {joined(tools)}. Say in {POLICY_FILE} what they do{':' if stub else '.'}")
    for line in stub.splitlines()[3:]:
        out.line(line.removeprefix("# "), indent=2, cut=False)


def _write(path: Path, content: str, *, force: bool) -> bool:
    """Write a file of the project; False when one is there and may not be replaced."""
    try:
        os.makedirs(path.parent, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {path.parent} cannot be made: {error.strerror}") from None
    try:
        # Exclusive, so that a file made in between is not lost either.
        with open(path, "w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(content)
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    return True
