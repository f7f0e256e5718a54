"""
Answers that are none: cut off at the model's limit, missing at the end of the run, or given after a tool gave nothing.

The last is said only of the answer that follows directly, when it asks for no other tool, in words neither, and has
nothing about what was missing. Tools that merely do something (send, save) rightly give nothing, so an empty
result counts only for a tool that is meant to give something: its name says so, or it did before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.empty_results import is_empty, opened
from agentdbg.analysis.findings.evidence import Evidence, Finding
from agentdbg.analysis.result_signs import error_in_result
from agentdbg.analysis.run_answer import asks_in_words, last_word, reads_something
from agentdbg.analysis.text_facts import facts_in
from agentdbg.analysis.wording import as_text, code, cut, line, one_line, quote
from agentdbg.events.facts import call_failed, is_span

if TYPE_CHECKING:
    from agentdbg.analysis.findings.evidence import RunEnd, Severity
    from agentdbg.analysis.run_answer import Numbered
    from agentdbg.events import Event

__all__ = ["CutAnswers", "EndingsWithoutAnswer", "UnusableResults"]

_CUT = ("length", "max_tokens", "max_output_tokens", "model_length", "MAX_TOKENS")


class CutAnswers:
    """Counts the model calls whose answer was cut off."""

    types = frozenset({"LLM_CALL"})

    def __init__(self) -> None:
        self._cut: dict[str, Evidence] = {}

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if payload.get("stop_reason") in _CUT:
            self._cut.setdefault(event["name"], Evidence()).add(number, event["event_id"])

    def finish(self, _end: RunEnd) -> list[Finding]:
        found = []
        for name, evidence in self._cut.items():
            number = evidence.numbers[0]
            often = "" if evidence.count == 1 else f", the first of {evidence.count:,}"
            said = line(number, "An answer of ", code(name), f" was cut off at the limit of its length{often}.")
            found.append(Finding("answer_cut", "warning", said, evidence))
        return found


class EndingsWithoutAnswer:
    """Remembers the last calls of the run."""

    types = frozenset({"LLM_CALL", "TOOL_CALL", "RUN_END", "STATE_UPDATE"})

    def __init__(self) -> None:
        self._model: Numbered | None = None
        self._last: Numbered | None = None
        self._span: Numbered | None = None
        self._end: Numbered | None = None
        self._uses_tools = False

    def observe(self, number: int, event: Event, _payload: dict[str, Any]) -> None:
        if event["event_type"] == "RUN_END":
            self._end = (number, event)
            return
        if event["event_type"] == "STATE_UPDATE":
            if is_span("STATE_UPDATE", event.get("meta")):
                self._span = (number, event)
            return
        self._last = (number, event)
        if event["event_type"] == "LLM_CALL":
            self._model = self._last
        else:
            self._uses_tools = True

    def finish(self, end: RunEnd) -> list[Finding]:
        if self._end is None or end.is_running or end.run_failed:
            return []
        found = last_word(self._end, self._model, self._last, self._span, uses_tools=self._uses_tools)
        if found is None or found.severity is None:
            return []
        evidence = Evidence()
        for place in (self._end, self._last):
            if place is not None and place[0] == found.line["n"]:
                evidence.add(place[0], place[1]["event_id"])
        return [Finding(found.kind, found.severity, found.line, evidence)]


# Any of these in an answer may be how it says that something was missing; then nothing is claimed.
_ADMITS = re.compile(
    r"\b(?:no|not|none|nothing|never|neither|without|unable|cannot|fail\w*|errors?|unfortunately|sorry|apolog\w*|empty"
    r"|invalid|missing|issues?|problems?|however|instead|retry|again|unavailable|unsuccessful|unknown|only|but|try"
    r"|unclear|0|zero|declin\w+|den(?:y|ied|ies)|refus\w+|reject\w+|expir\w+|block(?:s|ed)|crash\w*"
    r"|time(?:d |-)?out|offline|insufficient|exceed\w*|limit\w*|wrong|trouble|later)\b"
    r"|\bout of (?:stock|order|date)\b|n['\u2019]t\b|\u274c",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"\b(?:the|is|are|you|your|has|have|was|for|and|of|to|all|done|been|it|with|we|this|that|here|success\w*|completed?)\b",
    re.IGNORECASE,
)
_NOTHING = "gave nothing"
_MOST_GIVEN, _LONGEST_READ = 20_000, 4_000
_LONG_WORD = re.compile(r"[^\W\d_]{5,}|\b[a-z]+\d+\b")
_ENOUGH_READ = 2
_BETTER_NONE = re.compile(
    r"(?:^|_|(?<=[a-z]))(?:alarm|alert|bug|conflict|defect|due|error|failed|failure|incident|issue|open|outage|outstanding"
    r"|overdue|pending|problem|unpaid|unread|violation|vulnerabilit(?:y|ie)|warning)s?(?:$|_|(?=[A-Z]))",
    re.IGNORECASE,
)
"""A tool that looks for what nobody wants: nothing is an answer."""
_SHORTEST_ANSWER = 20
_MOST_TOOLS = 1_000
_MOST_HOMES = 1_000
_MOST_WAITING = 100


class UnusableResults:
    """Waits after each tool that gave nothing for what the model, or the program at its end, makes of it."""

    types = frozenset({"LLM_CALL", "RUN_END", "TOOL_CALL"})

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Event, str]] = []
        self._homes: dict[str, str | None] = {}
        self._gave_something: set[str] = set()
        self._found: list[Finding] = []
        self._words: tuple[str, list[tuple[int, Event, str]]] = ("", [])
        """What the last finding is said of, as long as no model was asked since, and what it waited for."""

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if event["event_type"] == "TOOL_CALL":
            if self._words[0] and asks_in_words(self._words[0], event):
                self._found.pop()
                self._waiting = self._words[1]
                self._words = ("", [])
            self._tool(number, event, payload)
        elif event["event_type"] == "RUN_END":
            self._last_word(number, event, payload.get("result"))
        else:
            self._remember_home(event)
            self._words = ("", [])
            if self._waiting and not call_failed(payload):
                self._answer(number, event, payload)

    def finish(self, _end: RunEnd) -> list[Finding]:
        return self._found

    def _tool(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        name, result = event["name"], payload.get("result")
        del self._waiting[:-_MOST_WAITING]
        # Another result beside it, or a second try that worked: the answer has something to go by.
        if call_failed(payload):
            self._waiting.append((number, event, f"failed: {failure_of(payload).text}"))
        elif error := error_in_result(result):
            self._waiting.append((number, event, f"gave an error: {error}"))
        elif not is_empty(result):
            self._waiting = []
            if len(self._gave_something) < _MOST_TOOLS:
                self._gave_something.add(name)
        elif (name in self._gave_something or reads_something(name)) and not _BETTER_NONE.search(name):
            self._waiting.append((number, event, _NOTHING))
        else:
            self._waiting = []

    def _remember_home(self, event: Event) -> None:
        if len(self._homes) >= _MOST_HOMES:
            del self._homes[next(iter(self._homes))]
        self._homes[event["event_id"]] = event.get("parent_id")

    def _is_at_home(self, tool: Event, answer: Event) -> bool:
        """Whether a tool was used by the agent that answers: both under one span, the tool perhaps under its call."""
        parent = tool.get("parent_id")
        return answer.get("parent_id") in (parent, self._homes.get(parent) if parent else None)

    def _answer(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        waiting = [entry for entry in self._waiting if self._is_at_home(entry[1], event)]
        self._waiting = [entry for entry in self._waiting if entry not in waiting]
        if waiting:
            self._judge_answer(waiting, number, event, payload)

    def _last_word(self, number: int, event: Event, result: Any) -> None:
        """No model was asked any more: what the program returned is the answer, however short."""
        failed = [entry for entry in self._waiting if entry[2] != _NOTHING and self._is_at_home(entry[1], event)]
        if failed and isinstance(result, str):
            self._judge_text(failed, number, event, result)

    def _judge_answer(
        self, waiting: list[tuple[int, Event, str]], number: int, event: Event, payload: dict[str, Any]
    ) -> None:
        said = conversation.answer(payload.get("response"))
        known = len(self._found)
        if not said.calls and len(said.text) >= _SHORTEST_ANSWER:
            self._judge_text(waiting, number, event, said.text, _given(payload.get("prompt")))
        if len(self._found) > known:
            self._words = (said.text, waiting)

    def _judge_text(
        self, waiting: list[tuple[int, Event, str]], number: int, event: Event, text: str, given: str = ""
    ) -> None:
        at, tool, what = waiting[-1]
        if _ADMITS.search(text) or not _ENGLISH.search(text) or _has_read(tool, text):
            return
        evidence = Evidence()
        for found, gave, _ in waiting:
            evidence.add(found, gave["event_id"])
        evidence.add(number, event["event_id"])
        sentence = line(
            at,
            code(tool["name"]),
            f" {cut(what, 160)}, and the answer #{number} mentions no failure: ",
            quote(one_line(text, 160)),
        )
        severity: Severity = "warning" if what != _NOTHING or _claims_more(text, given) else "info"
        self._found.append(Finding("unusable_result", severity, sentence, evidence, {"answer": number}))


def _given(prompt: Any) -> str:
    """What the model was told before it answered."""
    said = (f"{turn.text} {' '.join(as_text(call.args) for call in turn.calls)}" for turn in conversation.turns(prompt))
    return "\n".join(said)[-_MOST_GIVEN:]


def _claims_more(text: str, given: str) -> bool:
    """Whether an answer names a figure, a date, an id or a name that it was not told; nothing is often the answer."""
    said, known = facts_in(text), facts_in(given)
    return bool(said.hard - {"no"} - known.numbers_and_ids) or any(name not in given.lower() for name in said.soft)


def _has_read(tool: Event, text: str) -> bool:
    """Whether an answer repeats what a program printed: a linter ends as failed, and its findings are the result."""
    result = opened(tool["payload"].get("result"))
    printed = as_text(result.get("stdout") or "") if isinstance(result, dict) else ""
    words = set(_LONG_WORD.findall(printed[:_LONGEST_READ].lower()))
    return len(words.intersection(_LONG_WORD.findall(text.lower()))) >= _ENOUGH_READ
