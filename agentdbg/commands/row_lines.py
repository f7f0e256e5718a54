"""
A timeline's rows as lines of text: number, sign, name, `input → outcome`, duration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.value_text import plain_text
from agentdbg.analysis.wording import duration
from agentdbg.commands.terminal import Styled, cell_width, clean, fit, wrapped

if TYPE_CHECKING:
    from agentdbg.analysis.rows import Row
    from agentdbg.analysis.verdict import Verdict
    from agentdbg.analysis.wording import Line
    from agentdbg.commands.terminal import Terminal

__all__ = ["print_row", "print_verdict"]

_SIGNS = {
    "llm": ("●", "llm"),
    "tool": ("■", "tool"),
    "state": ("±", "muted"),
    "span": ("▾", "muted"),
    "loop": ("↻", "muted"),
    "error": ("✕", "error"),
    "start": ("▷", "muted"),
    "end": ("□", "muted"),
    "call_start": ("…", "accent"),
    "other": ("·", "muted"),
}
_TONES = {"ok": "ok", "warn": "warn", "error": "error", "running": "accent"}
_MARKS = {
    "Finished": "✓",
    "Finished with problems": "!",
    "Failed": "✕",
    "Interrupted": "✕",
    "Died": "⊘",
    "Running": "●",
}


def print_row(
    out: Terminal, row: Row, *, digits: int = 4, depth: int = 0, whole: bool = False, in_tree: bool = False
) -> None:
    """One event on one line; `whole` keeps a text that is wider than the terminal."""
    sign, style = _sign(row)
    head: list[Styled] = [
        Styled(f"{row['n']:>{digits}} ", "muted"),
        Styled("  " * depth),
        Styled(f"{sign} ", style),
        Styled(row["name"], style if style in ("error", "warn", "muted") else "strong"),
    ]
    has_time = row["duration_ms"] is not None and row["kind"] not in ("end", "start")
    right = duration(row["duration_ms"]) if has_time else ""
    room = None
    if out.width is not None and not whole:
        used = cell_width("".join(clean(piece.text) for piece in head))
        room = out.width - used - 2 - (cell_width(right) + 2 if right else 0)
    said = _said(row, room, in_tree=in_tree)
    out.line(*head, *(["  ", *said] if said else []), right=right, cut=not whole)


def _sign(row: Row) -> tuple[str, str]:
    sign, style = _SIGNS.get(row["kind"], _SIGNS["other"])
    if row["status"] in ("error", "never_returned"):
        return "✕", "error"
    if row["kind"] == "loop":
        return sign, {"critical": "error", "warning": "warn"}.get(row["severity"] or "", "muted")
    return sign, style


def _said(row: Row, room: int | None, *, in_tree: bool) -> list[str | Styled]:
    """`input → outcome` within the room: an error keeps all it needs, an outcome at least half."""
    shown = row["preview"]
    tree = shown.get("tree")
    if in_tree and tree and (tree["input"] or tree["outcome"]):
        shown = {**shown, "input": tree["input"], "outcome": tree["outcome"]}
    given = clean(plain_text(shown["input"]).strip())
    if shown["same_as"]:
        given = f"same call as #{shown['same_as']}"
    elif shown["rest_as"]:
        given = f"{given}, the rest as in #{shown['rest_as']}"
    outcome = clean(shown["error"] or plain_text(shown["outcome"]))
    style = "error" if shown["error"] else {"error": "error", "warn": "warn"}.get(_sign(row)[1], "")
    arrow = " → " if given and outcome else ""
    if room is not None:
        left = room - len(arrow)
        kept = cell_width(outcome) if shown["error"] else max(left // 2, left - cell_width(given))
        outcome = fit(outcome, max(min(kept, left), 0))
        given = fit(given, max(left - cell_width(outcome), 0))
        if cell_width(given) < 8 and arrow:
            given = arrow = ""
    return [piece for piece in (Styled(given, "muted"), Styled(arrow, "muted"), Styled(outcome, style)) if piece.text]


def print_verdict(out: Terminal, verdict: Verdict, title: str, facts: str) -> None:
    """The word, the run, and the sentences with the numbers they speak of."""
    tone = _TONES[verdict["tone"]]
    word_tone = "error" if verdict["state"] == "failed" else tone
    out.line(
        Styled(f"{_MARKS[verdict['word']]} {verdict['word']}", word_tone),
        "  ",
        Styled(title, "strong"),
        Styled(f"  {facts}", "muted"),
    )
    for line in verdict["lines"]:
        _print_sentence(out, line, tone)


def _print_sentence(out: Terminal, line: Line, tone: str) -> None:
    """A sentence wrapped at words, its number at the left."""
    number = f"#{line['n']}" if line["n"] is not None else ""
    words = "".join(clean(piece["text"]) for piece in line["parts"])
    indent = 9 if number else 3
    head = [Styled("▎", tone), Styled(f"{number:>6}  " if number else "  ", "accent")]
    for position, part in enumerate(wrapped(words, out.width - indent if out.width else None)):
        out.line(*(head if position == 0 else [Styled("▎", tone), " " * (indent - 1)]), part)
