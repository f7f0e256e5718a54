"""
A run as Markdown, for a person to read or an issue to hold: the outcome, what was found, its steps, its calls.

A document stays within what an issue can hold. What does not fit is left out, the least telling first, and the last
lines say what that was and how to see it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import TYPE_CHECKING

from agentdbg.analysis.findings import find, is_said_by
from agentdbg.analysis.report import figure_line
from agentdbg.analysis.rows import RowBuilder, row_sentence
from agentdbg.analysis.run_answer import final_answer, first_request
from agentdbg.analysis.run_columns import CALL_START, END, ENDED, ERROR, LLM, START, TOOL
from agentdbg.analysis.stats import Tally, figures
from agentdbg.analysis.tree import depth_of, tree_order
from agentdbg.analysis.verdict import judge
from agentdbg.analysis.wording import as_json, count_noun, cut
from agentdbg.index.events import EventIndex
from agentdbg.interop.exports.markdown_event import event_section
from agentdbg.interop.exports.markdown_text import code, cut_middle, escaped, fenced
from agentdbg.interop.exports.reading import events_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.findings import Finding
    from agentdbg.analysis.verdict import Verdict
    from agentdbg.analysis.wording import Line
    from agentdbg.interop.exports.stored import Progress, Put, Run

__all__ = ["LARGEST", "write"]

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
                said = ", ".join(f"{code(name, 60)} {count:,}×" for name, count in used[:12])  # noqa: RUF001
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
            return tree_order(index.parent_n, index.start_ms, index.kind)
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
