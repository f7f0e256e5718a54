"""
How the prompt grew from call to call, what made it grow, when part of it was dropped, and when it no longer fitted.

Calls are followed by conversation: one that begins with other words (a sub-agent, a planning step) is a conversation of
its own. What entered or left is told from the stored messages where they are whole.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.errors import failure_of
from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.sentences import code, line, quote
from agentdbg.analysis.wording import as_json, count_noun, tokens
from agentdbg.events import TRUNCATED
from agentdbg.events.facts import call_failed, tokens_of
from agentdbg.events.markers import has_gap

if TYPE_CHECKING:
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.analysis.sentences import VerdictPart
    from agentdbg.events import Event

__all__ = ["ContextGrowth"]

_MOST_CONVERSATIONS = 200
_WORTH_TELLING = 4_000
"""A prompt that grew by fewer tokens than this is nothing to tell."""
_DROPPED_SHARE = 0.6
_DROPPED_TOKENS = 1_000
_KEPT_CALLS = 50
_KEPT_DROPS = 5
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|limit)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|(?:input|prompt|request).{0,30}(?:exceeds|too large|too long).{0,40}(?:tokens?|context)"
    r"|reduce the length of the (?:messages|input)|string_above_max_length",
    re.IGNORECASE,
)


@dataclass
class _Call:
    number: int
    event_id: str
    tokens: int | None
    messages: list[Any] | None
    tool: tuple[int, str] | None
    """The latest tool call before it."""


@dataclass
class _Step:
    """From one call of a conversation to the next: how much the prompt grew, and what entered and left it."""

    grown: int | None
    before: _Call
    call: _Call
    entered: list[str] | None
    """The roles of the messages that entered; None where the stored messages are not whole."""
    left: int | None


@dataclass
class _Conversation:
    first: _Call
    last: _Call
    largest: _Call
    calls: int = 1
    jump: _Step | None = None
    drops: list[_Step] = field(default_factory=list)
    drop_count: int = 0


class ContextGrowth:
    """Follows the size of prompts."""

    types = frozenset({"LLM_CALL", "TOOL_CALL", "STATE_UPDATE"})

    def __init__(self) -> None:
        self._conversations: dict[Any, _Conversation] = {}
        self._latest_tool: tuple[int, str] | None = None
        self._series: list[dict[str, int]] = []
        self._condensed = Evidence()
        self._refused: tuple[Evidence, Event, str] | None = None

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if event["event_type"] == "TOOL_CALL":
            self._latest_tool = (number, event["name"])
        elif event["event_type"] == "STATE_UPDATE":
            if event["name"] in ("condensation", "compaction", "summarization"):
                self._condensed.add(number, event["event_id"])
        elif call_failed(payload):
            self._refusal(number, event, payload)
        else:
            self._call(number, event, payload)

    def finish(self, end: RunEnd) -> list[Finding]:  # noqa: ARG002
        found = [finding for each in self._conversations.values() for finding in _told(each)]
        growth = [finding for finding in found if finding.kind == "context_growth"]
        # Of many conversations that grew, the one that grew most.
        kept = max(growth, key=lambda finding: finding.figures["to_tokens"], default=None)
        found = [finding for finding in found if finding.kind != "context_growth" or finding is kept]
        if kept is not None:
            kept.figures["prompt_tokens"] = self._series
        if self._condensed.count:
            said = line(
                self._condensed.numbers[0], f"The context was condensed {count_noun(self._condensed.count, 'time')}."
            )
            found.append(Finding("context_dropped", "info", said, self._condensed))
        if self._refused is not None:
            evidence, event, text = self._refused
            said = line(evidence.numbers[0], code(event["name"]), " refused a prompt that is too long: ", quote(text))
            found.append(Finding("context_too_long", "critical", said, evidence))
        return found

    def _refusal(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        text = failure_of(payload).text
        if not _TOO_LONG.search(text):
            return
        if self._refused is None:
            self._refused = (Evidence(), event, text)
        self._refused[0].add(number, event["event_id"])

    def _call(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        size = tokens_of(payload).given
        messages = _messages(payload.get("prompt"))
        if size is None and messages is None:
            return
        if size is not None and len(self._series) < _KEPT_CALLS:
            self._series.append({"event": number, "tokens": size})
        call = _Call(number, event["event_id"], size, messages, self._latest_tool)
        key = (event["name"], event.get("parent_id") if messages is None else _opening(messages))
        known = self._conversations.get(key)
        if known is None:
            if len(self._conversations) < _MOST_CONVERSATIONS:
                self._conversations[key] = _Conversation(call, call, call)
            return
        _compare(known, call)


def _compare(known: _Conversation, call: _Call) -> None:
    before = known.last
    known.calls += 1
    if call.tokens is not None and before.tokens is not None:
        grown = call.tokens - before.tokens
        if known.jump is None or known.jump.grown is None or grown > known.jump.grown:
            known.jump = _step(before, call)
        if -grown > _DROPPED_TOKENS and call.tokens < before.tokens * _DROPPED_SHARE:
            _note_drop(known, before, call)
    elif _is_shorter(before, call):
        _note_drop(known, before, call)
    if call.tokens is not None and (known.largest.tokens is None or call.tokens > known.largest.tokens):
        known.largest = call
    # Only neighbours are compared, so the messages of the call before are let go.
    before.messages = None
    known.last = call


def _note_drop(known: _Conversation, before: _Call, call: _Call) -> None:
    known.drop_count += 1
    if len(known.drops) < _KEPT_DROPS:
        known.drops.append(_step(before, call))


def _step(before: _Call, call: _Call) -> _Step:
    grown = None if call.tokens is None or before.tokens is None else call.tokens - before.tokens
    if before.messages is None or call.messages is None or not (_are_whole(before) and _are_whole(call)):
        return _Step(grown, before, call, None, None)
    earlier = Counter(as_json(message) for message in before.messages)
    later = Counter(as_json(message) for message in call.messages)
    entered = [
        str(message.get("role") or "message") if isinstance(message, dict) else "message"
        for message in call.messages
        if as_json(message) not in earlier
    ]
    return _Step(grown, before, call, entered, sum((earlier - later).values()))


def _told(known: _Conversation) -> list[Finding]:
    found = []
    first, largest = known.first.tokens, known.largest.tokens
    if first is not None and largest is not None and largest - first >= _WORTH_TELLING and known.calls > 1:
        found.append(_growth_finding(known, first, largest))
    if known.drops:
        found.append(_drop_finding(known))
    return found


def _growth_finding(known: _Conversation, first: int, largest: int) -> Finding:
    evidence = Evidence()
    for call in (known.first, known.largest):
        evidence.add(call.number, call.event_id)
    pieces: list[str | VerdictPart] = [
        f"The prompt grew from {tokens(first)} to {tokens(largest)} tokens over {known.calls:,} calls"
    ]
    figures: dict[str, Any] = {"from_tokens": first, "to_tokens": largest, "calls": known.calls}
    jump = known.jump
    if jump is not None and jump.grown is not None and jump.grown * 3 > largest - first and known.calls > 2:
        pieces.append(f", {tokens(jump.grown)} of them at #{jump.call.number}")
        figures["largest_step"] = {"event": jump.call.number, "tokens": jump.grown, "entered": jump.entered}
        if jump.call.tool is not None and jump.before.number < jump.call.tool[0]:
            pieces += [", after ", code(jump.call.tool[1]), f" #{jump.call.tool[0]}"]
    return Finding("context_growth", "info", line(known.largest.number, *pieces, "."), evidence, figures)


def _drop_finding(known: _Conversation) -> Finding:
    step = known.drops[0]
    before, call = step.before, step.call
    evidence = Evidence()
    for drop in known.drops:
        evidence.add(drop.call.number, drop.call.event_id)
    evidence.count = known.drop_count
    said = f"Part of the context was dropped between #{before.number} and #{call.number}"
    figures: dict[str, Any] = {"before_event": before.number, "left": step.left, "entered": step.entered}
    facts = []
    if call.tokens is not None and before.tokens is not None:
        facts.append(f"from {tokens(before.tokens)} to {tokens(call.tokens)} tokens")
        figures.update(from_tokens=before.tokens, to_tokens=call.tokens)
    if step.left is not None and step.entered is not None:
        facts.append(f"{count_noun(step.left, 'message')} left and {len(step.entered):,} entered")
    often = "" if known.drop_count == 1 else f" It happened {known.drop_count:,} times."
    return Finding(
        "context_dropped", "info", line(call.number, f"{said}: {', '.join(facts)}.{often}"), evidence, figures
    )


def _is_shorter(before: _Call, call: _Call) -> bool:
    """Whether a prompt has fewer messages than the one before it, as far as both are stored whole."""
    if before.messages is None or call.messages is None or len(call.messages) >= len(before.messages):
        return False
    return not has_gap(before.messages) and not has_gap(call.messages)


def _are_whole(call: _Call) -> bool:
    """Whether every message is stored as it was: of a long prompt some are missing, and others in part."""
    return TRUNCATED not in as_json(call.messages)


def _messages(prompt: Any) -> list[Any] | None:
    if isinstance(prompt, dict):
        prompt = prompt.get("messages")
    return prompt if isinstance(prompt, list) and prompt else None


def _opening(messages: list[Any]) -> int:
    """What a conversation begins with: its instructions and the first thing that was asked."""
    head = []
    for message in messages[:3]:
        if isinstance(message, dict):
            content = message.get("content")
            head.append(content[:300] if isinstance(content, str) else as_json(content)[:300])
            if message.get("role") == "user":
                break
    return hash(tuple(head))
