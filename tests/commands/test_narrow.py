"""What is printed fits the terminal, however narrow: a phone, a split window, a CI log beside the code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentdbg.commands import terminal
from agentdbg.commands.receive import _say_where
from agentdbg.commands.terminal import Column, Styled, Terminal, cell_width
from agentdbg.receiver.serving import Receiver
from tests.analysis.story import Story
from tests.commands.stored import store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran

pytestmark = pytest.mark.slow

WIDTHS = (40, 60, 80, 120)
COMMANDS = (
    ["list"],
    ["show"],
    ["explain"],
    ["tail"],
    ["diff", "aaaa", "bbbb"],
    ["diff", "aaaa", "bbbb", "--stat"],
    ["assert", "bbbb", "--must-call", "search", "--max-tokens", "10", "--must-not-call", "parse"],
    ["validate"],
    ["config"],
    ["doctor"],
    ["sql"],
    ["sql", "select * from runs"],
    ["sql", "select run_name, status from runs"],
    ["restore"],
    ["restore", "ffff"],
    ["prune", "--keep", "0", "--dry-run"],
    ["rename", "latest", "a name of a good many words, as people give them to runs that matter"],
    ["init", "."],
    ["import", "nowhere.json"],
    ["list", "--name", "nobody"],
    ["baseline", "aaaa", "bbbb", "--out", "b.json"],
    ["push", "aaaa", "--otlp", "http://localhost:4318", "--dry-run"],
)


@pytest.fixture(autouse=True)
def _stored(data_dir: Path, failed_run: str, cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two long-named runs to compare, one in the trash, and everything printed taken for a terminal."""
    for first, tool in (("aaaaaaaa", "search the catalogue"), ("bbbbbbbb", "parse")):
        story = Story()
        story.llm("Find me something to read for the long way home, please", "On it.", tokens=(1200, 300))
        story.tool(tool, {"text": "a good many words " * 9}, "something else entirely", parent=2)
        story.end()
        run_id = f"{first}-0000-4000-8000-000000000000"
        store(data_dir, story, name="research: something to read on the way home", run_id=run_id)
    cli("delete", failed_run, "--yes")
    monkeypatch.setattr(terminal, "_is_terminal", lambda _: True)
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(
    cli: Callable[..., Ran], arguments: list[str], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line the terminal breaks inside a column cannot be read. Only a single long word may be wider."""
    monkeypatch.setenv("COLUMNS", str(width))
    ran = cli(*arguments)

    lines = [line for line in (ran.out + ran.err).splitlines() if len(line.split()) > 1]
    assert lines
    assert [line for line in lines if cell_width(line) > width] == []


def test_where_spans_are_received_is_told_in_lines_that_fit_and_settings_that_stay_whole(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The sentences are read, the settings are copied: half a token is none."""
    out = Terminal()
    out.width = 40
    _say_where(out, Receiver("0.0.0.0", 4318, "t" * 43))
    lines = capfd.readouterr().out.splitlines()

    assert [line for line in lines if len(line) > 40 and " " in line.strip()] == []
    assert f"  OTEL_EXPORTER_OTLP_HEADERS=x-agentdbg-token={'t' * 43}" in lines


def test_a_sentence_is_broken_between_words_and_never_inside_one(capfd: pytest.CaptureFixture[str]) -> None:
    """Also where a word is made of pieces of two styles, and where a path is longer than the line."""
    out = Terminal()
    out.width = 12
    out.sentence(Styled("✕ ", "error"), "one two", Styled("three", "strong"), " /a/very/long/path  four", hang=2)

    assert capfd.readouterr().out == "✕ one\n  twothree\n  /a/very/long/path\n  four\n"


def test_a_table_too_wide_for_any_terminal_becomes_sentences(capfd: pytest.CaptureFixture[str]) -> None:
    """Every value is still there, which is what the person came for."""
    out = Terminal()
    out.width = 20
    out.table([Column("setting"), Column("value", least=12)], [["guardrails.max_cost_usd", "not set"], ["a", "on"]])

    assert capfd.readouterr().out == "guardrails.max_cost_usd\n    not set\na  on\n"


def test_the_least_wanted_column_goes_first(capfd: pytest.CaptureFixture[str]) -> None:
    """When it began matters more than how many calls it made, wherever the columns stand."""
    out = Terminal()
    out.width = 12
    out.table([Column("id"), Column("began", optional=1), Column("calls", optional=3)], [["ab", "today", "4"]])

    assert capfd.readouterr().out == "id  began\nab  today\n"


def test_columns_that_say_one_thing_go_together_and_leave_the_room_to_the_name(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Model calls without tool calls are half a figure, and two names cut before they differ are one name."""
    out = Terminal()
    out.width = 34
    columns = [Column("run_name", least=16), Column("llm", optional=3), Column("tool", optional=3), Column("status")]
    out.table(columns, [["rebook a flight, old prompt", "4", "3", "ok"]])

    assert capfd.readouterr().out.splitlines() == [
        f"{'run_name':26}  status",
        "rebook a flight, old prom…  ok",
    ]


def test_two_long_columns_share_the_room(capfd: pytest.CaptureFixture[str]) -> None:
    """One very long name must not cut what came of the run to a few letters."""
    out = Terminal()
    out.width = 42
    out.table([Column("name", least=4), Column("what", least=4)], [["n" * 300, "w" * 80]])

    assert capfd.readouterr().out.splitlines()[1] == "n" * 19 + "…  " + "w" * 19 + "…"


def test_letters_that_are_joined_stay_joined_and_take_the_room_they_take(capfd: pytest.CaptureFixture[str]) -> None:
    """A Persian name or a family of emoji is spelt with joiners; in plain words a joiner only hides a difference."""
    out = Terminal()
    for name in ("می\u200cخواهم", "👩\u200d👧", "de\u200dlete", "é\u200d\u200dé", "\u200cا"):
        out.line(name)

    assert capfd.readouterr().out.splitlines() == [
        "می\u200cخواهم",
        "👩\u200d👧",
        "de\\u200dlete",
        "é\\u200d\\u200dé",
        "\\u200cا",
    ]
    assert cell_width("👩\u200d👧") == 4
    assert cell_width("e\u0301\ufe0f") == 1


def test_on_a_narrow_terminal_what_a_command_does_stands_below_it(
    cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut after four letters it helps nobody who is here for the first time."""
    for width, beside in ((40, False), (120, True)):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = cli().out

        assert "open the newest run in the browser" in shown
        assert any("agentdbg view" in line and "open the newest" in line for line in shown.splitlines()) is beside


def test_on_a_narrow_terminal_an_option_stands_above_what_it_does(
    cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a gap as long as the longest option there is room for one word of the sentence, and the rest is below."""
    monkeypatch.setenv("COLUMNS", "40")
    lines = cli("run", "--help").out.splitlines()

    assert "  -m MODULE" in lines
    assert "        Stop a run that goes round in" in lines
    assert [line for line in lines if "   " in line.strip() and len(line) > 40] == []


def test_a_list_says_no_time_where_nobody_recorded_one(
    cli: Callable[..., Ran], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chat transcript has no clock; "<1 ms" would be made up."""
    monkeypatch.setenv("COLUMNS", "120")
    for run_id, origin in (("aaaaaaaa", {"times": "not recorded"}), ("bbbbbbbb", {})):
        path = data_dir / "runs" / f"{run_id}-0000-4000-8000-000000000000" / "run.json"
        run = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**run, "metadata": {"imported_from": origin}}), encoding="utf-8")
    lines = {line[:8]: line for line in cli("list").out.splitlines()}

    assert " – " in lines["aaaaaaaa"]
    assert " s " in lines["bbbbbbbb"]
