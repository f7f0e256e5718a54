"""How many tokens a model call took, out of a usage in any provider's words."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentdbg.interop.shapes import as_dict

__all__ = ["Tokens", "read_tokens"]

_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_LARGEST = 2**63 - 1


class Tokens(NamedTuple):
    """Counts, None where nobody said. Cached tokens are part of the input, reasoning is part of the output."""

    input: int | None = None
    output: int | None = None
    total: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


def read_tokens(usage: Any) -> Tokens:
    """The counts of a stored usage."""
    if not isinstance(usage, dict):
        return Tokens()
    details = {key: value for name in _INPUT_DETAILS for key, value in as_dict(usage.get(name)).items()}
    spent = {key: value for name in _OUTPUT_DETAILS for key, value in as_dict(usage.get(name)).items()}
    return Tokens(
        input=_count(usage, "prompt_tokens"),
        output=_count(usage, "completion_tokens"),
        total=_count(usage, "total_tokens"),
        cache_read=_first(
            _count(details, "cached_tokens", "cache_read", "cache_read_tokens"),
            _count(usage, "cache_read_input_tokens", "cached_content_token_count"),
        ),
        cache_write=_first(
            _count(details, "cache_write_tokens", "cache_creation"), _count(usage, "cache_creation_input_tokens")
        ),
        reasoning=_first(_count(spent, "reasoning_tokens", "reasoning"), _count(usage, "thoughts_token_count")),
    )


def _count(counts: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = counts.get(name)
        if type(value) is int and 0 <= value <= _LARGEST:
            return value
    return None


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
