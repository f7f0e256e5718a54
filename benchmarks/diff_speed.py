"""
What comparing two runs costs: every same-task pair of real runs where they are at hand, and long made-up runs.

`python benchmarks/diff_speed.py` prints milliseconds of processor time, the best of a few rounds; nothing is written.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from agentdbg.analysis.diff import compare, compare_rows, make_patch
from agentdbg.events import new_id, utc_timestamp

if TYPE_CHECKING:
    from agentdbg.events import Event

_DATA = Path(os.environ.get("AGENTDBG_TRAJECTORIES", Path(__file__).parents[2] / "shared" / "data"))
_TOOLS = ("search_flights", "get_user", "book_flight", "calculate", "send_mail", "think")
_WORDS = ("the", "flight", "leaves", "at", "noon", "and", "costs", "less", "than", "you", "said", "with", "two", "bags")
_WINDOW = 12


def main() -> None:
    """Measure and print."""
    _print_real_pairs()
    for count in (2_000, 50_000):
        _print_made_up(count)


def _print_real_pairs() -> None:
    groups = _real_runs()
    if not groups:
        print("real pairs: the public trajectories are not here")
        return
    pairs = [pair for runs in groups for pair in combinations(runs, 2)]
    times = sorted(min(_milliseconds(compare, a, b) for _ in range(3)) for a, b in pairs)
    print(
        f"{len(pairs)} real pairs of up to {max(len(run) for runs in groups for run in runs)} events: "
        f"median {statistics.median(times):.1f} ms, slowest {times[-1]:.1f} ms a pair"
    )


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


def _print_made_up(count: int) -> None:
    a = _made_up_run(count, random.Random(1), drift=0.0)
    for label, drift in (("one step in ten differs", 0.1), ("every other step differs", 0.5)):
        b = _made_up_run(count, random.Random(1), drift=drift)
        rounds = 5 if count < 10_000 else 1
        whole = min(_milliseconds(compare, a, b) for _ in range(rounds))
        light = min(_milliseconds(compare_rows, a, b) for _ in range(rounds))
        patched = _milliseconds(make_patch, a, b, compare(a, b))
        print(
            f"{len(a):,} and {len(b):,} events, {label}: compare {whole:,.0f} ms, as light rows {light:,.0f} ms, "
            f"patch {patched:,.0f} ms"
        )


def _made_up_run(count: int, chance: random.Random, drift: float) -> list[Event]:
    """Turns of a model call and a tool, each prompt the last messages; `drift` is how many turns go another way."""
    other = random.Random(2)
    start = _event("RUN_START", "agent", {"run_name": "agent"}, None)
    events = [start]
    messages: list[Any] = []
    while len(events) < count - 1:
        tool, city = chance.choice(_TOOLS), chance.randrange(10_000)
        question, thought = _sentence(chance), _sentence(chance)
        if other.random() < drift:
            kind = other.random()
            if kind < 0.4:
                thought = _sentence(other)
            elif kind < 0.7:
                city = other.randrange(10_000)
            elif kind < 0.85:
                continue
            else:
                _add_turn(events, messages, start, _sentence(other), _sentence(other), "calculate", other.randrange(99))
        _add_turn(events, messages, start, question, thought, tool, city)
    return [*events, _event("RUN_END", "run_end", {"status": "ok", "summary": {}}, start)]


def _add_turn(
    events: list[Event], messages: list[Any], start: Event, question: str, thought: str, tool: str, city: int
) -> None:
    messages.append({"role": "user", "content": question})
    args = {"city": city, "seats": 2, "note": "window"}
    answer = {"role": "assistant", "content": thought, "tool_calls": [{"id": new_id(), "name": tool, "args": args}]}
    call = _event(
        "LLM_CALL",
        "gpt-4o",
        {
            "model": "gpt-4o",
            "prompt": [{"role": "system", "content": "Help."}, *messages[-_WINDOW:]],
            "response": answer,
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            "status": "ok",
            "error": None,
        },
        start,
    )
    result = {"flights": [{"number": f"HAT{city + at}", "price": city * 3 + at} for at in range(3)]}
    payload = {"tool_name": tool, "args": args, "result": result, "status": "ok", "error": None}
    events += [call, _event("TOOL_CALL", tool, payload, call)]
    messages += [answer, {"role": "tool", "content": str(result)}]


def _sentence(chance: random.Random) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(25)) + f" {chance.randrange(10**6)}."


def _event(event_type: str, name: str, payload: dict[str, Any], parent: Event | None) -> Event:
    return {
        "spec_version": "0.1",
        "event_id": new_id(),
        "run_id": "",
        "parent_id": parent["event_id"] if parent else None,
        "event_type": event_type,
        "ts": utc_timestamp(),
        "duration_ms": None,
        "name": name,
        "payload": payload,
        "meta": {},
    }


def _milliseconds(function: Any, *arguments: Any) -> float:
    """Processor time of one call."""
    began = time.process_time()
    function(*arguments)
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    main()
