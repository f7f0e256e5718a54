"""Prices that `agentdbg prices` has taken: `prices.json` in the data folder, below what a config file says."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from agentdbg.bounded.files import read_small
from agentdbg.config import setting_values as values
from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["keep_price", "kept_prices"]

_FILE = "prices.json"
_LARGEST_FILE = 1 << 20


def kept_prices(data_dir: Path, problems: list[str]) -> dict[str, dict[str, float]]:
    """The prices by model; what cannot be read is a problem, and no price."""
    try:
        return values.price_table({model: _without_source(price) for model, price in _read(data_dir).items()})
    except (OSError, ValueError, AttributeError) as error:
        pass_on(error)
        problems.append(f"{data_dir / _FILE} cannot be read ({error}); the prices in it are not used")
        return {}


def keep_price(data_dir: Path, model: str, price: Mapping[str, Any] | None) -> bool:
    """Keep a price and where it is from, or take it away (None). False where there is none to take away."""
    path = data_dir / _FILE
    kept = _read(data_dir) if path.exists() else {}
    if price is None and model not in kept:
        return False
    kept = {one: known for one, known in kept.items() if one != model} | ({} if price is None else {model: {**price}})
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{_FILE}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=2)
    fresh.replace(path)
    return True


def _read(data_dir: Path) -> Any:
    content = read_small(data_dir / _FILE, _LARGEST_FILE)
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _without_source(price: Any) -> Any:
    return {kind: value for kind, value in price.items() if kind != "source"} if isinstance(price, dict) else price
