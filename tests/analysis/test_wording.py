"""Numbers and texts the way a person says them."""

from __future__ import annotations

import pytest

from agentdbg.analysis import wording
from agentdbg.analysis.wording import VerdictPart, code, line, quote, text_of


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (0, "<1 ms"),
        (950, "950 ms"),
        (1000, "1 s"),
        (4249, "4.2 s"),
        (8450, "8.5 s"),
        (59_940, "59.9 s"),
        (59_950, "1 min"),
        (77_000, "1 min 17 s"),
        (2_466_000, "41 min 6 s"),
        (3_600_000, "1 h"),
        (7_500_000, "2 h 5 min"),
        (273_600_000, "3 d 4 h"),
        (None, "–"),
    ],
)
def test_a_duration_is_said_in_two_units_at_most(milliseconds: int | None, said: str) -> None:
    """The same rule as the page's, down to how halves are rounded."""
    assert wording.duration(milliseconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0"),
        (950, "950"),
        (1000, "1k"),
        (7600, "7.6k"),
        (9960, "10k"),
        (188400, "188k"),
        (999900, "1M"),
        (2100000, "2.1M"),
        (3000000000, "3B"),
    ],
)
def test_tokens_keep_two_figures_that_matter(count: int, said: str) -> None:
    """Nobody compares 188,412 with 188,397 in a row."""
    assert wording.tokens(count) == said


def test_money_never_rounds_to_nothing() -> None:
    """A run that cost a tenth of a cent did not cost $0.00."""
    assert [wording.money(sum_) for sum_ in (0, 0.49, 12.5, 0.0123, 0.00038, 0.000004)] == [
        "$0.00",
        "$0.49",
        "$12.50",
        "$0.012",
        "$0.00038",
        "$0.000004",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Title\n\nSome **bold** and `code`", "Title Some bold and code"),
        ("> quoted\n> more", "quoted more"),
        ("*emphasis* but 2 * 3 * 4 stays", "emphasis but 2 * 3 * 4 stays"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("call __init__ and max_tokens", "call __init__ and max_tokens"),
        ("- one\n- two", "- one - two"),
        ("a  \t b\r\nc", "a b c"),
        ("C# and F#", "C# and F#"),
        ("Found:\n\n| a | b |\n|---|--:|\n| 1 | 2 |", "Found: a | b 1 | 2"),
    ],
)
def test_a_text_on_one_line_loses_its_signs_and_keeps_its_words(text: str, line: str) -> None:
    """Markdown is for pages; in a row its signs are noise, but names with underscores are not."""
    assert wording.one_line(text) == line


def test_a_cut_says_so_and_keeps_within_the_limit() -> None:
    """A text that just stops reads like the whole text."""
    assert wording.one_line("word " * 100, 12) == "word word w…"
    assert len(wording.one_line("x" * 10_000, 400)) == 400


def test_a_timestamp_that_is_none_is_no_reason_to_fail() -> None:
    """Foreign traces have anything in that place."""
    assert wording.timestamp_ms("2023-11-14T22:13:20.123Z") == 1_700_000_000_123
    assert [wording.timestamp_ms(odd) for odd in ("soon", None, 5, "2023-11-14T22:13:20")] == [None] * 4


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ((code("pay"), " failed: ", quote("No order."), ". Three more."), "pay failed: No order. Three more."),
        ((quote("x" * 400), "."), "x" * 299 + "…"),
        (("It waits", "..."), "It waits..."),
        ((quote("done"), "."), "done."),
    ],
)
def test_a_sentence_ends_once(pieces: tuple[str | VerdictPart, ...], said: str) -> None:
    """Quoted words often end in a full stop of their own, or in the sign for what is left out."""
    assert text_of(line(None, *pieces)) == said
