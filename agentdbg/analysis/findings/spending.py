"""
Where time and tokens went: prompts that grew, were cut or no longer fitted, loops, and the steps that took longest.

Calls are followed by conversation: one that begins with other words (a sub-agent, a planning step) is a conversation of
its own. What entered or left is told from the stored messages where they are whole. Loops are those the recorder found
while the run went on, or, for a run that nobody judged, what the detector finds now. Calls that overlap are counted
once, so parallel work does not add up to more than the run.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.findings.evidence import Evidence, Finding, severity_rank
from agentdbg.analysis.stats import Coverage
from agentdbg.analysis.wording import as_json, code, count_noun, duration, line, one_line, quote, timestamp_ms, tokens
from agentdbg.events import TRUNCATED
from agentdbg.events.facts import call_failed, tokens_of
from agentdbg.events.markers import has_gap
from agentdbg.loops import LoopDetector

if TYPE_CHECKING:
    from agentdbg.analysis.findings.evidence import RunEnd, Severity
    from agentdbg.analysis.wording import VerdictPart
    from agentdbg.events import Event

__all__ = ["ContextGrowth", "LoopWarnings", "TimeSpent"]

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
class _Growth:
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
    jump: _Growth | None = None
    drops: list[_Growth] = field(default_factory=list)
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

    def finish(self, _end: RunEnd) -> list[Finding]:
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


def _step(before: _Call, call: _Call) -> _Growth:
    grown = None if call.tokens is None or before.tokens is None else call.tokens - before.tokens
    if before.messages is None or call.messages is None or not (_are_whole(before) and _are_whole(call)):
        return _Growth(grown, before, call, None, None)
    earlier = Counter(as_json(message) for message in before.messages)
    later = Counter(as_json(message) for message in call.messages)
    entered = [
        str(message.get("role") or "message") if isinstance(message, dict) else "message"
        for message in call.messages
        if as_json(message) not in earlier
    ]
    return _Growth(grown, before, call, entered, sum((earlier - later).values()))


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


class LoopWarnings:
    """Collects the findings of warning and up."""

    types = frozenset({"RUN_START", "LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "LOOP_WARNING"})

    def __init__(self) -> None:
        self._detector: LoopDetector | None = LoopDetector()
        self._told: list[tuple[int, dict[str, Any]]] = []
        self._number = 0

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        self._number = number
        if event["event_type"] == "RUN_START":
            if payload.get("agentdbg_version"):
                self._detector = None  # a run of ours was judged while it was written
        elif event["event_type"] == "LOOP_WARNING":
            self._detector = None
            self._told.append((number, payload))
        elif self._detector is not None:
            finding = self._detector.observe(event)
            if finding is not None:
                self._told.append((number, finding.payload()))

    def finish(self, _end: RunEnd) -> list[Finding]:
        if self._detector is not None and (held := self._detector.finish()) is not None:
            self._told.append((self._number, held.payload()))
        found = [_finding(number, payload) for number, payload in self._told if _severity(payload) != "info"]
        return [finding for finding in found if not any(_outgrew(other, finding) for other in found)]


def _finding(number: int, payload: dict[str, Any]) -> Finding:
    explanation = one_line(str(payload.get("explanation") or payload.get("pattern") or "The run repeats itself."), 300)
    ids = payload.get("evidence_event_ids")
    evidence = Evidence([number], [str(item) for item in ids[:20]] if isinstance(ids, list) else [], 0)
    evidence.count = len(ids) if isinstance(ids, list) else 0
    figures: dict[str, Any] = {
        key: payload[key] for key in ("kind", "pattern", "repetitions", "spent") if payload.get(key) is not None
    }
    return Finding("loop", _severity(payload), line(number, explanation), evidence, figures)


def _outgrew(later: Finding, earlier: Finding) -> bool:
    """Whether a loop turned out to be a worse one: its calls are part of those of a more severe finding."""
    calls = [set(str(finding.figures.get("pattern")).split(" -> ")) for finding in (later, earlier)]
    return severity_rank(later.severity) > severity_rank(earlier.severity) and calls[1] <= calls[0]


def _severity(payload: dict[str, Any]) -> Severity:
    severity = payload.get("severity")
    return severity if severity in ("info", "critical") else "warning"


_SLOWEST = 5
_NAMED = 3
_WORTH_TELLING_MS = 1_000


class TimeSpent:
    """Adds up calls and keeps the longest."""

    types = frozenset({"RUN_START", "LLM_CALL", "TOOL_CALL"})

    def __init__(self) -> None:
        self._began = 0
        self._model = Coverage()
        self._busy = Coverage()
        self._slowest: list[tuple[int, int, str, str]] = []
        self._timed = 0
        self._untimed_models = 0

    def observe(self, number: int, event: Event, _payload: dict[str, Any]) -> None:
        length = event.get("duration_ms")
        if event["event_type"] == "RUN_START":
            self._began = timestamp_ms(event.get("ts")) or 0
            return
        if not isinstance(length, int) or length < 0:
            self._untimed_models += event["event_type"] == "LLM_CALL"
            return
        self._timed += 1
        end = max((timestamp_ms(event.get("ts")) or 0) - self._began, length)
        self._busy.add(end - length, end)
        if event["event_type"] == "LLM_CALL":
            self._model.add(end - length, end)
        step = (length, -number, event["name"], event["event_id"])
        if len(self._slowest) < _SLOWEST:
            heapq.heappush(self._slowest, step)
        elif step > self._slowest[0]:
            heapq.heapreplace(self._slowest, step)

    def finish(self, end: RunEnd) -> list[Finding]:
        whole = end.duration_ms
        # Where the model's calls have no times, what the rest took would look like all there was.
        if not whole or not self._timed or whole < _WORTH_TELLING_MS or self._untimed_models:
            return []
        model, busy = min(self._model.total, whole), min(self._busy.total, whole)
        shares = {"model_ms": model, "tool_ms": busy - model, "own_ms": whole - busy}
        slowest = sorted(self._slowest, reverse=True)
        evidence = Evidence()
        for _, number, _, event_id in slowest:
            evidence.add(-number, event_id)
        steps = [{"event": -number, "name": name, "duration_ms": length} for length, number, name, _ in slowest]
        pieces: list[str | VerdictPart] = [f"Of {duration(whole)}, {_in_words(shares, whole)}. The slowest: "]
        for position, (length, number, name, _) in enumerate(slowest[:_NAMED]):
            pieces += [", " if position else "", code(name), f" #{-number} {duration(length)}"]
        figures: dict[str, Any] = {**shares, "duration_ms": whole, "slowest": steps}
        return [Finding("time_spent", "info", line(-slowest[0][1], *pieces, "."), evidence, figures)]


def _in_words(shares: dict[str, int], whole: int) -> str:
    words = {"model_ms": "the model took", "tool_ms": "tools", "own_ms": "everything else"}
    said = [(name, round(100 * shares[key] / whole)) for key, name in words.items()]
    shown = [f"{name} {share} %" for name, share in said if share]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
