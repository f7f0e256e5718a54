"""
How the APIs of Google, Bedrock, Ollama, Cohere and Hugging Face say what OpenAI's and Anthropic's say in their own.

Each reader turns a response into the arguments of `Pairing.end`, each fold puts the events of a stream together. What
a model answers is given as plain words where it is nothing else, and tool calls as content blocks or chat messages,
which every reader of a run understands.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentdbg.around import pass_on
from agentdbg.integrations._client_recording import asked_for
from agentdbg.integrations.anthropic import block_requests
from agentdbg.integrations.openai import chat_answer, chat_requests

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BedrockFold",
    "CohereFold",
    "GoogleFold",
    "OllamaFold",
    "bedrock_prompt",
    "cohere_prompt",
    "google_prompt",
    "read_bedrock",
    "read_cohere",
    "read_generated",
    "read_google",
    "read_ollama",
    "read_ranks",
    "read_vectors",
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


# Bedrock.


def bedrock_prompt(body: Mapping[str, Any]) -> Any:
    system = "\n".join(str(part.get("text", "")) for part in body.get("system") or [] if isinstance(part, dict))
    told = [{"role": "system", "content": system}] if system else []
    return [*told, *(_bedrock_message(message) for message in body.get("messages") or [])]


def _bedrock_message(message: Any) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    return {**message, "content": [_bedrock_block(block) for block in content]}


def _bedrock_block(block: Any) -> Any:
    """A content block in the words that Anthropic uses for the same things."""
    if not isinstance(block, dict):
        return block
    if isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    if isinstance(use := block.get("toolUse"), dict):
        return {"type": "tool_use", "id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
    if isinstance(result := block.get("toolResult"), dict):
        failed = {"is_error": True} if result.get("status") == "error" else {}
        parts = [_bedrock_block(part) for part in result.get("content") or []]
        return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": parts, **failed}
    return block


def read_bedrock(response: dict[str, Any]) -> dict[str, Any]:
    content = ((response.get("output") or {}).get("message") or {}).get("content") or []
    blocks = [_bedrock_block(block) for block in content]
    are_words = bool(blocks) and all(isinstance(block, dict) and block.get("type") == "text" for block in blocks)
    return {
        "result": "".join(block["text"] for block in blocks) if are_words else blocks or None,
        "usage": _bedrock_usage(response.get("usage")),
        "stop_reason": response.get("stopReason"),
        "asks_for": block_requests(blocks),
    }


def _bedrock_usage(usage: Any) -> Any:
    """Bedrock counts what a cache gave and took beside the input, as Anthropic does, under names of its own."""
    if not isinstance(usage, dict) or not (usage.get("cacheReadInputTokens") or usage.get("cacheWriteInputTokens")):
        return usage
    return {
        "input_tokens": usage.get("inputTokens"),
        "output_tokens": usage.get("outputTokens"),
        "cache_read_input_tokens": usage.get("cacheReadInputTokens") or 0,
        "cache_creation_input_tokens": usage.get("cacheWriteInputTokens") or 0,
        "total_tokens": usage.get("totalTokens"),
    }


class BedrockFold:
    """A Converse response from the events of its stream."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._rest: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        place = event.get("contentBlockIndex", 0)
        match event.get("type"):
            case "contentBlockStart":
                use = (event.get("start") or {}).get("toolUse")
                if use is not None:
                    self._blocks[place] = {"toolUse": {**use, "input": ""}}
            case "contentBlockDelta":
                self._join(place, event.get("delta") or {})
            case "messageStop":
                self._rest["stopReason"] = event.get("stopReason")
            case "metadata":
                self._rest["usage"] = event.get("usage")

    def _join(self, place: int, delta: dict[str, Any]) -> None:
        if "toolUse" in delta:
            use = self._blocks.setdefault(place, {"toolUse": {"input": ""}})["toolUse"]
            use["input"] += str(delta["toolUse"].get("input", ""))
        elif "text" in delta:
            block = self._blocks.setdefault(place, {"text": ""})
            block["text"] = block.get("text", "") + str(delta["text"])
        elif "reasoningContent" in delta:
            block = self._blocks.setdefault(place, {"type": "thinking", "thinking": ""})
            block["thinking"] = block.get("thinking", "") + str(delta["reasoningContent"].get("text", ""))

    def response(self) -> dict[str, Any]:
        if not self._blocks and not self._rest:
            return {}
        blocks = []
        for _, block in sorted(self._blocks.items()):
            use = block.get("toolUse")
            blocks.append(block if use is None else {"toolUse": {**use, "input": _parsed(use["input"])}})
        return {**self._rest, "output": {"message": {"role": "assistant", "content": blocks}}}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError as error:
        pass_on(error)
        return text


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
    return {"result": response.get("generated_text"), "usage": usage, "stop_reason": details.get("finish_reason")}


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
