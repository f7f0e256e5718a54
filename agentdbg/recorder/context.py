"""
Which run, and which place in its tree, the running code belongs to.

One ContextVar holds a `Scope`. Coroutines and tasks inherit it by themselves; `carry_into_threads` makes threads and
thread pools do the same, so that nobody has to copy a context. Code that belongs to no run finds None.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any

from agentdbg.faults import Shield
from agentdbg.import_hook import when_imported
from agentdbg.interruptions import hide_own_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.interruptions import WeakBag
    from agentdbg.recorder.active_run import ActiveRun
    from agentdbg.recorder.limits import Budget

__all__ = [
    "Scope",
    "at_place",
    "carry_into_older_pools",
    "carry_into_threads",
    "current_place",
    "current_scope",
    "enter_scope",
    "live_runs",
    "own_scope",
    "process_scope",
    "runs_in_other_interpreters",
    "set_process_scope",
    "started_thread",
]


class Scope:
    """
    A place in a run's tree: what is recorded here hangs under `parent_id`, tool calls under `llm_id` if set.

    `budget` is what it is spent from: the run's, or that of a span around it that has limits of its own. `base` is the
    scope that this one stands for: that of a place in which a model call was recorded, or something ended, since.
    """

    __slots__ = ("__weakref__", "_base", "budget", "followers", "llm_id", "parent_id", "run")

    def __init__(self, run: ActiveRun, parent_id: str, llm_id: str | None = None, budget: Budget | None = None) -> None:
        self.run = run
        self._base: Scope | None = None
        self.parent_id = parent_id
        self.llm_id = llm_id
        self.budget = budget or run.budget
        self.followers: WeakBag[Scope] | None = None

    @property
    def base(self) -> Scope:
        """Itself, unless it stands for another; a scope that named itself would wait for the cyclic collector."""
        return self._base or self

    @property
    def run_id(self) -> str:
        """The id of its run, also of one that has not begun."""
        return self.run.run_id

    @property
    def is_open(self) -> bool:
        """Whether its run has not ended."""
        return not self.run.closed

    def inside(self, event_id: str) -> Scope:
        """The place inside an event that begins here."""
        return Scope(self.run, event_id, None, self.budget)

    def after_model_call(self, llm_id: str | None) -> Scope:
        """The same place, once a model call was recorded in it."""
        after = Scope(self.run, self.parent_id, llm_id, self.budget)
        self.base.lead(after)
        return after

    def ends_in(self, outer: Scope, llm_id: str | None) -> None:
        """What began here is over: whoever still holds this scope, or one that stands for it, stands in `outer`."""
        for scope in (self, *(() if self.followers is None else self.followers.now())):
            scope.parent_id, scope.llm_id = outer.parent_id, outer.llm_id
            outer.base.lead(scope)
        self.llm_id, self.followers = llm_id or outer.llm_id, None

    def lead(self, scope: Scope) -> None:
        """Let a scope stand for this one, also once this one has ended."""
        scope._base = None if scope is self else self
        if self.followers is not None:
            self.followers.add(scope)


_POOLS = "concurrent.futures.thread"
_OLDER_POOLS = "multiprocessing.pool"
_GREENLETS = "gevent.greenlet"
_scope: ContextVar[Scope | None] = ContextVar("agentdbg_scope", default=None)
_scope_of_thread: weakref.WeakKeyDictionary[threading.Thread, Scope] = weakref.WeakKeyDictionary()


class _OfProcess:
    scope: Scope | None = None


_process = _OfProcess()

live_runs: dict[str, ActiveRun] = {}
"""Every run of this process that has started and not ended, by id."""

enter_scope = _scope.set
"""Make a scope (or None) the current one of this thread or task."""

own_scope = _scope.get
"""The scope set in this very context, without looking further."""


def current_scope() -> Scope | None:
    """The scope this code records into: its own, its thread's, the process's, or none."""
    scope = _scope.get()
    if scope is not None or not live_runs:
        return scope
    return _inherited_scope()


def started_thread() -> threading.Thread | None:
    """This thread, if Python started it. `current_thread()` would make an object for one that it did not."""
    found: threading.Thread | None = threading._active.get(threading.get_ident())  # type: ignore[attr-defined]  # noqa: SLF001
    return found


def _inherited_scope() -> Scope | None:
    thread = started_thread()
    scope = None if thread is None else _scope_of_thread.get(thread)
    return scope if scope is not None else _process.scope


def current_place() -> Scope | None:
    """The place in a run's tree where this code stands, to be given to `at_place` elsewhere; None outside any run."""
    return _scope.get()


class at_place:  # noqa: N801 -- read as a preposition: `with at_place(here):`
    """Let what a block records stand at another place, as when a framework continues a call in another task."""

    def __init__(self, place: Scope | None) -> None:
        self._place = place

    def __enter__(self) -> None:
        self._before = _scope.get()
        _scope.set(self._place)

    def __exit__(self, *_: object) -> None:
        _scope.set(self._before)


