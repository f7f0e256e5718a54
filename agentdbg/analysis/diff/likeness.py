"""
How alike two steps are, from 0 to 1: asked only where nothing exact holds the two runs together.

Splitting texts into words is most of the work, so each step keeps its words.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.conversation import last_text
from agentdbg.analysis.run_columns import END, LLM, START, TOOL
from agentdbg.analysis.wording import as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.diff.steps import Step

__all__ = ["Arguments", "are_akin", "likeness", "likeness_table"]

_WORD = re.compile(r"\w+")
_MOST_TEXT = 1_500

Words = frozenset[str]
_WORDY = (str, dict, list)


def are_akin(left: Step, right: Step) -> bool:
    """
    Whether one can be the other, changed: two calls of a tool, two answers in words, two that ask for the same tool.

    What is akin has a likeness above 0, and what is equal or does the same is akin.
    """
    return not left.families.isdisjoint(right.families)


def likeness_table(left: Sequence[Step], right: Sequence[Step]) -> list[dict[int, float]]:
    """How alike each step of one line is to those of the other that are akin to it, by place. Most are not."""
    return [
        {place: likeness(step, other) for place, other in enumerate(right) if are_akin(step, other)} for step in left
    ]


def likeness(left: Step, right: Step) -> float:
    """0 for steps that are not akin; a model may be another one."""
    kind = left.kind
    if not are_akin(left, right):
        return 0.0
    if kind != LLM and (left.key == right.key or kind in (START, END)):
        return 1.0
    words, words_right = _kept_words(left), _kept_words(right)
    if kind == TOOL:
        alike: float = 0.35 + 0.5 * words.likeness(words_right)
        return alike + 0.1 * (left.content.get("result") == right.content.get("result"))
    if kind == LLM:
        said = _shared(words[0], words_right[0])
        if words[1] is None:
            return 0.3 + 0.3 * _shared(left.families, right.families) + 0.3 * said
        return 0.35 + 0.4 * said + 0.2 * _shared(words[1], words_right[1])
    return 0.5 + 0.4 * _shared(words, words_right)


def _kept_words(step: Step) -> Any:
    """What is compared of a step again and again: words of an answer and its question, `Arguments` of a call, words."""
    if step.words is None:
        if step.kind == LLM:
            step.words = _model_words(step)
        else:
            step.words = Arguments(step.content.get("args")) if step.kind == TOOL else _words(step.content)
    return step.words


def _model_words(step: Step) -> tuple[Words, Words | None]:
    """Those of the answer, and those of the question where no tool is asked for."""
    said = step.said
    if said.calls:
        words = _words([call.args for call in said.calls])
        return words | _words(said.text) if said.text else words, None
    return _words(said.text), _words(last_text(step.content.get("appended")))


class Arguments:
    """What a tool was given, and the words of each text, list and table in it."""

    def __init__(self, args: Any) -> None:
        self._args = args
        named = args if isinstance(args, dict) else {}
        self._words = {key: _words(item) if isinstance(item, _WORDY) else None for key, item in named.items()}

    @cached_property
    def _all_words(self) -> Words:
        return _words(self._args)

    def likeness(self, other: Arguments) -> float:
        """The share of arguments that are equal; texts count by the words they share."""
        left, right = self._args, other._args
        if left == right:
            return 1.0
        if not (isinstance(left, dict) and isinstance(right, dict)):
            are_wordy = isinstance(left, _WORDY) and isinstance(right, _WORDY)
            return 0.9 * _shared(self._all_words, other._all_words) if are_wordy else 0.0
        alike, common = 0.0, 0
        for key, words in self._words.items():
            if key in right:
                common += 1
                words_right = other._words[key]
                if left[key] == right[key]:
                    alike += 1.0
                elif words is not None and words_right is not None:
                    alike += 0.9 * _shared(words, words_right)
        return alike / (len(left) + len(right) - common)


def _words(value: Any) -> Words:
    text = value if isinstance(value, str) else as_json(value)
    return frozenset(_WORD.findall(text[:_MOST_TEXT].lower()))


def _shared(left: frozenset[Any], right: frozenset[Any]) -> float:
    if not (left and right):
        return 0.0 if left or right else 1.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)
