"""
A tool: what it is called, what it takes, and the function that answers.

What a tool takes: said as a JSON Schema for the assistant, and checked so that a mistake is answered with a sentence.

Models send numbers as text now and then; what can only mean one thing is taken as that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentdbg.exceptions import UsageError
from agentdbg.mcp_server.tool_answers import DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES, encode, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentdbg.mcp_server.run_access import Reader

__all__ = ["OFFSET", "RUN", "SINCE", "Parameter", "Tool", "limit", "read_arguments"]


@dataclass(frozen=True)
class Tool:
    """One tool. `answer` is called with the reader and the arguments; `max_bytes` is an argument of every tool."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    answer: Callable[..., dict[str, Any]]
    gives: str = ""
    """The members of its answer; `next`, the arguments that ask for more, is one of every answer."""
    acts: bool = False
    """Whether it runs a program or answers one; all others only read."""

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as the protocol lists it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema_of((*self.parameters, MAX_BYTES)),
            # Members that hold nothing are left out, and long ones are cut, so none is required and none is typed.
            "outputSchema": {"type": "object", "properties": {name: {} for name in [*self.gives.split(), "next"]}},
            # Of most tools nothing is changed, asking twice gives the same, and only this machine's files are read.
            "annotations": {
                "title": self.title,
                "readOnlyHint": not self.acts,
                "destructiveHint": self.acts,
                "idempotentHint": not self.acts,
                "openWorldHint": self.acts,
            },
        }

    def call(self, reader: Reader, given: dict[str, Any]) -> str:
        """The answer as JSON, never larger than was asked for."""
        values = read_arguments((*self.parameters, MAX_BYTES), given)
        with reader.lock:
            answer = self.answer(reader, **values)
        return encode(fit(answer, values["max_bytes"])[0])


_LONGEST_TEXT = 1_000
_MOST_MEMBERS = 20
_REQUIRED: Any = object()


@dataclass(frozen=True)
class Parameter:
    """One argument: its name, its JSON type, what it means, what it is when left out, and what it may be."""

    name: str
    type: Literal["string", "integer", "boolean", "strings", "object"]
    description: str
    default: Any = _REQUIRED
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def is_required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def schema(self) -> dict[str, Any]:
        said: dict[str, Any] = {"type": self.type, "description": self.description}
        if self.type == "strings":
            said |= {"type": "array", "items": {"type": "string"}, "maxItems": _MOST_MEMBERS}
        if self.type == "object":
            said["additionalProperties"] = {"type": "string"}
        if self.type == "string":
            said["maxLength"] = _LONGEST_TEXT
        if self.choices:
            said["enum"] = list(self.choices)
        if self.least is not None:
            said["minimum"] = self.least
        if self.most is not None:
            said["maximum"] = self.most
        if not self.is_required and self.default not in (None, "", (), {}):
            said["default"] = self.default
        return said


RUN = Parameter("run", "string", "The run: its id, the unique beginning of one, or `latest`.", "latest")
OFFSET = Parameter(
    "offset", "integer", "How many to leave out at the beginning; what `next` says asks for more.", 0, 0, 1 << 40
)
MAX_BYTES = Parameter(
    "max_bytes", "integer", "The largest answer wanted, in bytes.", DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES
)
SINCE = Parameter(
    "since", "string", "Only runs started since then: an age (2h, 7d), `today`, or a date (2026-11-01).", ""
)


def limit(default: int, most: int, what: str) -> Parameter:
    """The usual limit on how many of something an answer lists."""
    return Parameter("limit", "integer", f"How many {what} at most.", default, 1, most)


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The input schema of a tool with these parameters."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in parameters},
        "additionalProperties": False,
    }
    required = [parameter.name for parameter in parameters if parameter.is_required]
    return {**schema, "required": required} if required else schema


def read_arguments(parameters: Sequence[Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """The value of every parameter; UsageError says which argument cannot be used and why."""
    known = {parameter.name: parameter for parameter in parameters}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UsageError(f"there is no argument {unknown[0][:60]!r}; there are {', '.join(known)}")
    values = {}
    for name, parameter in known.items():
        value = given.get(name)
        if value is None and parameter.is_required:
            raise UsageError(f"{name} is missing: {parameter.description}")
        values[name] = parameter.default if value is None else _READERS[parameter.type](parameter, value)
    return values


def _string(parameter: Parameter, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise UsageError(f"{parameter.name} has to be text, not {_shown(value)}")
    if len(value) > _LONGEST_TEXT:
        raise UsageError(f"{parameter.name} is longer than {_LONGEST_TEXT:,} characters")
    if parameter.choices and value and value not in parameter.choices:
        raise UsageError(f"{parameter.name} is one of {', '.join(parameter.choices)}, not {_shown(value)}")
    if parameter.is_required and not value.strip():
        raise UsageError(f"{parameter.name} is empty: {parameter.description}")
    return value


def _integer(parameter: Parameter, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{parameter.name} has to be a whole number, not {_shown(value)}")
    least, most = parameter.least or 0, parameter.most or 1 << 40
    if not least <= value <= most:
        raise UsageError(f"{parameter.name} has to be from {least:,} to {most:,}, not {_shown(value)}")
    return value


def _boolean(parameter: Parameter, value: Any) -> bool:
    if value in ("true", "false"):
        return bool(value == "true")
    if not isinstance(value, bool):
        raise UsageError(f"{parameter.name} has to be true or false, not {_shown(value)}")
    return value


def _strings(parameter: Parameter, value: Any) -> list[str]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    is_usable = isinstance(value, list) and len(value) <= _MOST_MEMBERS
    if not is_usable or not all(isinstance(item, str) and len(item) <= _LONGEST_TEXT for item in value):
        raise UsageError(f"{parameter.name} has to be a list of up to {_MOST_MEMBERS} texts, not {_shown(value)}")
    for item in value:
        if parameter.choices and item not in parameter.choices:
            raise UsageError(f"{parameter.name} may hold {', '.join(parameter.choices)}, not {_shown(item)}")
    return list(value)


def _object(parameter: Parameter, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > _MOST_MEMBERS:
        raise UsageError(f"{parameter.name} has to be an object of up to {_MOST_MEMBERS} members, not {_shown(value)}")
    return {str(key): item if isinstance(item, str) else str(item) for key, item in value.items()}


_READERS = {"string": _string, "integer": _integer, "boolean": _boolean, "strings": _strings, "object": _object}


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:59]}…"
