"""
Take the secrets out of a value of any size, and number them: the careful walk without its limits.

What is recorded to be given again has to be whole, so nothing is cut here, no image is described instead, and a value
that would take too long is refused (`TooSlow`) rather than shortened. Values come in as plain JSON. Each secret becomes
`__REDACTED__:n`, where n counts the different secrets of a run; which secret n is stays in memory (`SecretNumbers`).
"""

from __future__ import annotations

import re
from time import thread_time
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.events import REDACTED
from agentdbg.redaction.keys import SAFE
from agentdbg.redaction.neighbours import columns_among, words_of_line
from agentdbg.redaction.plain import Walk
from agentdbg.redaction.text import merged, replace_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.redaction.kept import RememberedTexts
    from agentdbg.redaction.keys import KeyJudge
    from agentdbg.redaction.plain import _Place
    from agentdbg.redaction.text import TextCleaner

__all__ = ["MAY_NAME", "NUMBERED", "SecretNumbers", "TooSlow", "Unnumbered", "WholeWalk", "clean_pieces"]

NUMBERED = re.compile(REDACTED + r":[0-9]+")
"""How a secret looks on a tape."""
_LONGEST_SEARCHED = 4_000_000
_NODES_BETWEEN_LOOKS = 64
_NO_LIMIT = 1 << 60
_LONGEST_TUPLE = 16


class TooSlow(Exception):
    """Looking for secrets in a value took longer than it may."""


class SecretNumbers:
    """Which secrets a run has met, in the order in which they came. Lives in memory only."""

    __slots__ = ("_numbers", "secrets")

    def __init__(self) -> None:
        self._numbers: dict[str | bytes, int] = {}
        self.secrets: list[Any] = []
        """The secrets themselves: the one with number n stands at n."""

    def mark(self, secret: Any) -> str:
        """What stands on the tape in the place of a secret."""
        key = secret if type(secret) is str else encoding.encode(secret)
        number = self._numbers.get(key)
        if number is None:
            if type(secret) is str and (NUMBERED.fullmatch(secret) or secret == REDACTED):
                return secret  # it was taken out before
            number = self._numbers[key] = len(self.secrets)
            self.secrets.append(secret)
        return f"{REDACTED}:{number}"


class Unnumbered(SecretNumbers):
    """For where no secret is told from another."""

    __slots__ = ()

    def mark(self, secret: Any) -> str:
        """What stands in the place of every secret, also of one that was taken out before."""
        return secret if secret == REDACTED else REDACTED


