"""
The states a run has recorded, each with its difference to the one of that name before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.recorder.event_lines import fit_payload, join_objects
from agentdbg.recorder.state_diff import diff_states

if TYPE_CHECKING:
    from agentdbg.redaction import Redactor

__all__ = ["States"]

_MOST_NAMES = 1_000


class States:
    """Remembers the last state of each name, as it was stored."""

    __slots__ = ("_by_name", "_max_field_bytes", "_redactor", "last")

    def __init__(self, redactor: Redactor, max_field_bytes: int) -> None:
        self._redactor = redactor
        self._max_field_bytes = max_field_bytes
        self._by_name: dict[str, bytes] = {}
        self.last: bytes | None = None
        """The newest state of any name, as JSON."""

    def seal(self, name: str, state: Any, diff: Any, extra: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The payload of a STATE_UPDATE; `diff` is worked out where the caller has none."""
        value, encoded = self._redactor.seal_parts({"state": state})
        stored = encoded[len(b'{"state":') : -1]
        before = self._by_name.get(name)
        rest = b""
        if diff is None and before is not None:
            diff = diff_states(before, stored)
            # Taken from two stored states, so nothing in it is left to redact.
            rest = b"" if extra else encode_json({"diff": diff})
        if not rest or len(rest) > self._max_field_bytes:
            rest = self._redactor.seal({"diff": diff, **extra}).encoded
        if before is not None or len(self._by_name) < _MOST_NAMES:
            self._by_name[name] = stored
        self.last = stored
        return value, fit_payload(join_objects(encoded, rest))
