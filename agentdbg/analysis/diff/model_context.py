"""
What a model was given: instructions, tools and parameters, of which nearly every call has the same, and what is new.

Most of a prompt was in the prompt before, and differs only because an answer did. `ContextReader` takes the model calls
of one run in order and tells each one's instructions, the messages that were not in an earlier prompt of the same
conversation, and a fingerprint of everything, so that two prompts can be told apart without being kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentdbg.analysis.diff.sequences import same_but_for_cuts
from agentdbg.analysis.diff.steps import NOT_CONTENT, encoded, fingerprint
from agentdbg.events import TRUNCATED
from agentdbg.events.markers import is_gap

__all__ = ["ContextReader", "History", "ModelCall"]

_OTHER_PARTS = frozenset({"prompt", "response", "status", "error", "stop_reason", "tools"}) | NOT_CONTENT
"""What is no parameter; tools stand by themselves."""
_CONVERSATIONS = 8
"""How many conversations of one run may go on side by side."""
_SYSTEM = frozenset({"system", "developer"})
_MODEL = frozenset({"assistant", "ai", "model", "function_call"})
_MODEL_AND_TOOL = _MODEL | {"tool", "function", "function_call_output"}
_ID_KEYS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "created", "created_at", "system_fingerprint"})
_DEEPEST_ID = 6
_END_OF_TEXT = 80

History = tuple[int, int]
"""How many messages a prompt holds, and their fingerprint."""


class ModelCall(NamedTuple):
    """One model call: what was given beside the messages, the messages that are new, all of them, and the answer."""

    context: dict[str, Any]
    appended: list[Any]
    history: History
    response: Any


@dataclass
class _Conversation:
    """The messages of the latest prompt, and a fingerprint of each."""

    messages: list[Any] = field(default_factory=list)
    prints: list[int] = field(default_factory=list)

    def overlap(self, messages: list[Any]) -> tuple[int, int]:
        """How many messages another prompt shares at the beginning, and where its new ones begin."""
        mine = self.messages
        if messages[: len(mine)] == mine:
            return len(mine), len(mine)
        shared = 0
        while shared < len(messages) and mine[shared] == messages[shared]:
            shared += 1
        # Older messages were dropped or shortened: what is new stands behind the one that was last before.
        newest_first = messages[::-1]
        begin = len(messages) - newest_first.index(mine[-1]) if mine[-1] in newest_first else 0
        return shared, begin if begin > shared + bool(shared) else shared


class ContextReader:
    """Reads the model calls of one run in the order of its events."""

    def __init__(self) -> None:
        self._conversations: list[_Conversation] = []
        self._has_cuts = False
        """Whether a prompt was stored in part, so that messages are compared by what is kept of them in any case."""
        self._instructions: list[str] = []
        """The latest instructions that were stored whole."""

    def read(self, payload: dict[str, Any], *, tools_are_events: bool) -> ModelCall:
        """The parts of one call; `tools_are_events` where the results it repeats stand in events of their own."""
        said, system, rest = _opened(payload.get("prompt"))
        leading, known, new = self._begin(said)
        # The model's own words, and the results of its tools, are in the events before.
        repeated = frozenset[str]() if not known.prints else _MODEL_AND_TOOL if tools_are_events else _MODEL
        appended = []
        for message in new:
            plain = _without_ids(message)
            known.prints.append(fingerprint(plain))
            if not _is_repeated(message, repeated):
                appended.append(plain)
        if system is None:
            system = leading[0] if len(leading) == 1 else leading or None
        elif leading:
            system = [system, *leading]
        parameters = {key: item for key, item in payload.items() if key not in _OTHER_PARTS}
        parameters.update((key, item) for key, item in rest.items() if key != "tools")
        tools = payload.get("tools", rest.get("tools"))
        history = (len(known.prints), hash(tuple(known.prints)))
        context = {"system": system, "tools": tools, "parameters": parameters}
        return ModelCall(context, appended, history, _without_ids(payload.get("response")))

    def _begin(self, said: list[Any]) -> tuple[list[Any], _Conversation, list[Any]]:
        """The instructions that a prompt begins with, its conversation, and the messages new in that."""
        if not self._has_cuts and TRUNCATED.encode() in encoded(said):
            self._has_cuts = True
            for conversation in self._conversations:
                conversation.messages = self._compared(conversation.messages)
        said = [message for message in said if not is_gap(message)]
        leading = []
        for message in said:
            if _role(message) not in _SYSTEM:
                break
            leading.append(self._whole(_content(message)))
        new = said[len(leading) :]
        messages = self._compared(new)
        known, shared, begin = self._find(messages)
        slid = messages[shared:begin]
        # Most often these are the last of those known: others before them were dropped.
        is_known = slid and known.messages[-len(slid) :] == slid
        prints = known.prints[-len(slid) :] if is_known else [fingerprint(_without_ids(one)) for one in slid]
        known.messages, known.prints = messages, known.prints[:shared] + prints
        return leading, known, new[begin:]

    def _whole(self, instructions: Any) -> Any:
        """The instructions as an earlier prompt has them whole, where this one has only a part of the same."""
        if not isinstance(instructions, str):
            return instructions
        if TRUNCATED in instructions:
            return next((known for known in self._instructions if same_but_for_cuts(instructions, known)), instructions)
        if instructions not in self._instructions:
            self._instructions = [instructions, *self._instructions[: _CONVERSATIONS - 1]]
        return instructions

    def _compared(self, messages: list[Any]) -> list[Any]:
        """The messages as they are compared: a list of its own, which may grow."""
        return [_outline(message) for message in messages] if self._has_cuts else messages[:]

    def _find(self, messages: list[Any]) -> tuple[_Conversation, int, int]:
        """The conversation this goes on with (or a new one), what they share, and where the new messages begin."""
        best = None
        shared = begin = 0
        for conversation in self._conversations:
            mine = conversation.messages
            found = conversation.overlap(messages) if mine else (0, 0)
            if found[1] > begin:
                best = conversation
                shared, begin = found
                # One message alone, a mere "yes", may be the last of another conversation by chance; two are not.
                if shared == len(mine) or messages[max(begin - 2, 0) : begin] == mine[-2:]:
                    break
        if best is None:
            best = _Conversation()
            self._conversations = [best, *self._conversations[: _CONVERSATIONS - 1]]
        elif best is not self._conversations[0]:
            self._conversations = [best, *(other for other in self._conversations if other is not best)]
        return best, shared, begin


def _outline(value: Any) -> Any:
    """What of a message is stored however long the prompt is: the ends of its texts and lists."""
    if isinstance(value, str):
        return value if len(value) <= 2 * _END_OF_TEXT else value[:_END_OF_TEXT] + value[-_END_OF_TEXT:]
    if isinstance(value, dict):
        return {key: _outline(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_outline(item) for item in (value if len(value) < 3 else (value[0], value[-1]))]
    return value


def _opened(prompt: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    """The messages, the instructions beside them, and whatever else a prompt holds that is more than a list."""
    rest: dict[str, Any] = {}
    system: Any = None
    if isinstance(prompt, dict):
        key = next((key for key in ("messages", "input", "contents") if isinstance(prompt.get(key), list)), None)
        if key is not None:
            rest = {name: item for name, item in prompt.items() if name != key}
            system = rest.pop("system", rest.pop("instructions", None))
            prompt = prompt[key]
    return prompt if isinstance(prompt, list) else [] if prompt is None else [prompt], system, rest


def _role(message: Any) -> str:
    if not isinstance(message, dict):
        return ""
    role = message.get("role") or message.get("type")
    return role if isinstance(role, str) else ""


def _content(message: dict[str, Any]) -> Any:
    is_bare = len(message) == 2 and "role" in message and "content" in message
    return message["content"] if is_bare else message


def _is_repeated(message: Any, repeated: frozenset[str]) -> bool:
    """Whether a message only repeats what the model or a tool said."""
    if not isinstance(message, dict):
        return False
    role = message.get("role") or message.get("type")
    if isinstance(role, str) and role in repeated:
        return True
    content = message.get("content")
    return isinstance(content, list) and repeated is _MODEL_AND_TOOL and _are_results(content)


def _are_results(blocks: list[Any]) -> bool:
    """Whether a user's message is nothing but what tools gave back."""
    return bool(blocks) and all(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def _without_ids(value: Any, depth: int = 0) -> Any:
    """A message or an answer without the ids its provider gave it: they are new every time and say nothing."""
    if depth == _DEEPEST_ID:
        return value
    if isinstance(value, dict):
        return {key: _without_ids(item, depth + 1) for key, item in value.items() if key not in _ID_KEYS}
    return [_without_ids(item, depth + 1) for item in value] if isinstance(value, list) else value
