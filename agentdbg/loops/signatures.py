"""
Read out of an event what the loop rules compare: what was asked, what came back, whether that is a failure.

Values become short bytes, text as it stands. `input_key` is the same for equal inputs in whatever writing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = [
    "CALL_KEYS",
    "VOLATILE_KEYS",
    "encode",
    "encode_plain",
    "encode_whole",
    "error_text",
    "flat_input_key",
    "input_key",
    "says_it_failed",
    "spoken",
]

VOLATILE_KEYS = frozenset(
    {
        "call_id",
        "correlation_id",
        "created",
        "created_at",
        "duration_ms",
        "elapsed_ms",
        "idempotency_key",
        "latency_ms",
        "nonce",
        "request_id",
        "response_id",
        "span_id",
        "timestamp",
        "took",
        "took_ms",
        "tool_call_id",
        "tool_use_id",
        "trace_id",
        "ts",
    }
)
"""Keys whose value belongs to the single call and not to what came back."""

CALL_KEYS = frozenset({"idempotency_key", "nonce", "tool_call_id", "tool_use_id"})
"""The same for what was asked, where a time or the id of something may be what the call is about."""

_DEEPEST = 12
_FAILURE_OPENINGS = ("error", "traceback (most", "exception", "failed", "failure", "fatal:", "fatal error")
_FAILURE_KEYS = frozenset({"error", "success", "isError", "is_error", "status"})
_FAILURE_INITIALS = frozenset("EeTtFf \n")


def encode(value: Any) -> bytes:
    """The value as bytes, text as it stands."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            return value.encode(errors="replace")
    text = encode_plain(value)
    return type(value).__name__.encode() if text is None else text


def encode_plain(value: Any) -> bytes | None:
    """The value as JSON; None for what is not plain JSON."""
    try:
        return encode_json(value) if type(value) is dict else encode_whole(value)
    except (TypeError, ValueError, RecursionError) as error:
        pass_on(error)
        return None


def encode_whole(value: Any) -> bytes:
    """The value as bytes like `encode` makes them; raises for what is not plain JSON."""
    if type(value) is str:
        return value.encode()
    return encode_json(value)


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


def flat_input_key(value: dict[str, Any], encoded: bytes) -> int:
    """`input_key` of a dict with a known encoded form: nearly all are flat, which shows without a look inside."""
    if encoded.rfind(b"{") == 0 and encoded.find(b"[") < 0 and CALL_KEYS.isdisjoint(value):
        items = value.items()
        try:
            return hash(tuple(sorted(items) if len(items) > 1 else items))
        except TypeError as error:  # keys of several types
            pass_on(error)
    return input_key(value)


def _frozen(value: Any, depth: int) -> Hashable:
    if isinstance(value, str):
        return _frozen_text(value, depth) if value.startswith(("{", "[")) else value
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return _frozen_dict(value, depth)
    if isinstance(value, (list, tuple)):
        return tuple([_frozen(item, depth + 1) for item in value])
    return value if isinstance(value, (int, float)) else None


def _frozen_dict(value: dict[Any, Any], depth: int) -> Hashable:
    try:
        keys = sorted(value)
    except TypeError as error:  # keys of several types
        pass_on(error)
        keys = sorted(value, key=str)
    inner = depth + 1
    frozen = []
    for key in keys:
        if key not in CALL_KEYS:
            item = value[key]
            # Most values are numbers, which need no look inside.
            plain = type(item) is int and inner <= _DEEPEST
            frozen.append((key, item if plain else _frozen(item, inner)))
    return tuple(frozen)


def _frozen_text(text: str, depth: int) -> Hashable:
    """Models write a call's arguments as JSON inside a string, with spaces and key order as they please."""
    try:
        return _frozen(decode_json(text), depth + 1) if depth < _DEEPEST else text
    except (TypeError, ValueError, RecursionError) as error:
        pass_on(error)
        return text


def error_text(error: Any) -> bytes:
    """What a failed call said."""
    if isinstance(error, dict):
        return f"{error.get('error_type') or error.get('type')}: {error.get('message')}".encode(errors="replace")
    return encode(error)


def says_it_failed(result: Any) -> bool:
    """Whether a call that returned normally returned a failure, as tools for models do."""
    if isinstance(result, str):
        return result[:1] in _FAILURE_INITIALS and result[:24].lstrip().lower().startswith(_FAILURE_OPENINGS)
    if isinstance(result, dict) and not _FAILURE_KEYS.isdisjoint(result):
        return bool(
            result.get("error")
            or result.get("success") is False
            or result.get("isError") is True
            or result.get("is_error") is True
            or result.get("status") in ("error", "failed")
        )
    return False


def spoken(response: Any) -> tuple[bytes, Any]:
    """The words of a model's answer, and the calls it asks for without their ids."""
    if isinstance(response, str):
        return encode(response), None
    if isinstance(response, list):
        response = {"content": response}
    if not isinstance(response, dict):
        return encode(response), None
    message = response
    choices = response.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message") or choices[0]
        if not isinstance(message, dict):
            return encode(message), None
    if "content" not in message and "tool_calls" not in message:
        text = message.get("text")
        return (encode(text), None) if isinstance(text, str) else (_plain(message), None)
    asked = message.get("tool_calls")
    calls = [_asked(call) for call in asked if isinstance(call, dict)] if isinstance(asked, list) else []
    content = message.get("content")
    if isinstance(content, list):
        calls += [_asked(part) for part in content if isinstance(part, dict) and part.get("type") == "tool_use"]
        content = "\n".join(
            str(part.get("text") or "") if isinstance(part, dict) else str(part)
            for part in content
            if not (isinstance(part, dict) and part.get("type") == "tool_use")
        )
    text = content if isinstance(content, str) else "" if content is None else encode(content).decode()
    return encode(text), calls


def _asked(call: dict[str, Any]) -> list[Any]:
    function = call.get("function")
    source = function if isinstance(function, dict) else call
    return [source.get("name"), source.get("arguments", source.get("args", source.get("input")))]


def _plain(message: dict[str, Any]) -> bytes:
    return encode({key: value for key, value in message.items() if key not in VOLATILE_KEYS and key != "id"})
