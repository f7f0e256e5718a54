"""
How a command declares what it takes, and the short way from arguments to values.

A command's parameters are annotated with `Option` and `Argument`. Arguments that are plainly right are read here.
Everything else (help, completion, a mistake) returns None and is left to typer, which says it well, but takes several
times as long to load as listing runs takes otherwise. Both ways read the same declaration, so they cannot disagree.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["RUN", "Argument", "Option", "Parameter", "chosen_format", "parameters_of", "read_plainly"]


@dataclass(frozen=True)
class Argument:
    """A value given by its place."""

    metavar: str
    help: str
    completes: str = ""
    """`runs` where shells may offer the ids of stored runs."""


@dataclass(frozen=True, init=False)
class Option:
    """A value given by name; a bool needs no value."""

    names: tuple[str, ...]
    help: str
    metavar: str | None
    at_least: int | None

    def __init__(self, *names: str, help: str, metavar: str | None = None, at_least: int | None = None) -> None:  # noqa: A002
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "help", help)
        object.__setattr__(self, "metavar", metavar)
        object.__setattr__(self, "at_least", at_least)


RUN = Argument("RUN", "A run: its id, a unique prefix, or `latest`.", completes="runs")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a command: its declaration, its type without None, whether it repeats, its default."""

    name: str
    declared: Argument | Option
    type: type[Any]
    is_list: bool
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is ...


def chosen_format(given: str, default: str, *, as_json: bool) -> str:
    """What `--format` and `--json`, its short form, ask for together."""
    if as_json and given not in (default, "json"):
        raise UsageError(f"--json and --format {given} at once make no sense; choose one")
    return "json" if as_json else given


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """What a command takes, in the order of its signature."""
    hints = typing.get_type_hints(function, include_extras=True)
    defaults = function.__kwdefaults__ or {}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    given = function.__defaults__ or ()
    positional = dict(zip(names[len(names) - len(given) :], given, strict=True))
    return [
        _parameter(name, hint, positional.get(name, defaults.get(name, ...)))
        for name, hint in hints.items()
        if name != "return"
    ]


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    if typing.get_origin(hint) is not typing.Annotated:
        # Python 3.10 says once more that a parameter whose default is None may be None.
        hint = next(choice for choice in typing.get_args(hint) if typing.get_origin(choice) is typing.Annotated)
    inner, declared = typing.get_args(hint)[:2]
    # `str | None` is a str that may be left out, `list[str] | None` a list of them.
    choices = [choice for choice in typing.get_args(inner) if choice is not type(None)] or [inner]
    if typing.get_origin(inner) is list:
        choices = [inner]
    is_list = typing.get_origin(choices[0]) is list
    kind = typing.get_args(choices[0])[0] if is_list else choices[0]
    return Parameter(name, declared, kind, is_list, default)


def read_plainly(parameters: Sequence[Parameter], arguments: Sequence[str]) -> dict[str, Any] | None:
    """The values of arguments that are plainly right; None for anything that needs a word to the user."""
    by_name = {
        name: found for found in parameters if isinstance(found.declared, Option) for name in found.declared.names
    }
    places = [found for found in parameters if isinstance(found.declared, Argument)]
    values: dict[str, Any] = {}
    loose: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "-" or not word.startswith("-"):
            loose.append(word)
            continue
        name, equals, text = word.partition("=")
        found = by_name.get(name)
        if found is None or (equals and found.type is bool) or (not equals and found.type is not bool and not rest):
            return None
        if not _take(found, text if equals else None, rest, values):
            return None
    if not _place(places, loose, values):
        return None
    for found in parameters:
        if found.name not in values:
            if found.is_required:
                return None
            values[found.name] = found.default
    return values


def _take(found: Parameter, text: str | None, rest: list[str], values: dict[str, Any]) -> bool:
    """Read one option's value; False when it is not plainly right."""
    if found.type is bool:
        values[found.name] = True
        return True
    if text is None:
        text = rest.pop(0)
        if text.startswith("-") and text != "-":
            return False  # an option where a value should be
    value = _converted(found, text)
    if value is None:
        return False
    if found.is_list:
        values.setdefault(found.name, []).append(value)
    else:
        values[found.name] = value
    return True


def _converted(found: Parameter, text: str) -> Any:
    if found.type is str:
        return text
    try:
        value = found.type(text)
    except ValueError:
        return None
    least = found.declared.at_least if isinstance(found.declared, Option) else None
    return None if least is not None and value < least else value


def _place(places: Sequence[Parameter], loose: list[str], values: dict[str, Any]) -> bool:
    for found in places:
        if found.is_list:
            if loose:
                values[found.name] = loose
            return True
        if loose:
            values[found.name] = loose.pop(0)
    return not loose
