"""`agentdbg diff` on runs that failed, died or are damaged, on files, and in a project with a policy."""

from __future__ import annotations

import gzip
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from agentdbg.commands.markdown_words import as_text
from tests.analysis.checks.runs import refund_story
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable

    Cli = Callable[..., Ran]


def test_the_policy_says_what_writes_for_a_comparison_too(cli: Cli, data_dir: Path) -> None:
    """A tool that is a side effect for the gate and none for the comparison would make one of them wrong."""
    a, b = (store(data_dir, refund_story(refunds=0, reads=(name,))) for name in ("frobnicate", "find_order"))
    before = cli("diff", a, b)
    Path(".agentdbg").mkdir()
    Path(".agentdbg/policy.yaml").write_text("max_steps: baseline\nwrite_tools: [frob*]\n")
    after = cli("diff", a, b)

    assert before.out.startswith("? Effects unknown")
    assert "Side effects unknown: frobnicate." in before.out
    assert after.out.startswith("≠ Different effects")
    assert "Only A called frobnicate" in after.out


def test_a_policy_that_cannot_be_read_is_said_by_a_comparison_too(cli: Cli, data_dir: Path) -> None:
    """What writes would otherwise be guessed although somebody has written it down."""
    run = store(data_dir, refund_story())
    Path(".agentdbg").mkdir()
    Path(".agentdbg/policy.yaml").write_text("writes_tools: [frob*]\n")
    ran = cli("diff", run, run)

    assert ran.code == 2
    assert "has no rule 'writes_tools'; did you mean write_tools?" in ran.err


def test_a_run_that_failed_is_told_before_its_effects(cli: Cli, data_dir: Path) -> None:
    """The same side effects, and then the agent crashed: nobody should read a green verdict and go home."""
    story = refund_story(ended=False)
    story.error("ValueError", "kaputt")
    story.end("error", error={"error_type": "ValueError", "message": "kaputt"})
    good, failed = store(data_dir, refund_story()), store(data_dir, story, "error")
    ran = cli("diff", good, failed)
    told = cli("diff", good, failed, "--json").json
    both_failed = cli("diff", failed, failed)

    assert ran.out.splitlines()[0].startswith("≈ Same effects")
    assert ran.out.splitlines()[1] == "▎ A finished, B failed: ValueError: kaputt.  A#7 B#8"
    assert "- A finished, B failed: `ValueError: kaputt`. (A#7 B#8)" in cli("diff", good, failed, "--markdown").out
    assert (told["sentences"][0]["a"], told["sentences"][0]["b"]) == (7, 8)
    assert "finished" not in both_failed.out


def test_two_errors_that_differ_in_an_id_alone_are_one_ending(cli: Cli, data_dir: Path) -> None:
    """The same failure twice is no difference, whatever number the server gave the request."""
    runs = []
    for request in ("7f3c9a52-1111-4222-8333-444455556666", "0b1d2c3e-9999-4888-8777-666655554444"):
        story = refund_story(ended=False)
        story.end("error", error={"error_type": "ServerError", "message": f"request {request} failed"})
        runs.append(store(data_dir, story, "error"))

    assert "failed: " not in cli("diff", *runs).out


def test_a_run_that_broke_off_never_ended(cli: Cli, data_dir: Path) -> None:
    """Its last steps are missing because nobody took them, which a list of missing steps does not say."""
    good, died = store(data_dir, refund_story()), store(data_dir, refund_story(ended=False), "running")

    assert "▎ A finished, B never ended.  A#7\n" in cli("diff", good, died).out


def test_damaged_lines_are_named_where_runs_are_compared(cli: Cli, data_dir: Path) -> None:
    """Without a word `Same` would be said of a log whose one broken line deleted everything."""
    a, b = (store(data_dir, refund_story()) for _ in "ab")
    log = data_dir / "runs" / b / "events.jsonl"
    log.write_text(log.read_text() + '{"event_type": "TOOL_CALL", "name": "delete_a')
    note = "B is not whole: 1 line of its log is damaged, and what stood there was not compared."
    stored, copied = cli("diff", a, b), cli("diff", a, str(log))

    assert stored.out.startswith("= Same")
    assert note in stored.out
    assert note in copied.out
    assert note in cli("diff", a, b, "--json").json["notes"]
    assert "not whole" not in cli("diff", a, a).out


def test_a_run_without_events_is_the_same_as_nothing(cli: Cli, data_dir: Path) -> None:
    """Two logs that were emptied are equal, and `Same` with exit code 0 would say that nothing changed."""
    run = store(data_dir, refund_story())
    (data_dir / "runs" / run / "events.jsonl").write_text("")
    ran = cli("diff", run, run)

    assert ran.code == 2
    assert f"run {run[:8]} holds no events, so there is nothing to compare" in ran.err


