"""
The verbs that stand around a call: `@tool`, `@llm`, `with tool_call(…)`, `with llm_call(…)`.

They make a `Call` of what they are given; what happens to it is said in `calls`. Python cannot skip a block, so one
that a decider has answered is told by `call.served`, and ends without doing its work; one that does not ask is made all
the same, and recorded as what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from agentdbg.recorder.calls import Call, open_calls
from agentdbg.recorder.context import current_scope, enter_scope, own_scope
from agentdbg.recorder.deciders import Outcome
from agentdbg.recorder.functions import Function, bind_arguments, default_argument, function_name, given_name
from agentdbg.recorder.given_values import with_effect
from agentdbg.recorder.run_lifecycle import implicit_scope, when_ending
from agentdbg.recorder.wrappers import wrap

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["llm", "llm_call", "tool", "tool_call"]


def tool_call(
    name: str,
    args: Any = None,
    *,
    effect: Literal["write", "read"] | None = None,
    meta: dict[str, Any] | None = None,
    **extra: Any,
) -> Block:
    """
    Record the block as one tool call: `with tool_call("search", {"q": q}) as call: call.result = …`.

    `effect="write"` says that it changes something outside the agent, `effect="read"` that it does not.
    """
    return Block("tool", name, args, meta if effect is None else with_effect(meta, effect), extra)


def llm_call(model: str = "unknown", prompt: Any = None, *, meta: dict[str, Any] | None = None, **extra: Any) -> Block:
    """Record the block as one model call: `with llm_call("gpt-4o", prompt) as call: call.response = …`."""
    return Block("llm", model, prompt, meta, extra)


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
            return _FunctionCall("tool", shown_name, {**by_position, **by_keyword}, shown_meta, {})

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
            call = _ModelCall("llm", chosen, prompt, meta, extra)
            call.only_argument = next(iter(given)) if len(given) == 1 else None
            return call

        return wrap(wrapped, prepare)

    return decorate if function is None else decorate(function)


class _FunctionCall(Call):
    """A call of a decorated function."""

    def leave_half_read(self, run_id: str) -> None:
        """The run ends while the consumer of a generator has not read on: what it gave so far is what it gave."""
        if self._items is not None and self._outer is not None and self._outer.run.run_id == run_id:
            self.close()


def _leave_half_read(run_id: str) -> None:
    for call in list(open_calls.values()):
        if isinstance(call, _FunctionCall):
            call.leave_half_read(run_id)


when_ending.append(_leave_half_read)


class _ModelCall(_FunctionCall):
    """A decorated model function: usage and stop reason are taken from what it returned, where they are plain."""

    only_argument: str | None = None
    """The name of the argument that is the prompt; None where all of them are."""

    def by_name(self, given: Any) -> Any:
        return given if self.only_argument is None else {self.only_argument: given}

    def finish(self, result: Any) -> Any:
        if type(result) is dict and self._items is None:
            self.usage = result.get("usage")
            self.stop_reason = result.get("stop_reason", result.get("finish_reason"))
        return super().finish(result)


class Block(Call):
    """A call that is made by the code in a block. The same object may be entered again."""

    @property
    def served(self) -> bool:
        """Whether a decider has answered in its place: then `result` or `response` is there, and the block can end."""
        self._is_noticed = True
        return self.decided is not None and self.decided.answer is not None

    def __enter__(self) -> Block:
        before = own_scope()
        try:
            if self.begin():
                self._before = before
                enter_scope(self.scope)
                if self.decided is not None:
                    self.decided.wait(self)
                    self._offer_answer()
        except BaseException as error:
            self._leave(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            instead = self._leave(error)
        except BaseException as interruption:
            self._leave(interruption)
            raise
        if instead is not error and instead is not None:
            raise instead from None

    async def __aenter__(self) -> Block:
        before = own_scope()
        try:
            if self.begin():
                self._before = before
                enter_scope(self.scope)
                if self.decided is not None:
                    await self.decided.wait_async(self)
                    self._offer_answer()
        except BaseException as error:
            self._leave(error)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.decided is not None and not self.is_over:
            try:
                await self.decided.settle(Outcome(self._answer, error))
            except BaseException as interruption:
                self.__exit__(type(interruption), interruption, interruption.__traceback__)
                raise
        self.__exit__(kind, error, trace)

    @property
    def _answer(self) -> Any:
        return self.response if self.kind == "llm" else self.result

    def _offer_answer(self) -> None:
        answer = None if self.decided is None else self.decided.answer
        if answer is None:
            return
        if answer.error is not None:
            raise answer.error
        self._is_noticed = False
        self._take(answer.value if answer.items is None else list(answer.items))

    def _leave(self, error: BaseException | None) -> BaseException | None:
        """End the call unless it has ended; gives what the deciders leave of an exception."""
        if self.is_over:
            return error
        enter_scope(self._before)
        if self.decided is not None:
            outcome = self.decided.outcome(Outcome(self._answer, error))
            if outcome.error is None and error is None:
                self._take(outcome.value)
            error = outcome.error or error  # a block that raised cannot be made to go on
        self._end(error)
        return error
