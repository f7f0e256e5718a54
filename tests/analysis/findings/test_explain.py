"""`agentdbg explain` as people run it: in a terminal, in a pipe, as Markdown and as JSON."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentdbg.commands.terminal import cell_width
from tests.analysis.story import Story
from tests.commands.stored import HOSTILE, store
from tests.interop.files import agentdbg

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SCHEMA = [{"name": "page_down", "input_schema": {"type": "object", "properties": {}}}]


def _troubled(name: str = "search agent") -> Story:
    story = Story()
    story.events[0]["payload"]["agentdbg_version"] = "0.1.0"
    number = story.llm([{"role": "user", "content": "Count the albums"}], "Scrolling.", tokens=(900, 20))
    story.events[number - 1]["payload"]["tools"] = SCHEMA
    for _ in range(3):
        story.tool(
            "page_down", {"": ""}, error={"error_type": "TypeError", "message": "unexpected keyword argument ''"}
        )
    story.llm([{"role": "user", "content": "Count the albums"}], "Seven albums.", tokens=(12_000, 9), duration_ms=5_000)
    story.end("ok", result="Seven albums.")
    return story


@pytest.fixture
def run_id(data_dir: Path) -> str:
    return store(data_dir, _troubled(), name="search agent")


def test_it_leads_with_what_is_wrong(run_id: str) -> None:
    """The verdict, then what it does not say, the worst first."""
    ran = agentdbg("explain", run_id[:8])

    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("! Finished with problems  search agent")
    assert "page_down failed 3 times" in lines[1]
    marks = [line[:3] for line in lines if re.match(r" [✕!·] ", line)]
    assert marks == [" ! ", " · ", " · "]
    assert "was called 3 times with arguments that do not fit, and failed each time" in ran.out
    assert ran.out.count("page_down failed") == 1


def test_an_answer_that_the_line_above_quotes_is_not_said_again(data_dir: Path) -> None:
    """Three lines are all there is room for, and two that say the same are one too many."""
    story = Story()
    story.llm([{"role": "user", "content": "Sort my mail."}], "I list it first.", tokens=(80, 9))
    story.tool("list_mail", {"folder": "all"}, {"status": 503, "message": "Service Unavailable"})
    story.llm([{"role": "user", "content": "Sort my mail."}], "Done! Your mail is sorted.", tokens=(90, 9))
    story.end("ok")
    ran = agentdbg("show", store(data_dir, story, name="mail sorter")[:8])
    verdict = [row for row in ran.out.splitlines() if row.startswith("▎")]

    assert "mentions no failure: Done! Your mail is sorted." in verdict[0]
    assert len(verdict) == 1


def test_a_pipe_gets_no_colours_and_no_cuts(run_id: str) -> None:
    """What is pasted into an issue must be whole."""
    ran = agentdbg("explain", run_id, COLUMNS="40")

    assert "\x1b" not in ran.out
    assert "…" not in ran.out


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("columns", [60, 120])
def test_a_terminal_gets_lines_that_fit(run_id: str, columns: int) -> None:
    """Narrow panes are where agents are debugged."""
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "agentdbg", "explain", run_id],
        stdout=theirs,
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        written = b""
        while chunk := _read(ours):
            written += chunk
        process.wait()
    os.close(ours)

    assert b"\x1b[" in written
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written.decode()).splitlines()
    assert all(cell_width(line) <= columns for line in plain), plain
    assert f"agentdbg show {run_id[:8]} --event 3 shows it in full." in " ".join(plain)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side is closed
        return b""


def test_markdown_is_short_and_names_the_events(run_id: str) -> None:
    """Short enough for an issue, with what an assistant needs to go on."""
    ran = agentdbg("explain", run_id, "--markdown")

    assert ran.out.startswith("## Finished with problems: search agent\n")
    assert "### Also found\n- **warning** #3: `page_down` was called 3 times" in ran.out
    assert "### The events\n- #2, " in ran.out
    assert "\n- #3, tool page_down" in ran.out
    assert run_id in ran.out
    assert len(ran.out) < 4_000


def test_json_holds_every_finding_with_its_evidence(run_id: str) -> None:
    """For a script or an assistant that goes on from here."""
    told = agentdbg("explain", run_id, "--json").json

    head = ["spec_version", "run", "verdict", "figures", "state", "outcome", "beside", "suspects", "findings"]
    assert list(told) == head
    by_kind = {finding["kind"]: finding for finding in told["findings"]}
    assert set(by_kind) == {"swallowed_error", "arguments_misfit", "first_failure", "context_growth", "time_spent"}
    assert by_kind["swallowed_error"]["evidence"]["numbers"] == [3, 4, 5]
    assert len(by_kind["swallowed_error"]["evidence"]["event_ids"]) == 3


def test_a_healthy_run_is_told_in_a_few_lines(data_dir: Path) -> None:
    """Nothing is made up where nothing is wrong."""
    story = Story()
    story.llm([{"role": "user", "content": "2+2?"}], "Four.", duration_ms=300)
    story.end("ok", result="Four.")
    run_id = store(data_dir, story, name="sums")

    ran = agentdbg("explain", run_id)

    assert ran.out.splitlines()[0].startswith("✓ Finished  sums")
    assert "Answered: Four." in ran.out
    assert len(ran.out.splitlines()) == 3


def test_hostile_names_do_not_reach_the_terminal(data_dir: Path) -> None:
    """A tool's name comes from a program somebody else wrote."""
    story = _troubled()
    for event in story.events:
        if event["event_type"] == "TOOL_CALL":
            event["name"] = HOSTILE
    run_id = store(data_dir, story, name=HOSTILE)

    for arguments in ((), ("--markdown",)):
        out = agentdbg("explain", run_id, *arguments).out
        assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e", "\x00", "\r"}


def test_mistakes_are_explained(data_dir: Path, run_id: str) -> None:
    """Exit code 2, one line."""
    assert agentdbg("explain", run_id, "--json", "--markdown").code == 2
    missing = agentdbg("explain", "ffff")
    assert missing.code == 2
    assert "no run matches 'ffff'" in missing.err


def test_a_check_tells_a_good_run_from_one_with_problems(data_dir: Path) -> None:
    """A nightly job asks one question: does anybody have to look?"""
    good, recovered, failed = Story(), Story(), Story()
    good.llm(response="Seven albums.")
    good.end("ok", result="Seven albums.")
    recovered.tool("search", {"q": 1}, error={"error_type": "TimeoutError", "message": "no answer"})
    recovered.tool("search", {"q": 1}, ["seven"])
    recovered.llm(response="Seven albums.")
    recovered.end("ok", result="Seven albums.")
    failed.error("ValueError", "no")
    failed.end("error", error={"error_type": "ValueError", "message": "no"})
    stories = {"good": (good, "ok"), "recovered": (recovered, "ok"), "troubled": (_troubled(), "ok")}
    stories["failed"] = (failed, "error")
    codes = {}
    for name, (story, status) in stories.items():
        run = store(data_dir, story, status, name)
        ran = agentdbg("explain", run, "--check")
        codes[name] = ran.code
        assert agentdbg("explain", run).code == 0
        assert ran.out == agentdbg("explain", run).out
        assert agentdbg("explain", run, "--check", "--json").code == ran.code

    assert codes == {"good": 0, "recovered": 0, "troubled": 1, "failed": 1}
