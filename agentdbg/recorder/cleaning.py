"""
What the settings say about redaction, and what a caller gave as meta, in the form the redactor takes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentdbg.redaction import RedactionRules, Redactor

if TYPE_CHECKING:
    from agentdbg.config import Config

__all__ = ["as_mapping", "redactor_of", "with_effect"]


def redactor_of(config: Config) -> Redactor:
    """The redactor of these settings; one for all runs of a process that have the same."""
    return _redactor(
        RedactionRules(
            enabled=config.redact,
            keys=config.redact_keys,
            values=config.redact_values,
            patterns=config.redact_patterns,
            max_field_bytes=config.max_field_bytes,
        )
    )


@lru_cache(maxsize=8)
def _redactor(rules: RedactionRules) -> Redactor:
    return Redactor(rules)  # compiling the rules takes as long as a hundred events


def as_mapping(meta: Any) -> dict[str, Any]:
    """What was given as meta, as a table; under `meta` where it is none."""
    try:
        if isinstance(meta, (list, tuple)) or hasattr(meta, "keys"):  # never an iterator: that would use it up
            return dict(meta)
    except Exception:  # noqa: BLE001, S110 -- not a mapping after all; kept as it is
        pass
    return {"meta": meta}


def with_effect(meta: Any, effect: Any) -> dict[str, Any]:
    """The meta of a tool call whose effect was declared with it."""
    return {**({} if meta is None else as_mapping(meta)), "effect": effect}
