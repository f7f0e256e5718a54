"""One event in full, the way a person reads it: a conversation, a call, an error, a state, or plain JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.run_columns import ERROR, EXCEPTION, LLM, TOOL
from agentdbg.analysis.stats import payload_of
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_text, duration, grouped
from agentdbg.commands.row_lines import print_row
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.commands.times import local_time
from agentdbg.events.markers import in_words, text_in_words

if TYPE_CHECKING:
    from agentdbg.analysis.rows import Row
    from agentdbg.commands.opened import OpenedRun

__all__ = ["print_event"]


def print_event(out: Terminal, opened: OpenedRun, number: int) -> None:
    """Print everything an event holds, nothing cut."""
    event = opened.index.event(number)
    row = opened.builder.row(number, running=opened.is_live)
    payload, kind = payload_of(event), opened.index.kind[number - 1]
    print_row(out, row)
    out.sentence(Styled(_facts(row), "muted"), indent=5)
    out.line(Styled(f"     {row['event_type']} {row['event_id']}", "muted"), cut=False)
    if kind == LLM:
        _print_conversation(out, payload)
    elif kind == TOOL:
        _print_value(out, "arguments", payload.get("args"))
        if payload.get("error") is None:
            _print_value(out, "result", payload.get("result"))
    if opened.index.status[number - 1] == ERROR:
        _print_failure(out, payload)
    if kind not in (LLM, TOOL, EXCEPTION):
        _print_value(out, "payload", payload)
    if event.get("meta"):
        _print_value(out, "meta", event["meta"])


def _facts(row: Row) -> str:
    said = [local_time(row["ts"])]
    if row["duration_ms"] is not None:
        said.append(duration(row["duration_ms"]))
    if row["tokens_in"] is not None or row["tokens_out"] is not None:
        said.append(f"{grouped(row['tokens_in'] or 0)} tokens in, {grouped(row['tokens_out'] or 0)} out")
    if row["cost_usd"] is not None:
        said.append(f"${row['cost_usd']:.6g}")
    if row["source"]:
        said.append(row["source"])
    if row["parent_n"]:
        said.append(f"inside #{row['parent_n']}")
    return " · ".join(said)


def _print_conversation(out: Terminal, payload: dict[str, Any]) -> None:
    for turn in conversation.turns(payload.get("prompt")):
        if turn.missing:
            out.line()
            out.line(Styled(f"… {turn.missing} …", "muted"), indent=3)
        else:
            _print_turn(out, turn, turn.role or "message", "accent" if turn.role == "user" else "muted")
    if payload.get("response") is not None:
        said = conversation.answer(payload["response"])
        if said.text or said.calls:
            _print_turn(out, said, "answer", "llm")
        else:
            _print_value(out, "answer", payload["response"])


def _print_turn(out: Terminal, turn: conversation.Turn, title: str, style: str) -> None:
    _title(out, title, style)
    if turn.text:
        out.block(text_in_words(turn.text.strip()), indent=5)
    for call in turn.calls:
        out.line(Styled(f"calls {call.name}", "tool"), indent=5, cut=False)
        if call.args:
            out.block(_pretty(in_words(call.args)), indent=7)


def _print_failure(out: Terminal, payload: dict[str, Any]) -> None:
    failure = failure_of(payload)
    _title(out, "error", "error")
    out.block(failure.text, indent=5, style="error")
    if failure.stack:
        out.block(failure.stack.rstrip(), indent=5)
    details = payload.get("details")
    if details:
        _print_value(out, "details", details)


def _print_value(out: Terminal, title: str, value: Any) -> None:
    _title(out, title, "muted")
    value = in_words(parse_embedded(value))
    out.block(value if isinstance(value, str) else _pretty(value), indent=5)


def _title(out: Terminal, text: str, style: str) -> None:
    out.line()
    out.line(Styled(text, style), indent=3)


def _pretty(value: Any) -> str:
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except ValueError:
        return as_text(value) if not isinstance(value, (dict, list)) else "a value too large to print"
