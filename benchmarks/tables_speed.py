"""
Measure the tables: a run of a million events as Parquet, and the questions of docs/sql.md over ten thousand runs.

    python benchmarks/tables_speed.py [--events N] [--runs N]
    python -m benchmarks tables

Each figure is a whole process from its start to its end, as a user waits for it, with the processor time beside it:
on a busy machine only the latter says what the work costs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.made_up_runs import write_long_run, write_many_runs

__all__ = ["questions", "tables_tables"]

ROOT = Path(__file__).resolve().parent.parent
EVENTS = 1_000_000
RUNS = 10_000
_COMMAND = """
import sys, time
began = time.perf_counter()
from agentdbg.cli import main
try: main()
except SystemExit as leaving: assert not leaving.code, leaving.code
# Not getrusage, whose peak begins with that of the process that started this one.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.perf_counter() - began, time.process_time(), peak, file=sys.stderr)
"""


class Cost(NamedTuple):
    """What a command took."""

    seconds: float
    processor_s: float
    peak_mb: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s ({self.processor_s:.1f} s of processor), {self.peak_mb:.0f} MB"


def tables_tables(events: int = EVENTS, runs: int = RUNS) -> str:
    """The table of what tables cost, as Markdown."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        rows = [*_exporting(root / "long", events), *_asking(root / "many", runs)]
    lines = ["| what | measured | wanted |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n\n"


def _exporting(root: Path, events: int) -> list[tuple[str, str, str]]:
    rows = []
    for count in (events // 10, events):
        folder = root / str(count)
        run_id = write_long_run(folder, count)
        size = (folder / "runs" / run_id / "events.jsonl").stat().st_size / 1e6
        cost = _run(folder, "export", run_id, "--format", "parquet", "--out", str(folder / "tables"))
        written = (folder / "tables" / "events.parquet").stat().st_size / 1e6
        what = f"`agentdbg export --format parquet`, {count:,} events, {size:,.0f} MB of log into {written:,.0f} MB"
        rows.append((what, str(cost), f"{90 * count / EVENTS:.0f} s, the same memory"))
    return rows


def _asking(root: Path, runs: int) -> list[tuple[str, str, str]]:
    total = write_many_runs(root, runs)
    cold = _run(root, "sql", "select status, count(*) from runs group by status")
    rows = [(f"`agentdbg sql` about {runs:,} runs, `runs` alone, nothing read before", str(cold), "seconds")]
    cold = _run(root, "sql", "select count(*) from events")
    rows.append((f"the first question about their {total:,} events, which reads them", str(cold), "a minute, once"))
    cold = _run(root, "sql", "select count(*) from findings")
    rows.append(("the first question about findings, which judges every run", str(cold), "a minute, once"))
    costs = [(title, _run(root, "sql", question)) for title, question in questions()]
    slowest = max(costs, key=lambda cost: cost[1].seconds)
    median = sorted(cost for _, cost in costs)[len(costs) // 2]
    rows.append(("a question after that, the median of ten", str(median), "seconds"))
    rows.append((f"the slowest of ten: {slowest[0].lower()}", str(slowest[1]), "seconds"))
    return rows


def questions() -> list[tuple[str, str]]:
    """The questions of the page, by their headings."""
    page = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    found = re.findall(r"^### \d+\. (.+?)\n(?:.*?)^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [(str(title), str(question)) for title, question in found]


def _run(data_dir: Path, *arguments: str) -> Cost:
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    seconds, processor_s, peak = done.stderr.split()[-3:]
    return Cost(float(seconds), float(processor_s), int(peak) / 1000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--runs", type=int, default=RUNS)
    chosen = parser.parse_args()
    print(tables_tables(chosen.events, chosen.runs))
