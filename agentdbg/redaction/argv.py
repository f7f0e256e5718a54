"""
A program's arguments without their secrets: `--password x`, `--password=x`, `-p x`, `KEY=value` and the rest.

The texts come in already cleaned one by one (URLs, tokens, JSON, `key=value`); here an argument is judged by the one
before it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED
from agentdbg.redaction.keys import SECRET

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["clean_arguments"]

_OPTION = re.compile(
    r"(?P<name>-{1,2}[A-Za-z][\w.\-]*|/[A-Za-z][\w\-]*|[A-Za-z_][\w.\-]*)(?P<sign>[=:])(?P<value>.+)", re.DOTALL
)
_BARE_OPTION = re.compile(r"-{1,2}[A-Za-z][\w.\-]*|/[A-Za-z][\w\-]*")
_ATTACHED = re.compile(r"-(?P<letter>[pP])(?P<value>[^-=\s]\S*)")
_NOT_A_PASSWORD = re.compile(r"[0-9.:]+|no:\S+|.*\s.*", re.DOTALL)
_LOGIN = re.compile(r"(?P<user>[^:\s/]+):(?P<secret>[^\s/].*)", re.DOTALL)


def clean_arguments(arguments: Sequence[str], judge: Callable[[str], int]) -> list[str]:
    """The arguments with every secret value replaced."""
    cleaned: list[str] = []
    before = ""
    for argument in arguments:
        cleaned.append(_judged(argument, before, judge))
        before = argument
    return cleaned


def _judged(argument: str, before: str, judge: Callable[[str], int]) -> str:
    if _BARE_OPTION.fullmatch(before):
        if judge(before.lstrip("-/")) == SECRET and not _BARE_OPTION.fullmatch(argument):
            return REDACTED
        if (
            before in {"-p", "-P"}
            and argument
            and not argument.startswith("-")
            and not _NOT_A_PASSWORD.fullmatch(argument)
        ):
            return REDACTED
        if before in {"-u", "--user", "--proxy-user"} and (login := _LOGIN.fullmatch(argument)):
            return f"{login['user']}:{REDACTED}"
    option = _OPTION.fullmatch(argument)
    if option and judge(option["name"].lstrip("-/")) == SECRET and not option["value"].startswith(("//", REDACTED)):
        return f"{option['name']}{option['sign']}{REDACTED}"
    attached = _ATTACHED.fullmatch(argument)
    if attached and not _NOT_A_PASSWORD.fullmatch(attached["value"]) and _has_mixed(attached["value"]):
        return f"-{attached['letter']}{REDACTED}"
    return argument


def _has_mixed(value: str) -> bool:
    """Whether something glued to `-p` is more than the rest of a word, as in `-print` or `-path`."""
    return not value.isalpha() or not value.islower()
