"""
Notice that a person spoke: a prompt that says something to the model that was not said before.

Repeating a call because the user asked again is not a loop, and the same answer to another question neither. So each
prompt is reduced to its question: everything in it that the model did not say itself, with all numbers, dates and ids.
Many agents, however, hand a tool's result back as a "user" message, or count their steps in it; neither is a person
speaking.

A prompt is one text, a list of messages in the shape of any provider, or a dict around either. Numbers, dates, ids and
what is not text (an image, a document) belong to what is said.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any, NamedTuple

from agentdbg.events import TRUNCATED
from agentdbg.loops.step_contents import CALL_KEYS, Outcome, encode
from agentdbg.loops.volatile import VOLATILE_KEYS

__all__ = ["Heard", "UserTurns", "asks_for_verdict", "is_cut"]

_RESULT_OPENINGS = ("observation", "tool result", "tool output", "function result", "result:", "output:", "<tool_r")
_OBSERVATION = "bservation:"
_BEFORE_LABEL = ("", "\n", ".", ")")
_SHORTEST_RESULT = 3
_REMEMBERED = 1_024
_TALKS = 4
_COMPARED = 80
"""So much of an answer or a result is looked for in a prompt."""
_EDGE = 200
"""Harnesses count their steps at the beginning or the end of a prompt."""
_COUNT_MARKS = (" of ", "/", " left", " remaining")
_COUNTING = re.compile(
    r"\b(?:step|turn|iteration|round|attempt)s? #?\d+ ?(?:of|/) ?\d+"
    r"|\b\d+ (?:more )?(?:step|turn|iteration|round|attempt)s? (?:left|remaining)\b",
    re.IGNORECASE,
)
_LABELS = frozenset(
    {
        *("action", "ai", "answer", "assistant", "final", "function", "human", "input", "model", "observation"),
        *("output", "question", "response", "result", "system", "thought", "tool", "user"),
    }
)
_WORDS = re.compile(r"\w+")


class Heard(NamedTuple):
    """What a prompt says: whether a person spoke in it, and a number for its question."""

    spoken: bool
    question: int


class UserTurns:
    """Remembers what was said of late, so as to know something new, and where the user's turn began."""

    __slots__ = ("_histories", "_seen", "_talks", "first", "spoken", "was_called")

    def __init__(self) -> None:
        self._seen: dict[int, None] = {}
        # Several of each, because agents that work for each other take turns.
        self._histories: deque[_History] = deque(maxlen=_TALKS)
        self._talks: deque[_Talk] = deque(maxlen=_TALKS)
        self.was_called = False
        """Whether a tool was called since the last prompt that was one text."""
        self.first = 1
        """The number of the first step of the turn: what came before it is not compared."""
        self.spoken = 1
        """The number of the step in whose prompt a person was last seen to speak."""

    def hear(self, prompt: Any, answer: Outcome, last_result: Outcome | None) -> Heard:
        """What `prompt` says, and whether any of it is new and not just the last tool's result."""
        if prompt is None:
            return _NOTHING
        text = whole_text(prompt)
        if text is None:
            return self._hear_messages(*split(prompt), last_result)
        heard = self._hear_text(text, last_result)
        self._talks[-1].answer = answer.text[:_COMPARED].decode(errors="ignore").strip()
        return heard

    def note(self, number: int) -> None:
        """Begin a turn with the step of that number, in which a person spoke."""
        self.first = self.spoken = number

    def begin(self, number: int) -> None:
        """Begin a turn with the step of that number, although nobody was seen to speak."""
        self.first = number

    def _hear_messages(self, beside: str, items: list[Any], last_result: Outcome | None) -> Heard:
        history = self._history(beside, items)
        is_known = history.size > 0
        spoken = False
        for speaker, text, is_newest in history.go_on(items):
            if speaker == TOOL:
                if last_result is None:  # else the calls are recorded, and compared by themselves
                    history.said.add(Outcome(text.encode(errors="replace")).key())
                continue
            key = hash(text)
            if key not in self._seen:
                if not is_newest and TRUNCATED in text:
                    continue  # a message of before, of which less is kept now
                if speaker == PERSON or history.is_fresh:
                    is_new = self._is_new(key, text, last_result, is_reply=is_known)
                    spoken = spoken or (is_new and (is_newest or not history.is_working))
            history.said.add(key)
        return Heard(spoken, hash(frozenset(history.said)))

    def _history(self, beside: str, items: list[Any]) -> _History:
        """The history that goes on in these messages, or a new one; the newest stands first."""
        histories = self._histories
        for place, history in enumerate(histories):
            if history.goes_on_in(beside, items):
                histories[0], histories[place] = history, histories[0]
                return history
        histories.appendleft(_History(beside))
        return histories[0]

    def _hear_text(self, text: str, last_result: Outcome | None) -> Heard:
        was_called, self.was_called = self.was_called, False
        result = _said_in(last_result)
        for talk in reversed(self._talks):
            added = talk.added_in(text, result)
            if added is not None:
                self._talks.remove(talk)
                self._talks.append(talk)
                talk.text = text
                return Heard(self._is_added(talk, added) and not was_called, talk.question())
        is_first = not self._talks
        talk = _Talk(text)
        self._talks.append(talk)
        is_new = hash(text) not in self._seen and self._is_new(hash(text), text, last_result, is_reply=False)
        return Heard(is_new and not is_first, talk.question())

    def _is_added(self, talk: _Talk, added: str) -> bool:
        """Note what was added to a talk; whether that is something new."""
        if not added:
            return False
        key = hash(added)
        is_new = key not in self._seen
        talk.said.add(key)
        self._remember(key)
        return is_new

    def _is_new(self, key: int, text: str, last_result: Outcome | None, *, is_reply: bool) -> bool:
        """Whether a text that did not come before is more than the last tool's result, or the harness counting."""
        self._remember(key)
        if is_reply:
            if _is_result(text, _said_in(last_result, 3 * _COMPARED)):
                return False
        else:
            text = _without_result(text, _said_in(last_result))
        key = hash(("plain", _without_counting(text)))
        is_new = key not in self._seen
        self._remember(key)
        return is_new

    def _remember(self, key: int) -> None:
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]


