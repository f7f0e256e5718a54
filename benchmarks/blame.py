"""
Measure whether `agentdbg explain` names the step that caused a failure.

    python benchmarks/blame.py [--data DIR] [--seeds N]

Made runs: several agents talk, call tools or write code, one step is spoilt in a known way, others look as bad and are
harmless. Written runs: talks written by hand, half of which were looked at while the rules were made (`dev`).
Real runs: the tau-bench airline runs of DIR, if they are there. The cause of a failed one is taken to be the first
write that no passing run of the same task made; runs without one, or without a passing run, are left out. What looks
for suspects is not told the reward. The rates are counted over the made and written runs: of all suspects of a kind
that were named, how many are the cause. Prints the Markdown tables of docs/findings.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentdbg.analysis.beside import told_beside
from agentdbg.analysis.effects import read_effects
from agentdbg.analysis.findings import examine
from benchmarks.blame_runs import FAULTS, Talk, healthy, spoilt, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.events import Event

_GUESSES = ("first suspect", "among three", "a random step", "the first step", "the last step")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("AGENTDBG_TRAJECTORIES", "../shared/data")))
    parser.add_argument("--seeds", type=int, default=40)
    options = parser.parse_args()
    print(f"| failed runs | runs | {' | '.join(_GUESSES)} | no finding |")
    print(f"|---|---|{'---|' * (len(_GUESSES) + 1)}")
    for kind in FAULTS:
        _print_row(f"made, {kind}", made(kind, options.seeds))
    for half, title in (("dev", "looked at"), ("held", "held out")):
        _print_row(f"written, {title}", [(talk.events, talk.cause) for _, talk in written(half)])
    for title, labelled in _airline_failures(options.data):
        _print_row(title, labelled)
    print("\n| suspects of the kind | named | the cause |\n|---|---|---|")
    for kind, (right, named) in sorted(rates(options.seeds).items(), key=lambda item: -item[1][0] / item[1][1]):
        print(f"| `{kind}` | {named} | {right} ({100 * right / named:.0f} %) |")
    _print_beside(options.data)
    print("\n| healthy runs | runs | critical | warning | info |\n|---|---|---|---|---|")
    _print_healthy("made", [healthy(random.Random(seed)).events for seed in range(options.seeds)])
    passing = [run for runs in _airline(options.data).values() for run, reward in runs if reward == 1]
    if passing:
        _print_healthy("airline, solved", passing)
    return 0


def made(kind: str, seeds: int) -> list[tuple[list[Event], int]]:
    """Made failures of one kind, each with the number of its cause."""
    talks = [spoilt(kind, random.Random(seed)) for seed in range(seeds)]
    return [(talk.events, talk.cause) for talk in talks]


def rates(seeds: int) -> dict[str, tuple[int, int]]:
    """How many of the suspects of each kind are the cause, in runs known to have failed, and how many were named."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    labelled = [pair for kind in FAULTS for pair in made(kind, seeds)]
    labelled += [(talk.events, talk.cause) for half in ("dev", "held") for _, talk in written(half)]
    for events, cause in labelled:
        meta: Any = {"status": "ok", "mark": {"outcome": "failed"}}
        for suspect in examine(events, meta).suspects:
            found[suspect.kind][0] += suspect.number == cause
            found[suspect.kind][1] += 1
    return {kind: (right, named) for kind, (right, named) in found.items()}


def _print_beside(data: Path) -> None:
    """Whether the first difference from a passing run names a write that is wrong, or one that is missing."""
    path = data / "taubench-airline" / "gpt-4o-airline.json"
    if not path.is_file():
        return
    tasks: dict[Any, list[Any]] = defaultdict(list)
    for run in json.loads(path.read_text("utf-8")):
        tasks[run["task_id"]].append((run, _events(run["traj"])))
    named = total = 0
    for runs in tasks.values():
        passing: Any = [
            ({"run_id": str(at), "run_name": ""}, events) for at, (run, events) in enumerate(runs) if run["reward"] == 1
        ]
        for run, events in runs:
            if passing and run["reward"] != 1:
                total += 1
                named += _names_the_write(run, events, passing)
    print(f"\nBeside a passing run of the same task: the wrong or missing write is named in {named} of {total}.")


