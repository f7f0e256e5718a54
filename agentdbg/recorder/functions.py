"""
Wrapping a function of any kind so that it stays that kind.

`wrap` knows functions, coroutine functions, generators and async generators. What is done around a call is an
`Around`; this module only sees to it that the call itself is untouched: the same arguments, results, exceptions and
iteration, and the scope set only while the function's own code runs.
"""

from __future__ import annotations

import functools
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunStopped
from agentdbg.faults import contain, tell_once
from agentdbg.recorder.context import enter_scope, own_scope

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from agentdbg.recorder.context import Scope

__all__ = [
    "Around",
    "Function",
    "bind_arguments",
    "default_argument",
    "function_kind",
    "function_name",
    "given_name",
    "wrap",
]

Function = TypeVar("Function", bound="Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]")
"""What a decorator of ours takes and gives back, so that type checkers see the function it was."""

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_VARARGS = 0x04


class Around(Protocol):
    """What happens around one call."""

    scope: Scope
    """Where the function's code records into."""

    def finish(self, result: Any) -> None:
        """The call returned."""

    def fail(self, error: BaseException) -> BaseException | None:
        """The call raised; give back what the caller should see instead, or None for the same exception."""

    def saw(self, item: Any) -> None:
        """A generator yielded."""

    def close(self) -> None:
        """A generator was closed or dropped by its consumer."""


def wrap(function: Any, begin: Callable[[tuple[Any, ...], dict[str, Any]], Around | None]) -> Any:
    """The function, recorded: `begin` is called with each call's arguments; None from it leaves the call alone."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(wrap(function.__func__, begin))
    if isinstance(function, type):  # a function in its place could not be subclassed, nor asked isinstance
        tell_once(f"class:{function!r}", f"the class {function.__name__} is left as it is; decorate its methods")
        return function
    wrapper = _WRAPPERS[function_kind(function)](function, _contained(begin))
    try:
        return functools.wraps(function)(wrapper)
    except (TypeError, ValueError, AttributeError):  # a callable object may have anything where its name should be
        wrapper.__wrapped__ = function
        return wrapper


def _contained(begin: Callable[[tuple[Any, ...], dict[str, Any]], Around | None]) -> Any:
    """`begin`, whose faults end here: the function is called all the same, unrecorded."""

    def begin_safely(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Around | None:
        try:
            return begin(args, kwargs)
        except (AgentDbgGuardrailExceeded, RunStopped):
            raise
        except Exception as fault:  # noqa: BLE001
            contain(fault, "record a function")
            return None

    return begin_safely


def function_kind(function: Any) -> str:
    """plain, coroutine, generator or async_generator."""
    while isinstance(function, functools.partial):
        function = function.func
    code = _code(function) or _code(_call_method(function))
    flags = 0 if code is None else code.co_flags
    if flags & _ASYNC_GENERATOR:
        return "async_generator"
    if flags & _COROUTINE:
        return "coroutine"
    if flags & _GENERATOR:
        return "generator"
    return "plain"


def function_name(function: Any) -> str:
    """What people call it: its name, a partial's function's name, a callable object's class."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name else type(function).__name__


def given_name(name: Any, otherwise: Any) -> Any:
    """The name the user gave, of whatever type; not `or`, because asking whether it is true could run anything."""
    return otherwise if name is None or (type(name) is str and not name) else name


def bind_arguments(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was given by position and by keyword, each under its parameter's name, without self."""
    function, args, kwargs, has_self = _as_called(function, args, kwargs)
    code = _code(function)
    if code is None:
        return ({"args": list(args)} if args else {}), dict(kwargs)
    names = code.co_varnames[: code.co_argcount]
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) and code.co_flags & _VARARGS:
        given[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]] = list(args[len(names) :])
    if names and (has_self or names[0] in ("self", "cls") or _is_method_of(function, args)):
        given.pop(names[0], None)
    return given, dict(kwargs)


