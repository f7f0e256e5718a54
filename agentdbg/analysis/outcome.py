"""
What a run was asked and what it answered, wherever that was recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.columns import TOOL
from agentdbg.analysis.stats import payload_of
from agentdbg.analysis.values import argument_text, outcome_of, plain_text
from agentdbg.analysis.wording import one_line

if TYPE_CHECKING:
    from agentdbg.analysis.stats import Tally

__all__ = ["ANSWER_TOOLS", "final_answer", "first_request", "spoken"]

_ANSWER_KEYS = ("answer", "final_answer", "output", "result", "response", "content", "text", "message", "summary")
ANSWER_TOOLS = frozenset({"final_answer", "finish", "submit", "answer", "respond", "done", "complete"})


def final_answer(tally: Tally, limit: int = 300) -> str | None:
    """The run's answer on one line: what it returned, else what the model said last, else what it handed in."""
    columns = tally.columns
    if tally.end is not None:
        returned = spoken(payload_of(columns.event(tally.end)).get("result"))
        if returned:
            return one_line(returned, limit)
    if tally.last_llm is not None:
        said = conversation.answer(payload_of(columns.event(tally.last_llm)).get("response"))
        if said.text.strip() and not said.calls:
            return one_line(said.text, limit)
    if tally.last_call is not None and columns.kind[tally.last_call - 1] == TOOL:
        event = columns.event(tally.last_call)
        if event["name"] in ANSWER_TOOLS:
            payload = payload_of(event)
            handed_in = spoken(payload.get("args")) or spoken(payload.get("result"))
            return one_line(handed_in, limit) if handed_in else None
    return None


def spoken(result: Any) -> str | None:
    """A value as an answer; None for what is a sign of success rather than an answer."""
    if isinstance(result, str):
        return result.strip() or None
    if result is None or isinstance(result, bool) or result in ([], {}):
        return None
    if isinstance(result, dict):
        for key in _ANSWER_KEYS:
            if isinstance(result.get(key), str) and result[key].strip():
                return str(result[key])
        if isinstance(result.get("messages"), list):
            said = [turn for turn in conversation.turns(result, last=1) if turn.role == "assistant"]
            return said[0].text or None if said else None
    return plain_text(outcome_of(result, room=300))


def first_request(tally: Tally, limit: int = 1_000) -> str | None:
    """What the run was asked: the first user message, else the arguments of the traced function."""
    columns = tally.columns
    if tally.first_llm is not None:
        for turn in conversation.turns(payload_of(columns.event(tally.first_llm)).get("prompt")):
            if turn.role == "user" and turn.text.strip():
                return one_line(turn.text, limit)
    if tally.start is not None:
        payload = payload_of(columns.event(tally.start))
        given = {**_keyed(payload.get("args")), **_keyed(payload.get("kwargs"))}
        return argument_text(given, limit) if given else None
    return None


def _keyed(args: Any) -> dict[str, Any]:
    if isinstance(args, dict):
        return args
    return {str(position): item for position, item in enumerate(args)} if isinstance(args, list) else {}
