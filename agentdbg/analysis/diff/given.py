"""What a model was given beside the messages: instructions, tools, parameters. Nearly every call has the same."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.fingerprints import fingerprint
from agentdbg.analysis.diff.steps import NOT_CONTENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.analysis.diff.ignoring import Ignored

__all__ = ["GivenReader"]

_OTHER_PARTS = frozenset({"prompt", "response", "status", "error", "stop_reason", "tools"}) | NOT_CONTENT
"""What is no parameter; tools stand by themselves."""


class GivenReader:
    """Reads the model calls of one run in the order of its events; equal ones share one table."""

    def __init__(self, ignored: Ignored | None) -> None:
        self._ignored = ignored
        self._keys: tuple[str, ...] = ()
        self._names: list[str] = []
        self._pick: Callable[[dict[str, Any]], Any] = _nothing
        self._read: tuple[Any, ...] = ()
        self._context: dict[str, Any] = {}
        self._key = fingerprint(self._context)

    def read(self, payload: dict[str, Any], system: Any, rest: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """`system`, `tools` and `parameters`, and their fingerprint; `rest` is what a prompt holds beside messages."""
        keys = tuple(payload)
        if keys != self._keys:
            self._keys, self._names, self._read = keys, [key for key in keys if key not in _OTHER_PARTS], ()
            self._pick = itemgetter(*self._names) if self._names else _nothing
        found = (self._pick(payload), payload.get("tools"), rest, system)
        if found != self._read:
            self._read = found
            parameters = {key: payload[key] for key in self._names}
            parameters.update((key, item) for key, item in rest.items() if key != "tools")
            tools = payload.get("tools", rest.get("tools"))
            context = {"system": system, "tools": tools, "parameters": parameters}
            if self._ignored is not None:
                context = self._ignored.strip(context)
            if context != self._context:
                self._context, self._key = context, fingerprint(context)
        return self._context, self._key


def _nothing(_payload: dict[str, Any]) -> None:
    return None
