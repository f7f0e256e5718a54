"""
One replay from its beginning to its report, for the command, for `agentdbg.replay(…)` and for tests.

`Replay.start` closes the machine and lets the session answer; `stop` undoes all of it; `report` says how it went.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.config import load_config
from agentdbg.control.effects_guard import Allowed, Paused, guard, not_guarded, open_sockets
from agentdbg.control.inputs import LiveInputs
from agentdbg.control.replay_verdict import keep_verdicts
from agentdbg.control.session import Session
from agentdbg.control.sleeping import skip_sleep
from agentdbg.control.surroundings import (
    DivertedLogs,
    RecordedClock,
    missing_keys,
    seed_random,
    stand_in_for_keys,
)
from agentdbg.recorder.context import live_runs
from agentdbg.recorder.deciders import add_decider, remove_decider
from agentdbg.recorder.limits import limit_live_calls_only
from agentdbg.recorder.run_lifecycle import recently_ended, when_whole
from agentdbg.recorder.run_log import redactor_of, set_origin
from agentdbg.recorder.source_lines import user_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentdbg.control.plan import Plan
    from agentdbg.control.recorded_runs import Opened
    from agentdbg.control.volatile_inputs import VolatileRule

__all__ = ["Replay", "ReplayOptions"]

_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


@dataclass(frozen=True)
class ReplayOptions:
    """How to replay."""

    any_lane: bool = False
    on_divergence: str = "stop"
    until: str | None = None
    """The id of the event to stop at."""
    volatile: Sequence[VolatileRule] = ()
    allow: Sequence[tuple[str, str]] = ()
    clock: str = "recorded"
    keep_sleep: bool = False
    is_guarded: bool = True
    plan: Plan | None = None
    origin: dict[str, Any] | None = None
    """What the new runs say of where they come from, if it is more than a replay."""
    notes: list[str] = field(default_factory=list)


class Replay:
    """A recording that a program is answered from."""

    def __init__(self, opened: Opened, options: ReplayOptions | None = None) -> None:
        self.opened = opened
        self.options = options or ReplayOptions()
        self._config = load_config()
        self.session = Session(
            opened.runs,
            LiveInputs(redactor_of(self._config)),
            plan=self.options.plan,
            any_lane=self.options.any_lane,
            on_divergence=self.options.on_divergence,
            until=self.options.until,
            volatile=self.options.volatile,
        )
        self.not_controlled: list[str] = []
        self.missing_keys: list[str] = []
        """Keys that the environment lacks; something that is no key stands for them where nothing can go live."""
        self.open_before: list[str] = []
        """Connections that were open when the replay began; what goes over them is not seen."""
        self.started = time.monotonic()
        self.seconds: float | None = None
        self._undo: list[Callable[[], object]] = []
        self._opening: list[Callable[[], object]] = []
        """What lets calls and effects through again."""
        self.temporary = ""
        """A private folder: the only place that the program may write to."""

    def start(self) -> None:
        """Answer the program from here on, and close the machine."""
        self.started = time.monotonic()
        if self.opened.head.get("whole"):
            for tell in when_whole:
                tell()
        recorded = self.opened.main.run_id
        set_origin(self.options.origin or {"mode": "replay", "parent_run_id": recorded, "root_run_id": recorded})
        self._undo.append(lambda: set_origin(None))
        if (self.options.origin or {}).get("mode") == "fork":
            limit_live_calls_only(True)
            self._undo.append(lambda: limit_live_calls_only(False))
        self._set_temporary_folder()
        self.session.inputs.chance.temporary = self.temporary
        self._undo.append(self.session.inputs.chance.watch())
        self._set_keys()
        if not self.options.keep_sleep:
            self._undo.append(skip_sleep(self.session.time.sleep))
        self._set_clock()
        self._note(seed_random(self.opened.head.get("seed")))
        if self.options.is_guarded:
            self.open_before = open_sockets()
            allowed = Allowed(self.options.allow, [self.temporary])
            logs = DivertedLogs(self.temporary, allowed.folders)
            self._undo.append(logs.stop)
            self.session.on_live.append(logs.give_back)
            guard.arm(self._effect, allowed, self._may_write)
            self._opening.append(guard.disarm)
            self.session.on_live.append(guard.disarm)
        for decider in self.session.plan.deciders:
            add_decider(decider)
            self._opening.append(lambda decider=decider: remove_decider(decider))  # type: ignore[misc]
        add_decider(self.session)
        self._opening.append(lambda: remove_decider(self.session))

    def close_calls(self) -> None:
        """The program is over; only daemon threads may be left, and what one of them calls from here on is refused."""
        still_open = list(live_runs.values())
        if still_open and not self.session.is_live:
            self.session.is_over = True
            live_runs["over"] = still_open[0]  # as long as there is any, all calls are asked about

    def stop(self, *, stays_closed: bool = False) -> None:
        """Let the program be on its own again; where its process ends, threads that go on are to do nothing more."""
        if self.seconds is None:
            self.seconds = time.monotonic() - self.started
            self.session.finish()
        self.session.is_over = True
        if stays_closed and not self.session.is_live:
            Paused().__enter__()  # only this thread has anything left to do
        else:
            while self._opening:
                self._opening.pop()()
        while self._undo:
            self._undo.pop()()

    def _set_keys(self) -> None:
        if self.options.is_guarded:
            asked = (call.name for run in self.opened.runs for call in run.recording.calls if call.kind == "http")
            self.missing_keys = missing_keys(self.opened.head.get("keys"), asked)
            if self.options.on_divergence != "live":  # a live call needs the real one
                self._undo.append(stand_in_for_keys(self.missing_keys))

    def _set_clock(self) -> None:
        started = self.opened.head.get("started")
        if self.options.clock == "recorded" and isinstance(started, (int, float)):
            clock = RecordedClock(started)
            problem = clock.set_back()
            self._note(problem)
            chance = self.session.inputs.chance
            chance.has_recorded_clock = problem is None
            chance.read_from = time.monotonic()
            self.session.on_served.append(clock.jump)
            self.session.on_served.append(lambda *_: setattr(chance, "read_from", time.monotonic()))
            self._undo.append(clock.stop)

    def _note(self, what: str | None) -> None:
        if what is not None:
            self.not_controlled.append(what)

    def _set_temporary_folder(self) -> None:
        """A private folder for temporary files: the only place that the program may write to."""
        before = {name: os.environ.get(name) for name in _TEMPORARY}
        known = tempfile.tempdir
        self.temporary = tempfile.mkdtemp(prefix="agentdbg-replay-")
        for name in _TEMPORARY:
            os.environ[name] = self.temporary
        tempfile.tempdir = None

        def restore() -> None:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            tempfile.tempdir = known
            with Paused():
                shutil.rmtree(self.temporary, ignore_errors=True)

        self._undo.append(restore)

    def _effect(self, what: str) -> BaseException | None:
        return self.session.note_effect(what, user_source(2))

    def _may_write(self, path: str) -> bool:
        """What the recorder itself writes: into the data folder, but not into runs that were there before."""
        data_dir = os.path.realpath(self._config.data_dir)
        if path == data_dir:
            return True
        if not path.startswith(os.path.join(data_dir, "")):
            return False
        parts = os.path.relpath(path, data_dir).split(os.sep)
        if parts[0] != "runs" or len(parts) == 1:
            return True
        own = {*live_runs, *(run.run_id for run in recently_ended())}
        return parts[1] in own or not os.path.exists(os.path.join(data_dir, "runs", parts[1]))

    # What is said of it.

    def keep_verdicts(self) -> None:
        """Let the new runs say how the replay went, when they are over."""
        with Paused():
            keep_verdicts(self.session, self._config.data_dir, redactor_of(self._config))

    @property
    def counts(self) -> dict[str, int]:
        """How many calls were recorded, served and so on, of all runs together."""
        runs = self.session.runs
        found = {"recorded": sum(run.total for run in runs)}
        for name in ("served", "edited", "mock", "live", "run_again", "observed"):
            found[name] = sum(run.counts[name] for run in runs)
        return found

    @property
    def order_kept(self) -> bool:
        """Whether every call ended in its turn."""
        return not any(run.gate.forced for run in self.session.runs)

    @property
    def new_run_id(self) -> str | None:
        """The id of the run that was recorded while replaying the one that was asked for."""
        main = next((run for run in self.session.runs if run.recorded is self.opened.main), None)
        return main.run_id or None if main is not None else None

    @property
    def verdict(self) -> str:
        """equal or diverged."""
        return "equal" if self.session.is_equal else "diverged"

    def report(self, cost_usd: float | None = None) -> dict[str, Any]:
        """What `--report` writes."""
        session, main = self.session, self.opened.main
        first = session.first
        others = [found for found in session.divergences if found is not first]
        return {
            "spec_version": "0.1",
            "run_id": self.new_run_id,
            "recorded": main.run_id or None,
            "verdict": self.verdict,
            "calls": self.counts,
            "divergence": None if first is None else first.to_json(),
            "others": [found.to_json() for found in others[:50]],
            "order_kept": self.order_kept,
            "late_lanes": sum(call.is_late and call.place == 0 for call in main.recording.calls),
            "volatile": [rule.to_json() for rule in session.volatile],
            "not_controlled": self.not_controlled,
            "not_guarded": [*not_guarded(), *(f"open connection to {peer}" for peer in self.open_before)],
            "missing_keys": self.missing_keys,
            "fingerprint": self._fingerprint(),
            "seconds": {"recorded": round(main.seconds, 3), "now": round(self.seconds or 0.0, 3)},
            "cost_usd": {"recorded": main.meta.get("cost_usd"), "now": cost_usd},
        }

    def _fingerprint(self) -> list[dict[str, Any]]:
        now = {
            "python": ".".join(map(str, sys.version_info[:3])),
            "hash_seed": os.environ.get("PYTHONHASHSEED") or "random",
            "cwd": os.getcwd(),
        }
        head = self.opened.head
        return [
            {"what": what, "recorded": head.get(what), "now": value}
            for what, value in now.items()
            if head.get(what) not in (None, value)
        ]
