"""
One file for each format that can be imported.

An importer is a module with `TITLE` (what the format is called), `recognises(source)` and `read(source)`, which gives
the runs of a file one by one, and an `EntryProblem` for each part it could not read. A package
adds a format by an entry point in the group `agentdbg.importers`; here one is added by naming its module in
`IMPORTERS`, the more particular formats first.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, cast

from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.interop.seeming import looks_like, seems_in_documents, seems_to_be
from agentdbg.interop.sources import NotReadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import EntryProblem, RunDraft
    from agentdbg.interop.sources import Source
    from agentdbg.interop.stored_runs import StoredCopy

__all__ = ["GROUP", "IMPORTERS", "Importer", "added_importers", "find_importer"]

GROUP = "agentdbg.importers"
"""The entry points by which a package offers an importer: any object with what `Importer` has, such as a module."""
IMPORTERS = (
    "agentdbg",
    "folder",
    "aider",
    "claude",
    "codex",
    "gemini",
    "qwen",
    "copilot",
    "opencode",
    "amp",
    "inspect",
    "mini_swe_agent",
    "swe_agent",
    "openhands",
    "atif",
    "langsmith",
    "langfuse",
    "weave",
    "braintrust",
    "gateway",
    "promptfoo",
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
        offered = added_importers()
        if wanted not in IMPORTERS and wanted not in offered:
            raise UsageError(f"there is no format {wanted!r}; choose one of auto, {', '.join((*IMPORTERS, *offered))}")
        return wanted, offered[wanted] if wanted in offered else _load(wanted)
    seeming = seems_to_be(source)
    for name, importer in added_importers().items():
        if _knows(importer, source):
            return name, importer
    if not seeming:
        for name in IMPORTERS:
            importer = _load(name)
            # Nearly any list of messages is a chat, so what is known to be something else is asked for first.
            if _knows(importer, source) and not (name == IMPORTERS[-1] and looks_like(source)):
                return name, importer
        seeming = seems_in_documents(source)
    raise NotReadable(f"{source.shown} {seeming}")


@cache
def added_importers() -> dict[str, Importer]:
    """The importers that installed packages offer in the entry-point group `agentdbg.importers`."""
    found: dict[str, Importer] = {}
    for offered in entry_points(group=GROUP):
        try:
            importer = offered.load()
            usable = isinstance(importer.TITLE, str) and callable(importer.recognises) and callable(importer.read)
        except Exception as error:  # noqa: BLE001 -- a package that is broken must not break the import of other files
            sys.stderr.write(
                f"agentdbg: the importer {offered.name} cannot be loaded ({type(error).__name__}: {error})\n"
            )
            continue
        if usable and offered.name not in IMPORTERS:
            found[offered.name] = importer
    return found


def _knows(importer: Importer, source: Source) -> bool:
    """Whether an importer knows a file; one that stumbles over it does not."""
    try:
        return bool(importer.recognises(source))
    except AgentDbgError:
        raise  # it cannot be read by anybody
    except Exception:  # noqa: BLE001 -- as above
        return False


def _load(name: str) -> Importer:
    return cast("Importer", importlib.import_module(f"agentdbg.interop.importers.{name}"))
