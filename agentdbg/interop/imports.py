"""
Import one source: find its format, take each of its runs into the data folder, and say what came of each.

Nothing that is wrong with one run, or one file, keeps the others from being imported.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentdbg.config import load_config
from agentdbg.exceptions import AgentDbgError
from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.importers import find_importer
from agentdbg.interop.importing import store_run
from agentdbg.interop.sources import NotReadable, Source
from agentdbg.interop.stored_runs import StoredCopy, store_copy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.config import Config
    from agentdbg.interop.foreign_run import Names
    from agentdbg.interop.importing import StoredRun

__all__ = ["Importing", "Outcome", "import_files"]

_MANY_FILES, _MANY_BYTES = 16, 8 << 20
_MOST_WORKERS = 8
_AT_ONCE = 4
"""Files that a process is given at a time."""


@dataclass(frozen=True)
class Outcome:
    """What came of one part of a source: a run that is stored now, or why there is none."""

    entry: str
    run: StoredRun | None = None
    problem: str = ""


def import_files(sources: Sequence[Source], wanted: str) -> Iterator[tuple[str, list[Outcome]]]:
    """
    The format and the outcomes of each file, in their order. Many files are shared among several processes: nearly all
    of the time goes into taking secrets out, which one processor does at a time.
    """
    workers = min(os.cpu_count() or 1, _MOST_WORKERS)
    size = sum(source.size for source in sources) if len(sources) >= _MANY_FILES else 0
    jobs = [(str(source.path), source.shown, source.is_any_size, wanted) for source in sources]
    if workers < 2 or size < _MANY_BYTES:
        yield from map(_import_file, jobs)
        return
    pool = ProcessPoolExecutor(workers)
    try:
        yield from pool.map(_import_file, jobs, chunksize=_AT_ONCE)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _import_file(job: tuple[str, str, bool, str]) -> tuple[str, list[Outcome]]:
    """Import one file with the settings of this process."""
    path, shown, any_size, wanted = job
    outcomes: list[Outcome] = []
    title = ""
    try:
        title, found = _importing().take(Source(Path(path), shown, any_size=any_size), wanted)
        outcomes.extend(found)
    except NotReadable as error:
        outcomes.append(Outcome("", problem=str(error).removeprefix(shown).strip()))
    return title, outcomes


@cache
def _importing() -> Importing:
    return Importing(load_config())


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
