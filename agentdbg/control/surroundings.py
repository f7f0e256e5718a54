"""
What a program meets besides its calls: the clock, random numbers, keys, log files.

In a replay the clock shows the time of the recording, and random numbers begin with the recorded seed. What cannot be
controlled is listed in the report.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import importlib
import os
import re
import sys
import time
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

from agentdbg import events
from agentdbg.extra_packages import install_hint
from agentdbg.faults import pass_on
from agentdbg.import_hook import when_imported
from agentdbg.recorder import lanes
from agentdbg.tape.tape_writer import KEY_NAME, MOST_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.tapes import RecordedRun

__all__ = ["RecordedClock", "begin_random", "missing_keys", "seed_random", "stand_in_for_keys"]

_NO_KEY = "no-key-in-a-replay"
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
_KEYS = {
    "/chat/completions": "OPENAI_API_KEY",
    "/responses": "OPENAI_API_KEY",
    "/embeddings": "OPENAI_API_KEY",
    "/v1/messages": "ANTHROPIC_API_KEY",
    "enerateContent": "GEMINI_API_KEY",
}
"""By what a request's path has in it: the key that the provider's own client wants."""
_NO_CLOCK = f"the clock shows the present; `{install_hint('replay')}` brings what sets it back"


class RecordedClock:
    """The time of the recording: it starts there, ticks, and jumps to the end of each served call."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._traveller: Any = None
        self._now: Any = None
        self._undo: list[Callable[[], None]] = []

    def set_back(self) -> str | None:
        """Set the clock; gives what to say when that is not possible."""
        time_machine = _time_machine()
        if time_machine is None:
            return _NO_CLOCK
        hatch = time_machine.escape_hatch.time
        events.clock_ns = hatch.time_ns  # what we record happens now
        moment = dt.datetime.fromtimestamp(self._started, tz=dt.timezone.utc)
        self._traveller = time_machine.travel(moment, tick=True)
        self._now = self._traveller.start()
        for name, default in (("ctime", time.time), ("asctime", time.localtime)):
            self._undo.append(_replace_default(name, default))
        return None

    def jump(self, run: RecordedRun, call: RecordedCall) -> None:
        """A recorded call was handed over: it is as late as it was then. The clock never goes back."""
        if self._now is None:
            return
        began = run.tape.head.get("started")
        if isinstance(began, (int, float)):
            moment = began + call.ended_ms / 1000
            if moment > time.time():
                self._now.move_to(moment)

    def stop(self) -> None:
        """Show the present again."""
        while self._undo:
            self._undo.pop()()
        if self._traveller is not None:
            self._traveller.stop()
            self._traveller = self._now = None
            events.clock_ns = time.time_ns


def _replace_default(name: str, default: Callable[[], Any]) -> Callable[[], None]:
    """Let a function of `time` that is given no moment ask Python for the present one; gives what undoes it."""
    original = getattr(time, name)

    @functools.wraps(original)
    def with_default(moment: Any = None, /) -> Any:
        return original(default() if moment is None else moment)

    setattr(time, name, with_default)
    return lambda: setattr(time, name, original)


def _time_machine() -> Any:
    """The package that sets clocks, an extra; None when it is missing. It would load pytest, for a fixture."""
    has_pytest = "pytest" in sys.modules
    if not has_pytest:
        sys.modules["pytest"] = None  # type: ignore[assignment]  # as Python writes "do not import this"
    try:
        return importlib.import_module("time_machine")
    except ImportError as error:
        pass_on(error)
        return None
    finally:
        if not has_pytest:
            del sys.modules["pytest"]


def seed_random(seed: Any) -> str | None:
    """Begin random numbers as they began in the recording; gives what to say when that is not known."""
    if not isinstance(seed, int):
        return "random numbers: the recording has no seed (`agentdbg run` notes one)"
    begin_random(seed)
    return None


def begin_random(seed: int) -> None:
    """
    Seed `random` and numpy's global generator, as soon as the program has loaded them. Its own seed wins.

    Generators that it makes without a seed begin with one that follows from this one, from who makes them, and from how
    many that has made.
    """
    _seeds.begin(seed)
    when_imported(["random"], lambda _: sys.modules["random"].seed(seed))
    when_imported(["random"], lambda _: _seed_generators(sys.modules["random"]))
    when_imported(["numpy.random"], lambda _: sys.modules["numpy.random"].seed(seed % 2**32))
    when_imported(["numpy.random"], lambda _: _seed_numpy(sys.modules["numpy.random"]))


