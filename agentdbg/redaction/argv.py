"""
A program's arguments without their secrets: `--password x`, `--password=x`, `-p x`, `KEY=value` and the rest.

The texts come in already cleaned one by one (URLs, tokens, JSON, `key=value`); here an argument is judged by the one
before it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.redaction.keys import KeyJudge

__all__ = ["clean_arguments"]

_OPTION = re.compile(
    r"(?P<name>-{1,2}[A-Za-z][\w.\-]*|/[A-Za-z][\w\-]*|[A-Za-z_][\w.\-]*)(?P<sign>[=:])(?P<value>.+)", re.DOTALL
)
_BARE_OPTION = re.compile(r"-{1,2}[A-Za-z][\w.\-]*|/[A-Za-z][\w\-]*")
_ATTACHED = re.compile(r"-(?P<letter>[pP])(?P<value>[^-=\s]\S*)")
_NOT_A_PASSWORD = re.compile(r"[0-9.:]+|no:\S+|.*\s.*", re.DOTALL)
_ATTACHED_LOGIN = re.compile(r"-u(?P<user>[^:\s/=\d-][^:\s/]*):(?P<secret>[^\s/]\S*)")
_RANDOM = re.compile(r"(?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[^\s/=:.]{6,}")
_LOGIN = re.compile(r"(?P<user>[^:\s/]+):(?P<secret>[^\s/].*)", re.DOTALL)


def clean_arguments(arguments: Sequence[str], judge: KeyJudge) -> list[str]:
    """The arguments with every secret value replaced."""
    cleaned: list[str] = []
    before = ""
    for argument in arguments:
        cleaned.append(_judged(argument, before, judge))
        before = argument
    return cleaned


def _judged(argument: str, before: str, judge: KeyJudge) -> str:
    told = _told_by_the_one_before(argument, before, judge)
    if told is not None:
        return told
    if login := _ATTACHED_LOGIN.fullmatch(argument):
        return f"-u{login['user']}:{REDACTED}"
    option = _OPTION.fullmatch(argument)
    if option and not option["value"].startswith(("//", REDACTED)) and _hides(judge, option["name"], option["value"]):
        return f"{option['name']}{option['sign']}{REDACTED}"
    attached = _ATTACHED.fullmatch(argument)
    if attached and not _NOT_A_PASSWORD.fullmatch(attached["value"]) and _has_mixed(attached["value"]):
        return f"-{attached['letter']}{REDACTED}"
    return argument


def _told_by_the_one_before(argument: str, before: str, judge: KeyJudge) -> str | None:
    """What is left of an argument whose meaning the one before it gives away; None when it gives away nothing."""
    if not _BARE_OPTION.fullmatch(before):  # `config set password …`, where the next word may be just a word
        is_named = before.isidentifier() and judge.hides(before, argument)
        return REDACTED if is_named and _RANDOM.fullmatch(argument) else None
    if not _BARE_OPTION.fullmatch(argument) and _hides(judge, before, argument):
        return REDACTED
    is_password = argument and not argument.startswith("-") and not _NOT_A_PASSWORD.fullmatch(argument)
    if before in {"-p", "-P", "-pw"} and is_password:
        return REDACTED
    login = _LOGIN.fullmatch(argument)
    return f"{login['user']}:{REDACTED}" if login and before in {"-u", "--user", "--proxy-user"} else None


def _hides(judge: KeyJudge, option: str, argument: str) -> bool:
    return judge.hides(option.lstrip("-/"), argument)


def _has_mixed(value: str) -> bool:
    """Whether something glued to `-p` is more than the rest of a word, as in `-print` or `-path`."""
    return not value.isalpha() or not value.islower()
