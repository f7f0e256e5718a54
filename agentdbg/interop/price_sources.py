"""Which models of stored runs have no price, and what installed packages that maintain a table say of them."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import token_counts, whole_number
from agentdbg.recorder.prices import PRICES, PRICES_AS_OF, PriceTable
from agentdbg.storage.reader import list_runs, load_events

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PRICES", "PRICES_AS_OF", "PRICE_SOURCES", "unpriced_models"]

_MOST_RUNS = 1_000
_LITELLM_FILE = "model_prices_and_context_window_backup.json"
_LITELLM_NAMES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached_input": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}


def unpriced_models(data_dir: Path, own: Mapping[str, Mapping[str, float]] | None) -> dict[str, dict[str, int]]:
    """The models without a price in the newest runs, the most used first."""
    known, found = PriceTable(own), dict[str, dict[str, int]]()
    for run in list_runs(_MOST_RUNS, data_dir):
        for event in load_events(run["run_id"], data_dir):
            payload = event.get("payload") or {}
            if event.get("event_type") != "LLM_CALL" or payload.get("cost_usd") is not None:
                continue
            model, usage = str(payload.get("model")), payload.get("usage")
            if isinstance(usage, dict) and not known.knows(model):
                counts = found.setdefault(model, {"calls": 0, "tokens": 0})
                counts["calls"] += 1
                counts["tokens"] += whole_number(token_counts(usage)[2]) or 0
    return dict(sorted(found.items(), key=lambda item: -item[1]["tokens"]))


def _from_genai(model: str) -> dict[str, float] | None:
    prices: Any = import_module("genai_prices")
    try:
        found = prices.calc_price(prices.Usage(input_tokens=1_000, output_tokens=1_000), model_ref=model)
        cached = prices.calc_price(prices.Usage(input_tokens=1_000, cache_read_tokens=1_000), model_ref=model)
    except LookupError:
        return None
    told = {"input": found.input_price, "output": found.output_price, "cached_input": cached.input_price}
    return {kind: round(float(price) * 1_000, 9) for kind, price in told.items()}


def _from_litellm(model: str) -> dict[str, float] | None:
    # Its own module takes seconds to load, and asks the network for a newer table.
    spec = find_spec("litellm")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    table = json.loads((Path(folders[0]) / _LITELLM_FILE).read_text(encoding="utf-8")) if folders else {}
    found = table.get(model) or table.get(model.rpartition("/")[2]) or {}
    known = {kind: found.get(name) for kind, name in _LITELLM_NAMES.items()}
    told = {kind: round(price * 1e6, 9) for kind, price in known.items() if isinstance(price, (int, float))}
    return told if {"input", "output"} <= set(told) and any(told.values()) else None  # it has 0 where it knows nothing


PRICE_SOURCES = {"genai-prices": _from_genai, "litellm": _from_litellm}
"""The packages whose tables can be read offline, and how the price of a model is found in each."""
