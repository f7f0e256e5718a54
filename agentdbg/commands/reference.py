"""The reference part of docs/cli.md, written from the commands themselves so that it stays true."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING

from agentdbg.commands.options import Argument, Option, parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.commands.options import Parameter

__all__ = ["commands_markdown"]


def commands_markdown(commands: Mapping[str, str]) -> str:
    """One section for each command: what it does, what it takes, examples."""
    return "\n".join(_section(name) for name in commands)


def _section(name: str) -> str:
    module = importlib.import_module(f"agentdbg.commands.{name}")
    parameters = parameters_of(module.command)
    lines = [f"## agentdbg {name}", "", *_sentences(module.command.__doc__ or ""), ""]
    lines += ["| argument or option | what it does |", "|---|---|"] if parameters else []
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
    return "" if found.default in (None, False, "") else f" Default: {found.default}."
