"""
How the APIs of Google, Mistral's agents, Ollama, Cohere and Hugging Face say what OpenAI's and Anthropic's say.

Each reader turns a response into the arguments of `Pairing.end`, each fold puts the events of a stream together. What
a model answers is given as plain words where it is nothing else, and tool calls as content blocks or chat messages,
which every reader of a run understands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.integrations._client_recording import asked_for
from agentdbg.integrations.openai import chat_answer, chat_requests

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CohereFold",
    "GeneratedFold",
    "GoogleFold",
    "OllamaFold",
    "StepsFold",
    "cohere_prompt",
    "google_prompt",
    "read_cohere",
    "read_generated",
    "read_google",
    "read_ollama",
    "read_ranks",
    "read_steps",
    "read_vectors",
    "steps_prompt",
]


# Google.


def google_prompt(body: Mapping[str, Any]) -> Any:
    system = body.get("systemInstruction") or body.get("system_instruction")
    contents = body.get("contents")
    messages = contents if isinstance(contents, list) else [contents] if contents else []
    told = [{"role": "system", "parts": _parts(system)}] if system else []
    return [*told, *messages]


def _parts(content: Any) -> list[Any]:
    parts = content.get("parts") if isinstance(content, dict) else content
    return parts if isinstance(parts, list) else [parts]


def read_google(response: dict[str, Any]) -> dict[str, Any]:
    candidates = [one for one in response.get("candidates") or [] if isinstance(one, dict)]
    parts = [part for one in candidates[:1] for part in (one.get("content") or {}).get("parts") or []]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    are_words = (
        bool(parts) and all(isinstance(text, str) for text in texts) and not any(p.get("thought") for p in parts)
    )
    calls = [part["functionCall"] for part in parts if isinstance(part, dict) and part.get("functionCall")]
    refusal = (response.get("promptFeedback") or {}).get("blockReason")
    return {
        "result": "".join(map(str, texts)) if are_words else parts or None,
        "name": response.get("modelVersion"),
        "usage": response.get("usageMetadata"),
        "stop_reason": (candidates[0].get("finishReason") if candidates else None) or refusal,
        "asks_for": asked_for((call.get("id"), call.get("name"), call.get("args")) for call in calls),
        "meta": {"generation_id": response["responseId"]} if response.get("responseId") else {},
    }


class GoogleFold:
    """A response from the responses of its stream, each of which has some more parts."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._parts: list[Any] = []
        self._candidate: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        self._response.update({key: value for key, value in event.items() if key != "candidates"})
        for candidate in (event.get("candidates") or [])[:1]:
            self._candidate.update({key: value for key, value in candidate.items() if key != "content"})
            for part in (candidate.get("content") or {}).get("parts") or []:
                self._join(part)

    def _join(self, part: dict[str, Any]) -> None:
        last = self._parts[-1] if self._parts else {}
        if set(part) == {"text"} == set(last):
            self._parts[-1] = {"text": last["text"] + part["text"]}
        elif part:
            self._parts.append(part)

    def response(self) -> dict[str, Any]:
        if not self._response and not self._candidate:
            return {}
        candidate = {**self._candidate, "content": {"role": "model", "parts": self._parts}}
        return {**self._response, "candidates": [candidate]}


# What Google calls interactions and Mistral conversations: a turn of which the server keeps the ones before.


def steps_prompt(body: Mapping[str, Any]) -> Any:
    given = body.get("input", body.get("inputs"))
    system = body.get("system_instruction") or body.get("instructions")
    if not system:
        return given
    return [
        {"role": "system", "content": system},
        *(given if isinstance(given, list) else [{"role": "user", "content": given}]),
    ]


def read_steps(response: dict[str, Any]) -> dict[str, Any]:
    """A turn: the steps that the model took, of which the last ones are usually its words."""
    steps = [step for step in response.get("steps") or response.get("outputs") or [] if isinstance(step, dict)]
    steps = [step for step in steps if step.get("type") != "user_input"]
    calls = [step for step in steps if str(step.get("type", "")).replace(".", "_") == "function_call"]
    texts = [_step_text(step) for step in steps]
    are_words = bool(texts) and all(text is not None for text in texts)
    return {
        "result": "".join(map(str, texts)) if are_words else steps or None,
        "name": response.get("model"),
        "usage": _steps_usage(response.get("usage")),
        "stop_reason": response.get("status"),
        "asks_for": asked_for(
            (call.get("id") or call.get("tool_call_id"), call.get("name"), call.get("arguments")) for call in calls
        ),
    }


def _step_text(step: dict[str, Any]) -> str | None:
    """The words of a step that is nothing else."""
    if step.get("type") == "text":
        return str(step.get("text") or "")
    if step.get("type") not in ("model_output", "message.output"):
        return None
    content = step.get("content")
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    return "".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else None


