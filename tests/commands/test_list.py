"""`agentdbg list`: which run?"""

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


Cli = "Callable[..., Ran]"


def finished(answer: str = "Done.") -> Story:
    story = Story()
    story.llm("q", answer)
    story.end()
    return story


def test_a_pipe_gets_the_contracts_columns_and_exact_values(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Scripts cut these columns; a rounded duration or a local time would be no use to them."""
    run_id = store(data_dir, finished(), name="support-bot")

    header, row = cli("list").out.splitlines()
    assert header.split() == ["run_id", "run_name", "started_at", "duration_ms", "llm_calls", "tool_calls", "status"]
    assert row.split() == [run_id[:8], "support-bot", "2023-11-14T22:13:20.000Z", "1000", "1", "0", "ok"]


def test_json_is_the_run_files_and_nothing_else(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Whoever parses stdout must not have to skip our words."""
    run_id = store(data_dir, finished(), name="support-bot")

    ran = cli("list", "--json")
    assert ran.json["spec_version"] == "0.1"
    assert [run["run_id"] for run in ran.json["runs"]] == [run_id]
    assert ran.err == ""


def test_newest_first_and_no_more_than_asked_for(cli: Callable[..., Ran], data_dir: Path) -> None:
    """The run someone looks for is nearly always the last one."""
    for minute in range(30):
        store(data_dir, finished(), name=f"run-{minute}", started_at=f"2026-11-15T10:{minute:02d}:00.000Z")

    assert len(cli("list").out.splitlines()) == 1 + 20
    assert [run["run_name"] for run in cli("list", "-n", "2", "--json").json["runs"]] == ["run-29", "run-28"]
    assert cli("list", "--limit=0", "--json").json["runs"] == []


def test_filters_narrow_the_list(cli: Callable[..., Ran], data_dir: Path) -> None:
    """With a thousand runs the question is which of them failed since yesterday in this session."""
    store(data_dir, finished(), name="old", started_at="2026-01-01T00:00:00.000Z")
    store(data_dir, finished(), "error", name="Airline", metadata={"session_id": "s-12", "tags": ["a", "b"]})

    def names(*arguments: str) -> list[str]:
        return [run["run_name"] for run in cli("list", "--json", *arguments).json["runs"]]

    assert names("--status", "error") == ["Airline"]
    assert names("--name", "air") == ["Airline"]
    assert names("--since", "2026-01-01") == ["old"]
    assert names("--since", "1h") == []
    assert names("--meta", "session_id=s-12", "--meta", "tags=b") == ["Airline"]
    assert names("--meta", "session_id=other") == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--status", "broken"], "ok, problems, error, running"),
        (["--since", "yesterday-ish"], "2026-11-01"),
        (["--meta", "novalue"], "session_id=s-12"),
    ],
)
def test_a_filter_that_makes_no_sense_says_what_would(cli: Callable[..., Ran], arguments: list[str], word: str) -> None:
    """An error says what to do."""
    ran = cli("list", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert word in ran.err


def test_an_empty_folder_says_what_to_do(cli: Callable[..., Ran]) -> None:
    """The first thing a new user sees."""
    ran = cli("list")

    assert ran.code == 0
    assert "agentdbg demo" in ran.out


def test_looking_makes_no_folder(cli: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistyped data folder must not come into being, and look right ever after."""
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(tmp_path / "mistyped"))

    assert cli("list").code == 0
    assert not (tmp_path / "mistyped").exists()


def test_ids_are_as_long_as_it_takes_to_tell_them_apart(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A short id that names two runs could not be used in the next command."""
    for end in ("1", "2"):
        store(data_dir, finished(), run_id=f"aaaaaaaa-bbbb-4ccc-8ddd-00000000000{end}")

    shown = [line.split()[0] for line in cli("list").out.splitlines()[1:]]
    assert len(set(shown)) == 2
    assert {cli("show", short).code for short in shown} == {0}


def test_a_terminal_gets_words_and_a_narrow_one_fewer_columns(data_dir: Path) -> None:
    """Sixty columns are a split screen; a table that wraps there cannot be read."""
    store(data_dir, finished("Your seat is 12A."), name="a name that is rather long for a narrow terminal, is it not")

    wide = run_in_terminal("list", columns=160, NO_COLOR="1").out
    narrow = run_in_terminal("list", columns=60, NO_COLOR="1").out
    assert "Your seat is 12A." in wide
    assert "1 s" in wide
    assert "2023-11-14 22:13:20" in wide
    assert max(len(line) for line in narrow.splitlines()) <= 60
    assert "ok" in narrow


def test_colours_only_where_a_person_sees_them(data_dir: Path) -> None:
    """Escape codes in a log file are noise, and NO_COLOR is a promise."""
    store(data_dir, finished(), name="x")

    assert "\x1b[" in run_in_terminal("list").out
    assert "\x1b" not in run_in_terminal("list", NO_COLOR="1").out
    assert "\x1b" not in run_in_terminal("list", TERM="dumb").out
    assert "\x1b" not in run_process("list").out


def test_a_hostile_name_cannot_act_on_the_terminal(data_dir: Path) -> None:
    """A run's name comes from the program that was recorded, or from a trace somebody sent."""
    store(data_dir, finished(), name=HOSTILE)

    for ran in (run_process("list"), run_in_terminal("list", NO_COLOR="1")):
        assert not set(ran.out) & set("\x1b\x07\x9b\r\u202e\u2028\x00\x7f")
        assert len(ran.out.strip().splitlines()) == 2
        assert "evil" in ran.out


def test_listing_loads_no_server_and_no_command_framework(data_dir: Path) -> None:
    """That is most of what makes it quick."""
    store(data_dir, finished())
    code = (
        "import sys; sys.argv = ['agentdbg', 'list', '--json']\n"
        "from agentdbg.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'uvicorn', 'typer', 'click', 'rich', 'pydantic', 'yaml', 'asyncio', 'starlette'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert json.loads(done.stdout)["runs"]
    assert done.stderr.strip() == "[]"


def test_a_person_sees_what_each_run_cost_where_that_is_known(data_dir: Path) -> None:
    """The dear run stands out before it is opened; an unknown cost is not shown as nothing."""
    store(data_dir, finished(), name="dear", cost_usd=1.2345)
    store(data_dir, finished(), name="unknown")
    store(data_dir, finished(), name="looping", cost_usd=1.2345, loop_cost_usd=0.75)

    header, *rows = run_in_terminal("list", columns=105, NO_COLOR="1").out.splitlines()
    lines = {row.split()[1]: row.split() for row in rows}
    assert "cost" in header.split()
    assert "$1.23" in lines["dear"]
    assert "$1.23, $0.75 in loops" in " ".join(lines["looping"])
    assert "–" in lines["unknown"]


def test_without_any_cost_there_is_no_column_for_it(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A column of dashes takes the room of something that is known; a program finds the cost in the JSON."""
    store(data_dir, finished(), name="free")

    assert "cost" not in run_in_terminal("list", columns=105).out
    store(data_dir, finished(), name="dear", cost_usd=1.2345)
    assert "cost" not in cli("list").out
    assert {run.get("cost_usd") for run in cli("list", "--json").json["runs"]} == {None, 1.2345}
