"""What runs take on disk, and what compressing or deleting old ones would free, in words: `list --size`, `doctor`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from agentdbg.analysis.wording import count_noun, size_words
from agentdbg.commands.terminal import Column, Styled, Terminal
from agentdbg.events import SPEC_VERSION
from agentdbg.storage.housekeeping import DAY_SECONDS, drop_tapes, prune
from agentdbg.storage.space import RunSpace, Space, freed_by_compressing, measure

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.index.run_index import RunFilter, RunIndex

__all__ = ["print_sizes", "space_sentences"]

_OLD_DAYS = 30
_OLD_SECONDS = _OLD_DAYS * DAY_SECONDS


def print_sizes(out: Terminal, index: RunIndex, wanted: RunFilter, limit: int, *, as_json: bool) -> None:
    """The runs that take most, part by part, and then the whole folder."""
    space = measure(index.data_dir)
    runs = index.page(wanted, None).runs
    sized = [(run, space.runs.get(run["run_id"]) or RunSpace()) for run in runs]
    sized.sort(key=lambda pair: pair[1].total, reverse=True)
    if as_json:
        out.json(
            {
                "spec_version": SPEC_VERSION,
                "runs": [
                    {"run_id": run["run_id"], "run_name": run["run_name"], **_parts(taken)}
                    for run, taken in sized[:limit]
                ],
                "all": {**space.sums(), "total": sum(space.sums().values())},
                "would_free": _would_free(space, index.data_dir),
            }
        )
        return
    sizes = [Column("events", right=True, optional=1), Column("tape", right=True, optional=1)]
    sizes += [Column("index", right=True, optional=2), Column("total", right=True)]
    rows: list[list[str | Styled]] = []
    for run, taken in sized[:limit]:
        parts = (taken.events, taken.tape, taken.index, taken.total)
        shown = [size_words(part) if out.is_terminal else str(part) for part in parts]
        rows.append([Styled(run["run_id"][:8], "accent"), run["run_name"] or "–", *shown])
    out.table([Column("run_id"), Column("run_name", least=16), *sizes], rows)
    if out.is_terminal:
        for sentence in space_sentences(space, index.data_dir):
            out.sentence(Styled(sentence, "muted"))


def _parts(taken: RunSpace) -> dict[str, int]:
    return {**dataclasses.asdict(taken), "total": taken.total}


def space_sentences(space: Space, data_dir: Path) -> list[str]:
    """What everything takes, then what could be freed and how."""
    sums = space.sums()
    kinds = sorted(((size, name) for name, size in sums.items() if size), reverse=True)
    parts = ", ".join(f"{name} {size_words(size)}" for size, name in kinds)
    said = [
        f"{count_noun(len(space.runs), 'run')} and what is kept beside take {size_words(sum(sums.values()))}: {parts}."
    ]
    free = _would_free(space, data_dir)
    if free["compress"]:
        said.append(f"`agentdbg prune --older-than 0d --compress` would free about {size_words(free['compress'])}.")
    if free["delete_old"]:
        said.append(
            f"`agentdbg prune --older-than {_OLD_DAYS}d` would free {size_words(free['delete_old'])}, a day later."
        )
    if free["drop_tapes"]:
        said.append(f"`agentdbg prune --tapes --older-than {_OLD_DAYS}d` would free {size_words(free['drop_tapes'])}.")
    if free["trash"]:
        said.append(f"The trash, {size_words(free['trash'])}, is emptied a day after the runs were deleted.")
    return said


def _would_free(space: Space, data_dir: Path) -> dict[str, int]:
    """What each way to make room would give, in bytes, asked of the code that would do it."""
    packed = prune(0, compress=True, dry_run=True, data_dir=data_dir).compressed
    return {
        "compress": freed_by_compressing(data_dir, [run["run_id"] for run in packed]),
        "delete_old": prune(_OLD_SECONDS, dry_run=True, data_dir=data_dir).freed_bytes,
        "drop_tapes": drop_tapes(_OLD_SECONDS, dry_run=True, data_dir=data_dir).freed_bytes,
        "trash": space.trash,
    }