def test_prompts_alone_have_a_verdict_of_their_own(cli: Cli, data_dir: Path) -> None:
    """`Different effects` over prompts that are all the same, with exit code 0, says two things at once."""
    a, b = store(data_dir, refund_story()), store(data_dir, refund_story(amount=4000))
    story = Story()
    story.llm([{"role": "system", "content": "Be quick."}, {"role": "user", "content": "My money back, please"}], "Yes")
    story.end()
    same, other = cli("diff", a, b, "--only", "prompts"), cli("diff", a, store(data_dir, story), "--only", "prompts")

    assert (same.code, other.code) == (0, 1)
    assert same.out.startswith("= Same prompts")
    assert same.out.splitlines()[1] == "▎ Both made 2 model calls and gave the same to each."
    assert "refund" not in same.out
    assert other.out.startswith("≠ Different prompts")
    assert "▎ 1 of 1 model call that both made got something else: system.  A#2 B#2" in other.out
    assert "▎ Only A made 1 more model call.  A#6" in other.out
    assert cli("diff", a, b, "--only", "prompts", "--json").json["verdict"] == "same_prompts"


def test_logs_packed_logs_and_folders_of_runs_are_compared_too(cli: Cli, data_dir: Path) -> None:
    """A colleague sends whatever they found in their data folder."""
    run = store(data_dir, refund_story())
    folder = data_dir / "runs" / run
    packed = Path("events.jsonl.gz")
    packed.write_bytes(gzip.compress((folder / "events.jsonl").read_bytes()))

    for path in (folder, folder / "events.jsonl", packed):
        ran = cli("diff", run, str(path))
        assert (ran.code, ran.out[:6]) == (0, "= Same")


def test_a_file_that_holds_no_run_is_refused_as_a_file(cli: Cli, data_dir: Path) -> None:
    """`is not a run id` helps nobody who has mistyped the name of a file."""
    store(data_dir, refund_story())
    Path("agent.py").write_text("print()\n")
    Path("empty.jsonl").write_text("\n")
    Path("torn.jsonl.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    said = {
        "gone.json": "gone.json cannot be read: No such file or directory",
        "agent.py": "agent.py is no run; `agentdbg export RUN --out agent.json` writes one",
        "./": "has no events.jsonl, so it is none of a run",
        "empty.jsonl": "empty.jsonl holds no events",
        "torn.jsonl.gz": "torn.jsonl.gz is damaged and cannot be unpacked",
    }

    for path, says in said.items():
        ran = cli("diff", path, "latest")
        assert (ran.code, ran.out) == (2, "")
        assert says in ran.err


def test_thousands_of_other_words_do_not_bury_what_was_done_differently(cli: Cli, data_dir: Path) -> None:
    """A chat agent words every answer anew; the one call that is new is what the reader looks for."""
    stories = Story(), Story()
    for number in range(100):
        for story, words in zip(stories, ("Now I look at", "Let me have a look at"), strict=True):
            story.llm(f"Next, please, day {number}.", f"{words} the connections of this day for you.")
            story.tool("get_flights", {"day": number}, "none")
    stories[1].tool("get_trains", {"day": 7}, "none")
    for story in stories:
        story.end()
    a, b = (store(data_dir, story) for story in stories)
    printed, page = cli("diff", a, b).out, cli("diff", a, b, "--markdown").out

    assert printed.count("≈ gpt-4o") == 40
    assert "≈ 121 rows the same but for wording\n" in printed
    assert "+ get_trains  day: 7" in printed
    assert "`get_trains` `day: 7` (**first difference**)" in page
    assert "- and 100 more\n" in page


def test_a_write_that_failed_is_no_write(cli: Cli, data_dir: Path) -> None:
    """`writes` beside a call that only one run made, under the verdict that both did the same, cannot be understood."""
    story = refund_story(ended=False)
    story.tool("send_email", {"to": "x" * 300}, error={"error_type": "ValueError", "message": "no such address"})
    story.end()
    a, b = store(data_dir, refund_story()), store(data_dir, story)
    ran = cli("diff", a, b)

    assert ran.out.startswith("≈ Same effects")
    assert "+ send_email failed  to: " in ran.out
    assert "`send_email` failed `to: " in cli("diff", a, b, "--markdown").out


HOSTILE_MARKDOWN = "send_ ![p](http://e/p.png) <img src=x> [l](http://e) `c` *b* @team #12 | x\n# head\n- item"


