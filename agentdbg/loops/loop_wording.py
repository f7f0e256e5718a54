"""Put a loop into words: the sentence for a person, and examples of what repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.loops.step_contents import CALL_KEYS
from agentdbg.loops.step_window import MODEL, STATE, TOOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.loops.loop_rules import Loop
    from agentdbg.loops.step_window import Step

__all__ = ["examples", "explain"]

_CALL_KEYS = [key.encode() for key in CALL_KEYS]
_EXAMPLES = 3
_EXCERPT = 160
_NAMES_SHOWN = 4
_POLLS = "; polling is expected to repeat"
_NOTHING_SAID = ", and nothing new was said to it"


def explain(loop: Loop) -> str:
    """One sentence that says what repeats and why that is, or is not, bad. Each word of it is true of the events."""
    name, times = _name(loop.block[-1]), f"{loop.rounds} times"
    if loop.kind == "error_retry":
        return f"{name} failed the same way {times}{_quoted(loop.steps[-1].got.text)}."
    if loop.kind == "stall":
        return f"{name} was called {times} with {_what_is_near(loop)}."
    if loop.kind == "echo":
        return f"{name} gave nearly the same answer {times}, and no tool returned anything new in between."
    if [step.event_type for step in loop.block] == [STATE]:
        return f"Only the state was recorded, {times} in a row."
    why = _what_is_equal(loop) if loop.kind == "cycle" else _POLLS if loop.polling else _what_differs(loop)
    return f"{_round(loop)} repeated {times}{why}."


def examples(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Up to three of the events, each with the beginning of what was asked and what came back."""
    shown = []
    for step in steps[-_EXAMPLES:]:
        example: dict[str, Any] = {
            "event_id": step.event_id,
            "event_type": step.event_type,
            "name": _name(step),
        }
        if step.asked.text:
            example["input"] = _excerpt(step.asked.text)
        if step.got.text:
            example["error" if step.failed else "outcome"] = _excerpt(step.got.text)
        shown.append(example)
    return shown


def _round(loop: Loop) -> str:
    """What makes one round, by name."""
    names = [_name(step) for step in loop.block]
    rounds_of_names = loop.period // len(names)
    if rounds_of_names > 1:
        again = "" if len(names) == 1 else f", each {rounds_of_names} times"
        return f"The {loop.period} steps of a round ({', '.join(names)}{again})"
    if len(names) > _NAMES_SHOWN:
        return f"The {len(names)} steps {', '.join(names[: _NAMES_SHOWN - 1])}, … {names[-1]}"
    if len(names) > 1:
        return f"The steps {', '.join(names[:-1])} and {names[-1]}"
    return f"The step {names[0]}"


def _name(step: Step) -> str:
    return step.signature.partition(":")[2] or "state"


def _what_is_near(loop: Loop) -> str:
    is_same = not _differ(step.asked.key() for step in loop.steps) and not _has_ids(loop.steps)
    new = "nearly the same each time" if _differ(step.got.key() for step in loop.steps) else "nothing new"
    between = ", with other work in between" if loop.new_work else ""
    return f"{'' if is_same else 'nearly '}the same input and returned {new}{between}"


def _what_is_equal(loop: Loop) -> str:
    """What is the same in every round of a cycle: what the tools were asked and returned, else what the models said."""
    tools = [same for same in _places(loop) if same[0].event_type == TOOL]
    if not tools:
        has_prompt = any(step.question for step in loop.steps)
        return f" with the same {'answers' if loop.period > 1 else 'answer'}{_NOTHING_SAID if has_prompt else ''}"
    inputs = "the same inputs but for ids" if any(map(_has_ids, tools)) else "the same inputs"
    is_equal = not any(_differ((step.got.text, step.got.rest) for step in same) for same in tools)
    results = "the same results" if is_equal else "the same results but for ids and times"
    if all(step.event_type != MODEL for step in loop.steps):
        return f" with {inputs} and {results}"
    whose = _name(tools[0][0]) if len(tools) == 1 else "the tools"
    return f", and {whose} had {inputs} and {results}"


def _what_differs(loop: Loop) -> str:
    """Why a block of names is not a cycle."""
    places = _places(loop)
    tools = [same for same in places if same[0].event_type == TOOL]
    models = [same for same in places if same[0].event_type == MODEL]
    differing = []
    if not any(step.forgotten for step in loop.steps):
        inputs = any(_differ(step.asked.key() for step in same) for same in tools)
        results = any(_differ(step.got.key() for step in same) for same in tools)
        differing = ["inputs"] * inputs + ["results"] * results
        if not differing and any(_differ((step.asked.text, step.got.key()) for step in same) for same in models):
            differing = ["answers"]
    if not differing and any(_differ(step.question for step in same) for same in models):
        differing = ["prompts"]
    if differing:
        return f" with different {' and '.join(differing)}, so this is probably progress"
    return ", with something new from the user in between" if loop.spoken else ""


def _places(loop: Loop) -> list[list[Step]]:
    """The steps by their place in the round."""
    return [list(loop.steps[place :: loop.period]) for place in range(loop.period)]


def _differ(values: Iterator[object]) -> bool:
    """Whether not all are the same; the first that differs is enough."""
    first = next(values)
    return any(value != first for value in values)


def _has_ids(steps: Sequence[Step]) -> bool:
    """Whether what was asked may differ in an id of the single call."""
    texts = {step.asked.text for step in steps}
    return len(texts) > 1 and any(key in text for text in texts for key in _CALL_KEYS)


def _quoted(outcome: bytes) -> str:
    said = _excerpt(outcome).strip().strip('"').strip().rstrip(".")
    return f": {said}" if said else ""


def _excerpt(text: bytes) -> str:
    shown = text[: 4 * _EXCERPT].decode(errors="ignore")
    return shown if len(shown) <= _EXCERPT else shown[: _EXCERPT - 1] + "…"
