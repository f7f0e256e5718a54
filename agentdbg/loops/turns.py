"""
Notice that a person spoke: a prompt with a user message that was not there before.

Repeating a call because the user asked again is not a loop. Many agents, however, hand a tool's result back as a "user"
message, or put the same instruction into every prompt; neither is a person speaking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events import TRUNCATED
from agentdbg.loops.questions import ask_differently

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["UserTurns", "is_cut"]

_USER_ROLES = frozenset({"user", "human"})
_MODEL_ROLES = frozenset({"assistant", "model", "ai"})
_RESULT_PARTS = frozenset({"tool_result", "function_call_output", "function_response", "tool_response"})
_RESULT_OPENINGS = ("observation", "tool result", "tool output", "function result", "result:", "output:", "<tool_r")
_LOOK_BACK = 40
_REMEMBERED = 64


class UserTurns:
    """Remembers the user messages of late, so as to know a new one."""

    __slots__ = ("_call_then", "_question", "_seen")

    def __init__(self) -> None:
        self._seen: dict[int, None] = {}
        self._question = ""
        self._call_then: Step | None = None

    def begins_turn(self, prompt: Any, last_call: Step | None) -> bool:
        """Whether `prompt` ends in a user message not seen before that is not just the last tool's result."""
        if type(prompt) is str:
            return self._asks_else(prompt, last_call)
        if type(prompt) is not list and type(prompt) is not dict:
            return False
        text = _newest_user_text(prompt)
        if text is None:
            given = prompt.values() if type(prompt) is dict else prompt
            return self._asks_else("\n".join(value for value in given if type(value) is str), last_call)
        if not text:
            return False
        # Digits are left out: "step 4 of 10" is the harness counting, not a person speaking.
        start = text[:2000]
        key = hash(start.encode(errors="replace").translate(None, b"0123456789"))
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return not _is_result(start, b"" if last_call is None else last_call.got.text)

    def _asks_else(self, prompt: str, last_call: Step | None) -> bool:
        """The same for a prompt that is one text: after a tool call what is new in it may be that call's result."""
        before, self._question = self._question, prompt
        was_called = last_call is not self._call_then
        self._call_then = last_call
        return prompt != before and not was_called and ask_differently(before, prompt)


def is_cut(prompt: Any) -> bool:
    """Whether the end of a prompt was cut off, so that a new user message cannot be seen."""
    if type(prompt) is list and prompt:
        prompt = prompt[-1]
    return type(prompt) is str and prompt.endswith(TRUNCATED)


def _newest_user_text(prompt: Any) -> str | None:
    """What the user said last; empty when the model or a tool spoke after that, None where there are no messages."""
    messages = prompt
    if isinstance(prompt, dict):
        messages = prompt.get("messages") or prompt.get("input") or prompt.get("contents")
    if not isinstance(messages, list) or (messages and type(messages[0]) is str):
        return None
    for message in messages[: -_LOOK_BACK - 1 : -1]:
        if not isinstance(message, dict):
            continue
        role = message.get("role") or message.get("type")
        if not isinstance(role, str):
            continue
        if role in _MODEL_ROLES:
            return ""
        if role in _USER_ROLES:
            text = _text_of(message.get("content", message.get("parts")))
            if text:
                return text
    return ""


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") not in _RESULT_PARTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
    return "\n".join(texts)


def _is_result(text: str, last_outcome: bytes) -> bool:
    if text[:24].lstrip().lower().startswith(_RESULT_OPENINGS):
        return True
    said = last_outcome.strip(b'"').replace(b"\\n", b"\n")[:80].strip()
    return len(said) >= 3 and said in text.encode(errors="replace")
