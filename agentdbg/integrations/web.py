"""
A request to a web server is a run: each has its own, and one that records nothing leaves none.

    from agentdbg.integrations import web
    web.enable()                                # every ASGI and WSGI application that is known here
    app = web.AsgiRequests(app)                 # or one: also app.add_middleware(web.AsgiRequests)
    app.wsgi_app = web.WsgiRequests(app.wsgi_app)

Starlette (FastAPI), Django and Flask, and whatever uvicorn, gunicorn or wsgiref serves. The run is named
`POST /chat` and ends with the last byte of the answer, or with what the application does after it. A WebSocket
connection is one run. Inside a run that the program has begun, or a test's, a request is a span of it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentdbg.around import (
    LazyRun,
    Pairing,
    at_place,
    contained,
    current_place,
    hide_own_frames,
    pass_on,
    when_imported,
)
from agentdbg.integrations._http_exchange import trace_of_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["AsgiRequests", "RequestFailed", "WsgiRequests", "disable", "enable"]

_SOCKET_ERROR = 1011
_STATUS_IN = {"http.response.start": "status", "websocket.http.response.start": "status", "websocket.close": "code"}
_CONNECTIONS = {"http": "", "websocket": "WS"}
_pairing = Pairing("web")
_inside: ContextVar[_Request | None] = ContextVar("agentdbg_inside_request", default=None)


class RequestFailed(Exception):
    """A request was answered with a server's error, and no exception says why."""


class AsgiRequests:
    """
    An ASGI application whose requests are runs.

    `meta` takes the ASGI scope of a request and gives what else to know of it: `user_id`, `session_id`, …
    """

    def __init__(self, app: Any, meta: Callable[[Any], Mapping[str, Any]] | None = None) -> None:
        self.app = app
        self._meta = meta

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        try:
            await _serve_asgi(self.app, scope, receive, send, self._meta)
        except Exception as error:
            hide_own_frames(error)
            raise


class WsgiRequests:
    """A WSGI application whose requests are runs; `meta` takes a request's environ."""

    def __init__(self, app: Any, meta: Callable[[Any], Mapping[str, Any]] | None = None) -> None:
        self.app = app
        self._meta = meta

    def __call__(self, environ: Any, start_response: Any) -> Any:
        """Answer one request."""
        return _serve_wsgi(self.app, environ, start_response, self._meta)


# Where applications are called.

_APPLICATIONS = {
    "starlette.applications": ("Starlette", "asgi"),
    "django.core.handlers.asgi": ("ASGIHandler", "asgi"),
    "django.core.handlers.wsgi": ("WSGIHandler", "wsgi"),
    "flask.app": ("Flask", "wsgi"),
}
"""The class of a framework's applications, which servers call, and the interface that it is called by."""

_SERVERS = {
    "uvicorn.config": ("Config", "load"),
    "gunicorn.app.base": ("BaseApplication", "wsgi"),
    "wsgiref.simple_server": ("WSGIServer", "get_app"),
}
"""What gives a server the application that it serves, whatever it was written with."""


class _Switch:
    records = False
    is_installed = False


def enable() -> None:
    """Let each request be a run, of every server and framework that is imported, now or later."""
    _Switch.records = True
    if not _Switch.is_installed:
        _Switch.is_installed = True
        when_imported(_APPLICATIONS, _stand_around_application, each_time=True)
        when_imported(_SERVERS, _stand_around_server, each_time=True)


def disable() -> None:
    """Let them be what they were."""
    _Switch.records = False


def _stand_around_application(module: str) -> None:
    name, interface = _APPLICATIONS[module]
    _replace(getattr(sys.modules[module], name), "__call__", _asgi_method if interface == "asgi" else _wsgi_method)


def _stand_around_server(module: str) -> None:
    owner, name = _SERVERS[module]
    _replace(getattr(sys.modules[module], owner), name, _loading if module == "uvicorn.config" else _giving)


