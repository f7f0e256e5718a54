"""
Recording the requests of a model client: what the openai and anthropic packages have in common.

Both send everything, whichever method was called, through one `request` method of a sync and of an async base class.
That method is wrapped. Arguments, results and exceptions pass through untouched.
"""

from __future__ import annotations

import functools
import inspect
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentdbg.around import Pairing, contained, enclosing_call
from agentdbg.integrations._client_recording import Completing, Recording
from agentdbg.integrations._private_names import CLIENT_RETRY_SLEEP
from agentdbg.integrations._told_results import tell_results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentdbg.integrations._client_recording import Api

__all__ = ["ClientRequests"]

_failed_attempts: ContextVar[list[dict[str, Any]] | None] = ContextVar("agentdbg_failed_attempts", default=None)


class ClientRequests:
    """The wrapping of one package's clients, and its undoing."""

    def __init__(self, framework: str, apis: Mapping[str, Api], provider: Callable[[Any], str]) -> None:
        self._framework = framework
        self._pairing = Pairing(framework)
        self._apis = apis
        self._provider = provider
        self._originals: list[tuple[type, str, Any, Any]] = []
        self._records = False

    def enable(self, *clients: type) -> None:
        """Record what instances of these classes, sync and async, request from now on."""
        self._records = True
        self.complete_others(*clients)

    def complete_others(self, *clients: type) -> None:
        """Record nothing, but tell a framework's model call what only the client knows of it."""
        for client in clients:
            self._replace(client, "request", self._recorded)
            self._replace(client, CLIENT_RETRY_SLEEP, _noting_retries)

    def disable(self) -> None:
        """Let the clients be as they were."""
        self._records = False
        for owner, name, original, replacement in self._originals:
            if vars(owner).get(name) is replacement:
                setattr(owner, name, original)
        self._originals.clear()

    def _replace(self, client: type, name: str, wrap: Callable[[Any], Any]) -> None:
        owner = next((base for base in client.__mro__ if name in vars(base)), None)
        if owner is None:
            return  # a version of the package that has no such method
        original = vars(owner)[name]
        if any(original is ours for _, _, _, ours in self._originals):
            return
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
                    result = await recording.make_async(request, client, cast_to, options, *args, **kwargs)
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
                result = recording.make(request, client, cast_to, options, *args, **kwargs)
            except BaseException as error:
                recording.fail(error)
                raise
            finally:
                _failed_attempts.reset(attempts)
            recording.take(result)
            return result

        return plain_request

    @contained
    def _begin(self, client: Any, options: Any) -> Recording | None:
        api = self._api(options)
        if api is None:
            return None
        fields: dict[str, Any] = {"provider": self._provider(client)}
        around = enclosing_call("llm")
        if around is not None:
            return Recording(Completing(around, fields), api)
        if not self._records:
            return None
        body = _body(options)
        prompt = api.prompt(body)
        tell_results(self._pairing, prompt, body, self._framework)
        recording = Recording(self._pairing, api)
        fields["temperature"] = body.get("temperature")
        if body.get("tools"):
            fields["tools"] = body["tools"]
        if parameters := {key: value for key, value in body.items() if key not in api.not_parameters}:
            fields["parameters"] = parameters
        began = self._pairing.start(
            recording,
            "llm",
            body.get("model") or "unknown",
            prompt,
            meta={"api": api.name},
            can=("answer",),
            **fields,
        )
        return recording if began else None

    def _api(self, options: Any) -> Api | None:
        if str(getattr(options, "method", "")).lower() != "post":
            return None
        path = str(getattr(options, "url", "")).partition("?")[0]
        return next((api for ending, api in self._apis.items() if path.endswith(ending)), None)


def _body(options: Any) -> dict[str, Any]:
    """What is sent, copied where the program might change it before the answer is there."""
    body = {**(getattr(options, "json_data", None) or {}), **(getattr(options, "extra_json", None) or {})}
    sent = {key: value for key, value in body.items() if type(value).__name__ not in ("Omit", "NotGiven")}
    return {key: list(value) if type(value) is list else value for key, value in sent.items()}


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
