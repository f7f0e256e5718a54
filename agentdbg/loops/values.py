"""
What was asked and what came back, reduced to bytes and to what is worked out from them.

An agent that goes round meets the same few values again and again. Whatever is costly (taking clocks out, splitting
into words) is worked out when first asked for and kept with the value, and `Recall` hands the same object out for an
equal outcome, so a repeated one never pays twice. Nothing of the user's objects is kept but short strings.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import TRUNCATED
from agentdbg.loops.signatures import (
    VOLATILE_KEYS,
    encode,
    encode_plain,
    encode_whole,
    error_text,
    flat_input_key,
    input_key,
    says_it_failed,
    spoken,
)
from agentdbg.loops.similar import shingles, words

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FORGOTTEN",
    "FORGOTTEN_FAILURE",
    "MAX_COMPARED_BYTES",
    "NOTHING_ASKED",
    "Input",
    "Outcome",
    "Recall",
    "Unread",
    "compared_input",
    "unread_call",
    "unread_reply",
    "unread_result",
]

Unread = tuple[bytes, bytes | str] | str
"""What a call asked, as bytes, with its result, as JSON or a text as it stands; or a model's words."""

MAX_COMPARED_BYTES = 4096
"""How much of an input or a result is looked at closely; of what follows only that it is equal."""

_MAX_UNREAD = 2 * MAX_COMPARED_BYTES
_REMEMBERED = 64
_REPLY_WORDS = 48
_BARE_BYTES = 60
_BRIEF_BYTES = 200
_BRIEF_WORDS = 8
_BARE = frozenset({b"null", b"true", b"{}", b"[]", b"ok", b""})
_ACKNOWLEDGING = frozenset(
    b"200 accepted acknowledged added complete completed created deleted done finished noted null ok okay queued "
    b"received removed result saved sent status stored succeeded success successful successfully true updated "
    b"written".split()
)
_NEGATIVE = frozenset(
    b"cannot couldn denied didn doesn empty error exception expired fail failed failure forbidden incorrect "
    b"invalid missing no none not nothing refused rejected timeout unable unauthorized unavailable unexpected "
    b"unknown wrong".split()
)


class Input:
    """What a call asked: its text, and a key that is equal for equal inputs in any writing."""

    __slots__ = ("_words", "key", "text")

    def __init__(self, text: bytes, key: int | None = None) -> None:
        self.text = text
        self.key = key
        self._words: frozenset[bytes] | None = None

    def known_key(self) -> int:
        """The key, worked out from the text if need be."""
        key = self.key
        if key is None:
            key = self.key = input_key(self.text)
        return key

    def words(self) -> frozenset[bytes]:
        """The words of the input."""
        found = self._words
        if found is None:
            found = self._words = frozenset(words(self.text))
        return found


