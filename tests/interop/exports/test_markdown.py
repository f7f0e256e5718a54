"""A run as Markdown: what matters is in it, it fits into an issue, and foreign text stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from agentdbg.interop.exports.markdown import LARGEST, code, cut_middle, fenced, visible
from tests.analysis.story import Story
from tests.commands.stored import Ran, store
from tests.interop.exports.runs import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from markdown_it.token import Token


def _parsed(text: str) -> list[Token]:
    """The document's tokens as GitHub would read it, the inline ones among them."""
    found: list[Token] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        found += [token, *(token.children or ())]
    return found


def _written(cli: Callable[..., Ran], *runs: str) -> str:
    ran = cli("export", *runs, "--format", "markdown", "--out", "-")
    assert ran.code == 0, ran.err
    return ran.out


def test_it_tells_what_came_of_the_run_and_why(cli: Callable[..., Ran], rich_run: str) -> None:
    """Whoever opens the issue should not need the trace to understand it."""
    text = _written(cli, rich_run)
    headings = [line for line in text.splitlines() if line.startswith("#")]

    assert headings[0] == "# Failed: `rich`"
    for heading in ("## What was asked", "## Steps", "## Events"):
        assert heading in headings
    assert f"| run | `{rich_run}` |" in text
    assert "`read` 1×" in text
    assert '"path": "a.txt"' in text
    assert "never returned" in text
    assert f"agentdbg show {rich_run[:8]} --event n" in text


def test_foreign_text_is_never_markdown(cli: Callable[..., Ran], rich_run: str) -> None:
    """No link, picture, HTML or heading comes from what an agent read; fences inside fences stay inside."""
    text = _written(cli, rich_run)
    tokens = _parsed(text)
    kinds = {token.type for token in tokens}

    assert not kinds & {"html_block", "html_inline", "image", "link_open", "code_block", "em_open", "s_open"}
    assert {token.content for token in tokens if token.type == "text" and "evil.example" in token.content} == set()
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert any(visible(HOSTILE) in block for block in blocks)
    assert {token.info for token in tokens if token.type == "fence"} == {"text"}
    outside = "".join(token.content for token in tokens if token.type == "text")
    assert "alert(1)" not in outside
    assert "@everyone" not in outside


def test_no_control_character_is_left(cli: Callable[..., Ran], rich_run: str) -> None:
    """It is pasted into terminals too."""
    text = _written(cli, rich_run)

    assert all(character == "\n" or character.isprintable() for character in text.replace("\t", ""))


def test_a_long_run_fits_into_an_issue_and_says_what_is_missing(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A document that GitHub refuses is no document; one that hides its cuts is a lie."""
    story = Story()
    for number in range(800):
        story.tool("step", {"number": number, "text": "lorem ipsum " * 40}, "x" * 3_000)
    story.tool("last", {}, None, error={"error_type": "KeyError", "message": "'due'", "stack": "s" * 9_000})
    story.end("error")
    text = _written(cli, store(data_dir, story, "error"))

    assert LARGEST * 0.8 < len(text) <= LARGEST
    assert "'due'" in text
    footer = text.rstrip().splitlines()[-1]
    assert footer.startswith("Left out: ")
    steps = [line for line in text.splitlines() if line.startswith("#") and ", tool " in line]
    missing = 801 - len(steps)
    assert f"{missing:,} of 801 steps" in footer
    assert f"… {missing:,} steps left out …" in text
    in_full = sum(line.startswith("### ") for line in text.splitlines())
    assert f"{801 - in_full:,} events in full" in footer
    assert "characters left out …" in text


def test_a_short_run_leaves_nothing_out_and_does_not_say_so(cli: Callable[..., Ran], parallel_run: str) -> None:
    """A warning that is always there is read by nobody."""
    text = _written(cli, parallel_run)

    assert "Left out" not in text
    assert sum(line.startswith("### ") for line in text.splitlines()) == 5


def test_several_runs_are_several_documents(cli: Callable[..., Ran], rich_run: str, parallel_run: str) -> None:
    """They share the room."""
    text = _written(cli, rich_run, parallel_run)

    assert [token.type for token in _parsed(text)].count("hr") == 1
    assert sum(line.startswith("# ") for line in text.splitlines()) == 2


@pytest.mark.parametrize("text", ["", "`", "``", "a`b", "`a", "a|b", "``` `` `", "a\nb", "\x00", " x ", "x" * 900])
def test_a_code_span_shows_exactly_its_text(text: str) -> None:
    """Ticks at its ends or inside cannot close it early."""
    tokens = [token for token in _parsed(f"before {code(text)} after") if token.type == "code_inline"]

    assert len(tokens) == 1
    shown = tokens[0].content
    assert shown.strip() == " ".join(visible(text).split()) or shown.endswith("…")
    assert len(shown) <= 302


@pytest.mark.parametrize("text", ["```", "~~~\n````js\n``````", "\n\n", "a\r\nb", HOSTILE])
def test_a_fence_cannot_be_closed_from_inside(text: str) -> None:
    """The block ends where we end it."""
    tokens = _parsed(f"{fenced(text)}\n\nafter")

    assert [token.type for token in tokens if token.type in ("fence", "paragraph_open")] == ["fence", "paragraph_open"]
    assert tokens[0].content.strip("\n") == visible(text).strip("\n")


def test_a_cut_keeps_both_ends_and_counts_what_is_missing() -> None:
    """The end of a long text is where it says what went wrong."""
    shown = cut_middle("a" * 1_000 + "b" * 1_000, 300)

    assert shown.startswith("a" * 200)
    assert shown.endswith("b" * 100)
    assert "1,700 characters left out" in shown