def _steps_usage(usage: Any) -> Any:
    """Google counts thinking beside the answer here too, under names of its own."""
    if not isinstance(usage, dict) or "total_input_tokens" not in usage:
        return usage
    return {
        "input_tokens": usage["total_input_tokens"],
        "output_tokens": usage.get("total_output_tokens"),
        "thoughts_token_count": usage.get("total_thought_tokens"),
        "cached_tokens": usage.get("total_cached_tokens"),
        "total_tokens": usage.get("total_tokens"),
    }


class StepsFold:
    """A turn from the events of its stream."""

    def __init__(self) -> None:
        self._turn: dict[str, Any] = {}
        self._steps: dict[int, dict[str, Any]] = {}

    def add(self, event: dict[str, Any]) -> None:
        place = event.get("index", event.get("output_index", 0))
        match event.get("event_type") or event.get("type"):
            case "step.start":
                self._steps[place] = dict(event.get("step") or {})
            case "step.delta" | "content.delta":
                self._join(place, event.get("delta") or {})
            case "message.output.delta":
                content = event.get("content")
                self._join(place, {"text": content.get("text") if isinstance(content, dict) else content})
            case "function.call.delta":
                step = self._steps.setdefault(place, {"type": "function.call", "arguments": ""})
                step.update({key: event[key] for key in ("name", "tool_call_id") if event.get(key)})
                step["arguments"] += str(event.get("arguments") or "")
            case _:
                told = event.get("interaction") or event
                self._turn.update({key: value for key, value in told.items() if value not in (None, [], {})})

    def _join(self, place: int, delta: dict[str, Any]) -> None:
        step = self._steps.setdefault(place, {"type": "model_output"})
        if isinstance(delta.get("text"), str):
            said = step["content"][0]["text"] if step.get("content") else ""
            step["content"] = [{"type": "text", "text": said + delta["text"]}]
        elif isinstance(more := delta.get("arguments"), str):
            before = step.get("arguments")
            step["arguments"] = (before if isinstance(before, str) else "") + more

    def response(self) -> dict[str, Any]:
        if not self._turn and not self._steps:
            return {}
        steps = [step for _, step in sorted(self._steps.items())]
        return {"steps": steps, **self._turn}


# Ollama.


def read_ollama(response: dict[str, Any]) -> dict[str, Any]:
    message = response.get("message")
    usage = {key: response[key] for key in ("prompt_eval_count", "eval_count") if key in response}
    return {
        "result": chat_answer(message) if isinstance(message, dict) else response.get("response"),
        "name": response.get("model"),
        "usage": usage or None,
        "stop_reason": response.get("done_reason"),
        "asks_for": chat_requests((message.get("tool_calls") or []) if isinstance(message, dict) else []),
    }


