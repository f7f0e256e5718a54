"""
Where a value came from: the first step of a run that holds it, and whether anybody gave it.

A value is looked for as it is written, as a number in any of its forms, and as a date. What a decision says itself is
no source; what was asked, what a tool gave and what a user said are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.analysis.effects import IDS_OF_THE_CALL
from agentdbg.analysis.suspects.value_forms import folded, is_figure, is_rounded_from, pattern_of
from agentdbg.analysis.text_facts import DATES, facts_in
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_json
from agentdbg.events import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.analysis.suspects.run_story import RunStory, Step

__all__ = [
    "Origin",
    "Provenance",
    "Sources",
    "answer_values",
    "gives_one_answer",
    "holds",
    "ids_in",
    "provenance",
    "typed_values",
    "unrecorded",
    "where_from",
]

_WORDS = re.compile(r"[^\W_]+(?:[.:/@-][^\W_]+)*")
_WRITTEN = re.compile(r"[\w.:/@+-]*\d[\w.,:/@+-]*\w|\d|\b[A-Z][^\W\d]+(?: [A-Z][^\W\d]+\b)*")
_OTHER_WORDS = re.compile(
    r"(?<![\w-])(?!(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|[ap]m\b)[^\W\d_]{2,}(?![\w-])",
    re.IGNORECASE,
)
"""Words that are no part of a figure or a date: then only the whole is the same."""
_ID_LIKE = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[A-Za-z0-9][\w-]{4,63}")
_LITERALS = re.compile(r"""(?<![\w"'])(?:"([^"\n]{3,80})"|'([^'\n]{3,80})'|(-?\d+(?:\.\d+)?))(?![\w"'])""")
_CODE_BLOCK = re.compile(r"```[\w+-]*\n(.*?)(?:```|\Z)", re.DOTALL)
_FINAL = re.compile(
    r"\b(?:final answer(?:\s+is)?\s*[:=]?|answer(?:\s+is|\s*[:=]))\s*(.{1,200})", re.IGNORECASE | re.DOTALL
)
_HANDED_IN = re.compile(
    r"\b(?:final_answer|submit_answer)\(\s*(?:answer\s*=\s*)?(?:\"([^\"\n]{1,120})\"|'([^'\n]{1,120})'|(-?[\d.,]{1,30}))\s*\)"
)
_SHORT = 60
_FEW_WORDS = 4
"""An answer of more is a sentence, and what it tells are the figures and names in it."""
_TELLING = 2
_MOST_MEMBERS = 300
_MOST_VALUES = 40
_MOST_ORIGINS = 20
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SPLIT = re.compile(r"[.;\n]")


class Sources:
    """Everything that was given up to some step."""

    def __init__(self, asked: str) -> None:
        self._texts: list[str] = [_plain(asked)]

    def add(self, step: Step) -> None:
        self._texts.append(_plain(step.text))

    def hold(self, value: str) -> bool:
        """Whether a value was given; a number with or without its commas."""
        wanted = _plain(value.strip())
        return any(wanted in text for text in self._texts)


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", text.lower())


def typed_values(text: str) -> list[str]:
    """The values typed into lists and tables of code: what a program would have to read from somewhere."""
    found: list[str] = []
    for block in _CODE_BLOCK.findall(text):
        for bracket in _outermost(block):
            values = [next(part for part in item if part) for item in _LITERALS.findall(bracket) if any(item)]
            telling = [
                value
                for value in values
                if len(value) >= 3 and not value.startswith(("http", "-")) and not _DATE.match(value)
            ]
            if len(telling) >= 3:
                found += telling
    return list(dict.fromkeys(found))


def _outermost(block: str) -> Iterator[str]:
    """The lists and tables written in code, with all that is nested in them; an index (`rows[0]`) is none."""
    depth = begin = 0
    for place, sign in enumerate(block):
        if sign in "[{" and (depth or not block[max(place - 1, 0)].isalnum()):
            begin = begin if depth else place
            depth += 1
        elif sign in "]}" and depth:
            depth -= 1
            if not depth:
                yield block[begin : place + 1]


def answer_values(text: str) -> list[str]:
    """What an answer comes down to: the words after "final answer", else its figures, ids and dates."""
    handed_in = list(_HANDED_IN.finditer(text))
    if handed_in:
        return [next(part for part in handed_in[-1].groups() if part).strip()]
    final = list(_FINAL.finditer(text))
    if final:
        words = _SPLIT.split(final[-1][1].strip(" *_`\"'"), maxsplit=1)[0].strip(" *_`\"'")
        if words:
            return [words[:120]]
    if len(text) <= _SHORT and text.strip():
        if len(text.split()) <= _FEW_WORDS:
            return [text.strip()]
        facts = facts_in(text)
        return [fact for fact in sorted(facts.hard - {"no"}) + sorted(facts.soft) if len(fact) > _TELLING]
    return sorted(facts_in(text).hard - {"no"})[:40]


def gives_one_answer(text: str) -> bool:
    """Whether a text is an answer to a question: a figure and little more, or words that introduce it."""
    is_figure = len(text) <= _SHORT and any(sign.isdigit() for sign in text)
    return is_figure or _FINAL.search(text) is not None or _HANDED_IN.search(text) is not None


def ids_in(args: Any) -> Iterator[tuple[str, str]]:
    """The ids in a call's arguments, with their paths: letters and digits in one word."""
    yield from _walk(args, "")


