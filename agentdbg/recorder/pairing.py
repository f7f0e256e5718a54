"""
Start and end of what a framework does, brought together: the one thing every integration needs.

A framework reports that something began and, later, perhaps on another thread, that it ended. `Pairing` finds the two
by the framework's own key and turns them into one event at the right place of the tree, in the run that was active at
the start. What nobody has to write again: a place is taken before a model or tool call (a limit that refuses raises),
an outermost call outside any run becomes a run of its own, and a call that two hooks see is recorded once.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agentdbg.events import new_id
from agentdbg.exceptions import RunStopped
from agentdbg.faults import contain
from agentdbg.interruptions import WeakBag, hide_own_frames
from agentdbg.loading import lock_of
from agentdbg.recorder.calls import Call
from agentdbg.recorder.context import Scope, current_scope, enter_scope, own_scope
from agentdbg.recorder.deciders import is_refusal
from agentdbg.recorder.paused_time import took_ms
from agentdbg.recorder.run_lifecycle import default_run_name, end_run, implicit_scope, start_run
from agentdbg.recorder.source_lines import user_source
from agentdbg.recorder.verbs import STOPS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

__all__ = ["Pairing", "contained"]

_MOST_OPEN = 10_000
_MOST_REQUESTS = 10_000
_MOST_ALIKE = 100
_DEEPEST = 100
_Function = TypeVar("_Function", bound="Callable[..., Any]")
_runs_of_ours: set[str] = set()


def contained(function: _Function) -> _Function:
    """A callback of ours: whatever goes wrong in it ends here, except the stop of a run."""

    @functools.wraps(function)
    def callback(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as fault:
            if is_refusal(fault):
                raise
            contain(fault, f"record what {function.__module__.rpartition('.')[2]} did")
            return None

    return cast("_Function", callback)


_requests: dict[tuple[str, str], list[_Request]] = {}
"""The model calls that asked for a tool call, by run and by the id they asked with; others may report the tool."""
_above: dict[str, str | None] = {}
"""What each step hangs under."""


class Pairing:
    """What one framework has begun and not ended, by the framework's own keys. Safe to use from any thread."""

    def __init__(self, framework: str) -> None:
        self._framework = framework
        self._lock = lock_of(self)
        self._open: dict[Hashable, _Open] = {}

    # Beginning.

    def start(
        self,
        key: Hashable,
        kind: str,
        name: Any,
        given: Any = None,
        *,
        parent_key: Hashable = None,
        asked_by: str | tuple[str, ...] | None = None,
        meta: dict[str, Any] | None = None,
        can: tuple[str, ...] = (),
        **fields: Any,
    ) -> bool:
        """
        Something began: a model call ("llm"), a tool call ("tool"), or a step around others ("span").

        It hangs under what `parent_key` began, else where the running code is. A tool call hangs under the model call
        that asked for it, by what it asked with (`asked_by`: an id, or several names of which one is known). Outside
        any run it becomes a run of its own; a step of the kind "run" is only that, and nothing inside a run. What a
        second hook reports under the same key is the same thing. False when nothing is being recorded. Raises when a
        decider or a limit of the run refuses the call; `can` is what else deciders may do: "answer" where the
        integration makes the call with `make`.
        """
        opened = self._open.get(key)
        if opened is not None and (opened.call is not None or opened.span is not None or opened.owns_run):
            return True
        meta = {"framework": self._framework, **(meta or {})}
        if opened is None:
            opened = self._find_place(parent_key)
        if opened is None:
            own_run = _run_of_its_own(name, given, meta)
            if own_run is None:
                return False
            opened = _Open(own_run, None, user_source(), owns_run=True)
        elif kind == "run":
            return False
        if kind in ("llm", "tool"):
            call = Call(kind, name, given, meta, fields)
            names = (asked_by,) if isinstance(asked_by, str) else asked_by or ()
            asking = next((found for name in names if (found := self._asking(opened, name))), None)
            if not self._begin(call, opened, asking, can):
                return False
            opened.call = call
            opened.stand_in(call.call_id)
        elif not opened.owns_run:
            opened.span = _Span(opened.outer, name, given, meta, opened.source)
            opened.stand_in(opened.span.event_id)
        self._remember(key, opened)
        enter_scope(opened.scope)
        return True

    def prepare(self, key: Hashable, parent_key: Hashable = None) -> None:
        """
        Something may begin here, but its `start` will be reported from another context.

        What runs in this context then stands in it. If it never starts, nothing is recorded.
        """
        opened = self._find_place(parent_key)
        if opened is not None:
            self._remember(key, opened)
            enter_scope(opened.scope)

    def adopt(self, key: Hashable, new_key: Hashable) -> bool:
        """What began as `key`, in another context, is `new_key` from now on, and this context stands in it."""
        with self._lock:
            opened = self._open.pop(key, None)
        if opened is None:
            return False
        opened.run.before_end.pop((self, key), None)
        opened.before = own_scope()
        self._remember(new_key, opened)
        enter_scope(opened.scope)
        return True

    def skip(self, key: Hashable, parent_key: Hashable) -> None:
        """A step that is not worth an event began: what it does hangs under what `parent_key` began."""
        parent = self._open.get(parent_key)
        if parent is not None:
            skipped = _Open(parent.outer, parent, parent.source)
            skipped.scope = parent.scope
            self._remember(key, skipped)

    # In between.

    def answering(self, key: Hashable, unfinished: Callable[[], dict[str, Any]] | None = None) -> None:
        """
        The first piece of a streamed answer came: between the pieces the consumer's own code runs.

        `unfinished` gives the arguments of `end` from what came so far, should the run end before the stream does.
        """
        opened = self._open.get(key)
        if opened is None or opened.is_answering or opened.call is None:
            return
        opened.is_answering = True
        opened.unfinished = unfinished
        opened.call.step_out()
        opened.leave()
        opened.stand_around(None)

    def learn(self, key: Hashable, name: Any = None, **fields: Any) -> None:
        """What is known of an open call only now: the model that is really asked, more of the payload."""
        opened = self._open.get(key)
        if opened is not None and opened.call is not None:
            opened.call.learn(name, **fields)

    def make(self, key: Hashable, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Make the call that `key` began by calling `function`, unless a decider answers in its place."""
        opened = self._open.get(key)
        call = None if opened is None else opened.call
        return function(*args, **kwargs) if call is None else call.make(function, *args, **kwargs)

    async def make_async(self, key: Hashable, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Do the same with a function that is awaited."""
        opened = self._open.get(key)
        call = None if opened is None else opened.call
        return await (function(*args, **kwargs) if call is None else call.make_async(function, *args, **kwargs))

    def price_of(self, key: Hashable, model: str, usage: Any) -> float | None:
        """What this usage of a model costs in the run of `key`; None where it is not known."""
        opened = self._open.get(key)
        return None if opened is None else opened.run.prices.measured(model, usage)[1]

    def is_open(self, key: Hashable) -> bool:
        """Whether this began and has not ended."""
        return key in self._open

    # Ending.

    def end(
        self,
        key: Hashable,
        result: Any = None,
        *,
        error: Any = None,
        name: Any = None,
        usage: Any = None,
        stop_reason: Any = None,
        asks_for: Iterable[str] = (),
        duration_ms: int | None = None,
        meta: dict[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """
        It ended: with a result, or with an error (then `result` is as far as it came).

        A model's answer may ask for tool calls, by their ids. `duration_ms` is for frameworks that report late.
        """
        if isinstance(error, Exception):  # it goes on, to whoever shows it
            hide_own_frames(error)
        with self._lock:
            opened = self._open.pop(key, None)
        if opened is None:
            return
        run = opened.run
        run.before_end.pop((self, key), None)
        stood_in_it = opened.leave()
        raised, is_left = error, isinstance(error, GeneratorExit) or type(error).__name__ == "CancelledError"
        if is_left:  # whoever wanted it had enough, which is no failure; but a tool has not done what it was to do
            meta = {**(meta or {}), "cancelled": True}
            error = error if opened.call is not None and opened.call.kind == "tool" else None
        if opened.call is not None:
            call = opened.call
            call.learn(name, meta, **fields)
            call.usage, call.stop_reason, call.duration_ms = usage, stop_reason, duration_ms
            wanted = list(asks_for)
            for place, request in enumerate(wanted):
                self._note_request(opened, request, wanted[place + 1] if place + 1 < len(wanted) else request)
            call.end(result, error)
            opened.stand_around(call.call_id if call.kind == "llm" else None)
            if stood_in_it and call.kind == "llm" and opened.parent is None and not opened.owns_run:
                enter_scope(opened.outer.after_model_call(call.call_id))  # plain tools that follow hang under it
        elif opened.span is not None:
            opened.span.end(name, result, error, meta, duration_ms)
            opened.stand_around(None)
        if opened.owns_run:
            _runs_of_ours.discard(run.run_id)
            outcome = {"result": result} if run.capture_args else None
            end_run(run, raised if isinstance(raised, BaseException) else None, outcome)

    def drop(self, key: Hashable) -> None:
        """It will never be known how this ended."""
        with self._lock:
            opened = self._open.pop(key, None)
        if opened is not None:
            opened.run.before_end.pop((self, key), None)
            if opened.call is not None:
                opened.call.drop()

    # How.

    def _find_place(self, parent_key: Hashable) -> _Open | None:
        """Under the parent, else where the running code stands; None outside any run."""
        parent = self._open.get(parent_key) if parent_key is not None else None
        outer = _surroundings() if parent is None else parent.scope
        if outer is None:
            return None
        source = user_source()
        if parent is not None and (source is None or "site-packages" in source):
            source = parent.source  # a pool's thread knows nothing of the user's line
        return _Open(outer, parent, source)

    def _begin(self, call: Call, opened: _Open, asking: str | None, can: tuple[str, ...]) -> bool:
        run = opened.run
        try:
            return call.begin(opened.outer, parent_id=asking, source=opened.source, can=can)
        except STOPS as stop:
            public = stop.public if isinstance(stop, RunStopped) and run.run_id in _runs_of_ours else None
            if opened.owns_run:
                _runs_of_ours.discard(run.run_id)
                end_run(run, public or stop)
            if public is not None:
                # Nobody stands at the edge of such a run to turn it back into what users know.
                raise public from None
            raise

    def _remember(self, key: Hashable, opened: _Open) -> None:
        oldest = None
        with self._lock:
            if len(self._open) >= _MOST_OPEN and key not in self._open:
                oldest = next(iter(self._open))
            self._open[key] = opened
        opened.run.before_end[self, key] = functools.partial(self._settle, key)
        if oldest is not None:
            self.drop(oldest)

    def _settle(self, key: Hashable) -> None:
        """
        The run ends while this is open: keep a step, an answer as far as it came, and what was cancelled.

        Some frameworks say nothing of a call whose task was cancelled. Of others it is only known that they began.
        """
        opened = self._open.get(key)
        if opened is None:
            return
        if opened.unfinished is not None:
            self.end(key, **opened.unfinished())
        elif opened.span is not None:
            self.end(key)
        elif opened.call is not None and opened.call.left is not None:
            error, duration_ms = opened.call.left
            self.end(key, error=error, duration_ms=duration_ms)
        else:
            self.drop(key)

    def asked(self, name: str) -> tuple[Scope, str] | None:
        """
        Where a tool call belongs that a model asked for by this name, and what was noted beside it.

        None where nobody asked, where the tool is recorded, or where any tool was since: that one may be it.
        """
        outer = _surroundings()
        if outer is None:
            return None
        with self._lock:
            waiting = [one for one in _requests.get((outer.run.run_id, name), []) if not one.is_met]
            if not waiting or waiting[-1].tools_before != outer.run.counters.tool_calls:
                return None
            waiting[-1].is_met = True
        return outer.after_model_call(waiting[-1].call_id), waiting[-1].beside

    def _note_request(self, opened: _Open, name: str, beside: str) -> None:
        call_id = None if opened.call is None else opened.call.call_id
        if call_id is None:
            return
        with self._lock:
            if len(_requests) >= _MOST_REQUESTS:
                _requests.pop(next(iter(_requests)))
            asked = _requests.setdefault((opened.run.run_id, name), [])
            del asked[:-_MOST_ALIKE]
            asked.append(_Request(call_id, opened.outer.parent_id, opened.tools_before, beside))

    def _asking(self, opened: _Open, name: str) -> str | None:
        """
        The model call that asked for this tool: the newest of the nearest ones that were not answered yet.

        Ids are not always unique, and agents beside each other ask for the same. One that was answered asks again only
        for what runs beside it, or in a step beside its own.
        """
        around = _steps_above(opened.outer.parent_id)
        with self._lock:
            asked = _requests.get((opened.run.run_id, name), [])
            if not asked:
                return None
            newest = reversed(asked)
            distance, chosen = min(
                ((request.steps_from(around), request) for request in newest), key=lambda one: (one[1].is_met, one[0])
            )
            if chosen.is_met and distance not in (0, min(1, len(around) - 2)):
                return None
            chosen.is_met = True
            return chosen.call_id


class _Request:
    """A model call that asked for a tool call."""

    def __init__(self, call_id: str, parent_id: str | None, tools_before: float, beside: str) -> None:
        self.call_id = call_id
        self.tools_before = tools_before
        self.beside = beside
        self.is_met = False
        self._parent_id = parent_id

    def steps_from(self, around: list[str]) -> int:
        """How far up from a place, whose steps above are these, the step is that this call is made in too."""
        mine = set(_steps_above(self._parent_id))
        return next((steps for steps, step in enumerate(around) if step in mine), len(around))


def _steps_above(event_id: str | None) -> list[str]:
    steps: list[str] = []
    while event_id is not None and len(steps) < _DEEPEST:
        steps.append(event_id)
        event_id = _above.get(event_id)
    return steps


class _Open:
    """
    Something that began: where it stands, and what is recorded when it ends.

    `scope` is what the code inside it records into. A framework may report the end in another context than the start,
    so the scope is changed in place: whoever still holds it stands around the thing once it has ended.
    """

    def __init__(self, outer: Scope, parent: _Open | None, source: str | None, *, owns_run: bool = False) -> None:
        self.run = outer.run
        self.outer = outer
        self.scope = Scope(outer.run, outer.parent_id, outer.llm_id, outer.budget)
        self.scope.followers = WeakBag()
        self.source = source
        self.owns_run = owns_run
        self.tools_before = outer.run.counters.tool_calls
        self.call: Call | None = None
        self.span: _Span | None = None
        self.is_answering = False
        self.unfinished: Callable[[], dict[str, Any]] | None = None
        self.before = None if owns_run else own_scope()
        self.parent = parent

    def stand_in(self, event_id: str | None) -> None:
        """It has an event now: what is recorded in this scope hangs under it."""
        self.scope.parent_id = event_id or self.outer.parent_id
        self.scope.llm_id = None
        if event_id is not None:
            if len(_above) >= _MOST_REQUESTS:
                _above.pop(next(iter(_above)), None)
            _above[event_id] = self.outer.parent_id

    def leave(self) -> bool:
        """Where this code stands in it, let it stand where it stood before."""
        scope = own_scope()
        stands_in_it = scope is not None and scope.base is self.scope
        if stands_in_it:
            enter_scope(self.before)
        return stands_in_it

    def stand_around(self, llm_id: str | None) -> None:
        """It is over: who still holds this scope records beside it, and tools under the model call it was."""
        if llm_id is not None and self.parent is not None:
            self.parent.scope.llm_id = llm_id
        self.scope.ends_in(self.outer, llm_id)


class _Span:
    """A step around others: an agent, a chain, a node. Written when it ends, as the contract's span events are."""

    def __init__(self, outer: Scope, name: Any, given: Any, meta: dict[str, Any], source: str | None) -> None:
        self.event_id = new_id()
        self._run = outer.run
        self._outer = outer
        self._parent_id = outer.parent_id
        self._name = name
        self._given = given
        self._meta = meta
        self._source = source
        self._started = time.monotonic()

    def end(self, name: Any, result: Any, error: Any, meta: dict[str, Any] | None, duration_ms: int | None) -> None:
        if self._started < self._run.forked_at:  # this process was forked inside the step
            return
        name = name or self._name
        failure = None if error is None else self._run.describe_error(error)
        if duration_ms is None:
            duration_ms = took_ms(self._started, time.monotonic(), self.event_id, self._parent_id)
        draft = self._run.draft(
            "STATE_UPDATE",
            name,
            {"state": None, "diff": None, "error": failure, "input": self._given, "output": result},
            {"span": name, **self._meta, **(meta or {})},
            self._parent_id,
            self._outer.budget,
            duration_ms=duration_ms,
            source=self._source,
            event_id=self.event_id,
            is_span=True,
        )
        self._run.emit(draft, quiet=True)


def _surroundings() -> Scope | None:
    """Where the running code stands; a task may outlive its run, and then stands nowhere."""
    scope = current_scope()
    return scope if scope is not None and scope.is_open else implicit_scope()


def _run_of_its_own(name: Any, given: Any, meta: dict[str, Any]) -> Scope | None:
    source = user_source() or "python"
    default_name = default_run_name(source.rpartition(":")[0] or source, str(name))
    start = {"function_name": str(name), "args": {"input": given}, "kwargs": {}}
    scope = start_run(None, default_name, {}, start, meta)
    if scope is not None:
        _runs_of_ours.add(scope.run.run_id)
    return scope
