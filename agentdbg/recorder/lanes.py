"""
Name each thread of control of a run, so that a call can be found again when the program runs again.

A lane is the code that began the run (`m`), a thread, a job of a pool, an asyncio task, a forked child. Inside it
everything happens one after the other, so the order of its calls is the program's own. It is named when it is created,
by the lane that creates it: `<maker>/<function>~<n>`, n counting what the maker started with a function of that name.
What a call does is a lane of its own, `<lane>:<place of the call>`: a call that is answered without being made does
none of it, and shifts nothing.

Who runs decides, not the context: frameworks run work in contexts that they copied elsewhere. `current` asks for the
running task if there is one, else for what the thread is working on. A task or thread that nobody saw starting is
named at its first call, and is `late`: such a name may differ when the program runs again. `lane_hooks` tells of
everything that starts.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import threading
import weakref
from contextvars import Context, ContextVar
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from agentdbg.faults import Shield, pass_on
from agentdbg.interruptions import hide_own_frames
from agentdbg.recorder.context import current_scope, started_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "OF_JOB",
    "InLane",
    "Lane",
    "ask_for_tasks",
    "begin",
    "bind_thread",
    "continue_in_child",
    "count_rounds",
    "current",
    "current_round",
    "end",
    "enter",
    "here",
    "is_any_followed",
    "is_followed",
    "leave",
    "make_task",
    "of_task",
    "started",
    "started_by",
]

OF_JOB = "_agentdbg_lane"
"""The attribute of a pool's future that has the lane of its job."""
_PLAIN = (str, int, bool)
_VARARGS, _VARKEYWORDS = 0x04, 0x08


class Lane:
    """One thread of control of one run, or what one call of it does."""

    __slots__ = (
        "__weakref__",
        "_calls",
        "_given",
        "_insides",
        "_maker",
        "_name",
        "_number",
        "_own",
        "_starts",
        "began",
        "ended_at",
        "is_bound",
        "is_left",
        "last_model",
        "late",
        "outer",
        "reached",
        "run_id",
        "runner",
    )

    def __init__(self, run_id: str, maker: Lane | None, own: str, given: tuple[Any, ...] = ()) -> None:
        self.run_id = run_id
        self.late = False
        """Whether nobody saw it starting, so that its number may be another the next time."""
        self.outer: Lane | None = None
        """What its thread or task does besides: the lane around the call, or one of another run."""
        self.runner: _Runner | None = None
        self.is_left = True
        self.is_bound = maker is None
        """Whether its name is settled: a replay finds out at its first call which recorded lane it is."""
        self.began = -1
        """Its number in the order in which lanes were started."""
        self.ended_at = -1
        """Of a job of a pool: its number in the order in which jobs ended."""
        self.reached: dict[str, int] = {}
        """In a replay, by recorded lane: the place after the last call of it that this lane has made."""
        self.last_model: Any = None
        """The last model call that was made in it, where breakpoints may show it."""
        self._maker = maker
        self._own = own
        self._number = -1
        self._name: str | None = None
        self._given = given
        self._calls = 0
        self._insides: dict[int, str] = {}
        self._starts: dict[str, int] = {}

    @property
    def name(self) -> str:
        """Its name in the run. Written out when it is first asked for: most tasks make no call."""
        if self._name is None:
            own = self._own if self._number < 0 else f"/{_shown(self._own)}~{self._number}"
            self._name = own if self._maker is None else f"{self._maker.name}{own}"
        return self._name

    @property
    def maker(self) -> Lane | None:
        """The lane that started it, or that the call it stands for was made in."""
        return self._maker

    @property
    def is_started(self) -> bool:
        """Whether it was started as a thread, a job or a task; else it is a run's first one, or what a call does."""
        return self._number >= 0

    def rename(self, name: str) -> None:
        """Take the name of the recorded lane that this one turned out to be."""
        self._name = name

    @property
    def first_digest(self) -> str:
        """A digest of the plain arguments of its function: tells apart tasks that a set started in any order."""
        if not self._given:
            return ""
        return hashlib.sha256(repr(self._given).encode("utf-8", "replace")).hexdigest()[:6]

    def place(self) -> int:
        """Take the next place for a call, counted from 0."""
        taken = self._calls
        self._calls += 1
        return taken

    def inside(self, place: int) -> Lane:
        """The lane of what the call at this place does."""
        lane = Lane(self.run_id, self, f":{place}")
        lane.late = self.late
        lane._name = self._insides.pop(place, None)
        return lane

    def name_inside(self, place: int, name: str) -> None:
        """Let what the call at this place does be found under the name that it has in a recording."""
        self._insides[place] = name

    def start(self, function: str, given: tuple[Any, ...] = ()) -> Lane:
        """The lane of what is started here."""
        with _process.lock:
            number = self._starts.get(function, 0)
            self._starts[function] = number + 1
        lane = Lane(self.run_id, self, function, given)
        lane._number, lane.began = number, next(_beginnings)
        return lane

    def __repr__(self) -> str:
        return f"<lane {self.name}>"


