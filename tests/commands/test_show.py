"""`agentdbg show` and `tail`: what happened, in the terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.analysis.story import Story
from tests.commands.stored import HOSTILE, Ran, run_in_terminal, run_process, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

UNSAFE = set("\x1b\x07\x9b\r\u202e\u2028\x00\x7f")


def test_a_run_is_verdict_request_and_tree(cli: Callable[..., Ran], failed_run: str) -> None:
    """The order in which questions come: what went wrong, what was asked, what happened."""
    lines = cli("show").out.splitlines()

    assert lines[0] == f"✕ Failed  invoice  {failed_run[:8]}  2023-11-14 22:13:20"
    assert lines[1] == "▎    #4  parse raised KeyError: 'due', which ended the run."
    assert "1 LLM call · 2 tool calls" in lines[2]
    assert lines[4] == "   asked     Read the invoice"
    assert lines[6:] == [
        "2 ● gpt-4o  user Read the invoice → calls read  1 s",
        '3   ■ read  path: "a.txt" → Total: 12  50 ms',
        "4 ✕ parse  text: \"Total: 12\" → KeyError: 'due'  50 ms",
        "5 ✕ KeyError  'due' in parse, me/app.py:7",
    ]


def test_a_narrow_terminal_keeps_the_error(failed_run: str) -> None:
    """When there is no room for both, the error is what is wanted."""
    printed = run_in_terminal("show", failed_run[:6], columns=50, NO_COLOR="1").out

    assert max(len(line) for line in printed.splitlines()) <= 50
    assert "→ KeyError: 'due'" in printed


def test_one_event_is_shown_whole(cli: Callable[..., Ran], failed_run: str) -> None:
    """The tree cuts; whoever asks for one event wants its arguments, its stack and its id."""
    printed = cli("show", failed_run, "--event", "4").out

    assert '"text": "Total: 12"' in printed
    assert 'File "/home/me/app.py", line 7, in parse' in printed
    event_id = next(word for line in printed.splitlines() for word in line.split() if word.count("-") == 4)
    assert cli("show", "latest", "-e", event_id).out == printed
    assert cli("show", "--event=#4", "--json").json["event_id"] == event_id


def test_a_conversation_is_shown_by_role(cli: Callable[..., Ran], failed_run: str) -> None:
    """Messages as JSON are what people come here to avoid."""
    printed = cli("show", "--event", "2").out

    assert "   user\n     Read the invoice\n" in printed
    assert "   answer\n     calls read\n" in printed


@pytest.mark.parametrize("wanted", ["99", "no-such-event", "00000000-0000-4000-8000-000000000000"])
def test_an_event_that_is_not_there_is_wrong_use(cli: Callable[..., Ran], failed_run: str, wanted: str) -> None:
    """And the message says how to find the right number."""
    ran = cli("show", "--event", wanted)

    assert (ran.code, ran.out) == (2, "")
    assert f"agentdbg show {failed_run[:8]}" in ran.err


def test_show_as_json_is_the_summary_and_the_rows(cli: Callable[..., Ran], failed_run: str) -> None:
    """What the page shows, for a program."""
    document = cli("show", "--json").json

    assert document["run"]["run_id"] == failed_run
    assert document["verdict"]["word"] == "Failed"
    assert [row["n"] for row in document["rows"]] == [1, 2, 3, 4, 5, 6]


def test_of_a_long_run_the_middle_shows_only_what_failed(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Ten thousand lines help nobody, but a failure among them does."""
    story = Story()
    for number in range(1500):
        story.tool("step", {"n": number}, number, error="boom" if number == 700 else None)
    story.end()
    store(data_dir, story)

    lines = cli("show").out.splitlines()
    assert len(lines) < 450
    assert any("boom" in line and line.lstrip().startswith("702 ") for line in lines)
    assert sum("rows left out" in line for line in lines) == 2
    assert len(cli("show", "--full").out.splitlines()) > 1500


