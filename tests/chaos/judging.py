"""
Start agents, bring chaos to them, read all the time, and judge what is on disk when they are gone.

Every random choice comes from one seed, which is printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.storage import list_runs, load_events
from agentdbg.tape.tape_reader import TapeReader, find_tape

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Chaos", "Reader", "small_disk"]

_AGENT = Path(__file__).with_name("agent.py")
_KEYS = ["spec_version", "event_id", "run_id", "parent_id", "event_type"]
_KEYS += ["ts", "duration_ms", "name", "payload", "meta"]
_FILES = ("run.json", "events.jsonl", "tape.jsonl")
_COUNTED = {"llm_calls": "LLM_CALL", "tool_calls": "TOOL_CALL", "loop_warnings": "LOOP_WARNING"}
_NO_ROOM_FOR = re.compile("agentdbg: cannot write to [^ ]*/runs/([0-9a-f-]{36})")
"""How a run says that it finds no room; where it finds none for its last run.json either, that is the only sign."""
_LONGEST_END_SECONDS = 240
_BALLAST_SECONDS = 0.3
_JUST_NOW_SECONDS = 1.1  # a file without events, made this lately, may have a writer that is just beginning


class Chaos:
    """One data folder, and what agents did to it."""

    def __init__(self, data_dir: Path, seed: int, *, disk: Path | None = None, keep: Path | None = None) -> None:
        self.dice = random.Random(seed)
        self.data_dir = data_dir
        self._keep = keep
        self.wrong: list[str] = []
        self.ways: dict[str, int] = defaultdict(int)
        self.recorded = self.runs = self.dropped = 0
        self.sizes: list[tuple[float, int, int]] = []
        """The clock, bytes of memory and descriptors of agents that were left alone."""
        self._disk = disk
        self._number = 0

    def run_agent(self, seconds: float, way: str) -> None:
        """Let one agent live for so long, end it in one way, and judge what it left."""
        self._number += 1
        self.ways[way] += 1
        read, write = os.pipe()
        full = "full" if self._number % 2 else "room"
        command = [sys.executable, "-W", "ignore", str(_AGENT), str(self.dice.randrange(10**9))]
        lives = seconds if way == "left alone" else 1_000_000
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                [*command, str(lives), str(write), full],
                pass_fds=(write,),
                stderr=errors,
                env={**os.environ, "AGENTDBG_DATA_DIR": str(self.data_dir), "PYTHONFAULTHANDLER": "1"},
                start_new_session=True,
            ) as agent,
        ):
            os.close(write)
            told = _Told(read)
            told.has_begun.wait(_LONGEST_END_SECONDS)
            self._torment(agent, time.monotonic() + seconds)
            self._end(agent, way, told, errors)
            told.join(_LONGEST_END_SECONDS)
            time.sleep(_JUST_NOW_SECONDS)
            said = _all_of(errors)
        if agent.returncode != 0 and way == "left alone":
            self.wrong.append(f"agent {self._number} ended with {agent.returncode}: {_end_of(said)}")
        self._judge(told, said, is_whole=way != "kill")

    def _torment(self, agent: subprocess.Popen[bytes], end: float) -> None:
        while time.monotonic() < end and agent.poll() is None:
            time.sleep(self.dice.uniform(0.005, 0.2))
            agent.send_signal(signal.SIGUSR1)
            if self._disk is not None and self.dice.random() < 0.02:
                self._fill_disk()

    def _fill_disk(self) -> None:
        ballast = self._disk / "ballast" if self._disk is not None else Path()
        with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65_536)
        time.sleep(_BALLAST_SECONDS)
        ballast.unlink()

    def _end(self, agent: subprocess.Popen[bytes], way: str, told: _Told, errors: Any) -> None:
        end = time.monotonic() + _LONGEST_END_SECONDS
        if agent.poll() is not None and way != "left alone":
            self.wrong.append(
                f"agent {self._number} ended by itself with {agent.returncode}: {_end_of(_all_of(errors))}"
            )
        elif way == "kill":
            os.killpg(agent.pid, signal.SIGKILL)
        elif way != "left alone":
            while agent.poll() is None and time.monotonic() < end:
                if not told.is_leaving.is_set():
                    agent.send_signal(signal.SIGTERM if way == "terminate" else signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    agent.wait(1)
        try:
            agent.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            agent.send_signal(signal.SIGABRT)  # faulthandler tells where it hangs
            agent.wait()
            self.wrong.append(f"agent {self._number} hung after {way}: {_end_of(_all_of(errors))}")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(agent.pid, signal.SIGKILL)  # a pool's workers wait for their parent's next word

    # What is left.

    def _judge(self, told: _Told, errors: str, *, is_whole: bool) -> None:
        self.wrong += told.wrong
        self.sizes += told.sizes
        # A fault of ours says that it could not.
        self.wrong += [line for line in errors.splitlines() if "agentdbg: could not" in line or "Fatal Python" in line]
        folders = {folder.name: folder for folder in (self.data_dir / "runs").iterdir()}
        known = {run["run_id"]: run for run in list_runs(data_dir=self.data_dir)}
        without_room = set(_NO_ROOM_FOR.findall(errors))
        for run_id in told.runs | told.events.keys():
            self.runs += 1
            if run_id not in folders or run_id not in known:
                self.wrong.append(f"run {run_id} is not there")
                continue
            self.recorded += len(told.events[run_id])
            self.dropped += int(known[run_id].get("dropped_events") or 0)
            problems = self._problems(
                folders[run_id], known[run_id], told.events[run_id], had_room=is_whole and run_id not in without_room
            )
            if found := [f"run {run_id}: {problem}" for problem in problems]:
                self.wrong += found
                self._keep_wrong(folders[run_id], found, errors)
        for folder in folders.values():  # judged, and out of the way
            shutil.rmtree(folder)

    def _keep_wrong(self, folder: Path, problems: list[str], said: str) -> None:
        """Keep a run that is wrong, and what its agent said, for whoever looks for the reason."""
        if self._keep is not None:
            shutil.copytree(folder, self._keep / folder.name)
            (self._keep / f"{folder.name}.txt").write_text("\n".join([*problems, said]), encoding="utf-8")

    def _problems(self, folder: Path, run: Any, ids: set[str], *, had_room: bool) -> Iterator[str]:
        if run["status"] not in ("ok", "error"):
            yield f"is shown as {run['status']} though its process is gone"
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            yield "its folder is open to others"
        for path in folder.iterdir():
            if stat.S_IMODE(path.stat().st_mode) != 0o600 or path.name not in (
                "run.json",
                "events.jsonl",
                "tape.jsonl",
            ):
                yield f"{path.name}, {stat.S_IMODE(path.stat().st_mode):o}, is left in its folder"
        events = list(load_events(run["run_id"], data_dir=self.data_dir))
        found = [event["event_id"] for event in events]
        if lost := ids - set(found):
            yield f"{len(lost)} of {len(ids)} events were told as recorded and are not there"
        if len(found) != len(set(found)):
            places = [f"{at} {event['event_type']}" for at, event in enumerate(events) if found.count(found[at]) > 1]
            yield f"an event is there twice: {', '.join(places)} of {len(events)}"
        had_room = had_room and not run.get("dropped_events")
        yield from self._problems_of_lines(folder, had_room=had_room)
        if had_room:
            yield from self._problems_of_counts(folder, run, [event["event_type"] for event in events])
        if (tape := find_tape(folder)) is not None:
            with TapeReader(tape) as reader:
                reader.find("")

    def _problems_of_lines(self, folder: Path, *, had_room: bool) -> Iterator[str]:
        content = (folder / "events.jsonl").read_bytes()
        for line in content.splitlines():
            try:
                event = json.loads(line.decode("utf-8"))
                if list(event) != _KEYS or len(line) > 1_000_000:
                    yield f"a line has the keys {list(event)} and {len(line)} bytes"
            except ValueError:
                if had_room:  # a full disk cuts a line, and says so
                    yield f"a line is damaged: {line[:80]!r}"

    def _problems_of_counts(self, folder: Path, run: Any, types: list[str]) -> Iterator[str]:
        if not types and not (folder / "run.json").exists():
            return  # from its beginning to its end there was no room
        if types[:1] != ["RUN_START"] or types.count("RUN_END") != 1:
            yield f"begins with {types[:1]} and has {types.count('RUN_END')} ends"
        path = folder / "run.json"
        if path.exists() and json.loads(path.read_bytes())["status"] == "running":  # a cache, for which no room may be
            yield "its run.json says running"
        for counter, kind in (
            ("llm_calls", "LLM_CALL"),
            ("tool_calls", "TOOL_CALL"),
            ("loop_warnings", "LOOP_WARNING"),
        ):
            if run["counts"][counter] != types.count(kind):
                yield f"{run['counts'][counter]} {counter} are counted, {types.count(kind)} are there"


def _all_of(errors: Any) -> str:
    """What an agent said on stderr; it is gone."""
    errors.seek(0)
    return str(errors.read().decode(errors="replace"))


def _end_of(said: str) -> str:
    return "\n".join(line for line in said.splitlines() if not _NO_ROOM_FOR.search(line))[-6_000:]


class _Told(threading.Thread):
    """Hears what an agent tells, until it and its children are gone."""

    def __init__(self, read: int) -> None:
        super().__init__(daemon=True)
        self.runs: set[str] = set()
        self.events: dict[str, set[str]] = defaultdict(set)
        self.wrong: list[str] = []
        self.sizes: list[tuple[float, int, int]] = []
        self.has_begun = threading.Event()
        self.is_leaving = threading.Event()
        self._read = read
        self.start()

    def run(self) -> None:
        with os.fdopen(self._read, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                kind, _, rest = line.strip().partition(" ")
                words = rest.split()
                self.has_begun.set()
                if kind == "run":
                    self.runs.add(rest)
                elif kind == "event" and len(words) == 2:
                    self.events[words[0]].add(words[1])
                elif kind == "leaves":
                    self.is_leaving.set()
                elif kind == "stays":
                    self.is_leaving.clear()
                elif kind == "wrong":
                    self.wrong.append(rest)
                elif kind == "size":
                    self.sizes.append((time.monotonic(), int(words[0]), int(words[1])))


class Reader(threading.Thread):
    """A viewer, and somebody who asks it for everything all the time."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(daemon=True)
        self.wrong: list[str] = []
        self.asked = 0
        self._ended = threading.Event()
        self._environment = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)}
        command = [sys.executable, "-m", "agentdbg", "view", "--no-browser", "--json", "--port", "0"]
        self._viewer = subprocess.Popen(command, env=self._environment, stdout=subprocess.PIPE)
        assert self._viewer.stdout is not None
        said = json.loads(self._viewer.stdout.readline())
        self._url = said["url"].partition("?")[0].partition("#")[0].rstrip("/")
        self.start()

    def run(self) -> None:
        while not self._ended.wait(0.05):
            runs = self._ask("/api/runs?limit=20")
            for run in (runs or {}).get("runs", [])[:5]:
                for rest in ("", "/events?limit=50", "/rows?limit=50"):
                    self._ask(f"/api/runs/{run['run_id']}{rest}")

    def _ask(self, path: str) -> Any:
        self.asked += 1
        try:
            with urllib.request.urlopen(self._url + path, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code != 404:  # judged and deleted meanwhile
                self.wrong.append(f"the viewer answered {error.code} to {path}")
        except (OSError, ValueError) as error:
            if not self._ended.is_set():
                self.wrong.append(f"the viewer did not answer {path}: {error!r}")
        return None

    def size(self) -> tuple[int, int]:
        """The viewer's bytes of memory, and its descriptors."""
        statm = Path(f"/proc/{self._viewer.pid}/statm").read_text().split()
        return int(statm[1]) * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{self._viewer.pid}/fd"))

    def end(self) -> None:
        self._ended.set()
        self.join(120)
        self._viewer.terminate()
        self._viewer.communicate(timeout=60)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A file system of its own for the runs, which can be full; None where nobody may mount one."""
    folder.mkdir()
    size = "size=64m,mode=700"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=False, capture_output=True)
    try:
        yield folder if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=False)
