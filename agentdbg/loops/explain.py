"""
Put a loop into words and figures: the sentence for a person, the examples, and what it has cost so far.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.loops.findings import Kind
    from agentdbg.loops.steps import Step

__all__ = ["examples", "explain", "seconds_between"]

_EXAMPLES = 3
_EXCERPT = 160
_NAMES_SHOWN = 4


def explain(kind: Kind, block: Sequence[Step], repetitions: int, *, polling: bool, new_work: bool) -> str:
    """One sentence that says what repeats and why that is, or is not, bad."""
    name, times = _name(block[-1]), f"{repetitions} times"
    if kind == "cycle":
        return f"{_steps(block)} repeated {times} with the same inputs and the same results."
    if kind == "error_retry":
        return f"{name} failed the same way {times}{_quoted(block[-1].got.text)}."
    if kind == "stall":
        between = ", with other work in between" if new_work else ""
        return f"{name} was called {times} with nearly the same input and brought nothing new{between}."
    if kind == "echo":
        return f"{name} gave nearly the same answer {times} and nothing new happened in between."
    if polling:
        return f"{_steps(block)} repeated {times}; polling is expected to repeat."
    return f"{_steps(block)} repeated {times} with differing {_what_differs(block)}, so work is probably going on."


def examples(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Up to three of the events, each with the beginning of what was asked and what came back."""
    shown = []
    for step in steps[-_EXAMPLES:]:
        example: dict[str, Any] = {
            "event_id": step.event_id,
            "event_type": step.signature.partition(":")[0],
            "name": _name(step),
        }
        if step.asked.text:
            example["input"] = _excerpt(step.asked.text)
        if step.got.text:
            example["error" if step.failed else "outcome"] = _excerpt(step.got.text)
        shown.append(example)
    return shown


def seconds_between(earlier: str, later: str) -> float | None:
    """Seconds from one timestamp to another; None when either cannot be read."""
    try:
        start, end = (datetime.fromisoformat(ts.replace("Z", "+00:00")) for ts in (earlier, later))
        return round(max((end - start).total_seconds(), 0.0), 3)
    except (AttributeError, TypeError, ValueError):
        return None


def _steps(block: Sequence[Step]) -> str:
    names = [_name(step) for step in block]
    if len(names) > _NAMES_SHOWN:
        return f"The {len(names)} steps {', '.join(names[: _NAMES_SHOWN - 1])}, … {names[-1]}"
    if len(names) > 1:
        return f"The steps {', '.join(names[:-1])} and {names[-1]}"
    return f"The step {names[0]}"


def _name(step: Step) -> str:
    return step.signature.partition(":")[2] or "state"


def _what_differs(block: Sequence[Step]) -> str:
    if any(step.kind == "tool" for step in block):
        return "inputs or results"
    return "answers" if any(step.kind == "model" for step in block) else "states"


def _quoted(outcome: bytes) -> str:
    said = _excerpt(outcome).strip().strip('"').strip().rstrip(".")
    return f": {said}" if said else ""


def _excerpt(text: bytes) -> str:
    shown = text[: 4 * _EXCERPT].decode(errors="ignore")
    return shown if len(shown) <= _EXCERPT else shown[: _EXCERPT - 1] + "…"
