"""
Recognise the requests that ask models, by their addresses and their bodies, and record each as one LLM_CALL.

It knows APIs, not packages: the end of an address says which API it may be, the body whether it is. Where another
integration, or the program itself, stands around the request already, nothing is recorded here.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentdbg import record_llm_call
from agentdbg.around import Pairing, at_place, contained, enclosing_call
from agentdbg.integrations import _bedrock_shapes as bedrock
from agentdbg.integrations import _model_shapes as shapes
from agentdbg.integrations import anthropic, openai
from agentdbg.integrations._client_recording import Api
from agentdbg.integrations._http_exchange import CLOSED
from agentdbg.integrations._model_addresses import model_in_path, provider_at, unread_address
from agentdbg.integrations._model_bodies import header_of, read_body
from agentdbg.integrations._told_results import tell_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.around import Call
    from agentdbg.integrations._http_exchange import ModelCall, Request

__all__ = ["ModelRequests", "told_elsewhere"]

_ERRORS = 400
_LONGEST_MESSAGE = 2_000
_MESSAGES_OF_ERRORS = ("message", "Message", "detail", "error_message")
_COMMON = Api.not_parameters
_GOOGLE = frozenset({"contents", "systemInstruction", "system_instruction", "tools", "model"})
_BEDROCK = frozenset({"messages", "system", "toolConfig"})


@dataclass(frozen=True)
class _Shape:
    """One API: how to read it, who usually answers, and whether a body is a request of it."""

    api: Api
    provider: str
    fits: Callable[[str, dict[str, Any]], bool]


def _has(*keys: str) -> Callable[[str, dict[str, Any]], bool]:
    return lambda _, body: all(key in body for key in keys)


def _has_messages(_: str, body: dict[str, Any]) -> bool:
    return isinstance(body.get("messages"), list)


def _in(folder: str, *keys: str) -> Callable[[str, dict[str, Any]], bool]:
    return lambda path, body: folder in path and any(key in body for key in keys)


_CHAT = _Shape(openai.CHAT, "openai", _has_messages)
_TEXT = _Shape(openai.COMPLETIONS, "openai", _has("prompt"))
_FILL = _Shape(
    Api("fim.completions", lambda body: body.get("prompt"), openai.CHAT.read, openai.CHAT.fold),
    "mistral",
    lambda path, body: "/fim/" in path and "prompt" in body,
)
_RESPONSES = _Shape(
    openai.RESPONSES, "openai", lambda _, body: "model" in body and ("input" in body or "prompt" in body)
)
_MESSAGES = _Shape(
    anthropic.MESSAGES,
    "anthropic",
    lambda path, body: _has_messages(path, body) and ("max_tokens" in body or "anthropic_version" in body),
)
_GENERATE = _Shape(
    Api("generateContent", shapes.google_prompt, shapes.read_google, shapes.GoogleFold, _GOOGLE),
    "google",
    _has("contents"),
)
_CONVERSE = _Shape(
    Api("converse", bedrock.bedrock_prompt, bedrock.read_bedrock, bedrock.BedrockFold, _BEDROCK),
    "aws_bedrock",
    lambda path, _: "/model/" in path,
)
_INVOKED = _Shape(
    Api(
        "invoke",
        bedrock.invoked_prompt,
        bedrock.read_invoked,
        bedrock.InvokedFold,
        _COMMON | {"inputText", "prompt", "message", "chat_history", "texts", "inputs", "system"},
    ),
    "aws_bedrock",
    lambda path, _: "/model/" in path,
)
_STEPS = Api(
    "interactions",
    shapes.steps_prompt,
    shapes.read_steps,
    shapes.StepsFold,
    _COMMON | {"inputs", "system_instruction", "instructions"},
)
_INTERACTION = _Shape(_STEPS, "google", _has("input"))
_CONVERSATION = _Shape(replace(_STEPS, name="conversations"), "mistral", _has("inputs"))
_OLLAMA_CHAT = _Shape(
    Api("chat", lambda body: body.get("messages"), shapes.read_ollama, shapes.OllamaFold),
    "ollama",
    _in("/api/", "messages"),
)
_OLLAMA_TEXT = _Shape(
    Api("generate", lambda body: body.get("prompt"), shapes.read_ollama, shapes.OllamaFold, _COMMON | {"prompt"}),
    "ollama",
    _in("/api/", "prompt"),
)
_COHERE = _Shape(
    Api("chat", shapes.cohere_prompt, shapes.read_cohere, shapes.CohereFold, _COMMON | {"message", "chat_history"}),
    "cohere",
    lambda path, body: "/v" in path and ("message" in body or ("messages" in body and "model" in body)),
)
_INPUTS = ("input", "inputs", "texts", "content", "requests", "prompt", "images")
_VECTORS = Api(
    "embeddings",
    lambda body: next((body[key] for key in _INPUTS if key in body), None),
    shapes.read_vectors,
    None,
    _COMMON | set(_INPUTS),
)


def _vectors(provider: str, folder: str = "/") -> _Shape:
    return _Shape(_VECTORS, provider, _in(folder, *_INPUTS))


_OPENAI_VECTORS = _Shape(openai.EMBEDDINGS, "openai", _has("input"))
_PREDICTED = _Shape(
    Api("predict", lambda body: body.get("instances"), shapes.read_vectors, None, _COMMON | {"instances"}),
    "google_vertex",
    lambda path, body: "/models/" in path and "instances" in body,
)
_RANKS = _Shape(
    Api(
        "rerank",
        lambda body: {key: body.get(key) for key in ("query", "documents", "texts") if key in body},
        shapes.read_ranks,
        None,
        _COMMON | {"query", "documents", "texts"},
    ),
    "cohere",
    lambda _, body: "query" in body and ("documents" in body or "texts" in body),
)
_GENERATED = _Shape(
    Api("generate", lambda body: body.get("inputs"), shapes.read_generated, shapes.GeneratedFold, _COMMON | {"inputs"}),
    "huggingface",
    lambda _, body: isinstance(body.get("inputs"), str),
)

_BY_ENDING: dict[str, tuple[_Shape, ...]] = {
    "completions": (_CHAT, _FILL, _TEXT),
    "responses": (_RESPONSES,),
    "messages": (_MESSAGES,),
    "rawPredict": (_MESSAGES, _CHAT),
    "streamRawPredict": (_MESSAGES, _CHAT),
    "invoke": (_MESSAGES, _INVOKED, _CHAT),
    "invoke-with-response-stream": (_MESSAGES, _INVOKED, _CHAT),
    "invocations": (_MESSAGES, _CHAT, _GENERATED),
    "generateContent": (_GENERATE,),
    "streamGenerateContent": (_GENERATE,),
    "converse": (_CONVERSE,),
    "converse-stream": (_CONVERSE,),
    "chat": (_OLLAMA_CHAT, _COHERE),
    "generate": (_OLLAMA_TEXT, _GENERATED),
    "embeddings": (_vectors("ollama", "/api/embeddings"), _OPENAI_VECTORS, _vectors("openai")),
    "embed": (_vectors("ollama", "/api/"), _vectors("cohere", "/v"), _vectors("huggingface")),
    "embedContent": (_vectors("google"),),
    "batchEmbedContents": (_vectors("google"),),
    "feature-extraction": (_vectors("huggingface"),),
    "predict": (_PREDICTED,),
    "rerank": (_RANKS,),
    "interactions": (_INTERACTION,),
    "generate_stream": (_GENERATED,),
}
_BY_FOLDER: dict[str, tuple[_Shape, ...]] = {"/models/": (_GENERATED,), "/conversations": (_CONVERSATION,)}
"""What is asked at addresses that end in a name: of a model, or of a conversation that goes on."""


class ModelRequests:
    """Knows requests that ask models, and records them where it is wanted."""

    def __init__(self) -> None:
        self.records = False
        self._pairing = Pairing("http")

    def knows(self, method: str, address: str) -> bool:
        """Whether a request to this address may ask a model."""
        return method == "POST" and bool(_shapes_at(address))

    def misses(self, host: str, address: str) -> str | None:
        """Say what is asked of a model there that nobody here can read; None where it is nothing."""
        return unread_address(host, address)

    @contained
    def begin(self, request: Request) -> ModelCall | None:
        """Record the request as a model call, if it is one and nobody else does. Raises when a limit refuses it."""
        if not self.records or told_elsewhere.get():
            return None
        body, path = request.data, request.path
        if not isinstance(body, dict):
            return None
        shape = next((shape for shape in _shapes_at(path) if shape.fits(path, body)), None)
        if shape is None:
            return None
        asked = {
            "model": body.get("model") or body.get("modelId") or model_in_path(path) or "unknown",
            "prompt": shape.api.prompt(body),
            "meta": {"api": shape.api.name},
            "provider": provider_at(request.url) or shape.provider,
            **_fields(body, shape.api),
        }
        around = enclosing_call("llm")
        if around is not None:
            return _Attempt(around, shape.api, asked)
        tell_results(self._pairing, asked["prompt"], body, "http")
        call = _ModelCall(self._pairing, shape.api)
        began = self._pairing.start(call, "llm", asked.pop("model"), asked.pop("prompt"), **asked)
        return call if began else None


def _shapes_at(address: str) -> tuple[_Shape, ...]:
    """The APIs that may be asked at an address."""
    known = _BY_ENDING.get(_ending(address), ())
    return known or next((shapes for folder, shapes in _BY_FOLDER.items() if folder in address), ())


def _ending(address: str) -> str:
    """The last word of an address: `completions` of `/v1/chat/completions?…`, or what follows the model's name."""
    return address.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2]