@pytest.mark.parametrize("command", ["diff", "assert"])
def test_recorded_words_are_only_words_to_a_reader_of_markdown(cli: Cli, data_dir: Path, command: str) -> None:
    """It is posted on pull requests, where a picture, a link or a heading of its own would be taken for ours."""
    runs = []
    for words in "ab":
        story = refund_story(ended=False)
        story.tool(HOSTILE_MARKDOWN, {"x": HOSTILE_MARKDOWN + words}, HOSTILE_MARKDOWN + words)
        story.end(result=HOSTILE_MARKDOWN)
        runs.append(store(data_dir, story, name=HOSTILE_MARKDOWN))
    gate = ("--tools", "x", "--max-steps", "1", "--effects", "none", "--format", "markdown")
    page = cli(command, *runs, "--markdown").out if command == "diff" else cli(command, runs[0], *gate).out
    blocks = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(page)
    pieces = [piece for block in blocks for piece in block.children or ()]
    headings = [blocks[at + 1].content for at, block in enumerate(blocks) if block.type == "heading_open"]

    assert {piece.type for piece in pieces} <= {"text", "code_inline", "strong_open", "strong_close"}
    assert not re.search(r"@team|#12|://", "".join(piece.content for piece in pieces if piece.type == "text"))
    assert len(headings) == (2 if command == "diff" else 4)
    assert headings[0].count("img") == (2 if command == "diff" else 1)


def test_addresses_in_recorded_words_lead_nowhere_and_long_words_cost_nothing() -> None:
    """A page makes links of them by itself; and a word of a megabyte is read once, not once for each letter."""
    began = time.process_time()
    long = as_text("x" * 1_000_000)

    assert as_text("see https://e.example/a_b?c=1, or www.e.example.") == (
        "see `https://e.example/a_b?c=1,` or `www.e.example.`"
    )
    assert as_text("no://") == "no://"
    assert len(long) == 1_000_000
    assert time.process_time() - began < 2


def test_what_only_one_run_has_is_no_list_and_no_name_is_no_hole(cli: Cli, data_dir: Path) -> None:
    """`- 1 only in A` begins a list, and two backticks around nothing swallow the rest of the line as code."""
    story = Story()
    story.tool("", {"x": 1}, "y")
    story.end()
    bare = Story()
    bare.end()
    page = cli("diff", store(data_dir, story), store(data_dir, bare), "--only", "tools", "--markdown").out
    blocks = MarkdownIt("gfm-like", {"linkify": False}).parse(page)
    listed = [blocks[at + 2].content for at, block in enumerate(blocks) if block.type == "list_item_open"]

    assert "\nSteps: 1 only in A\n" in page
    assert listed[-1] == 'only in A A#2 `""` may write `x: 1` (**first difference**)'
    assert len(listed) == page.count("\n- ")


def test_runs_that_part_in_their_answers_are_told_with_their_words(cli: Cli, data_dir: Path) -> None:
    """`A answers, B answers` says nothing; and a finding of ours is not what an agent does next."""
    stories = refund_story(ended=False, says="You get it back."), refund_story(ended=False, says="You get it back.")
    stories[1].loop("repetition", "info", "TOOL_CALL:find_order", [3])
    stories[0].llm("And now?", "Nothing is left to do, good-bye.")
    stories[1].tool("get_rates", {"day": 1}, "none")
    stories[1].llm("And then?", "Which of the seven orders 1 to 7 do you mean?")
    for story in stories:
        story.end()
    a, b = (store(data_dir, story) for story in stories)
    other = refund_story(ended=False, says="You get it back.")
    other.llm("Hm?", "Order 99 was never paid, so there are 0 dollars to give back.")
    other.llm("And now?", "Nothing is left to do, good-bye.")
    other.end()
    answers = cli("diff", a, store(data_dir, other)).out

    assert "A answers, B runs get_rates." in cli("diff", a, b).out
    assert "A answers “Nothing is left to do, good-bye”, B answers “Order 99 was never paid" in answers
    assert "Every step is the same, 8 on each side." in cli("diff", a, a).out


def test_a_piped_comparison_keeps_to_the_width_that_was_asked_for(
    cli: Cli, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`COLUMNS=72 agentdbg diff … | less`, or a page of documentation: lines that run on are hard to read."""
    a, b = store(data_dir, refund_story()), store(data_dir, refund_story(amount=4000, says="You get 4,000 back. " * 9))
    free = cli("diff", a, b).out
    monkeypatch.setenv("COLUMNS", "72")
    kept = cli("diff", a, b).out

    assert max(map(len, free.splitlines())) > 72
    assert max(map(len, kept.splitlines())) <= 72
