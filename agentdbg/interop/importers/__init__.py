"""
One file for each format that can be imported.

An importer is a module with `TITLE` (what the format is called), `recognises(source)` and `read(source)`, which gives
the runs of a file one by one, and an `EntryProblem` for each part it could not read. To add a format, write its module
and name it in `IMPORTERS`, the more particular formats first.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

from agentdbg.exceptions import UsageError
from agentdbg.interop.sources import NotReadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import EntryProblem, RunDraft
    from agentdbg.interop.sources import Source
    from agentdbg.interop.stored_runs import StoredCopy

__all__ = ["IMPORTERS", "Importer", "find_importer"]

IMPORTERS = (
    "agentdbg",
    "folder",
    "aider",
    "claude",
    "codex",
    "gemini",
    "qwen",
    "inspect",
    "mini_swe_agent",
    "swe_agent",
    "openhands",
    "atif",
    "langsmith",
    "langfuse",
    "agents_sdk",
    "mlflow",
    "otel",
    "chat",
)
"""The names `--format` takes, in the order they are asked."""


class Importer(Protocol):
    """What a module in this folder has."""

    TITLE: str

    def recognises(self, source: Source) -> bool:
        """Whether this is the file's format."""

    def read(self, source: Source) -> Iterator[RunDraft | StoredCopy | EntryProblem]:
        """The runs of the file."""


def find_importer(source: Source, wanted: str = "auto") -> tuple[str, Importer]:
    """The importer for a file: the one asked for, or the first that knows its format."""
    if wanted != "auto":
        if wanted not in IMPORTERS:
            raise UsageError(f"there is no format {wanted!r}; choose one of auto, {', '.join(IMPORTERS)}")
        return wanted, _load(wanted)
    for name in IMPORTERS:
        importer = _load(name)
        if importer.recognises(source):
            return name, importer
    raise NotReadable(
        f"{source.shown} is in no format that is known here; `agentdbg import --help` lists them, "
        "and `--format` tells which one to try"
    )


def _load(name: str) -> Importer:
    return cast("Importer", importlib.import_module(f"agentdbg.interop.importers.{name}"))