_NOTHING = Heard(False, 0)


class _History:
    """A list of messages that grows: only what was added to it since the last call is read."""

    __slots__ = ("_beside", "_first", "_last", "is_fresh", "is_working", "said", "size")

    def __init__(self, beside: str) -> None:
        self._beside = beside
        self._first: Any = None
        self._last: Any = None
        self.size = 0
        self.said: set[int] = set()
        """What was said in it, by anyone but the model."""
        self.is_fresh = True
        """Whether neither the model nor a tool has spoken in it."""
        self.is_working = False
        """Whether a tool has spoken since the model did."""

    def goes_on_in(self, beside: str, items: list[Any]) -> bool:
        """Whether a longer prompt has these messages at its beginning, by the first and the last of them."""
        if len(items) <= self.size or beside != self._beside:
            return False
        return bool(_content(items[self.size - 1]) == self._last and _content(items[0]) == self._first)

    def go_on(self, items: list[Any]) -> list[tuple[str, str, bool]]:
        """Take a longer prompt; who said what in the messages that were added, and whether after the model spoke."""
        messages = read(items[self.size :])
        if self._beside and not self.size:
            messages.insert(0, (SYSTEM, self._beside))
        speakers = [speaker for speaker, _ in messages]
        has_model = MODEL in speakers
        newest = len(speakers) - speakers[::-1].index(MODEL) if has_model else 0
        self.is_working = TOOL in speakers[newest:] or (self.is_working and not has_model)
        self.is_fresh = self.is_fresh and not has_model and TOOL not in speakers
        self.size = len(items)
        self._first, self._last = _content(items[0]), _content(items[-1])
        return [(speaker, text, place >= newest) for place, (speaker, text) in enumerate(messages) if speaker != MODEL]


def _content(item: Any) -> Any:
    """What a message says, or its first part, to know it again by."""
    content = item.get("content") if type(item) is dict else item
    if type(content) is list and content and type(content[0]) is dict:
        content = content[0].get("text")
    return content if type(content) is str else read([item])


