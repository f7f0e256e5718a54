"""
One HTTP request and its answer, from before it is sent until its last byte is read.

The hooks in HTTP libraries (`_httpx_transport`, `_urllib3_transport`, `_aiohttp_transport`) make an `Exchange` of each
request that somebody wants to know of, and tell it what passes. It goes through the door as a call of the kind "http",
so a decider may answer in the server's place; and where the request asks a model, and nobody else stands around it,
it is recorded as a model call. Bytes pass through as they come; nothing is read ahead.

What an exchange came to is plain data: `{status, headers, chunks, at, cut}`. `headers` are a dict, in which values of
one name are joined as HTTP allows. `chunks` are the bytes of the body as they came, `at` the milliseconds after the
start at which each did. `cut` is None for a whole answer, "closed" where the reader left early, else what broke it off
("ReadTimeout: timed out"); then `status` is None if nothing had come at all.
"""

from __future__ import annotations

import functools
import ipaddress
import json
import re
import time
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg import current_run
from agentdbg.around import Call, LazyRun, contained, current_place, deciders_for, pass_on, when_ending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = [
    "CLOSED",
    "Exchange",
    "Request",
    "begin_exchange",
    "is_near",
    "rebuilt_error",
    "recognisers",
    "trace_header",
    "trace_of_request",
    "unread_addresses",
]

CLOSED = "closed"
_MOST_BYTES = 64 << 20
_CAN = ("answer", "edit")
_BOUNDARY = re.compile(r"multipart/.*boundary=\"?([^\";,]+)", re.IGNORECASE)
_ERRNO = re.compile(r"\[Errno (-?\d+)\]")
_inside: ContextVar[bool] = ContextVar("agentdbg_inside_exchange", default=False)


class Request:
    """What is about to be sent. `body` is None where it is a stream, which is never read ahead."""

    __slots__ = ("_data", "body", "content_type", "method", "url")

    def __init__(self, method: str, url: str, body: bytes | None, content_type: str) -> None:
        self.method = method
        self.url = url.partition("#")[0]  # what follows is for the client alone
        self.body = body
        self.content_type = content_type
        self._data: Any = None

    @property
    def data(self) -> Any:
        """The body as data where it is JSON, else text, else bytes."""
        if self._data is None and self.body is not None:
            self._data = _readable(self.body, self.content_type)
        return self._data

    @property
    def path(self) -> str:
        """The path of the address, without what stands before and after it."""
        address = self.url.partition("?")[0]
        return "/" + address.partition("://")[2].partition("/")[2]


class ModelCall(Protocol):
    """Records a model call by its HTTP exchange."""

    def answering(self, outcome: dict[str, Any]) -> None:
        """The answer begins to come; what comes is added to `outcome`."""

    def end(self, outcome: dict[str, Any], error: BaseException | None) -> None:
        """The exchange is over."""


class Recogniser(Protocol):
    """Knows the requests that ask models."""

    def knows(self, method: str, address: str) -> bool:
        """Whether a request to this address may ask a model. Asked of every request, so it must be quick."""

    def misses(self, host: str, address: str) -> str | None:
        """Say what is asked of a model there that nobody here can read; None where it is nothing."""

    def begin(self, request: Request) -> ModelCall | None:
        """Record the request as a model call, if it is one and nobody else does. Raises when a limit refuses it."""


recognisers: list[Recogniser] = []
"""Those that are switched on."""

unread_addresses: set[str] = set()
"""Where models were asked something that nobody here can read."""


def begin_exchange(method: str, host: str, address: str, describe: Callable[[], Request]) -> Exchange | None:
    """
    Begin an exchange where anybody wants to know of it; None for all other requests.

    `address` is at least the path. `describe` gives the rest, which takes longer to find out. Raises what a decider or
    a limit refuses with.
    """
    if deciders_for("http"):
        return None if _inside.get() else _begun(describe)
    for recogniser in recognisers:
        if recogniser.knows(method, address):
            return None if _inside.get() else _begun(describe)
        if method == "POST" and (missed := recogniser.misses(host, address)) is not None:
            unread_addresses.add(missed)
    return None


trace_of_request: ContextVar[str | None] = ContextVar("agentdbg_trace_of_request", default=None)
"""The trace that a request which is being answered here belongs to, by the header that it came with."""


