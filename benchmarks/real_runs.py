"""
What recording whole runs of real agents costs: histories that grow, sub-agents, long results, ids and code in the text.

The runs come from `../shared/data` where it lies beside the repository; else runs of the same shapes are made up, and
the table says so. Every way records the same runs in turn, and processor time is what counts.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agentdbg
from agentdbg.recorder import run_log
from benchmarks.peers import Peer, batched_opentelemetry, ours, peers
from benchmarks.workloads import different_ones, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["quick_table", "real_tables", "tape_sizes"]

Work = dict[str, Any]
_ROUNDS = 5
_PROMISED_SHARES = {"tau-bench": 15, "SWE-agent": 25, "TRAIL": 45}
"""Per cent of the log that the tape may take."""
_MOST_EVENTS = 400
_USAGE = {"prompt_tokens": 812, "completion_tokens": 64, "total_tokens": 876}


def real_tables() -> str:
    """All tables of this module, as Markdown."""
    runs = {name: _load(name) or _made_up(name) for name in _PROMISED_SHARES}
    found = {name: [work for run in some for work in run] for name, some in runs.items()}
    found["model and tool in turn, all different"] = _different()
    found["texts that name secrets, all different"] = _suspicious()
    where = "real runs" if _folder() is not None else "runs made up to the shapes of real ones"
    parts = [f"These are {where}.\n", _per_event(found), _at_once(found["tau-bench"]), tape_sizes(runs)]
    return "\n".join(parts)


def quick_table() -> str:
    """The rows that count, in seconds: for whoever changes the recorder and wants to know at once."""
    found = {name: [work for run in _load(name) or _made_up(name) for work in run] for name in _PROMISED_SHARES}
    found["model and tool in turn, all different"] = _different()
    return _per_event(found, rounds=3)


# --- what is recorded


def _folder() -> Path | None:
    for folder in (Path("../shared/data"), Path(__file__).parents[2] / "shared" / "data"):
        if (folder / "trail").is_dir():
            return folder
    return None


def _load(name: str) -> list[list[Work]]:
    folder = _folder()
    if folder is None:
        return []
    reader = {"tau-bench": _tau, "SWE-agent": _swe_agent, "TRAIL": _trail}[name]
    return reader(folder)


def _call(prompt: Any, response: Any) -> Work:
    return {"kind": "llm", "name": "gpt-4o", "input": prompt, "output": response, "usage": _USAGE}


def _tool(name: str, given: Any, result: Any) -> Work:
    return {"kind": "tool", "name": name, "input": given, "output": result}


def _conversation(messages: list[dict[str, Any]]) -> list[Work]:
    """The calls that made a conversation: each model call with all that was said before."""
    works: list[Work] = []
    for at, message in enumerate(messages):
        if message.get("role") == "assistant":
            works.append(_call(messages[:at], message))
        elif message.get("role") == "tool" or (works and at and messages[at - 1].get("role") == "assistant"):
            works.append(_tool(str(message.get("name") or "step"), {"at": at}, message.get("content")))
    return works


def _tau(folder: Path) -> list[list[Work]]:
    runs = json.loads((folder / "taubench-airline" / "gpt-4o-airline.json").read_text())
    return [_conversation(run["traj"]) for run in runs]


def _swe_agent(folder: Path) -> list[list[Work]]:
    runs = []
    for path in sorted((folder / "swe-agent").glob("*.traj")):
        history = json.loads(path.read_text()).get("history") or []
        runs.append(_conversation([{"role": str(m.get("role")), "content": m.get("content")} for m in history]))
    return runs


def _trail(folder: Path) -> list[list[Work]]:
    runs = []
    for path in sorted((folder / "trail").glob("*.json")):
        works: list[Work] = []
        waiting = list(reversed(json.loads(path.read_text())["spans"]))
        while waiting:
            span = waiting.pop()
            waiting += reversed(span.get("child_spans") or [])
            facts = span.get("span_attributes") or {}
            kind, given = facts.get("openinference.span.kind"), _parsed(facts.get("input.value"))
            if kind == "LLM":
                works.append(_call(given, _parsed(facts.get("output.value"))))
            elif kind == "TOOL":
                works.append(_tool(str(span["span_name"]), given, facts.get("output.value")))
        runs.append(works)
    return runs


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _made_up(name: str) -> list[list[Work]]:
    """Two agents that take turns, each with a history that grows; long results full of code and ids."""
    chance = random.Random(name)
    longest = {"tau-bench": 600, "SWE-agent": 3_000, "TRAIL": 9_000}[name]
    runs = []
    for _ in range(6):
        works: list[Work] = []
        histories: list[list[dict[str, Any]]] = [
            [{"role": "system", "content": words_of(chance, 500)}] for _ in range(2)
        ]
        for turn in range(30):
            history = histories[turn % 2]
            history.append({"role": "user", "content": _text(chance, longest)})
            answer = {"role": "assistant", "content": _text(chance, longest // 3)}
            works.append(_call(list(history), answer))
            history.append(answer)
            works.append(_tool("run", {"command": _text(chance, 80)}, _text(chance, longest)))
        runs.append(works)
    return runs


def _text(chance: random.Random, size: int) -> str:
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        parts.append(words_of(chance, 12))
        parts.append(f"call_{chance.getrandbits(96):024x} def f_{chance.randrange(99)}(self, token): return self.x")
    return "\n".join(parts)[:size]


def _different() -> list[Work]:
    made = different_ones(_MOST_EVENTS // 2)
    return [work for pair in zip(made["LLM call, 2 KB"], made["tool call"], strict=True) for work in pair]


def _suspicious() -> list[Work]:
    chance = random.Random(3)
    return [
        _call(
            f"{words_of(chance, 150)} password = os.environ['X'] api_key=None token: str {words_of(chance, 50)}", "ok"
        )
        for _ in range(_MOST_EVENTS)
    ]


# --- and how


def through_seams(folder: Path) -> Peer:
    """AgentDbg standing around the calls: CALL_START, the event and the tape."""
    os.environ["AGENTDBG_DATA_DIR"] = str(folder / "seams")
    block = agentdbg.traced_run("benchmark", max_llm_calls=10**9, max_tokens=10**15, max_events=10**9)
    block.__enter__()

    def record(work: Work) -> object:
        if work["kind"] == "llm":
            with agentdbg.llm_call(work["name"], work["input"]) as call:
                call.response, call.usage = work["output"], work["usage"]
        else:
            with agentdbg.tool_call(work["name"], work["input"]) as call:
                call.result = work["output"]
        return None

    return Peer("AgentDbg around calls", record, lambda: block.__exit__(None, None, None))


def _per_event(found: dict[str, list[Work]], rounds: int = _ROUNDS) -> str:
    lines = [
        "| run | way | first round µs | mean µs | p99 µs | p99.9 µs | first round, of OpenTelemetry | middle one |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for label, works in found.items():
        some = works[:_MOST_EVENTS]
        for name, times in _measured(some, rounds).items():
            mean = statistics.fmean(times["mean"])
            shares = [of_round / theirs for of_round, theirs in zip(times["mean"], times["peer"], strict=True)]
            lines.append(
                f"| {label} | {name} | {times['mean'][0]:.0f} | {mean:.0f} | {_at(times['each'], 0.99):.0f} "
                f"| {_at(times['each'], 0.999):.0f} | {shares[0]:.2f} | {statistics.median(shares):.2f} |"
            )
    return "\n".join(lines) + "\n"


def _measured(works: list[Work], rounds: int) -> dict[str, dict[str, list[float]]]:
    """
    µs of processor time: of each event, and the mean of each round beside OpenTelemetry's in the same round.

    In the first round each way starts as in a new process: every message is new, and no automaton has been built.
    """
    results: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds):
        means: dict[str, float] = {}
        for make in (_open(ours), _open(through_seams), *_open_all(peers), _open(batched_opentelemetry)):
            if number == 0:
                run_log._redactor.cache_clear()
            with tempfile.TemporaryDirectory() as folder:
                peer = make(Path(folder))
                each = _times(peer.record, works)
                peer.close()
            means[peer.name] = statistics.fmean(each)
            result = results.setdefault(peer.name, {"mean": [], "each": [], "peer": []})
            result["each"] += each
            result["mean"].append(means[peer.name])
        simple = next(mean for name, mean in means.items() if "simple" in name)
        for result in results.values():
            result["peer"].append(simple)
    return results


def _open(make: Callable[[Path], Peer]) -> Callable[[Path], Peer]:
    return make


def _open_all(make: Callable[[Path], list[Peer]]) -> list[Callable[[Path], Peer]]:
    with tempfile.TemporaryDirectory() as folder:
        count = len(_closed(make(Path(folder))))
    return [_chosen(make, at) for at in range(count)]


def _closed(some: list[Peer]) -> list[Peer]:
    for peer in some:
        peer.close()
    return some


def _chosen(make: Callable[[Path], list[Peer]], at: int) -> Callable[[Path], Peer]:
    def one(folder: Path) -> Peer:
        made = make(folder)
        for number, peer in enumerate(made):
            if number != at:
                peer.close()
        return made[at]

    return one


def _times(record: Callable[[Work], object], works: list[Work]) -> list[float]:
    times = []
    for work in works:
        began = time.process_time_ns()
        record(work)
        times.append((time.process_time_ns() - began) / 1000)
    return times


def _at(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def _at_once(works: list[Work]) -> str:
    """Eight threads, and fifty tasks, each with its own conversation."""
    lines = ["| way | 8 threads, µs an event | 50 tasks, µs an event |", "|---|---|---|"]
    simple = _open_all(peers)[-1]
    for make in (_open(ours), _open(through_seams), simple):
        with tempfile.TemporaryDirectory() as folder:
            peer = make(Path(folder))
            lines.append(f"| {peer.name} | {_in_threads(peer, works):.0f} | {_in_tasks(peer, works):.0f} |")
            peer.close()
    return "\n".join(lines) + "\n"


def _in_threads(peer: Peer, works: list[Work]) -> float:
    """µs of the whole process for an event."""
    parts = [works[number::8][:60] for number in range(8)]
    workers = [threading.Thread(target=lambda part=part: _times(peer.record, part)) for part in parts]
    began = time.process_time_ns()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.process_time_ns() - began) / 1000 / sum(map(len, parts))


def _in_tasks(peer: Peer, works: list[Work]) -> float:
    import asyncio

    parts = [works[number::50][:10] for number in range(50)]

    async def agent(part: list[Work]) -> None:
        for work in part:
            peer.record(work)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*map(agent, parts))

    began = time.process_time_ns()
    asyncio.run(main())
    return (time.process_time_ns() - began) / 1000 / sum(map(len, parts))


def tape_sizes(runs: dict[str, list[list[Work]]] | None = None) -> str:
    """What the tapes take beside the logs."""
    found = runs or {name: _load(name) or _made_up(name) for name in _PROMISED_SHARES}
    lines = ["| runs | events.jsonl | tape.jsonl | share | promised |", "|---|---|---|---|---|"]
    for name, promised in _PROMISED_SHARES.items():
        with tempfile.TemporaryDirectory() as folder:
            for run in found[name]:
                peer = through_seams(Path(folder))
                for work in run:
                    peer.record(work)
                peer.close()
            log, tape = (
                sum(path.stat().st_size for path in Path(folder).rglob(file)) for file in ("events.jsonl", "tape.jsonl")
            )
        shown = f"{log / 1e6:.2f} MB | {tape / 1e6:.2f} MB | {tape / log:.0%}"
        lines.append(f"| {name}, {len(found[name])} | {shown} | ≤ {promised} % |")
    return "\n".join(lines) + "\n"
