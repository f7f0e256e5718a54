"""
Shared parts for writing imported runs: config, redactor, prices, name cache.

The same few names come again and again, so what was made of a name is kept: its clean text, the payload of a run that
is called so, the meta of a span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agentdbg.encoding import encode_json
from agentdbg.recorder.limits import Limits
from agentdbg.recorder.prices import PriceTable
from agentdbg.recorder.run_log import redactor_of
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.config import Config
    from agentdbg.redaction import Sealed

__all__ = ["NO_GUARDRAILS", "SPAN_MARK", "CleanName", "WriteContext", "start_fields"]

SPAN_MARK = "span"
NO_GUARDRAILS = Limits().as_dict()
_MOST_NAMES, _LONGEST_NAME = 1_000, 200

_Made = TypeVar("_Made")


class CleanName(NamedTuple):
    """A name that may be written, and its JSON."""

    text: str
    encoded: str


class WriteContext:
    """The settings of one process, its redactor and its prices."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.prices = PriceTable(config.prices)
        self.redactor = redactor_of(config)
        self.names = _ByName(self._clean)
        self.starts = _ByName(self._seal_start)
        """The payload of RUN_START by the clean name of the run, where nothing more is known of it."""
        self.span_metas = _ByName(self._seal_span)

    def clean_name(self, name: str) -> str:
        """A name as it may be written."""
        return self.names[name].text

    def _clean(self, name: str) -> CleanName:
        text = self.redactor.clean_text(name)
        return CleanName(text, encode_json(text).decode())

    def _seal_start(self, name: str) -> bytes:
        return self.redactor.seal(start_fields(name)).encoded

    def _seal_span(self, name: str) -> Sealed:
        return self.redactor.seal({SPAN_MARK: name})


def start_fields(run_name: str) -> dict[str, Any]:
    """What RUN_START says of a run that was recorded elsewhere, when nothing more is known."""
    return {
        "run_name": run_name,
        "python_version": "",
        "platform": "",
        "cwd": None,
        "argv": [],
        "guardrails": NO_GUARDRAILS,
        "agentdbg_version": __version__,
    }


class _ByName(dict[str, _Made]):
    """What was made of a name; kept for as many as there honestly are, and for none that is very long."""

    def __init__(self, make: Callable[[str], _Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> _Made:
        made = self._make(name)
        if len(self) < _MOST_NAMES and len(name) < _LONGEST_NAME:
            self[name] = made
        return made