def _fields(body: dict[str, Any], api: Api) -> dict[str, Any]:
    """What else a request says, beside its model and its prompt."""
    fields: dict[str, Any] = {"temperature": body.get("temperature")}
    for key in ("generationConfig", "inferenceConfig", "options"):
        if fields["temperature"] is None and isinstance(body.get(key), dict):
            fields["temperature"] = body[key].get("temperature")
    tools = body.get("tools") or (body.get("toolConfig") or {}).get("tools")
    if tools:
        fields["tools"] = tools
    if parameters := {key: value for key, value in body.items() if key not in api.not_parameters}:
        fields["parameters"] = parameters
    return fields


class _Exchanged:
    """What an HTTP exchange with a model says."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def _arguments(self, outcome: dict[str, Any]) -> dict[str, Any]:
        status = outcome.get("status")
        if status is None:
            return {}
        document, events = read_body(outcome)
        if status >= _ERRORS:
            return {"error": _http_error(status, document)}
        arguments, failure = self._read(document, events), _failure([document, *events])
        if not arguments.get("usage"):
            arguments["usage"] = _counted_beside(outcome)
        if failure is not None:
            arguments["error"] = failure
        if events and outcome["at"]:
            arguments["first_token_ms"] = outcome["at"][0]
        if outcome.get("cut") == CLOSED and not arguments.get("stop_reason") and failure is None:
            arguments["meta"] = {**arguments.get("meta", {}), "cancelled": True}
        return {key: value for key, value in arguments.items() if value is not None}

    def _read(self, document: Any, events: list[dict[str, Any]]) -> dict[str, Any]:
        if isinstance(document, list) and self._api.fold is not None:
            document, events = None, [event for event in document if isinstance(event, dict)]
        if isinstance(document, list):
            is_text = bool(document) and isinstance(document[0], dict) and "generated_text" in document[0]
            document = document[0] if is_text else {"data": document}
        if events and self._api.fold is not None:
            fold = self._api.fold()
            for event in events:
                fold.add(event)
            document = fold.response()
        elif events:
            document = events[-1]
        return self._api.read(document) if isinstance(document, dict) and document else {}


class _ModelCall(_Exchanged):
    """One model call, recorded by its HTTP exchange. Also the key it is paired by."""

    def __init__(self, pairing: Pairing, api: Api) -> None:
        super().__init__(api)
        self._pairing = pairing

    @contained
    def answering(self, outcome: dict[str, Any]) -> None:
        """The answer begins to come."""
        self._pairing.answering(self, lambda: self._arguments({**outcome, "cut": CLOSED}))

    @contained
    def end(self, outcome: dict[str, Any], error: BaseException | None) -> None:
        """The exchange is over."""
        arguments = self._arguments(outcome)
        if error is not None:
            arguments["error"] = error
        self._pairing.end(self, **arguments)


class _Attempt(_Exchanged):
    """
    One request inside a model call that somebody else records.

    The last one is that call, and tells it what nobody else could read. One that failed and is followed by another was
    a request of its own.
    """

    def __init__(self, around: Call, api: Api, asked: dict[str, Any]) -> None:
        super().__init__(api)
        self._around = around
        self._asked = asked
        self._started = time.monotonic()
        self._failure: Any = None
        before = _failed.pop(around, None)
        if before is not None:
            before.record()

    def answering(self, outcome: dict[str, Any]) -> None:
        """The answer begins to come."""

    @contained
    def end(self, outcome: dict[str, Any], error: BaseException | None) -> None:
        """The exchange is over."""
        status = outcome.get("status")
        if error is not None or status is None or status >= _ERRORS:
            self._failure = error or self._arguments(outcome).get("error") or outcome.get("cut")
            self._duration_ms = (time.monotonic() - self._started) * 1000
            _failed[self._around] = self
        else:
            self._around.complete_later(lambda: self._known(outcome))

    def _known(self, outcome: dict[str, Any]) -> dict[str, Any]:
        known = self._arguments(outcome)
        return {"response": known.get("result"), "usage": known.get("usage"), "stop_reason": known.get("stop_reason")}

    def record(self) -> None:
        """Another one followed, so it was a call of its own."""
        meta = {"framework": "http", **self._asked.pop("meta"), "retried_in": self._around.call_id}
        with at_place(self._around.outer):
            record_llm_call(**self._asked, error=self._failure, duration_ms=self._duration_ms, meta=meta)


_failed: WeakKeyDictionary[Call, _Attempt] = WeakKeyDictionary()
"""The last request inside a call, if it failed."""

told_elsewhere: ContextVar[bool] = ContextVar("agentdbg_told_elsewhere", default=False)
"""Whether the requests that are made here belong to a call that is recorded, although the code stands in none."""


def _counted_beside(outcome: dict[str, Any]) -> dict[str, int] | None:
    """What Bedrock counted, where the answer itself does not say it."""
    counts = {name: header_of(outcome, f"x-amzn-bedrock-{name}-token-count") for name in ("input", "output")}
    return {f"{name}_tokens": int(count) for name, count in counts.items() if count.isdigit()} or None


def _http_error(status: int, document: Any) -> dict[str, Any]:
    """An answer with an error's status, in the words of the server."""
    failure, told = _failure([document]) or {}, document if isinstance(document, dict) else {}
    message = failure.get("message") or next((told[key] for key in _MESSAGES_OF_ERRORS if told.get(key)), None)
    message = str(message or document or f"status {status}")[:_LONGEST_MESSAGE]
    return {"error_type": f"HTTP {status}", "message": message, "details": {"status_code": status}}


def _failure(documents: list[Any]) -> dict[str, Any] | None:
    """What a server says went wrong, wherever in its answer it does so."""
    for document in documents:
        first = document[0] if isinstance(document, list) and document else document
        told = first.get("error") if isinstance(first, dict) else None
        if isinstance(told, dict):
            name = told.get("type") or told.get("code") or told.get("status") or "ModelError"
            return {"error_type": str(name), "message": str(told.get("message") or told)}
        if isinstance(told, str) and told:
            return {"error_type": "ModelError", "message": told}
    return None
