"""
Edits of a fork, as people write them: `result.hits=[]`, `response="No."`, `messages[0].content+=" Be brief."`.

A path that begins with result, response or error changes what a call gives; any other changes what it is given, and the
call is then made. A model's answer that comes over HTTP is written in the form in which its provider sends it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.bounded import TooMuch
from agentdbg.bounded.json_size import check_json_size
from agentdbg.control.pauses import error_named
from agentdbg.control.provider_answers import answer_in_form
from agentdbg.control.provider_requests import edited_request
from agentdbg.control.value_paths import parse_path, path_text, with_value
from agentdbg.exceptions import UsageError
from agentdbg.recorder.deciders import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Edit", "edited_answer", "edited_input", "parse_edit"]

_OUTCOMES = ("result", "response", "error")


class Edit(NamedTuple):
    """One change."""

    path: tuple[str | int, ...]
    value: Any
    append: bool = False

    @property
    def is_outcome(self) -> bool:
        """Whether it changes what the call gives, not what it is given."""
        return self.path[0] in _OUTCOMES

    @property
    def replaces_all(self) -> bool:
        """Whether nothing is left of what the call gave."""
        return self.path[0] == "error" or (self.is_outcome and len(self.path) == 1 and not self.append)

    def to_json(self) -> dict[str, Any]:
        """As the run's files say it."""
        return {"path": path_text(self.path), "op": "append" if self.append else "set", "value": self.value}


def parse_edit(text: str, option: str = "--set") -> Edit:
    """`PATH=VALUE` or `PATH+=VALUE`: JSON, else text; `@file` reads a file. Raises UsageError."""
    path, equals, value = text.partition("=")
    append = path.endswith("+")
    if not equals or not path.rstrip("+").strip():
        raise UsageError(f"{option} {text}: it takes PATH=VALUE, for example result.ok=false")
    return Edit(parse_path(path.removesuffix("+").strip()), _value(value, f"{option} {text}"), append)


def _value(text: str, whole: str) -> Any:
    if text.startswith("@"):
        text = read_value_file(text[1:], whole)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if text[:1] in ("{", "["):
            raise UsageError(f"{whole}: that begins like JSON, but is none; a text that does needs quotes") from None
        return text


_LARGEST_VALUE = 16 << 20


def read_value_file(path: str, whole: str) -> str:
    """The text of the file that an option names with `@`; `whole` is the option. Raises UsageError."""
    try:
        with open(path, "rb") as file:  # a pipe is one too: `--set result=@<(command)`
            content = file.read(_LARGEST_VALUE + 1)
        if len(content) > _LARGEST_VALUE:
            raise TooMuch(f"it is longer than {_LARGEST_VALUE >> 20} MB")
        check_json_size(content)
        return content.decode("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{whole}: the file cannot be read: {error}") from None


def edited_answer(answer: Answer, edits: Sequence[Edit], request: Any = None) -> Answer:
    """
    The answer with the edits made in it. Raises UsageError where a path leads nowhere.

    `request` is what an HTTP exchange was asked, where the answer is the server's.
    """
    value, error = answer.value, answer.error
    for edit in edits:
        root, rest = edit.path[0], edit.path[1:]
        if root == "error":
            error = _error(edit.value)
        elif request is not None:
            value, error = answer_in_form(request, value, rest, edit.value, append=edit.append), None
        elif answer.items is not None and not rest:
            items = edit.value if isinstance(edit.value, list) else [edit.value]
            return Answer(None, items=items, served="edited")
        else:
            value, error = with_value(value, rest, edit.value, append=edit.append), None
    if error is not None:
        return Answer(error=error, served="edited")
    return Answer(value, items=answer.items, served="edited")


def _error(value: Any) -> BaseException:
    if isinstance(value, dict):
        return error_named(str(value.get("type") or "RuntimeError"), str(value.get("message") or ""))
    kind, _, message = str(value).partition(":")
    return error_named(kind.strip(), message.strip())


def edited_input(kind: str, given: Any, edits: Sequence[Edit]) -> Any:
    """The input of a call with the edits made in it. Raises UsageError where a path leads nowhere."""
    for edit in edits:
        given = _one_input(kind, given, edit)
    return given


def _one_input(kind: str, given: Any, edit: Edit) -> Any:
    root, rest = edit.path[0], edit.path[1:]
    if kind == "http":
        return edited_request(given, edit.path, edit.value, append=edit.append)
    if kind == "tool" and root == "args" and not rest and not isinstance(edit.value, dict):
        raise UsageError(f"args is an object with all arguments; one of them is args.{next(iter(given), 'NAME')}")
    if root in ("args", "prompt", "messages", "input") and not (isinstance(given, dict) and root in given):
        if root == "args" and rest and isinstance(given, dict) and rest[0] not in given:
            raise UsageError(f"there is no argument {rest[0]!r}; there are: {', '.join(map(str, given)) or 'none'}")
        return with_value(given, rest, edit.value, append=edit.append)
    if isinstance(given, dict) and root not in given:
        raise UsageError(f"there is no {root!r} in what this step is given; there are: {', '.join(map(str, given))}")
    return with_value(given, edit.path, edit.value, append=edit.append)
