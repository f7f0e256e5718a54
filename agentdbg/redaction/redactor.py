"""
One payload in, one payload out that is safe to write.

Most payloads need nothing done. `Redactor.seal` proves that first, cheaply, and then hands back the caller's own dict
with its encoding: plain types, known keys, sizes, and one pass over the encoded bytes for anything that could be a
secret. Whatever is not proved takes the careful walk. If that fails too, the value is dropped, not stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.events import REDACTED, TRUNCATED
from agentdbg.redaction.argv import clean_arguments
from agentdbg.redaction.keys import KeyJudge
from agentdbg.redaction.patterns import compile_patterns
from agentdbg.redaction.plain import MAX_DEPTH, Walk, readable_text
from agentdbg.redaction.sizes import MAX_ENCODED_BYTES, cut_value, fit_fields
from agentdbg.redaction.suspicion import Suspicion
from agentdbg.redaction.text import TextCleaner, telling_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.redaction.rules import RedactionRules

__all__ = ["UNREADABLE", "Redactor", "Sealed"]

UNREADABLE = f"{REDACTED} (could not be read)"
_MOST_NODES_AT_SPEED = 5000


class Sealed:
    """A payload that may be written: the plain value and its JSON."""

    __slots__ = ("encoded", "value")

    def __init__(self, value: dict[str, Any], encoded: bytes) -> None:
        self.value = value
        self.encoded = encoded


class _Unproved(Exception):
    """Something needs a closer look."""


_UNPROVED = _Unproved()


class Redactor:
    """What one run's rules mean, compiled once."""

    def __init__(self, rules: RedactionRules, *, use_re2: bool = True) -> None:
        self._max_field_bytes = max(rules.max_field_bytes, 2 * len(TRUNCATED))
        self._judge = KeyJudge(rules.keys) if rules.enabled else None
        self._patterns, self.problems = compile_patterns(rules.patterns, use_re2=use_re2)
        self._clean_names: set[str] = set()
        self._suspicion: Suspicion | None = None
        self._cleaner: TextCleaner | None = None
        if self._judge is not None:
            self._suspicion = Suspicion(*telling_words(rules.keys), use_re2=use_re2)
            if rules.values:
                self._cleaner = TextCleaner(self._judge, rules.keys, self._suspicion, self._patterns)

    def seal(self, fields: dict[str, Any], max_bytes: int = MAX_ENCODED_BYTES) -> Sealed:
        """`fields` redacted, JSON-safe and at most `max_bytes` long when encoded. Never raises."""
        try:
            return self._seal_at_speed(fields, max_bytes)
        except Exception:  # noqa: BLE001 -- every reason leads to the careful walk
            return self._seal_carefully(fields, max_bytes)

    def clean_text(self, text: Any, limit: int = 500) -> str:
        """Any value as redacted text of at most `limit` characters: for the names of runs, tools and models."""
        try:
            cleaned = self._walk().text(text)
        except Exception:  # noqa: BLE001 -- fail closed
            return UNREADABLE[:limit]
        return cleaned if len(cleaned) <= limit else cleaned[: max(0, limit - 1)] + "…"

    def clean_argv(self, argv: Sequence[Any]) -> list[str]:
        """The program's arguments, redacted in all the forms that arguments take."""
        try:
            texts = [self.clean_text(argument, self._max_field_bytes) for argument in argv]
            return texts if self._judge is None else clean_arguments(texts, self._judge.judge)
        except Exception:  # noqa: BLE001 -- fail closed
            return [UNREADABLE]

    def _walk(self) -> Walk:
        return Walk(
            self._judge.judge if self._judge else None,
            self._cleaner.clean if self._cleaner else None,
            self._max_field_bytes,
            self._clean_names,
        )

    def _seal_at_speed(self, fields: dict[str, Any], max_bytes: int) -> Sealed:
        """Prove that nothing needs doing and encode the original; raises when that cannot be proved."""
        limit = self._max_field_bytes
        if self._judge is None:
            _prove_types(fields, limit, 1, _MOST_NODES_AT_SPEED)
        else:
            _prove(fields, self._judge, limit, 1, _MOST_NODES_AT_SPEED)
        encoded = encode_json(fields)
        size = len(encoded)
        if size > max_bytes or (size > limit and not all(_fits(value, limit) for value in fields.values())):
            raise _UNPROVED
        # The user's patterns are written for text, not for its encoding, so with any of them every text is looked at.
        if self._suspicion is not None and (self._patterns or self._suspicion.of_encoded(encoded)):
            raise _UNPROVED
        return Sealed(fields, encoded)

    def _seal_carefully(self, fields: dict[str, Any], max_bytes: int) -> Sealed:
        try:
            plain = self._walk().fields(fields)
            value = self._fitted(plain, max_bytes)
            return Sealed(value, encode_json(value))
        except Exception:  # noqa: BLE001 -- fail closed: one field at a time, so that one bad value costs only itself
            return self._seal_what_can_be(fields, max_bytes)

    def _fitted(self, plain: dict[str, Any], max_bytes: int) -> dict[str, Any]:
        limit = self._max_field_bytes
        for key, value in plain.items():
            if isinstance(value, (dict, list)):
                plain[key] = cut_value(value, limit)
        return plain if len(encode_json(plain)) <= max_bytes else fit_fields(plain, max_bytes)

    def _seal_what_can_be(self, fields: Any, max_bytes: int) -> Sealed:
        kept: dict[str, Any] = {}
        try:
            for key in list(dict.keys(fields))[:200]:
                name = readable_text(key) if type(key) is str else "?"
                try:
                    kept.update(self._fitted(self._walk().fields({key: dict.get(fields, key)}), max_bytes))
                except Exception:  # noqa: BLE001 -- fail closed
                    kept[self.clean_text(name)] = UNREADABLE
            value = self._fitted(kept, max_bytes)
            return Sealed(value, encode_json(value))
        except Exception:  # noqa: BLE001 -- fail closed
            return Sealed({REDACTED: UNREADABLE}, encode_json({REDACTED: UNREADABLE}))