def process_scope() -> Scope | None:
    """The scope of the process's own run, also after that run has ended."""
    return _process.scope


def set_process_scope(scope: Scope | None) -> None:
    """Give the whole process a run: what belongs to no other run records into this one, until the program exits."""
    _process.scope = scope
    if scope is not None:
        scope.run.is_process_wide = True
        scope.run.may_stay_open = True


@functools.cache
def carry_into_threads() -> None:
    """From now on threads and pool tasks started inside a run record into it. Done once, when the first run starts."""
    thread: Any = threading.Thread
    thread.start = _starting_thread(thread.start)
    if hasattr(thread, "_bootstrap_inner"):  # an interpreter without it finds the scope by the thread
        thread._bootstrap_inner = _entering_thread(thread._bootstrap_inner)  # noqa: SLF001 -- nothing public runs in it
    # Loading it now would take as long as all the rest of a first run's preparations.
    when_imported([_POOLS], _carry_into_pools, each_time=True)
    when_imported([_GREENLETS], _carry_into_greenlets)


def _carry_into_pools(module: str) -> None:
    with Shield("follow work into pools of threads"):  # it would reach the program that has just imported the module
        executor = sys.modules[module].ThreadPoolExecutor
        executor.submit = _submitting(executor.submit)


def _carry_into_greenlets(module: str) -> None:
    sys.modules[module].Greenlet.add_spawn_callback(_hand_to_greenlet)


def _hand_to_greenlet(greenlet: Any) -> None:
    """Called where a greenlet is spawned. It begins with no context of its own, and gets one with the scope alone."""
    with Shield("follow work into a greenlet"):  # it would reach the program that spawns it
        scope = current_scope()
        if scope is not None and scope is not _process.scope and greenlet.gr_context is None:
            context = Context()
            context.run(_scope.set, scope)
            greenlet.gr_context = context


def _starting_thread(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_in_scope(self: threading.Thread) -> None:
        scope = current_scope()
        if getattr(getattr(self, "_target", None), "__module__", None) == _OLDER_POOLS:
            carry_into_older_pools()  # its workers serve any run, so the scope goes with each task
        elif scope is not None and scope is not _process.scope:
            _scope_of_thread[self] = scope
        start(self)

    return start_in_scope


def _entering_thread(bootstrap: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    # In the thread's own context, so that what it hands to an event loop elsewhere belongs to the run too.
    @functools.wraps(bootstrap)
    def bootstrap_in_scope(self: threading.Thread) -> None:
        scope = _scope_of_thread.get(self)
        if scope is not None:
            _scope.set(scope)
        bootstrap(self)

    return bootstrap_in_scope


def _submitting(submit: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(submit)
    def submit_in_scope(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        scope = current_scope()
        if scope is None or scope is _process.scope or runs_in_other_interpreters(self):
            return submit(self, fn, *args, **kwargs)
        # A worker outlives the task that made the pool start it, so the scope goes with the task, not the thread.
        mine = _scope.get()
        _scope.set(None)
        inherited = _scope_of_thread.pop(threading.current_thread(), None) if mine is None else None
        try:
            return submit(self, _InScope(fn, scope), *args, **kwargs)
        finally:
            _scope.set(mine)
            if inherited is not None:
                _scope_of_thread[threading.current_thread()] = inherited

    return submit_in_scope


def carry_into_older_pools() -> None:
    """The same for the pools of `multiprocessing.pool`, once a program has loaded them."""
    pools = sys.modules.get(_OLDER_POOLS)
    if pools is None or hasattr(pools.ThreadPool, "agentdbg_carries"):
        return
    pools.ThreadPool.agentdbg_carries = True
    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
        setattr(pools.ThreadPool, name, _handing_over(getattr(pools.ThreadPool, name)))


def _handing_over(submit: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(submit)
    def submit_in_scope(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        scope = current_scope()
        if scope is not None and scope is not _process.scope:
            func = _InScope(func, scope)
        return submit(self, func, *args, **kwargs)

    return submit_in_scope


class _InScope:
    """A function that runs in the scope it was handed over in."""

    __slots__ = ("_function", "_scope")

    def __init__(self, function: Callable[..., Any], scope: Scope) -> None:
        self._function = function
        self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        before = _scope.get()
        _scope.set(self._scope)
        try:
            return self._function(*args, **kwargs)
        except BaseException as error:
            hide_own_frames(error)
            raise
        finally:
            _scope.set(before)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._function

    def __repr__(self) -> str:
        return repr(self._function)


def runs_in_other_interpreters(executor: Any) -> bool:
    """Whether it is an InterpreterPoolExecutor (3.14): it pickles what it is given, so no wrapper may be around it."""
    return any(kind.__name__ == "InterpreterPoolExecutor" for kind in type(executor).__mro__)