class WholeWalk(Walk):
    """One pass over one plain value, of any size. Raises TooSlow when `seconds` are over."""

    __slots__ = ("_cleaner", "_numbers", "_over", "_remembered")

    deepest = _NO_LIMIT

    def __init__(
        self,
        judge: KeyJudge | None,
        cleaner: TextCleaner | None,
        numbers: SecretNumbers,
        seconds: float,
        remembered: RememberedTexts,
    ) -> None:
        super().__init__(judge, None, _NO_LIMIT, set())
        self._remembered = remembered
        self._cleaner = cleaner
        self._numbers = numbers
        self._over = thread_time() + seconds

    def value(self, value: Any) -> Any:
        """A plain value without its secrets."""
        return self._value(value, 0)

    def value_under(self, key: str, value: Any) -> Any:
        """The same for what stands in a dict under a key, which may say that it is secret."""
        plain: dict[str, Any] = {}
        self._entry(plain, key, value, 0, self._place([(key, value)]))
        return next(iter(plain.values()))

    def _exhausted(self) -> bool:
        if self._nodes_left < self._next_look:
            self._next_look = self._nodes_left - _NODES_BETWEEN_LOOKS
            if thread_time() > self._over:
                raise TooSlow
        return False

    def _dict(self, entries: dict[Any, Any], depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        items = list(entries.items())
        place = self._place(items)
        if entries.get("$t") == "tuple" and self._columns:  # all the rows of a table
            place = place._replace(columns=self._columns)
        for key, value in items:
            self._exhausted()
            self._entry(plain, key, value, depth, place)
        return plain

    def _list(self, items: Any, depth: int) -> list[Any]:
        pair = self._first_of_pair(items)
        columns, heading = self._columns_of(items)
        words = words_of_line(items, self._cleaned_line)
        plain = []
        for position, item in enumerate(items):
            verdict, name = pair if position else (SAFE, "")
            if position and verdict == SAFE:
                verdict, name = self._flag_before(items[position - 1], item)
            self._exhausted()
            given = words[position] if words else item
            if position >= heading:
                given = self._row(given, columns)
            plain.append(self._judged(given, depth + 1, verdict, name))
        return plain

    def _cleaned_line(self, line: str) -> str:
        return self._text(line)

    def _first_of_pair(self, items: Sequence[Any]) -> tuple[int, str]:
        return super()._first_of_pair([_told(items[0]), items[1]] if len(items) == 2 else items)

    def _place(self, items: list[tuple[Any, Any]]) -> _Place:
        place = super()._place([(key, _told(value)) for key, value in items])
        if self._judge is None:
            return place
        return place._replace(columns=columns_among((value for _, value in items), self._judge))

    def _text(self, text: str) -> str:
        if self._cleaner is None or len(text) <= 5:
            return text
        if len(text) > _LONGEST_SEARCHED:
            raise TooSlow
        spans = self._remembered.find(text)
        if spans is None:
            spans = self._cleaner.spans(text)
            self._remembered.add(text, spans)
        return replace_spans(text, spans, self._mark)

    def _mark(self, secret: Any) -> str:
        return self._numbers.mark(secret)


MAY_NAME = re.compile(rb'"\$t":"(?:bytes|bytearray|text|sub|enum|tuple|dict|ordered|defaultdict)"')
"""Forms of values that may say what stands beside them, so that a value with any of them is walked."""


def _told(item: Any) -> Any:
    """What a key or a name says that is no plain text: bytes, a tuple, a text of another type."""
    if type(item) is not dict or "$t" not in item:
        return item
    held = item.get("u", item.get("n", item.get("v")))
    if isinstance(held, list) and len(held) <= _LONGEST_TUPLE:
        parts = [_told(part) for part in held]
        return "(" + ", ".join(part for part in parts if isinstance(part, str)) + ")"
    return _told(held) if type(held) in (str, dict) else item


# --- texts that come in pieces


_TELLS_APART = ("index", "output_index", "content_index", "summary_index", "item_id", "choice_index")
"""Fields by which one stream says which of its texts a piece belongs to."""
_Path = tuple[Any, ...]


def clean_pieces(docs: list[Any], cleaner: TextCleaner, numbers: SecretNumbers) -> list[Any]:
    """
    The pieces of a stream without the secrets that are cut up between them.

    All texts at one place of the pieces are read as one. What is secret in that is taken out of the pieces it lies in,
    the first of which gets the marker. Pieces in which nothing changed are given back as they are.
    """
    places: dict[_Path, list[tuple[int, _Path, str]]] = {}
    for number, doc in enumerate(docs):
        for place, path, text in _texts(doc, (), ()):
            places.setdefault(place, []).append((number, path, text))
    cleaned = list(docs)
    for found in places.values():
        if len(found) > 1:
            _clean_place(found, cleaned, docs, cleaner, numbers)
    return cleaned


def _clean_place(
    found: list[tuple[int, _Path, str]],
    cleaned: list[Any],
    docs: list[Any],
    cleaner: TextCleaner,
    numbers: SecretNumbers,
) -> None:
    whole = "".join(text for _, _, text in found)
    spans = merged(cleaner.spans(whole))
    start, first = 0, 0
    for number, path, text in found:
        end = start + len(text)
        while first < len(spans) and spans[first][1] <= start:
            first += 1
        changed = _without_spans(text, start, spans[first:], whole, numbers)
        if changed != text:
            if cleaned[number] is docs[number]:
                cleaned[number] = _copied(docs[number])
            cleaned[number] = _put(cleaned[number], path, changed)
        start = end


def _without_spans(text: str, start: int, spans: list[tuple[int, int]], whole: str, numbers: SecretNumbers) -> str:
    pieces: list[str] = []
    kept_to = 0
    for begin, end in spans:
        if begin >= start + len(text):
            break
        low, high = max(begin - start, 0), min(end - start, len(text))
        pieces.append(text[kept_to:low])
        if begin >= start:  # the piece in which the secret begins says so
            pieces.append(numbers.mark(whole[begin:end]))
        kept_to = high
    pieces.append(text[kept_to:])
    return "".join(pieces)


def _texts(doc: Any, place: _Path, path: _Path) -> list[tuple[_Path, _Path, str]]:
    """Every text of a document: which of the stream's texts it is a piece of, where it stands, and itself."""
    kind = type(doc)
    if kind is str:
        return [(place, path, doc)] if doc else []
    found: list[tuple[_Path, _Path, str]] = []
    if kind is dict:
        told = tuple((name, doc[name]) for name in _TELLS_APART if type(doc.get(name)) in {int, str})
        for key, child in doc.items():
            found += _texts(child, (*place, told, key), (*path, key))
    elif kind is list:
        for at, child in enumerate(doc):
            apart = isinstance(child, dict) and "index" in child  # its own number counts, not where it stands
            found += _texts(child, (*place, None if apart else at), (*path, at))
    return found


def _copied(doc: Any) -> Any:
    if type(doc) is dict:
        return {key: _copied(child) for key, child in doc.items()}
    return [_copied(child) for child in doc] if type(doc) is list else doc


def _put(doc: Any, path: _Path, text: str) -> Any:
    if not path:
        return text
    holder = doc
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = text
    return doc
