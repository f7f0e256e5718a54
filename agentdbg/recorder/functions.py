"""
What a function is: its kind, its name, and the names of what it is called with.
"""

from __future__ import annotations

import functools
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Function",
    "bind_arguments",
    "default_argument",
    "function_kind",
    "function_name",
    "given_name",
    "rebind_arguments",
]

Function = TypeVar("Function", bound="Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]")
"""What a decorator of ours takes and gives back, so that type checkers see the function it was."""

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_VARARGS = 0x04


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
    if _begins_with_self(function, names, args, has_self=has_self):
        given.pop(names[0], None)
    return given, dict(kwargs)


def rebind_arguments(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """
    The arguments of a call with the values in `given`, which has them by name as `bind_arguments` does.

    What was passed by position stays there as long as `given` has it; all else goes by keyword.
    """
    inner, all_args, _, has_self = _as_called(function, args, kwargs)
    code, left = _code(inner), dict(given)
    if code is None:
        return tuple(left.pop("args", ())), left
    names = code.co_varnames[: code.co_argcount]
    by_position: list[Any] = []
    for name, value in zip(names, all_args, strict=False):
        if not by_position and _begins_with_self(inner, names, all_args, has_self=has_self):
            by_position.append(value)
        elif name in left:
            by_position.append(left.pop(name))
        else:
            break
    if code.co_flags & _VARARGS and len(by_position) == len(names):
        by_position += left.pop(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    return tuple(by_position[len(all_args) - len(args) :]), left  # what a partial or a method adds comes by itself


def _begins_with_self(function: Any, names: tuple[str, ...], args: tuple[Any, ...], *, has_self: bool) -> bool:
    return bool(names) and (has_self or names[0] in ("self", "cls") or _is_method_of(function, args))


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
