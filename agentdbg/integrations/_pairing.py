"""
Start and end of what a framework does, brought together: the one thing every integration needs.

A framework reports that something began and, later, perhaps on another thread, that it ended. `Pairing` finds the two
by the framework's own key and turns them into one event at the right place of the tree, in the run that was active at
the start. What nobody has to write again: a place is taken before a model or tool call (a limit that refuses raises),
an outermost call outside any run becomes a run of its own, and a call that two hooks see is recorded once.
"""

from __future__ import annotations

import functools
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agentdbg.context import Scope, current_scope, enter_scope, own_scope
from agentdbg.events import new_id
from agentdbg.exceptions import RunStopped
from agentdbg.faults import contain
from agentdbg.recording import STOPS
from agentdbg.runs import default_run_name, end_run, implicit_scope, start_run
from agentdbg.seams import Call, open_model_calls
from agentdbg.sources import user_source

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

__all__ = ["Pairing", "contained", "is_model_call_open"]

_MOST_OPEN = 10_000
_MOST_REQUESTS = 10_000
_Function = TypeVar("_Function", bound="Callable[..., Any]")
_runs_of_ours: set[str] = set()


def is_model_call_open() -> bool:
    """Whether this code runs inside a model call that is being recorded: then it is that call, not another one."""
    scope = current_scope()
    return scope is not None and scope.parent_id in open_model_calls


def contained(function: _Function) -> _Function:
    """A callback of ours: whatever goes wrong in it ends here, except the stop of a run."""

    @functools.wraps(function)
    def callback(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except STOPS:
            raise
        except Exception as fault:  # noqa: BLE001
            contain(fault, f"record what {function.__module__.rpartition('.')[2]} did")
            return None

    return cast("_Function", callback)


class Pairing:
    """What one framework has begun and not ended, by the framework's own keys. Safe to use from any thread."""

    def __init__(self, framework: str) -> None:
        self._framework = framework
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Open] = {}
        self._requests: dict[tuple[str, str], str] = {}

    def start(
        self,
        key: Hashable,
        kind: str,
        name: Any,
        given: Any = None,
        *,
        parent_key: Hashable = None,
        asked_by: str | None = None,
        meta: dict[str, Any] | None = None,
        **fields: Any,
    ) -> bool:
        """
        Something began: a model call ("llm"), a tool call ("tool"), or a step around others ("span").

        It hangs under what `parent_key` began, else where the running code is. A tool call hangs under the model call
        that asked for it, by the id it asked with (`asked_by`). What a second hook reports under the same key is the
        same thing. False when nothing is being recorded. Raises when a limit of the run refuses the call.
        """
        if key in self._open:
            return True
        parent = self._open.get(parent_key) if parent_key is not None else None
        meta = {"framework": self._framework, **(meta or {})}
        outer = _surroundings() if parent is None else parent.scope
        owns_run = outer is None
        if outer is None and (outer := _run_of_its_own(name, given, meta)) is None:
            return False
        source = user_source()
        if parent is not None and (source is None or "site-packages" in source):
            source = parent.source  # a pool's thread knows nothing of the user's line
        opened = _Open(outer, parent, source, owns_run=owns_run)
        if kind != "span":
            call = Call(kind, name, given, meta, fields)
            asking = self._requests.get((outer.run.run_id, asked_by)) if asked_by is not None else None
            if not self._begin(call, opened, asking):
                return False
            opened.call, opened.scope = call, call.scope
        elif not owns_run:
            opened.span = _Span(outer, name, given, meta, source)
            opened.scope = Scope(outer.run, opened.span.event_id)
        self._remember(key, opened)
        enter_scope(opened.scope)
        return True

    def skip(self, key: Hashable, parent_key: Hashable) -> None:
        """A step that is not worth an event began: what it does hangs under what `parent_key` began."""
        parent = self._open.get(parent_key)
        if parent is not None:
            self._remember(key, _Open(parent.scope, parent, parent.source, owns_run=False))

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
        open_model_calls.discard(opened.call.call_id or "")
        opened.leave()
        opened.collapse(None)

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
        with self._lock:
            opened = self._open.pop(key, None)
        if opened is None:
            return
        run = opened.outer.run
        run.before_end.pop((self, key), None)
        opened.leave()
        if opened.call is not None:
            call = opened.call
            call.learn(name, meta, **fields)
            call.usage, call.stop_reason, call.duration_ms = usage, stop_reason, duration_ms
            for request in asks_for:
                self._note_request(run.run_id, request, call.call_id)
            call.end(result, error)
            opened.collapse(call.call_id if call.kind == "llm" else None)
        elif opened.span is not None:
            opened.span.end(result, error, meta, duration_ms)
            opened.collapse(None)
        if opened.owns_run:
            _runs_of_ours.discard(run.run_id)
            outcome = {"result": result} if run.capture_args else None
            end_run(run, error if isinstance(error, BaseException) else None, outcome)

    def is_open(self, key: Hashable) -> bool:
        """Whether this began and has not ended."""
        return key in self._open

    def _begin(self, call: Call, opened: _Open, asking: str | None) -> bool:
        run = opened.outer.run
        try:
            return call.begin(opened.outer, parent_id=asking, source=opened.source)
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
        forgotten = None
        with self._lock:
            if len(self._open) >= _MOST_OPEN:
                forgotten = self._open.pop(next(iter(self._open)))
            self._open[key] = opened
        opened.outer.run.before_end[self, key] = lambda: self._settle(key)
        if forgotten is not None and forgotten.call is not None:
            forgotten.outer.run.release_call(forgotten.call.kind)

    def _settle(self, key: Hashable) -> None:
        """The run ends while this is open: keep a step, and an answer as far as it came; a call never returned."""
        opened = self._open.get(key)
        if opened is None:
            return
        if opened.unfinished is not None:
            self.end(key, **opened.unfinished())
        elif opened.span is not None:
            self.end(key)
        else:
            with self._lock:
                self._open.pop(key, None)

    def _note_request(self, run_id: str, request: str, call_id: str | None) -> None:
        with self._lock:
            if len(self._requests) >= _MOST_REQUESTS:
                self._requests.pop(next(iter(self._requests)))
            if call_id is not None:
                self._requests[run_id, request] = call_id


