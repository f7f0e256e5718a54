"""
What a step asked and what came back, reduced to bytes, and when two of them say the same.

Inputs are the same in whatever order of keys and without the ids of the single call; results without ids and clocks.
What is costly is worked out when it is first asked for. Nothing of the user's objects is kept but short texts.

Steps become characters too (`Characters` hands them out), so that a block which repeats at the end of a run is found by
comparing text.
"""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.events.facts import call_failed, error_of
from agentdbg.faults import pass_on
from agentdbg.loops.volatile import VOLATILE_KEYS, strip_volatile

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

__all__ = [
    "CALL_KEYS",
    "NOTHING_ASKED",
    "NOTHING_GOT",
    "Asked",
    "Characters",
    "Outcome",
    "are_near",
    "asks_for_another",
    "encode",
    "find_period",
    "has_period",
    "input_key",
    "overlap",
    "read_answer",
    "read_call",
    "words",
]

CALL_KEYS = frozenset({"idempotency_key", "nonce", "tool_call_id", "tool_use_id"})
"""Keys of an input that belong to the single call; a time or any other id may be what the call is about."""

_MAX_COMPARED_BYTES = 4_096
"""How much of a result is looked at closely; of what follows only that it is equal."""
_DEEPEST = 12
_LIST = "\0list"
_MAX_WORDS = 96
_FIRST_WORDS = 48
_WORD_LENGTH = 10
"""What to expect of a word with the gap after it."""
_NEAR_RESULT = 0.9

_FAILURE_OPENINGS = ("error", "traceback (most", "exception", "failed", "failure", "fatal:", "fatal error")
_BARE_BYTES = 60
_BRIEF_BYTES = 200
_BRIEF_WORDS = 8
_ACKNOWLEDGING_WORDS = 24
"""So many, when one of them says that it went well."""
_BARE = frozenset({b"null", b"true", b"{}", b"[]", b"ok", b""})
_ACKNOWLEDGING = frozenset(
    b"200 accepted acknowledged added complete completed created deleted done finished noted null ok okay queued "
    b"received removed result saved sent status stored succeeded success successful successfully true updated "
    b"written".split()
)
_SUCCESS = frozenset(b"succeeded success successful successfully".split())
_NEGATIVE = frozenset(
    b"cannot couldn denied didn doesn empty error exception expired fail failed failure forbidden incorrect "
    b"invalid missing no none not nothing refused rejected timeout unable unauthorized unavailable unexpected "
    b"unknown wrong".split()
)
_FAULTS = rb"issues?|errors?|problems?|warnings?|failures?|failed|conflicts?|vulnerabilit(?:y|ies)"
_ALL_WELL = re.compile(
    rb"\b(?:no|0|zero|without) (?:known |new )?(?:%b)\b|\bnothing to commit\b|\b204 no content\b"
    rb"|\b(?:no|without|empty) (?:any )?(?:output|stdout|return value)\b"
    rb"|\b(?:did|does|has|have)(?: not|n't) (?:produce|return|print|generate)d? (?:any )?(?:output|value)\b"
    rb"""|["'](?:%b|exception|stderr|missing|denied|rejected|unknown)["']: ?(?:null|none|false|0|""|''|\[\]|\{\})"""
    % (_FAULTS, _FAULTS),
    re.IGNORECASE,
)
"""What has a "no" in it and means yes, as checkers, shells and web servers say it."""
_HOLLOW = re.compile(
    rb"""(?:\s|[\[\]{},]|"[^"\\]{0,40}"\s*:|null|None|false|0(?![.\d])|"(?:\[\]|\{\})?"|(?<=:)\s*"text")*"""
)
"""A value of which nothing is left without its brackets, its names and what stands for nothing."""
_UNFINISHED = (
    rb"(?:still |not )?(?:in[_ -]?progress|pending|running|queued|processing|building|creating|container_?creating"
    rb"|starting|waiting|initiali[sz]ing|provisioning|scheduled|deploying|training|not[_ ]ready|not[_ ]started)"
)
_WAITS = re.compile(
    rb"""["']?%b["']?[.]*|["']?(?:progress\W{1,3})?\d{1,2}(?:\.\d+)? ?%%(?: (?:done|complete\w*|ready))?[.]*["']?"""
    rb"""|[^\[]*["'](?:progress|percent(?:age)?|pct)["']: ?["']?(?:0?\.\d+|\d{1,2}(?:\.\d+)? ?%%)(?!\d).*"""
    rb"""|(?:[^\[]*[\s{,"'<])?(?:status|state|phase|stage)\b["']?\s*(?:[:=>]|is)\s*["']?%b\b.*"""
    % (_UNFINISHED, _UNFINISHED),
    re.IGNORECASE | re.DOTALL,
)
"""What is still going on, as jobs say: `pending`, `40 %`, `{"status": "running"}`; no list of things with a state."""
_LONGEST_QUESTION = 512
_TERM = re.compile(rb"[\w.@-]+")
_WORD_BYTES = bytes(
    byte if (48 <= byte <= 57 or 97 <= byte <= 122 or byte >= 128) else byte + 32 if 65 <= byte <= 90 else 32
    for byte in range(256)
)


