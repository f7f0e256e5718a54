"""
A run as Markdown, for a person to read or an issue to hold: the outcome, what was found, its steps, its calls.

A document stays within what an issue can hold. What does not fit is left out, the least telling first, and the last
lines say what that was and how to see it.

One event in full as a section of Markdown: what went in, what came out, what went wrong.

Foreign text inside Markdown: always as code, never as Markdown.

What an agent read or a model wrote may hold fences, links, images, HTML, mentions and control characters. As a code
span or a fenced block longer than any in the text it is shown as it is, and does nothing.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.findings import find, is_said_by
from agentdbg.analysis.report import figure_line
from agentdbg.analysis.rows import RowBuilder, row_sentence
from agentdbg.analysis.run_answer import final_answer, first_request
from agentdbg.analysis.run_columns import CALL_START, END, ENDED, ERROR, EXCEPTION, LLM, LOOP, START, TOOL
from agentdbg.analysis.stats import Tally, figures
from agentdbg.analysis.tree import depth_of, tree_order
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.verdict import judge
from agentdbg.analysis.wording import as_json, as_text, count_noun, cut, duration, tokens
from agentdbg.events.facts import tokens_of
from agentdbg.events.markers import in_words
from agentdbg.index.events import EventIndex
from agentdbg.interop.exports.run_content import events_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.findings import Finding
    from agentdbg.analysis.verdict import Verdict
    from agentdbg.analysis.wording import Line
    from agentdbg.events import Event
    from agentdbg.interop.exports.run_content import Progress, Put, Run

__all__ = ["LARGEST", "code", "cut_middle", "escaped", "event_section", "fenced", "visible", "write"]

LARGEST = 60_000
"""Characters. GitHub takes 65,536 in an issue."""
_LEAST = 4_000
_MOST_FOUND = 15
_MOST_IN_TREE = 20_000
_STEP_LENGTH = 160
_DEEPEST = 8
_NUMBER = re.compile(r"\\#(\d+)")


def write(runs: Sequence[Run], put: Put, progress: Progress) -> None:
    """Write the runs one after the other; together they share the room, but each gets enough to say what matters."""
    room = max(LARGEST // max(len(runs), 1), _LEAST)
    for position, run in enumerate(runs, 1):
        if position > 1:
            put(b"\n---\n\n")
        put(_Document(run, room).text().encode("utf-8", "replace"))
        progress(position / len(runs))


class _Document:
    """One run, its room, and what was left out."""

    def __init__(self, run: Run, room: int) -> None:
        self._run = run
        self._room = room
        self._index = EventIndex(run.folder, run.run_id)
        self._index.extend()
        self._tally = Tally(self._index).catch_up()
        self._builder = RowBuilder(self._index)
        self._left_out: list[str] = []

    def text(self) -> str:
        meta, now_ms = self._run.meta, time.time_ns() // 1_000_000
        verdict = judge(self._tally, meta, now_ms)
        found = find(events_of(self._run.folder, self._run.run_id), meta)
        more = [finding for finding in found if not is_said_by(verdict["lines"], finding)]
        sections = [
            f"# {verdict['word']}: {code(meta['run_name'] or 'unnamed', 120)}",
            "\n".join(f"- {_sentence(line)}" for line in verdict["lines"]),
            escaped(figure_line(figures(self._tally, meta, now_ms))),
            self._facts(),
            _said("What was asked", first_request(self._tally, self._room // 12)),
            _said("What it answered", final_answer(self._tally, self._room // 12)),
            self._findings(more),
            self._steps(),
        ]
        written = "\n\n".join(section for section in sections if section)
        written += self._events(verdict, more, self._room - len(written) - 800)
        self._index.close()
        return f"{written}\n\n{self._footer()}\n"

    def _facts(self) -> str:
        meta = self._run.meta
        names: Counter[tuple[int, str]] = Counter()
        for at in range(min(self._index.total, _MOST_IN_TREE)):
            if self._index.kind[at] in (LLM, TOOL):
                names[self._index.kind[at], self._index.event(at + 1)["name"]] += 1
        facts = [("run", code(self._run.run_id)), ("started", code(meta["started_at"]))]
        if meta.get("status_reason"):
            facts.append(("status", code(f"{meta['status']}: {meta['status_reason']}")))
        for kind, title in ((LLM, "models"), (TOOL, "tools")):
            used = [(name, count) for (of, name), count in names.most_common() if of == kind]
            if used:
                said = ", ".join(f"{code(name, 60)} {count:,}×" for name, count in used[:12])
                facts.append((title, said + (f" and {len(used) - 12:,} more" if len(used) > 12 else "")))
        if meta.get("metadata"):
            facts.append(("metadata", code(as_json(meta["metadata"]), 600)))
        rows = [f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in facts]
        return "\n".join(["| | |", "|---|---|", *rows])

    def _findings(self, more: Sequence[Finding]) -> str:
        if not more:
            return ""
        lines = [f"- {finding.severity}: {_sentence(finding.line)}" for finding in more[:_MOST_FOUND]]
        if len(more) > _MOST_FOUND:
            self._left_out.append(count_noun(len(more) - _MOST_FOUND, "finding"))
        return "\n".join(["## What was found", "", *lines])

    def _steps(self) -> str:
        """The run as a tree, one line a step; of a long one its beginning and, more of it, its end."""
        order = [step for step in self._order() if self._is_step(step[0])]
        most = max(self._room // (2 * _STEP_LENGTH), 8)
        cut_at, missing = len(order), len(order) - most
        if missing > 0:
            cut_at = most // 4
            order = [*order[:cut_at], *order[cut_at + missing :]]
            self._left_out.append(f"{missing:,} of {count_noun(len(order) + missing, 'step')}")
        lines = []
        for position, (number, depth) in enumerate(order):
            if position == cut_at and missing > 0:
                lines.append(f"… {count_noun(missing, 'step')} left out …")
            row = self._builder.row(number, running=self._run.meta["status"] == "running")
            lines.append(f"{'  ' * min(depth, _DEEPEST)}#{cut(row_sentence(row), _STEP_LENGTH)}")
        return f"## Steps\n\n{fenced(chr(10).join(lines))}" if lines else ""

    def _order(self) -> list[tuple[int, int]]:
        index = self._index
        if index.total <= _MOST_IN_TREE:
            return list(tree_order(index.parent_n, index.start_ms, index.kind))
        half = _MOST_IN_TREE // 2
        numbers = [*range(1, half + 1), *range(index.total - half + 1, index.total + 1)]
        self._left_out.append(f"the {index.total - len(numbers):,} events in the middle")
        return [(number, depth_of(index, number)) for number in numbers]

    def _is_step(self, number: int) -> bool:
        kind = self._index.kind[number - 1]
        return kind not in (START, END) and not (kind == CALL_START and self._index.status[number - 1] == ENDED)

    def _events(self, verdict: Verdict, more: Sequence[Finding], room: int) -> str:
        """Events in full, as many as there is room for: those spoken of, those that failed, then the calls in order."""
        spoken = [line["n"] for line in verdict["lines"]]
        spoken += [number for finding in more if finding.severity != "info" for number in finding.evidence.numbers[:3]]
        kinds, statuses = self._index.kind, self._index.status
        steps = [number for number in range(1, self._index.total + 1) if self._is_step(number)]
        failed = [number for number in steps if statuses[number - 1] == ERROR]
        calls = [number for number in steps if kinds[number - 1] in (LLM, TOOL)]
        wanted = dict.fromkeys(number for number in [*spoken, *failed, *calls] if number and self._is_step(number))
        sections: dict[int, str] = {}
        for number in wanted:
            section = event_section(number, self._index.event(number), kinds[number - 1], min(self._room // 20, 2_000))
            if len(section) + 2 > room:
                break
            sections[number] = section
            room -= len(section) + 2
        if len(wanted) > len(sections):
            self._left_out.append(f"{count_noun(len(wanted) - len(sections), 'event')} in full")
        if not sections:
            return ""
        return "\n\n## Events\n\n" + "\n\n".join(sections[number] for number in sorted(sections))

    def _footer(self) -> str:
        short = self._run.run_id[:8]
        left_out = f"Left out: {'; '.join(self._left_out)}. " if self._left_out else ""
        damaged = self._index.damaged_total
        if damaged:
            left_out += f"{count_noun(damaged, 'line')} of the log could not be read. "
        return (
            f"{left_out}Long texts are cut where it says so. Recorded by AgentDbg: `agentdbg show {short} --event n` "
            f"shows one event in full, `agentdbg export {short} --format html --out run.html` the whole run."
        )


def _said(title: str, text: str | None) -> str:
    return f"## {title}\n\n{fenced(cut_middle(text, 4_000))}" if text else ""


def _sentence(line: Line) -> str:
    text = "".join(
        code(piece["text"]) if piece["style"] != "plain" else _plain(piece["text"]) for piece in line["parts"]
    )
    return text if line["n"] is None else f"`#{line['n']}` {text}"


def _plain(text: str) -> str:
    """Our words between two names, the spaces at their ends kept."""
    before, after = text[:1].isspace(), text[-1:].isspace() and text.strip()
    # As code: `#9` alone would become a link to somebody's ninth issue.
    words = _NUMBER.sub(r"`#\1`", escaped(text))
    return f"{' ' if before else ''}{words}{' ' if after else ''}"


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


# Control characters, what turns or hides text, line separators, lone surrogates: shown as escapes.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&#])")
_TICKS = re.compile("`+")


def visible(text: str) -> str:
    """The text with what nobody could see written out; lines and tabs stay."""
    text = text.replace("\r\n", "\n")
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def code(text: str, limit: int = 300) -> str:
    """A code span on one line, with `…` where it was cut."""
    shown = " ".join(visible(text[: 4 * limit]).split())
    if len(shown) > limit or len(text) > 4 * limit:
        shown = shown[: limit - 1].rstrip() + "…"
    ticks = "`" * (_longest_ticks(shown) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fenced(text: str) -> str:
    """A block, between fences that nothing in it can close."""
    shown = visible(text).strip("\n")
    fence = "`" * max(3, _longest_ticks(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def escaped(text: str) -> str:
    """Our own words with what Markdown would take for signs escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters: the beginning and the end, and how much is missing between."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head].rstrip()}\n… {len(text) - head - tail:,} characters left out …\n{text[-tail:].lstrip()}"


def _longest_ticks(text: str) -> int:
    return max((len(found) for found in _TICKS.findall(text)), default=0)
