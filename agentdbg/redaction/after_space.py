"""
Values that stand after a name as a word does: options of commands, sentences, lists and columns of a name.

Beside a sign of assignment whatever stands there is the value. Without one it is only what no person would write as a
word: what a machine has drawn, or a password with digits or signs in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED
from agentdbg.redaction.assigned_values import LINE_END, SPACE, Span, is_harmless, read_quoted, read_unquoted
from agentdbg.redaction.keys import is_chosen, is_drawn, is_told, looks_random
from agentdbg.redaction.source_code import OF_A_PERSON

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MOST_WORDS",
    "answered",
    "flag_value",
    "given_in_call",
    "is_count",
    "is_drawn_at",
    "is_drawn_for",
    "is_told_or_drawn",
    "nearby",
    "told_value",
]

_FLAG_GAP = re.compile(rf"(?:\\*[\"'])?(?:,\s{{0,4}}|{SPACE}{{1,4}})(?=[^\s-]|-[^-\s])")
_NAME_GAP = re.compile(rf"{SPACE}{{1,40}}\(?(?=[^\s-])")
_NAMING_COMMAND = re.compile(
    r"(?:\b(?:config(?:ure)?|set|setx|setenv|ENV|ngrok)|#[ \t]{0,8}define)[ \t]{1,40}(?:[^\s\"']{1,80}/:)?$"
)
_LINE_BEGINS = re.compile(r"(?:(?:^|\n|\\n)[ \t]*|[{(\s]:)$")
_REST_OF_LINE = re.compile(
    rf"(?:[ \t]|\\t){{1,20}}(?P<mark>\\*[\"']|)(?P<value>[^\s\"'\\]{{8,200}})(?P=mark)"
    rf"(?=[ \t]{{0,8}}(?:[;,}}][ \t]{{0,8}})?(?:{LINE_END}|$)|[ \t]{{0,8}}\}})"
)
"""`storePassword '…'`: nothing else follows in the line, as in files of settings and tables of names and values."""
_BEFORE_FLAG = re.compile(r"(?:^|[ \t\r\n\"'(\[]|\\[nrt])$")


def flag_value(text: str, start: int, end: int, *, counting: bool) -> Iterator[Span]:
    """`--password …`, `-password …`, `config set password …`."""
    name = text[start:end]
    if not name.startswith("--"):
        is_flag = name.startswith("-") and _BEFORE_FLAG.search(text[max(0, start - 2) : start]) is not None
        gap = _NAME_GAP.match(text, end)
        if gap and (is_flag or _NAMING_COMMAND.search(text, max(0, start - 100), start)):
            yield from told_value(text, gap.end())
        elif line := _REST_OF_LINE.match(text, end):
            yield from _last_of_line(text, start, name, line)
        return
    if name.endswith(("-stdin", "-file", "-path", "-prompt")) or not (gap := _FLAG_GAP.match(text, end)):
        return
    quoted = read_quoted(text, gap.end())
    if quoted is None and "," in gap[0]:
        return  # `add_argument("--token", required=True)`: in a list of texts the next is a text as well
    value_start, value_end = quoted if quoted is not None else read_unquoted(text, gap.end())
    value = text[value_start:value_end]
    if not value or (counting and is_count(value)):
        return
    if not is_harmless(value, quoted=quoted is not None, name=name):
        yield value_start, value_end


def _last_of_line(text: str, start: int, name: str, line: re.Match[str]) -> Iterator[Span]:
    value = line["value"]
    if is_chosen(value) if OF_A_PERSON.search(name) else line["mark"] and is_drawn(value):
        begins = _LINE_BEGINS.search(text, max(0, start - 40), start) is not None
        if begins or OF_A_PERSON.search(name):
            yield line.span("value")


_NEXT_WORD = re.compile(
    r"(?:(?:[ \t:={(@]|\\+t){1,6}|, {0,2}(?=\\*[\"'`])"
    r"|(?:\\*[\"'`])?[\])]{1,3}(?:\\*[\"'`]\)?)?(?:, {0,2}|\.[A-Za-z_]{2,20}\()(?=\\*[\"'`]))"
    r"(?:\\*[\"'`]){0,2}(?P<word>[^\s\"'`<>(){},;\\]{1,200})\\*[\"'`]?"
)
_CLOSING = re.compile(r"\\*[\"'`](?![\])])")
_SMALL_WORD = re.compile(r"[-/]{0,2}[A-Za-z0-9_']{1,12}:?")
MOST_WORDS = 5
"""So many small words may stand between a name and what a machine has drawn."""


def nearby(text: str, end: int, *, most_words: int) -> Iterator[Span]:
    """`setenv API_TOKEN …`, `Incorrect API key provided: …`: what a machine has drawn, a few words after a name."""
    at = closing.end() if (closing := _CLOSING.match(text, end)) else end
    for _ in range(most_words):
        found = _NEXT_WORD.match(text, at)
        if found is None:
            return
        word = found["word"].rstrip(".:!?")
        if is_drawn(word):
            yield found.start("word"), found.start("word") + len(word)
            return
        if not _SMALL_WORD.fullmatch(found["word"]):
            return
        at = found.end()


_GIVEN_IN_CALL = re.compile(
    r"(?:\\*[\"'`])?[\])]{0,3}(?:\\*[\"'`])?\)?(?:\.[A-Za-z_]{2,24}\(|\(|\s{0,4},)\s{0,8}"
    r"(?:[A-Za-z_&*.>\-]{1,40},\s?)?(?:[A-Za-z_]{1,20} ?[=:] ?)?"
    r"[bBrRuU]?\\*[\"'`](?P<value>[^\s\"'`\\]{6,200})\\*[\"'`]\s{0,4}[,)]"
)


def given_in_call(text: str, end: int, name: str) -> Iterator[Span]:
    """`fill("#password", "…")`, `get_by_label("Password").type("…")`, `.password("…")`, `strcpy(password, "…")`."""
    given = _GIVEN_IN_CALL.match(text, end)
    is_of_person = OF_A_PERSON.search(name) or name.lower().endswith(("auth", "login"))
    if given and (is_drawn(given["value"]) or (is_of_person and is_chosen(given["value"]))):
        yield given.span("value")


_ASKED = re.compile(r"(?:^|\n|\\n)(?:\$|>>>|\(Pdb\)|ipdb>|In \[[0-9]{1,6}\]:) [^\n]{0,160}$")
_ANSWER = re.compile(
    rf"[^\n]{{0,100}}?{LINE_END}(?:Out\[[0-9]{{1,6}}\]: )?b?[\"']?(?P<value>[^\s\"'\\]{{6,200}})[\"']?(?={LINE_END}|$)"
)


def answered(text: str, start: int, end: int) -> Iterator[Span]:
    """`$ printenv DB_PASSWORD` and `>>> user.password`: what the line below it says, and nothing else."""
    answer = _ANSWER.match(text, end) if _ASKED.search(text, max(0, start - 180), start) else None
    if answer and is_told_or_drawn(answer["value"]) and not _ACCOUNT.match(answer["value"]):
        yield answer.span("value")


_ACCOUNT = re.compile(r"[a-z_][\w\-]{0,31}:[x*!]:[0-9]{1,6}:")
"""A line of `/etc/passwd`, where no password has stood for thirty years."""


def is_told_or_drawn(word: str) -> bool:
    """Whether nobody would write this as a word."""
    return is_told(word) or is_drawn(word)


def is_drawn_at(text: str, span: Span) -> bool:
    """Whether what stands there was drawn at random."""
    value = text[slice(*span)]
    return looks_random(value) or is_drawn(value)


def is_drawn_for(name: str, value: str) -> bool:
    """Whether a value in a column of this name is one of its secrets; people choose less than is drawn."""
    return is_told_or_drawn(value) if OF_A_PERSON.search(name) else looks_random(value) or is_drawn(value)


_TOLD = re.compile(r"(?=[^\s]{0,80}[A-Za-z!@#$%^&*])[^\s\"'`,;]{6,}")


def told_value(text: str, at: int) -> Iterator[Span]:
    """`the password is hunter2`: only what no one would write as a word."""
    quoted = read_quoted(text, at)
    if quoted is not None:
        if quoted[0] < quoted[1] and not is_harmless(text[quoted[0] : quoted[1]], quoted=True):
            yield quoted
        return
    told = _TOLD.match(text, at)
    value = told[0].rstrip(".!?)") if told else ""
    if told and value != REDACTED and (any(map(str.isdigit, value)) or is_drawn(value)):
        yield told.start(), told.start() + len(value)


_COUNT = re.compile(r"[-+.]?[0-9][0-9.,_]*[kKmM%]?(?:[/+x-][0-9][0-9.,_]{0,12}[kKmM%]?){0,3}")


def is_count(value: str) -> bool:
    """Whether a value says how many: `12`, `1,234`, `8k`."""
    return _COUNT.fullmatch(value) is not None