class Asked:
    """What a call asked, as text."""

    __slots__ = ("_key", "_words", "text")

    def __init__(self, value: Any, key: int | None = None) -> None:
        self.text = encode(value)
        self._key = key
        self._words: frozenset[bytes] | None = None

    def key(self) -> int:
        """Equal for equal inputs, in whatever order of their keys."""
        if self._key is None:
            self._key = input_key(self.text.decode(errors="replace"))
        return self._key

    def words(self) -> frozenset[bytes]:
        """The first words of the input."""
        if self._words is None:
            self._words = frozenset(words(self.text))
        return self._words

    def forget(self) -> None:
        """Let go of the text; a key that nobody asked for by now is like no other."""
        self._key = id(self) if self._key is None else self._key
        self.text, self._words = b"", None


class Outcome:
    """What came back, as text, and whether that is a failure."""

    __slots__ = ("_first_words", "_key", "_words", "failed", "rest", "text")

    def __init__(self, text: bytes, *, failed: bool = False) -> None:
        self.failed = failed
        self.text = text[:_MAX_COMPARED_BYTES]
        self.rest = hash(text[_MAX_COMPARED_BYTES:]) if len(text) > _MAX_COMPARED_BYTES else 0
        self._key: int | None = None
        self._words: list[bytes] | None = None
        self._first_words: frozenset[bytes] | None = None

    def key(self) -> int:
        """Equal for results that differ in nothing but ids and clocks."""
        if self._key is None:
            self._key = hash((strip_volatile(self.text), self.rest, self.failed))
        return self._key

    def words(self) -> list[bytes]:
        """The first words of the result, in order."""
        if self._words is None:
            self._words = words(self.text)
        return self._words

    def first_words(self) -> frozenset[bytes]:
        """Enough of the words to know a model's answer by."""
        if self._first_words is None:
            self._first_words = frozenset(words(self.text, _FIRST_WORDS))
        return self._first_words

    def forget(self) -> None:
        """Let go of the text; a key that nobody asked for by now is like no other."""
        self._key = id(self) if self._key is None else self._key
        self.text, self._words, self._first_words = b"", None, None

    def is_bare(self) -> bool:
        """Whether the result only acknowledges and tells nothing: null, true, "ok", empty."""
        if self.failed or len(self.text) > _BARE_BYTES:
            return False
        return self.text in _BARE or _ACKNOWLEDGING.issuperset(self.words())

    def is_brief(self) -> bool:
        """Whether the result is a few words without a "no" among them: to different inputs, an acknowledgement too."""
        if self.failed or self.rest or len(self.text) > _BRIEF_BYTES:
            return False
        said = self.words()
        if not _NEGATIVE.isdisjoint(said):
            said = words(_ALL_WELL.sub(b"", self.text))
        most = _BRIEF_WORDS if _SUCCESS.isdisjoint(said) else _ACKNOWLEDGING_WORDS
        return len(said) <= most and _NEGATIVE.isdisjoint(said)

    def is_nothing(self) -> bool:
        """Whether the result has no value in it: `[]`, `{"hits": []}`, `{"rows": 0}`, an empty text."""
        return not self.failed and len(self.text) <= _BRIEF_BYTES and _HOLLOW.fullmatch(self.text) is not None

    def says_wait(self) -> bool:
        """Whether the result says that what was asked about is not finished."""
        return not self.failed and len(self.text) <= _BRIEF_BYTES and _WAITS.fullmatch(self.text.strip()) is not None

    def is_negative(self) -> bool:
        """Whether the result is a failure or has a "no" among its first words."""
        if self.failed or _NEGATIVE.isdisjoint(self.first_words()):
            return self.failed
        return not _NEGATIVE.isdisjoint(words(_ALL_WELL.sub(b"", self.text), _FIRST_WORDS))


def read_call(payload: dict[str, Any]) -> tuple[Asked, Outcome]:
    """What a tool was asked, and what it returned."""
    arguments = payload.get("args")
    asked = Asked(arguments, input_key(arguments))
    if call_failed(payload):
        return asked, _failure(payload)
    result = payload.get("result")
    return asked, Outcome(encode(result), failed=_says_it_failed(result))


