"""
What comparing two runs costs: every same-task pair of real runs where they are at hand, and long made-up ones.

    python -m benchmarks diff

Times are processor time, the best of a few rounds, of runs that have been read from their files.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from agentdbg.analysis.diff import compare, compare_rows, make_patch
from agentdbg.encoding import decode_json, encode_json
from benchmarks.diff_shapes import SHAPES

if TYPE_CHECKING:
    from agentdbg.events import Event
    from benchmarks.diff_shapes import Shape

__all__ = ["diff_tables"]

_DATA = Path(os.environ.get("AGENTDBG_TRAJECTORIES", Path(__file__).parents[2] / "shared" / "data"))
_ROUNDS = 3
_LONG = 10_000
_WANTED_PAIR_MS = 50


def diff_tables() -> str:
    """The tables of what comparing costs, as Markdown."""
    rows = [*_real_pairs(), *(_row(shape) for shape in SHAPES)]
    head = ["| runs compared | events a side | comparing | of reading them | as light rows | patch | wanted |"]
    return "\n".join([*head, "|---|---|---|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]) + "\n\n"


def _row(shape: Shape) -> list[str]:
    files = [[encode_json(event) for event in shape.make(side, shape.events)] for side in "ab"]
    began = time.process_time()
    # As they come from a file: no two events share an object, which would make them quicker to compare.
    a, b = ([decode_json(line) for line in file] for file in files)
    read_ms = (time.process_time() - began) * 1000
    gc.collect()
    rounds = _ROUNDS if shape.events < _LONG else 1
    whole = min(_milliseconds(compare, a, b) for _ in range(rounds))
    figures = [f"{len(a):,}", f"{whole:,.0f} ms", f"{whole / read_ms:.1f}x"]
    if shape.events < _LONG:
        light = min(_milliseconds(compare_rows, a, b) for _ in range(rounds))
        patched = _milliseconds(make_patch, a, b, compare(a, b))
        figures += [f"{light:,.0f} ms", f"{patched:,.0f} ms"]
    else:
        figures += ["", ""]
    return [shape.label, *figures, f"{shape.wanted_ms:,} ms"]


def _real_pairs() -> list[list[str]]:
    groups = _real_runs()
    if not groups:
        return []
    pairs = [pair for runs in groups for pair in combinations(runs, 2)]
    gc.collect()
    times = sorted(min(_milliseconds(compare, a, b) for _ in range(3)) for a, b in pairs)
    longest = max(len(run) for runs in groups for run in runs)
    measured = f"median {statistics.median(times):.1f} ms, slowest {times[-1]:.1f} ms"
    label = f"{len(pairs)} pairs of real runs of the same task"
    return [
        [label, f"up to {longest}", measured, "", "", "", f"{_WANTED_PAIR_MS} ms each"],
        _joined([_one_after_the_other(groups, trials) for trials in ((0, 1), (2, 3))]),
    ]


def _joined(sides: list[list[Event]]) -> list[str]:
    """All real runs of two trials in one, against those of two others: long, and hardly a step is the same."""
    gc.collect()
    whole = min(_milliseconds(compare, *sides) for _ in range(_ROUNDS))
    return ["real runs one after the other", f"{len(sides[0]):,}", f"{whole:,.0f} ms", "", "", "", "200 ms"]


def _one_after_the_other(groups: list[list[list[Event]]], trials: tuple[int, ...]) -> list[Event]:
    runs = [runs[trial] for trial in trials for runs in groups if trial < len(runs)]
    start, end = runs[0][0], runs[0][-1]
    joined = [start]
    for run in runs:
        for event in run[1:-1]:
            parent_id = start["event_id"] if event["parent_id"] == run[0]["event_id"] else event["parent_id"]
            joined.append({**event, "run_id": start["run_id"], "parent_id": parent_id})
    return [*joined, end]


def _real_runs() -> list[list[list[Event]]]:
    """The runs of each task of the airline data, imported into a folder that is gone afterwards."""
    import tempfile

    from agentdbg.config import load_config
    from agentdbg.interop.imports import Importing
    from agentdbg.interop.sources import Source
    from agentdbg.storage import list_runs, load_events

    path = _DATA / "taubench-airline" / "gpt-4o-airline.json"
    if not path.exists():
        return []
    with tempfile.TemporaryDirectory() as folder:
        config = load_config({"AGENTDBG_DATA_DIR": folder})
        for _ in Importing(config).take(Source(path), "auto")[1]:
            pass
        groups: dict[Any, list[list[Event]]] = {}
        for run in list_runs(None, folder):
            groups.setdefault(run["metadata"]["task_id"], []).append(list(load_events(run["run_id"], folder)))
    return list(groups.values())


def _milliseconds(function: Any, *arguments: Any) -> float:
    """Processor time of one call."""
    began = time.process_time()
    function(*arguments)
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    print(diff_tables())
