"""
Recording the requests of a model client: what the openai and anthropic packages have in common.

Both send everything, whichever method was called, through one `request` method of a sync and of an async base class.
That method is wrapped. Arguments, results and exceptions pass through untouched; a stream is watched as its consumer
reads it, never read ahead. What a request says and what its answer means is described by an `Api`.
"""

from __future__ import annotations

import functools
import inspect
import sys
import time
import weakref
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.integrations._pairing import Pairing, contained, is_model_call_open

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Api", "ClientRequests", "Fold", "as_plain"]

_failed_attempts: ContextVar[list[dict[str, Any]] | None] = ContextVar("agentdbg_failed_attempts", default=None)


class Fold(Protocol):
    """Puts the events of a stream together."""

    def add(self, event: dict[str, Any]) -> None:
        """One more event came."""

    def response(self) -> dict[str, Any]:
        """The response as it would have come in one piece, as far as it came."""


@dataclass(frozen=True)
class Api:
    """One endpoint: its name, how its prompt is read, its response understood, its stream put together."""

    name: str
    prompt: Callable[[Mapping[str, Any]], Any]
    read: Callable[[dict[str, Any]], dict[str, Any]]
    """From a response to the arguments of `Pairing.end`."""
    fold: Callable[[], Fold] | None = None
    not_parameters: frozenset[str] = frozenset({"model", "messages", "input", "tools", "temperature", "stream"})