def read_answer(payload: dict[str, Any]) -> tuple[Asked, Outcome]:
    """The calls that a model asks for, without their ids, and its words."""
    if call_failed(payload):
        return NOTHING_ASKED, _failure(payload)
    said, calls = _spoken(payload.get("response"))
    return (Asked(calls) if calls else NOTHING_ASKED), Outcome(said)


def are_near(one: Outcome, other: Outcome) -> bool:
    """Whether two results say the same thing in nearly the same words and order."""
    shorter, longer = sorted((len(one.text), len(other.text)))
    if shorter < longer * _NEAR_RESULT - 16:
        return False
    said, heard = one.words(), other.words()
    return overlap(said, heard) >= _NEAR_RESULT and overlap(_threes(said), _threes(heard)) >= _NEAR_RESULT


def asks_for_another(one: bytes, other: bytes) -> bool:
    """
    Whether two inputs ask the same about different things, as a batch does: each part that differs was exchanged as a
    whole, or one name or number in it was. What was put in other words shares some of them, in another order or number.
    """
    if max(len(one), len(other)) > _LONGEST_QUESTION:
        return False
    first, second = _parts(one), _parts(other)
    if first.keys() != second.keys():
        return False
    changed = [(first[path], second[path]) for path in first if first[path] != second[path]]
    return bool(changed) and all(_is_exchanged(_TERM.findall(was), _TERM.findall(now)) for was, now in changed)


def _parts(text: bytes) -> dict[str, bytes]:
    """The values of an input by their places; a text that is not JSON is one value."""
    found: dict[str, bytes] = {}
    value: Any = None
    if text.startswith((b"{", b"[")):
        try:
            value = decode_json(text)
        except (TypeError, ValueError, RecursionError) as error:
            pass_on(error)
    waiting: list[tuple[str, Any]] = [("", text.decode(errors="replace") if value is None else value)]
    while waiting and len(found) < _MAX_WORDS:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{path}.{key}", item) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}.{place}", item) for place, item in enumerate(value)]
        else:
            found[path] = encode(value)
    return found


def _is_exchanged(was: list[bytes], now: list[bytes]) -> bool:
    """Whether one stretch of words was replaced by another that shares none with it: all there is, or a name."""
    begin = 0
    while begin < min(len(was), len(now)) and was[begin] == now[begin]:
        begin += 1
    end = 0
    while end < min(len(was), len(now)) - begin and was[-1 - end] == now[-1 - end]:
        end += 1
    left, right = was[begin : len(was) - end], now[begin : len(now) - end]
    if not left or not right or set(left) & set(right):
        return False
    return begin + end == 0 or not any(word[:1].islower() for word in (left[0], right[0]))


def _threes(said: list[bytes]) -> list[bytes]:
    """All runs of three words, which also tell their order."""
    return list(map(b" ".join, zip(said, said[1:], said[2:], strict=False))) if len(said) > 2 else [b" ".join(said)]


def overlap(one: Iterable[bytes], other: Iterable[bytes]) -> float:
    """How much two collections of words have in common: 1 when they are equal, 0 when they share nothing."""
    one, other = frozenset(one), frozenset(other)
    common = len(one & other)
    either = len(one) + len(other) - common
    return common / either if either else 1.0


def words(text: bytes, most: int = _MAX_WORDS) -> list[bytes]:
    """The first words of a text: lower-cased runs of letters and digits."""
    found = text[: most * _WORD_LENGTH].translate(_WORD_BYTES).split(None, most)
    if len(found) <= most and len(text) > most * _WORD_LENGTH:  # long words, the last of them cut
        found = text.translate(_WORD_BYTES).split(None, most)
    return found[:most]


def encode(value: Any) -> bytes:
    """The value as bytes: text as it stands, else JSON."""
    if isinstance(value, str):
        return value.encode(errors="replace")
    try:
        return encode_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        pass_on(error)
        return type(value).__name__.encode()


def input_key(value: Any) -> int:
    """A hash of an input: the same whatever the order of its keys, without the ids of the single call."""
    return hash(_frozen(value, 0))


def _frozen(value: Any, depth: int) -> Hashable:
    if isinstance(value, str):
        return _frozen_text(value, depth) if value.startswith(("{", "[")) else value
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        keys = sorted(value, key=str) if len(value) > 1 else value
        return tuple([(key, _frozen(value[key], depth + 1)) for key in keys if key not in CALL_KEYS])
    if isinstance(value, (list, tuple)):
        return (_LIST, *[_frozen(item, depth + 1) for item in value])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else f"\0{value!r}"  # -1 and -2 have the same hash, their texts have not


