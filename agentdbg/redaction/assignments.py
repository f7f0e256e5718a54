"""
Secrets that a name beside them gives away, inside text: `password=…`, `"api_key": "…"`, `--token …`, headers, XML.

The scanner looks for the names, not for the punctuation: from each occurrence of a telling word it reads the whole
name, asks the key judge about it, and then reads what was assigned. JSON inside JSON inside text reads the same way,
because a quote is a quote however many backslashes stand before it. Every step moves forward or is bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED
from agentdbg.redaction.assigned_values import Span, is_harmless, read_brackets, read_quoted, read_unquoted
from agentdbg.redaction.columns import cells_below, values_inserted
from agentdbg.redaction.key_words import AFTERWORDS, KEY_NAME_ENDS, KEY_NAME_STEMS
from agentdbg.redaction.keys import (
    COUNTER,
    DESCRIBING,
    RANDOM,
    SAFE,
    SECRET,
    USERS_OWN,
    KeyJudge,
    is_drawn,
    is_told,
    looks_random,
    words_of,
)
from agentdbg.redaction.source_code import OF_A_PERSON, closes_quotes, is_docstring, is_written_out, merely_mentions
from agentdbg.redaction.suspicion import ODD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AssignmentScanner"]

_ODD = re.compile(ODD_LETTERS)
_ODD_NAME = re.compile(r"[\w.\-$\u00ad\u0300-\u036f\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]{1,200}")

_QUOTE = r"(?:\\*[\"'`]|&quot;|&#3[49];|%2[27])"
_SPACE = r"(?:\s|\\+[nrt])"
_SEPARATOR = re.compile(
    rf"(?:\[[0-9]{{0,5}}\])?\]?(?P<quote>{_QUOTE})?(?P<bracket>[\])]{{0,2}})\*{{0,2}}{_SPACE}{{0,8}}"
    rf"(?P<sign>===?|!==?|=>|->|<-|(?:\?{{1,2}}|\|\||\+)=|\u2192|[\-\u2013\u2014](?=[ \t])|:=|="
    rf"|%3[DdAa]|&#(?:58|61);|:(?!:)|\uff1a|\\+uff1a"
    rf"|,|>|\||(?:is|was)(?=:?\s):?)"
    rf"(?:(?<=:)\*\*(?=\s))?(?P<gap>{_SPACE}{{0,8}})",
)
_SETS = re.compile(r"(?:set|with|use)_?[A-Z]|(?:set|with|use)_[a-z]")
_SETTER = re.compile(rf"\(\s{{0,8}}(?={_QUOTE})")
_ONE_ARGUMENT = re.compile(rf"{_QUOTE}\s{{0,8}}\)")
_REST_OF_NAME = re.compile(r" (?:access key|key|value|code)(?=\W)", re.IGNORECASE)
"""`Secret Key: …`: a name that goes on after a space."""
_ANNOTATION = re.compile(
    r"(?:&(?:'\w{1,20} )?)?(?:Optional\[|Union\[)?"
    r"[A-Za-z_][\w.]{0,40}(?:\[[\w., |]{0,60}\])?\]?(?: ?\| ?\w{1,40}){0,3} ?= ?(?!=)"
)
_TYPED_PAIR = re.compile(
    r"\\*\";s:[0-9]{1,6}:(?=\\*\")|</\w{0,12}(?:key|name)>\s{0,40}<\w{1,20}>|\\*[\"']\]\s?=>\s{0,40}string\([0-9]{1,6}\)\s(?=\\*\")"
)
"""What PHP and property lists write between a name and its value."""
_FLAG_GAP = re.compile(rf"(?:\\*[\"'])?(?:,\s{{0,4}}|{_SPACE}{{1,4}})(?=[^\s-]|-[^-\s])")
_NAME_GAP = re.compile(rf"{_SPACE}{{1,40}}\(?(?=[^\s-])")
_NAMING_COMMAND = re.compile(
    r"(?:\b(?:config(?:ure)?|set|setx|ENV|ngrok)|#[ \t]{0,8}define)[ \t]{1,40}(?:[^\s\"']{1,80}/:)?$"
)
_BEFORE_FLAG = re.compile(r"(?:^|[ \t\r\n\"'(\[]|\\[nrt])$")
_NAME_OF_PAIR = re.compile(
    rf"(?:name|key|header|field|parameter|variable){_QUOTE}?\s{{0,4}}[:=]\s{{0,4}}(?:{_QUOTE}[^\"'`\\]{{0,40}})?$",
    re.IGNORECASE | re.ASCII,
)
_VALUE_OF_PAIR = re.compile(rf"(?:(?<![A-Za-z0-9])(?i:value)|(?<=[a-z])Value){_QUOTE}?\s{{0,4}}[:=]\s{{0,4}}", re.ASCII)
_TYPED_INTO = re.compile(rf"(?:selector|element){_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}[^\"'`\\]{{0,40}}$", re.ASCII)
_TYPED_TEXT = re.compile(rf"(?<![A-Za-z0-9])(?:value|text){_QUOTE}\s{{0,4}}:\s{{0,4}}", re.ASCII)
_MORE_THAN_TOKEN = re.compile(r"token[A-Za-z0-9_.\-$]+$", re.IGNORECASE | re.ASCII)
_TOKEN_ITSELF = re.compile(r"token(?:[-_.]?(?:[0-9]+|id|value|key|str|string|secret|hash))?$", re.IGNORECASE | re.ASCII)
_LINE_END = r"(?:\r?\n|(?:\\+r)?\\+n)"
_FORM_FIELD = re.compile(rf"\\*\"[^\r\n\\]{{0,120}}{_LINE_END}{_LINE_END}(?P<value>[^\r\n\\]+)")
_YAML_BLOCK = re.compile(rf"[|>][+\-1-9]{{0,2}}[ \t]*(?P<indent>{_LINE_END}[ \t]+)(?=\S)")
_YAML_MARK = re.compile(r"(?:&|!!|(?P<own>!))[\w/:.\-]{1,60}[ \t]+(?!=)")
_YAML_ITEM = re.compile(
    rf"(?:{_LINE_END}[ \t]*)?-[ \t]+(?:\\*[\"'])?(?P<value>[^\s\"'\\]{{1,400}})(?:\\*[\"'])?[ \t]*(?={_LINE_END}|$)"
)
_TELLING_SIGNS = frozenset({"is", "was", "is:", "was:", "-", "->", "\u2013", "\u2014", "\u2192"})
"""After these comes a sentence as often as a secret."""
_FILE_NAME = re.compile(
    r"\.(?:py|pyi|ipynb|[cm]?[jt]s|[jt]sx|vue|svelte|go|rs|java|kt|scala|rb|php|c|h|cc|cpp|hpp|cs|swift|dart|lua|sh|sql|md"
    r"|rst|html|s?css|json|ya?ml|toml|xml|proto)$",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r"[0-9]{1,6}(?![\w.\-])")
"""`reset_password.py:42`: the place of something in a file, as compilers and searches print it."""
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
_RESOURCE = re.compile(r"arn:[a-z\-]{1,16}:(?:[\w\-]{0,20}:)?$")
"""`arn:aws:secretsmanager:…`: what a cloud calls a thing."""
_PAIR_REACH = 240
_LONGEST_NAME = 64
_WINDOW_BEFORE = 2_400
_WINDOW = 4_200
"""Brackets close within it, or never; what stands in quotes may go on behind it, line after line."""
_THREE_QUOTES = re.compile(r"[^\n]{0,200}?(?:\"\"\"|''')")

_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-$")
_SCHEME = re.compile(
    r"(?:bearer|basic|token|digest|negotiate|apikey|api-key|key|hmac|ntlm|aws4-hmac-sha256)(?:\s|%20|\+)+",
    re.IGNORECASE | re.ASCII,
)
_REST_OF_LINE = re.compile(r"(?:(?!\\[rn])[^\r\n])*")


class AssignmentScanner:
    """Finds the values that secret names are given within a text."""

    __slots__ = ("_judge", "_words")

    def __init__(self, judge: KeyJudge, words: tuple[str, ...]) -> None:
        self._judge = judge
        self._words: dict[str, list[str]] = {}
        """The telling words by what they begin with: a text without "api" has no spelling of "api_key" either."""
        beginnings = sorted({re.split(r"[\W_]", word, maxsplit=1)[0] for word in words}, key=len)
        for word in words:
            # A list: a generator that is dropped halfway swallows what a signal handler raises in its end.
            beginning = [beginning for beginning in beginnings if word.startswith(beginning)][0]  # noqa: RUF015
            self._words.setdefault(beginning, []).append(word)

    def spans(self, text: str) -> Iterator[Span]:
        """Where the secret values stand, each as (start, end)."""
        lowered = text.lower()
        if len(lowered) != len(text):  # a few letters grow when lowered, and then positions would not agree
            lowered = "".join(letter.lower() if letter.isascii() else letter for letter in text)
        seen = 0
        for start, end in self._names(text, lowered):
            if start < seen:
                continue
            name = text[start:end].strip("-.$")
            verdict = self._judge.judge(name)
            if _RESOURCE.search(text, max(0, start - 24), start):
                continue
            is_weak = self._is_weak(name, text[end : end + 1]) or _OF_A_PARSER.search(text, max(0, start - 12), start)
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
            columns = (*cells_below(text, start, end), *values_inserted(text, start, end))
            spans = [span for span in columns if _is_drawn_for(name, text[slice(*span)])]
        if not spans and not is_weak and verdict in opening and not _goes_on_after_token(name):
            spans = list(_nearby(text, end, most_words=2 if verdict == RANDOM else _MOST_WORDS))
        if verdict in {RANDOM, DESCRIBING}:
            spans = [span for span in spans if self._is_random(text, start, name, span)]
        if verdict == USERS_OWN:
            return spans
        return [span for span in spans if not merely_mentions(text, name, start, span, is_weak=is_weak)]

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
        if not text.isascii():
            names = (name for name in _ODD_NAME.finditer(text) if not name[0].isascii() and _ODD.search(name[0]))
            found.update(name.span() for name in names)
        return sorted(span for span in found if self._is_telling(text, *span))

    def _is_telling(self, text: str, start: int, end: int) -> bool:
        name = text[start:end].strip("-.$")
        verdict = self._judge.judge(name)
        if verdict != RANDOM:
            return verdict != SAFE
        before = _WORD_BEFORE.search(text, max(0, start - 40), start)  # `the cache key: …`
        return before is None or self._judge.judge(f"{before[1]}_{name}") != SAFE

    def _after_name(self, text: str, start: int, end: int) -> Iterator[Span]:  # noqa: PLR0911 -- one way of writing each
        yield from self._other_half_of_pair(text, start, end)
        if element := _in_element(text, start, end):
            yield from _element_text(text, start, element)
            return
        rest = _REST_OF_NAME.match(text, end)
        separator = _SEPARATOR.match(text, rest.end() if rest else end)
        if separator is None:
            yield from _set_by_call(text, start, end)
            yield from _flag_value(text, start, end, counting=self._counts(text[start:end]))
            return
        sign = separator["sign"]
        value_start = separator.end()
        if sign == ",":
            if separator["quote"]:
                yield from _second_of_pair(text, start, value_start)
                yield from _flag_value(text, start, end, counting=self._counts(text[start:end]))
            return
        if sign == ">":
            return
        name = text[start:end]
        if rest or sign in _TELLING_SIGNS:
            yield from _told_value(text, value_start)
            return
        if sign == "|":
            yield from _next_cell(text, start, value_start)
            return
        if sign == ":" and (found := _after_colon(text, separator, name)) is not None:
            yield from found
            return
        if sign == ":" and "\n" not in separator["gap"]:
            value_start = _past_annotation(text, value_start)
        if not separator["quote"] and _is_no_value(text, start, value_start, separator["gap"]):
            return
        yield from _assigned(text, start, value_start, name, sign, counting=self._counts(name))

    def _counts(self, name: str) -> bool:
        """Whether a name in text may have a number: it counts tokens, or says more than just whose token it is."""
        name = name.strip("-.$")
        if self._judge.judge(name) == COUNTER:
            return True
        more = _MORE_THAN_TOKEN.search(name)
        return more is not None and _goes_on_after_token(name) and self._judge.judge(name[: more.start()]) == SAFE

    def _other_half_of_pair(self, text: str, start: int, end: int) -> Iterator[Span]:
        """`{"name": "password", "value": …}` and the same the other way round, also as YAML and in a posted form."""
        values = _VALUE_OF_PAIR if _NAME_OF_PAIR.search(text, max(0, start - 72), start) else None
        values = values or (_TYPED_TEXT if _TYPED_INTO.search(text, max(0, start - 72), start) else None)
        if values is None:
            return
        if field := _FORM_FIELD.match(text, end):
            yield field.span("value")
            return
        after = values.search(text, end, end + _PAIR_REACH)
        if after and "}" not in text[end : after.start()]:
            yield from _assigned(text, start, after.end(), "value", ":", counting=False)
        for before in values.finditer(text, max(0, start - _PAIR_REACH), start):
            if "{" not in text[before.end() : start]:
                yield from _assigned(text, start, before.end(), "value", ":", counting=False)


def _set_by_call(text: str, start: int, end: int) -> Iterator[Span]:
    """`client.setPassword("…")`, with nothing else between the brackets."""
    if (setter := _SETTER.match(text, end)) and _SETS.match(text[start:end].rpartition(".")[2]):
        quoted = read_quoted(text, setter.end())
        if quoted and _ONE_ARGUMENT.match(text, quoted[1]):
            yield from _assigned(text, start, setter.end(), text[start:end], "=", counting=False)


def _goes_on_after_token(name: str) -> bool:
    return _MORE_THAN_TOKEN.search(name) is not None and not _TOKEN_ITSELF.search(name)


def _past_annotation(text: str, at: int) -> int:
    """Where a value begins after what says its type: `token: str = …`, `token: !!str …`."""
    if mark := _YAML_MARK.match(text, at):
        at = mark.end()
    annotation = _ANNOTATION.match(text, at)
    return annotation.end() if annotation else at


def _after_colon(text: str, separator: re.Match[str], name: str) -> list[Span] | None:
    """What stands after `name:` where only a colon is written so; None when it is a value as any other."""
    at = separator.end()
    if _LINE_NUMBER.match(text, at) and _FILE_NAME.search(name) and not separator["gap"]:
        return []
    mark = _YAML_MARK.match(text, at)
    if mark and mark["own"]:  # `!Ref DbPassword`, `!vault …`
        return [span for span in _bare(text, mark.end(), name, counting=False) if _is_drawn_at(text, span)]
    if block := _YAML_BLOCK.match(text, _past_annotation(text, at)):
        return [_block_lines(text, block)]
    if (phrase := _PHRASE.match(text, at)) and _NAMES_A_PHRASE.search(name):
        return [phrase.span()]
    if words_of(name)[-1:] == ["token"] and _PLAIN.match(text, at):
        return []
    return list(_listed(text, separator.end("sign"), name)) or None


_NAMES_A_PHRASE = re.compile(r"(?:mnemonic|phrase|words)$", re.IGNORECASE)
_PHRASE = re.compile(r"\\*[\"']?[a-z0-9]{2,9}(?: [a-z0-9]{2,9}){7,23}(?![A-Za-z0-9])")
_PLAIN = re.compile(r"[A-Z]?[a-z]{1,12}[.,;]?[ \t]*(?:\n|$)")
"""`token: eof`: tokens are drawn, and never one plain word."""


def _typed(text: str, at: int) -> Span:
    return read_quoted(text, at) or read_unquoted(text, at)


def _is_no_value(text: str, start: int, at: int, gap: str) -> bool:
    """`if token:` with a block or a docstring below it, and `"Cookie:"`, a text that ends with the sign."""
    if "\n" in gap and (text[at : at + 1] not in {'"', "'"} or is_docstring(text, at)):
        return True
    return closes_quotes(text, start, at)


def _block_lines(text: str, block: re.Match[str]) -> Span:
    """The lines under `password: |` that are indented as the first of them is; a line may end in an escaped newline."""
    indent = block["indent"]
    line_end = indent.rstrip(" \t")
    end = text.find(line_end, block.end())
    while end >= 0 and text.startswith(indent, end):
        end = text.find(line_end, end + 1)
    return block.end(), end if end >= 0 else len(text)


def _whole_name(text: str, start: int, end: int) -> Span:
    """Grow a word to the name it stands in."""
    furthest = max(0, start - _LONGEST_NAME)
    while start > furthest and text[start - 1] in _NAME_CHARACTERS:
        start -= 1
    # In `\npassword=` the n belongs to the escape, not to the name.
    if start > 0 and text[start - 1] == "\\" and text[start] in "nrtbf":
        start += 1
    furthest = min(len(text), end + _LONGEST_NAME)
    while end < furthest and text[end] in _NAME_CHARACTERS:
        end += 1
    return start, end


def _assigned(text: str, name_start: int, at: int, name: str, sign: str, *, counting: bool) -> Iterator[Span]:
    """The value that begins at `at`, if it is one that should go."""
    quoted = read_quoted(text, at)
    if quoted is not None:
        start, end = quoted
        if _carries_scheme(name) and (scheme := _SCHEME.match(text, start, end)):
            start = scheme.end()
        if start < end and not is_harmless(text[start:end], quoted=True) and not is_written_out(text, quoted):
            yield start, end
        return
    if sign in {"==", "===", "!=", "!=="}:
        return  # a comparison with a variable, not an assignment
    if (call := _CALL.match(text, at)) and (drawn := list(_drawn_arguments(text, call.end()))):
        yield from drawn
        return
    if text[at : at + 1] in {"{", "[", "("}:
        if counting:
            yield from _drawn_arguments(text, at + 1)
        elif brackets := read_brackets(text, at):
            yield brackets
        return
    if sign == ":" and _is_header(name):
        yield from _header_value(text, name_start, at, name)
        return
    yield from _bare(text, at, name, counting=counting)


_CALL = re.compile(r"(?:\[\])?[A-Za-z_][\w.:]{0,60}!?\(")
_ARGUMENTS = re.compile(r"[^\n;#]{0,300}")
_ARGUMENT = re.compile(rf"(?<=[(\[,=\s])[bBrRuU]?{_QUOTE}")


def _drawn_arguments(text: str, at: int) -> Iterator[Span]:
    """`key = bytes("…")`, `ENV.fetch("NAME", "…")`: what is drawn stays so, whatever is made of it."""
    line = _ARGUMENTS.match(text, at)
    while line and (argument := _ARGUMENT.search(text, at, line.end())):
        quoted = read_quoted(text, argument.start())
        if quoted is None:
            return
        if _is_drawn_at(text, quoted):
            yield quoted
        at = quoted[1] + 1


_FALLBACK = re.compile(rf"[ \t]{{0,4}}(?:\|\||\?\?|\bor\b)[ \t]{{0,4}}(?={_QUOTE})")
_COUNT = re.compile(r"[-+.]?[0-9][0-9.,_]*[kKmM%]?")


def _bare(text: str, at: int, name: str, *, counting: bool) -> Iterator[Span]:
    """A value without quotes."""
    start, end = read_unquoted(text, at)
    value = text[start:end]
    if value and (fallback := _FALLBACK.match(text, end)) and (other := read_quoted(text, fallback.end())):
        if _is_told_or_drawn(text[slice(*other)]):
            yield other  # `password: settings.password or "…"`
        return
    is_count = (counting or "tokens" in name.lower()) and _COUNT.fullmatch(value)
    if not value or is_count or is_harmless(value, quoted=False, name=name):
        return
    if _carries_scheme(name) and (scheme := _SCHEME.match(text, start)):
        start, end = read_unquoted(text, scheme.end())
    if start < end:
        yield start, end


def _carries_scheme(name: str) -> bool:
    lowered = name.lower()
    return "auth" in lowered or "bearer" in lowered


def _is_header(name: str) -> bool:
    return name.lower().lstrip("-").endswith(("authorization", "cookie", "cookie2"))


def _header_value(text: str, name_start: int, at: int, name: str) -> Iterator[Span]:
    """An Authorization or Cookie header runs to the end of its line, or of the quotes it stands in."""
    scheme = _SCHEME.match(text, at) if _carries_scheme(name) else None
    if scheme and scheme[0][:6].lower() not in {"digest", "aws4-h", "hmac "}:
        start, end = read_unquoted(text, scheme.end())
    else:
        line = _REST_OF_LINE.match(text, at, _end_of_quotes_around(text, name_start))
        start, end = at, line.end() if line else at
    value = text[start:end].rstrip()
    if scheme is None and _IN_WORDS.match(value):
        return  # `Authorization: granted by the board`
    if name.lower().endswith(("cookie", "cookie2")):
        value = value[: attribute.start()] if (attribute := _COOKIE_ATTRIBUTE.search(value)) else value
        if "=" not in value and not is_told(value) and not attribute:
            return  # `Cookie: the header that …`
    if value and not is_harmless(value, quoted=False, name=name):
        yield start, start + len(value)


_IN_WORDS = re.compile(r"[a-z]{3,} (?:[a-z]{1,20}[ ,.]){2}")
_COOKIE_ATTRIBUTE = re.compile(
    r";\s{0,8}(?:path|domain|expires|max-age|samesite|secure|httponly|version|comment|discard|partitioned)\b",
    re.IGNORECASE,
)


def _end_of_quotes_around(text: str, name_start: int) -> int:
    """Where the quotes end that a name stands at the beginning of; the end of the text when it does not."""
    if text[name_start - 1 : name_start] not in {'"', "'", "`"}:
        return len(text)
    opening = name_start - 1
    while opening > 0 and text[opening - 1] == "\\":
        opening -= 1
    quoted = read_quoted(text, opening)
    return quoted[1] if quoted is not None else len(text)


_OPENED = re.compile(rf"[(\[]\s{{0,4}}[bru]?{_QUOTE}$")
_CLOSED = re.compile(rf"{_QUOTE}\s{{0,4}}[\])]")


def _second_of_pair(text: str, name_start: int, at: int) -> Iterator[Span]:
    """`("password", "…")` or `["password", "…"]`: two things and nothing more between the brackets."""
    if not _OPENED.search(text, max(0, name_start - 24), name_start):
        return
    quoted = read_quoted(text, at)
    if quoted is None:
        return
    start, end = quoted
    if _CLOSED.match(text, end) and start < end and text[start:end] != REDACTED:
        yield start, end


_TAG = re.compile(r"<(?:[\w.\-]{1,40}:)?$")
_END_OF_TAG = re.compile(r"(?:\s[^<>]{0,200})?>")


def _in_element(text: str, start: int, end: int) -> int:
    """Where the text of an element begins that has this name: `<password>`, `<wsse:Password Type="…">`; 0 for none."""
    tag = _END_OF_TAG.match(text, end) if _TAG.search(text, max(0, start - 42), start) else None
    return tag.end() if tag else 0


def _element_text(text: str, start: int, at: int) -> Iterator[Span]:
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
        yield from _told_value(text, at)


def _flag_value(text: str, start: int, end: int, *, counting: bool) -> Iterator[Span]:
    """`--password …`, `-password …`, `config set password …`."""
    name = text[start:end]
    if not name.startswith("--"):
        is_flag = name.startswith("-") and _BEFORE_FLAG.search(text[max(0, start - 2) : start]) is not None
        gap = _NAME_GAP.match(text, end)
        if gap and (is_flag or _NAMING_COMMAND.search(text, max(0, start - 100), start)):
            yield from _told_value(text, gap.end())
        return
    if name.endswith(("-stdin", "-file", "-path", "-prompt")) or not (gap := _FLAG_GAP.match(text, end)):
        return
    quoted = read_quoted(text, gap.end())
    if quoted is None and "," in gap[0]:
        return  # `add_argument("--token", required=True)`: in a list of texts the next is a text as well
    value_start, value_end = quoted if quoted is not None else read_unquoted(text, gap.end())
    value = text[value_start:value_end]
    if not value or (counting and _COUNT.fullmatch(value)):
        return
    if not is_harmless(value, quoted=quoted is not None, name=name):
        yield value_start, value_end


_NEXT_WORD = re.compile(
    r"(?:(?:[ \t:={(@]|\\+t){1,6}|, {0,2}(?=\\*[\"'`])"
    r"|(?:\\*[\"'`])?[\])]{1,3}(?:\\*[\"'`])?(?:, {0,2}|\.[A-Za-z_]{2,20}\()(?=\\*[\"'`]))"
    r"(?:\\*[\"'`]){0,2}(?P<word>[^\s\"'`<>(){},;\\]{1,200})\\*[\"'`]?"
)
_CLOSING = re.compile(r"\\*[\"'`](?![\])])")
_SMALL_WORD = re.compile(r"[-/]{0,2}[A-Za-z0-9_']{1,12}:?")
_MOST_WORDS = 5


def _nearby(text: str, end: int, *, most_words: int) -> Iterator[Span]:
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


def _is_told_or_drawn(word: str) -> bool:
    return is_told(word) or is_drawn(word)


def _is_drawn_at(text: str, span: Span) -> bool:
    value = text[slice(*span)]
    return looks_random(value) or is_drawn(value)


def _is_drawn_for(name: str, value: str) -> bool:
    """Whether a value in a list or a column of this name is one of its secrets; people choose less than is drawn."""
    return _is_told_or_drawn(value) if OF_A_PERSON.search(name) else looks_random(value) or is_drawn(value)


def _listed(text: str, at: int, name: str) -> Iterator[Span]:
    """The items of a YAML list under a name; `secrets:` lists what they are called as often as what they are."""
    while item := _YAML_ITEM.match(text, at):
        at = item.end()
        if _is_drawn_for(name, item["value"]):
            yield item.span("value")


_CELL = re.compile(r"(?P<mark>\*{1,2}|`?)(?P<value>[^\s|`*][^\s|`]*)(?P=mark)\s{0,40}\|")
_LEFT_OF_CELL = re.compile(r"\|\s{0,40}[`*]{0,2}$")


def _next_cell(text: str, start: int, at: int) -> Iterator[Span]:
    """`| password | … |` in a table: only what no one would write as a word, because most cells are words."""
    cell = _CELL.match(text, at)
    if cell and _LEFT_OF_CELL.search(text, max(0, start - 44), start) and _is_told_or_drawn(cell["value"]):
        yield cell.span("value")


_TOLD = re.compile(r"(?=[^\s]{0,80}[A-Za-z!@#$%^&*])[^\s\"'`,;]{6,}")


def _told_value(text: str, at: int) -> Iterator[Span]:
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
