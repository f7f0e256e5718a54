"""
The openai client: every Chat Completions, Responses, completion and embedding request is one LLM_CALL.

    from agentdbg.integrations import openai
    openai.enable()

Sync and async, streaming or not, `create`, `parse`, `stream` and raw responses; attempts that failed and were
repeated stand in the event's `retries`. `disable()` lets the client be as it was. Supported: openai >= 2.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.integrations._client_recording import Api, asked_for
from agentdbg.integrations._client_requests import ClientRequests
from agentdbg.integrations._model_addresses import provider_at

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["complete_others", "disable", "enable"]


def enable() -> None:
    """Record the requests of every OpenAI client of this process, also those made before."""
    _requests.enable(*_clients())


def complete_others() -> None:
    """Record nothing, but tell a framework's model call what only the client knows: why it stopped, its retries."""
    _requests.complete_others(*_clients())


def disable() -> None:
    """Record no more of them."""
    _requests.disable()


def _clients() -> tuple[type, type]:
    try:
        from openai import AsyncOpenAI, OpenAI  # noqa: PLC0415 -- only when it is wanted
    except ImportError as error:
        raise ImportError("agentdbg records the openai package, which is missing: pip install openai") from error
    return OpenAI, AsyncOpenAI


def _provider(client: Any) -> str:
    known = provider_at(getattr(client, "base_url", ""))
    return known or ("azure" if "Azure" in type(client).__name__ else "openai")


# Chat Completions.


def _chat_prompt(body: Mapping[str, Any]) -> Any:
    return body.get("messages")


def _read_chat(response: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in response.get("choices") or [] if isinstance(choice, dict)]
    messages = [choice.get("message") or {} for choice in choices]
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    answers = [chat_answer(message) for message in messages]
    return {
        "result": answers[0] if len(answers) == 1 else answers or None,
        "name": response.get("model"),
        "usage": response.get("usage"),
        "stop_reason": choices[0].get("finish_reason") if choices else None,
        "asks_for": chat_requests(calls),
        "meta": _generation(response),
    }


def chat_requests(calls: list[Any]) -> list[str]:
    """What the tool calls of a chat message ask for."""
    told = [(call.get("id"), call.get("function") or {}) for call in calls if isinstance(call, dict)]
    return asked_for((identity, function.get("name"), function.get("arguments")) for identity, function in told)


_NOT_SAID = ("role", "parsed", "provider_specific_fields")
"""What is no part of an answer: who gives it, and what a client makes of it."""


def chat_answer(message: dict[str, Any]) -> Any:
    """Plain words as they are, anything else as the message it came in."""
    said = {key: value for key, value in message.items() if value not in (None, [], {}) and key not in _NOT_SAID}
    content = said.get("content")
    return content if said.keys() <= {"content"} and isinstance(content, str) else {"role": "assistant", **said}


def _generation(response: dict[str, Any]) -> dict[str, Any]:
    return {"generation_id": response["id"]} if response.get("id") else {}


class ChatFold:
    def __init__(self) -> None:
        self._frame: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}

    def add(self, event: dict[str, Any]) -> None:
        for key in ("id", "model", "usage"):
            if event.get(key):
                self._frame[key] = event[key]
        if usage := (event.get("x_groq") or {}).get("usage"):
            self._frame["usage"] = usage
        for part in event.get("choices") or []:
            choice = self._choices.setdefault(part.get("index", 0), {"message": {}, "finish_reason": None})
            choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]
            _join(choice["message"], part.get("delta") or {})

    def response(self) -> dict[str, Any]:
        choices = [
            {
                **choice,
                "message": {**choice["message"], "tool_calls": list(choice["message"].get("tool_calls", {}).values())},
            }
            for _, choice in sorted(self._choices.items())
        ]
        return {**self._frame, "choices": choices} if self._frame or choices else {}


