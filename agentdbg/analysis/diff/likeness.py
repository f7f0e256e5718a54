"""
How alike two steps are, from 0 to 1: asked only where nothing exact holds the two runs together.

Splitting texts into words is most of the work, so each step keeps its words.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.conversation import last_text
from agentdbg.analysis.diff.steps import IN_WORDS, NOT_JSON, families_of
from agentdbg.analysis.run_columns import END, LLM, START, TOOL
from agentdbg.analysis.wording import as_json
from agentdbg.encoding import encode_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.diff.steps import Step

__all__ = ["Arguments", "are_akin", "likeness", "likeness_table"]

_WORD = re.compile(r"\w+")
_FOREIGN = re.compile(r"[^\W\x00-\x7f]")
"""A sign of a word that is not ASCII; dashes, quotation marks and smileys are none."""
_MOST_TEXT = 1_500
_PLAIN = bytes(ord(chr(code).lower() if _WORD.match(chr(code)) else " ") for code in range(128)).ljust(256)
"""Every sign of an ASCII text as it is compared: a small letter, a digit, or a space for all else."""

Words = frozenset[bytes]
_WORDY = (str, dict, list)
_SIMPLE = frozenset({str, int, bool, type(None)})
_ONCE_A_RUN = frozenset({START, END})


def are_akin(left: Step, right: Step) -> bool:
    """
    Whether one can be the other, changed: two calls of a tool, two answers in words, two that ask for the same tool.

    What is akin has a likeness above 0, and what is equal or does the same is akin.
    """
    return not left.families.isdisjoint(right.families)


def likeness_table(left: Sequence[Step], right: Sequence[Step]) -> list[dict[int, float]]:
    """How alike each step of one line is to those of the other that are akin to it, by place. Most are not."""
    places: dict[str, list[int]] = {}
    for place, families in enumerate(families_of(right)):
        for family in families:
            places.setdefault(family, []).append(place)
    answers: list[tuple[int, Words, int, Words, int]] = []
    table: list[dict[int, float]] = []
    for step, families in zip(left, families_of(left), strict=True):
        akin = [places[family] for family in families if family in places]
        if not akin:
            table.append({})
        elif families is IN_WORDS:
            answers = answers or [(place, *_sized_words(right[place])) for place in akin[0]]
            table.append(_likes_of_answer(step, answers))
        else:
            row = akin[0] if len(akin) == 1 else sorted({place for row in akin for place in row})
            table.append({place: _likeness_of_akin(step, right[place]) for place in row})
    return table


def _likes_of_answer(step: Step, others: Sequence[tuple[int, Words, int, Words, int]]) -> dict[int, float]:
    """`_likeness_of_akin` of an answer in words to all others, written out: nearly all that is ever asked for."""
    text, size, question, question_size = _sized_words(step)
    likes = {}
    for place, other, other_size, other_question, other_question_size in others:
        common = len(text & other)
        like = 0.35 + 0.4 * (common / (size + other_size - common) if size or other_size else 1.0)
        if question and other_question:
            common = len(question & other_question)
            likes[place] = like + 0.2 * (common / (question_size + other_question_size - common))
        else:
            likes[place] = like if question or other_question else like + 0.2
    return likes


def _sized_words(step: Step) -> tuple[Words, int, Words, int]:
    text, question = step.words or _keep_words(step)
    return text, len(text), question, len(question)


def likeness(left: Step, right: Step) -> float:
    """0 for steps that are not akin; a model may be another one."""
    return _likeness_of_akin(left, right) if are_akin(left, right) else 0.0


def _likeness_of_akin(left: Step, right: Step) -> float:
    kind = left.kind
    if kind != LLM and (left.key == right.key or kind in _ONCE_A_RUN):
        return 1.0
    words, words_right = left.words or _keep_words(left), right.words or _keep_words(right)
    if kind == TOOL:
        alike: float = 0.35 + 0.5 * words.likeness(words_right)
        return alike + 0.1 * (left.content.get("result") == right.content.get("result"))
    if kind == LLM:
        said = _shared(words[0], words_right[0])
        if words[1] is None:
            return 0.3 + 0.3 * _shared(left.families, right.families) + 0.3 * said
        return 0.35 + 0.4 * said + 0.2 * _shared(words[1], words_right[1])
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
        words = _words([call.args for call in said.calls])
        return words | _words(said.text) if said.text else words, None
    return _words(said.text), _words(last_text(step.content.get("appended")))


class Arguments:
    """What a tool was given, and the words of each text, list and table in it."""

    def __init__(self, args: Any) -> None:
        self._args = args
        self._are_named = isinstance(args, dict)
        self._words = (
            {key: _words(item) if isinstance(item, _WORDY) else None for key, item in args.items()}
            if self._are_named
            else {}
        )

    @cached_property
    def _all_words(self) -> Words:
        return _words(self._args)

    def likeness(self, other: Arguments) -> float:
        """The share of arguments that are equal; texts count by the words they share."""
        left, right = self._args, other._args
        if left == right:
            return 1.0
        if not (self._are_named and other._are_named):
            are_wordy = isinstance(left, _WORDY) and isinstance(right, _WORDY)
            return 0.9 * _shared(self._all_words, other._all_words) if are_wordy else 0.0
        alike, common = 0.0, 0
        for key, words in self._words.items():
            if key in right:
                common += 1
                if left[key] == right[key]:
                    alike += 1.0
                elif words is not None:
                    words_right = other._words[key]
                    if words_right is not None:
                        alike += 0.9 * _shared(words, words_right)
        return alike / (len(left) + len(right) - common)


def _words(value: Any) -> Words:
    text = (value if isinstance(value, str) else _json_text(value))[:_MOST_TEXT]
    # Bytes are put in other words much quicker than by a pattern; most signs that are not ASCII are in no word.
    if text.isascii() or not _FOREIGN.search(text):
        return frozenset(text.encode("ascii", "replace").translate(_PLAIN).split())
    return frozenset([word.encode() for word in _WORD.findall(text.lower())])


def _json_text(value: Any) -> str:
    """`as_json`, as far as its words go, and ten times quicker for what is short and holds no fractions."""
    try:
        text = encode_json(value).decode() if _is_simple(value) else ""
    except NOT_JSON:
        text = ""
    # Where a longer one is cut depends on its spaces, and on the order of its keys.
    return text if 0 < len(text) < _MOST_TEXT // 2 else as_json(value)


def _is_simple(value: Any) -> bool:
    if type(value) is not dict and type(value) is not list:
        return type(value) in _SIMPLE
    # Most of what is inside is a text or a whole number, not worth a call of its own.
    for item in value.values() if type(value) is dict else value:
        if type(item) not in _SIMPLE and not _is_simple(item):
            return False
    return True


def _shared(left: frozenset[Any], right: frozenset[Any]) -> float:
    if not (left and right):
        return 0.0 if left or right else 1.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)
