"""What the settings say about redaction, as the redactor they make."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from agentdbg.redaction import RedactionRules, Redactor

if TYPE_CHECKING:
    from agentdbg.config import Config

__all__ = ["redactor_of"]


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
