"""
What a model call used and what it cost, from a small table of published prices. An unknown price is never zero.

The table is dated and meant to be overridden: `prices` in a config file is laid over it, and a `cost_usd` the caller
or the provider gives beats both. Of usage, cached tokens are part of the input and reasoning tokens part of the output;
what is not known stays null, and what the provider gave is kept beside the three counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from agentdbg.events.facts import LARGEST_COUNT_BITS, cached_tokens, token_counts, told_total
from agentdbg.user_code import UserCode

__all__ = ["PRICES", "PRICES_AS_OF", "PriceTable", "normalise_usage"]

PRICES_AS_OF = "2026-06-30"
"""No price of a model that was new in that year is older than this."""

# USD per million tokens: input, cached input, output. A model whose price depends on the length of the prompt is left
# out unless its lower price holds for nearly every prompt: a wrong cost is worse than none.
_PUBLISHED: dict[str, tuple[float, float, float]] = {
    "gpt-5.5": (5.0, 0.5, 30.0),
    "gpt-5.4": (2.5, 0.25, 15.0),
    "gpt-5.4-mini": (0.75, 0.075, 4.5),
    "gpt-5.4-nano": (0.2, 0.02, 1.25),
    "gpt-5.2": (1.75, 0.175, 14.0),
    "gpt-5.1": (1.25, 0.125, 10.0),
    "gpt-5": (1.25, 0.125, 10.0),
    "gpt-5-mini": (0.25, 0.025, 2.0),
    "gpt-5-nano": (0.05, 0.005, 0.4),
    "gpt-4.1": (2.0, 0.5, 8.0),
    "gpt-4.1-mini": (0.4, 0.1, 1.6),
    "gpt-4.1-nano": (0.1, 0.025, 0.4),
    "gpt-4o": (2.5, 1.25, 10.0),
    "gpt-4o-mini": (0.15, 0.075, 0.6),
    "o3": (2.0, 0.5, 8.0),
    "o3-mini": (1.1, 0.55, 4.4),
    "o4-mini": (1.1, 0.275, 4.4),
    "gpt-4-turbo": (10.0, 10.0, 30.0),
    "gpt-4": (30.0, 30.0, 60.0),
    "gpt-3.5-turbo": (0.5, 0.5, 1.5),
    "claude-fable-5-1": (10.0, 0.25, 50.0),
    "claude-opus-5-5": (4.0, 0.2, 20.0),
    "claude-opus-5": (5.0, 0.5, 25.0),
    "claude-opus-4-8": (5.0, 0.5, 25.0),
    "claude-opus-4-7": (5.0, 0.5, 25.0),
    "claude-opus-4-6": (5.0, 0.5, 25.0),
    "claude-opus-4-5": (5.0, 0.5, 25.0),
    "claude-opus-4-1": (15.0, 1.5, 75.0),
    "claude-opus-4": (15.0, 1.5, 75.0),
    "claude-sonnet-5-5": (2.0, 0.2, 10.0),
    "claude-sonnet-5": (2.0, 0.2, 10.0),
    "claude-sonnet-4-6": (3.0, 0.3, 15.0),
    "claude-sonnet-4-5": (3.0, 0.3, 15.0),
    "claude-sonnet-4": (3.0, 0.3, 15.0),
    "claude-haiku-4-5": (1.0, 0.1, 5.0),
    "claude-3-7-sonnet": (3.0, 0.3, 15.0),
    "claude-3-5-sonnet": (3.0, 0.3, 15.0),
    "claude-3-5-haiku": (0.8, 0.08, 4.0),
    "claude-3-opus": (15.0, 1.5, 75.0),
    "claude-3-haiku": (0.25, 0.03, 1.25),
    "gemini-2.5-pro": (1.25, 0.31, 10.0),
    "gemini-2.5-flash": (0.3, 0.075, 2.5),
    "gemini-2.0-flash": (0.1, 0.025, 0.4),
}
PRICES: dict[str, dict[str, float]] = {
    model: {"input": prompt, "cached_input": cached, "output": completion}
    for model, (prompt, cached, completion) in _PUBLISHED.items()
}

_BEDROCK = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|amazon|meta|mistral|cohere|openai)\.(.+?)(?:-v\d+)?(?::\d+)?$")
_PARTS = 10**12
"""A dollar in the smallest parts that are told apart; the price of a token is then still a small number."""


class PriceTable:
    """The shipped prices with a user's own laid over them."""

    def __init__(self, own: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self._prices: dict[str, Mapping[str, float]] = {**PRICES, **(own or {})}
        self._known: dict[str, tuple[int, int, int] | None] = {}

    def measured(self, model: str, given: Any) -> tuple[dict[str, Any] | None, float | None]:
        """A usage in its one form, and what the call cost; None for what is not known."""
        # Nearly every model call passes here with the three counts and nothing else: `given` itself is that form then.
        if type(given) is dict and len(given) == 3:
            try:
                prompt, completion, total = given["prompt_tokens"], given["completion_tokens"], given["total_tokens"]
                price = self._known[model]
            except KeyError:  # other counts, or the first call of the model
                prompt = None
            are_whole = type(prompt) is int and type(completion) is int and type(total) is int
            # None is negative or too large, and no total of 0 stands beside parts that are more.
            if (
                are_whole
                and (total or not prompt | completion)
                and not ((prompt | completion | total) >> LARGEST_COUNT_BITS)
            ):
                return given, None if price is None else (prompt * price[0] + completion * price[2]) / _PARTS
        usage = normalise_usage(given)
        return usage, self.cost_usd(model, usage)

    def cost_usd(self, model: str, usage: Mapping[str, Any] | None) -> float | None:
        """What the call cost, or None when the model's price or the usage is not known."""
        try:
            price = self._known[model]
        except KeyError:
            price = self._find(model)
        if price is None or not usage:
            return None
        try:
            prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
        except KeyError:
            return None
        if type(prompt) is not int or type(completion) is not int:
            return None
        cached = min(cached_tokens(usage) or 0, prompt)
        return ((prompt - cached) * price[0] + cached * price[1] + completion * price[2]) / _PARTS

    def _find(self, model: str) -> tuple[int, int, int] | None:
        """
        The price of `openai/gpt-4o-2024-08-06` is that of `gpt-4o`: without the provider, then without the date.

        Some write `claude-opus-4.5` for `claude-opus-4-5`. Bedrock has a region and a maker before the name and a
        version after it (`us.anthropic.claude-sonnet-4-20250514-v1:0`), Vertex an `@` before the date.
        """
        name = _BEDROCK.sub(r"\1", model.rpartition("/")[2]).replace("@", "-")
        dashed = name.replace(".", "-")
        forms = (model, name, _undated(name), dashed, _undated(dashed))
        found = next((self._prices[form] for form in forms if self._prices.get(form)), None)
        price = None if found is None else _in_parts(found)
        if len(self._known) < 1000:
            self._known[model] = price
        return price


def _in_parts(price: Mapping[str, float]) -> tuple[int, int, int]:
    """Input, cached input and output in whole parts of a dollar for a token: sums are exact, and nothing to round."""
    paid = (price["input"], price.get("cached_input", price["input"]), price["output"])
    prompt, cached, completion = (round(per_million * _PARTS / 1_000_000) for per_million in paid)
    return prompt, cached, completion


def _undated(name: str) -> str:
    """`claude-sonnet-4-20250514` and `gpt-4o-2024-08-06` without their date, `…-latest` without that word."""
    parts = name.split("-")
    lengths = [len(part) if part.isdigit() else 0 for part in parts[1:]]
    if lengths[-3:] == [4, 2, 2]:
        return "-".join(parts[:-3])
    if parts[-1] == "latest" or lengths[-1:] in ([4], [8]):
        return "-".join(parts[:-1])
    return name


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
