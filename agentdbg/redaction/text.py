"""
Take the secrets out of a text and leave the rest readable.

`TextCleaner.clean` is the one truth about what is secret inside text; it uses the standard library alone, and every
expression in it is bounded or starts at a boundary its own run cannot contain, so its time grows with the text and no
faster. `Suspicion` only decides, quickly, whether asking is worth while.

A program's arguments without their secrets: `--password x`, `--password=x`, `-p x`, `KEY=value` and the rest.

The texts come in already cleaned one by one (URLs, tokens, JSON, `key=value`); here an argument is judged by the one
before it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED
from agentdbg.redaction.assignments import AssignmentScanner
from agentdbg.redaction.keys import plain_spelling
from agentdbg.redaction.rules import KEYS_OF_OTHER_LANGUAGES, WHOLE_WORD_KEYS
from agentdbg.redaction.suspicion import NAMED
from agentdbg.redaction.token_scan import shaped_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentdbg.redaction.assigned_values import Span
    from agentdbg.redaction.keys import KeyJudge
    from agentdbg.redaction.patterns import UserPattern
    from agentdbg.redaction.suspicion import Suspicion

__all__ = ["TextCleaner", "clean_arguments", "marked", "merged", "replace_spans", "telling_words"]


def telling_words(keys: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The literals that can begin a secret's name in text: those matched anywhere, and those matched as whole words."""
    anywhere: dict[str, None] = {}
    for key in keys:
        anywhere.update(dict.fromkeys(_spellings(key)))
    whole: dict[str, None] = {}
    for key in (*WHOLE_WORD_KEYS, *KEYS_OF_OTHER_LANGUAGES):
        whole.update(dict.fromkeys(_spellings(key)))
    return tuple(anywhere), tuple(word for word in whole if not any(part in word for part in anywhere))


def _spellings(key: str) -> list[str]:
    spelled: dict[str, None] = {}
    for spelling in (key.lower(), plain_spelling(key.lower())):  # `contrase\u00f1a` is typed without its tilde as well
        words = "".join(letter if _is_of_word(letter) else " " for letter in spelling).split()
        if words and (spelling.isascii() or spelling == key.lower()):
            spelled.update(dict.fromkeys(joint.join(words) for joint in ("_", "-", "", " ", ".")))
    return list(spelled)


def _is_of_word(letter: str) -> bool:
    """A letter, a digit, or a mark that some scripts write above or below one."""
    return letter.isalnum() or unicodedata.category(letter).startswith("M")


class TextCleaner:
    """Replaces what is secret in a text by the marker."""

    __slots__ = ("_assigned", "_patterns", "_suspicion")

    def __init__(self, judge: KeyJudge, keys: Iterable[str], suspicion: Suspicion, patterns: list[UserPattern]) -> None:
        anywhere, whole = telling_words(keys)
        self._assigned = AssignmentScanner(judge, anywhere + whole).spans
        self._suspicion = suspicion
        self._patterns = patterns

    def clean(self, text: str) -> str:
        """`text` with every secret in it replaced; the same object when there is none."""
        return replace_spans(text, self.spans(text), marked)

    def spans(self, text: str) -> list[Span]:
        """Where the secrets of a text stand; some may overlap."""
        spans: list[Span] = []
        kinds = self._suspicion.kinds(text.encode())
        if NAMED in kinds:
            spans.extend(self._assigned(text))
        if kinds:
            spans.extend(shaped_secrets(text, kinds))
        for pattern in self._patterns:
            spans.extend(pattern.spans(text))
        return spans


def marked(secret: str) -> str:
    """What stands in an event in the place of a secret."""
    del secret
    return REDACTED


def replace_spans(text: str, spans: list[Span], mark: Callable[[str], str]) -> str:
    """`text` with each of the spans replaced by what `mark` makes of it; the same object when there are none."""
    if not spans:
        return text
    pieces: list[str] = []
    kept_to = 0
    for start, end in merged(spans):
        pieces += (text[kept_to:start], mark(text[start:end]))
        kept_to = end
    pieces.append(text[kept_to:])
    return "".join(pieces)


def merged(spans: list[Span]) -> list[Span]:
    """The same spans in order, those that overlap made one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


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
