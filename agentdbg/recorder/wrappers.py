"""
Wrapping a function of any kind so that it stays that kind.

`wrap` knows functions, coroutine functions, generators and async generators. What is done around a call is an
`Around`; this module only sees to it that the call itself is untouched: the same arguments, results, exceptions and
iteration, and the scope set only while the function's own code runs. What has begun is ended, wherever an interruption
(a signal handler's exception) comes in between: everything from the beginning on stands in one `try`, and what its
`except` was interrupted in, its `finally` does again.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.faults import Shield, pass_on, tell_once
from agentdbg.interruptions import hide_own_frames
from agentdbg.recorder.context import enter_scope, own_scope
from agentdbg.recorder.deciders import Outcome
from agentdbg.recorder.functions import function_kind
from agentdbg.recorder.lanes import enter, leave

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from agentdbg.recorder.context import Scope
    from agentdbg.recorder.lanes import Lane

    Prepare = Callable[[tuple[Any, ...], dict[str, Any]], "Around | None"]
    """What is to be done around a call with these arguments; None leaves the call alone."""

__all__ = ["Around", "wrap"]


class Around(Protocol):
    """What happens around one call. Each of these may be called again where it was interrupted."""

    scope: Any
    """Where the function's code records into, once it has begun."""

    decided: Any
    """What deciders say about the call, once it has begun (a `Consultation`); None when nobody is asked."""

    deadline: Any
    """The clock that stops nothing but this, while its own code runs; None where there is none."""

    inside: Any
    """The lane of what the function does, once it has begun; None when it is none of its own."""

    def begin(self) -> bool:
        """Begin to record; False when nothing is recorded."""

    def finish(self, result: Any) -> Any:
        """The call returned; give back what the caller should get."""

    def fail(self, error: BaseException) -> Outcome | None:
        """The call raised; give back what the caller should get instead, or None: the same exception."""

    def saw(self, item: Any) -> None:
        """A generator yielded."""

    def close(self) -> None:
        """A generator was closed or dropped by its consumer."""

    @property
    def is_over(self) -> bool:
        """Whether nothing has begun that has not ended."""


