"""
What becomes of spans that tell of a call which another span has told: they stay, as plain spans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.interop.drafts import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.interop.drafts import Step
    from agentdbg.receiver.trace_run import Arrived

__all__ = ["as_plain_span", "fill_from_around"]

_FILLED = ("prompt", "response", "usage", "tools", "temperature", "stop_reason")


def as_plain_span(step: Step, name: str) -> Step:
    """A call as the stretch of work around the same call, under the name its instrumentation gave it."""
    fields = step.fields
    is_model = step.event_type == "LLM_CALL"
    made = span(
        name,
        error=fields["error"],
        input=fields["prompt" if is_model else "args"],
        output=fields["response" if is_model else "result"],
        at_ms=step.at_ms,
        duration_ms=step.duration_ms,
        key=step.key,
        parent=step.parent,
    )
    made.meta["same_call"] = True
    return made


def fill_from_around(arrived: Sequence[Arrived]) -> None:
    """
    Give a model call what only the span around it says, where both have come together.

    Some instrumentations leave the messages out, and the one around the same call may have them.
    """
    models = {item.event_id: item.step for item in arrived if item.step.event_type == "LLM_CALL"}
    inside: dict[str, list[Step]] = {}
    for item in arrived:
        if item.event_id in models and item.parent_id in models and not item.step.is_told:
            inside.setdefault(item.parent_id, []).append(item.step)
    for around, steps in inside.items():
        if len(steps) == 1:  # else the answers of several calls stand there as one
            told, known = steps[0].fields, models[around].fields
            told.update({key: known[key] for key in _FILLED if told.get(key) is None and known.get(key) is not None})
