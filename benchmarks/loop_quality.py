"""
Measure what the loop detector finds, and what it cries wolf over, on made and on real runs.

    python benchmarks/loop_quality.py [--data DIR] [--seeds N] [--verbose]

DIR holds public trajectories (`taubench-airline`, `swe-agent`, `trail`, `openhands`); what is not there is skipped.
Prints the Markdown table of docs/loops.md, and below it every run that came out wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentdbg.loops import LoopDetector, LoopFinding
from benchmarks.loop_traces import HEALTHY, LOOPING, chat_run, openhands_run, swe_agent_run, trail_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event

KNOWN_LOOPS = {
    "airline 9/2": "book_reservation",
    "airline 13/0": "update_reservation_flights",
    "airline 8/1": "book_reservation",
    "airline 11/2": "book_reservation",
    "trail 59365b27": "page_down",
    "swe-agent eps": "submit",
}

_MOST_FALSE_WARNINGS = 2


def judge(events: Iterable[Event], window: int = 12, repetitions: int = 3) -> list[LoopFinding]:
    """All findings of one run, as they would have been written."""
    detector = LoopDetector(window, repetitions)
    found = [finding for event in events if (finding := detector.observe(event)) is not None]
    last = detector.finish()
    return found if last is None else [*found, last]


def main() -> int:
    """Print the table; 1 when the detector does worse than it promises."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("AGENTDBG_TRAJECTORIES", "../shared/data")))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    rows: list[tuple[str, list[tuple[str, list[LoopFinding], list[Event]]]]] = []
    for title, traces in (("made, looping", LOOPING), ("made, healthy", HEALTHY)):
        made = []
        for name, make in traces.items():
            for seed in range(options.seeds):
                events = make(random.Random(f"{name} {seed}"))
                made.append((f"{name}, seed {seed}", judge(events, window=60), events))
        rows.append((title, made))
    rows += real_runs(options.data)

    print(
        "| runs | number | nothing | info only | warning | critical | repetition | cycle | error_retry | stall | echo |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for title, judged in rows:
        print(table_row(title, [found for _, found, _ in judged]))
    if options.verbose:
        tell(rows)
    return verdict(rows)


def real_runs(data: Path) -> list[tuple[str, list[tuple[str, list[LoopFinding], list[Event]]]]]:
    """The public trajectories that are there, judged with the default settings."""
    rows = []
    airline = data / "taubench-airline" / "gpt-4o-airline.json"
    if airline.exists():
        runs = json.loads(airline.read_text())
        for title, reward in (("tau-bench airline, solved", 1.0), ("tau-bench airline, failed", 0.0)):
            judged = []
            for run in runs:
                if run["reward"] == reward:
                    events = chat_run(run["traj"], "gpt-4o")
                    judged.append((f"airline {run['task_id']}/{run['trial']}", judge(events), events))
            rows.append((title, judged))
    for title, folder, pattern in (
        ("SWE-agent demonstrations", "swe-agent", "*.traj"),
        ("TRAIL traces", "trail", "*.json"),
        ("OpenHands", "openhands", "*.jsonl"),
    ):
        judged = []
        for path in sorted((data / folder).glob(pattern)):
            events = _converted(folder, path)
            judged.append((f"{folder} {path.stem[:8]}".strip(), judge(events), events))
        if judged:
            rows.append((title, judged))
    return rows


def _converted(folder: str, path: Path) -> list[Event]:
    if folder == "openhands":
        return openhands_run(path)
    content = json.loads(path.read_text())
    return swe_agent_run(content) if folder == "swe-agent" else trail_run(content)


def table_row(title: str, judged: list[list[LoopFinding]]) -> str:
    """One line of the table: runs by their worst finding, then runs by kind."""
    worst = [max((("info", "warning", "critical").index(f.severity) for f in found), default=-1) for found in judged]
    kinds = ("repetition", "cycle", "error_retry", "stall", "echo")
    by_kind = [sum(any(finding.kind == kind for finding in found) for found in judged) for kind in kinds]
    cells = [title, len(judged), *(worst.count(level) for level in (-1, 0, 1, 2)), *by_kind]
    return f"| {' | '.join(map(str, cells))} |"


def tell(rows: list[tuple[str, list[tuple[str, list[LoopFinding], list[Event]]]]]) -> None:
    """Every finding above info of every real run."""
    for title, judged in rows:
        if not title.startswith("made"):
            for name, found, events in judged:
                places = {event["event_id"]: place for place, event in enumerate(events, 1)}
                for finding in found:
                    if finding.severity != "info":
                        at = [places[event_id] for event_id in finding.evidence_event_ids]
                        print(
                            f"{name} of {len(events)}: {finding.severity} {finding.kind} at {at}: {finding.explanation}"
                        )


def verdict(rows: list[tuple[str, list[tuple[str, list[LoopFinding], list[Event]]]]]) -> int:
    """Name what came out wrong; 1 when it is more than the detector promises."""
    wrong: list[str] = []
    tolerated: list[str] = []
    for title, judged in rows:
        for name, found, _ in judged:
            severe = [finding for finding in found if finding.severity != "info"]
            if title == "made, looping" and not severe:
                wrong.append(f"missed: {name}")
            if title == "made, looping" and name.startswith("cycle") and "noise" not in name and len(found) != 1:
                wrong.append(f"told {len(found)} times: {name}")
            if name in KNOWN_LOOPS and not any(KNOWN_LOOPS[name] in finding.pattern for finding in severe):
                wrong.append(f"known loop missed: {name}")
            if severe and (title == "made, healthy" or title.endswith("solved")):
                critical = any(finding.severity == "critical" for finding in severe)
                only_warned = title.endswith("solved") and not critical
                (tolerated if only_warned else wrong).append(f"false alarm: {name}: {severe[0].explanation}")
    if len(tolerated) > _MOST_FALSE_WARNINGS:
        wrong += tolerated
    print("\nWhat came out wrong:" if wrong or tolerated else "\nNothing came out wrong.")
    for line in dict.fromkeys(wrong + tolerated):
        print(f"- {line}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
