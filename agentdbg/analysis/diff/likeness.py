"""
How alike two steps are, from 0 to 1: asked only where nothing exact holds the two runs together.

Splitting texts into words is most of the work, so each step keeps its words.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.columns import END, LLM, START, TOOL
from agentdbg.analysis.conversation import turns
from agentdbg.analysis.wording import as_json

if TYPE_CHECKING:
    from agentdbg.analysis.diff.steps import Step

__all__ = ["Arguments", "are_akin", "likeness"]

_WORD = re.compile(r"\w+")
_MOST_TEXT = 1_500
_SPACES = {code: " " for code in range(128) if not _WORD.match(chr(code))}

Words = frozenset[str]
_NONE: Words = frozenset()
_WORDY = (str, dict, list)


def are_akin(left: Step, right: Step) -> bool:
    """
    Whether one can be the other, changed: two calls of a tool, two answers in words, two that ask for the same tool.

    What is akin has a likeness above 0, and what is equal or does the same is akin.
    """
    if left.kind != right.kind:
        return False
    if left.kind == LLM:
        calls, others = left.said.calls, right.said.calls
        if not calls or not others:
            return not calls and not others
        return not {call.name for call in calls}.isdisjoint(call.name for call in others)
    return left.name == right.name or left.kind in (START, END)


def likeness(left: Step, right: Step) -> float:
    """0 for steps that are not akin; a model may be another one."""
    if left.kind != right.kind:
        return 0.0
    if left.kind == LLM:
        return _model_likeness(left.words or _keep_words(left), right.words or _keep_words(right))
    if left.name != right.name and left.kind not in (START, END):
        return 0.0
    if left.key == right.key or left.kind in (START, END):
        return 1.0
    words, words_right = left.words or _keep_words(left), right.words or _keep_words(right)
    if left.kind == TOOL:
        alike: float = 0.35 + 0.5 * words.likeness(words_right)
        return alike + 0.1 * (left.content.get("result") == right.content.get("result"))
    return 0.5 + 0.4 * _shared(words, words_right)


def _keep_words(step: Step) -> Any:
    """What is compared of a step again and again: `_ModelWords` of an answer, `Arguments` of a call, else its words."""
    if step.kind == LLM:
        step.words = _model_words(step)
    else:
        step.words = Arguments(step.content.get("args")) if step.kind == TOOL else _words(step.content)
    return step.words


class _ModelWords(NamedTuple):
    """Names of the tools asked for, words of the answer, and words of the question where no tool is asked for."""

    calls: Words
    said: Words
    asked: Words


def _model_likeness(left: _ModelWords, right: _ModelWords) -> float:
    """Two answers that ask for the same tools, or two answers in words; never one with the other."""
    if left.calls and right.calls:
        names = _shared(left.calls, right.calls)
        return 0.0 if not names else 0.3 + 0.3 * names + 0.3 * _shared(left.said, right.said)
    if left.calls or right.calls:
        return 0.0
    return 0.35 + 0.4 * _shared(left.said, right.said) + 0.2 * _shared(left.asked, right.asked)


def _model_words(step: Step) -> _ModelWords:
    said = step.said
    if said.calls:
        words = _words(said.text) | _words([call.args for call in said.calls])
        return _ModelWords(frozenset(call.name for call in said.calls), words, _NONE)
    asked = " ".join(turn.text for turn in turns(step.content.get("appended"), last=1))
    return _ModelWords(_NONE, _words(said.text), _words(asked))


class Arguments:
    """What a tool was given, and the words of each text, list and table in it."""

    def __init__(self, args: Any) -> None:
        self._args = args
        parts = args if isinstance(args, dict) else {}
        self._words = {key: _words(item) for key, item in parts.items() if isinstance(item, _WORDY)}

    @cached_property
    def _all_words(self) -> Words:
        return _words(self._args)

    def likeness(self, other: Arguments) -> float:
        """The share of arguments that are equal; texts count by the words they share."""
        left, right = self._args, other._args
        if left == right:
            return 1.0
        if not isinstance(left, dict) or not isinstance(right, dict):
            are_wordy = isinstance(left, _WORDY) and isinstance(right, _WORDY)
            return 0.9 * _shared(self._all_words, other._all_words) if are_wordy else 0.0
        alike, common = 0.0, 0
        for key, item in left.items():
            if key in right:
                common += 1
                if item == right[key]:
                    alike += 1.0
                elif key in self._words and key in other._words:
                    alike += 0.9 * _shared(self._words[key], other._words[key])
        return alike / (len(left) + len(right) - common)


def _words(value: Any) -> Words:
    text = (value if isinstance(value, str) else as_json(value))[:_MOST_TEXT].lower()
    # Putting a space for every other sign is twice as quick as a pattern, where there are few different signs.
    return frozenset(text.translate(_SPACES).split() if text.isascii() else _WORD.findall(text))


def _shared(left: Words, right: Words) -> float:
    if left == right:
        return 1.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)
