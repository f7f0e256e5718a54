"""`agentdbg diff`: the verdict first, then what differs, and an exit code a script can use."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_llm_call, tool, traced_run
from agentdbg.cli import _run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow


@tool(effect="write")
def reserve(seat: str, note: str = "") -> str:
    return f"{seat} is yours"


@tool
def get_seats(row: int) -> list[str]:
    return [f"{row}A", f"{row}B"]


def _record(name: str, seat: str, answer: str = "Your seat is reserved now.", row: int = 4) -> str:
    with traced_run(name) as run:
        record_llm_call("gpt-4o", prompt=[{"role": "user", "content": "A seat, please"}], response=answer)
        get_seats(row)
        reserve(seat)
        return str(run.run_id)


@pytest.fixture
def diff(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run the command in this process: exit code, what it printed, what it complained about."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = _run(["diff", *arguments])
        caught = capfd.readouterr()
        return code, caught.out, caught.err

    return call


def test_runs_that_are_alike_exit_with_0(diff: Callable[..., Any]) -> None:
    """A script asks only whether anything changed."""
    code, out, _ = diff(_record("one", "4A"), _record("two", "4A"))

    assert code == 0
    assert out.startswith("= Same")
    assert "1 side effect" in out


def test_a_different_effect_is_the_first_thing_said(diff: Callable[..., Any]) -> None:
    """Everything else is a detail beside it."""
    code, out, _ = diff(_record("one", "4A"), _record("one", "9C"))
    lines = out.splitlines()

    assert code == 1
    assert lines[0].startswith("≠ Different effects  one  A ")
    assert 'reserve got seat "4A" in A and "9C" in B' in lines[1]
    assert "guessed" not in out
    assert 'args.seat  "4A" → "9C"' in out


def test_other_steps_with_the_same_effects_exit_with_1_unless_only_effects_are_compared(
    diff: Callable[..., Any],
) -> None:
    """`diff` tells whether anything differs; who cares for effects alone says so."""
    a, b = _record("one", "4A"), _record("one", "4A", "I have reserved it for you.", row=5)

    assert diff(a, b)[0] == 1
    assert diff(a, b)[1].startswith("≈ Same effects")
    assert diff(a, b, "--only", "effects")[0] == 0
    assert diff(a, b, "--only", "tools")[0] == 1
    assert diff(a, b, "--only", "prompts")[0] == 0
    assert diff(a, b, "--ignore", "args.row", "--ignore", "result", "--ignore", "response")[0] == 0


def test_b_is_the_latest_run_when_it_is_not_named(diff: Callable[..., Any]) -> None:
    """Change the prompt, run again, compare: that is how it is used."""
    a, b = _record("one", "4A"), _record("two", "4A")
    told = json.loads(diff(a, "--json")[1])

    assert (told["a"]["run_id"], told["b"]["run_id"]) == (a, b)


def test_json_has_everything_and_nothing_else_on_stdout(diff: Callable[..., Any]) -> None:
    """Other programs build on it."""
    code, out, err = diff(_record("one", "4A"), _record("two", "9C"), "--json")
    told = json.loads(out)

    assert (code, err) == (1, "")
    assert told["verdict"] == "different_effects"
    assert told["rows"][told["first_divergence"]]["changes"][0]["path"] == "args.seat"
    assert told["effects"]["changed"][0]["a"]["source"] == "declared"
    assert told["totals"]["a"]["tool_calls"] == 2
    assert "rows" not in json.loads(diff("latest", "--json", "--stat")[1])


def test_markdown_is_markdown(diff: Callable[..., Any]) -> None:
    """A table of the figures, a list of the steps, names as code."""
    out = diff(_record("one_*two*", "4A"), _record("b", "9C"), "--markdown")[1]

    assert out.startswith("## Different effects: one\\_\\*two\\* (")
    assert re.search(r"^\| \| time \| LLM calls \|", out, re.MULTILINE)
    assert re.search(r"^\| B-A \|", out, re.MULTILINE)
    assert "- changed A#6 B#6 `reserve` writes" in out
    assert '  - `args.seat` `"4A"` → `"9C"`' in out


def test_stat_leaves_out_the_steps(diff: Callable[..., Any]) -> None:
    """A line for a log."""
    out = diff(_record("one", "4A"), _record("two", "9C"), "--stat")[1]

    assert "Different effects" in out
    assert "here they part" not in out


def test_an_exported_run_is_compared_like_a_stored_one(
    diff: Callable[..., Any], tmp_path: Path, data_dir: Path
) -> None:
    """The good run may be a file in the repository."""
    a = _record("one", "4A")
    file = tmp_path / "good.json"
    assert _run(["export", a, "--out", str(file)]) == 0
    events = data_dir / "runs" / a / "events.jsonl"

    assert diff(str(file), a)[0] == 0
    assert diff(str(events), str(file))[0] == 0


def test_what_cannot_be_compared_is_said_kindly(diff: Callable[..., Any], tmp_path: Path) -> None:
    """What happened, and what to do."""
    run = _record("one", "4A")
    (tmp_path / "no.json").write_text("[]")
    for arguments, complaint in (
        (("ffffffff", run), "no run matches"),
        ((run, run, "--only", "words"), "effects, tools, prompts"),
        ((run, run, "--json", "--markdown"), "choose one"),
        ((str(tmp_path / "no.json"), run), "agentdbg export"),
    ):
        code, out, err = diff(*arguments)

        assert (code, out) == (2, "")
        assert complaint in err


def test_names_cannot_play_tricks_on_the_terminal(diff: Callable[..., Any]) -> None:
    """What a model or a tool is called is not ours."""
    a = _record("one\x1b[2J", "4\x1b[31mA", "One \x1b]0;x\x07 two three.")
    b = _record("two\x1b[2J", "9\x1b[31mC", "One \x1b]0;y\x07 two three four.")
    for options in ((), ("--markdown",), ("--stat",)):
        assert "\x1b" not in diff(a, b, *options)[1]


def test_a_tool_of_unknown_effect_is_named(diff: Callable[..., Any]) -> None:
    """The verdict says what it rests on."""

    @tool
    def frobnicate(x: int) -> int:
        return x

    def record(x: int) -> str:
        with traced_run("r") as run:
            frobnicate(x)
            return str(run.run_id)

    out = diff(record(1), record(2))[1]

    assert "Neither run changed anything" not in out
    assert "Side effects unknown: frobnicate." in out


def test_settings_declare_what_writes(diff: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools of others cannot be decorated."""
    a, b = _record("one", "4A"), _record("one", "4A", row=5)

    assert "Same effects" in diff(a, b)[1]
    monkeypatch.setenv("AGENTDBG_WRITE_TOOLS", "get_*")
    assert "Different effects" in diff(a, b)[1]


def _answered(diff: Callable[..., Any], *answers: Any, model: str = "gpt-4o") -> str:
    runs = []
    for answer in answers:
        with traced_run("r") as run:
            record_llm_call(model, prompt="Which one?", response=answer)
            runs.append(str(run.run_id))
    return " ".join(diff(*runs)[1].split())


def test_fields_of_a_provider_that_hold_nothing_are_no_difference(diff: Callable[..., Any]) -> None:
    """One version of a client sends `annotations: []` and `index: 0`, another leaves them out; nobody would name it."""
    message = {"role": "assistant", "content": "The first one."}
    bare = {"choices": [{"message": message}]}
    full = {"choices": [{"index": 0, "message": {**message, "annotations": [], "refusal": None}}]}

    assert _answered(diff, bare, full).startswith("= Same")


def test_a_model_without_a_name_is_not_called_unknown(diff: Callable[..., Any]) -> None:
    """`unknown differs in response` reads as if something was not known."""
    told = _answered(diff, "It costs 250 for both of you.", "It costs 100 for both of you.", model="unknown")

    assert "First difference: the model differs in response" in told
    assert "unknown differs" not in told