@contained
def trace_header(host: str) -> str | None:
    """
    The `traceparent` of a request to a service in this network, of the run that it is made in; None for all others.

    A service that is recorded too links its run by it. Strangers are told nothing.
    """
    if not is_near(host):
        return None
    place, handle = current_place(), None
    if place is None or not place.is_open:
        handle = current_run()
        if handle is None:
            return None
    run_id = str(handle.run_id if handle is not None else place.run_id if place is not None else "")
    event_id = run_id if place is None or handle is not None or isinstance(place, LazyRun) else place.parent_id
    return f"00-{trace_of_request.get() or run_id.replace('-', '')}-{event_id.replace('-', '')[-16:]}-01"


@functools.lru_cache(maxsize=1_000)
def is_near(host: str) -> bool:
    """Whether a host is this machine, or one of its own network: by its address, or by a name without a domain."""
    name = host.strip("[]").lower()
    try:
        address = ipaddress.ip_address(name)
    except ValueError as error:
        pass_on(error)
        return bool(name) and ("." not in name or name.endswith((".local", ".localhost", ".internal")))
    return address.is_private or address.is_loopback


@contained
def _begun(describe: Callable[[], Request]) -> Exchange | None:
    exchange = Exchange(describe())
    return exchange if exchange.begin() else None


