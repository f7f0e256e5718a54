"""
Any Python value to plain JSON, redacted and bounded on the way: the careful walk.

One walk does it all: keys are judged, text is cleaned, depth, nodes, bytes and time are counted. Nothing here changes
or consumes what it is shown, and no method a user could have overridden is called except through `UserCode`. Of a list
the ends are walked, as far as they could be kept; `sizes` then cuts the result to its exact size.
"""

from __future__ import annotations

import codecs
import re
from itertools import islice
from math import isnan
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.events import REDACTED, TRUNCATED
from agentdbg.redaction.kept import is_schema, logprob_names, stays, without_samples
from agentdbg.redaction.key_words import is_field_name, says_nothing
from agentdbg.redaction.keys import COUNTER, DESCRIBING, RANDOM, SAFE, SECRET, USERS_OWN, is_drawn, is_told
from agentdbg.redaction.media import LEAST_MEDIA, without_media
from agentdbg.redaction.named_forms import is_kubernetes_secret
from agentdbg.redaction.neighbours import Column, columns_among, columns_of, row_without_secrets, words_of_line
from agentdbg.redaction.objects import describe
from agentdbg.redaction.picking import MARGIN_BYTES, Limits, narrow, take_ends
from agentdbg.redaction.sealed_items import SEALED
from agentdbg.redaction.sizes import cut_string, limits_of
from agentdbg.user_code import UserCode, mapping_items

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentdbg.redaction.keys import KeyJudge

__all__ = ["LONGEST_NAME_READ", "MAX_DEPTH", "Walk", "readable_text"]

MAX_DEPTH = 10
_MAX_NODES = 60_000
_MOST_BYTES = 5_000_000
_TIME_BUDGET_S = 0.06
_LEAST_TIME_S = 0.0005
_SMALL_ONES = 1000
_SMALL_TEXT = 1000
LONGEST_NAME_READ = 200
"""The first of a pair is a name only up to this length."""
_NODES_BETWEEN_LOOKS = 16
"""The clock costs more than a node, so it is not read for each."""

_LONGEST_REMEMBERED_NAME = 64
_MOST_REMEMBERED_NAMES = 4096

_LARGEST_INT_BITS = 13_287
"""Four thousand digits."""

_OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")

_NAME_FIELDS = ("name", "key", "header", "Name", "Key", "Header", "field", "parameter", "variable", "ParameterKey")
_STRICTEST_FIRST = (USERS_OWN, SECRET, DESCRIBING, RANDOM, COUNTER)
_KUBERNETES_DATA = frozenset({"data", "stringData"})
_VALUE_FIELDS = frozenset({"value", "Value", "values", "Values", "ParameterValue"})
_TYPED_INTO = ("selector", "element")
_TYPED = _VALUE_FIELDS | {"text"}
"""What a browser types, and into what: `{"selector": "#password", "text": …}`."""


class _Place(NamedTuple):
    """What the entries of a dict say of each other."""

    pair: int = SAFE
    pair_name: str = ""
    pair_values: frozenset[str] = _VALUE_FIELDS
    logprobs: frozenset[str] = frozenset()
    is_kubernetes_secret: bool = False
    columns: tuple[Column, ...] = ()
    """What the columns of a table are called whose rows stand beside their names."""


_NOWHERE = _Place()