def _walk(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > 6:
        return
    if isinstance(value, dict):
        for key, item in list(value.items())[:100]:
            if key in IDS_OF_THE_CALL:  # made up by whoever calls, and right so
                continue
            yield from _walk(item, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for place, item in enumerate(value[:100]):
            yield from _walk(item, f"{path}[{place}]", depth + 1)
    elif isinstance(value, str) and _ID_LIKE.fullmatch(value):
        yield path, value


class Origin(NamedTuple):
    """One place that holds a value. `who`: given to the run, decided by a model, or what a tool or message brought."""

    number: int | None
    event_id: str | None
    who: Literal["asked", "model", "tool", "heard"]
    name: str
    path: str

    @property
    def is_source(self) -> bool:
        return self.who != "model"

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "is_source": self.is_source}


def where_from(story: RunStory, value: str) -> list[Origin]:
    """The first steps that hold a value, in order."""
    found: list[Origin] = []
    if _holds_in_any_form(story.asked, value):
        found.append(Origin(None, None, "asked", "", ""))
    for step in story.steps:
        path = _path_in(step, value)
        if path is not None:
            found.append(Origin(step.number, step.event_id, step.kind, step.name, path))
        if len(found) >= _MOST_ORIGINS:
            break
    return found


def unrecorded(story: RunStory) -> list[int]:
    """The events of which parts were not recorded, which may hold any value."""
    return [step.number for step in story.steps if step.kind != "model" and TRUNCATED in step.text]


class Provenance(NamedTuple):
    """A value that a step gave a call or said, where in it that stands, and where it came from; None is nowhere."""

    value: str
    path: str
    origin: Origin | None

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "path": self.path, "from": None if self.origin is None else self.origin.as_json()}


def provenance(story: RunStory, number: int) -> list[Provenance]:
    """Every argument of the calls of an event, and every number, date, id and name it says, with its source."""
    own = [place for place, step in enumerate(story.steps) if step.number == number and step.kind != "heard"]
    if not own:
        return []
    step = story.steps[own[0]]
    given = [step.args] if step.kind == "tool" else [call.args for call in step.calls]
    values = [pair for args in given for pair in _scalars(args, "args")]
    values += [("answer", value) for value in _values_said(step.text)] if step.is_decision else []
    found: dict[str, Provenance] = {}
    for path, value in values:
        origin = _source_of(story, value, own[0])
        # Of a sentence that was put together the parts tell.
        parts = [value] if origin is not None or " " not in value else _values_said(value) or [value]
        for part in parts:
            source = origin if part == value else _source_of(story, part, own[0])
            found.setdefault(part, Provenance(part, path, source))
    return list(found.values())[:_MOST_VALUES]


