"""`trace` and `traced_run`: where a run begins and ends, and what a nested one becomes (a span)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, overload

from agentdbg.events import new_id
from agentdbg.faults import Shield
from agentdbg.recorder.context import Scope, current_scope, enter_scope, live_runs, own_scope
from agentdbg.recorder.deciders import Outcome
from agentdbg.recorder.functions import Function, bind_arguments, function_kind, function_name, given_name
from agentdbg.recorder.paused_time import took_ms
from agentdbg.recorder.run_lifecycle import RunHandle, default_run_name, end_run, start_run
from agentdbg.recorder.source_lines import function_source, user_source
from agentdbg.recorder.wrappers import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

__all__ = ["current_run", "has_active_run", "trace", "traced_run"]

_LIMITS = (
    "stop_on_loop",
    "stop_on_loop_min_repetitions",
    "max_llm_calls",
    "max_tool_calls",
    "max_events",
    "max_duration_s",
    "max_tokens",
    "max_cost_usd",
)


@overload
def trace(f: Function, /) -> Function: ...
@overload
def trace(
    f: str | None = None,
    *,
    name: str | None = None,
    meta: Mapping[str, Any] | None = None,
    stop_on_loop: bool | None = None,
    stop_on_loop_min_repetitions: int | None = None,
    max_llm_calls: int | None = None,
    max_tool_calls: int | None = None,
    max_events: int | None = None,
    max_duration_s: float | None = None,
    max_tokens: int | None = None,
    max_cost_usd: float | None = None,
) -> Callable[[Function], Function]: ...
def trace(
    f: Any = None,
    *,
    name: str | None = None,
    meta: Mapping[str, Any] | None = None,
    stop_on_loop: bool | None = None,
    stop_on_loop_min_repetitions: int | None = None,
    max_llm_calls: int | None = None,
    max_tool_calls: int | None = None,
    max_events: int | None = None,
    max_duration_s: float | None = None,
    max_tokens: int | None = None,
    max_cost_usd: float | None = None,
) -> Any:
    """
    Record each call of a function as a run; inside a run, as a span of it.

    Used as `@trace`, `@trace()`, `@trace("name")` or `@trace(name=…)`, on functions, coroutines, generators, async
    generators and methods. The limits stop the run or the span that crosses them.
    """
    given = locals()
    limits = {limit: given[limit] for limit in _LIMITS if given[limit] is not None}
    if isinstance(f, str):
        name, f = f, None

    def decorate(function: Any) -> Any:
        def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Span | _RunEdge | None:
            return _prepare(function, name, meta, limits, args, kwargs)

        return wrap(function, prepare)

    return decorate if f is None else decorate(f)


class traced_run:  # noqa: N801 -- used like a function: `with traced_run("name"):`
    """Record a block as a run, with the limits of `trace`: `with traced_run("name") as run: run.run_id, run.path`."""

    def __init__(self, name: str | None = None, *, meta: Mapping[str, Any] | None = None, **limits: Any) -> None:
        unknown = [limit for limit in limits if limit not in _LIMITS]
        if unknown:
            raise TypeError(f"traced_run() got an unexpected keyword argument {unknown[0]!r}")
        self._name = name
        self._meta = meta
        self._limits = limits
        self._entered: list[tuple[Scope | None, _Span | _RunEdge]] = []
        """What was current before each `with` of this object that is still open, and what began there."""

    def __enter__(self) -> RunHandle:
        outer = own_scope()
        scope = _open_scope()
        around: _Span | _RunEdge
        if scope is not None and not _is_run_of_its_own(scope, self._limits):
            around = _Span(scope, given_name(self._name, "traced_run"), self._limits)
        else:
            place = (user_source() or "").rpartition(":")[0] or "python"
            name, meta = default_run_name(place, None), _linked(self._meta, scope)
            around = _RunEdge(self._name, name, self._limits, {}, meta, "block")
        try:
            self._entered.append((outer, around))
            if not around.begin():
                return RunHandle(None)
            enter_scope(around.scope)
            return RunHandle(around.scope.run)
        except BaseException as error:
            if self._entered and self._entered[-1][1] is around:
                self._entered.pop()
            _leave(around, outer, error)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._entered:
            return
        outer, around = self._entered[-1]
        try:
            instead = _leave(around, outer, error)
        except BaseException as interruption:
            _leave(around, outer, interruption)
            raise
        finally:
            self._entered.pop()
        if instead is not None and instead.error is not None:
            raise instead.error from None

    async def __aenter__(self) -> RunHandle:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


def current_run() -> RunHandle | None:
    """The run this code records into, or None."""
    scope = _open_scope()
    return None if scope is None else RunHandle(scope.run)


def has_active_run() -> bool:
    """Whether what is recorded here goes anywhere."""
    return _open_scope() is not None


def _open_scope() -> Scope | None:
    """The scope of a run that is still open: a task may outlive its run, and then begins a new one."""
    scope = current_scope()
    return scope if scope is not None and scope.is_open else None


def _is_run_of_its_own(scope: Scope, limits: Mapping[str, Any]) -> bool:
    """
    Whether a trace inside the process's own run makes a run all the same: with limits it does, because a program run
    by `agentdbg run` has to stop where it would have stopped without it.
    """
    return bool(limits) and scope.run.is_process_wide


def _linked(meta: Mapping[str, Any] | None, outer: Scope | None) -> Mapping[str, Any] | None:
    if outer is None:
        return meta
    known: Any = meta if isinstance(meta, dict) else {} if meta is None else {"meta": meta}
    return {**known, "parent_run_id": outer.run.run_id}


def _leave(around: _Span | _RunEdge, outer: Scope | None, error: BaseException | None) -> Outcome | None:
    """End what began, unless it has ended; gives what the caller should see instead of `error`, if anything."""
    if around.is_over:
        return None
    enter_scope(outer)
    if error is not None:
        return around.fail(error)
    around.finish(None)
    return None


def _prepare(
    function: Any,
    name: str | None,
    meta: Mapping[str, Any] | None,
    limits: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> _Span | _RunEdge:
    shown_name = function_name(function)
    scope = _open_scope()
    by_position, by_keyword = bind_arguments(function, args, kwargs)
    if scope is not None and not _is_run_of_its_own(scope, limits):
        given = {**by_position, **by_keyword} if scope.run.capture_args else None
        return _Span(scope, given_name(name, shown_name), limits, given, function_kind(function))
    code = getattr(function, "__code__", None)
    path = function_source(code.co_filename) if code is not None else (user_source() or "").rpartition(":")[0]
    module = getattr(function, "__module__", None)
    start = {"function_name": shown_name, "args": by_position, "kwargs": by_keyword, "function_module": module}
    default_name, kind = default_run_name(path, shown_name), function_kind(function)
    return _RunEdge(name, default_name, limits, start, _linked(meta, scope), kind)


class _RunEdge:
    """
    Where a run begins and ends.

    It knows the run by its id from before it begins, so that it can end it wherever an interruption comes.
    """

    decided = None
    inside = None
    deadline = None

    def __init__(
        self,
        name: str | None,
        default_name: str,
        limits: Mapping[str, Any],
        start: Mapping[str, Any],
        meta: Mapping[str, Any] | None,
        kind: str,
    ) -> None:
        self._given = (name, default_name, limits, start, meta)
        self._kind = kind
        self._run_id = new_id()
        self.scope: Any = None

    @property
    def is_over(self) -> bool:
        return self._run_id not in live_runs

    def begin(self) -> bool:
        self.scope = start_run(*self._given, self._run_id)
        if self.scope is None:
            return False
        self.scope.run.may_stay_open = self._kind in ("generator", "async_generator")
        return True

    def finish(self, result: Any) -> Any:
        run = live_runs.get(self._run_id)
        if run is not None:
            result_counts = self._kind not in ("async_generator", "block") and run.capture_args
            end_run(run, outcome={"result": result} if result_counts else None)
        return result

    def fail(self, error: BaseException) -> Outcome | None:
        run = live_runs.get(self._run_id)
        if run is None:
            return None
        instead = run.budget.public_form(error) if run.is_ours() else None
        end_run(run, error if instead is None else instead)
        return None if instead is None else Outcome(error=instead)

    def saw(self, item: Any) -> None:
        pass

    def close(self) -> None:
        run = live_runs.get(self._run_id)
        if run is not None:
            end_run(run)


class _Span:
    """
    A trace inside a run: no run of its own, but a place in the tree, written down when it ends.

    Limits that it was given are its own budget: they stop it, and not the run.
    """

    decided = None
    inside = None
    deadline: Any = None

    def __init__(
        self,
        outer: Scope,
        name: Any,
        limits: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        kind: str = "block",
    ) -> None:
        self._outer = outer
        self._given = given
        self._kind = kind
        self._name = name
        self._limits = limits
        self._span_id = new_id()
        self._started = time.monotonic()
        self._source = user_source(2)
        self.scope: Scope = outer.inside(self._span_id)
        self.is_over = True
        self._is_tried = False

    def begin(self) -> bool:
        self.is_over = False
        if self._limits:
            with Shield("limit a span", self._outer.run.count_fault):
                self.scope.budget = self._outer.run.open_budget(self._span_id, self._limits, self._outer.budget)
                self.deadline = self.scope.budget.deadline if self._has_budget else None
        return True

    @property
    def _has_budget(self) -> bool:
        return self.scope.budget is not self._outer.budget

    def finish(self, result: Any) -> Any:
        self._end(None, result)
        return result

    def fail(self, error: BaseException) -> Outcome | None:
        instead = self.scope.budget.public_form(error) if self._has_budget else None
        self._end(error if instead is None else instead)
        return None if instead is None else Outcome(error=instead)

    def saw(self, item: Any) -> None:
        pass

    def close(self) -> None:
        self._end(None)

    def _end(self, error: BaseException | None, result: Any = None) -> None:
        run = self._outer.run
        if self.is_over or self._started < run.forked_at or (self._is_tried and run.has_written(self._span_id)):
            self.is_over = True
            return
        # The second time with nothing of the user's: describing that may be what took so long.
        was_tried, self._is_tried = self._is_tried, True
        with Shield("record a span", run.count_fault):
            if self._has_budget:
                run.close_budget(self.scope.budget)
                if error is None and self.scope.budget.stop is not None:  # swallowed inside; it failed all the same
                    error = self.scope.budget.stop.exceeded
            failure = None if error is None else run.describe_error(type(error) if was_tried else error)
            payload: dict[str, Any] = {"state": None, "diff": None, "error": failure}
            if self._given is not None and not was_tried:
                payload["input"] = self._given
                payload["output"] = None if self._kind == "async_generator" else result
            draft = run.draft(
                "STATE_UPDATE",
                self._name,
                payload,
                {"span": self._name},
                self._outer.parent_id,
                self._outer.budget,
                duration_ms=took_ms(self._started, time.monotonic(), self._span_id, self._outer.parent_id),
                source=self._source,
                event_id=self._span_id,
                is_span=True,
            )
            run.emit(draft, quiet=True)
        self.is_over = True
