"""
A comparison as lines of text: the verdict, the figures side by side, then every step that differs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.changes import from_first_difference
from agentdbg.analysis.diff.result import has_failed, never_returned, outcome_of_row
from agentdbg.analysis.diff.sequences import is_prose
from agentdbg.analysis.diff.summary import numbers_of, step_text
from agentdbg.analysis.run_columns import CALL_START
from agentdbg.analysis.value_text import plain_text, value
from agentdbg.analysis.wording import count_noun, duration, money, one_line, tokens
from agentdbg.commands.terminal import Column, Styled, cell_width, clean, fit, table_width, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.analysis.diff import Change, Diff, Row
    from agentdbg.analysis.diff.steps import Totals
    from agentdbg.analysis.diff.summary import Sentence, Told
    from agentdbg.commands.terminal import Terminal

__all__ = ["COUNT_WORDS", "counts_text", "figure_rows", "figure_titles", "mark_of", "print_diff", "step_counts"]

_SIGNS = {"same": "=", "wording": "≈", "changed": "≠", "deleted": "-", "inserted": "+", "moved": "⇄"}
COUNT_WORDS = {
    "same": "same",
    "wording": "other words",
    "changed": "changed",
    "deleted": "only in A",
    "inserted": "only in B",
    "moved": "moved",
}
_STYLES = {"wording": "muted", "changed": "warn", "deleted": "error", "inserted": "ok", "moved": "accent"}
_FIGURES = (
    ("time", "duration_ms"),
    ("LLM calls", "llm_calls"),
    ("tool calls", "tool_calls"),
    ("failed", "failed_calls"),
    ("tokens", "total_tokens"),
    ("cost", "cost_usd"),
)
_MOST_CHANGES = 6
_MOST_WORDING = 40
"""How many rows with other words are shown; thousands of them would bury what the runs did differently."""
_ROOM = 72
_LEAST_ROOM = 6
_ARROW = " → "
_QUOTES = 4
_LONGEST_NAME = 80
_NEAR = 20
_SPACE = re.compile(r"\s+")


def print_diff(
    out: Terminal, diff: Diff, told: Told, names: tuple[str, str], ids: tuple[str, str], *, stat: bool
) -> None:
    """All of it; with `stat` without the steps."""
    style = "ok" if told.is_good else "warn"
    title = " and ".join(dict.fromkeys(_name(out, name) for name in names))
    out.sentence(
        Styled(f"{told.sign} {told.verdict}", style),
        "  ",
        Styled(title, "strong"),
        Styled(f"  A {ids[0]}  B {ids[1]}", "muted"),
        hang=2,
    )
    for sentence in told.sentences:
        _print_sentence(out, sentence, style)
    for note in told.notes:
        for line in _wrapped(note, None if out.width is None else out.width - 3):
            out.line(Styled(f"   {line}", "muted"))
    out.line()
    _print_figures(out, diff)
    out.sentence(Styled(counts_text(diff), "muted"), indent=3)
    if not stat and any(row.op != "same" for row in diff.rows):
        out.line()
        _print_rows(out, diff)


def _name(out: Terminal, name: str) -> str:
    return name if out.width is None else fit(clean(name), min(out.width - 2, _LONGEST_NAME))


def _print_sentence(out: Terminal, sentence: Sentence, style: str) -> None:
    text = clean("".join(part["text"] for part in sentence["parts"]))
    numbers = numbers_of(sentence)
    whole = f"{text}  {numbers}" if numbers else text
    for line in _wrapped(whole, None if out.width is None else out.width - 2):
        out.line(Styled("▎ ", style), line, cut=False)


def counts_text(diff: Diff) -> str:
    """`= 6 same  ≈ 7 other words  ≠ 3 changed`; what there is none of is left out."""
    shown = [f"{_SIGNS[name]} {count:,} {COUNT_WORDS[name]}" for name, count in step_counts(diff).items()]
    return "  ".join(shown) or "nothing was compared"


def step_counts(diff: Diff) -> dict[str, int]:
    """How many steps of each sort there are, of those that there are; one that moved stands in two rows."""
    return {name: count // 2 if name == "moved" else count for name, count in diff.counts.items() if count}


def _print_figures(out: Terminal, diff: Diff) -> None:
    titles, rows = [title for title, _ in figure_titles(diff)], figure_rows(diff)
    wide = [Column("  "), *(Column(title, right=True) for title in titles)]
    if out.width is None or table_width(wide, rows) <= out.width:
        out.table(wide, rows)
        return
    # Turned round it is high instead of wide.
    turned = [[f"   {title}", *(row[at] for row in rows)] for at, title in enumerate(titles, 1)]
    out.table([Column("  "), *(Column(label, right=True) for label in ("A", "B", "B-A"))], turned)


def figure_titles(diff: Diff) -> list[tuple[str, str]]:
    """The figures that at least one side knows."""
    totals = diff.side_a.totals, diff.side_b.totals
    return [(title, name) for title, name in _FIGURES if any(getattr(side, name) is not None for side in totals)]


def figure_rows(diff: Diff) -> list[list[str | Styled]]:
    """A, B, and B minus A."""
    a, b = diff.side_a.totals, diff.side_b.totals
    names = [name for _, name in figure_titles(diff)]
    rows: list[list[str | Styled]] = [
        [Styled(f"   {label}", "strong"), *(_figure(name, getattr(side, name)) for name in names)]
        for label, side in (("A", a), ("B", b))
    ]
    rows.append([Styled("   B-A", "muted"), *(Styled(_change(name, a, b), "muted") for name in names)])
    return rows


def _figure(name: str, amount: float | None) -> str:
    if amount is None:
        return "–"
    if name == "duration_ms":
        return duration(amount)
    if name == "total_tokens":
        return tokens(amount)
    return money(amount) if name == "cost_usd" else f"{amount:,}"


def _change(name: str, a: Totals, b: Totals) -> str:
    was, now = getattr(a, name), getattr(b, name)
    if was is None or now is None:
        return ""
    if was == now:
        return "="
    return f"{'+' if now > was else '-'}{_figure(name, abs(now - was))}"


def _print_rows(out: Terminal, diff: Diff) -> None:
    digits = len(str(max(diff.side_a.count, diff.side_b.count))) + 1
    out.line(Styled(f"{'A':>{digits}} {'B':>{digits}}", "muted"))
    divergence = diff.first_divergence
    same = reworded = shown = 0
    for at, row in enumerate(diff.rows):
        if row.op == "same" or (row.wording and shown >= _MOST_WORDING):
            same += 1
            reworded += row.wording
            continue
        _print_fold(out, same, reworded, digits)
        same = reworded = 0
        if at == divergence:
            out.line(Styled(f"{' ' * (2 * digits + 1)} ── first difference ──", "accent"))
        _print_row(out, diff, row, digits)
        shown += row.wording
    _print_fold(out, same, reworded, digits)


def _print_fold(out: Terminal, same: int, reworded: int, digits: int) -> None:
    if same:
        sign, more = ("≈", " but for wording") if reworded else ("=", "")
        out.line(Styled(f"{' ' * (2 * digits + 2)}{sign} {count_noun(same, 'row')} the same{more}", "muted"))


def _print_row(out: Terminal, diff: Diff, row: Row, digits: int) -> None:
    sort = "wording" if row.wording else row.op
    style = _STYLES[sort]
    head: list[str | Styled] = [
        Styled(f"{_number(row.a):>{digits}} {_number(row.b):>{digits}} ", "muted"),
        Styled(f"{_SIGNS[sort]} ", style),
        "  " * row.depth,
        Styled(row.name, "strong" if row.effect is not False or sort != "wording" else ""),
    ]
    mark = mark_of(diff, row)
    head.append(Styled(f" {mark}" if mark else "", "error" if mark == "failed" else "warn"))
    if row.name_b is not None:
        head.append(Styled(f" → {row.name_b}", "warn"))
    if row.op in ("deleted", "inserted", "moved"):
        step = diff.side_a.steps[row.a] if row.a is not None else diff.side_b.steps[row.b or 0]
        head.append(Styled(f"  {step_text(step, 200)}", "muted"))
        if row.op == "moved":
            head.append(Styled(f"  as #{row.other} in {'B' if row.a is not None else 'A'}", "accent"))
        out.line(*head)
        return
    if sort == "wording":
        change = row.changes[-1]
        head.append(Styled(f"  {change.path} ", "muted"))
        out.line(*head, *_values(change, _rooms(out, change, _taken(head), 40)))
        return
    out.line(*head)
    indent = 2 * digits + 4 + 2 * row.depth
    for change in row.changes[:_MOST_CHANGES]:
        path = Styled(f"{change.path}  ", "muted")
        out.line(path, *_change_pieces(change, _rooms(out, change, indent + _taken([path]), _ROOM)), indent=indent)
    if len(row.changes) > _MOST_CHANGES:
        more = len(row.changes) - _MOST_CHANGES
        out.line(Styled(f"and {count_noun(more, 'more change')}; --json has them all", "muted"), indent=indent)


def mark_of(diff: Diff, row: Row) -> str:
    """What stands behind the name of a call: that it failed or did not return, or that it changes something or may."""
    if row.kind == CALL_START or never_returned(diff, row):
        return "did not return"
    outcome = outcome_of_row(diff, row) if row.effect else "done"
    if outcome == "unknown":
        return "may be done"
    if has_failed(diff, row):
        return "failed"
    if row.effect:
        return "refused" if outcome == "refused" else "writes"
    return "may write" if row.effect is None else ""


def _number(number: int | None) -> str:
    return "" if number is None else f"#{number}"


def _taken(pieces: Sequence[str | Styled]) -> int:
    return sum(cell_width(clean(piece if isinstance(piece, str) else piece.text)) for piece in pieces)


def _rooms(out: Terminal, change: Change, taken: int, most: int) -> tuple[int, int]:
    """How much of both values is shown: all that fits on the line, and never the one without the other."""
    needs = [cell_width(_short(item, most)) for item in from_first_difference(change.was, change.now)]
    if out.width is None or sum(needs) <= out.width - taken - len(_ARROW):
        return most, most
    room = max(out.width - taken - len(_ARROW) - _QUOTES, 2 * _LEAST_ROOM)
    least = min(*needs, room // 2)
    return (least, room - least) if needs[0] <= needs[1] else (room - least, least)


def _change_pieces(change: Change, rooms: tuple[int, int]) -> Iterator[str | Styled]:
    if change.op == "added":
        yield Styled(f"+ {_short(change.now)}", "ok")
    elif change.op == "removed":
        yield Styled(f"- {_short(change.was)}", "error")
    else:
        yield from _values(change, rooms)


def _values(change: Change, rooms: tuple[int, int]) -> Iterator[str | Styled]:
    """`was → now`; of two long texts only what differs, with a little around it."""
    if isinstance(change.was, str) and isinstance(change.now, str) and is_prose(change.was):
        pieces = _word_pieces(change)
        if pieces is not None:
            yield from pieces
            return
    was, now = from_first_difference(change.was, change.now)
    yield Styled(_short(was, rooms[0]), "error")
    yield Styled(_ARROW, "muted")
    yield Styled(_short(now, rooms[1]), "ok")


def _word_pieces(change: Change) -> list[str | Styled] | None:
    """`the total is [-$105-]{+$207+} for two`; None where little is shared and the two are better read whole."""
    segments = change.words() or []
    shared = sum(len(text) for kind, text in segments if kind == "same")
    if not segments or shared < 0.6 * max(len(change.was), len(change.now)):
        return None
    pieces: list[str | Styled] = []
    for at, (kind, text) in enumerate(segments):
        flat = _SPACE.sub(" ", text)
        if kind == "same":
            pieces.append(_around(flat, first=at == 0, last=at == len(segments) - 1))
        else:
            pieces.append(Styled(f"[-{flat}-]", "error") if kind == "was" else Styled(f"{{+{flat}+}}", "ok"))
    return pieces


def _around(text: str, *, first: bool, last: bool) -> str:
    """The ends of a stretch that both texts have."""
    if len(text) <= 2 * _NEAR:
        return text
    return f"{'' if first else text[:_NEAR]}…{'' if last else text[-_NEAR:]}"


def _short(item: Any, room: int = _ROOM) -> str:
    if isinstance(item, str) and is_prose(item):
        return f"“{one_line(item, room)}”"
    return plain_text(value(item, room))


def _wrapped(text: str, width: int | None) -> Sequence[str]:
    lines = wrapped(text, width)
    return lines if width is None else [fit(part, width) for part in lines]
