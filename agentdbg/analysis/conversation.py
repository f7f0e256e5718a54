"""
What was said to a model and what it said, whatever shape the provider gives its messages.

Understands OpenAI chat messages, Anthropic content blocks, Responses items, Gemini parts, LangChain messages and plain
text. What it does not understand it passes over; it never raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_text
from agentdbg.events.markers import is_gap, not_recorded

__all__ = ["Call", "Turn", "answer", "last_text", "text_of", "turns"]

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "developer": "system"}
_TEXT_KEYS = ("text", "output_text", "content", "answer", "output", "completion", "response", "result")
_CALL_TYPES = frozenset({"tool_use", "function_call", "server_tool_use", "mcp_call", "custom_tool_call", "tool_call"})
_RESULT_TYPES = frozenset({"tool_result", "function_call_output", "custom_tool_call_output", "tool_response"})
_MAX_DEPTH = 8
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
"""What some models say to themselves before they answer, as a part of the text."""


class Call(NamedTuple):
    """A tool the model asked for."""

    name: str
    args: Any = None


@dataclass(slots=True)
class Turn:
    """One message: who spoke, the words, and the tools asked for; or how much of the prompt was not stored."""

    role: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    missing: str = ""
    """`31 messages, 84 kB, were not recorded`: this is no message, and has neither role nor text."""

    def say(self, text: Any) -> None:
        if isinstance(text, str) and text:
            self.text = f"{self.text}\n{text}" if self.text else text


def turns(prompt: Any, last: int | None = None, *, on_tape: bool = False) -> list[Turn]:
    """
    The messages of a prompt, in order; only the `last` few when that is all the caller needs.

    A turn without role and text stands for messages that are not in the log; in an old run it may be the last one.
    `on_tape` says that the tape has them.
    """
    messages = _messages(prompt)
    if last is not None:
        messages = messages[-last:]
    return [_turn(message, on_tape=on_tape) for message in messages]


def answer(response: Any) -> Turn:
    """What the model answered, whatever the response looks like."""
    turn = Turn("assistant")
    _read_answer(parse_embedded(response) if _looks_like_message(response) else response, turn, 0)
    turn.text = _THOUGHT.sub("", turn.text, count=1)
    return turn


def text_of(message: Any) -> str:
    """The words of one message."""
    # A list of nothing but a list would be taken for a batch of prompts.
    return turns([message, None] if isinstance(message, list) else [message])[0].text


def last_text(messages: Any) -> str:
    """The words of the last message of a prompt, empty where there is none."""
    return " ".join(turn.text for turn in turns(messages, last=1))


def _looks_like_message(response: Any) -> bool:
    # An answer that is itself JSON stays the answer; only a stored message or response object is opened.
    return isinstance(response, str) and any(key in response[:200] for key in ('"role"', '"choices"', '"tool_calls"'))


def _messages(prompt: Any) -> list[Any]:
    for _ in range(3):
        if isinstance(prompt, dict):
            inner = next((prompt[key] for key in ("messages", "input", "contents", "prompt") if prompt.get(key)), None)
            if inner is None:
                return [prompt]
            prompt = inner
        elif isinstance(prompt, list) and prompt and all(isinstance(item, list) for item in prompt):
            prompt = prompt[-1]  # LangChain hands over batches
        elif isinstance(prompt, list) and any(_is_bare_block(item) for item in prompt):
            return [{"role": "user", "content": prompt}] if not any(_is_item(item) for item in prompt) else prompt
        else:
            break
    if isinstance(prompt, list):
        return prompt
    return [] if prompt is None else [prompt]


def _is_bare_block(item: Any) -> bool:
    return isinstance(item, dict) and "role" not in item and item.get("type") in ("text", "image", "input_text")


def _is_item(item: Any) -> bool:
    return isinstance(item, dict) and ("role" in item or _type_of(item) in _CALL_TYPES | _RESULT_TYPES)


def _type_of(item: dict[str, Any]) -> str:
    kind = item.get("type")
    return kind if isinstance(kind, str) else ""


def _turn(message: Any, *, on_tape: bool = False) -> Turn:
    if is_gap(message):
        return Turn(missing=not_recorded(message, on_tape=on_tape))
    if isinstance(message, str):
        return Turn(role="user", text=message)
    if isinstance(message, list) and len(message) == 2 and all(isinstance(item, str) for item in message):
        return Turn(role=_ROLES.get(message[0]) or message[0], text=message[1])
    if not isinstance(message, dict):
        return Turn(role="user", text="" if message is None else as_text(message)[:2000])
    given = message.get("role") or message.get("type")
    role = given if isinstance(given, str) else ""
    turn = Turn(role=_ROLES.get(role) or role)
    if role in _CALL_TYPES:
        turn.role = "assistant"
    elif role in _RESULT_TYPES or (not message.get("role") and "tool_call_id" in message):
        turn.role = "tool"
    _read_answer(message, turn, 0)
    return turn


def _read_answer(item: Any, turn: Turn, depth: int) -> None:
    """Collect words and calls from one part of a message, wherever a provider nests them."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(item, str):
        turn.say(item)
    elif isinstance(item, list):
        for block in item:
            _read_answer(block, turn, depth + 1)
    elif isinstance(item, dict):
        _read_dict(item, turn, depth)
    elif item is not None and depth == 0:
        turn.say(as_text(item)[:2000])


