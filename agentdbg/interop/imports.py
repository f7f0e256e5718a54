"""
Import one source: find its format, take each of its runs into the data folder, and say what came of each.

Nothing that is wrong with one run, or one file, keeps the others from being imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.exceptions import AgentDbgError
from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.importers import find_importer
from agentdbg.interop.importing import store_run
from agentdbg.interop.stored_runs import StoredCopy, store_copy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.config import Config
    from agentdbg.interop.foreign_run import Names
    from agentdbg.interop.importing import StoredRun
    from agentdbg.interop.sources import Source

__all__ = ["Importing", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What came of one part of a source: a run that is stored now, or why there is none."""

    entry: str
    run: StoredRun | None = None
    problem: str = ""


class Importing:
    """Imports sources with one set of settings."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._names: Names = {}

    def take(self, source: Source, wanted: str = "auto") -> tuple[str, Iterator[Outcome]]:
        """What the source is, and its runs, stored as they are asked for. Raises for a source nobody can read."""
        name, importer = find_importer(source, wanted)
        found = importer.read(source)
        return importer.TITLE, self._store_all(source, name, found)

    def _store_all(
        self, source: Source, name: str, found: Iterator[RunDraft | StoredCopy | EntryProblem]
    ) -> Iterator[Outcome]:
        position = 0
        while True:
            try:
                item = next(found)
            except StopIteration:
                break
            except AgentDbgError:
                raise
            except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
                # The format is right by its first look and wrong further in; what was read before it is stored.
                yield Outcome("", problem=f"not {name} all the way through ({type(error).__name__}: {error})")
                break
            if isinstance(item, EntryProblem):
                yield Outcome(item.entry, problem=item.message)
                continue
            position += 1
            yield from self._store(source, item, position)
        for problem in source.problems:
            yield Outcome(problem.entry, problem=problem.message)

    def _store(self, source: Source, item: RunDraft | StoredCopy, position: int) -> Iterator[Outcome]:
        try:
            if isinstance(item, StoredCopy):
                stored = store_copy(item, self._config)
            else:
                stored = self._store_draft(source, item, position)
        except OSError:
            raise
        except ValueError as error:
            yield Outcome(item.entry, problem=str(error))
            return
        except Exception as error:  # noqa: BLE001 -- a run that trips over our own code must not cost the others
            yield Outcome(item.entry, problem=f"could not be stored ({type(error).__name__}: {error})")
            return
        yield Outcome(item.entry, run=stored)
        if isinstance(item, StoredCopy):
            for problem in item.problems:
                yield Outcome(item.entry, problem=problem)

    def _store_draft(self, source: Source, draft: RunDraft, position: int) -> StoredRun:
        origin = {"format": draft.format, "file": source.path.name}
        if draft.entry:
            origin["entry"] = draft.entry
        if draft.version:
            origin["version"] = draft.version
        if not any(step.at_ms is not None for step in draft.steps) and draft.started_ms is None:
            origin["times"] = "not recorded; that of the file is shown"
        # Runs of one file that know no times still stand in the order of the file.
        return store_run(draft, self._config, self._names, source.changed_ms + position, origin)
