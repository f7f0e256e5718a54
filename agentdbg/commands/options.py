"""
How a command declares what it takes, and the way from what was typed to values.

A command's parameters are annotated with `Option` and `Argument`; help, completion and docs/cli.md are made from the
same declaration. A mistake is a `UsageError` that names it and says what to do.
"""

from __future__ import annotations

import difflib
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["HELP_OPTIONS", "RUN", "Argument", "Option", "Parameter", "chosen_format", "parameters_of", "read_arguments"]

HELP_OPTIONS = ("-h", "--help")


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


def read_arguments(name: str, parameters: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any] | None:
    """The values of what was typed behind `agentdbg NAME`; None where help is asked for. Raises UsageError."""
    reading = _Reading(name, parameters, list(words))
    while reading.rest:
        word = reading.rest.pop(0)
        if word in HELP_OPTIONS:
            return None
        if word == "--":
            reading.loose += reading.rest
            break
        if word == "-" or not word.startswith("-"):
            reading.loose.append(word)
        else:
            reading.take_option(word)
    reading.place()
    reading.fill()
    return reading.values


class _Reading:
    """One command line on its way to values."""

    def __init__(self, command: str, parameters: Sequence[Parameter], words: list[str]) -> None:
        self.rest = words
        self.loose: list[str] = []
        self.values: dict[str, Any] = {}
        self._parameters = parameters
        self._shown = f"`agentdbg {command}`"
        self._more = f"`agentdbg {command} --help` has examples"
        self._options = {
            option: found
            for found in parameters
            if isinstance(found.declared, Option)
            for option in found.declared.names
        }

    def take_option(self, word: str) -> None:
        """Read one option, and its value from what follows."""
        option, equals, text = word.partition("=")
        if option not in self._options and word[:2] in self._options:  # -n5, and -ym for -y -m
            option, equals, text = word[:2], "=", word[2:]
            if self._options[option].type is bool:
                self.rest.insert(0, f"-{text}")
                equals = ""
        if option not in self._options:
            close = difflib.get_close_matches(option, self._options, 1)
            hint = f"did you mean {close[0]}?" if close else self._more
            raise UsageError(f"{self._shown} has no option {option}; {hint}")
        found = self._options[option]
        if found.type is bool:
            if equals:
                raise UsageError(f"{option} takes no value")
            self.values[found.name] = True
            return
        if not equals:
            if not self.rest or self.rest[0] in self._options:
                raise UsageError(f"{option} needs a value")
            text = self.rest.pop(0)
        value = _converted(found, text)
        if found.is_list:
            self.values.setdefault(found.name, []).append(value)
        else:
            self.values[found.name] = value

    def place(self) -> None:
        """Give what has no option's name to the arguments, in their order."""
        for found in self._parameters:
            if isinstance(found.declared, Argument) and self.loose:
                self.values[found.name] = self.loose if found.is_list else self.loose.pop(0)
                if found.is_list:
                    return
        if self.loose:
            raise UsageError(f"{self._shown} has no use for {' '.join(self.loose)!r}; {self._more}")

    def fill(self) -> None:
        """Take the default of what was not given, or say that it is needed."""
        for found in self._parameters:
            if found.name in self.values:
                continue
            if found.is_required:
                declared = found.declared
                wanted = declared.names[0] if isinstance(declared, Option) else declared.metavar.strip("[].")
                raise UsageError(f"{self._shown} needs {wanted}; {self._more}")
            self.values[found.name] = found.default


def _converted(found: Parameter, text: str) -> Any:
    """What was typed, as the type that was declared, or a sentence about what was typed instead."""
    if found.type is str:
        return text
    assert isinstance(found.declared, Option)
    name, least = max(found.declared.names, key=len), found.declared.at_least
    try:
        value = found.type(text)
    except ValueError:
        kind = "a whole number" if found.type is int else "a number"
        raise UsageError(f"{name} is {text!r}, which is not {kind}") from None
    if least is not None and value < least:
        raise UsageError(f"{name} is {text}, but the least is {least}")
    return value
