"""
Token usage as every provider reports it, brought to one form.

Cached tokens are part of the input, reasoning tokens part of the output; what is not known stays null, never 0.
What the provider gave is kept beside the three normalised counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from agentdbg.user_code import UserCode

__all__ = ["LARGEST_COUNT_BITS", "cached_tokens", "normalise_usage"]

_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count", "promptTokenCount", "inputTokens", "prompt_eval_count")
_OUTPUT = (
    "completion_tokens",
    "output_tokens",
    "candidates_token_count",
    "candidatesTokenCount",
    "outputTokens",
    "eval_count",
)
_TOTAL = ("total_tokens", "total_token_count", "totalTokenCount", "totalTokens")
# Anthropic counts these beside input_tokens, not inside it.
_BESIDE_INPUT = ("cache_read_input_tokens", "cache_creation_input_tokens")
# Gemini counts thinking beside the answer.
_BESIDE_OUTPUT = ("thoughts_token_count", "thoughtsTokenCount")
LARGEST_COUNT_BITS = 53
_LARGEST = 2**LARGEST_COUNT_BITS - 1  # nobody counts further, and beyond it numbers are not exact for every reader
_PLAIN = {"prompt_tokens", "completion_tokens", "total_tokens"}
_TEXT = frozenset({str})
_MOST_ENTRIES = 1_000


def normalise_usage(given: Any) -> dict[str, Any] | None:
    """`{prompt_tokens, completion_tokens, total_tokens, …}`, or None when nothing is known."""
    if given is None:
        return None
    usage = _read_usage(given)
    if not usage:
        return None
    prompt = _count(usage, _INPUT)
    completion = _count(usage, _OUTPUT)
    total = _count(usage, _TOTAL)
    if "prompt_tokens" not in usage:
        prompt = _with_extra(prompt, usage, _BESIDE_INPUT)
    if "completion_tokens" not in usage:
        completion = _with_extra(completion, usage, _BESIDE_OUTPUT)
    if total is None and prompt is not None and completion is not None:
        total = prompt + completion
    rest = {key: value for key, value in usage.items() if key not in _PLAIN and value is not None}
    if prompt is completion is total is None and not rest:
        return None
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **rest}


def cached_tokens(usage: Mapping[str, Any]) -> int:
    """How many of the input tokens came from a cache, as far as the provider said."""
    for details in ("prompt_tokens_details", "input_tokens_details"):
        if details in usage:
            found = usage[details]
            if isinstance(found, dict) and type(found.get("cached_tokens")) is int:
                return max(0, int(found["cached_tokens"]))
    for key in ("cache_read_input_tokens", "cached_content_token_count", "cachedContentTokenCount"):
        if key in usage and type(usage[key]) is int:
            return max(0, int(usage[key]))
    return 0


def _read_usage(given: Any) -> dict[str, Any]:
    """What a provider said of usage, of whatever type; empty when its object fails."""
    if type(given) is dict and _TEXT.issuperset(map(type, given)):
        return given
    # The provider's object may raise anything, and has no end if it likes.
    read = UserCode().call(given, _as_dict, dict)
    return read if isinstance(read, dict) else {}


def _as_dict(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {str(key): given[key] for key in islice(given.keys(), _MOST_ENTRIES)}
    for method in ("model_dump", "to_dict", "dict"):
        if callable(getattr(given, method, None)):
            dumped = getattr(given, method)()
            if isinstance(dumped, dict):
                return dumped
    attributes = getattr(given, "__dict__", None)
    if isinstance(attributes, dict):
        return {key: value for key, value in attributes.items() if not key.startswith("_")}
    return {}


def _count(usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in usage:
            number = _whole(usage[name])
            if number is not None:
                return number
    return None


def _with_extra(count: int | None, usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    if count is not None:
        for name in names:
            if name in usage:
                count += _whole(usage[name]) or 0
    return count


def _whole(value: Any) -> int | None:
    if type(value) is int:
        return None if value >> LARGEST_COUNT_BITS else value  # negative or too large
    if type(value) is float and value.is_integer() and 0 <= value <= _LARGEST:
        return int(value)
    if type(value) is str and value.isdigit() and len(value) < 16:
        return int(value)
    return None
