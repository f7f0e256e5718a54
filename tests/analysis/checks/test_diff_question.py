"""What `agentdbg diff` was asked is part of its answer: which runs, which parts of them, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.commands import terminal
from tests.analysis.checks.runs import refund_story
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Ran]


@pytest.fixture
def pair(data_dir: Path) -> tuple[str, str]:
    """Two runs that differ in what they pay back."""
    return store(data_dir, refund_story()), store(data_dir, refund_story(amount=4000))


def test_a_run_compared_with_itself_is_said(cli: Cli, data_dir: Path, pair: tuple[str, str]) -> None:
    """`agentdbg diff latest` is always the same, and whoever has it in a script should see why."""
    note = "A and B are the same run."

    assert note in cli("diff", pair[0], pair[0]).out
    assert note in cli("diff", pair[0], str(data_dir / "runs" / pair[0])).out
    assert note not in cli("diff", *pair).out


def test_what_was_left_out_is_said_wherever_the_answer_is_read(cli: Cli, pair: tuple[str, str]) -> None:
    """`Same` in a review, of runs that paid 40 and 4,000, has to say that the amount was not looked at."""
    asked = ("diff", *pair, "--ignore", "args.amount")
    note = "Left out of the comparison: args.amount."

    assert cli(*asked).out.startswith("= Same")
    assert note in cli(*asked).out
    assert "\nLeft out of the comparison: args.amount.\n" in cli(*asked, "--markdown").out
    assert cli(*asked, "--json").json["notes"][-1] == note
    assert "Left out" not in cli("diff", *pair).out


@pytest.mark.parametrize("path", ["", " ", ".", "args[", "args[]", "args]", "[0]"])
def test_a_path_that_breaks_off_is_refused(cli: Cli, pair: tuple[str, str], path: str) -> None:
    """A variable that is not set, or a bracket too few, would leave out nothing, or all arguments at once."""
    ran = cli("diff", *pair, "--ignore", path)

    assert (ran.code, ran.out) == (2, "")
    assert f"--ignore {path!r} is no path" in ran.err


@pytest.mark.parametrize(
    ("part", "verdict", "first"),
    [
        ("effects", "= Same effects", "▎ Both did the same: 1 side effect, with equal arguments."),
        ("tools", "= Same tool calls", "▎ Every tool call is the same, 3 on each side."),
    ],
)
def test_steps_that_nobody_compared_are_not_called_the_same(
    cli: Cli, data_dir: Path, part: str, verdict: str, first: str
) -> None:
    """The answers differ; `Every step is the same` would be wrong, and is what a reader would remember."""
    a, b = store(data_dir, refund_story()), store(data_dir, refund_story(says="It is on its way to you."))
    ran = cli("diff", a, b, "--only", part)

    assert ran.code == 0
    assert ran.out.startswith(f"{verdict}  story")
    assert ran.out.splitlines()[1] == first


def test_where_the_steps_part_is_told_of_what_was_compared(cli: Cli, data_dir: Path) -> None:
    """The first answers differ already; `before that every step is the same` would be read as if they did not."""
    a, b = Story(), Story()
    for story, words, day in ((a, "I look for trains on day 1.", 1), (b, "First I ask what you like, in 3 steps.", 2)):
        story.llm("Away!", words)
        story.tool("get_map", {}, "map")
        story.tool("get_trains", {"day": day}, "none")
        story.tool("book_train", {"day": day}, "ok")
        story.end()
    runs = store(data_dir, a), store(data_dir, b)
    tools, effects = (cli("diff", *runs, "--only", part).out for part in ("tools", "effects"))

    assert "First difference, after get_map: " in tools
    assert "Before that every tool call is the same.  A#4 B#4" in tools
    assert [line for line in effects.splitlines() if line.startswith("▎")] == [
        "▎ book_train got day 1 in A and 2 in B.  A#5 B#5"
    ]


def test_a_call_that_did_not_return_is_told_as_that(cli: Cli, data_dir: Path) -> None:
    """The process died in it: `other arguments` would send the reader looking for a difference that is not there."""
    story = refund_story(refunds=0, ended=False)
    story.events.pop()
    story.call_start("refund", given={"order_id": "A-17", "amount": 40})
    good, died = store(data_dir, refund_story()), store(data_dir, story, "running")
    cli("baseline", good, "--out", "b.json")
    there, back, gate = cli("diff", good, died).out, cli("diff", died, good).out, cli("assert", died, "-b", "b.json")

    assert "▎ refund returned in A and never in B.  A#5 B#5" in there
    assert "▎ refund returned in B and never in A.  A#5 B#5" in back
    for part in ((), ("--only", "tools"), ("--only", "effects")):
        assert "#5 #5 ≠ refund writes\n" in cli("diff", good, died, *part).out
    assert "        returned  + false\n" in there
    assert " ✕ effects     Other side effects: #5: `refund` never returned." in gate.out


def test_a_call_that_only_one_run_began_says_that_it_has_no_end(cli: Cli, data_dir: Path) -> None:
    """Beside a run that never came so far it looks like any other call, and may have done nothing."""
    story = refund_story(ended=False)
    story.call_start("send_email", given={"to": "me"})
    good, died = store(data_dir, refund_story()), store(data_dir, story, "running")

    for part in ((), ("--only", "tools"), ("--only", "effects")):
        assert '   #7 + send_email did not return  to: "me"\n' in cli("diff", good, died, *part).out
    assert '`send_email` did not return `to: "me"`' in cli("diff", good, died, "--markdown").out


def test_two_calls_of_one_tool_are_told_apart_by_what_they_were_given(cli: Cli, data_dir: Path) -> None:
    """`A runs find_order, B runs find_order` is no difference to whoever reads it."""
    runs = []
    for orders in (("A-17", "B-4"), ("B-4",)):
        story = Story()
        for order in orders:
            story.tool("find_order", {"order_id": order}, {"paid": 40, "of": order})
        story.end()
        runs.append(store(data_dir, story))
    told = cli("diff", *runs).out

    assert 'First difference: A runs find_order with order_id: "A-17", B find_order with order_id: "B-4".' in told


@pytest.mark.parametrize("width", [40, 60, 80])
def test_both_sides_of_a_change_are_on_the_line(
    cli: Cli, data_dir: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two long values the first would fill the line, and what it became could not be seen."""
    notes = ["Please ring twice and leave the parcel with the neighbours", "At the back door, under the old mat"]
    runs = []
    for note in notes:
        story = refund_story(ended=False)
        story.tool("send_parcel", {"note": note}, "ok")
        story.end()
        runs.append(store(data_dir, story))
    monkeypatch.setattr(terminal, "_is_terminal", lambda _: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    line = next(line for line in cli("diff", *runs).out.splitlines() if line.strip().startswith("args.note"))

    assert len(line) <= width
    was, _, now = line.partition(" → ")
    assert "“Ple" in was
    assert now.startswith("“At")
    assert now.endswith("”")


def test_an_endless_name_does_not_bury_the_verdict(cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five lines of one word above the first sentence are five lines that nobody reads."""
    run = store(data_dir, refund_story(), name="x" * 500)
    monkeypatch.setattr(terminal, "_is_terminal", lambda _: True)
    monkeypatch.setenv("COLUMNS", "60")

    assert max(map(len, cli("diff", run, run, "--stat").out.splitlines()[:3])) < 100


def test_a_long_comparison_says_how_far_it_is(cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of fifty thousand events take seconds, and nobody should wonder whether anything happens."""
    story = Story()
    for number in range(1200):
        story.tool("search", {"page": number}, number)
    story.end()
    run = store(data_dir, story, event_counts={"TOOL_CALL": 1200, "RUN_START": 1, "RUN_END": 1})
    told: list[float] = []
    monkeypatch.setattr(terminal.Progress, "at", lambda _, share: told.append(share))
    cli("diff", run, str(data_dir / "runs" / run), "--stat")

    assert [round(share, 2) for share in told] == [0.21, 0.42, 0.62, 0.83]


def test_a_step_that_moved_is_counted_once(cli: Cli, data_dir: Path) -> None:
    """It stands in two rows, where it was and where it is; two steps would be looked for in vain."""
    runs = []
    for order in ("abcdefgh", "abfcdegh"):
        story = Story()
        for name in order:
            story.tool(f"get_{name}", {"of": name}, name)
        story.end()
        runs.append(store(data_dir, story))

    assert "= 9 same  ⇄ 1 moved\n" in cli("diff", *runs).out
    assert "Steps: 9 same, 1 moved\n" in cli("diff", *runs, "--markdown").out
    assert cli("diff", *runs, "--json").json["counts"]["moved"] == 2
