"""
What a model was given: instructions, tools and parameters, of which nearly every call has the same, and what is new.

Most of a prompt was in the prompt before, and differs only because an answer did. `PromptReader` takes the prompts of
one run in order and tells each one's instructions, the messages that were not in an earlier prompt of the same
conversation, and a fingerprint of everything, so that two prompts can be told apart without being kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.sequences import same_but_for_cuts
from agentdbg.analysis.diff.steps import NOT_CONTENT, encoded, fingerprint
from agentdbg.events import TRUNCATED
from agentdbg.events.markers import is_gap

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.analysis.diff.read_side import Ignored

__all__ = ["GivenReader", "History", "NewPart", "PromptReader", "without_ids"]

_OTHER_PARTS = frozenset({"prompt", "response", "status", "error", "stop_reason", "tools"}) | NOT_CONTENT
"""What is no parameter; tools stand by themselves."""


class GivenReader:
    """Reads the model calls of one run in the order of its events; equal ones share one table."""

    def __init__(self, ignored: Ignored | None) -> None:
        self._ignored = ignored
        self._keys: tuple[str, ...] = ()
        self._names: list[str] = []
        self._pick: Callable[[dict[str, Any]], Any] = _nothing
        self._read: tuple[Any, ...] = ()
        self._context: dict[str, Any] = {}
        self._key = fingerprint(self._context)

    def read(self, payload: dict[str, Any], system: Any, rest: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """`system`, `tools` and `parameters`, and their fingerprint; `rest` is what a prompt holds beside messages."""
        keys = tuple(payload)
        if keys != self._keys:
            self._keys, self._names, self._read = keys, [key for key in keys if key not in _OTHER_PARTS], ()
            self._pick = itemgetter(*self._names) if self._names else _nothing
        found = (self._pick(payload), payload.get("tools"), rest, system)
        if found != self._read:
            self._read = found
            parameters = {key: payload[key] for key in self._names}
            parameters.update((key, item) for key, item in rest.items() if key != "tools")
            tools = payload.get("tools", rest.get("tools"))
            context = {"system": system, "tools": tools, "parameters": parameters}
            if self._ignored is not None:
                context = self._ignored.strip(context)
            if context != self._context:
                self._context, self._key = context, fingerprint(context)
        return self._context, self._key


def _nothing(_payload: dict[str, Any]) -> None:
    return None


_CONVERSATIONS = 8
"""How many conversations of one run may go on side by side."""
_SYSTEM = frozenset({"system", "developer"})
_MODEL = frozenset({"assistant", "ai", "model", "function_call"})
_MODEL_AND_TOOL = _MODEL | {"tool", "function", "function_call_output"}
_NO_ROLES: frozenset[str] = frozenset()
_NOTHING: dict[str, Any] = {}
_ID_KEYS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "created", "created_at", "system_fingerprint"})
_DEEPEST_ID = 6
_END_OF_TEXT = 80
_LEAVES = frozenset({str, int, float, bool, type(None)})


History = tuple[int, int]
"""How many messages a prompt holds, and their fingerprint."""


NewPart = tuple[Any, list[Any], dict[str, Any], History, Any, list[int]]
"""
A prompt, without what earlier prompts said, and the answer to it, without its ids.

