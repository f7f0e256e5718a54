"""
Chats in the forms of providers and frameworks other than OpenAI's and Anthropic's, as chat messages.

Bedrock and Gemini name their blocks by a key (`toolUse`, `functionCall`), the Vercel AI SDK by types of its own,
pydantic-ai keeps requests and responses of parts, LangChain writes messages as objects, the Responses API items.
"""

from __future__ import annotations

from typing import Any

from agentdbg.interop.drafts import read_arguments
from agentdbg.interop.importers.message_forms import as_message, usage_in
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.transcripts import is_message, is_transcript

__all__ = ["as_chat"]

_ITEMS = frozenset(
    {"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"}
)
_LOOKED_AT = 50
_SHAREGPT = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "assistant", "model", "bot", "bard", "bing"), "assistant"),
    "system": "system",
    **dict.fromkeys(("tool", "function", "observation", "tool_response", "function_response"), "tool"),
    **dict.fromkeys(("function_call", "tool_call"), "call"),
}


def as_chat(value: Any) -> list[Any] | None:
    """The messages of a list, in whatever form they stand; None for a list of something else."""
    if not isinstance(value, list) or not value:
        return None
    some = value[:_LOOKED_AT]
    is_chat = is_transcript(value)
    if is_chat and not any(_is_foreign(item) for item in some if isinstance(item, dict)):
        return value
    if not all(isinstance(item, dict) and _is_known(item) for item in some):
        return value if is_chat else None
    chat = _Chat()
    for item in value:
        chat.take(as_dict(item))
    return chat.messages if is_transcript(chat.messages) else None


def _is_foreign(item: dict[str, Any]) -> bool:
    """Whether a message that has a role has blocks of another form."""
    if isinstance(item.get("parts"), list):
        return True
    blocks = item.get("content") if isinstance(item.get("content"), list) else []
    return any(isinstance(block, dict) and _is_foreign_block(block) for block in as_list(blocks))


def _is_foreign_block(block: dict[str, Any]) -> bool:
    kind = as_word(block.get("type"))
    return kind in ("tool-call", "tool-result") or (
        not kind and not {"toolUse", "toolResult", "text"}.isdisjoint(block)
    )


def _is_known(item: dict[str, Any]) -> bool:
    if item.get("kind") in ("request", "response") or is_message(item) or item.get("role") == "model":
        return isinstance(item.get("parts"), list) or "content" in item or is_message(item)
    if item.get("from") in _SHAREGPT and "value" in item:
        return True
    return item.get("type") in _ITEMS or is_message(as_message(item))


