"""
A conversation between a program and a model, as steps: each answer a model call, each tool result a tool call.

Understands OpenAI chat messages (`tool_calls`, role `tool`), the older `function_call`, and content blocks
(`tool_use`, `tool_result`). A message's own time, usage and model are kept where it has them. In a chat of several
agents every message is a step, called by its speaker.
"""

from __future__ import annotations

import re
from typing import Any

from agentdbg.interop.drafts import Step, message_step, model_call, tool_call, unanswered_call
from agentdbg.interop.group_chats import KNOWN_ROLES, is_spoken, roles_of_a_group
from agentdbg.interop.shapes import as_list, as_word
from agentdbg.interop.sources import moment_ms

__all__ = [
    "Conversation",
    "NoTranscript",
    "error_in_text",
    "is_message",
    "is_transcript",
    "plain_content",
    "steps_of",
    "text_of",
    "words_of",
]

_MODEL = frozenset({"assistant", "ai"})
_MOMENTS = ("timestamp", "created_at", "createdAt", "ts")
_ERROR_TEXT = re.compile(
    r"\s*(?:(?P<type>(?:[A-Za-z_][\w.]*)?(?:Error|Exception))\s*:\s*|Traceback \(most recent call last\))"
)


class NoTranscript(ValueError):
    """What was taken for a conversation holds something else."""


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and as_word(value.get("role")) in KNOWN_ROLES


def is_transcript(value: Any) -> bool:
    """Whether this is a list of messages."""
    if not isinstance(value, list) or not value:
        return False
    return all(is_message(item) for item in value[:3]) or (len(value) > 1 and all(map(is_spoken, value)))


def steps_of(messages: list[Any], *, model: Any = None, tools: Any = None) -> list[Step]:
    """The steps of a whole conversation; NoTranscript says which message is none."""
    group = roles_of_a_group(messages)
    conversation = Conversation(model=model, tools=tools, all_speak=group is not None)
    for number, message in enumerate(messages if group is None else group, 1):
        if not isinstance(message, dict):
            raise NoTranscript(f"message {number} is {_kind(message)}, not an object with a role")
        conversation.add(message)
    return conversation.close()


class Conversation:
    """Messages one after the other; `steps` is what they amount to so far. In a group of agents `all_speak`."""

    def __init__(self, *, model: Any = None, tools: Any = None, all_speak: bool = False) -> None:
        self.steps: list[Step] = []
        self._all_speak = all_speak
        self._model = model
        self._tools = tools
        self._messages: list[dict[str, Any]] = []
        self._asked: dict[str, tuple[Any, Any, str]] = {}
        self._resolved: set[str] = set()
        self._unheard: list[dict[str, Any]] = []
        """What was said since the last answer."""
        self._latest = ""

    def add(self, message: dict[str, Any], **more: Any) -> None:
        """The next message; `more` is said of the step it makes (times, usage)."""
        role = as_word(message.get("role"))
        if role in _MODEL:
            self._answer(message, more)
        elif role in ("tool", "function"):
            self._result(message, message.get("content"), more)
        elif isinstance(message.get("content"), list):
            for block in message["content"]:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    self._result(block, block.get("content"), {"at_ms": _moment(message), **more})
        self.remember(message)
        if self._all_speak:
            self._tell_unheard()

    def close(self) -> list[Step]:
        """All steps; what was said after the last answer, which no prompt holds, and calls that got no result, too."""
        self._tell_unheard()
        for call_id, (name, args, parent) in self._asked.items():
            if call_id not in self._resolved:
                key = f"call {call_id}"
                self.steps.append(unanswered_call(name, args, call=key, parent=parent, meta={"source_id": call_id}))
        return self.steps

    def _tell_unheard(self) -> None:
        for message in self._unheard:
            place = {"at_ms": _moment(message), "meta": {"speaker": message["name"]} if message.get("name") else {}}
            role = as_word(message.get("role")) or "user"
            said = {key: message[key] for key in ("name",) if message.get(key)}
            self._append(message_step(role, message.get("content"), said=said, **place))
        self._unheard = []

    def _append(self, step: Step) -> None:
        """The next step; among several who speak it is called by the speaker."""
        if self._all_speak:
            step.name = step.meta.get("speaker") or step.name
        self.steps.append(step)

    def remember(self, message: dict[str, Any]) -> None:
        """A message that later prompts hold."""
        self._messages.append(message)
        role = as_word(message.get("role"))
        if role in _MODEL:
            self._unheard = []
        elif role not in ("tool", "function") and not _is_result(message):
            self._unheard.append(message)

    def prompt(self) -> list[Any]:
        """All messages so far."""
        return list(self._messages)

    def _answer(self, message: dict[str, Any], more: dict[str, Any]) -> None:
        self._latest = f"answer {len(self._messages)}"
        given: dict[str, Any] = {
            "usage": message.get("usage"),
            "stop_reason": message.get("finish_reason") or message.get("stop_reason"),
            "at_ms": _moment(message),
            "cost_usd": message.get("cost_usd", message.get("cost")),
            **more,
        }
        if as_word(message.get("name")):
            given["meta"] = {"speaker": message["name"]}
        model = message.get("model") or self._model
        self._append(model_call(model, self.prompt(), message, tools=self._tools, key=self._latest, **given))
        for call_id, name, args in calls_in(message):
            self._asked[call_id] = (name, args, self._latest)

    def _result(self, message: dict[str, Any], content: Any, more: dict[str, Any]) -> None:
        ids = message.get("tool_call_ids") or [message.get("tool_call_id") or message.get("tool_use_id")]
        call_id = str(ids[0]) if isinstance(ids, list) and ids else ""
        name, args, parent = self._asked.get(call_id) or self._asked.get("function_call") or (None, None, self._latest)
        self._resolved |= {str(each) for each in ids} if isinstance(ids, list) else set()
        if call_id not in self._asked:
            self._resolved.add("function_call")
        given: dict[str, Any] = {"at_ms": _moment(message), **more}
        error = _error_of(message, content)
        self.steps.append(
            tool_call(
                message.get("name") or message.get("function") or name,
                args,
                None if error is not None else plain_content(content),
                error=error,
                parent=parent or None,
                **given,
            )
        )


