"""
Reduce one event to what the loop rules compare.

`Step` is that reduction: the name the documents' rule looks at, what was asked and what came back as short bytes, and
hashes of both that are worked out only when a call of that name recurs. Nothing of the user's objects is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.encoding import decode_json, encode_json
from agentdbg.loops.similar import words, words_of
from agentdbg.loops.volatile import VOLATILE_KEYS, strip_volatile

if TYPE_CHECKING:
    from collections.abc import Hashable

    from agentdbg.events import Event

__all__ = ["MAX_COMPARED_BYTES", "NOTHING_SPENT", "Spent", "Step", "input_key"]

MAX_COMPARED_BYTES = 4096
"""How much of an input or a result is looked at closely; of what follows only that it is equal."""

_MAX_ITEMS = 200
_DEEPEST = 12
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
_FAILURE_OPENINGS = ("error", "traceback (most", "exception", "failed", "failure", "fatal:", "fatal error")
_FAILURE_INITIALS = frozenset("EeTtFf \n")


class Spent(NamedTuple):
    """What a run has used up to some point."""

    llm_calls: int
    tokens: int
    cost_usd: float | None


NOTHING_SPENT = Spent(0, 0, None)


class Step:
    """One counted event as the detector remembers it."""

    # Defaults live on the class: a step that nothing is compared with costs half as much to make that way.
    # Where it stands on the tape.
    name = exact = ""
    recurs = False
    is_new = True
    previous: Step | None = None
    streak = near = 1
    # What it asked and got.
    arguments = outcome = b""
    rest = 0
    failed = polling = forgotten = False
    _arguments_key: int | None = None
    _outcome_key: int | None = None
    _arguments_words: frozenset[bytes] | None = None
    _outcome_words: frozenset[bytes] | None = None
    # How far the run had come.
    turn = call_number = 0
    spent = NOTHING_SPENT

    def __init__(self, event: Event, number: int, kind: str, signature: str) -> None:
        self.number = number
        self.kind = kind
        self.signature = signature
        self.event_id = event["event_id"]
        self.ts = event["ts"]

    def read_tool_call(self, payload: dict[str, Any], *, compare: bool) -> None:
        """Take what was asked and what came back from a TOOL_CALL; `compare` when its tool was called before."""
        arguments = payload.get("args")
        self.arguments = _encode(arguments)
        if compare:
            self._arguments_key = input_key(arguments)
        error = payload.get("error")
        if error is not None or payload.get("status") == "error":
            self.failed = True
            outcome = _error_text(error)
        else:
            result = payload.get("result")
            outcome = _encode(result)
            self.failed = _says_it_failed(result)
        if len(outcome) > MAX_COMPARED_BYTES:
            outcome = self._cut(outcome)
        self.outcome = outcome

    def read_model_call(self, payload: dict[str, Any]) -> None:
        """Take the answer of an LLM_CALL: its words as the outcome, the calls it asks for as the arguments."""
        error = payload.get("error")
        if error is not None or payload.get("status") == "error":
            self.failed = True
            outcome = _error_text(error)
        else:
            outcome, calls = _spoken(payload.get("response"))
            if calls:
                self.arguments = _encode(calls)
        if len(outcome) > MAX_COMPARED_BYTES:
            outcome = self._cut(outcome)
        self.outcome = outcome

    def _cut(self, outcome: bytes) -> bytes:
        # Equal ends make equal hashes; what differs only there still differs.
        self.rest = hash(outcome[MAX_COMPARED_BYTES:])
        return outcome[:MAX_COMPARED_BYTES]

    @property
    def arguments_key(self) -> int:
        """Equal for equal inputs, whatever the order of their keys and whatever ids of the single call they carry."""
        key = self._arguments_key
        if key is None:
            key = self._arguments_key = input_key(self.arguments)
        return key

    @property
    def content_key(self) -> tuple[str, int, int]:
        """Equal for two calls of one name that asked and got the same."""
        return (self.signature, self.arguments_key, self.outcome_key)

    @property
    def has_arguments_key(self) -> bool:
        """Whether the input was compared with anything yet."""
        return self._arguments_key is not None

    @property
    def has_outcome_key(self) -> bool:
        """Whether the result was compared with anything yet."""
        return self._outcome_key is not None

    @property
    def outcome_key(self) -> int:
        """Equal for results that differ in nothing but ids and clocks."""
        key = self._outcome_key
        if key is None:
            key = self._outcome_key = hash((strip_volatile(self.outcome), self.rest, self.failed))
        return key

    @property
    def arguments_words(self) -> frozenset[bytes]:
        """The words of the input."""
        found = self._arguments_words
        if found is None:
            found = self._arguments_words = words_of(self.arguments)
        return found

    @property
    def outcome_words(self) -> frozenset[bytes]:
        """The words of the result or answer."""
        found = self._outcome_words
        if found is None:
            found = self._outcome_words = words_of(self.outcome, _REPLY_WORDS)
        return found

    @property
    def is_bare(self) -> bool:
        """Whether the result only acknowledges and tells nothing: null, true, "ok", empty."""
        if self.failed or len(self.outcome) > _BARE_BYTES:
            return False
        return self.outcome in _BARE or _ACKNOWLEDGING.issuperset(words(self.outcome))

    @property
    def is_brief(self) -> bool:
        """Whether the result is a few words without a "no" among them: to different inputs, an acknowledgement too."""
        if self.failed or self.rest or len(self.outcome) > _BRIEF_BYTES:
            return False
        said = words(self.outcome)
        return len(said) <= _BRIEF_WORDS and _NEGATIVE.isdisjoint(said)

    @property
    def is_negative(self) -> bool:
        """Whether the result is a failure or has a "no" among its first words."""
        return self.failed or not _NEGATIVE.isdisjoint(words(self.outcome, _REPLY_WORDS))

    def forget_text(self) -> None:
        """Let go of the bytes; what was worked out from them stays."""
        self.arguments = self.outcome = b""
        self.forgotten = True
        self._arguments_words = self._outcome_words = None


def _encode(value: Any) -> bytes:
    """The value as bytes, text as it stands."""
    if value is None:
        return b"null"
    if isinstance(value, str):
        return _bytes(value)
    if isinstance(value, list) and len(value) > _MAX_ITEMS:
        value = [*value[:_MAX_ITEMS], len(value)]
    try:
        return encode_json(value)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__.encode()


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace")


def input_key(value: Any) -> int:
    """
    A hash of an input: the same whatever the order of its keys, without the ids of the single call.

    Takes the input itself, or its encoded form.
    """
    if isinstance(value, bytes):
        if not value.startswith((b"{", b"[")):
            return hash(value.decode(errors="replace")) if value != b"null" else hash(None)
        value = value.decode(errors="replace")
    return hash(_frozen(value, 0))


def _frozen(value: Any, depth: int) -> Hashable:
    if isinstance(value, str):
        return _frozen_text(value, depth) if value.startswith(("{", "[")) else value
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return tuple(
            [(key, _frozen(value[key], depth + 1)) for key in sorted(value, key=str) if key not in VOLATILE_KEYS]
        )
    if isinstance(value, (list, tuple)):
        return tuple([_frozen(item, depth + 1) for item in value[:_MAX_ITEMS]])
    return value if isinstance(value, (int, float)) else None


def _frozen_text(text: str, depth: int) -> Hashable:
    """Models write a call's arguments as JSON inside a string, with spaces and key order as they please."""
    try:
        return _frozen(decode_json(text), depth + 1) if depth < _DEEPEST else text
    except (TypeError, ValueError, RecursionError):
        return text