def _fits(value: Any, limit: int) -> bool:
    if type(value) is str:
        return value.isascii() or len(value) * 4 <= limit or len(value.encode()) <= limit
    return not isinstance(value, (dict, list)) or len(encode_json(value)) <= limit


def _prove(fields: dict[str, Any], known: KeyJudge, limit: int, depth: int, room: int) -> int:  # noqa: C901, PLR0912 -- the hot loop: one branch per plain type, no calls
    """Every key known and harmless, every value plain and short; `depth` is that of the values."""
    if type(fields) is not dict or (depth > MAX_DEPTH and fields):
        raise _UNPROVED
    room -= len(fields)
    if room < 0:
        raise _UNPROVED
    keys = tuple(fields)
    if keys in known.safe_shapes:
        return _prove_values(fields, known, limit, depth, room)
    if keys in known.counter_shapes and _are_counts(fields):
        return room
    safe, counters, judge = known.safe, known.counters, known.judge
    for key, value in fields.items():
        kind = type(value)
        if type(key) is not str:
            raise _UNPROVED
        if key not in safe:
            if kind is int and key in counters:
                continue
            if judge(key) and not (key in counters and (kind is int or kind is float or kind is dict or value is None)):
                raise _UNPROVED
        if kind is str:
            if len(value) > limit:
                raise _UNPROVED
        elif kind is int or value is None or kind is bool:
            pass
        elif kind is dict:
            room = _prove(value, known, limit, depth + 1, room)
        elif kind is list:
            room = _prove_list(value, known, limit, depth + 1, room)
        elif kind is not float or value - value != 0.0:
            raise _UNPROVED
    known.remember_shape(keys)
    return room


def _are_counts(fields: dict[str, Any]) -> bool:
    for value in fields.values():  # noqa: SIM110 -- a generator would cost more than all the rest
        if type(value) is not int and value is not None:
            return False
    return True


def _prove_values(fields: dict[str, Any], known: KeyJudge, limit: int, depth: int, room: int) -> int:
    """The same for a dict whose keys are known to be harmless together: the payloads of a run have few shapes."""
    for value in fields.values():
        kind = type(value)
        if kind is str:
            if len(value) > limit:
                raise _UNPROVED
        elif value is None or kind is int or kind is bool:
            pass
        elif kind is dict:
            room = _prove(value, known, limit, depth + 1, room)
        elif kind is list:
            room = _prove_list(value, known, limit, depth + 1, room)
        elif kind is not float or value - value != 0.0:
            raise _UNPROVED
    return room


def _prove_list(items: list[Any], known: KeyJudge, limit: int, depth: int, room: int) -> int:
    """Every item plain and short, and no `[name, value]` or `--flag` among them that says otherwise."""
    room -= len(items)
    if room < 0 or (depth > MAX_DEPTH and items):
        raise _UNPROVED
    if len(items) == 2 and type(items[0]) is str and items[0] not in known.safe and known.judge(items[0]):
        raise _UNPROVED
    for item in items:
        kind = type(item)
        if kind is str:
            if len(item) > limit or item[:1] == "-":
                raise _UNPROVED
        elif kind is dict:
            room = _prove(item, known, limit, depth + 1, room)
        elif kind is int or item is None or kind is bool:
            pass
        elif kind is list:
            room = _prove_list(item, known, limit, depth + 1, room)
        elif kind is not float or item - item != 0.0:
            raise _UNPROVED
    return room


def _prove_types(value: Any, limit: int, depth: int, room: int) -> int:  # noqa: C901, PLR0912 -- the same loop without keys
    """Without redaction: plain types, plain keys, bounded sizes."""
    if depth > MAX_DEPTH + 1 and value:
        raise _UNPROVED
    room -= len(value)
    if room < 0:
        raise _UNPROVED
    if type(value) is dict:
        for key in value:
            if type(key) is not str or len(key) > limit:
                raise _UNPROVED
        children: Any = value.values()
    else:
        children = value
    for child in children:
        kind = type(child)
        if kind is str:
            if len(child) > limit:
                raise _UNPROVED
        elif kind is dict or kind is list:
            room = _prove_types(child, limit, depth + 1, room)
        elif kind is float:
            if child - child != 0.0:
                raise _UNPROVED
        elif not (kind is int or child is None or kind is bool):
            raise _UNPROVED
    return room