class Outcome:
    """What a call brought: its text, whether that is a failure, and what can be said about it."""

    __slots__ = (
        "_is_bare",
        "_is_brief",
        "_is_negative",
        "_key",
        "_shingles",
        "_words",
        "failed",
        "has_volatile_keys",
        "rest",
        "text",
    )

    def __init__(self, text: bytes, *, failed: bool = False) -> None:
        self.failed = failed
        self.rest = 0
        if len(text) > MAX_COMPARED_BYTES:
            # Equal ends make equal hashes; what differs only there still differs.
            self.rest = hash(text[MAX_COMPARED_BYTES:])
            text = text[:MAX_COMPARED_BYTES]
        self.text = text
        self.has_volatile_keys = True
        """Whether fields that belong to the single call may be among those of the result."""
        self._key: int | None = None
        self._words: frozenset[bytes] | None = None
        self._shingles: tuple[frozenset[bytes], frozenset[bytes]] | None = None
        self._is_bare: bool | None = None
        self._is_brief: bool | None = None
        self._is_negative: bool | None = None

    def key(self) -> int:
        """Equal for results that differ in nothing but ids and clocks."""
        key = self._key
        if key is None:
            stripped = _stripper()(self.text, has_keys=self.has_volatile_keys)
            key = self._key = hash((stripped, self.rest, self.failed))
        return key

    def words(self) -> frozenset[bytes]:
        """The first words of the answer."""
        found = self._words
        if found is None:
            found = self._words = frozenset(words(self.text, _REPLY_WORDS))
        return found

    def shingles(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """The words of the result, and all its runs of three words."""
        found = self._shingles
        if found is None:
            found = self._shingles = shingles(self.text)
        return found

    def is_bare(self) -> bool:
        """Whether the result only acknowledges and tells nothing: null, true, "ok", empty."""
        found = self._is_bare
        if found is None:
            text = self.text
            found = self._is_bare = not (self.failed or len(text) > _BARE_BYTES) and (
                text in _BARE or _ACKNOWLEDGING.issuperset(words(text))
            )
        return found

    def is_brief(self) -> bool:
        """Whether the result is a few words without a "no" among them: to different inputs, an acknowledgement too."""
        found = self._is_brief
        if found is None:
            found = False
            if not (self.failed or self.rest or len(self.text) > _BRIEF_BYTES):
                said = words(self.text)
                found = len(said) <= _BRIEF_WORDS and _NEGATIVE.isdisjoint(said)
            self._is_brief = found
        return found

    def is_negative(self) -> bool:
        """Whether the result is a failure or has a "no" among its first words."""
        found = self._is_negative
        if found is None:
            found = self._is_negative = self.failed or not _NEGATIVE.isdisjoint(self.words())
        return found


NOTHING_ASKED = Input(b"")
FORGOTTEN = Outcome(b"")
FORGOTTEN_FAILURE = Outcome(b"", failed=True)


_Key = TypeVar("_Key", bytes, str)


class Recall:
    """Hands out outcomes, the same one for an equal value among the last few."""

    __slots__ = ("_failures", "_replies", "_results", "_said", "_texts")

    def __init__(self) -> None:
        # Text and encoded values apart: `"[1]"` and `[1]` have the same bytes and are not the same result.
        self._results: dict[bytes, Outcome] = {}
        self._texts: dict[str, Outcome] = {}
        self._replies: dict[str, Outcome] = {}
        self._said: dict[bytes, Outcome] = {}
        self._failures: dict[bytes, Outcome] = {}

    def result(self, payload: dict[str, Any]) -> Outcome:
        """What a tool brought that was called before."""
        error = payload.get("error")
        if error is not None or payload.get("status") == "error":
            return self._failure(error)
        result = payload.get("result")
        if type(result) is str:
            return self.unread(result)
        text = encode_plain(result)
        if text is None:
            return Outcome(encode(result), failed=says_it_failed(result))
        found = self._results.get(text)
        if found is None:
            found = _kept(self._results, text, Outcome(text, failed=says_it_failed(result)))
            if type(result) is dict and VOLATILE_KEYS.isdisjoint(result):
                found.has_volatile_keys = False
        return found

    def unread(self, result: bytes | str) -> Outcome:
        """What a tool brought, a text or JSON, that nobody had asked for until now."""
        if isinstance(result, bytes):
            try:
                return Outcome(result, failed=says_it_failed(decode_json(result)))
            except ValueError:  # nested more deeply than can be read
                return Outcome(result)
        found = self._texts.get(result)
        if found is None:
            found = _kept(self._texts, result, Outcome(encode(result), failed=says_it_failed(result)))
        return found

    def words(self, response: str) -> Outcome:
        """What a model said in plain words."""
        found = self._replies.get(response)
        if found is None:
            found = _kept(self._replies, response, Outcome(encode(response)))
        return found

    def reply(self, payload: dict[str, Any]) -> tuple[Outcome, Input]:
        """What a model said, and the calls it asks for."""
        error = payload.get("error")
        if error is not None or payload.get("status") == "error":
            return self._failure(error), NOTHING_ASKED
        response = payload.get("response")
        if type(response) is str:
            return self.words(response), NOTHING_ASKED
        text, calls = spoken(response)
        found = self._said.get(text)
        if found is None:
            found = _kept(self._said, text, Outcome(text))
        return found, Input(encode(calls)) if calls else NOTHING_ASKED

    def _failure(self, error: Any) -> Outcome:
        text = error_text(error)
        found = self._failures.get(text)
        if found is None:
            found = _kept(self._failures, text, Outcome(text, failed=True))
        return found


@cache
def _stripper() -> Callable[..., bytes]:
    from agentdbg.loops.volatile import strip_volatile  # noqa: PLC0415 -- its expressions take time to compile

    return strip_volatile


def compared_input(arguments: Any) -> tuple[bytes, int]:
    """What a tool was asked that was called before: as bytes, and the key, worked out from the value itself."""
    if type(arguments) is dict:
        try:
            text = encode_json(arguments)
        except (TypeError, ValueError, RecursionError):
            return encode(arguments), input_key(arguments)
        return text, flat_input_key(arguments, text)
    # Like the first call, which is compared as it was encoded: a bare 1 and "1" are the same there.
    text = encode(arguments)
    return text, input_key(text)


def unread_call(payload: dict[str, Any]) -> Unread | None:
    """What a tool asked and got that was not called before; None for what has to be read at once."""
    get = payload.get
    if get("error") is not None or get("status") == "error":
        return None
    result = get("result")
    arguments = get("args")
    try:
        asked = encode_json(arguments) if type(arguments) is dict else encode_whole(arguments)
        if type(result) is not str:
            result = encode_whole(result)
    except (TypeError, ValueError, RecursionError):
        return None
    return (asked, result) if len(asked) + len(result) <= _MAX_UNREAD else None


def unread_result(payload: dict[str, Any]) -> str | None:
    """The text that a tool brought, to be read when it matters; None for what has to be read at once."""
    get = payload.get
    result = get("result")
    if type(result) is not str or len(result) > _MAX_UNREAD or get("error") is not None or get("status") == "error":
        return None
    return result


def unread_reply(payload: dict[str, Any]) -> str | None:
    """
    What a model said in plain words that was not called before; None for what has to be read at once.

    That is also an answer to messages, in which a person may have spoken.
    """
    get = payload.get
    response, prompt = get("response"), get("prompt")
    if type(response) is not str or len(response) > _MAX_UNREAD or get("error") is not None or get("status") == "error":
        return None
    if prompt is not None and (type(prompt) is not str or prompt.endswith(TRUNCATED)):
        return None
    return response


def _kept(memory: dict[_Key, Outcome], key: _Key, value: Outcome) -> Outcome:
    if len(key) <= MAX_COMPARED_BYTES:
        memory[key] = value
        if len(memory) > _REMEMBERED:
            del memory[next(iter(memory))]
    return value