def _is_method_of(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether the first argument is the object, or the class, whose method this is: not everyone calls it self."""
    owner, _, name = str(getattr(function, "__qualname__", "")).rpartition(".")
    if not owner or owner.endswith("<locals>") or not args:
        return False
    kind = type(args[0])
    for base in (args[0] if issubclass(kind, type) else kind).__mro__:
        if name in base.__dict__:
            return not isinstance(base.__dict__[name], staticmethod)
    return False


def default_argument(function: Any, name: str) -> Any:
    """What a parameter is when it is not given; None when it has no such value."""
    function = _as_called(getattr(function, "__func__", function), (), {})[0]
    if not isinstance(function, FunctionType):
        return None
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}.get(name)


def _as_called(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any], bool]:
    """The function whose parameters the arguments meet in the end, with what partials and methods add to them."""
    has_self = False
    for _ in range(20):  # decorators of decorators
        if isinstance(function, functools.partial):
            args, kwargs = function.args + args, {**function.keywords, **kwargs}
            function = function.func
        elif isinstance(function, MethodType):
            args, has_self = (function.__self__, *args), True
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, FunctionType) or (call := _call_method(function)) is None:
            break
        else:
            args, has_self = (function, *args), True
            function = call
    return function, args, kwargs, has_self


def _call_method(function: Any) -> FunctionType | None:
    """The `__call__` of a callable object, where it is written in Python."""
    call = getattr(type(function), "__call__", None)  # noqa: B004 -- the method itself is wanted
    return call if isinstance(call, FunctionType) else None


def _code(function: Any) -> CodeType | None:
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _plain(function: Any, begin: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        around = begin(args, kwargs)
        if around is None:
            return function(*args, **kwargs)
        outer = own_scope()
        enter_scope(around.scope)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            enter_scope(outer)
            instead = around.fail(error)
            if instead is not None:
                raise instead from None
            raise
        enter_scope(outer)
        around.finish(result)
        return result

    return wrapper


def _coroutine(function: Any, begin: Any) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        around = begin(args, kwargs)
        if around is None:
            return await function(*args, **kwargs)
        outer = own_scope()
        enter_scope(around.scope)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            enter_scope(outer)
            instead = around.fail(error)
            if instead is not None:
                raise instead from None
            raise
        enter_scope(outer)
        around.finish(result)
        return result

    return wrapper


class _Steps:
    """Sets a generator's scope while its own code runs, and takes it back while its consumer's does."""

    __slots__ = ("_inner", "_outer", "around")

    def __init__(self, around: Around) -> None:
        self.around = around
        self._inner: Scope | None = around.scope
        self._outer: Scope | None = None

    def resume(self) -> None:
        self._outer = own_scope()
        enter_scope(self._inner)

    def suspend(self) -> None:
        self._inner = own_scope()
        enter_scope(self._outer)


def _generator(function: Any, begin: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        around = begin(args, kwargs)
        if around is None:
            return (yield from function(*args, **kwargs))
        steps = _Steps(around)
        sent: Any = None
        try:
            generator = function(*args, **kwargs)
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
                    _closing(steps, generator)
                    raise
                except BaseException as thrown:  # noqa: BLE001 -- goes into the generator as it came
                    sent = thrown
                    advance = generator.throw
        except StopIteration as stop:
            around.finish(stop.value)
            return stop.value
        except GeneratorExit:
            around.close()
            raise
        except BaseException as error:
            instead = around.fail(error)
            if instead is not None:
                raise instead from None
            raise

    return wrapper


def _closing(steps: _Steps, generator: Generator[Any, Any, Any]) -> None:
    steps.resume()
    try:
        generator.close()
    finally:
        steps.suspend()


def _async_generator(function: Any, begin: Any) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        around = begin(args, kwargs)
        if around is None:
            around = _Nothing(own_scope())
        steps = _Steps(around)
        sent: Any = None
        dropped: BaseException | None = None
        try:
            generator = function(*args, **kwargs)
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
            around.finish(None)
        except GeneratorExit:
            around.close()
            raise
        except BaseException as error:
            if error is dropped:
                around.close()
                raise
            instead = around.fail(error)
            if instead is not None:
                raise instead from None
            raise

    return wrapper


async def _aclosing(steps: _Steps, generator: AsyncGenerator[Any, Any]) -> None:
    steps.resume()
    try:
        await generator.aclose()
    finally:
        steps.suspend()


class _Nothing:
    """Around a call that nobody records. An async generator cannot hand over to another one, so it needs this."""

    def __init__(self, scope: Scope | None) -> None:
        self.scope: Any = scope

    def finish(self, result: Any) -> None:
        pass

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
