"""
One request of a model client while it lasts, its stream included.

A stream is watched as its consumer reads it, never read ahead. It ends for us when it is read to its end, when it
fails, when it or its HTTP response is closed, when it is dropped, or when its run ends: each time with what came so
far. What a request says and what its answer means is described by an `Api`.
"""

from __future__ import annotations

import functools
import inspect
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.around import at_place, contained, current_place, pass_on
from agentdbg.integrations._private_names import STREAM_ITERATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentdbg.around import Call, Pairing

__all__ = ["Api", "Completing", "Fold", "Recording", "Working", "as_plain", "asked_for", "request_name"]


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


def as_plain(value: Any) -> dict[str, Any]:
    """A response or event object of the client as plain data."""
    if isinstance(value, dict):
        return value
    dump = getattr(value, "model_dump", None)
    plain = dump(mode="python", exclude_unset=True, warnings=False) if callable(dump) else None
    return plain if isinstance(plain, dict) else {}


def asked_for(calls: Iterable[tuple[Any, Any, Any]]) -> list[str]:
    """The tool calls of an answer, each by its id and by what it is: (id, name, arguments)."""
    return [name for identity, *call in calls for name in (identity, request_name(*call)) if isinstance(name, str)]


def request_name(tool: Any, arguments: Any) -> str:
    """What a tool call is known by where whoever runs it is not told its id: the tool, and what it is given."""
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments or {}
        return f"{tool} {json.dumps(given, sort_keys=True, default=repr)}"
    except (TypeError, ValueError, RecursionError) as error:
        pass_on(error)
        return f"{tool} {arguments}"


class Working:
    """
    Lets what works in pieces stand in its step while it works, and whoever takes the pieces where he stood before.

    Made before the step begins; `leave` when it has begun.
    """

    def __init__(self) -> None:
        self._outside = self._inside = current_place()

    def leave(self) -> None:
        """Stand outside again, until the next piece is asked for."""
        self._inside = current_place()
        at_place(self._outside).__enter__()

    def __enter__(self) -> None:
        self._outside = current_place()
        at_place(self._inside).__enter__()

    def __exit__(self, *_: object) -> None:
        self.leave()


class Completing:
    """Stands for the pairing where somebody else records the call: tells them what came of the request."""

    def __init__(self, around: Call, fields: dict[str, Any]) -> None:
        self._around = around
        self._fields = fields

    def answering(self, key: Any, unfinished: Any = None) -> None:
        pass

    def make(self, _key: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    async def make_async(self, _key: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    def end(self, _key: Any, result: Any = None, **outcome: Any) -> None:
        known = {name: outcome.get(name) for name in ("usage", "stop_reason")}
        more = {name: outcome[name] for name in ("first_token_ms", "retries") if name in outcome}
        self._around.complete(result, **known, **self._fields, **more)


class Recording:
    """One request while it lasts, its stream included. Also the key it is paired by."""

    def __init__(self, pairing: Pairing | Completing, api: Api) -> None:
        self.failed_attempts: list[dict[str, Any]] = []
        self._pairing = pairing
        self._api = api
        self._started = time.monotonic()
        self._fold: Fold | None = None
        self._first_token_ms: int | None = None
        self._stepping = False

    def make(self, request: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Make the request, unless a decider answers in its place."""
        return self._pairing.make(self, request, *args, **kwargs)

    async def make_async(self, request: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Do the same with one that is awaited."""
        return await self._pairing.make_async(self, request, *args, **kwargs)

    @contained
    def take(self, result: Any) -> None:
        """The request came back: with the response, with a stream of it, or with the raw HTTP response."""
        if hasattr(result, STREAM_ITERATOR) and self._api.fold is not None:
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
        setattr(stream, STREAM_ITERATOR, watched(getattr(stream, STREAM_ITERATOR), self))
        self._pairing.answering(self, self._so_far)
        self._end_when_closed(getattr(stream, "response", None))

    def _end_when_closed(self, response: Any) -> None:
        if response is not None and not hasattr(response, "agentdbg_recording"):
            response.agentdbg_recording = self
            kind = type(response)
            response.__class__ = _telling_classes.get(kind) or _telling_of_its_close(kind)

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

    def __init__(self, iterator: Any, recording: Recording) -> None:
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

    def __init__(self, iterator: Any, recording: Recording) -> None:
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


_telling_classes: dict[type, type] = {}


def _telling_of_its_close(kind: Any) -> type:
    """A class like this one, but the recording hears of a close. A method put on the instance would be a cycle."""

    class Telling(kind):  # type: ignore[misc]
        def close(self) -> None:
            self.agentdbg_recording.close()
            super().close()

        async def aclose(self) -> None:
            self.agentdbg_recording.close()
            await super().aclose()

    Telling.__name__, Telling.__qualname__, Telling.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    _telling_classes[kind] = Telling
    return Telling


def _then(target: Any, method: str, then: Callable[[Any], Any]) -> None:
    """Let `then` see, and pass on, what a method of this very object returns."""
    bound = getattr(target, method)

    @functools.wraps(bound)
    def called(*args: Any, **kwargs: Any) -> Any:
        return then(bound(*args, **kwargs))

    setattr(target, method, called)