def _join(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        if key == "tool_calls":
            calls = message.setdefault("tool_calls", {})
            for place, part in enumerate(value or []):
                call = calls.setdefault(part.get("index", place), {"function": {}})
                call.update({name: part[name] for name in ("id", "type") if part.get(name)})
                _join(call["function"], part.get("function") or {})
        elif isinstance(value, str) and key != "role":
            message[key] = message.get(key, "") + value
        elif value is not None:
            message[key] = value


# Responses.


def _responses_prompt(body: Mapping[str, Any]) -> Any:
    given, instructions = body.get("input"), body.get("instructions")
    if not instructions:
        return given
    rest = given if isinstance(given, list) else [{"role": "user", "content": given}] if given else []
    return [{"role": "system", "content": instructions}, *rest]


def read_response(response: dict[str, Any]) -> dict[str, Any]:
    """What a response of the Responses API says, as arguments of `Pairing.end`."""
    items = [item for item in response.get("output") or [] if isinstance(item, dict)]
    calls = [item for item in items if item.get("type") == "function_call"]
    reason = (response.get("incomplete_details") or {}).get("reason")
    outcome = {
        "result": _spoken(items) if all(item.get("type") == "message" for item in items) else items,
        "name": response.get("model"),
        "usage": response.get("usage"),
        "stop_reason": reason or ("tool_calls" if calls else response.get("status")),
        "asks_for": asked_for((call.get("call_id"), call.get("name"), call.get("arguments")) for call in calls),
        "meta": _generation(response),
    }
    return {**outcome, "error": response["error"]} if response.get("error") else outcome


def _spoken(items: list[dict[str, Any]]) -> Any:
    parts = [part for item in items for part in item.get("content") or []]
    if all(isinstance(part, dict) and part.get("type") == "output_text" for part in parts):
        return "".join(str(part.get("text", "")) for part in parts) if parts else None
    return items


class ResponseFold:
    """A response from the events of its stream."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._items: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, str] = {}

    def add(self, event: dict[str, Any]) -> None:
        if event.get("response"):
            self._response = event["response"]
        elif event.get("type") == "response.output_item.done":
            self._items[event.get("output_index", 0)] = event.get("item") or {}
        elif event.get("type") == "response.output_text.delta":
            place = event.get("output_index", 0)
            self._texts[place] = self._texts.get(place, "") + str(event.get("delta", ""))

    def response(self) -> dict[str, Any]:
        if self._response.get("output"):
            return self._response
        spoken = {
            place: {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            for place, text in self._texts.items()
        }
        items = [item for _, item in sorted({**spoken, **self._items}.items())]
        return {**self._response, "output": items}


# Plain completions and embeddings.


def _read_completion(response: dict[str, Any]) -> dict[str, Any]:
    choices = response.get("choices") or []
    texts = [choice.get("text") for choice in choices]
    return {
        "result": texts[0] if len(texts) == 1 else texts or None,
        "name": response.get("model"),
        "usage": response.get("usage"),
        "stop_reason": choices[0].get("finish_reason") if choices else None,
        "meta": _generation(response),
    }


class _CompletionFold:
    def __init__(self) -> None:
        self._frame: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}

    def add(self, event: dict[str, Any]) -> None:
        self._frame.update({key: event[key] for key in ("id", "model", "usage") if event.get(key)})
        for part in event.get("choices") or []:
            choice = self._choices.setdefault(part.get("index", 0), {"text": "", "finish_reason": None})
            choice["text"] += part.get("text") or ""
            choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]

    def response(self) -> dict[str, Any]:
        return {**self._frame, "choices": [choice for _, choice in sorted(self._choices.items())]}


def _read_embeddings(response: dict[str, Any]) -> dict[str, Any]:
    """How many vectors of which length: the numbers themselves tell a reader nothing."""
    vectors = response.get("data") or []
    first = vectors[0].get("embedding") if vectors else None
    result = {"embeddings": len(vectors), "dimensions": len(first) if isinstance(first, list) else None}
    return {"result": result, "name": response.get("model"), "usage": response.get("usage")}


_COMMON = Api.not_parameters
CHAT = Api("chat.completions", _chat_prompt, _read_chat, ChatFold)
RESPONSES = Api("responses", _responses_prompt, read_response, ResponseFold, _COMMON | {"instructions"})
EMBEDDINGS = Api("embeddings", lambda body: body.get("input"), _read_embeddings)
COMPLETIONS = Api(
    "completions", lambda body: body.get("prompt"), _read_completion, _CompletionFold, _COMMON | {"prompt"}
)
_requests = ClientRequests(
    "openai",
    {"/chat/completions": CHAT, "/responses": RESPONSES, "/embeddings": EMBEDDINGS, "/completions": COMPLETIONS},
    _provider,
)
