"""
Notice that a person spoke: a prompt with a user message that was not there before.

Repeating a call because the user asked again is not a loop. Many agents, however, hand a tool's result back as a "user"
message, or put the same instruction into every prompt; neither is a person speaking.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from agentdbg.events import TRUNCATED
from agentdbg.loops.questions import ask_differently

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["Heard", "UserTurns", "has_spoken", "is_cut"]

_USER_ROLES = frozenset({"user", "human"})
_MODEL_ROLES = frozenset({"assistant", "model", "ai"})
_RESULT_PARTS = frozenset({"tool_result", "function_call_output", "function_response", "tool_response"})
_RESULT_OPENINGS = ("observation", "tool result", "tool output", "function result", "result:", "output:", "<tool_r")
_LOOK_BACK = 40
_REMEMBERED = 64
_MOST_OPEN = 16


Heard = bool | tuple[str, str]
"""Whether a person spoke; or the two texts that say so when they are compared, which takes time."""


class UserTurns:
    """
    Remembers the user messages of late, so as to know a new one, and where the user's turn began.

    Where that is matters only once something repeats, so what takes time to find out is left open until then.
    """

    __slots__ = ("_open", "_seen", "known_first", "known_to_have_spoken", "question", "was_called")

    def __init__(self) -> None:
        self._seen: dict[int, None] = {}
        self.question = ""
        """The last prompt that was one text."""
        self.was_called = False
        """Whether a tool was called since the last prompt that was one text."""
        self._open: deque[tuple[int, tuple[str, str]]] = deque()
        # The same as `first` and `spoken` while nothing is open; else a person may have spoken since.
        self.known_first = self.known_to_have_spoken = 1

    @property
    def first(self) -> int:
        """The number of the first step of the turn: what came before it is not compared."""
        if self._open:
            self._decide()
        return self.known_first

    @property
    def spoken(self) -> int:
        """The number of the step in whose prompt a person was last seen to speak."""
        if self._open:
            self._decide()
        return self.known_to_have_spoken

    def hear(self, prompt: Any, last_call: Step | None) -> Heard:
        """Whether `prompt` ends in a user message not seen before that is not just the last tool's result."""
        if type(prompt) is not str:
            if type(prompt) is not list and type(prompt) is not dict:
                return False
            text = _newest_user_text(prompt)
            if text is not None:
                return text != "" and self._is_new(text, last_call)
            given = prompt.values() if type(prompt) is dict else prompt
            prompt = "\n".join(value for value in given if type(value) is str)
        before, self.question = self.question, prompt
        # What is new in a prompt that is one text may be the result of a call.
        was_called, self.was_called = self.was_called, False
        if was_called or not before or prompt.startswith(before):
            return False
        return before, prompt

    def note(self, heard: Heard, number: int) -> bool:
        """Begin a turn with the step of that number, if a person spoke; whether too much is left open by now."""
        if type(heard) is tuple:
            self._open.append((number, heard))
            return len(self._open) > _MOST_OPEN
        if heard:
            self.known_first = self.known_to_have_spoken = number
            self._open.clear()
        return False

    def close(self, oldest: int) -> None:
        """Leave less open: no step before `oldest` is compared with anything any more."""
        left_open = self._open
        while left_open and left_open[0][0] <= oldest:
            left_open.popleft()
        if len(left_open) > _MOST_OPEN:
            self._decide()

    def begin(self, number: int) -> None:
        """Begin a turn with the step of that number, although nobody was seen to speak."""
        self.known_first = number

    def _decide(self) -> None:
        """Find out when a person spoke last; whether that was the first time no longer matters."""
        left_open = self._open
        while left_open:
            number, texts = left_open.pop()
            if ask_differently(*texts):
                self.known_to_have_spoken = number
                self.known_first = max(self.known_first, number)
                left_open.clear()

    def _is_new(self, text: str, last_call: Step | None) -> bool:
        # Digits are left out: "step 4 of 10" is the harness counting, not a person speaking.
        start = text[:2000]
        key = hash(start.encode(errors="replace").translate(None, b"0123456789"))
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return not _is_result(start, b"" if last_call is None else last_call.got.text)


def has_spoken(heard: Heard) -> bool:
    """Whether a person spoke, found out at once."""
    return heard if isinstance(heard, bool) else ask_differently(*heard)


def is_cut(prompt: Any) -> bool:
    """Whether the end of a prompt was cut off, so that a new user message cannot be seen."""
    if type(prompt) is list and prompt:
        prompt = prompt[-1]
    return prompt.endswith(TRUNCATED) if type(prompt) is str else False


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
