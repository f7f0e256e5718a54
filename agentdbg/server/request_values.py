"""
Routes as plain functions whose parameters say what they take from a request.

`run_id: str` is a part of the path; `limit: Annotated[int, Query(ge=0, le=2_000)] = 200` is a value after the `?`, held
within its bounds. What does not fit is answered with a sentence that names it. Functions run in threads, coroutines on
the event loop.
"""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import dataclass, field
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.websockets import WebSocket

from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from starlette.requests import HTTPConnection
    from starlette.types import Receive, Scope, Send

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ["Query", "Request", "Router", "RoutesOnDemand", "WebSocket"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_POLICY_VIOLATION = 1008


@dataclass(frozen=True)
class Query:
    """What a value after the `?` may be; `alias` is its name there when Python has another use for the word."""

    ge: int | None = None
    le: int | None = None
    max_length: int | None = None
    alias: str | None = None


class Router:
    """The routes of one subject."""

    def __init__(self) -> None:
        self.routes: list[BaseRoute] = []

    def get(self, path: str) -> Callable[[_Function], _Function]:
        return self._on(path, "GET")

    def post(self, path: str) -> Callable[[_Function], _Function]:
        return self._on(path, "POST")

    def delete(self, path: str) -> Callable[[_Function], _Function]:
        return self._on(path, "DELETE")

    def websocket(self, path: str) -> Callable[[_Function], _Function]:
        def add(function: _Function) -> _Function:
            async def answer(socket: WebSocket) -> None:
                try:
                    values = wanted.values(socket)
                except UsageError:
                    await socket.close(_POLICY_VIOLATION)
                    return
                await function(**values)

            wanted = _Wanted(function)
            self.routes.append(WebSocketRoute(path, answer))
            return function

        return add

    def _on(self, path: str, method: str) -> Callable[[_Function], _Function]:
        def add(function: _Function) -> _Function:
            async def answer(request: Request) -> Any:
                values = wanted.values(request)
                if is_async:
                    return await function(**values)
                return await run_in_threadpool(functools.partial(function, **values))

            wanted, is_async = _Wanted(function), inspect.iscoroutinefunction(function)
            # HEAD is answered by the middleware, from GET.
            route = Route(path, answer, methods=[method])
            route.methods = {method}
            self.routes.append(route)
            return function

        return add


class RoutesOnDemand(BaseRoute):
    """The routes of a module that is imported when the first of its paths is asked for."""

    def __init__(self, paths: str, module: str) -> None:
        self._paths = re.compile(paths)
        self._module = module

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As the module's own routes say: all of it, the path alone, or nothing."""
        if scope["type"] != "http" or not self._paths.fullmatch(scope["path"]):
            return Match.NONE, {}
        routes = import_module(self._module).router.routes
        found = [(*route.matches(scope), route) for route in routes]
        match, child, route = max(found, key=lambda one: one[0].value)
        return match, {**child, "on_demand": route}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["on_demand"].handle(scope, receive, send)


@dataclass(frozen=True)
class _Parameter:
    name: str
    kind: Any
    default: Any
    query: Query = field(default_factory=Query)

    def value(self, given: list[str]) -> Any:
        if get_origin(self.kind) is tuple:
            return tuple(map(self._text, given))
        if not given:
            if self.default is inspect.Parameter.empty:
                raise UsageError(f"{self.shown}: is missing")
            return self.default
        return self._text(given[-1]) if self.kind is str else self._number(given[-1])

    @property
    def shown(self) -> str:
        return self.query.alias or self.name

    def _text(self, text: str) -> str:
        if self.query.max_length is not None and len(text) > self.query.max_length:
            raise UsageError(f"{self.shown}: has more than {self.query.max_length} characters")
        return text

    def _number(self, text: str) -> int:
        if not _INTEGER.fullmatch(text.strip()):
            raise UsageError(f"{self.shown}: is not a whole number")
        number = int(text)
        if self.query.ge is not None and number < self.query.ge:
            raise UsageError(f"{self.shown}: has to be at least {self.query.ge}")
        if self.query.le is not None and number > self.query.le:
            raise UsageError(f"{self.shown}: has to be at most {self.query.le}")
        return number


class _Wanted:
    """What a function takes: the request by its type, parts of the path by their names, the rest from the query."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._connection = ""
        self._parameters: list[_Parameter] = []
        # Only the parameters: the type of an answer may be imported for the type checker alone.
        annotated = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
        kinds = get_type_hints(SimpleNamespace(__annotations__=annotated), function.__globals__, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            kind, query = kinds[name], Query()
            if kind in (Request, WebSocket):
                self._connection = name
                continue
            if get_origin(kind) is Annotated:
                kind, query = get_args(kind)
            self._parameters.append(_Parameter(name, kind, parameter.default, query))

    def values(self, connection: HTTPConnection) -> dict[str, Any]:
        path: Mapping[str, Any] = connection.path_params
        asked = connection.query_params
        values = {
            one.name: path[one.name] if one.name in path else one.value(asked.getlist(one.shown))
            for one in self._parameters
        }
        return {self._connection: connection, **values}