def wrap(function: Any, prepare: Prepare) -> Any:
    """The function, recorded: `prepare` is called with each call's arguments."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(wrap(function.__func__, prepare))
    if isinstance(function, type):  # a function in its place could not be subclassed, nor asked isinstance
        tell_once(f"class:{function!r}", f"the class {function.__name__} is left as it is; decorate its methods")
        return function
    wrapper = _WRAPPERS[function_kind(function)](function, _contained(prepare))
    try:
        return functools.wraps(function)(wrapper)
    except (TypeError, ValueError, AttributeError) as error:  # a callable object may have anything as its name
        pass_on(error, of_user_code=True)
        wrapper.__wrapped__ = function
        return wrapper


def _contained(prepare: Prepare) -> Prepare:
    """`prepare`, whose faults end here: the function is called all the same, unrecorded."""

    def prepare_safely(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Around | None:
        with Shield("record a function"):
            return prepare(args, kwargs)
        return None

    return prepare_safely


def _plain(function: Any, prepare: Prepare) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        around = prepare(args, kwargs)
        if around is None:
            return function(*args, **kwargs)
        outer = own_scope()
        try:
            if around.begin():
                enter_scope(around.scope)
            decided = around.decided
            result = function(*args, **kwargs) if decided is None else decided.make(around, function, args, kwargs)
            enter_scope(outer)
            result = around.finish(result)
        except BaseException as error:
            enter_scope(outer)
            instead = around.fail(error)
            if instead is None:
                if isinstance(error, Exception):
                    hide_own_frames(error)
                raise
            if instead.error is not None:
                raise instead.error from None
            result = instead.value
        finally:
            if not around.is_over:
                _leave(around, outer)
        return result

    return wrapper


def _leave(around: Around, outer: Scope | None) -> None:
    """Do again what an interruption kept from being done."""
    enter_scope(outer)
    interruption = sys.exc_info()[1]
    if interruption is not None:
        around.fail(interruption)


def _coroutine(function: Any, prepare: Prepare) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        around = prepare(args, kwargs)
        if around is None:
            return await function(*args, **kwargs)
        outer = own_scope()
        try:
            if around.begin():
                enter_scope(around.scope)
            if around.decided is None:
                result = await function(*args, **kwargs)
            else:
                result = await around.decided.make_async(around, function, args, kwargs)
            enter_scope(outer)
            result = around.finish(result) if around.decided is None else await _finished(around, result)
        except BaseException as error:
            enter_scope(outer)
            instead = around.fail(error) if around.decided is None else await _failed(around, error)
            if instead is None:
                if isinstance(error, Exception):
                    hide_own_frames(error)
                raise
            if instead.error is not None:
                raise instead.error from None
            result = instead.value
        finally:
            if not around.is_over:
                _leave(around, outer)
        return result

    return wrapper


class _Steps:
    """Sets a generator's scope and lane while its own code runs, and takes them back while its consumer's does."""

    __slots__ = ("_deadline", "_inner", "_lane", "_outer", "is_inside")

    def __init__(self) -> None:
        self._inner: Scope | None = None
        self._outer: Scope | None = None
        self._lane: Lane | None = None
        self._deadline: Any = None
        self.is_inside = False

    def begin(self, around: Around) -> None:
        self._inner = around.scope if around.begin() else own_scope()
        self._lane, self._deadline = around.inside, around.deadline
        if self._lane is not None:
            leave(self._lane)

    def resume(self) -> None:
        if self._deadline is not None:
            self._deadline.resume()
        self._outer = own_scope()
        self.is_inside = True
        enter_scope(self._inner)
        if self._lane is not None:
            enter(self._lane)

    def suspend(self) -> None:
        self._inner = own_scope()
        self.leave()

    def close(self, around: Around, generator: Generator[Any, Any, Any]) -> None:
        """Close the generator; what the interpreter closes at its end finds no global any more, and its run ended."""
        if around.is_over:
            generator.close()
            return
        self.resume()
        try:
            generator.close()
        finally:
            self.suspend()

    def leave(self) -> None:
        """Be outside again; also where an interruption came in between."""
        if self.is_inside:
            if self._deadline is not None:
                self._deadline.suspend()
            enter_scope(self._outer)
            if self._lane is not None:
                leave(self._lane)
            self.is_inside = False


def _generator(function: Any, prepare: Prepare) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        around = prepare(args, kwargs)
        if around is None:
            return (yield from function(*args, **kwargs))
        steps = _Steps()
        sent: Any = None
        try:
            steps.begin(around)
            decided = around.decided
            generator = function(*args, **kwargs) if decided is None else decided.stream(around, function, args, kwargs)
            advance: Callable[[Any], Any] = generator.send
            while True:
                steps.resume()
                try:
                    item = advance(sent)
                finally:
                    steps.suspend()
                around.saw(item)
                try:
                    sent = yield item
                    advance = generator.send
                except GeneratorExit:
                    steps.close(around, generator)
                    raise
                except BaseException as thrown:  # noqa: BLE001 -- goes into the generator as it came
                    sent = thrown
                    advance = generator.throw
        except StopIteration as stop:
            return around.finish(stop.value)
        except GeneratorExit:
            around.close()
            raise
        except BaseException as error:
            instead = around.fail(error)
            if instead is None:
                raise
            if instead.error is not None:
                raise instead.error from None
            return instead.value
        finally:
            steps.leave()
            if not around.is_over:
                _leave(around, own_scope())

    return wrapper


def _async_generator(function: Any, prepare: Prepare) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        around = prepare(args, kwargs) or _Nothing()
        steps = _Steps()
        sent: Any = None
        dropped: BaseException | None = None
        try:
            steps.begin(around)
            generator = await _opened(around, function, args, kwargs)
            advance: Callable[[Any], Any] = generator.asend
            while True:
                steps.resume()
                try:
                    item = await advance(sent)
                finally:
                    steps.suspend()
                around.saw(item)
                try:
                    sent = yield item
                    advance = generator.asend
                except GeneratorExit:
                    await _aclosing(steps, generator)
                    raise
                except BaseException as thrown:  # noqa: BLE001 -- goes into the generator as it came
                    sent = thrown
                    advance = generator.athrow
                    # A loop that ends cancels the closing of a generator somebody dropped; that arrives here.
                    dropped = thrown if type(thrown).__name__ == "CancelledError" else None
        except StopAsyncIteration:
            await _finished(around, None)
        except GeneratorExit:
            around.close()
            raise
        except BaseException as error:
            if error is dropped:
                around.close()
                raise
            instead = await _failed(around, error)
            if instead is None:
                raise
            if instead.error is not None:
                raise instead.error from None
        finally:
            steps.leave()
            if not around.is_over:
                _leave(around, own_scope())

    return wrapper


async def _aclosing(steps: _Steps, generator: AsyncGenerator[Any, Any]) -> None:
    steps.resume()
    try:
        await generator.aclose()
    finally:
        steps.suspend()


async def _opened(around: Around, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if around.decided is None:
        return function(*args, **kwargs)
    return await around.decided.stream_async(around, function, args, kwargs)


async def _finished(around: Around, result: Any) -> Any:
    if around.decided is not None:
        await around.decided.settle(Outcome(result))
    return around.finish(result)


async def _failed(around: Around, error: BaseException) -> Outcome | None:
    if around.decided is not None:
        await around.decided.settle(Outcome(error=error))
    return around.fail(error)


class _Nothing:
    """Around a call that nobody records. An async generator cannot hand over to another one, so it needs this."""

    scope: Any = None
    is_over = True
    decided = None
    inside = None
    deadline = None

    def begin(self) -> bool:
        return False

    def finish(self, result: Any) -> Any:
        return result

    def fail(self, error: BaseException) -> None:
        pass

    def saw(self, item: Any) -> None:
        pass

    def close(self) -> None:
        pass


_WRAPPERS = {
    "plain": _plain,
    "coroutine": _coroutine,
    "generator": _generator,
    "async_generator": _async_generator,
}
