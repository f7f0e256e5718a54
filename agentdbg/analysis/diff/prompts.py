"""
What is new in a prompt: most of it was in the prompt before, and differs only because an answer did.

`PromptReader` takes the prompts of one run in order and tells each one's instructions, the messages that were not in
an earlier prompt of the same conversation, and a digest of everything, so that two prompts can be told apart without
being kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from agentdbg.encoding import encode_json

__all__ = ["NewPart", "PromptReader", "digest_of", "without_ids"]

_CONVERSATIONS = 8
"""How many conversations of one run may go on side by side."""
_SYSTEM = frozenset({"system", "developer"})
_MODEL = frozenset({"assistant", "ai", "model"})
_TOOL = frozenset({"tool", "function"})
_ID_KEYS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "created", "created_at", "system_fingerprint"})
_DEEPEST_ID = 6


@dataclass(frozen=True)
class NewPart:
    """A prompt, without what earlier prompts said: `history` counts and names the rest."""

    system: Any
    appended: list[Any]
    rest: dict[str, Any]
    history: tuple[int, str]


@dataclass
class _Conversation:
    messages: list[Any] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)


class PromptReader:
    """Reads the prompts of one run in the order of its events."""

    def __init__(self) -> None:
        self._conversations: list[_Conversation] = []

    def read(self, prompt: Any, *, tools_are_events: bool) -> NewPart:
        """The parts of one prompt; `tools_are_events` where the results it repeats stand in events of their own."""
        system, messages, rest = _split(prompt)
        known, shared = self._find(messages)
        begin = shared
        if known is None:
            known = _Conversation()
            self._conversations.insert(0, known)
            del self._conversations[_CONVERSATIONS:]
            appended = messages
        else:
            self._conversations.remove(known)
            self._conversations.insert(0, known)
            if shared < len(known.messages):
                begin = _after(known.messages[-1], messages, shared)
            # The model's own words, and the results of its tools, are in the events before.
            appended = [message for message in messages[begin:] if not _is_echo(message, tools_are_events)]
        known.digests = known.digests[:shared]
        latest = known.digests[-1] if shared else b""
        for message in messages[shared:]:
            latest = blake2b(latest + _encoded(without_ids(message)), digest_size=8).digest()
            known.digests.append(latest)
        known.messages = [*known.messages[:shared], *messages[shared:]]
        return NewPart(system, [without_ids(message) for message in appended], rest, (len(messages), latest.hex()))

    def _find(self, messages: list[Any]) -> tuple[_Conversation | None, int]:
        """The conversation this goes on with, and how many messages they share at the beginning."""
        best, longest = None, 0
        for conversation in self._conversations:
            shared = _shared(conversation.messages, messages)
            if shared > longest:
                best, longest = conversation, shared
            if shared == len(conversation.messages):
                break
        return best, longest


def _split(prompt: Any) -> tuple[Any, list[Any], dict[str, Any]]:
    """The instructions, the messages and whatever else a prompt holds."""
    rest: dict[str, Any] = {}
    system: Any = None
    if isinstance(prompt, dict):
        key = next((key for key in ("messages", "input", "contents") if isinstance(prompt.get(key), list)), None)
        if key is not None:
            rest = {name: item for name, item in prompt.items() if name != key}
            system = rest.pop("system", rest.pop("instructions", None))
            prompt = prompt[key]
    messages = prompt if isinstance(prompt, list) else [] if prompt is None else [prompt]
    first = 0
    while first < len(messages) and _role(messages[first]) in _SYSTEM:
        first += 1
    if first:
        system = [*([] if system is None else [system]), *(_content(message) for message in messages[:first])]
        system = system[0] if len(system) == 1 else system
    return system, messages[first:], rest


def _role(message: Any) -> str:
    role = message.get("role") or message.get("type") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def _content(message: Any) -> Any:
    return message["content"] if set(message) == {"role", "content"} else message


def _shared(before: list[Any], after: list[Any]) -> int:
    """How many messages two lists share at the beginning."""
    count = 0
    for left, right in zip(before, after, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count


def _after(last: Any, messages: list[Any], shared: int) -> int:
    """Where the new messages begin when older ones were dropped: behind the one that was last before."""
    for place in range(len(messages) - 1, shared - 1, -1):
        if messages[place] == last:
            return place + 1
    return shared


def _is_echo(message: Any, tools_are_events: bool) -> bool:
    role = _role(message)
    if role in _MODEL or role == "function_call":
        return True
    if not tools_are_events:
        return False
    if role in _TOOL or role == "function_call_output":
        return True
    content = message.get("content") if isinstance(message, dict) else None
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(block, dict) and block.get("type") == "tool_result" for block in content)
    )


def without_ids(value: Any, depth: int = 0) -> Any:
    """A message or an answer without the ids its provider gave it: they are new every time and say nothing."""
    if isinstance(value, dict) and depth < _DEEPEST_ID:
        if len(value) == 2 and isinstance(value.get("content"), str) and "role" in value:
            return value  # most messages
        return {key: without_ids(item, depth + 1) for key, item in value.items() if key not in _ID_KEYS}
    if isinstance(value, list) and depth < _DEEPEST_ID:
        return [without_ids(item, depth + 1) for item in value]
    return value


def digest_of(value: Any) -> str:
    """A short name for a JSON value: equal values have equal ones."""
    return blake2b(_encoded(value), digest_size=10).hexdigest()


def _encoded(value: Any) -> bytes:
    try:
        return encode_json(value)
    except (TypeError, ValueError, OverflowError, RecursionError):  # no JSON: events given by hand
        return repr(value).encode("utf-8", "replace")