class OllamaFold:
    """A response from the lines of its stream."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._text = ""

    def add(self, event: dict[str, Any]) -> None:
        self._response.update({key: value for key, value in event.items() if key not in ("message", "response")})
        self._text += str(event.get("response") or "")
        for key, value in (event.get("message") or {}).items():
            if key == "tool_calls":
                self._message["tool_calls"] = [*self._message.get("tool_calls", []), *(value or [])]
            elif isinstance(value, str) and key != "role":
                self._message[key] = self._message.get(key, "") + value
            else:
                self._message[key] = value

    def response(self) -> dict[str, Any]:
        said = {"message": self._message} if self._message else {"response": self._text}
        return {**self._response, **said} if self._response else {}


# Cohere.


def cohere_prompt(body: Mapping[str, Any]) -> Any:
    if isinstance(body.get("messages"), list):
        return body["messages"]
    told = [{"role": "system", "content": body["preamble"]}] if body.get("preamble") else []
    before = [
        {"role": str(turn.get("role", "")).lower().replace("chatbot", "assistant"), "content": turn.get("message")}
        for turn in body.get("chat_history") or []
        if isinstance(turn, dict)
    ]
    return [*told, *before, {"role": "user", "content": body.get("message")}]


def read_cohere(response: dict[str, Any]) -> dict[str, Any]:
    message = dict(
        response.get("message") or {"content": response.get("text"), "tool_calls": response.get("tool_calls")}
    )
    blocks = message.get("content")
    if isinstance(blocks, list) and all(isinstance(one, dict) and one.get("type", "text") == "text" for one in blocks):
        message["content"] = "".join(str(block.get("text", "")) for block in blocks) or None
    calls = message.get("tool_calls") or []
    told = response.get("usage") or response.get("meta") or {}
    tokens, billed = told.get("tokens") or {}, told.get("billed_units") or {}
    counts = {key: value for key, value in (tokens or billed).items() if isinstance(value, (int, float))}
    return {
        "result": chat_answer(message),
        "usage": {**{key: int(value) for key, value in counts.items()}, "billed_units": billed} if counts else None,
        "stop_reason": response.get("finish_reason"),
        "asks_for": chat_requests(calls),
        "meta": {"generation_id": response["id"]} if response.get("id") else {},
    }


class CohereFold:
    """A response from the events of its stream, of either version of the API."""

    def __init__(self) -> None:
        self._response: dict[str, Any] = {}
        self._texts: dict[str, str] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def add(self, event: dict[str, Any]) -> None:
        kind, delta = event.get("type") or event.get("event_type"), event.get("delta") or {}
        message = delta.get("message") or {}
        match kind:
            case "message-start":
                self._response["id"] = event.get("id")
            case "content-delta":
                self._say("content", (message.get("content") or {}).get("text"))
            case "tool-plan-delta":
                self._say("tool_plan", message.get("tool_plan"))
            case "tool-call-start":
                self._calls[event.get("index", 0)] = dict(message.get("tool_calls") or {})
            case "tool-call-delta":
                function = self._calls.setdefault(event.get("index", 0), {}).setdefault("function", {})
                more = ((message.get("tool_calls") or {}).get("function") or {}).get("arguments", "")
                function["arguments"] = str(function.get("arguments") or "") + str(more)
            case "message-end":
                self._response.update(delta)
            case "text-generation":
                self._say("content", event.get("text"))
            case "stream-end":
                self._response.update(event.get("response") or {}, finish_reason=event.get("finish_reason"))

    def _say(self, key: str, text: Any) -> None:
        self._texts[key] = self._texts.get(key, "") + str(text or "")

    def response(self) -> dict[str, Any]:
        if not (self._response or self._texts or self._calls):
            return {}
        calls = [call for _, call in sorted(self._calls.items())]
        return {**self._response, "message": {"role": "assistant", **self._texts, "tool_calls": calls}}


# What has no conversation in it.


def read_generated(response: dict[str, Any]) -> dict[str, Any]:
    """Words that go on from a text, as Hugging Face's servers give them."""
    details = response.get("details") or {}
    usage = {"completion_tokens": details["generated_tokens"]} if "generated_tokens" in details else None
    said = response.get("generated_text", response.get("data"))
    return {"result": said, "usage": usage, "stop_reason": details.get("finish_reason")}


class GeneratedFold:
    """Words that go on from a text, token by token; the last event has all of them."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._last: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        token = event.get("token")
        if isinstance(token, dict) and not token.get("special"):
            self._words.append(str(token.get("text") or ""))
        self._last.update({key: value for key, value in event.items() if value is not None})

    def response(self) -> dict[str, Any]:
        return {"generated_text": "".join(self._words), **self._last} if self._last else {}


def read_vectors(response: dict[str, Any]) -> dict[str, Any]:
    """How many vectors of which length: the numbers themselves tell a reader nothing."""
    vectors = _vectors(response)
    first = vectors[0] if vectors else None
    for key in ("embedding", "values", "embeddings"):
        first = first.get(key, first) if isinstance(first, dict) else first
    told = (response.get("meta") or {}).get("billed_units") or {}
    usage = response.get("usage") or response.get("usageMetadata") or ({**told} if told else None)
    if "prompt_eval_count" in response:
        usage = {"prompt_eval_count": response["prompt_eval_count"]}
    length = len(first) if isinstance(first, list) else None
    return {
        "result": {"embeddings": len(vectors), "dimensions": length},
        "name": response.get("model"),
        "usage": usage,
    }


def _vectors(response: dict[str, Any]) -> list[Any]:
    for key in ("data", "embeddings", "embedding", "predictions"):
        found = response.get(key)
        if isinstance(found, dict) and "values" not in found:  # Cohere gives them by their type of number
            found = next((value for value in found.values() if isinstance(value, list)), None)
        if isinstance(found, dict) or (isinstance(found, list) and found and isinstance(found[0], (int, float))):
            return [found]
        if isinstance(found, list):
            return found
    return []


def read_ranks(response: dict[str, Any]) -> dict[str, Any]:
    """The order that a reranker finds, with its scores."""
    found = response.get("results") or response.get("data") or []
    ranks = [
        {key: rank[key] for key in ("index", "relevance_score", "score") if key in rank}
        for rank in found
        if isinstance(rank, dict)
    ]
    told = (response.get("meta") or {}).get("billed_units")
    return {"result": ranks, "name": response.get("model"), "usage": response.get("usage") or told}