class _Talk:
    """A prompt that is one text and grows, what was said in it, and what the model said last."""

    __slots__ = ("answer", "said", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.said = {hash(text)}
        self.answer = ""

    def question(self) -> int:
        return hash(frozenset(self.said))

    def added_in(self, text: str, result: str) -> str | None:
        """What `text` adds to this one beside the model's answer and a tool's result; None if it is another text."""
        before = self.text
        if text == before:
            return ""
        if len(text) <= len(before) or not before:
            return None
        known = [words for words in (self.answer, result[:_COMPARED]) if words and words in text]
        if not known:
            return None
        start = _common_start(before, text)
        end = len(before) - start
        if not text.endswith(before[start:]) or (start and text[start - 1].isalnum() and text[start].isalnum()):
            return None  # it was changed, or a word of it goes on
        added = text[start : len(text) - end]
        if not any(words in added for words in known):
            return None
        for words in (self.answer, result):
            added = added.replace(words, "") if words else added
        is_empty = _LABELS.issuperset(word.lower() for word in _WORDS.findall(added))
        return "" if is_empty else added


def is_cut(prompt: Any) -> bool:
    """Whether the end of a prompt was cut off, so that a new user message cannot be seen."""
    if type(prompt) is list and prompt:
        prompt = prompt[-1]
    return prompt.endswith(TRUNCATED) if type(prompt) is str else False


def asks_for_verdict(prompt: Any) -> bool:
    """Whether a prompt asks to judge something, and has nothing in it that the model said before."""
    text = whole_text(prompt) if prompt is not None else ""
    if text is not None:
        return _VERDICT.search(text[:_VERDICT_REACH] + "\n" + text[-_VERDICT_REACH:]) is not None
    beside, items = split(prompt)
    messages = read(items[:_FEW_MESSAGES])
    if len(items) > _FEW_MESSAGES or any(speaker in (MODEL, TOOL) for speaker, _ in messages):
        return False
    said = [beside, *(text for _, text in messages)]
    return any(_VERDICT.search(text[:_VERDICT_REACH] + "\n" + text[-_VERDICT_REACH:]) for text in said)


_VERDICT = re.compile(
    r"\b(?:judge|grade|grader|rubric|verdict|vote|evaluator|(?:score|rate|rank|classify|assess|evaluate|moderate) \w+"
    r"|toxic|faithful|pass or fail|yes or no|true or false|(?:is|are|was|does|do) \w[^.?\n]{0,80}"
    r"(?:correct|right|accurate|follow|entail\w*|consistent|equivalent|relevant|supported)\b)",
    re.IGNORECASE,
)
_VERDICT_REACH = 2_000
_FEW_MESSAGES = 4


def _common_start(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _said_in(result: Outcome | None, most: int | None = None) -> str:
    """What a tool returned, or its beginning, as a prompt would show it."""
    if result is None:
        return ""
    said = result.text[:most].strip(b'"').replace(b"\\n", b"\n").strip()
    return said.decode(errors="ignore") if len(said) >= _SHORTEST_RESULT else ""


def _is_result(text: str, result: str) -> bool:
    """Whether a user message only hands a tool's result back."""
    return text[:24].lstrip().lower().startswith(_RESULT_OPENINGS) or (result != "" and result[:_COMPARED] in text)


def _without_result(text: str, result: str) -> str:
    """A prompt without the last tool's result, and without what stands behind the last "Observation:"."""
    label = text.rfind(_OBSERVATION) - 1
    if label >= 0 and text[:label].rstrip(" ")[-1:] in _BEFORE_LABEL:
        text = text[:label]
    return text.replace(result, "") if result else text


def _without_counting(text: str) -> str:
    """A prompt in which the harness no longer counts its steps."""
    start, end = text[:_EDGE], text[_EDGE:][-_EDGE:]
    if not any(mark in start or mark in end for mark in _COUNT_MARKS):
        return text
    return _COUNTING.sub("", start) + text[_EDGE : len(text) - len(end)] + _COUNTING.sub("", end)


PERSON, SYSTEM, MODEL, TOOL = "person", "system", "model", "tool"

Message = tuple[str, str]
"""Who says it and what; what the model said is left out."""

_SPEAKERS = {
    **dict.fromkeys(("user", "human"), PERSON),
    **dict.fromkeys(("system", "developer"), SYSTEM),
    **dict.fromkeys(("assistant", "model", "ai", "reasoning", "function_call", "item_reference"), MODEL),
    **dict.fromkeys(("tool", "function", "tool_result", "toolresult", "function_response", "functionresponse"), TOOL),
}
_RESULTS = frozenset({"tool_result", "toolResult", "function_response", "functionResponse", "tool_response"})
_LISTS = ("messages", "input", "contents")
_NO_CONTENT = frozenset({"model", "tools", "functions", "tool_choice"})


def whole_text(prompt: Any) -> str | None:
    """The prompt as one text; None where it is a list of messages."""
    if type(prompt) is str:
        return prompt
    if type(prompt) is list:
        if all(type(item) is str for item in prompt):
            return "\n".join(prompt)
        return None
    if type(prompt) is dict:
        if _list_in(prompt):
            return None
        prompt = {key: prompt[key] for key in sorted(prompt, key=str) if key not in _NO_CONTENT}
    return _text(prompt)


def split(prompt: Any) -> tuple[str, list[Any]]:
    """The messages of a prompt that has some, still unread, and what is said beside them."""
    if type(prompt) is dict:
        key = _list_in(prompt)
        names = [name for name in sorted(prompt, key=str) if name != key and name not in _NO_CONTENT | VOLATILE_KEYS]
        beside = {name: prompt[name] for name in names}
        return _text(beside) if beside else "", prompt[key]
    if len(prompt) == 1 and type(prompt[0]) is list:
        return "", prompt[0]  # a batch of one
    return "", prompt


def read(items: list[Any]) -> list[Message]:
    """Who says what, in the order of the messages."""
    messages: list[Message] = []
    for item in items:
        if type(item) is dict:
            _read_message(item, messages)
        elif type(item) is list and len(item) == 2 and type(item[0]) is str:
            messages.append((_SPEAKERS.get(item[0].lower(), SYSTEM), _text(item[1])))
        elif item != TRUNCATED:
            messages.append((PERSON, _text(item)))
    return messages


def _list_in(prompt: dict[Any, Any]) -> str:
    return next((key for key in _LISTS if type(prompt.get(key)) is list), "")


def _read_message(message: dict[str, Any], messages: list[Message]) -> None:
    role = message.get("role") or message.get("type")
    speaker = _SPEAKERS.get(role) if type(role) is str else None
    if speaker is None:
        if TRUNCATED in message:
            return  # stands for messages that were not kept
        inside = message.get("kwargs")
        if role == "constructor" and type(inside) is dict:  # a message as LangChain writes it
            message, role = inside, _class_name(message.get("id"))
        speaker = _guess(role)
    if speaker == MODEL:
        messages.append((MODEL, ""))
        return
    content = message.get("content", message.get("parts"))
    if type(content) is list:
        _read_parts(speaker, content, messages)
        return
    if content is None:
        content = {key: value for key, value in message.items() if key not in ("role", "type", *CALL_KEYS)}
    messages.append((speaker, content if type(content) is str else _text(content)))


def _class_name(path: Any) -> str:
    return str(path[-1]).removesuffix("Chunk").removesuffix("Message") if type(path) is list and path else ""


def _guess(role: Any) -> str:
    role = role.lower() if type(role) is str else ""
    if role.endswith(("_output", "_result", "_response")):
        return TOOL
    return MODEL if role.endswith("_call") else _SPEAKERS.get(role, SYSTEM if role else PERSON)


def _read_parts(speaker: str, parts: list[Any], messages: list[Message]) -> None:
    """One message of several parts, in which a tool's results may be handed back."""
    said = []
    for part in parts:
        text = part.get("text") if type(part) is dict else part
        if type(part) is dict and (str(part.get("type")) in _RESULTS or not _RESULTS.isdisjoint(part)):
            content = part.get("content", {key: part[key] for key in part if key not in CALL_KEYS})
            messages.append((TOOL, _text(content)))
        elif type(text) is str:
            said.append(text)
        else:
            said.append(_text(part))
    if said:
        messages.append((speaker, "\n".join(said)))


def _text(value: Any) -> str:
    return value if type(value) is str else encode(value).decode(errors="replace")
