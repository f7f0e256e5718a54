"""How many tokens a model call took, out of a usage in any provider's words."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentdbg.events.facts import cached_tokens, token_counts, whole_number
from agentdbg.interop.shapes import as_dict

__all__ = ["Tokens", "read_tokens"]

_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")


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
    counted = token_counts(usage)
    details = {key: value for name in _INPUT_DETAILS for key, value in as_dict(usage.get(name)).items()}
    spent = {key: value for name in _OUTPUT_DETAILS for key, value in as_dict(usage.get(name)).items()}
    return Tokens(
        input=counted.given,
        output=counted.written,
        total=counted.total,
        cache_read=cached_tokens(usage),
        cache_write=_first(
            _count(details, "cache_write_tokens", "cache_creation"), _count(usage, "cache_creation_input_tokens")
        ),
        reasoning=_first(_count(spent, "reasoning_tokens", "reasoning"), _count(usage, "thoughts_token_count")),
    )


def _count(counts: dict[str, Any], *names: str) -> int | None:
    for name in names:
        if (count := whole_number(counts.get(name))) is not None:
            return count
    return None


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
