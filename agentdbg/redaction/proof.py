"""
Prove, as cheaply as Python can, that a payload needs no redacting: every key known and harmless, every value plain.

Proving is cheaper than copying, and most payloads are harmless. Whatever is not proved raises `Unproved` and takes the
careful walk, so a proof that is too strict costs time and nothing else. The loops below are written out branch by
branch: they run for every value of every event, and a call would cost more than what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.redaction.keys import COUNTER, DESCRIBING, LEAST_RANDOM, LONGEST_CACHED_KEY, RANDOM, SAFE, SECRET
from agentdbg.redaction.media import LEAST_MEDIA, may_hold_media
from agentdbg.redaction.picking import Gap
from agentdbg.redaction.plain import LONGEST_NAME_READ, MAX_DEPTH
from agentdbg.redaction.sealed_items import SEALED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.redaction.keys import KeyJudge

__all__ = ["MOST_NODES", "NO_LIMIT", "TooLong", "Unproved", "holds_messages", "prove", "prove_types", "prove_values"]

MOST_NODES = 5000
NO_LIMIT = 1 << 60
"""For values whose long texts and lists have been dealt with."""
_LONG_TEXT = LEAST_MEDIA
_LONGEST_FLAG = 80
_TELLS_OF_LOGIN = frozenset("uUpPaw")
_TAKES_LOGIN = frozenset({"--user", "--proxy-user"})
_NUMBERS = frozenset({int, bool, type(None)})
_COUNTS = frozenset({int, type(None)})
_TEXT = frozenset({str})
_FLOAT = frozenset({float})
_DEEPEST_HISTORY = 2
_MOST_BESIDE_IT = 32
_LONG_LIST = 64
"""Of a list with more items than these it is asked first whether the rest of it matters."""
_WORTH_ASKING_AT_ONCE = 8
"""From this many values on, asking for all types at once beats the loop, although the answer may be no."""


class Unproved(Exception):
    """
    Something needs a closer look.

    A new one is raised each time: an exception keeps the frames it passed, and one that is kept keeps all they hold.
    """


class TooLong(Unproved):
    """Something is so long that only a part of it can be kept, or is media, which is described instead."""


def holds_messages(value: Any, depth: int = 0) -> bool:
    """Whether a list of messages could be found in a value, a few levels deep."""
    kind = type(value)
    if kind is list:
        return len(value) > 1 and type(value[-1]) is dict is type(value[0])
    if kind is dict and depth < _DEEPEST_HISTORY and len(value) <= _MOST_BESIDE_IT:
        for child in value.values():
            kind = type(child)
            if (kind is list or kind is dict) and holds_messages(child, depth + 1):
                return True
    return False


def prove(fields: dict[str, Any], known: KeyJudge, limit: int, depth: int, room: int) -> int:  # noqa: C901, PLR0912 -- see above
    """Every key known and harmless, every value plain and short; `depth` is that of the values, `room` for nodes."""
    if type(fields) is not dict or (depth > MAX_DEPTH and fields):
        raise Unproved
    room -= len(fields)
    if room < 0:
        raise TooLong
    keys = tuple(fields)
    if keys in known.safe_shapes:
        values = fields.values()
        if len(keys) >= _WORTH_ASKING_AT_ONCE and _NUMBERS.issuperset(map(type, values)):
            return room
        return prove_values(values, known, limit, depth, room)
    if keys in known.counter_shapes and _COUNTS.issuperset(map(type, fields.values())):
        return room
    safe, counters, judge = known.safe, known.counters, known.judge
    for key, value in fields.items():
        kind = type(value)
        if type(key) is not str:
            raise Unproved
        if key not in safe:
            if kind is int and key in counters:
                continue
            room -= len(key) >> 4  # a new key has to be judged, which takes a while, and only the walk watches the time
            if room < 0 or len(key) > LONGEST_CACHED_KEY:
                raise Unproved
            verdict = judge(key)
            if verdict and not _is_harmless_under(verdict, key, value, known):
                raise Unproved
        if kind is str:
            if len(value) >= _LONG_TEXT or len(value) > limit:
                _look_at_long(value, limit)
        elif kind is int or value is None or kind is bool:
            pass
        elif kind is dict:
            room = prove(value, known, limit, depth + 1, room)
        elif kind is list:
            room = _prove_list(value, known, limit, depth + 1, room)
        elif kind not in SEALED and (kind is not float or value - value != 0.0):
            raise Unproved
    known.remember_shape(keys)
    return room


def _is_harmless_under(verdict: int, key: str, value: Any, known: KeyJudge) -> bool:
    """Whether a key that is not SAFE takes nothing away from a value that is then proved like any other."""
    kind = type(value)
    if verdict == COUNTER:
        return kind is int or kind is float or kind is dict or value is None
    if verdict == RANDOM:
        return not (kind is list or (kind is str and len(value) >= LEAST_RANDOM and known.hides(key, value)))
    if verdict == DESCRIBING:
        return not (kind is list or (kind is str and known.hides(key, value)))
    return verdict == SECRET and (value is None or kind is bool)


def prove_values(values: Iterable[Any], known: KeyJudge, limit: int, depth: int, room: int) -> int:
    """The same for values whose keys are known to be harmless together: the payloads of a run have few shapes."""
    for value in values:
        kind = type(value)
        if kind is str:
            if len(value) >= _LONG_TEXT or len(value) > limit:
                _look_at_long(value, limit)
        elif value is None or kind is int or kind is bool:
            pass
        elif kind is dict:
            room = prove(value, known, limit, depth + 1, room)
        elif kind is list:
            room = _prove_list(value, known, limit, depth + 1, room)
        elif kind not in SEALED and (kind is not float or value - value != 0.0):
            raise Unproved
    return room


def _prove_list(items: list[Any], known: KeyJudge, limit: int, depth: int, room: int) -> int:  # noqa: C901, PLR0912 -- see above
    """Every item plain and short, and no `[name, value]` or `--flag` among them that says otherwise."""
    room -= len(items)
    if room < 0:
        raise TooLong
    if depth > MAX_DEPTH and items:
        raise Unproved
    if len(items) == 2 and type(items[0]) is str and items[0] not in known.safe and len(items[0]) <= LONGEST_NAME_READ:
        room -= len(items[0]) >> 4
        if room < 0 or known.judge(items[0]):
            raise Unproved
    if len(items) > _LONG_LIST:
        room = _prove_beginning(items[:_LONG_LIST], len(items), known, limit, depth, room)
        items = items[_LONG_LIST:]
    if len(items) >= _WORTH_ASKING_AT_ONCE and _are_alike(items, limit):
        return room
    for item in items:
        kind = type(item)
        if kind is str:
            if item[:1] == "-" and _is_telling_flag(item, known):
                raise Unproved
            if len(item) >= _LONG_TEXT or len(item) > limit:
                _look_at_long(item, limit)
        elif kind is dict:
            room = prove(item, known, limit, depth + 1, room)
        elif kind is int or item is None or kind is bool:
            pass
        elif kind is list:
            room = _prove_list(item, known, limit, depth + 1, room)
        elif kind is Gap:
            if item.hides_flag():
                raise Unproved
        elif kind is not float or item - item != 0.0:
            raise Unproved
    return room


def _is_telling_flag(item: str, known: KeyJudge) -> bool:
    """Whether an item may be an option, such as `--password`, that says what the one after it is."""
    if len(item) > _LONGEST_FLAG or " " in item or "=" in item:  # `- a point of a list`
        return False
    if item[1:2] in _TELLS_OF_LOGIN or item in _TAKES_LOGIN:  # `-u name:password`, `-p…`
        return True
    return known.judge(item) != SAFE


def _look_at_long(text: str, limit: int) -> None:
    if len(text) > limit or (limit < NO_LIMIT and len(text) >= LEAST_MEDIA and may_hold_media(text)):
        raise TooLong


def _are_alike(items: list[Any], limit: int) -> bool:
    """Whether all items are numbers, or all of them texts that are short together: that shows without the loop."""
    kinds = set(map(type, items))
    if kinds == _TEXT:
        short = max(map(len, items)) < _LONG_TEXT and sum(map(len, items)) <= limit
        return short and "\n-" not in "\n".join(("", *items))
    if kinds == _FLOAT:
        total: float = sum(items)
        return total - total == 0.0  # neither NaN nor infinity is among them
    return kinds <= _NUMBERS


def _prove_beginning(items: list[Any], whole: int, known: KeyJudge, limit: int, depth: int, room: int) -> int:
    """The first of that many items; it is not worth going on when all of them seem to be far too long."""
    room = _prove_list(items, known, limit, depth, room)
    if len(encoding.encode(items)) * whole > 2 * len(items) * limit:
        raise TooLong
    return room


def prove_types(value: Any, limit: int, depth: int, room: int) -> int:  # noqa: C901, PLR0912 -- the same loop without keys
    """Without redaction: plain types, plain keys, bounded sizes."""
    if depth > MAX_DEPTH + 1 and value:
        raise Unproved
    room -= len(value)
    if room < 0:
        raise TooLong
    if type(value) is dict:
        for key in value:
            if type(key) is not str or len(key) > limit:
                raise Unproved
        children: Any = value.values()
    else:
        children = value
    for child in children:
        kind = type(child)
        if kind is str:
            if len(child) >= _LONG_TEXT or len(child) > limit:
                _look_at_long(child, limit)
        elif kind is dict or kind is list:
            room = prove_types(child, limit, depth + 1, room)
        elif kind is float:
            if child - child != 0.0:
                raise Unproved
        elif not (kind is int or child is None or kind is bool or kind is Gap or kind in SEALED):
            raise Unproved
    return room
