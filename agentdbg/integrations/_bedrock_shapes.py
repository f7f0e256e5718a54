"""
What Bedrock's models are asked and answer: in Bedrock's own words, and each family in its own through `invoke`.

Readers and folds are those that `_model_shapes` describes. What `invoke` is given and gives is known by its keys: the
address names a model, but a profile or an endpoint of the program's own may stand there as well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentdbg.around import pass_on
from agentdbg.integrations import openai
from agentdbg.integrations._model_shapes import cohere_prompt, read_vectors
from agentdbg.integrations.anthropic import block_requests

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BedrockFold", "InvokedFold", "bedrock_prompt", "invoked_prompt", "read_bedrock", "read_invoked"]

_TOLD = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
_LISTS = ("results", "outputs", "generations", "completions")
_TEXTS = ("outputText", "generation", "text", "completion")


# In Bedrock's own words.


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


# Each family of models in its own words.


def invoked_prompt(body: Mapping[str, Any]) -> Any:
    if isinstance(body.get("messages"), list):
        return bedrock_prompt(body) if isinstance(body.get("system"), list) else body["messages"]
    if "message" in body:
        return cohere_prompt(body)
    return next((body[key] for key in ("inputText", "prompt", "texts", "inputs") if key in body), None)


def read_invoked(response: dict[str, Any]) -> dict[str, Any]:
    """What a family of models answers: Nova, OpenAI's, embeddings, or words somewhere in it."""
    if isinstance(response.get("output"), dict):
        read = read_bedrock(response)
    elif "choices" in response:
        read = openai.CHAT.read(response)
    elif "embedding" in response or "embeddings" in response:
        read = read_vectors(response)
    else:
        parts = _parts(response)
        read = {"result": "".join(str(_text(part)) for part in parts), "stop_reason": _reason([response, *parts])}
    counted = _invoked_usage(response)
    return {**read, "usage": counted} if counted and not read.get("usage") else read


def _parts(response: dict[str, Any]) -> list[dict[str, Any]]:
    """Where the words are: in a list, one for each answer, or in the response itself."""
    for key in _LISTS:
        if isinstance(response.get(key), list):
            return [part for part in response[key][:1] if isinstance(part, dict)]
    return [response]


def _text(part: dict[str, Any]) -> Any:
    if isinstance(part.get("data"), dict):
        part = part["data"]
    return next((part[key] for key in _TEXTS if key in part), "")


def _reason(parts: list[dict[str, Any]]) -> Any:
    names = ("completionReason", "stop_reason", "finish_reason", "completion_reason", "stopReason")
    return next((part[name] for part in parts for name in names if part.get(name)), None)


def _invoked_usage(response: dict[str, Any]) -> dict[str, Any] | None:
    """What was counted: by the model, or by Bedrock, which says so at the end of a stream."""
    counted = response.get("amazon-bedrock-invocationMetrics") or {}
    first = _parts(response)[:1]
    given = (response.get("inputTextTokenCount"), response.get("prompt_token_count"), counted.get("inputTokenCount"))
    written = (
        first[0].get("tokenCount") if first else None,
        response.get("totalOutputTextTokenCount"),
        response.get("generation_token_count"),
        counted.get("outputTokenCount"),
    )
    names = {"prompt_tokens": given, "completion_tokens": written}
    known = {name: next((one for one in counts if one is not None), None) for name, counts in names.items()}
    return {name: count for name, count in known.items() if count is not None} or None


class InvokedFold:
    """What a family of models answers, from the events of its stream."""

    def __init__(self) -> None:
        self._told = BedrockFold()
        self._chat = openai.ChatFold()
        self._rest: dict[str, Any] = {}
        self._words: list[str] = []
        self._is_chat = False

    def add(self, event: dict[str, Any]) -> None:
        told = [name for name in _TOLD if isinstance(event.get(name), dict)]
        for name in told:
            self._told.add({"type": name, **event[name]})
        if told:
            return
        if "choices" in event:
            self._is_chat = True
            self._chat.add(event)
            return
        self._words += [str(_text(part)) for part in _parts(event)]
        kept = {"stop_reason": _reason([event, *_parts(event)])}
        self._rest.update({key: value for key, value in {**event, **kept}.items() if value is not None})

    def response(self) -> dict[str, Any]:
        if told := self._told.response():
            return told
        if self._is_chat:
            return self._chat.response()
        rest = {key: value for key, value in self._rest.items() if key not in (*_LISTS, *_TEXTS)}
        return {**rest, "completion": "".join(self._words)} if self._rest else {}
