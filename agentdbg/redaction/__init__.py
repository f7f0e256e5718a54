"""
Any value to JSON that is safe to write: the one redactor, at the one place where an event is written.

`Redactor(rules).seal(fields)` takes one payload (or one meta) and gives it back plain, redacted and bounded, together
with its encoding. It never raises; what it cannot read it drops. How keys are judged is in `keys`, what is secret
inside text in `text`, `assignments` and `shapes`, how any object becomes plain in `plain` and `objects`, and how things
are cut to size in `sizes`.
"""

from __future__ import annotations

from agentdbg.redaction.redactor import Redactor, Sealed
from agentdbg.redaction.rules import DEFAULT_KEYS, DEFAULT_MAX_FIELD_BYTES, WHOLE_WORD_KEYS, RedactionRules

__all__ = ["DEFAULT_KEYS", "DEFAULT_MAX_FIELD_BYTES", "WHOLE_WORD_KEYS", "RedactionRules", "Redactor", "Sealed"]