class _Chat:
    """Takes items one after the other; `messages` is what they amount to."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._asked: dict[str, list[str]] = {}
        """The calls that Gemini asked for without an id, by the tool's name."""
        self._is_open = False
        """Whether the next item of the Responses API is a part of the same answer."""

    def take(self, item: dict[str, Any]) -> None:
        if item.get("from") in _SHAREGPT:
            self._of_sharegpt(_SHAREGPT[item["from"]], item.get("value"))
        elif item.get("kind") in ("request", "response"):
            self._of_pydantic(item)
        elif isinstance(item.get("parts"), list) or isinstance(item.get("content"), list):
            self._of_blocks(item)
        elif item.get("type") in _ITEMS:
            self._of_responses(item)
        else:
            message = as_message(item)
            used = usage_in(item.get("data") or item) if message.get("role") == "assistant" else None
            self._add(message if used is None else {**message, "usage": used})

    def _add(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self._is_open = False

    def _of_sharegpt(self, role: str, value: Any) -> None:
        """
        A pair of `from` and `value`. Calls stand in turns of their own, or in tags within an answer, and have no ids:
        results follow in their order.
        """
        text = as_word(value)
        if role == "call":
            read = read_arguments(value)
            self._ask("" if read is not value else value, read if isinstance(read, list) else [read])
        elif role == "assistant" and "<tool_call>" in text:
            rest, calls = _tagged(text, "tool_call")
            self._ask(rest, calls)
        elif role == "tool":
            for said in _tagged(text, "tool_response")[1] or [value]:
                self._answer_next(said)
        else:
            self._add({"role": role, "content": value})

    def _ask(self, content: Any, calls: list[Any]) -> None:
        """An answer that asks for tools."""
        asked: list[dict[str, Any]] = []
        for call in calls:
            if isinstance(call, dict) and "name" in call:
                of = f"call {len(self.messages)}.{len(asked)}"
                self._asked.setdefault("", []).append(of)
                function = {"name": call["name"], "arguments": call.get("arguments", call.get("parameters"))}
                asked.append({"id": of, "type": "function", "function": function})
        self._add({"role": "assistant", "content": content or None, "tool_calls": asked})

    def _answer_next(self, said: Any) -> None:
        """The result of the call that has waited longest."""
        waiting = self._asked.get("")
        told = as_dict(said) if {"name", "content"} <= set(as_dict(said)) else {"content": said}
        name = {"name": told["name"]} if as_word(told.get("name")) else {}
        of = waiting.pop(0) if waiting else ""
        self._add({"role": "tool", "tool_call_id": of, "content": told["content"], **name})

    def _of_responses(self, item: dict[str, Any]) -> None:
        message = as_message(item)
        if item["type"] == "reasoning":
            said = [as_dict(part).get("text") for part in as_list(item.get("summary"))]
            blocks = [{"type": "thinking", "thinking": text} for text in said if as_word(text)]
            message = {"role": "assistant", "content": blocks, "tool_calls": []}
        if message.get("role") != "assistant":
            self._add(message)
            return
        if not self._is_open:
            self._add({"role": "assistant", "content": [], "tool_calls": []})
            self._is_open = True
        self.messages[-1]["content"] += as_list(message.get("content"))
        self.messages[-1]["tool_calls"] += as_list(message.get("tool_calls"))

    def _of_pydantic(self, item: dict[str, Any]) -> None:
        parts = [part for part in item["parts"] if isinstance(part, dict)]
        if item["kind"] == "response":
            blocks: list[Any] = []
            for part in parts:
                kind, content = part.get("part_kind"), part.get("content")
                if kind == "tool-call":
                    call = {"id": part.get("tool_call_id"), "name": part.get("tool_name"), "input": part.get("args")}
                    blocks.append({"type": "tool_use", **call})
                elif content:
                    name = "thinking" if kind == "thinking" else "text"
                    blocks.append({"type": name, name: content})
            said = {key: item[key] for key in ("usage", "timestamp", "finish_reason") if item.get(key)}
            self._add({"role": "assistant", "content": blocks, "model": item.get("model_name"), **said})
            return
        for part in parts:
            said = {"content": part.get("content"), "timestamp": part.get("timestamp")}
            if part.get("part_kind") in ("tool-return", "retry-prompt") and part.get("tool_name"):
                failed = {"status": "error"} if part["part_kind"] == "retry-prompt" else {}
                call = {"tool_call_id": part.get("tool_call_id"), "name": part["tool_name"]}
                self._add({"role": "tool", **call, **failed, **said})
            else:
                self._add({"role": "system" if part.get("part_kind") == "system-prompt" else "user", **said})

    def _of_blocks(self, item: dict[str, Any]) -> None:
        role = "assistant" if item.get("role") == "model" else item.get("role")
        if not role:
            item = as_message(item)
            role = item.get("role")
        blocks: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for part in as_list(item.get("parts") or item.get("content")):
            if isinstance(part, dict):
                self._block(part, blocks, results)
        rest = {key: told for key, told in item.items() if key not in ("parts", "content", "role")}
        model = as_dict(item.get("metadata")).get("model")
        if blocks or not results:
            self._add({"role": role, "content": blocks, **rest, **({"model": model} if as_word(model) else {})})
        when: dict[str, Any] = {key: item[key] for key in ("timestamp", "created_at", "createdAt") if key in item}
        for result in results:
            self._add({"role": "tool", **result, **when})

    def _block(self, part: dict[str, Any], blocks: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
        kind = as_word(part.get("type"))
        used = as_dict(part.get("toolUse"))
        if used:
            blocks.append({"type": "tool_use", "id": used.get("toolUseId"), **_named(used.get("name"), used)})
        elif isinstance(part.get("functionCall"), dict):
            call = part["functionCall"]
            name, of = str(call.get("name")), as_word(call.get("id"))
            if not of:
                of = f"{name} {len(self.messages)}.{len(blocks)}"
                self._asked.setdefault(name, []).append(of)
            blocks.append({"type": "tool_use", "id": of, "name": name, "input": call.get("args")})
        elif kind == "tool-call":
            blocks.append({"type": "tool_use", "id": part.get("toolCallId"), **_named(part.get("toolName"), part)})
        elif (kind.startswith("tool-") and kind != "tool-result") or kind == "dynamic-tool":
            name = part.get("toolName") or kind.removeprefix("tool-")
            blocks.append({"type": "tool_use", "id": part.get("toolCallId"), **_named(name, part)})
            if as_word(part.get("state")).startswith("output-"):
                results.append(_of_ui(part, name))
        elif kind == "reasoning":
            blocks.append({"type": "thinking", "thinking": part.get("text")})
        elif kind == "step-start":
            return
        elif (found := self._result(part)) is not None:
            results.append(found)
        else:
            blocks.append({"type": "text", **part} if not kind and "text" in part else part)

    def _result(self, part: dict[str, Any]) -> dict[str, Any] | None:
        told = as_dict(part.get("toolResult"))
        if told:
            said = as_list(told.get("content"))
            texts = [as_dict(one).get("text", as_dict(one).get("json")) for one in said]
            failed = {"status": "error"} if told.get("status") == "error" else {}
            return {"tool_call_id": told.get("toolUseId"), "content": texts[0] if len(texts) == 1 else said, **failed}
        answered = as_dict(part.get("functionResponse"))
        if answered:
            name = str(answered.get("name"))
            waiting = self._asked.get(name)
            of = as_word(answered.get("id")) or (waiting.pop(0) if waiting else "")
            return {"tool_call_id": of, "name": name, "content": answered.get("response")}
        if part.get("type") == "tool-result":
            output = part.get("output", part.get("result"))
            kind = as_word(as_dict(output).get("type"))
            failed = {"status": "error"} if part.get("isError") is True or kind.startswith("error") else {}
            content = as_dict(output).get("value", output) if kind else output
            return {"tool_call_id": part.get("toolCallId"), "name": part.get("toolName"), "content": content, **failed}
        return None


def _tagged(text: str, tag: str) -> tuple[str, list[Any]]:
    """What stands in a text outside of a tag, and what in each of them, as JSON where it is some."""
    first, *parts = text.split(f"<{tag}>")
    rest, found = [first], []
    for part in parts:
        inside, closed, after = part.partition(f"</{tag}>")
        if closed:
            found.append(read_arguments(inside.strip()))
        rest.append(after if closed else inside)
    return "".join(rest).strip(), found


def _named(name: Any, told: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "input": told.get("input", told.get("args"))}


def _of_ui(part: dict[str, Any], name: Any) -> dict[str, Any]:
    """The result that stands in the same part as its call."""
    failed = part.get("state") == "output-error"
    content = part.get("errorText") if failed else part.get("output")
    return {"tool_call_id": part.get("toolCallId"), "name": name, "content": content, **_failed(failed)}


def _failed(failed: bool) -> dict[str, Any]:
    return {"status": "error"} if failed else {}
