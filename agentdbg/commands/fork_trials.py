"""
Several forks of one step, each in a process of its own, and a table of how they came out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.diff import compare
from agentdbg.analysis.diff.first_change import first_change
from agentdbg.analysis.effects import read_effects
from agentdbg.analysis.families import served_and_live
from agentdbg.commands.terminal import Column, Progress, Terminal
from agentdbg.config import load_config
from agentdbg.control.own_command import start_own_command
from agentdbg.control.value_paths import path_text
from agentdbg.exceptions import UsageError
from agentdbg.index.run_index import load_run_meta
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.storage.reader import load_events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentdbg.commands.replay_words import Words
    from agentdbg.control.edits import Edit
    from agentdbg.control.recorded_runs import Opened

__all__ = ["run_trials"]

_MOST = 100


class _Trial(NamedTuple):
    run_id: str
    status: str
    effects: str
    answer: str
    calls: str
    cost: float | None
    first: str = ""
    """What is first different from the recorded run."""


def run_trials(words: Words, opened: Opened, from_editor: Sequence[Edit] = ()) -> int:
    """Fork so often, print the table, and give the exit code: 1 when what is expected does not hold."""
    count, jobs = _number(words, "--trials", 1), _number(words, "--jobs", 1)
    expected = words.options.get("--expect")
    if expected not in (None, "effects", "answer"):
        raise UsageError(f"--expect is {expected!r}; it can be effects or answer")
    given = list(sys.argv[2:])
    given[words.run_at] = opened.main.run_id or words.run  # `latest` would be another run after the first trial
    own = _without(given, ("--trials", "--jobs", "--expect", "--report"))
    if "--edit" in own:  # asked once, for all of them
        own.remove("--edit")
        own[:0] = [f"--set={path_text(edit.path)}={json.dumps(edit.value)}" for edit in from_editor]
    data_dir = load_config().data_dir
    with Progress("Trials") as progress, ThreadPoolExecutor(jobs) as pool:
        done = []
        for at, trial in enumerate(pool.map(lambda _: _fork_once(own, data_dir, words.folder), range(count)), 1):
            done.append(trial)
            progress.at(at / count)
    parent = _trial(opened.main.run_id, data_dir)
    trials = [trial._replace(first=_first(parent.run_id, trial.run_id, data_dir)) for trial in done if trial]
    _print_table(parent, trials, count)
    if expected is None:
        return 0
    others = sum(trial is None or getattr(trial, expected) != getattr(parent, expected) for trial in done)
    if others:
        sys.stderr.write(f"agentdbg: --expect {expected} is not met: {others} of {count} trials differ in it\n")
    return 1 if others else 0


def _number(words: Words, option: str, default: int) -> int:
    text = words.options.get(option, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise UsageError(f"{option} is {text!r}; it takes a number from 1 to {_MOST}")
    return int(text)


def _without(words: list[str], options: tuple[str, ...]) -> list[str]:
    """The command line of one trial."""
    kept: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*kept, word, *rest]
        if word in options:
            rest[:1] = []
        elif not word.startswith(tuple(f"{option}=" for option in options)):
            kept.append(word)
    return kept


def _fork_once(words: list[str], data_dir: Path, folder: Path) -> _Trial | None:
    with tempfile.TemporaryDirectory(prefix="agentdbg-trial-") as temporary:
        report = os.path.join(temporary, "report.json")
        own = ["fork", "--report", report, *words]
        trial = start_own_command(own, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            trial.wait()
        except BaseException:  # Ctrl-C: the trials end with us
            trial.kill()
            trial.wait()
            raise
        try:
            with open(report, encoding="utf-8") as file:
                run_id = json.load(file)["run_id"]
        except (OSError, ValueError, KeyError):
            return None
    return _trial(run_id, data_dir)


def _trial(run_id: str, data_dir: Path) -> _Trial:
    meta: Any = load_run_meta(run_id, data_dir)
    events = list(load_events(run_id, data_dir))
    effects = [f"{one.name}({json.dumps(one.args, default=str)})" for one in read_effects(events).found()]
    ends = [event for event in events if event["event_type"] in ("LLM_CALL", "RUN_END")]
    answer = next((text for event in reversed(ends) if (text := _answer(event["payload"]))), "")
    served, live = served_and_live(meta) or (0, meta["counts"]["llm_calls"] + meta["counts"]["tool_calls"])
    calls = f"{served} + {live}"
    return _Trial(run_id, meta["status"], ", ".join(effects) or "none", answer, calls, meta.get("cost_usd"))


def _first(parent: str, trial: str, data_dir: Path) -> str:
    """What the trial did otherwise first, after the step that was changed."""
    origin: Any = load_run_meta(trial, data_dir).get("replay") or {}
    diff = compare(load_events(parent, data_dir), load_events(trial, data_dir), effect_rules_of(find_policy()))
    number, said = first_change(diff, (origin.get("at") or {}).get("n"))
    return said if number is None else f"#{number} {said}"


def _answer(payload: dict[str, Any]) -> str:
    found = payload.get("result", payload.get("response"))
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, default=str, ensure_ascii=False)


def _print_table(parent: _Trial, trials: list[_Trial], count: int) -> None:
    out = Terminal()
    columns = [
        Column("run"),
        Column("status"),
        Column("writes", least=12),
        Column("answer", least=12),
        Column("first difference", least=12),
        Column("served + live", right=True),
        Column("cost", right=True),
    ]
    rows = [_row(parent, "recorded"), *(_row(trial, trial.run_id[:8]) for trial in trials)]
    out.table(columns, rows)
    out.line()
    for effects, number in Counter(trial.effects for trial in trials).most_common():
        same = " (as recorded)" if effects == parent.effects else ""
        out.line(f"{number} of {count}: {effects}{same}")
    if len(trials) < count:
        out.line(f"{count - len(trials)} of {count} made no run")


def _row(trial: _Trial, name: str) -> list[str]:
    cost = "" if trial.cost is None else f"${trial.cost:.4f}"
    return [name, trial.status, trial.effects, trial.answer.replace("\n", " "), trial.first, trial.calls, cost]