def _read_dict(item: dict[str, Any], turn: Turn, depth: int) -> None:
    kind = _type_of(item)
    if kind in _CALL_TYPES and isinstance(item.get("name"), str):
        _add_call(turn, item["name"], item.get("input", item.get("arguments", item.get("args"))))
    elif kind in _RESULT_TYPES:
        turn.role = "tool"
        _read_answer(item.get("content", item.get("output")), turn, depth + 1)
    elif kind in ("reasoning", "thinking", "redacted_thinking"):
        pass  # what the model said to itself is in the open event, not in its answer
    elif kind in ("image", "image_url", "input_image", "input_audio", "document", "file", "input_file"):
        turn.say(f"[{kind.removeprefix('input_').removesuffix('_url')}]")
    elif not _read_envelope(item, turn, depth):
        _read_message(item, turn, depth)


def _read_envelope(item: dict[str, Any], turn: Turn, depth: int) -> bool:
    """A whole response object: open the first choice of it."""
    for key in ("choices", "candidates", "generations"):
        choices = item.get(key)
        if isinstance(choices, list) and choices:
            _read_answer(choices[0], turn, depth + 1)
            return True
    for key in ("message", "output", "delta"):
        inner = item.get(key)
        if isinstance(inner, (dict, list)) and inner:
            _read_answer(inner, turn, depth + 1)
            return True
    return False


def _read_message(item: dict[str, Any], turn: Turn, depth: int) -> None:
    content = item.get("parts", item.get("content"))
    if content is not None and not (isinstance(content, str) and not content):
        _read_answer(content, turn, depth + 1)
    elif not turn.text:
        turn.say(next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str) and item[key]), None))
    turn.say(item.get("refusal"))
    for key in ("tool_calls", "function_call", "functionCall"):
        _read_calls(item.get(key), turn)
    if "functionResponse" in item or "function_response" in item:
        turn.role = "tool"


def _read_calls(calls: Any, turn: Turn) -> None:
    """One call, or a list of them."""
    for call in [calls] if isinstance(calls, dict) else calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            inner = function if isinstance(function, dict) else call
            name = inner.get("name")
            if isinstance(name, str):
                given = "arguments" if "arguments" in inner else "args" if "args" in inner else "input"
                _add_call(turn, name, inner.get(given))


def _add_call(turn: Turn, name: str, args: Any) -> None:
    call = Call(name, parse_embedded(args))
    # LangChain repeats a block's call in `tool_calls`; the same call said twice is one call.
    if call not in turn.calls:
        turn.calls.append(call)
