"""
How alike two steps are, from 0 to 1: asked only where nothing exact holds the two runs together.

Splitting texts into words is most of the work, so each step keeps its words.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.columns import END, LLM, START, TOOL
from agentdbg.analysis.conversation import last_text
from agentdbg.analysis.diff.fingerprints import NOT_JSON
from agentdbg.analysis.wording import as_json
from agentdbg.encoding import encode_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.diff.steps import Step

__all__ = ["Arguments", "are_akin", "likeness", "likeness_table"]

_WORD = re.compile(r"\w+")
_MOST_TEXT = 1_500
_PLAIN = bytes(ord(chr(code).lower() if _WORD.match(chr(code)) else " ") for code in range(128)).ljust(256)
"""Every sign of an ASCII text as it is compared: a small letter, a digit, or a space for all else."""

Words = frozenset[str]
_WORDY = (str, dict, list)
_SIMPLE = frozenset({str, int, bool, type(None)})


def are_akin(left: Step, right: Step) -> bool:
    """
    Whether one can be the other, changed: two calls of a tool, two answers in words, two that ask for the same tool.

    What is akin has a likeness above 0, and what is equal or does the same is akin.
    """
    return not left.families.isdisjoint(right.families)


def likeness_table(left: Sequence[Step], right: Sequence[Step]) -> list[list[float]]:
    """How alike each step of one line is to each of the other. Most are not akin, and are never looked at."""
    columns: dict[str, list[int]] = {}
    for column, step in enumerate(right):
        for family in step.families:
            columns.setdefault(family, []).append(column)
    table = []
    for step in left:
        likes = [0.0] * len(right)
        for family in step.families:
            for column in columns.get(family, ()):
                likes[column] = likes[column] or _likeness_of_akin(step, right[column])
        table.append(likes)
    return table


def likeness(left: Step, right: Step) -> float:
    """0 for steps that are not akin; a model may be another one."""
    return _likeness_of_akin(left, right) if are_akin(left, right) else 0.0


def _likeness_of_akin(left: Step, right: Step) -> float:
    if left.kind != LLM and (left.key == right.key or left.kind in (START, END)):
        return 1.0
    words, words_right = left.words or _keep_words(left), right.words or _keep_words(right)
    if left.kind == LLM:
        said = _shared(words[0], words_right[0])
        if words[1] is None:
            return 0.3 + 0.3 * _shared(left.families, right.families) + 0.3 * said
        return 0.35 + 0.4 * said + 0.2 * _shared(words[1], words_right[1])
    if left.kind == TOOL:
        alike: float = 0.35 + 0.5 * words.likeness(words_right)
        return alike + 0.1 * (left.content.get("result") == right.content.get("result"))
    return 0.5 + 0.4 * _shared(words, words_right)


def _keep_words(step: Step) -> Any:
    """What is compared of a step again and again: words of an answer and its question, `Arguments` of a call, words."""
    if step.kind == LLM:
        step.words = _model_words(step)
    else:
        step.words = Arguments(step.content.get("args")) if step.kind == TOOL else _words(step.content)
    return step.words


def _model_words(step: Step) -> tuple[Words, Words | None]:
    """Those of the answer, and those of the question where no tool is asked for."""
    said = step.said
    if said.calls:
        return _words(said.text) | _words([call.args for call in said.calls]), None
    return _words(said.text), _words(last_text(step.content.get("appended")))


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
    text = (value if isinstance(value, str) else _json_text(value))[:_MOST_TEXT]
    if text.isascii():  # bytes are put in other words much quicker than by a pattern
        return frozenset(text.encode().translate(_PLAIN).decode().split())
    return frozenset(_WORD.findall(text.lower()))


def _json_text(value: Any) -> str:
    """`as_json`, as far as its words go, and ten times quicker for what is short and holds no fractions."""
    try:
        text = encode_json(value).decode() if _is_simple(value) else ""
    except NOT_JSON:
        text = ""
    # Where a longer one is cut depends on its spaces, and on the order of its keys.
    return text if 0 < len(text) < _MOST_TEXT // 2 else as_json(value)


def _is_simple(value: Any) -> bool:
    if type(value) is dict:
        return all(map(_is_simple, value.values()))
    return all(map(_is_simple, value)) if type(value) is list else type(value) in _SIMPLE


def _shared(left: Words, right: Words) -> float:
    if left == right:
        return 1.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)
