"""
One event in full as a section of Markdown: what went in, what came out, what went wrong.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.run_columns import CALL_START, EXCEPTION, LLM, LOOP, TOOL
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_text, duration, tokens
from agentdbg.events.facts import tokens_of
from agentdbg.events.markers import in_words
from agentdbg.interop.exports.markdown_text import code, cut_middle, fenced

if TYPE_CHECKING:
    from agentdbg.events import Event

__all__ = ["event_section"]

_LAST_MESSAGES = 2


def event_section(number: int, event: Event, kind: int, limit: int) -> str:
    """The section; no text in it is longer than about `limit` characters."""
    payload = event["payload"]
    facts = [code(event["event_type"], 60)]
    if event["duration_ms"] is not None:
        facts.append(duration(event["duration_ms"]))
    parts: list[str] = []
    if kind == LLM:
        total = tokens_of(payload).total
        facts += [f"{tokens(total)} tokens"] if total is not None else []
        parts += _model_call(payload, limit)
    elif kind == TOOL:
        parts += _block("**arguments**", payload.get("args"), limit)
        parts += [] if payload.get("error") else _block("**result**", payload.get("result"), limit)
    elif kind == CALL_START:
        facts.append("never returned")
        parts += _block("**input**", payload.get("input"), limit)
    elif kind == LOOP:
        parts += _block("**explanation**", payload.get("explanation"), limit)
    elif kind != EXCEPTION:
        parts += _block("**payload**", payload, limit)
    if kind == EXCEPTION or payload.get("error"):
        failure = failure_of(payload)
        facts.append("failed")
        parts += _block("**error**", failure.text, limit)
        parts += _block("**stack**", failure.stack, limit)
    name = payload.get("name") if kind == CALL_START else event["name"]
    title = f"### `#{number}` {code(as_text(name), 120)}\n\n{' · '.join(facts)}"
    source = payload.get("source")
    title += f", recorded at {code(source, 200)}" if isinstance(source, str) and source else ""
    return "\n\n".join([title, *parts])


def _model_call(payload: dict[str, Any], limit: int) -> list[str]:
    """The last messages of the prompt, which are what was new, and the answer."""
    turns = conversation.turns(payload.get("prompt"))
    messages = [turn for turn in turns if not turn.missing]
    parts = [f"Of the prompt, {turn.missing}." for turn in turns if turn.missing]
    if len(messages) > _LAST_MESSAGES:
        noun = "messages" if len(messages) == len(turns) else "recorded messages"
        parts.append(f"The prompt has {len(messages):,} {noun}; these are its last {_LAST_MESSAGES}.")
    for message in messages[-_LAST_MESSAGES:]:
        parts += _block(code(message.role or "message", 40), _turn_text(message), limit)
    if payload.get("error"):
        return parts
    said = _turn_text(conversation.answer(payload.get("response")))
    return parts + _block("**answer**", said or payload.get("response"), limit)


def _turn_text(turn: conversation.Turn) -> str:
    calls = [f"calls {call.name}({_readable(call.args)})" for call in turn.calls]
    return "\n".join([turn.text, *calls] if turn.text else calls)


def _block(title: str, value: Any, limit: int) -> list[str]:
    if value is None or value in ("", {}, []):
        return []
    return [f"{title}\n\n{fenced(cut_middle(_readable(value), limit))}"]


def _readable(value: Any) -> str:
    """Prose as it is, JSON with its lines broken, and words where something was not stored."""
    value = in_words(parse_embedded(value))
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, indent=2 if len(str(value)) > 80 else None, default=str)
    except (ValueError, TypeError, RecursionError):
        return "a value too large to print"
