"""
Secrets that a name beside them gives away, inside text: `password=…`, `"api_key": "…"`, `--token …`, headers, XML.

The scanner looks for the names, not for the punctuation: from each occurrence of a telling word it reads the whole
name, asks the key judge about it, and then reads what was assigned. JSON inside JSON inside text reads the same way,
because a quote is a quote however many backslashes stand before it. Every step moves forward or is bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.redaction.after_sign import after_colon, assigned, is_no_value, past_annotation, section_below
from agentdbg.redaction.after_space import (
    MOST_WORDS,
    answered,
    flag_value,
    given_in_call,
    is_drawn_for,
    nearby,
    told_value,
)
from agentdbg.redaction.assigned_values import QUOTE, SPACE, Span, read_quoted, read_unquoted
from agentdbg.redaction.columns import aligned_below, cells_below, values_inserted
from agentdbg.redaction.key_words import (
    AFTERWORDS,
    KEY_NAME_ENDS,
    KEY_NAME_STEMS,
    escaped_spelling,
    without_escapes,
)
from agentdbg.redaction.keys import (
    COUNTER,
    DESCRIBING,
    RANDOM,
    SAFE,
    SECRET,
    USERS_OWN,
    KeyJudge,
    looks_random,
    words_of,
)
from agentdbg.redaction.paired_names import (
    attributes_of,
    cell_of_page,
    element_text,
    in_element,
    next_cell,
    other_half_of_pair,
    second_of_pair,
    set_by_call,
)
from agentdbg.redaction.source_code import merely_mentions
from agentdbg.redaction.suspicion import ODD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AssignmentScanner"]

_ODD = re.compile(ODD_LETTERS)
_MAY_BE_ODD = re.compile(
    "[\u00ad\u0300-\u036f\u034f\u0370-\u058f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
"""All letters of the one above: to ask for them at once is a tenth of asking for each name."""
_ODD_NAME = re.compile(r"[\w.\-$\u00ad\u0300-\u036f\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]{1,200}")

_SEPARATOR = re.compile(
    rf"(?:\[[0-9]{{0,5}}\]| As [A-Z][A-Za-z]{{1,20}}(?= =))?\]?(?P<quote>{QUOTE})?"
    rf"(?P<bracket>[\])]{{0,2}})\*{{0,2}}{SPACE}{{0,40}}"
    rf"(?P<sign>===?|!==?|=>|->|<-|(?:\?{{1,2}}|\|\||\+)=|\u2192|[\-\u2013\u2014](?=[ \t])|:=|="
    rf"|%3[DdAa]|&#(?:58|61);|:(?!:)|\uff1a|\\+uff1a"
    rf"|,|>|\||(?:is|was|est|es|ist|lautet|jest|\u00e9|\u00e8)(?=:?\s):?|\\+u(?:201[34]|00e[89])(?=\s)"
    rf"|[\u662f\u4e3a\u70ba\u306f]|[\ub294\uc740\uc774\uac00](?=\s))"
    rf"(?:(?<=:)(?:\*\*|</[a-z0-9]{{1,8}}>)(?=\s))?(?P<gap>{SPACE}{{0,40}})",
)
_REST_OF_NAME = re.compile(r" (?:access key|key|value|code|for [\w.@\-]{1,40}|\([\w ]{1,20}\))(?=\W)", re.IGNORECASE)
"""`Secret Key: …`: a name that goes on after a space."""
_TYPED_PAIR = re.compile(
    r"\\*\";s:[0-9]{1,6}:(?=\\*\")|</\w{0,12}(?:key|name)>\s{0,40}<\w{1,20}>|\\*[\"']\]\s?=>\s{0,40}string\([0-9]{1,6}\)\s(?=\\*\")"
)
"""What PHP and property lists write between a name and its value."""
_MORE_THAN_TOKEN = re.compile(r"token[A-Za-z0-9_.\-$]+$", re.IGNORECASE | re.ASCII)
_TOKEN_ITSELF = re.compile(r"token(?:[-_.]?(?:[0-9]+|id|value|key|str|string|secret|hash))?$", re.IGNORECASE | re.ASCII)
_TELLING_SIGNS = frozenset(
    {
        "is",
        "was",
        "est",
        "es",
        "ist",
        "lautet",
        "jest",
        "\u00e9",
        "\u00e8",
        "is:",
        "was:",
        "-",
        "->",
        "\u2013",
        "\u2014",
        "\u2192",
    }
)
"""After these comes a sentence as often as a secret."""
_TELLING_ESCAPED = ("u2013", "u2014", "u00e8", "u00e9")
"""Some of them as JSON writes them in ASCII."""
_WORD_BEFORE = re.compile(r"([A-Za-z]{2,30}) $")
_VALUES = frozenset(
    {"value", "data", "raw", "hex", "str", "string", "plain", "default", "current", "live", "prod", "test"}
)
_OFTEN_MENTIONED = frozenset({"auth", "authorization", "cookie", "cookies", "token", "tokens"})
"""`TOKEN_PREFIX`, `auth_params`, `cookie_name`: with a word behind it, each is about something else."""
_OF_A_PARSER = re.compile(
    r"(?:expected|near|offending|invalid|unclosed|unknown|bad|next|last|current) $", re.IGNORECASE
)
"""`Unexpected token: identifier`."""
_RESOURCE = re.compile(r"arn:[a-z\-]{1,16}:(?:[\w\-]{0,20}:){0,3}$")
"""`arn:aws:secretsmanager:…`: what a cloud calls a thing."""
_LONGEST_NAME = 64
_WINDOW_BEFORE = 2_400
_WINDOW = 4_200
"""Brackets close within it, or never; what stands in quotes may go on behind it, line after line."""
_THREE_QUOTES = re.compile(r"[^\n]{0,200}?(?:\"\"\"|''')")

_SNAKE = re.compile(r"[a-z]+(?:_[a-z]+)+[0-9]?")
_WORDS_IN_BRACKETS = re.compile(r"[^\s\"'`,;:=(){}\[\]]+")
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-$")


class AssignmentScanner:
    """Finds the values that secret names are given within a text."""

    __slots__ = ("_escaped", "_escapes", "_judge", "_words")

    def __init__(self, judge: KeyJudge, words: tuple[str, ...]) -> None:
        self._judge = judge
        self._words: dict[str, list[str]] = {}
        """The telling words by what they begin with: a text without "api" has no spelling of "api_key" either."""
        beginnings = sorted({re.split(r"[\W_]", word, maxsplit=1)[0] for word in words}, key=len)
        for word in words:
            # A list: a generator that is dropped halfway swallows what a signal handler raises in its end.
            beginning = [beginning for beginning in beginnings if word.startswith(beginning)][0]  # noqa: RUF015
            self._words.setdefault(beginning, []).append(word)
        # Begun where the backslashes begin: a long row of them is read once, not once from each.
        spelled = list(filter(None, map(escaped_spelling, words)))
        self._escapes = sorted({f"u{ord(letter):04x}" for word in words for letter in word if not letter.isascii()})
        self._escaped = "|".join(rf"(?<!\\){word}" if word.startswith("\\") else word for word in spelled) or "(?!)"

    def spans(self, text: str) -> Iterator[Span]:
        """Where the secret values stand, each as (start, end)."""
        lowered = text.lower()
        if len(lowered) != len(text):  # a few letters grow when lowered, and then positions would not agree
            lowered = "".join(letter.lower() if letter.isascii() else letter for letter in text)
        seen = 0
        for start, end in self._names(text, lowered):
            if start < seen:
                continue
            name = _name_at(text, start, end)
            verdict = self._judge.judge(name)
            if _RESOURCE.search(text, max(0, start - 80), start):
                continue
            is_weak = self._is_weak(name, text[end : end + 1]) or (
                name.lower().endswith("token") and _OF_A_PARSER.search(text, max(0, start - 12), start)
            )
            for span in self._given(text, (start, end), name, verdict, is_weak=bool(is_weak)):
                seen = max(seen, span[1])
                yield span

    def _given(self, text: str, place: Span, name: str, verdict: int, *, is_weak: bool) -> list[Span]:
        """
        What a name is given that should go, read in a window around it.

        Only what is found there is read again in the whole text, and what stands in three quotes: a long run of names
        that are given nothing secret, each of them the value of the one before, must not be read to its end for each.
        """
        start, end = place
        opening, closing = max(0, start - _WINDOW_BEFORE), end + _WINDOW
        part = text[opening:closing]
        spans = self._secret_ones(part, start - opening, end - opening, name, verdict, is_weak)
        if closing < len(text) and (spans or _THREE_QUOTES.match(text, end)):
            return self._secret_ones(text, start, end, name, verdict, is_weak)
        return [(span[0] + opening, span[1] + opening) for span in spans]

    def _secret_ones(self, text: str, start: int, end: int, name: str, verdict: int, is_weak: bool) -> list[Span]:
        opening = {SECRET, RANDOM, USERS_OWN, *((DESCRIBING,) if name.endswith(("pass", "pw")) else ())}
        typed = _TYPED_PAIR.match(text, end)
        spans = [_typed(text, typed.end())] if typed else list(self._after_name(text, start, end))
        if not spans and verdict in {SECRET, RANDOM, USERS_OWN, COUNTER}:
            columns = (
                *cells_below(text, start, end),
                *aligned_below(text, start, end),
                *values_inserted(text, start, end),
            )
            spans = [span for span in columns if self._is_cell(name, text[slice(*span)])]
        if not spans and not is_weak and verdict in opening and not _goes_on_after_token(name):
            spans = list(given_in_call(text, end, name)) or list(
                nearby(text, end, most_words=2 if verdict == RANDOM else MOST_WORDS)
            )
        if not spans and verdict in {SECRET, RANDOM, USERS_OWN}:
            spans = list(answered(text, start, end))
        if verdict in {RANDOM, DESCRIBING}:
            spans = [span for span in spans if self._is_random(text, start, name, span)]
        if verdict == USERS_OWN:
            return spans
        return [span for span in spans if not merely_mentions(text, name, start, span, is_weak=is_weak)]

    def _is_cell(self, name: str, value: str) -> bool:
        """Whether a cell in the column of a name is a secret, and not the name of one as well."""
        if _SNAKE.fullmatch(value) and self._judge.judge(value) != SAFE:
            return False
        return is_drawn_for(name, value)

    def _is_weak(self, name: str, sign: str) -> bool:
        """`token.text`, `pass_fds`, `Second pass: …`: names in code and prose that seldom hold a secret."""
        last = name.rpartition(".")[2]
        if last != name:
            return last not in _VALUES and self._judge.judge(last) == SAFE
        if name.startswith("pass_") or (name.lower() == "pass" and sign == ":"):
            return True
        words = words_of(name)
        if not words or words[-1] in AFTERWORDS or words[-1].isdigit() or self._judge.judge(words[-1]) != SAFE:
            return False
        return _OFTEN_MENTIONED.issuperset(word for word in words if self._judge.judge(word) != SAFE)

    def _is_random(self, text: str, start: int, name: str, span: Span) -> bool:
        value = text[span[0] : span[1]]
        if value[:1] in {"[", "(", "{"}:
            return any(map(looks_random, _WORDS_IN_BRACKETS.findall(value)))
        return self._judge.hides(name, value) or (text[start - 1 : start] in {"?", "&"} and looks_random(value))

    def _names(self, text: str, lowered: str) -> list[Span]:
        """Every name in the text that holds a telling word and is secret, or counts."""
        found: set[Span] = set()
        for word in (word for beginning, alike in self._words.items() if beginning in lowered for word in alike):
            position = lowered.find(word)
            while position >= 0:
                span = _whole_name(text, position, position + len(word))
                found.add(span)
                position = lowered.find(word, max(span[1], position + len(word)))
        for stem in KEY_NAME_STEMS:
            position = lowered.find(stem)
            while position >= 0:
                past = position + len(stem)
                if ending := KEY_NAME_ENDS.match(text, position):
                    span = _whole_name(text, *ending.span())
                    found.add(span)
                    past = max(span[1], past)
                position = lowered.find(stem, past)
        if "\\u" in lowered and any(map(lowered.__contains__, self._escapes)):
            found.update(_whole_name(text, *name.span()) for name in re.finditer(self._escaped, text, re.IGNORECASE))
        if _MAY_BE_ODD.search(text):
            names = (name for name in _ODD_NAME.finditer(text) if not name[0].isascii() and _ODD.search(name[0]))
            found.update(name.span() for name in names)
        return sorted(span for span in found if self._is_telling(text, *span))

    def _is_telling(self, text: str, start: int, end: int) -> bool:
        name = _name_at(text, start, end)
        verdict = self._judge.judge(name)
        if verdict != RANDOM:
            return verdict != SAFE
        before = _WORD_BEFORE.search(text, max(0, start - 40), start)  # `the cache key: …`
        return before is None or self._judge.judge(f"{before[1]}_{name}") != SAFE

    def _after_name(self, text: str, start: int, end: int) -> Iterator[Span]:  # noqa: PLR0911 -- one way of writing each
        yield from other_half_of_pair(text, start, end)
        if element := in_element(text, start, end):
            yield from attributes_of(text, start, end)
            yield from element_text(text, start, element)
            return
        yield from cell_of_page(text, end)
        rest = _REST_OF_NAME.match(text, end)
        separator = _SEPARATOR.match(text, rest.end() if rest else end)
        if separator is None:
            yield from set_by_call(text, start, end)
            yield from section_below(text, start, end)
            yield from flag_value(text, start, end, counting=self._counts(text[start:end]))
            return
        sign = separator["sign"]
        value_start = separator.end()
        if sign == ",":
            if separator["quote"]:
                yield from second_of_pair(text, start, value_start)
                yield from flag_value(text, start, end, counting=self._counts(text[start:end]))
            return
        if sign == ">":
            return
        name = text[start:end]
        if rest and is_no_value(text, start, value_start, separator["gap"]):
            return
        if rest or sign in _TELLING_SIGNS or sign.endswith(_TELLING_ESCAPED):
            yield from told_value(text, value_start)
            return
        if sign == "|":
            yield from next_cell(text, start, value_start)
            return
        if sign == ":" and (found := after_colon(text, separator, name)) is not None:
            yield from found
            return
        if sign == ":" and "\n" not in separator["gap"]:
            value_start = past_annotation(text, value_start)
        if not separator["quote"] and is_no_value(text, start, value_start, separator["gap"]):
            return
        yield from assigned(text, start, value_start, name, sign, counting=self._counts(name))

    def _counts(self, name: str) -> bool:
        """Whether a name in text may have a number: it counts tokens, or says more than just whose token it is."""
        name = name.strip("-.$")
        if self._judge.judge(name) == COUNTER:
            return True
        more = _MORE_THAN_TOKEN.search(name)
        return more is not None and _goes_on_after_token(name) and self._judge.judge(name[: more.start()]) == SAFE


def _goes_on_after_token(name: str) -> bool:
    return _MORE_THAN_TOKEN.search(name) is not None and not _TOKEN_ITSELF.search(name)


def _typed(text: str, at: int) -> Span:
    return read_quoted(text, at) or read_unquoted(text, at)


def _name_at(text: str, start: int, end: int) -> str:
    return without_escapes(text[start:end]).strip("-.$")


def _whole_name(text: str, start: int, end: int) -> Span:
    """Grow a word to the name it stands in."""
    furthest = max(0, start - _LONGEST_NAME)
    while start > furthest and _is_of_name(text[start - 1]):
        start -= 1
    # In `\npassword=` the n belongs to the escape, not to the name.
    if start > 0 and text[start - 1] == "\\" and text[start] in "nrtbf":
        start += 1
    furthest = min(len(text), end + _LONGEST_NAME)
    while end < furthest and _is_of_name(text[end]):
        end += 1
    return start, end


def _is_of_name(letter: str) -> bool:
    """Names are ASCII, or written in another alphabet; behind those come scripts without spaces between words."""
    return letter in _NAME_CHARACTERS or ("\u00c0" <= letter < "\u0e00" and letter.isalpha())
