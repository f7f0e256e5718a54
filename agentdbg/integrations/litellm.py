"""
LiteLLM: every completion, text completion, response and embedding is one LLM_CALL, whichever provider answers it.

    from agentdbg.integrations import litellm
    litellm.enable()

LiteLLM's own callbacks come later and on other threads, where nothing can be stopped any more and a tool call may
already have been recorded. So its functions are wrapped instead, also where a module has imported them by name. Sync,
async, streaming, the Router (which calls those functions); the price is LiteLLM's own where it knows one. An answer
from LiteLLM's cache is recorded too. Supported: litellm >= 1.100.
"""

from __future__ import annotations

import functools
import inspect
import sys
import time
from typing import TYPE_CHECKING, Any

from agentdbg.around import Pairing, contained, enclosing_call, pass_on
from agentdbg.integrations._model_calls import told_elsewhere
from agentdbg.integrations._private_names import LITELLM_HIDDEN_PARAMETERS
from agentdbg.integrations._told_results import tell_results
from agentdbg.integrations.openai import (
    ChatFold,
    _read_chat,
    _read_completion,
    _read_embeddings,
    _responses_prompt,
    read_response,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["disable", "enable"]

_MOST_CHUNKS = 100_000
_NOT_PARAMETERS = {"model", "messages", "input", "prompt", "instructions", "tools", "temperature", "stream"} | {
    "api_base",
    "api_key",
    "base_url",
    "callbacks",
    "client",
    "custom_llm_provider",
    "extra_headers",
    "headers",
    "metadata",
}
_ASKED_WITH = {"prompt_tokens", "prompt_tokens_details", "cache_creation_input_tokens", "cache_read_input_tokens"}
_pairing = Pairing("litellm")
_replaced: list[tuple[Any, Any]] = []


class _Api:
    """One function of LiteLLM: the names of its first arguments, and how its answer is read."""

    def __init__(self, *positional: str, prompt: str, read: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.positional = positional
        self.prompt = prompt
        self.read = read


_CHAT = _Api("model", "messages", prompt="messages", read=_read_chat)
_TEXT = _Api("prompt", "model", prompt="prompt", read=_read_completion)
_EMBEDDING = _Api("model", "input", prompt="input", read=_read_embeddings)
_RESPONSES = _Api("input", "model", prompt="input", read=read_response)
_APIS = {"completion": _CHAT, "text_completion": _TEXT, "embedding": _EMBEDDING, "responses": _RESPONSES}


def enable() -> None:
    """Record what LiteLLM is asked for from now on."""
    try:
        import litellm  # noqa: PLC0415 -- only when it is wanted
    except ImportError as error:
        raise ImportError("agentdbg records the litellm package, which is missing: pip install litellm") from error
    ours = [replacement for _, replacement in _replaced]
    new = []
    for name, api in _APIS.items():
        for function_name in (name, f"a{name}"):
            original = getattr(litellm, function_name, None)
            if original is not None and original not in ours:
                new.append((original, _recording(original, name, api)))
    if new:
        _rebind(new)
        _replaced.extend(new)


def disable() -> None:
    """Record no more of it."""
    _rebind([(replacement, original) for original, replacement in _replaced])
    _replaced.clear()


def _rebind(pairs: list[tuple[Any, Any]]) -> None:
    """Put functions in the place of others, in every module that knows those by name."""
    afterwards = {id(before): after for before, after in pairs}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in afterwards:
                setattr(module, name, afterwards[id(value)])


def _recording(original: Any, name: str, api: _Api) -> Any:
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            request = _begin(name, api, args, kwargs)
            if request is None:
                return await original(*args, **kwargs)
            try:
                result = await _pairing.make_async(request, original, *args, **kwargs)
            except BaseException as error:
                request.fail(error)
                raise
            request.take(result)
            return result

        return acall

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        request = _begin(name, api, args, kwargs)
        if request is None:
            return original(*args, **kwargs)
        try:
            result = _pairing.make(request, original, *args, **kwargs)
        except BaseException as error:
            request.fail(error)
            raise
        request.take(result)
        return result

    return call


@contained
def _begin(name: str, api: _Api, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Request | None:
    if enclosing_call("llm") is not None:  # the async functions call the sync ones, and frameworks call both
        return None
    given = {**dict(zip(api.positional, args, strict=False)), **kwargs}
    prompt = _responses_prompt(given) if api is _RESPONSES else given.get(api.prompt)
    model, provider = _model_and_provider(given)
    fields: dict[str, Any] = {"provider": provider, "temperature": given.get("temperature")}
    if given.get("tools"):
        fields["tools"] = given["tools"]
    parameters = {key: value for key, value in given.items() if key not in _NOT_PARAMETERS and value is not None}
    if parameters:
        fields["parameters"] = parameters
    request = _Request(api, provider, is_made_up=given.get("mock_response") is not None)
    prompt = list(prompt) if type(prompt) is list else prompt  # the program may append to it before the answer is there
    can = (
        () if given.get("stream") else ("answer",)
    )  # a stream is no value; its requests are answered, some of them late
    meta = {**_metadata(given), "api": name}
    tell_results(_pairing, prompt, given, "litellm")
    began = _pairing.start(request, "llm", model, prompt, meta=meta, can=can, **fields)
    return request if began else None


def _metadata(given: dict[str, Any]) -> dict[str, Any]:
    """What the program says of a request: `metadata`, in which sessions and users have LiteLLM's names, and `user`."""
    told = given.get("metadata")
    known = told if isinstance(told, dict) else {}
    meta = {key: value for key, value in known.items() if isinstance(value, (str, int, float)) and key != "framework"}
    tags, user = known.get("tags"), known.get("trace_user_id") or given.get("user")
    return {
        **({"user_id": user} if isinstance(user, str) else {}),
        **meta,
        **({"tags": [str(tag) for tag in tags]} if isinstance(tags, list) else {}),
    }


def _model_and_provider(given: dict[str, Any]) -> tuple[str, str]:
    """The model as its provider calls it, without what LiteLLM puts before it, and the provider."""
    model = str(given.get("model") or "unknown")
    try:
        found = sys.modules["litellm"].get_llm_provider(
            model, given.get("custom_llm_provider"), given.get("api_base") or given.get("base_url")
        )
        return str(found[0]), str(found[1])
    except Exception as error:  # noqa: BLE001 -- a model it does not know; the call itself will say so
        pass_on(error, of_user_code=True)
        return model, "unknown"


class _Request:
    """One request while it lasts, its stream included. Also the key it is paired by."""

    def __init__(self, api: _Api, provider: str, *, is_made_up: bool = False) -> None:
        self._api = api
        self._prefix = f"{provider}/"
        self._is_made_up = is_made_up
        self._started = time.monotonic()
        self._first_token_ms: int | None = None
        self._events: list[Any] = []

    @contained
    def take(self, result: Any) -> None:
        """The call came back: with the response, or with a stream of it."""
        if hasattr(result, "__next__") or hasattr(result, "__anext__"):
            _watch(result, self)
            _pairing.answering(self, lambda: self._so_far(cancelled=True))
        else:
            _pairing.end(self, **self._outcome(_plain(result), _cost(result)))

    @contained
    def fail(self, error: BaseException) -> None:
        """The call, or the reading of its stream, raised."""
        _pairing.end(self, error=error, **self._so_far(cancelled=False))

    @contained
    def saw(self, event: Any) -> None:
        """A piece of the stream is on its way to the consumer."""
        if self._first_token_ms is None:
            self._first_token_ms = int((time.monotonic() - self._started) * 1000)
        if len(self._events) < _MOST_CHUNKS:
            self._events.append(event)

    @contained
    def finish(self, chunks: list[Any] | None, *, cancelled: bool) -> None:
        """The stream was read to its end, or its consumer had enough."""
        if chunks:
            self._events = chunks  # LiteLLM keeps them with the usage, which it takes out of what it hands on
        _pairing.end(self, **self._so_far(cancelled=cancelled))

    def _so_far(self, *, cancelled: bool) -> dict[str, Any]:
        if not self._events:
            return {}
        outcome = self._outcome(self._put_together(), None)
        outcome["first_token_ms"] = self._first_token_ms
        if cancelled:
            outcome["meta"] = {**outcome.get("meta", {}), "cancelled": True}
            if outcome.get("usage") and outcome.get("stop_reason") is None:  # what it begins with only holds the place
                outcome["usage"] = {key: value for key, value in outcome["usage"].items() if key in _ASKED_WITH}
        return outcome

    def _put_together(self) -> dict[str, Any]:
        if self._api is _RESPONSES:
            return _plain(getattr(self._events[-1], "response", None))
        fold = ChatFold()
        for event in self._events:
            fold.add(_plain(event))
        return fold.response()

    def _outcome(self, response: dict[str, Any], cost: float | None) -> dict[str, Any]:
        outcome = self._api.read(response) if response else {}
        if isinstance(outcome.get("name"), str):  # some answers have LiteLLM's own name for the model
            outcome["name"] = outcome["name"].removeprefix(self._prefix)
        if self._is_made_up:  # LiteLLM's own `mock_response`: no model was asked, and nothing spent
            return {**outcome, "usage": None, "meta": {**outcome.get("meta", {}), "mock": True}}
        return {**outcome, "cost_usd": cost} if cost is not None else outcome


def _plain(value: Any) -> dict[str, Any]:
    dump = getattr(value, "model_dump", None)
    plain = dump(exclude_none=True) if callable(dump) else value
    return plain if isinstance(plain, dict) else {}


def _cost(response: Any) -> float | None:
    cost = (getattr(response, LITELLM_HIDDEN_PARAMETERS, None) or {}).get("response_cost")
    return cost if isinstance(cost, (int, float)) and cost > 0 else None


# Streams.


def _watch(stream: Any, request: _Request) -> None:
    """Let the request hear what is read from the stream, which stays what it is."""
    stream.agentdbg_request = request
    kind: Any = type(stream)
    stream.__class__ = _telling(kind)


@functools.cache
def _telling(kind: Any) -> type:
    class Telling(kind):  # type: ignore[misc] # a class of LiteLLM's
        def __next__(self) -> Any:
            told = told_elsewhere.set(True)  # some are asked only when the first piece is wanted
            try:
                event = super().__next__()
            except StopIteration:
                self.agentdbg_request.finish(getattr(self, "chunks", None), cancelled=False)
                raise
            except BaseException as error:
                self.agentdbg_request.fail(error)
                raise
            finally:
                told_elsewhere.reset(told)
            self.agentdbg_request.saw(event)
            return event

        async def __anext__(self) -> Any:
            told = told_elsewhere.set(True)
            try:
                event = await super().__anext__()
            except StopAsyncIteration:
                self.agentdbg_request.finish(getattr(self, "chunks", None), cancelled=False)
                raise
            except BaseException as error:
                self.agentdbg_request.fail(error)
                raise
            finally:
                told_elsewhere.reset(told)
            self.agentdbg_request.saw(event)
            return event

        async def aclose(self) -> None:
            self.agentdbg_request.finish(getattr(self, "chunks", None), cancelled=True)
            await super().aclose()

        def __del__(self) -> None:
            self.agentdbg_request.finish(getattr(self, "chunks", None), cancelled=True)
            getattr(super(), "__del__", lambda: None)()

    Telling.__name__, Telling.__qualname__, Telling.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Telling
