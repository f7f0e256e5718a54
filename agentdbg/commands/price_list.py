"""`agentdbg prices`: what the models of your runs cost, and which prices are not known."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.commands.options import Option
from agentdbg.commands.terminal import Column, Styled, Terminal
from agentdbg.config import load_config
from agentdbg.config.kept_prices import keep_price
from agentdbg.exceptions import UsageError
from agentdbg.interop.price_sources import PRICE_SOURCES, PRICES, PRICES_AS_OF, unpriced_models

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

EXAMPLES = """
agentdbg prices                                          # models of your runs without a price
agentdbg prices --set my-model --input 2.5 --output 10   # USD per million tokens
agentdbg prices --from genai-prices                      # take what that package knows of them
agentdbg prices --forget my-model
"""


def command(
    model: Annotated[str | None, Option("--set", metavar="MODEL", help="Give a model a price of your own.")] = None,
    prompt: Annotated[float | None, Option("--input", metavar="USD", help="For a million tokens read.")] = None,
    completion: Annotated[float | None, Option("--output", metavar="USD", help="For a million tokens written.")] = None,
    cached: Annotated[
        float | None, Option("--cached", metavar="USD", help="For a million tokens from a cache.")
    ] = None,
    source: Annotated[
        str | None, Option("--from", metavar="PACKAGE", help="Take unknown prices from `genai-prices` or `litellm`.")
    ] = None,
    forget: Annotated[str | None, Option("--forget", metavar="MODEL", help="Take a price of your own away.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """
    Show which models of your newest runs have no price, so that their cost is unknown and max_cost_usd cannot hold for
    them, and take prices of your own. They are kept in the data folder; `prices` in a config file is laid over them.
    Runs that are recorded already keep the cost that they have.
    """
    if (model is not None) + (source is not None) + (forget is not None) > 1:
        raise UsageError("say one of --set, --from and --forget")
    config, out = load_config(), Terminal()
    if model is not None:
        if prompt is None or completion is None or min(prompt, completion, cached or 0) < 0:
            raise UsageError("--set needs --input and --output, in USD per million tokens, not below 0")
        price = {"input": prompt, "output": completion, **({} if cached is None else {"cached_input": cached})}
        keep_price(config.data_dir, model, {**price, "source": "your own"})
        out.sentence(f"{model} costs {_shown(price)} from now on.")
        return
    if forget is not None:
        if not keep_price(config.data_dir, forget, None):
            raise UsageError(f"there is no price of your own for {forget!r}")
        out.sentence(f"{forget} has no price of its own any more.")
        return
    unknown = unpriced_models(config.data_dir, config.prices)
    if source is not None:
        _take_from(out, config.data_dir, source, unknown)
    elif as_json:
        out.json({"as_of": PRICES_AS_OF, "shipped": len(PRICES), "own": config.prices or {}, "unknown": unknown})
    else:
        _print(out, config.prices or {}, unknown)


def _print(out: Terminal, own: Any, unknown: dict[str, dict[str, int]]) -> None:
    out.sentence(f"{len(PRICES)} models have a price here, as published on {PRICES_AS_OF}; {len(own)} are your own.")
    for name, price in sorted(own.items()):
        out.line(Styled(name, "strong"), f"  {_shown(price)}", indent=3)
    if not unknown:
        out.sentence("Every model of your runs has one.")
        return
    out.sentence("These models of your runs have none, so what they cost is not known:")
    rows: list[list[str | Styled]] = [
        [name, f"{counts['calls']:,}", f"{counts['tokens']:,}"] for name, counts in unknown.items()
    ]
    out.table([Column("model", least=12), Column("calls"), Column("tokens")], rows)
    out.sentence("Give one: agentdbg prices --set MODEL --input 2.5 --output 10 (USD per million tokens)")


def _shown(price: Any) -> str:
    words = {"input": "read", "output": "written", "cached_input": "cached", "cache_write": "written to a cache"}
    told = [f"${price[kind]:g} {word}" for kind, word in words.items() if kind in price]
    return f"{', '.join(told)}, for a million tokens"


def _take_from(out: Terminal, data_dir: Path, source: str, models: Iterable[str]) -> None:
    package = source.replace("-", "_")
    if source not in PRICE_SOURCES:
        raise UsageError(f"--from takes {' or '.join(PRICE_SOURCES)}, not {source!r}")
    if find_spec(package) is None:
        raise UsageError(f"{source} is not installed here: pip install {source}")
    version = metadata.version(source)
    taken = 0
    for model in models:
        price = PRICE_SOURCES[source](model)
        if price:
            keep_price(data_dir, model, {**price, "source": f"{source} {version}"})
            out.line(Styled(model, "strong"), f"  {_shown(price)}", indent=3)
            taken += 1
    out.sentence(f"{taken} prices taken from {source} {version}: as old as that release.")
