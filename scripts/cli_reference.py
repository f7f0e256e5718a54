"""
The reference part of docs/cli.md, written from the commands themselves so that it stays true.

`python scripts/cli_reference.py docs/cli.md` writes it anew behind the mark that separates it from the rest.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING

from agentdbg.commands import command_module
from agentdbg.commands.options import Argument, Option, parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.commands.options import Parameter

__all__ = ["MARK", "commands_markdown", "rewrite"]

MARK = "<!-- From here on this page is written by the commands themselves; a test compares it with them. -->\n\n"


def commands_markdown(commands: Mapping[str, str]) -> str:
    """One section for each command: what it does, what it takes, examples."""
    return "\n".join(_section(name) for name in commands)


def rewrite(page: str, commands: Mapping[str, str]) -> str:
    """The page with its reference brought up to date."""
    return page.partition(MARK)[0] + MARK + commands_markdown(commands)


def _section(name: str) -> str:
    module = command_module(name)
    parameters = parameters_of(module.command)
    lines = [f"## agentdbg {name}", "", *_sentences(module.command.__doc__ or "")]
    lines += ["", "| argument or option | what it does |", "|---|---|"] if parameters else []
    lines += [f"| {_shown(found)} | {found.declared.help}{_default(found)} |" for found in parameters]
    return "\n".join(
        [*lines, "", "```console", *(f"$ {line}" for line in module.EXAMPLES.strip().splitlines()), "```", ""]
    )


def _sentences(docstring: str) -> list[str]:
    """One sentence on each line."""
    text = " ".join(inspect.cleandoc(docstring).split())
    return text.replace(". ", ".\n").split("\n")


def _shown(found: Parameter) -> str:
    declared = found.declared
    if isinstance(declared, Argument):
        return f"`{declared.metavar}`"
    value = f" {declared.metavar}" if declared.metavar else ""
    return ", ".join(f"`{name}{value}`" for name in declared.names)


def _default(found: Parameter) -> str:
    if found.is_required:
        return " Required." if isinstance(found.declared, Option) else ""
    return "" if found.default in (None, False, "") else f" Default: `{found.default}`."


if __name__ == "__main__":
    import sys
    from pathlib import Path

    path = Path(sys.argv[1])
    names = importlib.import_module("agentdbg.cli").COMMANDS
    path.write_text(rewrite(path.read_text(encoding="utf-8"), names), encoding="utf-8")