class _Runner:
    """A thread's work item or a task, and the lane it is in just now."""

    __slots__ = ("__weakref__", "lane")

    def __init__(self, lane: Lane | None) -> None:
        self.lane = lane
        if lane is not None:
            lane.runner, lane.is_left = self, False


class _Here(threading.local):
    runner: _Runner | None = None
    pending: tuple[Any, Lane] | None = None
    """A task that is being made: an eager one runs before its maker has it."""


_here = _Here()
_of_task: weakref.WeakKeyDictionary[Any, _Runner] = weakref.WeakKeyDictionary()
_of_thread: weakref.WeakKeyDictionary[threading.Thread, Lane] = weakref.WeakKeyDictionary()
_roots: dict[str, Lane] = {}
_maker: ContextVar[Lane | None] = ContextVar("agentdbg_lane_of_maker", default=None)
_beginnings = itertools.count()
_job_ends = itertools.count()


class _OfProcess:
    """How to ask for the task and the round of a loop; asyncio is not loaded to find out that nobody uses it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # re-entrant: a signal handler may start a thread in the middle of it
        self.running_task: Callable[[], Any] = _nothing
        self.round_of: Callable[[], tuple[int, int] | None] = _nothing


def _nothing() -> None:
    return None


_process = _OfProcess()


def ask_for_tasks(running_task: Callable[[], Any]) -> None:
    """From now on tasks are told apart; called when the program has loaded asyncio."""
    _process.running_task = running_task


def count_rounds(round_of: Callable[[], tuple[int, int] | None]) -> None:
    """From now on the rounds of event loops are told apart; called when the program has loaded asyncio."""
    _process.round_of = round_of


def current_round() -> tuple[int, int] | None:
    """The number of the event loop that runs here, and of the round it is in; None outside loops, or of other make."""
    return _process.round_of()


# Runs.


def begin(run_id: str) -> None:
    """Follow a run from here on: the thread or task that calls this is its lane `m`."""
    root = Lane(run_id, None, "m")
    with _process.lock:
        _roots[run_id] = root
    enter(root)


def end(run_id: str) -> None:
    """The run is over."""
    with _process.lock:
        root = _roots.pop(run_id, None)
    if root is not None:
        leave(root)


def is_followed(run_id: str) -> bool:
    """Whether the lanes of a run are named."""
    return run_id in _roots


def is_any_followed() -> bool:
    """Whether there is a run whose lanes are named."""
    return bool(_roots)


# Who runs.


def current(run_id: str) -> Lane:
    """The lane of the run that this code is in."""
    runner = _runner()
    lane = runner.lane
    while lane is not None and (lane.run_id != run_id or lane.is_left):
        lane = lane.outer
    if lane is None:
        lane = _named_late(runner, run_id)
    _maker.set(lane)
    return lane


def known(run_id: str) -> Lane | None:
    """The lane of the run that this code is in, where it has been in one before."""
    lane = _runner().lane
    while lane is not None and (lane.run_id != run_id or lane.is_left):
        lane = lane.outer
    return lane


def enter(lane: Lane) -> None:
    """What this thread or task does from here on belongs to this lane, until it is left."""
    runner = _runner()
    outer = runner.lane
    while outer is not None and outer.is_left:
        outer = outer.outer
    lane.outer, lane.runner, lane.is_left = outer, runner, False
    runner.lane = lane


def leave(lane: Lane) -> None:
    """Go back to the lane around it, in the thread or task that entered it, whoever calls this."""
    lane.is_left = True
    runner = lane.runner
    if runner is not None:
        while runner.lane is not None and runner.lane.is_left:
            runner.lane = runner.lane.outer


def _runner() -> _Runner:
    task = _process.running_task()
    if task is None:
        return _here.runner or _runner_of_thread()
    runner = _of_task.get(task)
    if runner is None:
        lane, pending = None, _here.pending
        if pending is not None and pending[0] is task.get_coro():
            lane, _here.pending = pending[1], None
        runner = _of_task[task] = _Runner(lane)
    return runner


def _runner_of_thread() -> _Runner:
    thread = started_thread()
    _here.runner = runner = _Runner(None if thread is None else _of_thread.get(thread))
    return runner


def _named_late(runner: _Runner, run_id: str) -> Lane:
    """Name a thread or task that nobody saw starting."""
    maker = _maker.get()
    if maker is None or maker.run_id != run_id:
        maker = _roots.get(run_id) or Lane(run_id, None, "m")
    task = _process.running_task()
    lane = maker.start(f"late.{_function_of(task.get_coro() if task is not None else _target_of_thread())}")
    lane.late = True
    lane.outer, lane.runner, lane.is_left = runner.lane, runner, False
    runner.lane = lane
    return lane


def _target_of_thread() -> Any:
    thread = started_thread()
    return getattr(thread, "_target", None) or thread


# What is started.


def here() -> Lane | None:
    """The lane that this code is in; None when no run is followed here."""
    scope = current_scope() if _roots else None
    return None if scope is None or scope.run_id not in _roots else current(scope.run_id)


def started(function: Any, args: Iterable[Any] = (), kwargs: dict[str, Any] | None = None) -> Lane | None:
    """The lane of a thread or a job that is started here with this function; None when no run is followed here."""
    with Shield("name a thread"):  # the program starts what it wants to start
        maker = here()
        return None if maker is None else started_by(maker, function, args, kwargs)
    return None


def started_by(maker: Lane, function: Any, args: Iterable[Any] = (), kwargs: dict[str, Any] | None = None) -> Lane:
    """The lane of a job that this lane starts."""
    function, args, kwargs = _looked_through(function, tuple(args), kwargs or {})
    plain = [value for value in args if type(value) in _PLAIN]
    plain += [pair for pair in sorted(kwargs.items()) if type(pair[1]) in _PLAIN]
    return maker.start(_function_of(function), tuple(plain))


def _started_task(coroutine: Any) -> Lane | None:
    """The lane of a task that is made here to run this coroutine; None when no run is followed here."""
    with Shield("name a task"):
        maker = here()
        if maker is None:
            return None
        pending = _here.pending
        if pending is not None and pending[0] is coroutine:  # the loop's own factory makes it
            return pending[1]
        coroutine = _awaited(coroutine)
        return maker.start(_function_of(coroutine), _given_to(coroutine))
    return None


def of_task(task: Any) -> Lane | None:
    """The lane that a task is, whatever call it is in; None when nobody follows it."""
    runner = _of_task.get(task)
    lane = None if runner is None else runner.lane
    while lane is not None and not lane.is_started:
        lane = lane.outer
    return lane


def bind_thread(thread: threading.Thread, lane: Lane) -> None:
    """This thread, which has not started, is the lane."""
    _of_thread[thread] = lane


class InLane:
    """A function whose call is a lane of its own."""

    __slots__ = ("_function", "_lane")

    def __init__(self, function: Callable[..., Any], lane: Lane) -> None:
        self._function = function
        self._lane = lane

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before, _here.runner = _here.runner, _Runner(self._lane)
        try:
            return self._function(*args, **kwargs)
        except BaseException as error:
            hide_own_frames(error)
            raise
        finally:
            self._lane.ended_at = next(_job_ends)
            _here.runner = before

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._function

    def __repr__(self) -> str:
        return repr(self._function)


def make_task(make: Callable[..., Any], coroutine: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a task with a function that makes one, and note its lane."""
    lane = _started_task(coroutine)
    if lane is None:
        return make(*args, **kwargs)
    before, _here.pending = _here.pending, (coroutine, lane)
    try:
        task = make(*args, **kwargs)
        if _here.pending is not None:  # else it has run already, and taken its lane
            try:
                _of_task[task] = _Runner(lane)
            except TypeError as fault:  # a factory may give anything
                pass_on(fault)
    finally:
        _here.pending = before
    return task


