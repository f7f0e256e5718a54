"""How alike two steps are, from 0 to 1: asked only where nothing exact holds the two runs together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.columns import END, LLM, START, TOOL
from agentdbg.analysis.conversation import turns
from agentdbg.analysis.wording import as_json

if TYPE_CHECKING:
    from agentdbg.analysis.diff.steps import Step

__all__ = ["argument_likeness", "likeness"]

_WORD = re.compile(r"\w+")
_MOST_TEXT = 1_500
_NONE: frozenset[str] = frozenset()


def likeness(left: Step, right: Step) -> float:
    """0 for steps of different kinds or tools; a model may be another one."""
    if left.kind == LLM == right.kind:
        return _model_likeness(_features(left), _features(right))
    if left.kind != right.kind or (left.name != right.name and left.kind not in (START, END)):
        return 0.0
    if left.key == right.key or left.kind in (START, END):
        return 1.0
    if left.kind == TOOL:
        alike = 0.35 + 0.5 * argument_likeness(left.content.get("args"), right.content.get("args"))
        return alike + 0.1 * (left.content.get("result") == right.content.get("result"))
    return 0.5 + 0.4 * _shared(_features(left)[1], _features(right)[1])


def _model_likeness(left: tuple[Any, ...], right: tuple[Any, ...]) -> float:
    """Two answers that ask for the same tools, or two answers in words; never one with the other."""
    calls_left, said_left, asked_left = left
    calls_right, said_right, asked_right = right
    if bool(calls_left) != bool(calls_right):
        return 0.0
    said = _shared(said_left, said_right)
    if calls_left:
        names = _shared(frozenset(calls_left), frozenset(calls_right))
        return 0.0 if not names else 0.3 + 0.3 * names + 0.3 * said
    return 0.35 + 0.4 * said + 0.2 * _shared(asked_left, asked_right)


def argument_likeness(left: Any, right: Any) -> float:
    """The share of arguments that are equal; texts count by the words they share."""
    if left == right:
        return 1.0
    if not isinstance(left, dict) or not isinstance(right, dict):
        return _value_likeness(left, right)
    keys = left.keys() | right.keys()
    return sum(_value_likeness(left[key], right[key]) for key in keys if key in left and key in right) / len(keys)


def _value_likeness(left: Any, right: Any) -> float:
    if left == right:
        return 1.0
    if isinstance(left, (str, dict, list)) and isinstance(right, (str, dict, list)):
        return 0.9 * _shared(_words(left), _words(right))
    return 0.0


def _features(step: Step) -> tuple[Any, ...]:
    """What is compared of a step, made once: names of calls, words of the answer, words of the question."""
    if step.features is None:
        if step.kind == LLM:
            said = step.said
            names = tuple(call.name for call in said.calls)
            words = _words(said.text) | _words([call.args for call in said.calls]) if names else _words(said.text)
            asked = _words(" ".join(turn.text for turn in turns(step.content.get("appended"), last=1)))
            step.features = (names, words, asked)
        else:
            step.features = ((), _words(step.content), _NONE)
    features: tuple[Any, ...] = step.features
    return features


def _words(value: Any) -> frozenset[str]:
    text = value if isinstance(value, str) else as_json(value)
    return frozenset(_WORD.findall(text[:_MOST_TEXT].lower()))


def _shared(left: frozenset[str], right: frozenset[str]) -> float:
    if left == right:
        return 1.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)
