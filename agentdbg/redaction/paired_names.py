"""
Names and values in two places that belong together: members of a pair, elements, cells of a table, a setter's call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED
from agentdbg.redaction.after_sign import assigned, drawn_in_call
from agentdbg.redaction.after_space import is_drawn_at, is_told_or_drawn, told_value
from agentdbg.redaction.assigned_values import LINE_END, QUOTE, Span, read_quoted
from agentdbg.redaction.key_words import says_nothing
from agentdbg.redaction.source_code import closes_quotes

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "attributes_of",
    "cell_of_page",
    "element_text",
    "in_element",
    "next_cell",
    "other_half_of_pair",
    "second_of_pair",
    "set_by_call",
]

_NAME_OF_PAIR = re.compile(
    rf"(?:name|key|header|field|parameter|variable){QUOTE}?\s{{0,4}}[:=]\s{{0,4}}(?:@?{QUOTE}[^\"'`\\]{{0,40}})?$",
    re.IGNORECASE | re.ASCII,
)
_VALUE_OF_PAIR = re.compile(
    rf"(?:(?<![A-Za-z0-9])(?i:value)|(?<=[a-z])Value)(?:{QUOTE}?\s{{0,4}}[:=]|\()\s{{0,4}}", re.ASCII
)
_TYPED_INTO = re.compile(
    rf"(?:selector|element(?:_by)?(?:_\w{{1,12}})?|label|placeholder){QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}[^\"'`\\]{{0,40}}$",
    re.ASCII,
)
_TYPED_TEXT = re.compile(rf"(?<![A-Za-z0-9])(?:value|text){QUOTE}?\s{{0,4}}[:=]\s{{0,4}}", re.ASCII)
_FORM_FIELD = re.compile(rf"\\*\"[^\r\n\\]{{0,120}}{LINE_END}{LINE_END}(?P<value>[^\r\n\\]+)")
_PAIR_REACH = 240


def other_half_of_pair(text: str, start: int, end: int) -> Iterator[Span]:
    """`{"name": "password", "value": …}`, the same the other way round, as YAML, in a posted form and in a call."""
    values = _TYPED_TEXT if _TYPED_INTO.search(text, max(0, start - 72), start) else None
    values = values or (_VALUE_OF_PAIR if _NAME_OF_PAIR.search(text, max(0, start - 72), start) else None)
    if values is None:
        return
    if field := _FORM_FIELD.match(text, end):
        yield field.span("value")
        return
    after = values.search(text, end, end + _PAIR_REACH)
    if after and "}" not in text[end : after.start()]:
        yield from assigned(text, start, after.end(), "value", ":", counting=False)
    for before in values.finditer(text, max(0, start - _PAIR_REACH), start):
        if "{" not in text[before.end() : start]:
            yield from assigned(text, start, before.end(), "value", ":", counting=False)


_SETS = re.compile(r"(?:set|with|use)_?[A-Z]|(?:set|with|use)_[a-z]")
_SETTER = re.compile(rf"\(\s{{0,8}}(?={QUOTE})")
_ONE_ARGUMENT = re.compile(rf"{QUOTE}\s{{0,8}}\)")


def set_by_call(text: str, start: int, end: int) -> Iterator[Span]:
    """`client.setPassword("…")`, with nothing else between the brackets."""
    if (setter := _SETTER.match(text, end)) and _SETS.match(text[start:end].rpartition(".")[2]):
        quoted = read_quoted(text, setter.end())
        if quoted and _ONE_ARGUMENT.match(text, quoted[1]):
            yield from assigned(text, start, setter.end(), text[start:end], "=", counting=False)


_CONSTANTS = re.compile(r"(?:AUTH|TOKEN)\b")
_OPENED = re.compile(rf"[(\[]\s{{0,4}}[bru]?{QUOTE}$")
_CLOSED = re.compile(rf"{QUOTE}\s{{0,4}}[\])]")


def second_of_pair(text: str, name_start: int, at: int) -> Iterator[Span]:
    """`("password", "…")` or `["password", "…"]`: two things between the brackets, or what a call makes of one."""
    if not _OPENED.search(text, max(0, name_start - 24), name_start):
        return
    quoted = read_quoted(text, at)
    if quoted is None:
        yield from drawn_in_call(text, at)
        return
    start, end = quoted
    value = text[start:end]
    if _CONSTANTS.search(text, name_start, start) and value.isalpha() and value.isupper():
        return  # `("AUTH", "SELECTED")`: states of something
    if _CLOSED.match(text, end) and value and value != REDACTED and not says_nothing(value):
        yield start, end


_TAG = re.compile(r"<(?:[\w.\-]{1,40}:)?$")
_END_OF_TAG = re.compile(r"(?:\s[^<>]{0,200})?>")


def in_element(text: str, start: int, end: int) -> int:
    """Where the text of an element begins that has this name: `<password>`, `<wsse:Password Type="…">`; 0 for none."""
    if text[max(0, start - 4) : start].endswith(("?P<", "?<")):
        return 0  # a group of a regular expression
    tag = _END_OF_TAG.match(text, end) if _TAG.search(text, max(0, start - 42), start) else None
    return tag.end() if tag else 0


_ATTRIBUTES = re.compile(rf"(?:\s[\w:.\-]{{1,40}}={QUOTE}[^<>\"']{{0,200}}{QUOTE}){{1,8}}\s{{0,4}}/?>")
_ATTRIBUTE = re.compile(rf"={QUOTE}(?P<value>[^<>\"'\\]{{1,200}})")


def attributes_of(text: str, start: int, end: int) -> Iterator[Span]:
    """`<apiKey value="…"/>`: what is drawn in the attributes of an element of this name."""
    if _TAG.search(text, max(0, start - 42), start) and (attributes := _ATTRIBUTES.match(text, end)):
        for attribute in _ATTRIBUTE.finditer(text, *attributes.span()):
            if is_drawn_at(text, attribute.span("value")):
                yield attribute.span("value")


def element_text(text: str, start: int, at: int) -> Iterator[Span]:
    """`<password>…</password>`."""
    if text.startswith("<![CDATA[", at):
        at += len("<![CDATA[")
        end = text.find("]]>", at)
        yield at, end if end >= 0 else len(text)
        return
    closing = text.find("<", at)
    if closing >= 0 and text.startswith("</", closing):
        if text[at:closing].strip():
            yield at, closing
    elif " " not in text[start:at] and not closes_quotes(
        text, start, at
    ):  # cut off, or a placeholder in a sentence: `<password> is yours to choose`
        yield from told_value(text, at)


_CELL_OF_PAGE = re.compile(
    r"[ :]{0,3}</(?:td|th|dt|b|strong|label|span)>\s{0,40}<(?:td|dd|span|code)(?:\s[^<>]{0,80})?>"
    r"\s{0,40}(?P<value>[^<>\s]{6,200})\s{0,40}<"
)


def cell_of_page(text: str, end: int) -> Iterator[Span]:
    """`<td>Password</td><td>…</td>`."""
    if (cell := _CELL_OF_PAGE.match(text, end)) and is_told_or_drawn(cell["value"]):
        yield cell.span("value")


_CELL = re.compile(r"(?P<mark>\*{1,2}|`?)(?P<value>[^\s|`*][^\s|`]*)(?P=mark)\s{0,40}\|")
_LEFT_OF_CELL = re.compile(r"\|\s{0,40}[`*]{0,2}$")


def next_cell(text: str, start: int, at: int) -> Iterator[Span]:
    """`| password | … |` in a table: only what no one would write as a word, because most cells are words."""
    cell = _CELL.match(text, at)
    if cell and _LEFT_OF_CELL.search(text, max(0, start - 44), start) and is_told_or_drawn(cell["value"]):
        yield cell.span("value")
