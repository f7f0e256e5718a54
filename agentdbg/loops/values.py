"""
What was asked and what came back, reduced to bytes and to what is worked out from them.

An agent that goes round meets the same few values again and again. Whatever is costly (taking clocks out, splitting
into words) is worked out when first asked for and kept with the value, and `Recall` hands the same object out for an
equal outcome, so a repeated one never pays twice. Nothing of the user's objects is kept but short strings.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.faults import pass_on
from agentdbg.loops import volatile
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
from agentdbg.loops.similar import first_words, runs, words

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
    "is_lasting",
    "reply_words",
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
_SHORT = 256
"""Longer texts are looked up by their length and then compared: that is quicker than to hash them."""
_FIRST_WORDS = 48
_TELLTALES = b"0123456789-<{"
"""What is volatile has a digit or, if it is a UUID, a hyphen; the others are for a field and for what was taken out."""
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


class Input:
    """What a call asked: its text, and a key that is equal for equal inputs in any writing."""

    __slots__ = ("_words", "key", "text", "words_end")

    def __init__(self, text: bytes, key: int | None = None) -> None:
        self.text = text
        self.key = key
        self._words: frozenset[bytes] | None = None
        self.words_end = 0
        """In how many bytes the words were found; 0 while they are not known."""

    def known_key(self) -> int:
        """The key, worked out from the text if need be."""
        key = self.key
        if key is None:
            key = self.key = input_key(self.text)
        return key

    def words(self, like: Input | None = None) -> frozenset[bytes]:
        """The words of the input; the very same as those of one that it is `like` if both begin the same."""
        found = self._words
        if found is None:
            if like is not None and like.words_end < len(like.text) and like.words_end:
                end = like.words_end
                if self.text.startswith(like.text[:end]):
                    found, self.words_end = like.words(), end
            if found is None:
                sequence, self.words_end = first_words(self.text)
                found = frozenset(sequence)
            self._words = found
        return found


class Outcome:
    """What a call brought: its text, whether that is a failure, and what can be said about it."""

    __slots__ = (
        "_is_bare",
        "_is_brief",
        "_is_negative",
        "_key",
        "_more_words",
        "_runs",
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
        self._more_words: frozenset[bytes] | None = None
        self._runs: frozenset[bytes] | None = None
        self._is_bare: bool | None = None
        self._is_brief: bool | None = None
        self._is_negative: bool | None = None

    def key(self) -> int:
        """Equal for results that differ in nothing but ids and clocks."""
        key = self._key
        if key is None:
            stripped = volatile.strip_volatile(self.text, self.has_volatile_keys)
            key = self._key = hash((stripped, self.rest, self.failed))
        return key

    def more_words(self) -> frozenset[bytes]:
        """The words of the result."""
        found = self._more_words
        if found is None:
            found = self._more_words = frozenset(words(self.text))
        return found

    def runs(self) -> frozenset[bytes]:
        """All runs of three words of the result."""
        found = self._runs
        if found is None:
            found = self._runs = runs(self.text)
        return found

    def beginning(self) -> bytes:
        """How every equal result begins; empty when that cannot be told without looking for ids and clocks."""
        return b"" if self.text.startswith(b"{") else volatile.lasting_beginning(self.text)

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
                if not _NEGATIVE.isdisjoint(said):
                    said = words(_all_well().sub(b"", self.text))
                most = _BRIEF_WORDS if _SUCCESS.isdisjoint(said) else _ACKNOWLEDGING_WORDS
                found = len(said) <= most and _NEGATIVE.isdisjoint(said)
            self._is_brief = found
        return found

    def is_negative(self) -> bool:
        """Whether the result is a failure or has a "no" among its first words."""
        found = self._is_negative
        if found is None:
            found = self.failed
            if not found and not _NEGATIVE.isdisjoint(words(self.text, _FIRST_WORDS)):
                found = not _NEGATIVE.isdisjoint(words(_all_well().sub(b"", self.text), _FIRST_WORDS))
            self._is_negative = found
        return found


@cache
def _all_well() -> re.Pattern[bytes]:
    """What has a "no" in it and means yes, as checkers, shells and web servers say it."""
    kinds = rb"issues?|errors?|problems?|warnings?|failures?|failed|conflicts?|vulnerabilit(?:y|ies)"
    silence = (
        rb"\b(?:no|without|empty) (?:any )?(?:output|stdout|return value)\b"
        rb"|\b(?:did|does|has|have)(?: not|n't) (?:produce|return|print|generate)d? (?:any )?(?:output|value)\b"
        rb"|\b204 no content\b"
    )
    names = rb"""["'](?:%b|exception|stderr|missing|denied|rejected|unknown)["']""" % kinds
    fields = rb"""%b: ?(?:null|none|false|0|""|''|\[\]|\{\})""" % names
    well = rb"\b(?:no|0|zero|without) (?:known |new )?(?:%b)\b|\bnothing to commit\b" % kinds
    return re.compile(rb"%b|%b|%b" % (well, silence, fields), re.IGNORECASE)


NOTHING_ASKED = Input(b"")
FORGOTTEN = Outcome(b"")
FORGOTTEN_FAILURE = Outcome(b"", failed=True)


class _Memory:
    """The last outcomes by their text."""

    __slots__ = ("_outcomes",)

    def __init__(self) -> None:
        self._outcomes: dict[bytes | int, Outcome] = {}

    def find(self, text: bytes) -> Outcome | None:
        """The outcome with that text, if it is remembered."""
        size = len(text)
        found = self._outcomes.get(text if size <= _SHORT else size)
        return found if found is not None and (size <= _SHORT or found.text == text) else None

    def keep(self, text: bytes, outcome: Outcome) -> Outcome:
        """Remember it, unless it is too long to be looked at as a whole."""
        size, outcomes = len(text), self._outcomes
        if size <= MAX_COMPARED_BYTES:
            outcomes[text if size <= _SHORT else size] = outcome
            if len(outcomes) > _REMEMBERED:
                del outcomes[next(iter(outcomes))]
        return outcome


class Recall:
    """Hands out outcomes, the same one for an equal value among the last few."""

    __slots__ = ("_failures", "_replies", "_results", "_texts")

    def __init__(self) -> None:
        # Text and encoded values apart: `"[1]"` and `[1]` have the same bytes and are not the same result.
        self._results = _Memory()
        self._texts = _Memory()
        self._replies = _Memory()
        self._failures = _Memory()

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
        found = self._results.find(text)
        if found is None:
            found = self._results.keep(text, Outcome(text, failed=says_it_failed(result)))
            if type(result) is dict and VOLATILE_KEYS.isdisjoint(result):
                found.has_volatile_keys = False
        return found

    def unread(self, result: bytes | str) -> Outcome:
        """What a tool brought, a text or JSON, that nobody had asked for until now."""
        if isinstance(result, bytes):
            try:
                return Outcome(result, failed=says_it_failed(decode_json(result)))
            except ValueError as error:  # nested more deeply than can be read
                pass_on(error)
                return Outcome(result)
        text = encode(result)
        return self._texts.find(text) or self._texts.keep(text, Outcome(text, failed=says_it_failed(result)))

    def words(self, response: str) -> Outcome:
        """What a model said in plain words."""
        return self._reply(encode(response))

    def reply(self, payload: dict[str, Any]) -> tuple[Outcome, Input]:
        """What a model said, and the calls it asks for."""
        error = payload.get("error")
        if error is not None or payload.get("status") == "error":
            return self._failure(error), NOTHING_ASKED
        response = payload.get("response")
        if type(response) is str:
            return self.words(response), NOTHING_ASKED
        text, calls = spoken(response)
        return self._reply(text), Input(encode(calls)) if calls else NOTHING_ASKED

    def _reply(self, text: bytes) -> Outcome:
        return self._replies.find(text) or self._replies.keep(text, Outcome(text))

    def _failure(self, error: Any) -> Outcome:
        text = error_text(error)
        return self._failures.find(text) or self._failures.keep(text, Outcome(text, failed=True))


def compared_input(arguments: Any, before: Input | None) -> Input:
    """
    What a tool was asked that was called before, with the key worked out from the value itself.

    `before` is what an earlier call asked, which is given again when nothing has changed.
    """
    if type(arguments) is dict:
        try:
            text = encode_json(arguments)
        except (TypeError, ValueError, RecursionError) as error:
            pass_on(error)
            return Input(encode(arguments), input_key(arguments))
        if before is not None and before.text == text:
            return before
        return Input(text, flat_input_key(arguments, text))
    # Like the first call, which is compared as it was encoded: a bare 1 and "1" are the same there.
    text = encode(arguments)
    return Input(text, input_key(text))


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
    except (TypeError, ValueError, RecursionError) as error:
        pass_on(error)
        return None
    return (asked, result) if len(asked) + len(result) <= _MAX_UNREAD else None


def unread_result(payload: dict[str, Any], is_new_input: bool) -> bytes | str | None:
    """
    What a tool brought, a text or JSON, to be read when it matters; None for what has to be read at once.

    That is a failure, what is long, and what came of an input that was asked before: it is compared now, and an object
    that is compared again and again is worth making.
    """
    get = payload.get
    result = get("result")
    is_text = type(result) is str
    if not (is_text or is_new_input) or get("error") is not None or get("status") == "error":
        return None
    if not is_text:
        result = encode_plain(result)
    return None if result is None or len(result) > _MAX_UNREAD else result


def unread_reply(payload: dict[str, Any]) -> str | None:
    """What a model said in plain words, to be read when it matters; None for what has to be read at once."""
    get = payload.get
    response = get("response")
    if type(response) is not str or len(response) > _MAX_UNREAD or get("error") is not None or get("status") == "error":
        return None
    return response


def is_lasting(text: bytes) -> bool:
    """Whether an answer can equal no other that has other words, whatever ids and clocks that has."""
    size = len(text)
    if size > MAX_COMPARED_BYTES:
        return False
    return len(text.translate(None, _TELLTALES)) == size or volatile.is_lasting(text)


def reply_words(text: bytes) -> frozenset[bytes]:
    """The first words of an answer."""
    return frozenset(first_words(text[:MAX_COMPARED_BYTES], _FIRST_WORDS)[0])