def _frozen_text(text: str, depth: int) -> Hashable:
    """Models write a call's arguments as JSON inside a string, with spaces and key order as they please."""
    try:
        return _frozen(decode_json(text), depth + 1) if depth < _DEEPEST else text
    except (TypeError, ValueError, RecursionError) as error:
        pass_on(error)
        return text


def _failure(payload: dict[str, Any]) -> Outcome:
    error = error_of(payload)
    if isinstance(error, dict):
        said = f"{error.get('error_type') or error.get('type')}: {error.get('message')}".encode(errors="replace")
    else:
        said = encode(error)
    return Outcome(said, failed=True)


def _says_it_failed(result: Any) -> bool:
    """Whether a call that returned normally returned a failure, as tools for models do."""
    if isinstance(result, str):
        return result[:24].lstrip().lower().startswith(_FAILURE_OPENINGS)
    if not isinstance(result, dict):
        return False
    return bool(
        result.get("error")
        or result.get("success") is False
        or result.get("isError") is True
        or result.get("is_error") is True
        or result.get("status") in ("error", "failed")
    )


def _spoken(response: Any) -> tuple[bytes, list[Any]]:
    """The words of a model's answer, and the calls it asks for without their ids."""
    if isinstance(response, list):
        response = {"content": response}
    if not isinstance(response, dict):
        return encode(response), []
    message: Any = response
    choices = response.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message") or choices[0]
        if not isinstance(message, dict):
            return encode(message), []
    if "content" not in message and "tool_calls" not in message:
        text = message.get("text")
        rest = {key: value for key, value in message.items() if key not in VOLATILE_KEYS and key != "id"}
        return encode(text if isinstance(text, str) else rest), []
    asked, content = message.get("tool_calls"), message.get("content")
    calls = [_asked_for(call) for call in asked if isinstance(call, dict)] if isinstance(asked, list) else []
    if isinstance(content, list):
        uses = [part for part in content if isinstance(part, dict) and part.get("type") == "tool_use"]
        calls += map(_asked_for, uses)
        said = [part for part in content if part not in uses]
        content = "\n".join(str(part.get("text") or "") if isinstance(part, dict) else str(part) for part in said)
    return encode("" if content is None else content), calls


def _asked_for(call: dict[str, Any]) -> list[Any]:
    function = call.get("function")
    source = function if isinstance(function, dict) else call
    return [source.get("name"), source.get("arguments", source.get("args", source.get("input")))]


NOTHING_ASKED = Asked("")
NOTHING_GOT = Outcome(b"")


_GRAMS = (1, 4, 16, sys.maxsize)
"""The longer a block, the more of what the text ends with is looked for: in real runs it stands nearly nowhere else."""


class Characters:
    """One character for each different thing of late, so that comparing stretches of a run is comparing text."""

    __slots__ = ("_kept", "_known", "_next")

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._known: dict[Hashable, tuple[str, int]] = {}
        self._next = 0

    def meet(self, thing: Hashable, number: int) -> tuple[bool, str]:
        """Whether a thing that is met in the step of that number was met shortly before, and its character."""
        oldest = number - self._kept
        character, met = self._known.get(thing, ("", -1))
        is_known = met >= max(oldest, 0)
        if not is_known:
            character = self.fresh()
        self._known[thing] = character, number
        if len(self._known) > 2 * self._kept:
            self._known = {thing: found for thing, found in self._known.items() if found[1] >= oldest}
        return is_known, character

    def fresh(self) -> str:
        """A character that stands for nothing else; after a million they begin again."""
        self._next = (self._next + 1) % sys.maxunicode
        return chr(self._next)


def find_period(text: str, repetitions: int, length: int, shortest: int = 1) -> int:
    """
    The smallest p, from `shortest` on, such that `text` ends with a block of p characters `repetitions` times; else 0.

    Only the last `length` characters are looked at.
    """
    size, tail = len(text), repetitions - 1
    longest = min(size, length) // repetitions
    for gram, longer in pairwise(_GRAMS):
        # From the first of these lengths on, what the text ends with stood once before, a block earlier.
        first, last = max(shortest, -(-gram // tail)), min(longest, -(-longer // tail) - 1)
        found = text.rfind(text[-gram:], max(size - gram - last, 0), size - first) if first <= last else -1
        while found >= 0:
            period = size - gram - found
            if has_period(text[-repetitions * period :], period):
                return period
            found = text.rfind(text[-gram:], max(size - gram - last, 0), found + gram - 1)
    return 0


def has_period(text: str, period: int) -> bool:
    """Whether `text` repeats itself every `period` characters (true of anything not longer than that)."""
    return text[period:] == text[:-period] if period < len(text) else True