class _Seeds:
    """The seeds of generators that are made without one."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._process = 0
        self._made: Counter[str] = Counter()

    def begin(self, seed: int | None) -> None:
        self._first, self._process = seed, os.getpid()
        self._made.clear()

    def next(self) -> int | None:
        """The next one; None where chance decides, also in a child of this process, that it may not do the same."""
        if self._first is None or self._process != os.getpid():
            return None
        lane = lanes.here()
        place = "" if lane is None else lane.name
        self._made[place] += 1
        digest = hashlib.sha256(f"{self._first} {place} {self._made[place]}".encode()).digest()
        return int.from_bytes(digest[:8], "big")


_seeds = _Seeds()


@functools.cache
def _seed_generators(module: Any) -> None:
    original = module.Random.seed

    @functools.wraps(original)
    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        original(self, _seeds.next() if a is None else a, version)

    module.Random.seed = seed


@functools.cache
def _seed_numpy(module: Any) -> None:
    original = module.default_rng

    @functools.wraps(original)
    def default_rng(seed: Any = None) -> Any:
        return original(_seeds.next() if seed is None else seed)

    module.default_rng = default_rng


def missing_keys(named: Any, calls: Iterable[str]) -> list[str]:
    """
    The names of the keys that a recorded program had, and the environment lacks.

    `named` are those that were there when the run was recorded, as its tape says: whoever wrote it may have named
    anything. A program may load others later, so the paths that were asked say which, too.
    """
    listed = named[:MOST_KEYS] if isinstance(named, list) else ()
    names = {name for name in listed if isinstance(name, str) and _PLAIN_NAME.fullmatch(name) and KEY_NAME.search(name)}
    names |= {key for path in set(calls) for ending, key in _KEYS.items() if ending in path}
    return sorted(name for name in names if not os.environ.get(name))


def stand_in_for_keys(missing: Iterable[str]) -> Callable[[], None]:
    """
    Set keys to a text that is no key; gives what undoes it.

    Clients of models want a key when they are made. Served calls need none; one that goes out needs the real one, which
    a program may load itself where the environment has none.
    """
    before = {name: os.environ.get(name) for name in missing}
    os.environ.update(dict.fromkeys(before, _NO_KEY))

    def restore() -> None:
        for name, value in before.items():
            if os.environ.get(name) == _NO_KEY:
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    return restore


def forget_seed(recorded: Any) -> Callable[[], None]:
    """What makes random numbers new again when a fork goes live, unless the program has seeded them itself."""
    seeded: list[Any] = []

    def watch(_: Any) -> None:
        module: Any = sys.modules["random"]
        original = module.seed

        @functools.wraps(original)
        def seed(*args: Any, **kwargs: Any) -> None:
            if args != (recorded,):
                seeded.append(args)
            original(*args, **kwargs)

        module.seed = seed

    def forget() -> None:
        if not seeded:
            begin_random(int.from_bytes(os.urandom(8), "big"))
        _seeds.begin(None)

    when_imported(["random"], watch)
    return forget


class DivertedLogs:
    """
    Log files that a program opens with `logging`, kept in a folder that is thrown away.

    A program that logs to a file does so in every run; that is no reason to stop its replay, nor to write to its log.
    """

    def __init__(self, folder: str, writable: Iterable[str]) -> None:
        self._folder = os.path.join(folder, "logs")
        self._writable = tuple(writable)
        self._files: dict[str, str] = {}
        self._handlers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._undo: list[Callable[[], None]] = []
        self._is_over = False
        when_imported(["logging"], self._divert)

    def _divert(self, _: str) -> None:
        handler: Any = sys.modules["logging"].FileHandler
        original = handler.__init__

        @functools.wraps(original)
        def begin(self: Any, filename: Any, *args: Any, **kwargs: Any) -> None:
            real = os.path.abspath(os.fspath(filename))
            original(self, diverted(real), *args, **kwargs)
            handlers[self] = real

        diverted, handlers = self._diverted, self._handlers
        if not self._is_over:
            handler.__init__ = begin
            self._undo.append(lambda: setattr(handler, "__init__", original))

    def _diverted(self, real: str) -> str:
        places = (os.path.realpath(real), real)
        if real == os.devnull or any(
            os.path.join(path, "").startswith(os.path.join(one, "")) for one in self._writable for path in places
        ):
            return real
        os.makedirs(self._folder, exist_ok=True)
        return self._files.setdefault(real, os.path.join(self._folder, f"{len(self._files)}-{os.path.basename(real)}"))

    def give_back(self) -> None:
        """The program goes on live: its next lines go where it wants them."""
        self.stop()
        for handler, real in list(self._handlers.items()):
            if handler.baseFilename != real:
                with handler.lock:
                    stream, handler.stream, handler.baseFilename = handler.stream, None, real
                    if stream is not None:
                        stream.close()

    def stop(self) -> None:
        """Divert no more of them; those that are open stay where they are."""
        self._is_over = True
        while self._undo:
            self._undo.pop()()