def continue_in_child(lane: Lane | None) -> None:
    """The process has forked; `lane` is what was started for this child."""
    _process.lock = threading.RLock()  # another thread of the parent may have held it
    if lane is not None:
        enter(lane)


# What it is called.


def _looked_through(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function that does the work, and its arguments."""
    for _ in range(20):
        if isinstance(function, functools.partial):
            function, args, kwargs = function.func, function.args + args, {**function.keywords, **kwargs}
        elif args and isinstance(getattr(function, "__self__", None), Context):
            function, args = args[0], args[1:]
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            break
    return function, args, kwargs


def _awaited(coroutine: Any) -> Any:
    """The coroutine that does the work; anyio has one of its own around each."""
    if _function_of(coroutine) != "TaskHandle._run_coro":
        return coroutine
    handle = coroutine.cr_frame.f_locals.get("self")
    return getattr(handle, "_coro", coroutine)


def _function_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return name if type(name) is str else type(function).__qualname__


def _shown(function: str) -> str:
    return function.replace("<locals>.", "").replace("/", ".").replace(":", ".").replace("~", ".")


def _given_to(coroutine: Any) -> tuple[Any, ...]:
    """The plain arguments that a coroutine function was called with."""
    frame = getattr(coroutine, "cr_frame", None)
    if frame is None:
        return ()
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    plain: list[Any] = []
    for name in code.co_varnames[:count]:
        value = values.get(name)
        if type(value) in _PLAIN:
            plain.append((name, value))
        elif type(value) is CoroutineType:  # one that awaits another: `limited(semaphore, fetch(url))`
            plain += [value.__qualname__, *_given_to(value)]
    if code.co_flags & _VARARGS:
        plain += [value for value in values.get(code.co_varnames[count], ()) if type(value) in _PLAIN]
        count += 1
    if code.co_flags & _VARKEYWORDS:
        named = values.get(code.co_varnames[count], {})
        plain += [pair for pair in sorted(named.items()) if type(pair[1]) in _PLAIN]
    return tuple(plain)