class _Open:
    """Something that began: where it stands, and what is recorded when it ends."""

    __slots__ = (
        "_before",
        "_parent",
        "call",
        "is_answering",
        "outer",
        "owns_run",
        "scope",
        "source",
        "span",
        "unfinished",
    )

    def __init__(self, outer: Scope, parent: _Open | None, source: str | None, *, owns_run: bool) -> None:
        self._parent = parent
        self.outer = outer
        self.scope = outer
        self.source = source
        self.owns_run = owns_run
        self.call: Call | None = None
        self.span: _Span | None = None
        self.is_answering = False
        self.unfinished: Callable[[], dict[str, Any]] | None = None
        self._before = None if owns_run else own_scope()

    def leave(self) -> None:
        """Where this code stands in it, let it stand where it stood before."""
        if own_scope() is self.scope:
            enter_scope(self._before)

    def collapse(self, llm_id: str | None) -> None:
        """
        Let whoever still stands in it stand around it.

        A framework may report the end in another context than the start; the context of the start keeps this scope.
        """
        if llm_id is not None and self._parent is not None:
            self._parent.scope.llm_id = llm_id  # tools that this step calls next are called because of that answer
        self.scope.parent_id = self.outer.parent_id
        self.scope.llm_id = llm_id or self.outer.llm_id


class _Span:
    """A step around others: an agent, a chain, a node. Written when it ends, as the contract's span events are."""

    def __init__(self, outer: Scope, name: Any, given: Any, meta: dict[str, Any], source: str | None) -> None:
        self.event_id = new_id()
        self._run = outer.run
        self._parent_id = outer.parent_id
        self._name = name
        self._given = given
        self._meta = {"span": name, **meta}
        self._source = source
        self._started = time.monotonic()

    def end(self, result: Any, error: Any, meta: dict[str, Any] | None, duration_ms: int | None) -> None:
        from agentdbg.errors import describe_error  # noqa: PLC0415 -- loaded with the first run

        failure = None if error is None else describe_error(error)
        if duration_ms is None:
            duration_ms = int((time.monotonic() - self._started) * 1000)
        self._run.emit(
            "STATE_UPDATE",
            self._name,
            {"state": None, "diff": None, "error": failure, "input": self._given, "output": result},
            {**self._meta, **(meta or {})},
            parent_id=self._parent_id,
            event_id=self.event_id,
            duration_ms=duration_ms,
            source=self._source,
            is_span=True,
            quiet=True,
        )


def _surroundings() -> Scope | None:
    """Where the running code stands; a task may outlive its run, and then stands nowhere."""
    scope = current_scope()
    return implicit_scope() if scope is None or scope.run.closed else scope


def _run_of_its_own(name: Any, given: Any, meta: dict[str, Any]) -> Scope | None:
    source = user_source() or "python"
    default_name = default_run_name(source.rpartition(":")[0] or source, str(name))
    start = {"function_name": str(name), "args": {"input": given}, "kwargs": {}}
    scope = start_run(None, default_name, {}, start, meta)
    if scope is not None:
        _runs_of_ours.add(scope.run.run_id)
    return scope