def _values_said(text: str) -> list[str]:
    """The numbers, dates, ids and names of a text, as they are written in it."""
    found = dict.fromkeys(date[0] for pattern in DATES for date in pattern.finditer(text))
    found |= dict.fromkeys(word[0] for word in _WRITTEN.finditer(text) if len(word[0]) > 1)
    names = facts_in(f"x {text}").soft
    is_told = [any(map(str.isdigit, word)) or set(word.lower().split()) <= names for word in found]
    return [word for word, told in zip(found, is_told, strict=True) if told][:_MOST_VALUES]


def _scalars(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    value = parse_embedded(value) if depth == 0 else value
    if isinstance(value, dict) and depth <= 6:
        for key, item in list(value.items())[:100]:
            yield from _scalars(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, list) and depth <= 6:
        for place, item in enumerate(value[:100]):
            yield from _scalars(item, f"{path}[{place}]", depth + 1)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool) and 1 < len(str(value)) <= 120:
        yield path, str(value)


def _source_of(story: RunStory, value: str, before: int) -> Origin | None:
    """The first place before a step that holds a value and is no decision: what was given, or what a result brought."""
    if _holds_in_any_form(story.asked, value):
        return Origin(None, None, "asked", "", "")
    for step in story.steps[:before]:
        # What a call was given says nothing of where that came from; what it gave back does.
        if not step.is_decision and _holds_in_any_form(step.text, value):
            text = parse_embedded(step.text) if step.kind == "tool" else step.text
            path = _deep_path(text, value, "result") if step.kind == "tool" else "message"
            return Origin(step.number, step.event_id, step.kind, step.name, path)
    return None


def _path_in(step: Step, value: str) -> str | None:
    """Which part of a step holds a value; None where none does."""
    if step.kind == "tool" and _holds_in_any_form(as_json(step.args), value):
        return _deep_path(step.args, value, "args")
    if _holds_in_any_form(step.text, value):
        if step.kind == "tool":
            return _deep_path(parse_embedded(step.text), value, "result")
        return "message" if step.kind == "heard" else "answer"
    if any(_holds_in_any_form(as_json(call.args), value) for call in step.calls):
        return "calls"
    return None


def _deep_path(whole: Any, value: str, path: str) -> str:
    """The innermost member that holds a value: `result.flights[0].price`."""
    if isinstance(whole, dict):
        members = [(f"{path}.{key}", item) for key, item in list(whole.items())[:_MOST_MEMBERS]]
    elif isinstance(whole, list):
        members = [(f"{path}[{place}]", item) for place, item in enumerate(whole[:_MOST_MEMBERS])]
    else:
        return path
    for name, item in members:
        text = item if isinstance(item, str) else as_json(item)
        if _holds_in_any_form(text, value):
            return _deep_path(item, value, name)
    return path


def holds(text: str, value: str) -> bool:
    """Whether a text has a value as words of its own, a number with or without its commas."""
    wanted, low = _plain(value.strip()), _plain(text)
    if not wanted:
        return False
    place = low.find(wanted)
    while place >= 0:
        before, after = low[max(place - 1, 0) : place], low[place + len(wanted) : place + len(wanted) + 1]
        if not (before.isalnum() and wanted[0].isalnum()) and not (after.isalnum() and wanted[-1].isalnum()):
            return True
        place = low.find(wanted, place + 1)
    return False


def _holds_in_any_form(text: str, value: str) -> bool:
    """The same, or another form of the same figure or date."""
    pattern = pattern_of(value)
    if pattern is not None and pattern.search(folded(text)):
        return True
    if is_figure(value):
        return is_rounded_from(value, text)
    if holds(text, value):
        return True
    stated = facts_in(value) if not _OTHER_WORDS.search(value) else None
    if stated is None or not stated.numbers_and_ids:
        return False
    told = facts_in(text)
    # A year beside a date belongs to it.
    is_of_that_year = stated.soft <= told.soft or not any(map(str.isdigit, "".join(told.soft)))
    return stated.numbers_and_ids <= told.numbers_and_ids and is_of_that_year
