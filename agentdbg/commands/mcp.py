"""`agentdbg mcp`: the stored runs for a coding assistant."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

from agentdbg.commands.options import Option
from agentdbg.exceptions import UsageError
from agentdbg.mcp_server.protocol import serve
from agentdbg.storage.reader import default_data_dir

EXAMPLES = """
claude mcp add agentdbg -- agentdbg mcp
codex mcp add agentdbg -- agentdbg mcp
AGENTDBG_DATA_DIR=./runs agentdbg mcp
agentdbg mcp --control                               # replay, answer pauses, make tests; offline
agentdbg mcp --control --live --max-cost-usd 0.5     # forks, too
agentdbg mcp --control --live --max-cost-usd 0.5 --writes allow --program "python agent.py"
"""


def command(
    control: Annotated[
        bool, Option("--control", help="Let the assistant replay and fork runs, and answer pauses.")
    ] = False,
    live: Annotated[bool, Option("--live", help="With --control: forks may make live calls.")] = False,
    max_cost_usd: Annotated[
        float | None,
        Option(
            "--max-cost-usd",
            metavar="USD",
            help="With --live: what one run may cost, unless its program sets max_cost_usd itself.",
        ),
    ] = None,
    writes: Annotated[str, Option("--writes", metavar="WHICH", help="With --live: deny or allow.")] = "deny",
    program: Annotated[
        str, Option("--program", metavar="COMMAND", help='With --live: what may be run anew: "python agent.py".')
    ] = "",
    timeout: Annotated[
        int, Option("--timeout", metavar="SECONDS", help="How long one child may take.", at_least=1)
    ] = 300,
) -> None:
    """
    Serve the stored runs to a coding assistant over the Model Context Protocol, on stdin and stdout.

    The assistant starts this itself; docs/mcp.md says how to tell it to. Without --control it only reads: nothing is
    changed, and nothing leaves this machine but what the assistant is answered. Needs the package mcp:
    `pip install "mcp>=1.23"`.
    """
    if sys.stdin.isatty():
        raise UsageError(
            "`agentdbg mcp` speaks to an assistant, which starts it itself; "
            "add it there, for example with `claude mcp add agentdbg -- agentdbg mcp`"
        )
    if live and (max_cost_usd is None or not control):
        raise UsageError("--live makes calls that cost money: it needs --control and --max-cost-usd")
    if writes not in ("deny", "allow"):
        raise UsageError(f"--writes is {writes!r}; it can be deny or allow")
    words = _program_words(program)
    if not control:
        serve(default_data_dir())
        return
    from agentdbg.mcp_server.tools_control import Control, control_tools  # noqa: PLC0415 -- who only reads needs no recorder

    serve(default_data_dir(), control_tools(Control(Path.cwd(), live, max_cost_usd, writes, float(timeout), words)))


def _program_words(text: str) -> tuple[str, ...]:
    """The program that a person named, as `agentdbg run` takes it: without the interpreter."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--program {text}: {error}") from None
    if words and Path(words[0]).name.startswith("python"):
        words = words[1:]
    if text and (not words or words == ["-m"] or (words[0].startswith("-") and words[0] != "-m")):
        raise UsageError(f'--program {text}: name a script or a module, as in "python agent.py" or "python -m agent"')
    return tuple(words)