def _names_the_write(run: Any, events: list[Event], passing: Any) -> bool:
    beside = told_beside(events, passing)
    if beside is None:
        return False
    right = {_asked_for(action["name"], action["kwargs"]) for action in run["info"]["task"]["actions"]}
    number, other = beside.lines[0]["n"], beside.theirs[0]
    if number is not None:
        event = events[number - 1]
        return event["event_type"] == "TOOL_CALL" and _asked_for(event["name"], event["payload"]["args"]) not in right
    theirs = next(events for meta, events in passing if meta["run_id"] == beside.run_id)
    event = theirs[(other or 1) - 1]
    return _asked_for(event["name"], event["payload"]["args"]) in right


def _asked_for(name: str, args: Any) -> str:
    return f"{name} {json.dumps(args, sort_keys=True)}"


def _print_row(title: str, labelled: Sequence[tuple[list[Event], int]]) -> None:
    if not labelled:
        return
    hits = dict.fromkeys(_GUESSES, 0.0)
    silent = 0
    for events, cause in labelled:
        decisions = [number for number, event in enumerate(events, 1) if event["event_type"] == "LLM_CALL"]
        meta: Any = {"status": "ok", "mark": {"outcome": "failed"}}
        named = [suspect.number for suspect in examine(events, meta).suspects]
        hits["first suspect"] += named[:1] == [cause]
        hits["among three"] += cause in named
        hits["a random step"] += 1 / len(decisions)
        hits["the first step"] += decisions[0] == cause
        hits["the last step"] += decisions[-1] == cause
        silent += not [finding for finding in examine(events).findings if finding.kind != "time_spent"]
    shares = " | ".join(f"{100 * hits[guess] / len(labelled):.0f} %" for guess in _GUESSES)
    print(f"| {title} | {len(labelled)} | {shares} | {100 * silent / len(labelled):.0f} % |")


def _print_healthy(title: str, runs: Sequence[list[Event]]) -> None:
    worst: dict[str, int] = defaultdict(int)
    for events in runs:
        severities = {finding.severity for finding in examine(events).findings if finding.kind != "time_spent"}
        for severity in ("critical", "warning", "info"):
            if severity in severities:
                worst[severity] += 1
                break
    print(f"| {title} | {len(runs)} | {worst['critical']} | {worst['warning']} | {worst['info']} |")


def _airline(data: Path) -> dict[Any, list[tuple[list[Event], float]]]:
    """The events of every run by its task, with its reward."""
    path = data / "taubench-airline" / "gpt-4o-airline.json"
    tasks: dict[Any, list[tuple[list[Event], float]]] = defaultdict(list)
    if path.is_file():
        for run in json.loads(path.read_text("utf-8")):
            tasks[run["task_id"]].append((_events(run["traj"]), run["reward"]))
    return tasks


def _airline_failures(data: Path) -> Iterable[tuple[str, list[tuple[list[Event], int]]]]:
    halves: dict[int, list[tuple[list[Event], int]]] = {0: [], 1: []}
    for task, runs in _airline(data).items():
        known = {call.signature for run, reward in runs if reward == 1 for call in _writes(run)}
        if not any(reward == 1 for _, reward in runs):
            continue
        for run, reward in runs:
            wrong = next((call.number for call in _writes(run) if call.signature not in known), None)
            if reward != 1 and wrong is not None:
                before = [number for number in range(1, wrong) if run[number - 1]["event_type"] == "LLM_CALL"]
                halves[int(task) % 2].append((run, before[-1]))
    yield "airline, even tasks", halves[0]
    yield "airline, odd tasks", halves[1]


def _writes(events: list[Event]) -> list[Any]:
    return [call for call in read_effects(events).found() if call.is_known]


def _events(messages: list[dict[str, Any]]) -> list[Event]:
    """A chat with tool calls as a run that says nothing of its reward."""
    talk, asked = Talk(random.Random(0)), {}
    for message in messages:
        if message["role"] == "assistant":
            talk.answer(message)
            asked.update({call["id"]: call["function"] for call in message.get("tool_calls") or ()})
        elif message["role"] == "tool":
            call_id = message.get("tool_call_id") or (message.get("tool_call_ids") or [""])[0]
            function, content = asked.get(call_id, {}), str(message["content"])
            error = content[len("Error: ") :] if content.startswith("Error: ") else None
            arguments = json.loads(function.get("arguments") or "{}")
            talk.tool(message.get("name") or function.get("name") or "tool", arguments, content, error)
        else:
            talk.hear(str(message["content"]), message["role"])
    talk.end()
    return talk.events


if __name__ == "__main__":
    sys.exit(main())
