"""Every command once as it should be used and once as it should not, in this process: the command line's fast test."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentdbg.cli import COMMANDS
from agentdbg.commands.fork import main as fork_program
from agentdbg.commands.replay import main as replay_program
from agentdbg.commands.run import main as run_program
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable

# What is typed, and a part of what it prints. GOOD and BAD stand for a run that answered and one that failed.
WORKS: dict[str, tuple[str, str]] = {
    "list": ("list", "invoice"),
    "show": ("show BAD", "KeyError"),
    "explain": ("explain BAD", "KeyError"),
    "baseline": ("baseline GOOD --out kept.json", "kept.json"),
    "assert": ("assert GOOD --max-llm-calls 9", "passed"),
    "gate": ("gate SUITE", "1 scenario passed"),
    "effects": ("effects learn GOOD", "effect: read"),
    "init": ("init", ".agentdbg/policy.yaml"),
    "diff": ("diff GOOD GOOD", "Same"),
    "tail": ("tail GOOD", "read"),
    "attach": ("attach GOOD --continue", "Nothing waits"),
    "export": ("export GOOD --out run.json", ""),
    "sql": ("sql SELECT_1", "42"),
    "import": ("import chat.json", "Imported 1 run"),
    "validate": ("validate GOOD", "valid"),
    "mark": ("mark GOOD --failed wrong", "marked as failed"),
    "rename": ("rename GOOD another", "another"),
    "delete": ("delete GOOD --yes", "restore"),
    "restore": ("restore", "No deleted run"),
    "prune": ("prune --keep 100 --yes", ""),
    "scrub": ("scrub Total --yes", ""),
    "audit": ("audit", "looked through"),
    "config": ("config", "max_field_bytes"),
    "prices": ("prices --set some-model --input 2.5 --output 10", "some-model costs $2.5 read"),
    "doctor": ("doctor", "agentdbg"),
    "demo": ("demo --no-view --live-seconds 0", "refund"),
}
# These serve until they are stopped, or run a program in this process's place; real processes try them elsewhere.
SERVES = {"view", "receive", "push", "mcp", "run", "fork", "replay", "test"}

# What is typed, the exit code, and a part of the sentence that says what is wrong.
FAILS: dict[str, tuple[str, int, str]] = {
    "list": ("list --limit many", 2, "--limit"),
    "view": ("view nowhere", 2, "nowhere"),
    "show": ("show nowhere", 2, "`agentdbg list`"),
    "explain": ("explain nowhere", 2, "`agentdbg list`"),
    "baseline": ("baseline nowhere", 2, "`agentdbg list`"),
    "assert": ("assert BAD --max-errors 0", 1, ""),
    "gate": ("gate .", 2, "holds scenarios of its own, one level too deep"),
    "effects": ("effects unlearn GOOD", 2, "effects learn"),
    "init": ("init nowhere", 2, "nowhere"),
    "diff": ("diff GOOD nowhere", 2, "`agentdbg list`"),
    "tail": ("tail nowhere", 2, "`agentdbg list`"),
    "attach": ("attach GOOD", 2, "not a terminal"),
    "export": ("export nowhere --out run.json", 2, "`agentdbg list`"),
    "sql": ("sql nonsense", 2, "nonsense"),
    "import": ("import nowhere.json", 2, "nowhere.json"),
    "receive": ("receive --port many", 2, "--port"),
    "push": ("push GOOD", 2, "--otlp"),
    "mcp": ("mcp nowhere", 2, "nowhere"),
    "validate": ("validate nowhere", 2, "`agentdbg list`"),
    "mark": ("mark GOOD --passed --clear", 2, "one of"),
    "rename": ("rename nowhere else", 2, "`agentdbg list`"),
    "delete": ("delete nowhere --yes", 2, "`agentdbg list`"),
    "restore": ("restore nowhere", 2, "nowhere"),
    "prune": ("prune --older-than never --yes", 2, "never"),
    "scrub": ("scrub", 2, ""),
    "audit": ("audit --nonsense", 2, "nonsense"),
    "config": ("config nowhere", 2, "nowhere"),
    "prices": ("prices --set some-model --input 2.5", 2, "--output"),
    "doctor": ("doctor --nonsense", 2, "nonsense"),
    "demo": ("demo --live-seconds long", 2, "--live-seconds"),
    "run": ("run", 2, ""),
    "replay": ("replay nowhere", 2, "`agentdbg list`"),
    "fork": ("fork nowhere", 2, "which step?"),
    "test": ("test GOOD", 2, "has no tape"),
}


@pytest.fixture
def runs(data_dir: Path, failed_run: str) -> dict[str, str]:
    """A run that answered and one that failed, and a file to import."""
    good = Story()
    good.llm([{"role": "user", "content": "Read it"}], {"role": "assistant", "content": "Done"}, tokens=(10, 2))
    good.tool("read", {"path": "a.txt"}, "Total: 12")
    good.end("ok")
    Path("chat.json").write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]')
    Path("gates/reading").mkdir(parents=True)
    Path("gates/reading/policy.yaml").write_text("status: ok\n")
    Path("gates/reading/scenario.yaml").write_text("runs: [runs/*.json]\n")
    Path("gates/reading/runs").mkdir()
    Path("gates/reading/runs/one.json").write_text(json.dumps({"run": good.meta(), "events": good.events}))
    return {
        "GOOD": store(data_dir, good, "ok", "reader"),
        "SUITE": "gates",
        "BAD": failed_run,
        "SELECT_1": "SELECT 42 AS answer",
    }


def test_every_command_is_tried_both_ways() -> None:
    """A command that is added without a test here would be tried only by the slow lane, or by users."""
    assert set(WORKS) | SERVES == set(COMMANDS)
    assert set(FAILS) == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(WORKS))
def test_a_command_does_what_it_is_for(cli: Callable[..., Ran], runs: dict[str, str], command: str) -> None:
    """The first thing a user types must work."""
    if command == "sql":
        pytest.importorskip("duckdb")
    typed, prints = WORKS[command]

    ran = cli(*(runs.get(word, word) for word in typed.split()))

    assert ran.code == 0, ran.err
    assert prints in ran.out + ran.err


@pytest.mark.parametrize("command", sorted(set(FAILS) - {"run", "replay", "fork"}))
def test_a_wrong_command_says_what_is_wrong(cli: Callable[..., Ran], runs: dict[str, str], command: str) -> None:
    """The second thing a user types is often wrong; the exit code and the sentence are what scripts and people see."""
    typed, code, sentence = FAILS[command]

    ran = cli(*(runs.get(word, word) for word in typed.split()))

    assert ran.code == code, ran.err or ran.out
    assert sentence in ran.err + ran.out
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_has_examples(cli: Callable[..., Ran], command: str) -> None:
    """An example says more than a list of options."""
    ran = cli(command, "--help")

    assert ran.code == 0
    assert f"agentdbg {command}" in ran.out.split("Examples", 1)[1]


def test_run_records_a_program_and_says_where(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`agentdbg run` is the first command of somebody who changes no line of code."""
    program = "import agentdbg\nprint('hello')\nagentdbg.record_llm_call('m', prompt='p', response='r')\n"
    Path("agent.py").write_text(program)
    monkeypatch.setattr(sys, "argv", ["agentdbg", "run", "agent.py"])

    with pytest.raises(SystemExit) as left:
        run_program(["agent.py"])

    assert left.value.code in {0, None}
    assert capfd.readouterr().out == "hello\n"
    assert len(list((data_dir / "runs").iterdir())) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "which run?"),
        (["nowhere"], "is not a run id"),
        (["3f2a", "--nonsense"], "has no option --nonsense"),
        (["3f2a", "--on-divergence", "panic"], "it can be stop, live, nearest"),
        (["3f2a", "agent.py"], "behind `--`"),
        (["3f2a", "--"], "no program behind"),
        (["3f2a", "--until"], "--until needs EVENT"),
        (["GOOD"], "has no tape"),
        (["nowhere.jsonl"], "there is no file"),
    ],
)
def test_a_replay_that_cannot_be_says_why(
    capfd: pytest.CaptureFixture[str], runs: dict[str, str], words: list[str], sentence: str
) -> None:
    """Nothing is run, and the exit status is that of a wrong command."""
    with pytest.raises(SystemExit) as left:
        replay_program([runs.get(word, word) for word in words])

    assert left.value.code == 2
    assert sentence in capfd.readouterr().err


def test_a_fork_of_a_run_without_a_tape_says_why(capfd: pytest.CaptureFixture[str], runs: dict[str, str]) -> None:
    """Nothing is run, and the exit status is that of a wrong command."""
    with pytest.raises(SystemExit) as left:
        fork_program([runs["GOOD"], "--at", "3", "--set", "result=1"])

    assert left.value.code == 2
    assert "has no tape" in capfd.readouterr().err


def test_run_of_nothing_says_what_it_needs(capfd: pytest.CaptureFixture[str]) -> None:
    """Somebody tries the command before reading how."""
    with pytest.raises(SystemExit) as left:
        run_program([])

    assert left.value.code == 2
    assert "agentdbg run" in capfd.readouterr().err
