"""
The commands as a typer application: help with examples, completion, and a kind word where arguments are wrong.
"""

from __future__ import annotations

import difflib
import inspect
import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agentdbg.commands import command_module
from agentdbg.commands.find_runs import newest_runs
from agentdbg.commands.options import Argument, Option, Parameter, parameters_of
from agentdbg.exceptions import UsageError
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["make_app", "run_app"]

_HELP = {"help_option_names": ["-h", "--help"]}
_START_HERE = """\b
Start here:
  agentdbg demo             record a few small agents and open the viewer
  agentdbg view             open your latest run
  agentdbg COMMAND --help   says more, with examples"""


def make_app(groups: Mapping[str, Mapping[str, str]]) -> typer.Typer:
    """The application; `groups` are the headings of the help, each with its commands and what each does in one line."""
    commands = {name: text for group in groups.values() for name, text in group.items()}

    class Commands(TyperGroup):
        """Knows the names of all commands, and imports the one that is used."""

        def list_commands(self, _: Any) -> list[str]:
            return list(commands)

        def get_command(self, _: Any, cmd_name: str) -> Any:
            return _command(cmd_name) if cmd_name in commands else None

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            if args[0] not in commands and not ctx.resilient_parsing:  # which a shell asks for to complete
                close = difflib.get_close_matches(args[0], commands, 1)
                hint = f"did you mean `agentdbg {close[0]}`?" if close else "`agentdbg --help` lists them"
                raise UsageError(f"there is no command {args[0]!r}; {hint}")
            return super().resolve_command(ctx, args)

        def format_commands(self, _: Any, formatter: Any) -> None:
            widest = max(map(len, commands))
            for heading, group in groups.items():
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(widest), text) for name, text in group.items()])

    app = typer.Typer(
        name="agentdbg",
        cls=Commands,
        help="The debugger for AI agents: see what your agent did, and where it went wrong.",
        epilog=_START_HERE,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    app.callback()(_root)
    return app


def run_app(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; a mistake in the arguments is raised as a sentence in our own words."""
    try:
        code = app(arguments, prog_name="agentdbg", standalone_mode=False)
    except typer.Abort:
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):  # which typer's complaints about arguments have
            raise
        raise UsageError(_in_our_words(error)) from error
    return code if isinstance(code, int) else 0


def _in_our_words(complaint: Any) -> str:
    """What is wrong with the arguments; typer's classes have moved between releases, so they are known by name."""
    context = complaint.ctx
    command = f"`{context.command_path}`" if context else "`agentdbg`"
    more = f"`{context.command_path if context else 'agentdbg'} --help` has examples"
    kind = type(complaint).__name__
    if kind == "NoSuchOption":
        meant = [] if context is None else [name for option in context.command.params for name in option.opts]
        close = difflib.get_close_matches(complaint.option_name, meant, 1)
        hint = f"did you mean {close[0]}?" if close else more
        return f"{command} has no option {complaint.option_name}; {hint}"
    if kind == "MissingParameter":
        wanted = complaint.param
        name = wanted.opts[0] if wanted.param_type_name == "option" else wanted.metavar
        return f"{command} needs {name}; {more}"
    if kind == "BadOptionUsage":
        sentence = "takes no value" if "not take" in complaint.message else "needs a value"
        return f"{complaint.option_name} {sentence}"
    stray = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", complaint.message, re.DOTALL)
    if stray:
        return f"{command} has no use for {stray[1]!r}; {more}"
    said: str = complaint.format_message().rstrip(".")
    return f"{said[:1].lower()}{said[1:]}; {more}"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agentdbg {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_print_version),
) -> None:
    pass


def _command(name: str) -> Any:
    module = command_module(name)
    # The mark `\b` keeps the lines of the examples as they are.
    examples = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in module.EXAMPLES.strip().splitlines())
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    text = inspect.cleandoc(module.command.__doc__ or "")
    kind = _kind_of_command(parameters_of(module.command))
    single.command(name, cls=kind, help=text, epilog=examples, context_settings=_HELP)(_as_typer_has_it(module.command))
    return typer.main.get_command(single)


def _kind_of_command(parameters: Sequence[Parameter]) -> type[TyperCommand]:
    """A command that shows what it takes as it was declared; typer would add the names of Python types."""
    arguments = [found.declared for found in parameters if isinstance(found.declared, Argument)]
    options = [found for found in parameters if isinstance(found.declared, Option)]

    class Command(TyperCommand):
        def collect_usage_pieces(self, _: Any) -> list[str]:
            return ["[OPTIONS]", *(argument.metavar for argument in arguments)]

        def format_options(self, _: Any, formatter: Any) -> None:
            if arguments:
                with formatter.section("Arguments"):
                    formatter.write_dl([(argument.metavar, argument.help) for argument in arguments])
            with formatter.section("Options"):
                formatter.write_dl([*map(_option_record, options), ("-h, --help", "Show this message and exit.")])

    return Command


def _option_record(found: Parameter) -> tuple[str, str]:
    assert isinstance(found.declared, Option)
    names = ", ".join(sorted(found.declared.names, key=len))
    if found.is_required:
        remark = "  [required]"
    else:
        remark = "" if found.default in (None, False, "") else f"  [default: {found.default}]"
    return f"{names} {found.declared.metavar or ''}".rstrip(), f"{found.declared.help}{remark}"


def _as_typer_has_it(function: Callable[..., None]) -> Callable[..., None]:
    """The same function with typer's declarations in the place of ours."""

    def call(**values: Any) -> None:
        function(**values)

    signature = []
    for found in parameters_of(function):
        inner: Any = list[found.type] if found.is_list else found.type  # type: ignore[name-defined] # built at run time
        if found.default is None:
            inner = inner | None
        annotation = Annotated[inner, _declared(found)]
        default = inspect.Parameter.empty if found.is_required else found.default
        signature.append(
            inspect.Parameter(found.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    call.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined] # what typer reads
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in signature}
    return call


def _declared(found: Parameter) -> Any:
    declared = found.declared
    if isinstance(declared, Argument):
        complete = _complete_runs if declared.completes == "runs" else None
        # typer says itself that an argument may be left out or repeated.
        return typer.Argument(metavar=declared.metavar.strip("[]."), help=declared.help, autocompletion=complete)
    parser = partial(_number, found) if found.type in (int, float) else None
    return typer.Option(*declared.names, help=declared.help, metavar=declared.metavar, parser=parser)


def _number(found: Parameter, text: Any) -> Any:
    """The number that was typed, or a sentence about what was typed instead."""
    assert isinstance(found.declared, Option)
    name, least = max(found.declared.names, key=len), found.declared.at_least
    try:
        value = found.type(text)
    except ValueError:
        kind = "whole number" if found.type is int else "number"
        raise UsageError(f"{name} is {text!r}, which is no {kind}") from None
    if least is not None and value < least:
        raise UsageError(f"{name} is {text}, but the least is {least}")
    return value


def _complete_runs(incomplete: str) -> list[tuple[str, str]]:
    """The latest runs whose id begins like that, with their names."""
    found = [(run["run_id"][:8], run["run_name"] or "") for run in newest_runs(50)]
    return [(run_id, name) for run_id, name in [("latest", "the newest run"), *found] if run_id.startswith(incomplete)]