class Exchange:
    """One request while it lasts, the reading of its answer included."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.outcome: dict[str, Any] = {"status": None, "headers": {}, "chunks": [], "at": [], "cut": None}
        self.address = ""
        """Where to send it instead, if a decider said so: some providers have the model in the address."""
        self._call: Call | None = None
        self._model_call: ModelCall | None = None
        self._started = time.monotonic()
        self._size = 0
        self._is_over = False
        self._left = weakref.ref(self, _open.discard)
        hash(self._left)  # kept from now on: of what is gone there is none, and that is when `discard` asks

    def begin(self) -> bool:
        """Announce it; False when nobody is interested after all. Raises when it is refused."""
        request = self.request
        for recogniser in recognisers:
            if recogniser.knows(request.method, request.path):
                self._model_call = recogniser.begin(request)
                break
        given = {"method": request.method, "url": request.url, "body": request.data}
        call = Call("http", f"{request.method} {request.path}", given, None, {})
        try:
            if call.begin(can=_CAN):
                self._call = call
                _open.add(self._left)
        except BaseException as refusal:
            self._end_model_call(refusal)
            raise
        return self._call is not None or self._model_call is not None

    # Making the request.

    def make(self, send: Callable[[bytes | None], Any]) -> Any:
        """
        Send the request, unless a decider answers: then what it answers with is given, a dict.

        `send` takes the body to send; None: the one that the request has.
        """
        before = _inside.get()
        try:
            _inside.set(True)  # within: an interruption right behind it would leave it set
            call = self._call
            if call is None:
                return send(None)
            return call.make(lambda url, body, **_: send(self._edited(url, body)), **call.input)
        finally:
            _inside.set(before)
            self._step_out()

    async def make_async(self, send: Callable[[bytes | None], Awaitable[Any]]) -> Any:
        """Do the same with a function that is awaited."""
        before = _inside.get()
        try:
            _inside.set(True)
            call = self._call
            if call is None:
                return await send(None)

            async def made(url: Any, body: Any, **_: Any) -> Any:  # the method stays
                return await send(self._edited(url, body))

            return await call.make_async(made, **call.input)
        finally:
            _inside.set(before)
            self._step_out()

    def _step_out(self) -> None:
        if self._call is not None:
            self._call.step_out()

    def _edited(self, url: str, body: Any) -> bytes | None:
        assert self._call is not None
        if self._call.decided is None or not self._call.decided.is_edited:
            return None
        self.address = url if url != self.request.url else ""
        if isinstance(body, (bytes, bytearray)):
            return bytes(body)
        return (body if isinstance(body, str) else json.dumps(body)).encode()

    # Reading the answer.

    @contained
    def answered(self, status: int, headers: Any) -> None:
        """The head of the answer is there."""
        self.outcome["status"] = status
        kept: dict[str, str] = {}
        self.outcome["headers"] = kept
        for name, value in headers:
            kept[str(name)] = f"{kept[name]}, {value}" if name in kept else str(value)
        if self._model_call is not None:
            self._model_call.answering(self.outcome)

    def saw(self, chunk: bytes) -> None:
        """A piece of the body is on its way to its reader."""
        self._size += len(chunk)
        if chunk and self._size <= _MOST_BYTES:
            self.outcome["chunks"].append(bytes(chunk))
            self.outcome["at"].append(int((time.monotonic() - self._started) * 1000))

    @contained
    def end(self, cut: str | BaseException | None = None) -> None:
        """The answer is over: read whole, left by its reader, or broken off. Only the first time counts."""
        if self._is_over:
            return
        self._is_over = True
        _open.discard(self._left)
        error = cut if isinstance(cut, BaseException) and not isinstance(cut, GeneratorExit) else None
        self._note_cut(cut)
        try:
            if self._call is not None and error is not None and not isinstance(error, Exception):
                self._call.fail(error)
            elif self._call is not None:
                self._call.finish(self.outcome)
        finally:
            self._end_model_call(error)

    def leave(self, run_id: str) -> None:
        """Keep what has come so far, if this run is the one that is over; who reads may go on."""
        call = self._call
        if call is not None and not self._is_over and self.outcome["status"] is not None:
            scope = call.scope
            if scope is not None and scope.run_id == run_id:
                call.finish({**self.outcome, "cut": CLOSED})

    async def end_async(self, cut: str | BaseException | None = None) -> None:
        """Do the same where deciders may wait without keeping the event loop from its other work."""
        if self._call is not None and not self._is_over and not isinstance(cut, BaseException):
            self._note_cut(cut)
            await self._call.settle(self.outcome)
        self.end(cut)

    def _note_cut(self, cut: str | BaseException | None) -> None:
        if self._size > _MOST_BYTES:
            cut = f"ValueError: only the first {_MOST_BYTES:,} bytes were kept"
        if isinstance(cut, GeneratorExit):
            cut = CLOSED
        self.outcome["cut"] = _told(cut) if isinstance(cut, BaseException) else cut

    def _end_model_call(self, error: BaseException | None) -> None:
        if self._model_call is not None:
            self._model_call.end(self.outcome, error)


_open: set[weakref.ref[Exchange]] = set()
"""Not a `WeakSet`, which cannot be gone through while other threads add to it."""


def _leave_open(run_id: str) -> None:
    """An answer of which a client has not read the end is none that was lost."""
    for left in list(_open):
        if (exchange := left()) is not None:
            exchange.leave(run_id)


when_ending.append(_leave_open)


def _readable(body: bytes, content_type: str) -> Any:
    boundary = _BOUNDARY.search(content_type)
    if boundary is not None:  # it is drawn anew for each request, and says nothing
        body = body.replace(boundary[1].encode(), b"boundary")
    try:
        text = body.decode()
        return json.loads(text) if "json" in content_type or text[:1] in ("{", "[") else text
    except ValueError as error:
        pass_on(error)
    try:
        return body.decode()
    except ValueError as error:
        pass_on(error)
        return body


# What breaks an exchange off, as plain data and back.


def _told(error: BaseException) -> str:
    """`ReadTimeout: timed out`; where one exception is the reason of another, `MaxRetryError/NewConnectionError: …`."""
    names, inner = [type(error).__name__], getattr(error, "reason", None)
    if isinstance(inner, BaseException):
        names.append(type(inner).__name__)
    return f"{'/'.join(names)}: {error}"


def rebuilt_error(cut: str, *modules: Any, **attributes: Any) -> Exception:
    """The exception that broke an exchange off, from what was noted of it: of a class that these modules know."""
    names, _, text = cut.partition(": ")
    reason: Exception | None = None
    for name in reversed(names.split("/")):
        classes = [vars(module)[one] for one in name.split("|") for module in modules if one in vars(module)]
        known: Any = classes[0] if classes else None
        if not (isinstance(known, type) and issubclass(known, Exception)):
            known = ConnectionError
        error: Exception = known.__new__(_with_text(known), text)
        error.args = (text,)
        for key, value in attributes.items():
            error.__dict__[key] = value
        if reason is not None:
            error.__dict__["reason"] = reason
        if isinstance(error, OSError) and (number := _ERRNO.search(text)):
            error.errno = int(number[1])
        reason = error
    assert reason is not None
    return reason


def _with_text(kind: type[Exception]) -> type[Exception]:
    """A class like this one, whose text is what was noted: many work theirs out from objects that are gone."""

    def as_text(self: Exception) -> str:
        return str(self.args[0])

    return type(kind.__name__, (kind,), {"__str__": as_text, "__module__": kind.__module__})