def _moment(message: dict[str, Any]) -> float | None:
    return moment_ms(next((message[name] for name in _MOMENTS if message.get(name)), None))


def _is_result(message: dict[str, Any]) -> bool:
    """Whether a user's message holds nothing but results of tools."""
    content = message.get("content")
    if not isinstance(content, list) or not content:
        return False
    return all(isinstance(block, dict) and block.get("type") == "tool_result" for block in content)


def calls_in(message: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """The tools an answer asks for: id, name, arguments."""
    found: list[tuple[str, Any, Any]] = []
    for call in as_list(message.get("tool_calls")):
        if isinstance(call, dict):
            function = call.get("function")
            inner = function if isinstance(function, dict) else {"name": function, **call} if function else call
            found.append((str(call.get("id", "")), inner.get("name"), inner.get("arguments", inner.get("args"))))
    if isinstance(message.get("function_call"), dict):
        call = message["function_call"]
        found.append(("function_call", call.get("name"), call.get("arguments")))
    if isinstance(message.get("content"), list):
        found += [
            (str(block.get("id", "")), block.get("name"), block.get("input"))
            for block in message["content"]
            if isinstance(block, dict) and block.get("type") == "tool_use"
        ]
    return found


def plain_content(content: Any) -> Any:
    """A result without its wrapping: a list of one text is that text."""
    if isinstance(content, list) and content and all(_is_text(part) for part in content):
        return "\n".join(part["text"] for part in content)
    return content


def text_of(content: Any) -> str:
    """The words of a message's content."""
    plain = plain_content(content)
    return plain if isinstance(plain, str) else ""


def words_of(content: Any) -> str:
    """The words of a message's content, also where images or calls stand between them."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return "\n".join(part["text"] for part in content if _is_text(part))


def error_in_text(content: Any) -> dict[str, Any] | None:
    """
    The failure a tool's text reports, where the transcript has no other way to say so.

    Only a text that begins like an exception counts: `Error: …`, `KeyError: …`, a traceback.
    """
    text = text_of(content)
    found = _ERROR_TEXT.match(text[:200])
    if found is None:
        return None
    if found["type"] is None:
        last = text.strip().rpartition("\n")[2]
        kind, _, message = last.partition(":")
        named = kind.strip() if kind.strip().replace(".", "").replace("_", "").isalnum() else "Error"
        return {"error_type": named, "message": message.strip() or last, "stack": text}
    return {"error_type": found["type"], "message": text[found.end() :].strip() or text.strip()}


def _error_of(message: dict[str, Any], content: Any) -> dict[str, Any] | None:
    given = message.get("error")
    if isinstance(given, dict):
        return {"error_type": given.get("type") or "Error", "message": given.get("message") or text_of(content)}
    if isinstance(given, str) and given:
        return {"error_type": "Error", "message": given}
    if message.get("is_error") is True or message.get("status") == "error":
        return error_in_text(content) or {"error_type": "Error", "message": text_of(content)}
    return error_in_text(content)


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "output_text") and isinstance(part.get("text"), str)


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", type(None): "null"}.get(type(value), f"a {type(value).__name__}")
