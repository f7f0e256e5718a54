"""
The commands as a typer application: help with examples, completion, and a kind word where arguments are wrong.
"""

from __future__ import annotations

import difflib
import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from agentdbg.commands import command_module
from agentdbg.commands.find_runs import newest_runs
from agentdbg.commands.options import Argument, Option, Parameter, parameters_of
from agentdbg.commands.streams import exit_code_of
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["make_app"]

_HELP = {"help_option_names": ["-h", "--help"]}
_START_HERE = """\b
Start here:
  agentdbg demo             record a few small agents and open the viewer
  agentdbg view             open your latest run
  agentdbg COMMAND --help   says more, with examples"""


def make_app(commands: Mapping[str, str]) -> typer.Typer:
    """The application; `commands` are the names and what each does in one line."""

    class Commands(TyperGroup):
        """Knows the names of all commands, and imports the one that is used."""

        def list_commands(self, _: Any) -> list[str]:
            return list(commands)

        def get_command(self, _: Any, cmd_name: str) -> Any:
            return _command(cmd_name) if cmd_name in commands else None

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            close = difflib.get_close_matches(args[0], commands, 1)
            if args[0] not in commands and close and not ctx.resilient_parsing:  # which a shell asks for to complete
                ctx.fail(f"No such command {args[0]!r}; did you mean `agentdbg {close[0]}`?")
            return super().resolve_command(ctx, args)

        def format_commands(self, _: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(commands.items()))

        def invoke(self, ctx: Any) -> Any:
            try:
                return super().invoke(ctx)
            except (typer.Exit, typer.Abort, BrokenPipeError, SystemExit):
                raise
            except Exception as error:
                if hasattr(error, "format_message"):  # typer's own complaint about the arguments
                    raise
                raise typer.Exit(exit_code_of(error)) from error

    app = typer.Typer(
        name="agentdbg",
        cls=Commands,
        help="The debugger for AI agents: see what your agent did, and where it went wrong.",
        epilog=_START_HERE,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    app.callback()(_root)
    return app


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
    return typer.Option(*declared.names, help=declared.help, metavar=declared.metavar, min=declared.at_least)


def _complete_runs(incomplete: str) -> list[tuple[str, str]]:
    """The latest runs whose id begins like that, with their names."""
    found = [(run["run_id"][:8], run["run_name"] or "") for run in newest_runs(50)]
    return [(run_id, name) for run_id, name in [("latest", "the newest run"), *found] if run_id.startswith(incomplete)]