def _error_text(error: Any) -> bytes:
    if isinstance(error, dict):
        return f"{error.get('error_type') or error.get('type')}: {error.get('message')}".encode(errors="replace")
    return _encode(error)


def _says_it_failed(result: Any) -> bool:
    """Whether a call that returned normally returned a failure, as tools for models do."""
    if isinstance(result, str):
        return result[:1] in _FAILURE_INITIALS and result[:24].lstrip().lower().startswith(_FAILURE_OPENINGS)
    if isinstance(result, dict):
        return bool(
            result.get("error")
            or result.get("success") is False
            or result.get("isError") is True
            or result.get("is_error") is True
            or result.get("status") in ("error", "failed")
        )
    return False


def _spoken(response: Any) -> tuple[bytes, Any]:
    """The words of a model's answer, and the calls it asks for without their ids."""
    if isinstance(response, str):
        return _bytes(response), None
    if isinstance(response, list):
        response = {"content": response}
    if not isinstance(response, dict):
        return _encode(response), None
    message = response
    choices = response.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message") or choices[0]
        if not isinstance(message, dict):
            return _encode(message), None
    if "content" not in message and "tool_calls" not in message:
        text = message.get("text")
        return (_bytes(text), None) if isinstance(text, str) else (_plain(message), None)
    calls = [_asked(call) for call in message.get("tool_calls") or () if isinstance(call, dict)]
    content = message.get("content")
    if isinstance(content, list):
        calls += [_asked(part) for part in content if isinstance(part, dict) and part.get("type") == "tool_use"]
        content = "\n".join(
            str(part.get("text") or "") if isinstance(part, dict) else str(part)
            for part in content
            if not (isinstance(part, dict) and part.get("type") == "tool_use")
        )
    text = content if isinstance(content, str) else "" if content is None else _encode(content).decode()
    return _bytes(text), calls


def _asked(call: dict[str, Any]) -> list[Any]:
    function = call.get("function")
    source = function if isinstance(function, dict) else call
    return [source.get("name"), source.get("arguments", source.get("args", source.get("input")))]


def _plain(message: dict[str, Any]) -> bytes:
    return _encode({key: value for key, value in message.items() if key not in VOLATILE_KEYS and key != "id"})
