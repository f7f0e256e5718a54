"""
What a model call used and what it cost, from a small table of published prices. An unknown price is never zero.

The table is dated and meant to be overridden: `prices` in a config file is laid over it, and a `cost_usd` the caller
or the provider gives beats both. Cache reads and writes, audio and batches have prices of their own, where the usage
tells of them. Of usage, cached tokens are part of the input and reasoning tokens part of the output;
what is not known stays null, and what the provider gave is kept beside the three counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.events.facts import LARGEST_COUNT_BITS, cached_tokens, token_counts, told_total, whole_number
from agentdbg.user_code import UserCode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PRICES", "PRICES_AS_OF", "PriceTable", "normalise_usage"]

PRICES_AS_OF = "2026-06-30"
"""No price of a model that was new in that year is older than this."""

# USD per million tokens: input, cached input, output. A model whose price depends on the length of the prompt is left
# out unless its lower price holds for nearly every prompt: a wrong cost is worse than none.
_PUBLISHED: dict[str, tuple[float, float, float]] = {
    "gpt-5.6-sol": (4.0, 0.4, 20.0),
    "gpt-5.6-terra": (2.0, 0.2, 12.0),
    "gpt-5.6-luna": (0.2, 0.02, 1.2),
    "gpt-5.5": (5.0, 0.5, 30.0),
    "gpt-5.4": (2.5, 0.25, 15.0),
    "gpt-5.4-mini": (0.75, 0.075, 4.5),
    "gpt-5.4-nano": (0.2, 0.02, 1.25),
    "gpt-5.3": (1.75, 0.175, 14.0),
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
    "claude-fable-5-2": (8.0, 0.2, 40.0),
    "claude-fable-5-1": (10.0, 0.25, 50.0),
    "claude-opus-5-5": (4.0, 0.2, 20.0),
    "claude-opus-5": (5.0, 0.5, 25.0),
    "claude-opus-4-8": (5.0, 0.5, 25.0),
    "claude-opus-4-7": (5.0, 0.5, 25.0),
    "claude-opus-4-6": (5.0, 0.5, 25.0),
    "claude-opus-4-5": (5.0, 0.5, 25.0),
    "claude-opus-4-1": (15.0, 1.5, 75.0),
    "claude-opus-4": (15.0, 1.5, 75.0),
    "claude-sonnet-5-5": (2.0, 0.1, 10.0),
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
    "gpt-audio": (2.5, 2.5, 10.0),
    "gpt-realtime": (4.0, 0.4, 16.0),
    "nova-pro": (0.8, 0.2, 3.2),
    "nova-lite": (0.06, 0.015, 0.24),
    "nova-micro": (0.035, 0.00875, 0.14),
    "gemini-3.8-flash": (0.75, 0.075, 3.75),
    "gemini-3.7-flash": (0.75, 0.075, 3.75),
    "gemini-3.6-flash": (0.75, 0.075, 3.75),
    "gemini-3.5-flash": (1.5, 0.15, 9.0),
    "gemini-3-flash-preview": (0.5, 0.05, 3.0),
    "gemini-2.5-pro": (1.25, 0.125, 10.0),
    "gemini-2.5-flash": (0.3, 0.03, 2.5),
    "gemini-2.5-flash-lite": (0.1, 0.01, 0.4),
    "gemini-2.0-flash": (0.1, 0.025, 0.4),
}
# What is read in costs this, and nothing is written.
_EMBEDDINGS = {
    "text-embedding-3-small": 0.02,
    "text-embedding-3-large": 0.13,
    "text-embedding-ada-002": 0.1,
    "gemini-embedding-001": 0.15,
    "titan-embed-text-v2": 0.02,
}
# Audio in and, where the model speaks, audio out.
_AUDIO = {
    "gpt-audio": {"audio_input": 32.0, "audio_output": 64.0},
    "gpt-realtime": {"audio_input": 32.0, "audio_output": 64.0},
    "gemini-2.5-flash": {"audio_input": 1.0},
    "gemini-2.5-flash-lite": {"audio_input": 0.3},
    "gemini-3-flash-preview": {"audio_input": 1.0},
}
PRICES: dict[str, dict[str, float]] = {
    model: {"input": prompt, "cached_input": cached, "output": completion, **_AUDIO.get(model, {})}
    for model, (prompt, cached, completion) in _PUBLISHED.items()
} | {model: {"input": prompt, "output": 0.0} for model, prompt in _EMBEDDINGS.items()}
for _model, _price in PRICES.items():
    if _model.startswith("claude-"):  # writing to the cache for five minutes, and for an hour
        _price.update(cache_write=_price["input"] * 1.25, cache_write_1h=_price["input"] * 2)

_MAKER = re.compile(
    r"(?:[a-z-]{2,6}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|mistral|openai|qwen|writer)\."
)
_REVISION = re.compile(r"(?::\d+k?)+$")
_VERSION = re.compile(r"-v\d+$")
_PARTS = 10**12
"""A dollar in the smallest parts that are told apart; the price of a token is then still a small number."""
_HALF_PRICE = ("batch", "flex")
_READ_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details", "promptTokensDetails")
_WRITTEN_DETAILS = (
    "completion_tokens_details",
    "output_tokens_details",
    "output_token_details",
    "candidates_tokens_details",
    "candidatesTokensDetails",
)
_AUDIO_NAMES = ("audio_tokens", "audio")
_CACHE_WRITES = ("cache_creation_input_tokens", "cache_write_tokens", "cache_creation_tokens", "cache_creation")


class _Price(NamedTuple):
    """What one token costs, in parts of a dollar. Audio is None where its price is not known."""

    input: int
    cached: int
    output: int
    cache_write: int
    cache_write_1h: int
    audio_input: int | None
    audio_output: int | None


class PriceTable:
    """The shipped prices with a user's own laid over them."""

    def __init__(self, own: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self._prices: dict[str, Mapping[str, float]] = {**PRICES, **(own or {})}
        self._known: dict[str, _Price | None] = {}

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
                return given, None if price is None else (prompt * price.input + completion * price.output) / _PARTS
        usage = normalise_usage(given)
        return usage, self.cost_usd(model, usage)

    def cost_usd(self, model: str, usage: Mapping[str, Any] | None) -> float | None:
        """What the call cost, or None when the model's price or the usage is not known."""
        price = self._price_of(model)
        return None if price is None or not usage else _cost(price, usage)

    def knows(self, model: str) -> bool:
        """Whether there is a price for a model of this name."""
        return self._price_of(model) is not None

    def _price_of(self, model: str) -> _Price | None:
        try:
            return self._known[model]
        except KeyError:
            found = next((self._prices[form] for form in _forms(model) if self._prices.get(form)), None)
            price = None if found is None else _in_parts(found)
            if len(self._known) < _MOST_ENTRIES:
                self._known[model] = price
            return price


def _forms(model: str) -> Iterator[str]:
    """
    The price of `openai/gpt-4o-2024-08-06` is that of `gpt-4o`: without the provider, then without the date.

    Some write `claude-opus-4.5` for `claude-opus-4-5`. Bedrock has a region and a maker before the name and a version
    after it (`us.anthropic.claude-sonnet-4-20250514-v1:0`), Vertex an `@` before the date or the word `default`.
    """
    yield model
    name = _MAKER.sub("", model.rpartition("/")[2].lower(), count=1)
    name = _REVISION.sub("", name).removesuffix("@default").replace("@", "-")
    for spelled in (name, name.replace(".", "-")):
        undated = _undated(spelled)
        yield from (spelled, undated, _VERSION.sub("", undated), _undated(_VERSION.sub("", spelled)))


def _in_parts(price: Mapping[str, float]) -> _Price:
    """A price in whole parts of a dollar for a token: sums are exact, and nothing to round."""
    paid = {kind: round(per_million * _PARTS / 1_000_000) for kind, per_million in price.items()}
    prompt = paid["input"]
    write = paid.get("cache_write", prompt)
    return _Price(
        prompt,
        paid.get("cached_input", prompt),
        paid["output"],
        write,
        paid.get("cache_write_1h", write),
        paid.get("audio_input"),
        paid.get("audio_output"),
    )


def _cost(price: _Price, usage: Mapping[str, Any]) -> float | None:
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if completion is None and not price.output:  # an embedding
        completion = 0
    if type(prompt) is not int or type(completion) is not int:
        return None
    cached = min(cached_tokens(usage) or 0, prompt)
    written, for_an_hour = _cache_writes(usage)
    written = min(written, prompt - cached)
    for_an_hour = min(for_an_hour, written)
    heard, spoken = min(_audio(usage, _READ_DETAILS), prompt), min(_audio(usage, _WRITTEN_DETAILS), completion)
    # Nobody says how much of the audio was cached; and paid in advance, or asked to be fast, a token has other prices.
    if (heard and (cached or written or price.audio_input is None)) or (spoken and price.audio_output is None):
        return None
    tier = usage.get("service_tier")
    if tier == "priority" or usage.get("speed") == "fast":
        return None
    parts = (
        (prompt - cached - written - heard) * price.input
        + cached * price.cached
        + (written - for_an_hour) * price.cache_write
        + for_an_hour * price.cache_write_1h
        + heard * (price.audio_input or 0)
        + (completion - spoken) * price.output
        + spoken * (price.audio_output or 0)
    )
    return parts / (2 * _PARTS if tier in _HALF_PRICE else _PARTS)


def _cache_writes(usage: Mapping[str, Any]) -> tuple[int, int]:
    """How many tokens of the prompt were written to a cache, and how many of these for an hour."""
    by_time = usage.get("cache_creation")
    for_an_hour = by_time.get("ephemeral_1h_input_tokens") if isinstance(by_time, dict) else None
    told = (usage, *(usage.get(name) for name in _READ_DETAILS))
    counts = (whole_number(part.get(name)) for part in told if isinstance(part, dict) for name in _CACHE_WRITES)
    return next((count for count in counts if count), 0), whole_number(for_an_hour) or 0


def _audio(usage: Mapping[str, Any], details: tuple[str, ...]) -> int:
    """How many tokens were audio; Google says it in a list, the others in a table."""
    told = next((part for name in details if (part := usage.get(name))), None)
    if isinstance(told, dict):
        return next((count for name in _AUDIO_NAMES if (count := whole_number(told.get(name)))), 0)
    counts = (
        whole_number(part.get("tokenCount", part.get("token_count")))
        for part in (told if isinstance(told, list) else ())
        if isinstance(part, dict) and str(part.get("modality")).upper().endswith("AUDIO")
    )
    return sum(count or 0 for count in counts)


def _undated(name: str) -> str:
    """`claude-sonnet-4-20250514`, `gpt-4o-2024-08-06` and `gemini-2.0-flash-001` without it; no `-latest` either."""
    parts = name.split("-")
    lengths = [len(part) if part.isdigit() else 0 for part in parts[1:]]
    if lengths[-3:] == [4, 2, 2]:
        return "-".join(parts[:-3])
    if parts[-1] == "latest" or lengths[-1:] in ([3], [4], [8]):
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
