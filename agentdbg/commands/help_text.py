"""
What `--help` prints: one layout for all commands, those included that read their own command line.
"""

from __future__ import annotations

import inspect

from agentdbg.commands import command_module
from agentdbg.commands.help_page import Help
from agentdbg.commands.options import Argument, Option, Parameter, parameters_of
from agentdbg.commands.terminal import Terminal

__all__ = ["help_of", "print_help"]

_WIDEST = 100
_INDENTED = 6


def help_of(name: str) -> Help:
    """The help of the command that people call `name`."""
    module = command_module(name)
    if hasattr(module, "own_help"):  # it reads its own command line
        own: Help = module.own_help()
        return own
    parameters = parameters_of(module.command)
    arguments = [found.declared for found in parameters if isinstance(found.declared, Argument)]
    sections = {"Arguments": [(argument.metavar, argument.help) for argument in arguments]} if arguments else {}
    options = [_option_row(found) for found in parameters if isinstance(found.declared, Option)]
    return Help(
        usage=[" ".join(["agentdbg", name, "[OPTIONS]", *(argument.metavar for argument in arguments)])],
        about=inspect.cleandoc(module.command.__doc__ or ""),
        sections={**sections, "Options": [*options, ("-h, --help", "Show this help and exit.")]},
        examples=module.EXAMPLES,
        names_runs=any(argument.completes == "runs" for argument in arguments),
    )


def _option_row(found: Parameter) -> tuple[str, str]:
    assert isinstance(found.declared, Option)
    names = ", ".join(sorted(found.declared.names, key=len))
    if found.is_required:
        remark = "  [required]"
    else:
        remark = "" if found.default in (None, False, "") else f"  [default: {found.default}]"
    return f"{names} {found.declared.metavar or ''}".rstrip(), f"{found.declared.help}{remark}"


def print_help(shown: Help) -> None:
    """Print it as wide as the terminal, but no wider than is easy to read."""
    out = Terminal()
    out.width = min(out.width or 80, _WIDEST)
    for at, usage in enumerate(shown.usage):
        out.sentence(f"{'       ' if at else 'Usage: '}{usage}", hang=7)
    for paragraph in shown.about.strip().split("\n\n"):
        out.line()
        out.sentence(" ".join(paragraph.split()), indent=2)
    for heading, rows in shown.sections.items():
        out.line()
        out.line(f"{heading}:")
        column = max(len(left) for left, _ in rows) + 2
        is_beside = column <= out.width // 2
        for left, right in rows:
            if is_beside:
                out.sentence(left.ljust(column), right, indent=2, hang=column)
            else:
                out.sentence(left, indent=2, hang=_INDENTED)
                out.sentence(right, indent=2 + _INDENTED)
    if shown.examples:
        out.line()
        out.line("Examples:")
        for line in shown.examples.strip().splitlines():
            out.line(line, indent=2, cut=False)
