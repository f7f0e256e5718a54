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
    """The messages of the latest prompt, and a digest of each."""

    messages: list[Any] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)

    def overlap(self, messages: list[Any]) -> tuple[int, int]:
        """How many messages another prompt shares at the beginning, and where its new ones begin."""
        length = len(self.messages)
        if messages[:length] == self.messages:
            return length, length
        shared = 0
        while shared < len(messages) and self.messages[shared] == messages[shared]:
            shared += 1
        # Older messages were dropped or shortened: what is new stands behind the one that was last before.
        last = self.messages[-1]
        for place in range(len(messages) - 1, shared - 1, -1):
            if messages[place] == last:
                return shared, place + 1
        return shared, shared


class PromptReader:
    """Reads the prompts of one run in the order of its events."""

    def __init__(self) -> None:
        self._conversations: list[_Conversation] = []

    def read(self, prompt: Any, *, tools_are_events: bool) -> NewPart:
        """The parts of one prompt; `tools_are_events` where the results it repeats stand in events of their own."""
        system, messages, rest = _split(prompt)
        known, shared, begin = self._find(messages)
        digests = known.digests[:shared]
        slid = len(known.messages) - begin
        if messages[shared:begin] == known.messages[shared + slid : begin + slid]:
            digests += known.digests[shared + slid : begin + slid]
        else:
            digests += [_digest(without_ids(message)) for message in messages[shared:begin]]
        appended = []
        for message in messages[begin:]:
            plain = without_ids(message)
            digests.append(_digest(plain))
            # The model's own words, and the results of its tools, are in the events before.
            if not (known.messages and _is_echo(message, tools_are_events)):
                appended.append(plain)
        known.messages, known.digests = messages, digests
        return NewPart(system, appended, rest, (len(messages), _digest(b"".join(digests)).hex()))

    def _find(self, messages: list[Any]) -> tuple[_Conversation, int, int]:
        """The conversation this goes on with (or a new one), what they share, and where the new messages begin."""
        best, overlap = _Conversation(), (0, 0)
        for conversation in self._conversations:
            found = conversation.overlap(messages)
            if found[1] > overlap[1]:
                best, overlap = conversation, found
            if found[1] and found[0] == len(conversation.messages):
                break
        self._conversations = [best, *(other for other in self._conversations if other is not best)][:_CONVERSATIONS]
        return best, *overlap


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
    # Most values are texts, which are not worth a call of their own.
    if isinstance(value, dict) and depth < _DEEPEST_ID:
        return {
            key: item if type(item) is str else without_ids(item, depth + 1)
            for key, item in value.items()
            if key not in _ID_KEYS
        }
    if isinstance(value, list) and depth < _DEEPEST_ID:
        return [item if type(item) is str else without_ids(item, depth + 1) for item in value]
    return value


def digest_of(value: Any) -> str:
    """A short name for a JSON value: equal values have equal ones."""
    return _digest(value).hex()


def _digest(value: Any) -> bytes:
    if not isinstance(value, bytes):
        try:
            value = encode_json(value)
        except (TypeError, ValueError, OverflowError, RecursionError):  # no JSON: events given by hand
            value = repr(value).encode("utf-8", "replace")
    return blake2b(value, digest_size=10).digest()