class Walk:
    """
    One pass over one payload. Not to be used twice.

    `clean_names` is shared between walks: the keys whose text was found to be harmless, so that it need not be read
    again. It is kept small and holds no secret.
    """

    __slots__ = (
        "_all_nodes_left",
        "_clean",
        "_clean_names",
        "_columns",
        "_deadline",
        "_end",
        "_judge",
        "_least",
        "_limits",
        "_max_field_bytes",
        "_next_look",
        "_nodes_left",
        "_on_path",
        "_room",
        "_text_bytes",
        "_user",
        "ran_out",
    )

    deepest = MAX_DEPTH

    def __init__(
        self,
        judge: KeyJudge | None,
        clean: Callable[[str], str] | None,
        max_field_bytes: int,
        clean_names: set[str],
    ) -> None:
        self._clean_names = clean_names
        self._judge = judge
        self._clean = clean
        self._max_field_bytes = max_field_bytes
        self._all_nodes_left = _MAX_NODES
        self._nodes_left = self._next_look = _MAX_NODES
        self.ran_out = False
        """Whether something was left out for want of time."""
        self._text_bytes = 0
        self._limits = Limits.of(max_field_bytes)
        self._room = max_field_bytes
        """What the value that is being walked can take at the most."""
        self._least = 0
        """What was walked takes at the least, when its long texts and lists are cut."""
        self._end = self._deadline = thread_time() + _TIME_BUDGET_S
        self._on_path: set[int] = set()
        self._user = UserCode()
        self._columns: tuple[Column, ...] = ()
        """Those of the table whose rows are about to be walked."""

    def fields(self, fields: dict[Any, Any]) -> dict[str, Any]:
        """The payload itself: each of its fields gets a budget of its own."""
        plain: dict[str, Any] = {}
        small_ones_left = _SMALL_ONES
        self._on_path.add(id(fields))
        items = list(islice(dict.items(fields), _MAX_NODES + 1))
        place = self._place(items)
        for key, value in items:
            has_time = self._grant_share()
            small_ones_left -= not has_time
            if self._text_bytes > _MOST_BYTES or not small_ones_left:
                plain[TRUNCATED] = TRUNCATED
                break
            self._limits = limits_of(key, self._max_field_bytes)
            self._room = self._max_field_bytes
            nodes = self._nodes_left
            # When time is up, what is small is still worth its place.
            self._entry(plain, key, value if has_time or _is_small(value) else TRUNCATED, 0, place)
            self._all_nodes_left -= nodes - self._nodes_left
        return plain

    def item(self, value: Any, depth: int, limits: Limits) -> Any:
        """An item of a list that is walked by itself; all of them together have the budget of one payload."""
        if not self._grant_share():
            self.ran_out = True
            return TRUNCATED
        self._limits, self._room, nodes = limits, limits.max_bytes, self._nodes_left
        plain = self._value(value, depth)
        self._all_nodes_left -= nodes - self._nodes_left
        return plain

    def _grant_share(self) -> bool:
        """Two thirds of the time and nodes that are left for one field: a greedy one does not starve the rest."""
        now = thread_time() - self._user.seconds
        left = self._end - now
        self._deadline = now + left * 2 / 3
        self._nodes_left = self._next_look = self._all_nodes_left * 2 // 3
        return left > _LEAST_TIME_S and self._nodes_left > 1

    def text(self, value: Any) -> str:
        """Any value as one redacted line of text."""
        plain = self._value(value, MAX_DEPTH - 2)
        return plain if isinstance(plain, str) else readable_text(str(plain))

    def _exhausted(self) -> bool:
        if self._nodes_left > self._next_look:
            return False
        is_over = self._nodes_left <= 0 or thread_time() - self._user.seconds > self._deadline
        self.ran_out |= is_over
        self._next_look = _MAX_NODES if is_over else self._nodes_left - _NODES_BETWEEN_LOOKS
        return is_over

    def _value(self, value: Any, depth: int) -> Any:
        self._nodes_left -= 1
        kind = type(value)
        if kind is str:
            return self._text(value)
        self._least += 1
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if int.bit_length(value) <= _LARGEST_INT_BITS else _beginning_of_int(value)
        if kind is float:
            return _plain_float(value)
        if kind is dict or kind is list or kind is tuple:
            return self._container(value, value, depth)
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> Any:
        if type(value) in SEALED:
            self._least += min(len(value.encoded), self._limits.floor)
            return value
        described = describe(value, self._user, self._max_field_bytes + MARGIN_BYTES)
        if type(described) in {dict, list, tuple}:
            return self._container(value, described, depth)
        if described is value:  # nothing knew it; never let it through
            return f"<{type(value).__name__}>"
        return self._value(described, depth)

    def _container(self, owner: Any, container: Any, depth: int) -> Any:
        if depth > self.deepest or self._exhausted():
            return TRUNCATED
        if id(owner) in self._on_path:
            return "<circular reference>"
        self._on_path.add(id(owner))
        try:
            if type(container) is dict:
                return self._dict(container, depth)
            return self._list(container, depth)
        finally:
            self._on_path.discard(id(owner))

    def _dict(self, entries: dict[Any, Any], depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        self._columns = ()
        room, before = self._room, self._least
        items = mapping_items(entries, max(1, min(room, _MAX_NODES)))
        place = self._place(items)
        for key, value in items:
            left = room - self._least + before
            if left < 0 or self._exhausted():
                plain[TRUNCATED] = TRUNCATED
                break
            self._room = max(left, self._limits.floor)
            is_long = type(value) is str and len(value) >= LEAST_MEDIA
            self._entry(plain, key, without_media(value, entries) if is_long else value, depth, place)
        self._room = room
        return plain

    def _entry(self, plain: dict[str, Any], key: Any, value: Any, depth: int, place: _Place) -> None:
        name = key if type(key) is str else self._key_text(key)
        verdict, judged_as = SAFE, name
        if self._judge is not None:
            verdict = self._judge.judge(name)
            if verdict == SAFE and place.pair != SAFE and name in place.pair_values:
                verdict, judged_as = place.pair, place.pair_name
            elif verdict == SAFE and place.is_kubernetes_secret and name in _KUBERNETES_DATA:
                verdict = SECRET
            elif verdict != USERS_OWN and name in place.logprobs:
                verdict = SAFE
        before = self._least
        if name not in self._clean_names:
            name = self._name(name)
        self._least = before + len(name) + 4
        if name in plain:
            name = _kept_apart(plain, name)
        self._columns = place.columns
        plain[name] = self._judged(value, depth + 1, verdict, judged_as)
        self._columns = ()

    def _name(self, name: str) -> str:
        cleaned = self._text(name)
        if cleaned == name and len(name) <= _LONGEST_REMEMBERED_NAME:
            if len(self._clean_names) >= _MOST_REMEMBERED_NAMES:
                self._clean_names.clear()
            self._clean_names.add(name)
        return cleaned

    def _judged(self, value: Any, depth: int, verdict: int, name: str) -> Any:
        is_secret = verdict == USERS_OWN or (verdict == SECRET and not stays(name, value) and not is_schema(value))
        if is_secret or depth > self.deepest:
            marker = self._mark(value) if is_secret else TRUNCATED
            self._nodes_left -= 1
            self._least += len(marker) + 2
            return marker
        plain = self._value(value, depth)
        if verdict == SAFE:
            return plain
        if verdict == SECRET:
            return without_samples(plain) if type(plain) is dict else plain
        if isinstance(plain, list):
            if verdict == COUNTER and _is_text_in_tokens(plain):
                return plain
            return [self._left_of(item, verdict, name) for item in plain]
        return self._left_of(plain, verdict, name)

    def _left_of(self, plain: Any, verdict: int, name: str) -> Any:
        """A plain value under a key that takes away only some: of counters all but numbers, or what looks random."""
        if verdict == COUNTER:
            return _counted(plain)
        assert self._judge is not None
        return self._mark(plain) if isinstance(plain, str) and self._judge.hides(name, plain) else plain

    def _mark(self, secret: Any) -> str:
        """What stands in the place of a secret."""
        del secret
        return REDACTED

    def _list(self, items: Any, depth: int) -> list[Any]:
        whole = items[:]  # another thread may be changing it
        room, before = self._room, self._least
        pair = self._first_of_pair(whole)
        columns, heading = self._columns_of(whole)
        words = words_of_line(whole, self._cleaned_line)

        def take(position: int, room: int) -> tuple[Any, int] | None:
            if self._exhausted():
                return None
            verdict, name = pair if position else (SAFE, "")
            if position and verdict == SAFE:
                verdict, name = self._flag_before(whole[position - 1], whole[position])
            self._room, self._least = room, 0
            item = words[position] if words else whole[position]
            if position >= heading:
                item = self._row(item, columns)
            return self._judged(item, depth + 1, verdict, name), self._least

        plain, least = take_ends(whole, self._limits, room, take)
        self._room, self._least = room, before + least - 1  # `_value` has counted one bracket
        return plain

    def _row(self, item: Any, columns: tuple[Column, ...]) -> Any:
        """An item of a table without what the names of its columns take away."""
        return row_without_secrets(item, columns, self._judge, self._mark) if columns and self._judge else item

    def _columns_of(self, items: Sequence[Any]) -> tuple[tuple[Column, ...], int]:
        """The columns of the rows in a list, and where these begin: behind their names, or at once."""
        columns, self._columns = self._columns, ()
        if columns or self._judge is None:
            return columns, 0
        return columns_of(items, self._judge), 1

    def _cleaned_line(self, line: str) -> str:
        return self._clean(line) if self._clean is not None else line

    def _first_of_pair(self, items: Sequence[Any]) -> tuple[int, str]:
        """`[name, value]`: the first of two judges the second."""
        if self._judge is None or len(items) != 2:
            return SAFE, ""
        name = items[0]
        if type(name) is not str:
            if not isinstance(name, (str, bytes)):
                return SAFE, ""
            name = self._key_text(name)
        if len(name) > LONGEST_NAME_READ or name.startswith("--") or is_field_name(items[1]):
            return SAFE, ""
        return self._judge.judge(name), name

    def _flag_before(self, item: Any, following: Any) -> tuple[int, str]:
        """`--password` in a list of arguments judges what follows it, unless that is an option as well."""
        if type(following) is str and _OPTION.fullmatch(following[:40]):
            return SAFE, ""
        if self._judge is None or type(item) is not str or not item.startswith("-") or len(item) > 80:
            return SAFE, ""
        verdict = self._judge.judge(item) if "=" not in item and " " not in item else SAFE
        return (verdict, item) if verdict != COUNTER else (SAFE, "")

    def _place(self, items: list[tuple[Any, Any]]) -> _Place:
        """What the other entries of a dict say of each: `{"name": "password", "value": …}`, log probabilities."""
        if self._judge is None or len(items) > 64:
            return _NOWHERE
        is_typed = any(type(key) is str and key in _TYPED_INTO for key, _ in items)
        naming = _TYPED_INTO if is_typed else _NAME_FIELDS
        names = [
            value if type(value) is str else self._key_text(value)
            for key, value in items
            if type(key) is str
            and key in naming
            and isinstance(value, (str, bytes))
            and len(value) <= LONGEST_NAME_READ
        ]
        verdicts = {self._judge.judge(name): name for name in names}
        pair = next((verdict for verdict in _STRICTEST_FIRST if verdict in verdicts), SAFE)
        values = _TYPED if is_typed else _VALUE_FIELDS
        logprobs = logprob_names(items)
        columns = columns_among((value for _, value in items), self._judge)
        return _Place(pair, verdicts.get(pair, ""), values, logprobs, is_kubernetes_secret(items), columns)

    def _key_text(self, key: Any) -> str:
        if isinstance(key, str):
            return str.__str__(key)
        if key is None or (isinstance(key, (bool, int, float)) and type(key) in {bool, int, float}):
            return _beginning_of_int(key) if type(key) is int and int.bit_length(key) > _LARGEST_INT_BITS else str(key)
        if isinstance(key, tuple) and type(key) is tuple and len(key) <= 16:
            return "(" + ", ".join(self._key_text(part) for part in key if part is not key) + ")"
        described = describe(key, self._user, 200)
        return described if type(described) is str else readable_text(self._user.call(key, repr, str, described))

    def _text(self, text: str) -> str:
        """One string: readable as UTF-8, cleaned, and within the limit."""
        limits = self._limits
        if len(text) >= LEAST_MEDIA:
            text = narrow(without_media(text), limits)
        elif len(text) > limits.max_bytes:
            text = narrow(text, limits)
        if not text.isascii():
            text = readable_text(text)
        if self._clean is not None and len(text) > 5:
            text = self._clean(text)
        shortened = cut_string(text, limits.max_bytes, both_ends=limits.both_ends)
        self._text_bytes += len(shortened)
        self._least += min(len(shortened) + 2, limits.floor)
        return shortened


def _is_small(value: Any) -> bool:
    return value is None or type(value) in {bool, int, float} or (type(value) is str and len(value) <= _SMALL_TEXT)


_NUMBER = re.compile(
    r"-?(?:[0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.[0-9]{1,12})?(?:[kKmM%]|m?s|h|m[0-9.]{1,6}s)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,15}Z?|NaN|-?Infinity|"
    + TRUNCATED
)


_FEWEST_TOKENS = 3


def _is_text_in_tokens(items: list[Any]) -> bool:
    """Whether a list under `tokens` is a text cut into them: several pieces, each of which is a word or less."""
    pieces = [item for item in items if isinstance(item, str)]
    return len(pieces) >= _FEWEST_TOKENS and not any(is_told(piece) or is_drawn(piece) for piece in pieces)


def _counted(plain: Any) -> Any:
    """Under a key that counts: numbers, also as text, stay; any other text goes."""
    hides = isinstance(plain, str) and not _NUMBER.fullmatch(plain) and not says_nothing(plain)
    return REDACTED if hides else plain


def _beginning_of_int(number: int) -> str:
    """The first digits, in hex, because the decimal ones of a number this long take time that grows with its square."""
    return f"{number >> (number.bit_length() - 128) // 4 * 4:#x}{TRUNCATED}"


def _plain_float(number: float) -> float | str:
    return number if number - number == 0.0 else "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _kept_apart(plain: dict[str, Any], name: str) -> str:
    """A second key of the same text gets its position as a number."""
    number = len(plain) + 1
    while (numbered := f"{name} ({number})") in plain:
        number += 1
    return numbered


codecs.lookup("utf-16-le")  # finding it is an import, and none may be left for later


def readable_text(text: str) -> str:
    """`text` as strict UTF-8 can hold it: whole surrogate pairs joined, lone ones replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