In this order: the instructions, the messages that are new, what else the prompt holds, the history that stands for all
messages of it, the answer, and the fingerprints of the new messages and, last, of the answer.
"""


@dataclass
class _Conversation:
    """The messages of the latest prompt, and a fingerprint of each."""

    messages: list[Any] = field(default_factory=list)
    prints: list[int] = field(default_factory=list)

    def overlap(self, messages: list[Any], least: int) -> tuple[int, int]:
        """
        How many messages another prompt shares at the beginning, and where its new ones begin.

        Where another conversation has them begin at `least`, nobody asks whether they begin before that.
        """
        mine = self.messages
        shared = 0
        if messages[0] == mine[0]:
            if messages[: len(mine)] == mine:
                return len(mine), len(mine)
            while shared < len(messages) and mine[shared] == messages[shared]:
                shared += 1
        # Older messages were dropped or shortened: what is new stands behind the one that was last before.
        newest_first = messages[least:][::-1]
        begin = len(messages) - newest_first.index(mine[-1]) if mine[-1] in newest_first else 0
        return shared, begin if begin > shared + bool(shared) else shared


class PromptReader:
    """Reads the prompts of one run in the order of its events."""

    def __init__(self) -> None:
        self._conversations: list[_Conversation] = []
        self._has_cuts = False
        """Whether a prompt was stored in part, so that messages are compared by what is kept of them in any case."""
        self._instructions: list[str] = []
        """The latest instructions that were stored whole."""
        self._said: list[Any] = []
        self._leading: list[Any] = []
        self._system: Any = None
        self._answer: Any = None
        self._plain_answer: Any = None
        self._answer_print = 0

    def read(self, prompt: Any, response: Any, tools_are_events: bool) -> NewPart:
        """The parts of one call; `tools_are_events` where the results it repeats stand in events of their own."""
        said, given, rest = (prompt, None, _NOTHING) if type(prompt) is list else _opened(prompt)
        before = len(self._said)
        new = said[before:]
        # It goes on with the one before, as nearly always.
        if before and said[:before] == self._said and not any(map(is_gap, new)):
            known = self._conversations[0]
            known.messages += self._compared(new)
            self._said = said
        else:
            known, new = self._begin(said)
        prints = known.prints
        # The model's own words, and the results of its tools, are in the events before.
        echoes = _NO_ROLES if not prints else _MODEL_AND_TOOL if tools_are_events else _MODEL
        appended, appended_prints = [], []
        for message in new:
            # The latest answer is most often the first new message.
            if message == self._answer:
                plain, print_of_it = self._plain_answer, self._answer_print
            else:
                plain = without_ids(message)
                print_of_it = fingerprint(plain)
            prints.append(print_of_it)
            if not echoes or not _is_echo(message, echoes):
                appended.append(plain)
                appended_prints.append(print_of_it)
        self._answer, self._plain_answer = response, without_ids(response)
        self._answer_print = fingerprint(self._plain_answer)
        appended_prints.append(self._answer_print)
        system = self._system if given is None else [given, *self._leading] if self._leading else given
        history = (len(prints), hash(tuple(prints)))
        return system, appended, rest, history, self._plain_answer, appended_prints

    def _begin(self, said: list[Any]) -> tuple[_Conversation, list[Any]]:
        """Read what does not go on with the prompt before: its conversation, and the messages new in it."""
        if not self._has_cuts and TRUNCATED.encode() in encoded(said):
            self._has_cuts = True
            for conversation in self._conversations:
                conversation.messages = self._compared(conversation.messages)
        whole, said = said, [message for message in said if not is_gap(message)] if self._has_cuts else said
        leading = []
        for message in said:
            if _role(message) not in _SYSTEM:
                break
            leading.append(self._whole(_content(message)))
        new = said[len(leading) :]
        messages = self._compared(new)
        known, shared, begin = self._find(messages)
        prints = known.prints[:shared]
        if shared < begin:
            prints += _prints_of_slid(messages[shared:begin], known)
        known.messages, known.prints = messages, prints
        self._leading, self._system = leading, leading[0] if len(leading) == 1 else leading or None
        self._said = whole if messages else []  # or more instructions may follow
        return known, new[begin:]

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
        rest = messages
        for conversation in self._conversations:
            mine = conversation.messages
            # Most have nothing to do with it, which is quickly seen.
            if not mine or (mine[-1] not in rest and mine[begin : begin + 1] != rest[:1]):
                continue
            found = conversation.overlap(messages, begin)
            if found[1] > begin:
                best = conversation
                shared, begin = found
                rest = messages[begin:]
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


def _prints_of_slid(messages: list[Any], known: _Conversation) -> list[int]:
    """The fingerprints of messages that are, most often, the last of those known: others before them were dropped."""
    count = min(len(messages), len(known.messages))
    begin = len(messages) - count
    if messages[begin:] != known.messages[-count:]:
        return [fingerprint(without_ids(message)) for message in messages]
    return [fingerprint(without_ids(message)) for message in messages[:begin]] + known.prints[-count:]


def _opened(prompt: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    """The messages, the instructions beside them, and whatever else a prompt holds that is more than a list."""
    rest = _NOTHING
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


def _is_echo(message: Any, echoes: frozenset[str]) -> bool:
    """Whether a message only repeats what the model or a tool said."""
    if not isinstance(message, dict):
        return False
    role = message.get("role") or message.get("type")
    if isinstance(role, str) and role in echoes:
        return True
    content = message.get("content")
    return isinstance(content, list) and echoes is _MODEL_AND_TOOL and _are_results(content)


def _are_results(blocks: list[Any]) -> bool:
    """Whether a user's message is nothing but what tools gave back."""
    return bool(blocks) and all(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def without_ids(value: Any, depth: int = 0) -> Any:
    """A message or an answer without the ids its provider gave it: they are new every time and say nothing."""
    # Most values are texts and numbers, not worth a call of their own, in tables too small for a comprehension.
    if isinstance(value, dict) and depth < _DEEPEST_ID:
        if not depth and len(value) == 2 and type(value.get("role")) is type(value.get("content")) is str:
            return value
        kept = {}
        for key, item in value.items():
            if key not in _ID_KEYS:
                kept[key] = item if type(item) in _LEAVES else without_ids(item, depth + 1)
        return kept
    if isinstance(value, list) and depth < _DEEPEST_ID:
        return [item if type(item) in _LEAVES else without_ids(item, depth + 1) for item in value]
    return value