def _replace(owner: Any, name: str, around: Callable[[Any], Any]) -> None:
    original = vars(owner).get(name)
    if inspect.isfunction(original) and not hasattr(original, "agentdbg_original"):
        replacement: Any = functools.wraps(original)(around(original))
        replacement.agentdbg_original = original
        setattr(owner, name, replacement)


def _asgi_method(original: Any) -> Any:
    async def call(self: Any, scope: Any, receive: Any, send: Any) -> None:
        app = functools.partial(original, self)
        try:
            await (_serve_asgi(app, scope, receive, send, None) if _Switch.records else app(scope, receive, send))
        except Exception as error:
            hide_own_frames(error)
            raise

    return call


def _wsgi_method(original: Any) -> Any:
    def call(self: Any, environ: Any, start_response: Any) -> Any:
        if not _Switch.records:
            return original(self, environ, start_response)
        return _serve_wsgi(functools.partial(original, self), environ, start_response, None)

    return call


def _loading(original: Any) -> Any:
    """Uvicorn keeps what it has loaded, with what it puts around it, in its configuration."""

    def load(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        self.loaded_app = _served(self.loaded_app)
        return result

    return load


def _giving(original: Any) -> Any:
    def give(*args: Any, **kwargs: Any) -> Any:
        return _served(original(*args, **kwargs))

    return give


def _served(app: Any) -> Any:
    """The application as a server shall call it; one of a framework that is known does the same by itself."""
    if not _Switch.records or isinstance(app, (AsgiRequests, WsgiRequests)) or not callable(app):
        return app
    call = app if inspect.isfunction(app) or inspect.ismethod(app) else getattr(app, "__call__", app)  # noqa: B004
    return AsgiRequests(app) if inspect.iscoroutinefunction(call) else _of_unknown_kind(app)


def _of_unknown_kind(app: Any) -> Any:
    """A function that is not awaited: WSGI takes two arguments, and whatever else there is is left alone."""
    try:
        inspect.signature(app).bind({}, None)
    except (TypeError, ValueError) as error:
        pass_on(error)
        return app
    return WsgiRequests(app)


# One request.


class _Request:
    """One request while it lasts. `key` tells it apart from the next one, which a server may answer in its context."""

    def __init__(self, name: str, meta: dict[str, Any], key: Any) -> None:
        self.key = key
        self.trace_id: str | None = meta.get("trace_id")
        self.status: int | None = None
        self._run = LazyRun(name, meta) if LazyRun.is_wanted() or _inside.get() is not None else None
        self._is_span = self._run is None and _pairing.start(self, "span", name, meta=meta)

    def at_place(self) -> at_place | None:
        return None if self._run is None else at_place(self._run)

    @contained
    def _end(self, error: BaseException | None) -> BaseException | None:
        status = self.status
        known = {} if status is None else {"http_status": status}
        if self._is_span:
            _pairing.end(self, error=error, meta=known)
        if self._run is None:
            return None
        if error is None and status is not None and (status // 100 == 5 or status == _SOCKET_ERROR):
            self._run.end(RequestFailed(f"the request was answered with status {status}"), known)
        return self._run.end(error, known)

    def end(self, error: BaseException | None = None) -> None:
        """It is over. Raises what users know in place of what stopped a run, if that is what ended it."""
        instead = self._end(error)
        if instead is not None:
            raise instead from None


class _StandingIn:
    """Let what a block records belong to a request."""

    def __init__(self, request: _Request) -> None:
        self._request = request
        self._place = request.at_place()

    def __enter__(self) -> None:
        self._token = _inside.set(self._request)
        self._trace = trace_of_request.set(self._request.trace_id)
        if self._place is not None:
            self._place.__enter__()

    def __exit__(self, *_: object) -> None:
        if self._place is not None:
            self._place.__exit__()
        _inside.reset(self._token)
        trace_of_request.reset(self._trace)


async def _serve_asgi(app: Any, scope: Any, receive: Any, send: Any, more: Any) -> None:
    request = _asgi_request(scope, more)
    if request is None:
        await app(scope, receive, send)
        return

    async def send_noting(message: Any) -> None:
        name = _STATUS_IN.get(message["type"])
        if name is not None:
            request.status = message.get(name)
        await send(message)

    with _StandingIn(request):
        try:
            await app(scope, receive, send_noting)
        except BaseException as error:
            request.end(error)
            raise
        request.end()


@contained
def _asgi_request(scope: Any, more: Any) -> _Request | None:
    """What a server has been asked; None for what is no request, and for one that somebody further out has begun."""
    kind, headers = scope.get("type"), scope.get("headers")
    around = _inside.get()
    if kind not in _CONNECTIONS or (around is not None and around.key is headers):
        return None
    method, path = _CONNECTIONS[kind] or str(scope.get("method", "")), str(scope.get("path", ""))
    named = {bytes(name).lower(): bytes(value) for name, value in headers or ()}
    meta = _meta(method, path, named.get(b"traceparent", b"").decode("latin-1"))
    return _Request(f"{method} {path}", {**meta, **(_asked_of_program(more, scope) or {})}, headers)


def _serve_wsgi(app: Any, environ: Any, start_response: Any, more: Any) -> Any:
    request = _wsgi_request(environ, more)
    if request is None:
        return app(environ, start_response)

    def start_noting(status: Any, *args: Any, **kwargs: Any) -> Any:
        digits = str(status)[:3]
        request.status = int(digits) if digits.isdigit() else None
        return start_response(status, *args, **kwargs)

    with _StandingIn(request):
        try:
            answer = app(environ, start_noting)
        except BaseException as error:
            request.end(error)
            raise
        if isinstance(answer, (list, tuple)) or _is_file(answer, environ):  # which servers send in ways of their own
            request.end()
            return answer
    return _Answer(answer, request)


def _is_file(answer: Any, environ: Any) -> bool:
    kind = environ.get("wsgi.file_wrapper")
    return isinstance(kind, type) and isinstance(answer, kind)


@contained
def _wsgi_request(environ: Any, more: Any) -> _Request | None:
    if _inside.get() is not None or isinstance(current_place(), LazyRun):  # a server may call it in another thread
        return None
    method = str(environ.get("REQUEST_METHOD", ""))
    path = f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}"
    meta = _meta(method, path, str(environ.get("HTTP_TRACEPARENT", "")))
    return _Request(f"{method} {path}", {**meta, **(_asked_of_program(more, environ) or {})}, environ)


class _Answer:
    """The body of a WSGI answer: made while it is sent, and still a part of its request."""

    def __init__(self, answer: Any, request: _Request) -> None:
        self._answer = answer
        self._pieces = iter(answer)
        self._request = request

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with _StandingIn(self._request):
            try:
                return next(self._pieces)
            except StopIteration:
                raise
            except BaseException as error:
                self._request.end(error)
                raise

    def close(self) -> None:
        """Called by the server at the end, however it came."""
        close = getattr(self._answer, "close", None)
        with _StandingIn(self._request):
            try:
                if close is not None:
                    close()
            finally:
                self._request.end()


def _meta(method: str, path: str, traceparent: str) -> dict[str, Any]:
    known: dict[str, Any] = {"framework": "web", "http_method": method, "http_path": path}
    parts = traceparent.strip().split("-")
    if [len(part) for part in parts[1:3]] == [32, 16]:  # as W3C's Trace Context says
        known |= {"trace_id": parts[1].lower(), "parent_span_id": parts[2].lower()}
    return known


@contained
def _asked_of_program(more: Any, given: Any) -> dict[str, Any]:
    """What the program itself says of a request; without it, should that fail."""
    return {} if more is None else dict(more(given))