def test_nothing_recorded_can_act_on_the_terminal(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Every text of a trace is somebody else's: names, arguments, answers, errors, stacks, keys, metadata."""
    story = Story()
    story.llm(
        HOSTILE, {"role": HOSTILE, "content": HOSTILE, "tool_calls": [{"function": {"name": HOSTILE}}]}, model=HOSTILE
    )
    story.tool(HOSTILE, {HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}, HOSTILE)
    story.tool(HOSTILE, HOSTILE, error={"error_type": HOSTILE, "message": HOSTILE, "stack": HOSTILE})
    story.write("STATE_UPDATE", HOSTILE, {"state": {HOSTILE: HOSTILE}, "diff": {HOSTILE: HOSTILE}})
    story.write(f"OWN{HOSTILE}", HOSTILE, {HOSTILE: HOSTILE}, meta={HOSTILE: HOSTILE})
    story.loop("stall", "warning", HOSTILE, [2, 3], HOSTILE)
    story.call_start(HOSTILE, given=HOSTILE)
    story.error(HOSTILE, HOSTILE, stack=HOSTILE)
    story.end("error", result=HOSTILE)
    run_id = store(data_dir, story, "error", name=HOSTILE)

    commands = [["list"], ["show"], ["show", "--full"], ["tail"], ["doctor"], ["prune", "--keep", "0", "--dry-run"]]
    commands += [["show", "--event", str(number)] for number in range(1, 11)]
    commands += [["rename", run_id, HOSTILE], ["export", HOSTILE, "--out", "-"], ["show", HOSTILE]]
    for command in commands:
        ran = cli(*command)
        assert not UNSAFE & set(ran.out + ran.err), command
    on_terminal = run_in_terminal("show", NO_COLOR="1").out
    assert not UNSAFE & set(on_terminal)


def test_tail_of_a_finished_run_ends_at_once(cli: Callable[..., Ran], failed_run: str) -> None:
    """There is nothing to wait for."""
    lines = cli("tail", "-n", "2").out.splitlines()

    assert lines[0] == f"invoice  {failed_run[:8]}"
    assert [line.split()[0] for line in lines[1:3]] == ["5", "6"]
    assert lines[3].startswith("✕ Failed")


def test_tail_follows_a_run_until_it_ends(data_dir: Path) -> None:
    """A run in another process, watched from before its first call to after its last."""
    agent = (
        "import time, agentdbg\n"
        "with agentdbg.traced_run('live'):\n"
        "    print('begun', flush=True)\n"
        "    input()\n"
        "    for n in range(3):\n"
        "        time.sleep(0.05)\n"
        "        agentdbg.record_tool_call(f'step {n}', {'n': n}, n)\n"
    )
    recording = subprocess.Popen(
        [sys.executable, "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert recording.stdin is not None
    assert recording.stdout is not None
    assert recording.stdout.readline() == "begun\n"
    watching = subprocess.Popen([sys.executable, "-m", "agentdbg", "tail", "--json"], stdout=subprocess.PIPE, text=True)
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())
    recording.stdin.write("\n")
    recording.stdin.close()
    rest = [json.loads(line)["name"] for line in watching.stdout]

    assert first["event_type"] == "RUN_START"
    assert rest == ["step 0", "step 1", "step 2", "run_end"]
    assert watching.wait(10) == 0
    assert recording.wait(10) == 0
    recording.stdout.close()
    watching.stdout.close()


def test_a_call_that_never_returned_is_the_last_line(cli: Callable[..., Ran], data_dir: Path) -> None:
    """The one line that says where a dead process was."""
    story = Story()
    story.tool("list_pages", {}, [1])
    story.call_start("fetch_page", given={"url": "https://example.org"})
    store(data_dir, story, "running")

    shown = cli("show").out.splitlines()
    assert shown[0].startswith("⊘ Died")
    assert (
        shown[-1] == '3 ✕ fetch_page  url: "https://example.org" → never returned: the process ended during this call'
    )
    assert "fetch_page" in cli("tail").out


def test_an_encoding_without_our_signs_has_letters_for_them(failed_run: str) -> None:
    """A C locale has no tick, and a row of question marks says nothing; what is no sign of ours becomes one."""
    ran = run_process("show", PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert ran.code == 0
    assert ran.out.startswith("x Failed  invoice")
    assert "\n|    #" in ran.out
    assert "?" not in ran.out
    assert "a name ?" in run_process("rename", "latest", "a name 漢", PYTHONIOENCODING="ascii").out


def test_what_was_not_recorded_is_a_sentence(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Where messages are missing, a line says how many, and no speaker stands before it."""
    story = Story()
    gap = {"__TRUNCATED__": "31 messages, 84 kB"}
    prompt = [{"role": "system", "content": "Be kind."}, gap, {"role": "user", "content": "Which flights?"}]
    number = story.llm(prompt, "None.")
    call = story.tool("write", {"path": "a.py", "__TRUNCATED__": "__TRUNCATED__"}, "done")
    store(data_dir, story)
    printed, arguments = cli("show", "--event", str(number)).out, cli("show", "--event", str(call)).out

    assert "   … 31 messages, 84 kB, were not recorded …" in printed.splitlines()
    assert "Which flights?" in printed
    assert "__TRUNCATED__" not in printed + arguments
    assert '"…": "more was not recorded"' in arguments


def test_linked_runs_are_shown_below_the_one_that_asked(cli: Callable[..., Ran], data_dir: Path) -> None:
    """What several services did for one question is read in one go."""
    asking = store(data_dir, Story(), name="asking")
    answering = store(data_dir, Story(), name="POST /chat", metadata={"parent_run_id": asking})
    lines = cli("show", answering, "--linked").out.splitlines()
    told = json.loads(cli("show", answering, "--linked", "--json").out)

    assert [(run["run_id"], run["depth"]) for run in told] == [(asking, 0), (answering, 1)]
    assert "asking" in lines[0]
    assert f"  ↳ for {asking[:8]}" in lines
