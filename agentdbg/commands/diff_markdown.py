"""A comparison as Markdown, to paste into a review or an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.diff.summary import numbers_of, step_text
from agentdbg.analysis.wording import as_json, cut
from agentdbg.commands.diff_lines import COUNT_WORDS, figure_rows, figure_titles, mark_of, step_counts
from agentdbg.commands.markdown_words import as_code, as_text

if TYPE_CHECKING:
    from agentdbg.analysis.diff import Diff, Row
    from agentdbg.analysis.diff.summary import Sentence, Told

__all__ = ["markdown"]

_MOST_ROWS = 60
_MOST_CHANGES = 4
_LONGEST_NAME = 100


def markdown(diff: Diff, told: Told, names: tuple[str, str], *, with_rows: bool = True) -> str:
    """The verdict, the figures as a table, and the steps that differ as a list."""
    title = " and ".join(dict.fromkeys(map(as_text, names)))
    sections = [
        f"## {told.verdict}: {title}",
        "\n".join(f"- {_sentence(sentence)}" for sentence in told.sentences),
        "\n\n".join(as_text(note) for note in told.notes),
        _figures(diff),
        _counts(diff),
    ]
    rows = [(at, row) for at, row in enumerate(diff.rows) if row.op != "same"]
    if with_rows and rows:
        divergence = diff.first_divergence
        # Where not all can be shown, what the runs did differently comes before what they only said differently.
        chosen = rows if len(rows) <= _MOST_ROWS else [*filter(_is_loud, rows)] or rows
        listed = [_row(diff, row, parts=at == divergence) for at, row in chosen[:_MOST_ROWS]]
        if len(rows) > len(listed):
            listed.append(f"- and {len(rows) - len(listed):,} more")
        sections.append("\n".join(["### Steps that differ", *listed]))
    return "\n\n".join(section for section in sections if section) + "\n"


def _is_loud(place: tuple[int, Row]) -> bool:
    return not place[1].wording


def _sentence(sentence: Sentence) -> str:
    text = "".join(
        as_code(part["text"]) if part["style"] != "plain" else as_text(part["text"]) for part in sentence["parts"]
    )
    numbers = numbers_of(sentence)
    return f"{text} ({numbers})" if numbers else text


def _figures(diff: Diff) -> str:
    titles = [title for title, _ in figure_titles(diff)]
    lines = [f"| | {' | '.join(titles)} |", f"|---|{'---:|' * len(titles)}"]
    lines += [
        "| " + " | ".join(cell.strip() if isinstance(cell, str) else cell.text.strip() for cell in row) + " |"
        for row in figure_rows(diff)
    ]
    return "\n".join(lines)


def _counts(diff: Diff) -> str:
    """Without signs: at the beginning of a line they make lists and headings."""
    shown = [f"{count:,} {COUNT_WORDS[name]}" for name, count in step_counts(diff).items()]
    return f"Steps: {', '.join(shown) or 'none was compared'}"


def _row(diff: Diff, row: Row, *, parts: bool) -> str:
    sort = "wording" if row.wording else row.op
    numbers = [f"{side}#{number}" for side, number in (("A", row.a), ("B", row.b)) if number is not None]
    line = f"- {COUNT_WORDS[sort]} {' '.join(numbers)} {as_code(cut(row.name, _LONGEST_NAME))}"
    mark = mark_of(diff, row)
    line += f" {mark}" if mark else ""
    if row.op in ("deleted", "inserted", "moved"):
        step = diff.side_a.steps[row.a] if row.a is not None else diff.side_b.steps[row.b or 0]
        text = step_text(step, 160)
        line += f" {as_code(text)}" if text else ""
        line += f", as `#{row.other}` in {'B' if row.a is not None else 'A'}" if row.op == "moved" else ""
    if parts:
        line += " (**first difference**)"
    if sort == "wording":
        return f"{line}: {', '.join(as_code(change.path) for change in row.changes[:_MOST_CHANGES])}"
    for change in row.changes[:_MOST_CHANGES]:
        was, now = (as_code(cut(as_json(item), 120)) for item in (change.was, change.now))
        told = {"added": f"+ {now}", "removed": f"- {was}", "changed": f"{was} → {now}"}[change.op]
        line += f"\n  - {as_code(change.path)} {told}"
    if len(row.changes) > _MOST_CHANGES:
        line += f"\n  - and {len(row.changes) - _MOST_CHANGES} more"
    return line