class ClientRequests:
    """The wrapping of one package's clients, and its undoing."""

    def __init__(self, framework: str, apis: Mapping[str, Api], provider: Callable[[Any], str]) -> None:
        self._pairing = Pairing(framework)
        self._apis = apis
        self._provider = provider
        self._originals: list[tuple[type, str, Any, Any]] = []

    def enable(self, *clients: type) -> None:
        """Record what instances of these classes, sync and async, request from now on."""
        if self._originals:
            return
        for client in clients:
            self._replace(client, "request", self._recorded)
            self._replace(client, "_sleep_for_retry", _noting_retries)

    def disable(self) -> None:
        """Let the clients be as they were."""
        for owner, name, original, replacement in self._originals:
            if vars(owner).get(name) is replacement:
                setattr(owner, name, original)
        self._originals.clear()

    def _replace(self, client: type, name: str, wrap: Callable[[Any], Any]) -> None:
        owner = next((base for base in client.__mro__ if name in vars(base)), None)
        if owner is None:
            return  # a version of the package that has no such method
        original = vars(owner)[name]
        replacement = functools.wraps(original)(wrap(original))
        self._originals.append((owner, name, original, replacement))
        setattr(owner, name, replacement)

    def _recorded(self, request: Any) -> Any:
        if inspect.iscoroutinefunction(request):

            async def arequest(client: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
                recording = self._begin(client, options)
                if recording is None:
                    return await request(client, cast_to, options, *args, **kwargs)
                attempts = _failed_attempts.set(recording.failed_attempts)
                try:
                    result = await request(client, cast_to, options, *args, **kwargs)
                except BaseException as error:
                    recording.fail(error)
                    raise
                finally:
                    _failed_attempts.reset(attempts)
                recording.take(result)
                return result

            return arequest

        def plain_request(client: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
            recording = self._begin(client, options)
            if recording is None:
                return request(client, cast_to, options, *args, **kwargs)
            attempts = _failed_attempts.set(recording.failed_attempts)
            try:
                result = request(client, cast_to, options, *args, **kwargs)
            except BaseException as error:
                recording.fail(error)
                raise
            finally:
                _failed_attempts.reset(attempts)
            recording.take(result)
            return result

        return plain_request

    @contained
    def _begin(self, client: Any, options: Any) -> _Recording | None:
        api = self._api(options)
        if api is None or is_model_call_open():
            return None
        body = _body(options)
        recording = _Recording(self._pairing, api)
        fields: dict[str, Any] = {"provider": self._provider(client), "temperature": body.get("temperature")}
        if body.get("tools"):
            fields["tools"] = body["tools"]
        if parameters := {key: value for key, value in body.items() if key not in api.not_parameters}:
            fields["parameters"] = parameters
        began = self._pairing.start(
            recording,
            "llm",
            body.get("model", "unknown"),
            api.prompt(body),
            meta={"api": api.name},
            **fields,
        )
        return recording if began else None

    def _api(self, options: Any) -> Api | None:
        if str(getattr(options, "method", "")).lower() != "post":
            return None
        path = str(getattr(options, "url", "")).partition("?")[0]
        return next((api for ending, api in self._apis.items() if path.endswith(ending)), None)


def as_plain(value: Any) -> dict[str, Any]:
    """A response or event object of the client as plain data."""
    if isinstance(value, dict):
        return value
    dump = getattr(value, "model_dump", None)
    plain = dump(mode="python", exclude_unset=True, warnings=False) if callable(dump) else None
    return plain if isinstance(plain, dict) else {}


def _body(options: Any) -> dict[str, Any]:
    """What is sent, copied where the program might change it before the answer is there."""
    body = {**(getattr(options, "json_data", None) or {}), **(getattr(options, "extra_json", None) or {})}
    return {key: list(value) if type(value) is list else value for key, value in body.items()}


def _noting_retries(sleep: Any) -> Any:
    def sleep_for_retry(*args: Any, **kwargs: Any) -> Any:
        # For a coroutine this runs when it is called, which is when the attempt has failed.
        _note_failed_attempt(kwargs.get("response"))
        return sleep(*args, **kwargs)

    return sleep_for_retry


@contained
def _note_failed_attempt(response: Any) -> None:
    attempts = _failed_attempts.get()
    if attempts is None:
        return
    if response is not None:
        attempts.append({"status_code": response.status_code})
    else:
        error = sys.exc_info()[1]
        attempts.append({"error_type": type(error).__name__, "message": str(error)})


class _Recording:
    """One request while it lasts, its stream included. Also the key it is paired by."""

    def __init__(self, pairing: Pairing, api: Api) -> None:
        self.failed_attempts: list[dict[str, Any]] = []
        self._pairing = pairing
        self._api = api
        self._started = time.monotonic()
        self._fold: Fold | None = None
        self._first_token_ms: int | None = None
        self._stepping = False

    @contained
    def take(self, result: Any) -> None:
        """The request came back: with the response, with a stream of it, or with the raw HTTP response."""
        if hasattr(result, "_iterator") and self._api.fold is not None:
            self._watch(result)
        elif hasattr(result, "http_response"):
            self._take_raw(result)
        else:
            self._pairing.end(self, **self._outcome(as_plain(result)))

    @contained
    def fail(self, error: BaseException) -> None:
        """The request, or the reading of its stream, raised."""
        self._pairing.end(self, error=error, **self._so_far())

    def _take_raw(self, raw: Any) -> None:
        if raw.http_response.is_stream_consumed:
            self._pairing.end(self, **self._outcome(raw.http_response.json()))
            return
        self._pairing.answering(self, self._so_far)

        def parsed(result: Any) -> Any:
            if inspect.iscoroutine(result):
                return self._parsed_later(result)
            self.take(result)
            return result

        _then(raw, "parse", parsed)
        self._end_when_closed(raw.http_response)

    async def _parsed_later(self, parsing: Any) -> Any:
        result = await parsing
        self.take(result)
        return result

    # Streams.

    def _watch(self, stream: Any) -> None:
        assert self._api.fold is not None
        self._fold = self._api.fold()
        watched = _AsyncWatched if hasattr(stream, "__anext__") else _Watched
        stream._iterator = watched(stream._iterator, self)  # noqa: SLF001 -- the one place all its readers go through
        self._pairing.answering(self, self._so_far)
        self._end_when_closed(getattr(stream, "response", None))

    def _end_when_closed(self, response: Any) -> None:
        for method in ("close", "aclose"):
            function = getattr(type(response), method, None)
            if function is not None:
                setattr(response, method, self._closing(function, weakref.ref(response)))

    def _closing(self, function: Any, response: weakref.ref[Any]) -> Any:
        # A strong reference would be a cycle, and a dropped connection would stay open until the collector comes.
        @functools.wraps(function)
        def close(*args: Any, **kwargs: Any) -> Any:
            self.close()
            return function(response(), *args, **kwargs)

        return close

    def step(self) -> None:
        """The next event of the stream is being read."""
        self._stepping = True

    def stepped(self) -> None:
        """It has been read, or the stream is over."""
        self._stepping = False

    @contained
    def saw(self, event: Any) -> None:
        """An event of the stream is on its way to the consumer."""
        if self._first_token_ms is None:
            self._first_token_ms = int((time.monotonic() - self._started) * 1000)
        if self._fold is not None:
            self._fold.add(as_plain(event))

    @contained
    def finish(self) -> None:
        """The stream was read to its end."""
        self._pairing.end(self, **self._so_far(cancelled=False))

    @contained
    def close(self) -> None:
        """The consumer had enough of the stream. A client also closes a response that it has read, while reading."""
        if not self._stepping:
            self._pairing.end(self, **self._so_far())

    def _so_far(self, *, cancelled: bool = True) -> dict[str, Any]:
        response = {} if self._fold is None else self._fold.response()
        outcome = self._outcome(response)
        if self._first_token_ms is not None:
            outcome["first_token_ms"] = self._first_token_ms
        if cancelled and self._fold is not None:
            outcome["meta"] = {**outcome.get("meta", {}), "cancelled": True}
        return outcome

    def _outcome(self, response: dict[str, Any]) -> dict[str, Any]:
        outcome = self._api.read(response) if response else {}
        if self.failed_attempts:
            outcome["retries"] = self.failed_attempts
        return outcome


class _Watched:
    """An iterator that tells a recording what passes through it."""

    def __init__(self, iterator: Any, recording: _Recording) -> None:
        self._iterator = iterator
        self._recording = recording

    def __iter__(self) -> _Watched:
        return self

    def __next__(self) -> Any:
        self._recording.step()
        try:
            event = next(self._iterator)
        except StopIteration:
            self._recording.finish()
            raise
        except BaseException as error:
            self._recording.fail(error)
            raise
        finally:
            self._recording.stepped()
        self._recording.saw(event)
        return event

    def close(self) -> None:
        self._iterator.close()
        self._recording.close()

    def __del__(self) -> None:
        self._recording.close()


class _AsyncWatched:
    """The same for an asynchronous iterator."""

    def __init__(self, iterator: Any, recording: _Recording) -> None:
        self._iterator = iterator
        self._recording = recording

    def __aiter__(self) -> _AsyncWatched:
        return self

    async def __anext__(self) -> Any:
        self._recording.step()
        try:
            event = await self._iterator.__anext__()
        except StopAsyncIteration:
            self._recording.finish()
            raise
        except BaseException as error:
            self._recording.fail(error)
            raise
        finally:
            self._recording.stepped()
        self._recording.saw(event)
        return event

    async def aclose(self) -> None:
        await self._iterator.aclose()
        self._recording.close()

    def __del__(self) -> None:
        self._recording.close()


def _then(target: Any, method: str, then: Callable[[Any], Any]) -> None:
    """Let `then` see, and pass on, what a method of this very object returns."""
    bound = getattr(target, method)

    @functools.wraps(bound)
    def called(*args: Any, **kwargs: Any) -> Any:
        return then(bound(*args, **kwargs))

    setattr(target, method, called)
