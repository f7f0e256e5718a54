"""
The verbs that stand around a call: `@tool`, `@llm`, `with tool_call(…)`, `with llm_call(…)`.

Before the call they take a place (a limit may refuse it, then no call is made) and write CALL_START; after it they
record the outcome. Results and exceptions pass through untouched.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, overload

from agentdbg.events import new_id
from agentdbg.faults import contain
from agentdbg.interruptions import is_not_ours
from agentdbg.recorder.context import Scope, current_scope, enter_scope, own_scope
from agentdbg.recorder.functions import Function, bind_arguments, default_argument, function_name, given_name
from agentdbg.recorder.given_meta import with_effect
from agentdbg.recorder.runs import implicit_scope
from agentdbg.recorder.sources import user_source
from agentdbg.recorder.wrappers import wrap

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from agentdbg.recorder.payloads import Payload

__all__ = ["Call", "llm", "llm_call", "open_model_calls", "tool", "tool_call"]

_MOST_ITEMS = 10_000

open_model_calls: dict[str, Call] = {}
"""The model calls being made, by id. A client's hook that finds itself inside one leaves the recording to it."""


class Call:
    """One call while it is being made, and the block around it."""

    def __init__(self, kind: str, name: Any, given: Any, meta: dict[str, Any] | None, fields: dict[str, Any]) -> None:
        self.kind = kind
        self._name = name
        self._given = given
        self._meta = meta
        self._fields = fields
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Nothing has come of it yet."""
        self.result: Any = None
        self.response: Any = None
        self.usage: Any = None
        self.stop_reason: Any = None
        self.error: Any = None
        self.duration_ms: int | None = None
        """How long it took; measured from `begin` when nobody knows better."""
        self._items: list[Any] | None = None
        self._from_inside: dict[str, Any] = {}
        self._ended = False
        self._call_id: str | None = None
        self._outer: Scope | None = None
        self.scope: Any = None

    @property
    def is_over(self) -> bool:
        """Whether the call has not begun, or has ended."""
        return self._ended or self._call_id is None

    @property
    def call_id(self) -> str | None:
        """The id the call's event will have; None when nothing is being recorded."""
        return self._call_id

    def begin(self, scope: Scope | None = None, *, parent_id: str | None = None, source: str | None = None) -> bool:
        """
        Take a place and write CALL_START; False when nothing is being recorded. Raises when a limit refuses.

        The call belongs where the running code does, unless `scope`, `parent_id` or `source` say otherwise.
        """
        if self._ended:  # the same block once more
            self._begin_anew()
        self._is_placed = scope is not None
        scope = scope or current_scope()
        if scope is None and (scope := implicit_scope()) is None:
            return False
        self._source = source or user_source(2)
        self._outer = scope
        implied_parent = scope.parent_id if self.kind == "llm" else scope.llm_id or scope.parent_id
        self._parent_id = parent_id or implied_parent
        self._started = time.monotonic()
        call_id = new_id()
        try:
            scope.run.begin_call(call_id, self.kind, self._name, self._given, self._parent_id, self._meta)
            self.scope = Scope(scope.run, call_id)
            self._call_id = call_id
            if self.kind == "llm":
                open_model_calls[call_id] = self
        except BaseException as fault:  # noqa: BLE001 -- `contain` raises what is not ours
            if scope.run.is_open(call_id):
                self._call_id = call_id
                self._end(fault)
            self._call_id = None
            contain(fault, "record the start of a call", scope.run.count_fault)
            return False
        return True

    def learn(self, name: Any = None, meta: dict[str, Any] | None = None, **fields: Any) -> None:
        """Add what is known only after the start: the model that answered, more meta, more of the payload."""
        if name is not None:
            self._name = name
        if meta:
            self._meta = {**(self._meta or {}), **meta}
        self._fields = {**self._fields, **fields}

    def complete(self, response: Any = None, usage: Any = None, stop_reason: Any = None, **fields: Any) -> None:
        """What a hook further inside knows; it fills in where nothing better is known when the call ends."""
        self._from_inside = {"response": response, "usage": usage, "stop_reason": stop_reason}
        self._fields = {**fields, **{key: value for key, value in self._fields.items() if value != "unknown"}}

    def finish(self, result: Any) -> None:
        """The call came back."""
        if self.kind == "llm":
            self.response = self._whole(result)
        else:
            self.result = self._whole(result)
        self._end(None)

    def end(self, result: Any, error: Any = None) -> None:
        """The call is over; with an error, `result` is as far as it came."""
        self.response, self.result = (result, None) if self.kind == "llm" else (None, result)
        self._end(error)

    def fail(self, error: BaseException) -> BaseException | None:
        """The call raised."""
        self._take_items()
        self._end(error)
        return None

    def saw(self, item: Any) -> None:
        """A generator yielded one more piece of its answer."""
        if self._items is None:
            self._items = []
        if len(self._items) < _MOST_ITEMS:
            self._items.append(item)

    def close(self) -> None:
        """The consumer of a generator had enough."""
        self._take_items()
        self._end(None)

    def _take_items(self) -> None:
        if self._items is not None:
            answer = self._whole(None)
            self.response, self.result = answer, answer

    def _whole(self, result: Any) -> Any:
        if self._items is None:
            return result
        if all(type(item) is str for item in self._items):
            return "".join(self._items)
        return list(self._items)

    def _end(self, error: Any) -> None:
        if self._ended or self._call_id is None or self._outer is None:
            return
        run = self._outer.run
        open_model_calls.pop(self._call_id, None)
        if self.duration_ms is None:
            self.duration_ms = int((time.monotonic() - self._started) * 1000)
        try:
            self._record(error)
        except BaseException as fault:  # noqa: BLE001 -- `contain` raises what is not ours
            if run.is_open(self._call_id):
                self._record_without_result(fault if is_not_ours(fault) else error)
            self._ended = True
            contain(fault, "record a call", run.count_fault)
        self._ended = True
        if self.kind == "llm" and not self._is_placed:
            here = current_scope()
            if here is not None and here.run is run and here.parent_id == self._outer.parent_id:
                enter_scope(Scope(run, here.parent_id, self._call_id))

    def _record(self, error: Any) -> None:
        assert self._outer is not None
        assert self._call_id is not None
        run = self._outer.run
        if self.error is None:
            self.error = error
        for name, value in self._from_inside.items():
            if getattr(self, name) is None:
                setattr(self, name, value)
        fields, given = self._payload()
        recorded = run.emit(
            "LLM_CALL" if self.kind == "llm" else "TOOL_CALL",
            self._name,
            fields,
            self._meta,
            given=given,
            parent_id=self._parent_id,
            event_id=self._call_id,
            duration_ms=self.duration_ms,
            source=self._source,
            quiet=True,
        )
        if isinstance(error, BaseException) and recorded is not None:
            run.remember_failure(error, self._call_id)

    def _record_without_result(self, error: Any) -> None:
        """End a call whose record failed or was interrupted: describing its result may be what took so long."""
        assert self._outer is not None
        assert self._call_id is not None
        self.result = self.response = self.usage = self.stop_reason = None
        self.error = error
        self._from_inside = {}
        try:
            self._record(error)
        except BaseException as fault:  # noqa: BLE001 -- as above
            self._outer.run.release_call(self._call_id)
            contain(fault, "record a call", self._outer.run.count_fault)

    def _payload(self) -> Payload:
        assert self._outer is not None
        run, extra = self._outer.run, dict(self._fields)
        if self.kind == "tool":
            return run.tool_fields(self._name, self._given, self.result, "ok", self.error, extra)
        return run.llm_fields(
            self._name,
            self._given,
            self.response,
            self.usage,
            extra.pop("provider", "unknown"),
            extra.pop("temperature", None),
            self.stop_reason if self.stop_reason is not None else extra.pop("stop_reason", None),
            "ok",
            self.error,
            extra,
        )

    # As a block.

    def __enter__(self) -> Call:
        self._before = own_scope()
        try:
            if self.begin():
                enter_scope(self.scope)
        except BaseException as error:
            self._leave(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._leave(error)
        except BaseException as interruption:
            self._leave(interruption)
            raise

    def _leave(self, error: BaseException | None) -> None:
        if not self.is_over:
            enter_scope(self._before)
            self._end(error)

    async def __aenter__(self) -> Call:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


def tool_call(
    name: str,
    args: Any = None,
    *,
    effect: Literal["write", "read"] | None = None,
    meta: dict[str, Any] | None = None,
    **extra: Any,
) -> Call:
    """
    Record the block as one tool call: `with tool_call("search", {"q": q}) as call: call.result = …`.

    `effect="write"` says that it changes something outside the agent, `effect="read"` that it does not.
    """
    return Call("tool", name, args, meta if effect is None else with_effect(meta, effect), extra)


def llm_call(model: str = "unknown", prompt: Any = None, *, meta: dict[str, Any] | None = None, **extra: Any) -> Call:
    """Record the block as one model call: `with llm_call("gpt-4o", prompt) as call: call.response = …`."""
    return Call("llm", model, prompt, meta, extra)


@overload
def tool(
    function: Function, *, name: str | None = None, meta: dict[str, Any] | None = None, **declared: Any
) -> Function: ...
@overload
def tool(
    function: str | None = None, *, name: str | None = None, meta: dict[str, Any] | None = None, **declared: Any
) -> Callable[[Function], Function]: ...
def tool(function: Any = None, *, name: str | None = None, meta: dict[str, Any] | None = None, **declared: Any) -> Any:
    """
    Record every call of a function as a tool call: arguments by name, result or exception, duration.

    Works on functions, coroutines, generators, async generators and methods. `polling=True` says that the tool is
    meant to be asked again and again; `effect="write"` that it changes something outside the agent, `effect="read"`
    that it does not.
    """
    if isinstance(function, str):
        name, function = function, None

    def decorate(wrapped: Any) -> Any:
        shown_name = given_name(name, function_name(wrapped))
        given: Any = meta  # it may be of any type after all
        known = given if isinstance(given, dict) else {} if given is None else {"meta": given}
        shown_meta = {**known, **declared} or None

        def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
            if current_scope() is None and implicit_scope() is None:
                return None
            by_position, by_keyword = bind_arguments(wrapped, args, kwargs)
            return Call("tool", shown_name, {**by_position, **by_keyword}, shown_meta, {})

        return wrap(wrapped, prepare)

    return decorate if function is None else decorate(function)


@overload
def llm(
    function: Function, *, model: str | None = None, meta: dict[str, Any] | None = None, **extra: Any
) -> Function: ...
@overload
def llm(
    function: str | None = None, *, model: str | None = None, meta: dict[str, Any] | None = None, **extra: Any
) -> Callable[[Function], Function]: ...
def llm(function: Any = None, *, model: str | None = None, meta: dict[str, Any] | None = None, **extra: Any) -> Any:
    """
    Record every call of a function as a model call: its arguments are the prompt, what it returns the response.

    `model` is a name, or the name of the function's own `model` argument is looked up when it is not given.
    """
    if isinstance(function, str):
        model, function = function, None

    def decorate(wrapped: Any) -> Any:
        default_model = default_argument(wrapped, "model")

        def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
            if current_scope() is None and implicit_scope() is None:
                return None
            by_position, by_keyword = bind_arguments(wrapped, args, kwargs)
            given = {**by_position, **by_keyword}
            chosen = given_name(model, given_name(given.get("model"), given_name(default_model, "unknown")))
            prompt = next(iter(given.values())) if len(given) == 1 else given
            return _ModelCall("llm", chosen, prompt, meta, extra)

        return wrap(wrapped, prepare)

    return decorate if function is None else decorate(function)


class _ModelCall(Call):
    """A decorated model function: usage and stop reason are taken from what it returned, where they are plain."""

    def finish(self, result: Any) -> None:
        if type(result) is dict and self._items is None:
            self.usage = result.get("usage")
            self.stop_reason = result.get("stop_reason", result.get("finish_reason"))
        super().finish(result)
