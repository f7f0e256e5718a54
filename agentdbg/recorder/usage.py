"""
Token usage as every provider reports it, brought to one form.

Cached tokens are part of the input, reasoning tokens part of the output; what is not known stays null, never 0.
What the provider gave is kept beside the three normalised counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from agentdbg.events.facts import token_counts, told_total
from agentdbg.user_code import UserCode

__all__ = ["normalise_usage"]

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
    prompt, completion, total = token_counts(usage)
    if prompt is None or completion is None:
        total = told_total(usage)  # one part is not all
    rest = {key: value for key, value in usage.items() if key not in _PLAIN and value is not None}
    if prompt is completion is total is None and not rest:
        return None
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **rest}


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
