"""Sessions that lie on the machine: found, offered, imported once, followed while they go on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.commands.import_sessions import _chosen
from agentdbg.config import load_config
from agentdbg.interop.agent_homes import AGENTS, FoundSession, find_sessions, first_request
from agentdbg.interop.import_ledger import Ledger
from agentdbg.interop.imports import Importing
from agentdbg.interop.live_session import LiveSession
from agentdbg.interop.sources import Source, find_sources
from agentdbg.storage import list_runs
from tests.interop.files import agentdbg, events_of

if TYPE_CHECKING:
    from agentdbg.interop.drafts import RunDraft

FIXTURES = Path(__file__).parent / "fixtures"
_CLAUDE = FIXTURES / "claude"
_TILL = "5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with sessions of several agents in it."""
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "QWEN_HOME",
        "GEMINI_CLI_HOME",
        "MSWEA_GLOBAL_CONFIG_DIR",
        "AMP_DATA_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(_CLAUDE, tmp_path / ".claude/projects/-home-dev-till")
    shutil.copytree(FIXTURES / "codex", tmp_path / ".codex/sessions/2025/11/20")
    shutil.copytree(FIXTURES / "gemini", tmp_path / ".gemini/tmp/9c11/chats")
    shutil.copytree(FIXTURES / "qwen", tmp_path / ".qwen/projects/-home-dev-orchard/chats")
    shutil.copytree(FIXTURES / "openhands/sessions", tmp_path / ".openhands/sessions")
    shutil.copytree(FIXTURES / "mini_swe_agent", tmp_path / ".config/mini-swe-agent")
    shutil.copytree(FIXTURES / "copilot", tmp_path / ".copilot/session-state")
    (tmp_path / ".copilot/session-state/1f0c").mkdir()
    shutil.copy(FIXTURES / "copilot/pier.jsonl", tmp_path / ".copilot/session-state/1f0c/events.jsonl")
    shutil.copytree(FIXTURES / "amp", tmp_path / ".local/share/amp/threads")
    shutil.copy(FIXTURES / "aider/.aider.chat.history.md", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("agent", "count"),
    [
        ("claude", 5),
        ("codex", 5),
        ("gemini", 3),
        ("qwen", 4),
        ("openhands", 1),
        ("mini", 4),
        ("aider", 1),
        ("copilot", 4),
        ("amp", 3),
    ],
)
def test_the_sessions_of_an_agent_are_found_where_it_keeps_them(home: Path, agent: str, count: int) -> None:
    """Nobody knows by heart where these files lie."""
    assert len(find_sessions(agent)) == count


def test_every_agent_is_tried_here(home: Path) -> None:
    """A name that `--from` takes has a test."""
    assert set(AGENTS) == {"claude", "codex", "gemini", "qwen", "openhands", "mini", "aider", "copilot", "amp"}


def test_the_newest_session_comes_first(home: Path) -> None:
    """It is the one most people mean."""
    folder = home / ".claude/projects/-home-dev-till"
    for number, path in enumerate(sorted(folder.glob("*.jsonl"))):
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))

    assert [session.path.name for session in find_sessions("claude")] == [
        path.name for path in sorted(folder.glob("*.jsonl"), reverse=True)
    ]


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("claude", "The till rounds"),
        ("codex", "Departures after"),
        ("qwen", "Prune the old"),
        ("gemini", "Why is the lamp"),
        ("openhands", "Paint the hull."),
        ("aider", "make the buoy"),
        ("copilot", "#861 mend the pier"),
        ("amp", "The gates close while"),
    ],
)
def test_an_offered_session_says_what_it_is_about(home: Path, agent: str, said: str) -> None:
    """A list of ids tells nobody which one to open."""
    assert any(first_request(session).startswith(said) for session in find_sessions(agent))


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [("2", [2]), ("1 3", [1, 3]), ("1, 2-3", [1, 2, 3]), ("all", [1, 2, 3]), ("\n", []), ("", [])],
)
def test_an_answer_names_sessions(answer: str, numbers: list[int]) -> None:
    """By number, several at once, all, or none."""
    found = [FoundSession(Path(str(number)), 0.0, 1) for number in (1, 2, 3)]

    assert [int(str(session.path)) for session in _chosen(answer, found)] == numbers


@pytest.mark.parametrize("answer", ["0", "4", "1-9999999999", "x", "-1", "2-"])
def test_an_answer_that_names_none_is_explained(answer: str) -> None:
    """A slip of a finger must not import something else."""
    found = [FoundSession(Path(str(number)), 0.0, 1) for number in (1, 2, 3)]

    with pytest.raises(ValueError, match=r"choose from 1 to 3|is not a number"):
        _chosen(answer, found)


def test_a_file_that_has_not_changed_is_not_read_again(home: Path, data_dir: Path) -> None:
    """Ten thousand sessions, imported every evening, cost a look at each."""
    path = home / ".claude/projects/-home-dev-till" / _TILL
    ledger = Ledger(data_dir)
    mark = ledger.mark_of(path)
    runs = [outcome.run for outcome in Importing(load_config()).take(Source(path))[1] if outcome.run]
    ledger.note(path, "auto", mark, "Claude Code session", runs)
    ledger.close()
    again = Ledger(data_dir)
    known = again.runs_of(path, "auto")

    assert known is not None
    assert [run.run_id for run in known[1]] == [run.run_id for run in runs]
    assert again.runs_of(path, "chat") is None
    with path.open("a") as file:
        file.write("\n")
    assert again.runs_of(path, "auto") is None


def test_a_run_that_was_deleted_is_imported_again(home: Path, data_dir: Path) -> None:
    """What the ledger says is held against what is there."""
    path = home / ".claude/projects/-home-dev-till" / _TILL
    (outcome,) = Importing(load_config()).take(Source(path))[1]
    assert outcome.run is not None
    ledger = Ledger(data_dir)
    ledger.note(path, "auto", ledger.mark_of(path), "Claude Code session", [outcome.run])
    shutil.rmtree(data_dir / "runs" / outcome.run.run_id)

    assert ledger.runs_of(path, "auto") is None


@pytest.mark.parametrize("content", ["", "[]", '{"version": 1, "files": 5}', '{"version": 1, "files": {"a": 1}}'])
def test_a_broken_ledger_is_no_ledger(home: Path, data_dir: Path, content: str) -> None:
    """It is a cache, and anybody may have written into it."""
    (data_dir / "index").mkdir(parents=True)
    (data_dir / "index" / "imported.json").write_text(content)

    assert Ledger(data_dir).runs_of(home / ".claude/projects/-home-dev-till" / _TILL, "auto") is None


def _grown(path: Path, lines: list[str]) -> RunDraft:
    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.importers import find_importer

    path.write_text("\n".join(lines) + "\n")
    source = Source(path)
    (draft,) = [found for found in find_importer(source)[1].read(source) if isinstance(found, RunDraft)]
    return draft


@pytest.mark.parametrize(
    "path",
    [
        f"claude/{_TILL}",
        "qwen/1d0c9a77-2222-4333-8444-55556666aaaa.jsonl",
        "codex/rollout-2025-11-20T14-00-00-019aa1c2-5d4e-7f00-9abc-0123456789ab.jsonl",
    ],
)
def test_a_session_followed_line_by_line_holds_what_an_import_holds(tmp_path: Path, data_dir: Path, path: str) -> None:
    """What somebody watched must be what they find later: no step twice, none missing."""
    lines = (FIXTURES / path).read_text().splitlines()
    log = tmp_path / "live.jsonl"
    first = next(number for number, line in enumerate(lines, 1) if '"user"' in line)
    live = LiveSession(_grown(log, lines[:first]), load_config(), {}, 0.0)
    for count in range(first, len(lines) + 1):
        live.grow(_grown(log, lines[:count]))
    live._changed_at -= 60
    live.rest()
    live.let_go()
    followed = [event for event in events_of(data_dir, live.run_id)[1:] if event["event_type"] != "CALL_START"]
    (outcome,) = Importing(load_config()).take(Source(log))[1]
    assert outcome.run is not None
    imported = events_of(data_dir, outcome.run.run_id)[1:-1]

    assert outcome.run.run_id == live.run_id
    assert outcome.run.is_longer
    assert sorted(_told(event) for event in followed) == sorted(_told(event) for event in imported)


def _told(event: dict[str, Any]) -> tuple[str, str]:
    return event["event_type"], event["name"]


@pytest.mark.slow
def test_from_imports_the_newest_and_the_second_time_nothing(home: Path) -> None:
    """The quickest way to meet a session of one's own."""
    newest = home / ".claude/projects/-home-dev-till" / _TILL
    os.utime(newest)
    ran = agentdbg("import", "--from", "claude", "--latest")
    again = agentdbg("import", "--from", "claude", "--latest")

    assert ran.code == 0, ran.err
    assert "Claude Code session  1 run" in ran.out
    assert "The till rounds each line" in ran.out
    assert "Nothing new was imported." in again.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "claude"], "not a terminal, so pass --latest, --all or --since"),
        (["--from", "emacs"], "--from knows claude, codex"),
        ([], "say what to import"),
        (["--from", "claude", "--since", "someday"], "neither an age nor a date"),
        ([str(_CLAUDE), "--all"], "add --from"),
        (["--from", "claude", "--all", "--follow", str(_CLAUDE)], "--follow takes one session"),
    ],
)
def test_what_cannot_be_chosen_is_explained(home: Path, arguments: list[str], said: str) -> None:
    """One line, and what to do."""
    ran = agentdbg("import", *arguments)

    assert ran.code == 2
    assert said in ran.err


@pytest.mark.slow
def test_many_files_shared_among_processes_are_imported_like_one_by_one(home: Path, data_dir: Path) -> None:
    """How many processors a machine has must not show in what it finds; and the order is that of the files."""
    folder = home / "many"
    folder.mkdir()
    filler = "x" * 400_000
    for number in range(24):
        entry = {
            "messages": [{"role": "user", "content": filler}, {"role": "assistant", "content": f"answer {number}"}]
        }
        (folder / f"{number:02}.json").write_text(json.dumps(entry))
    (folder / "07.json").write_text("no JSON")
    ran = agentdbg("import", folder, "--json")
    again = agentdbg("import", folder, "--json")

    assert ran.code == 2
    assert [Path(run["file"]).stem for run in ran.json["imported"]] == [f"{n:02}" for n in range(24) if n != 7]
    assert [Path(problem["file"]).stem for problem in ran.json["problems"]] == ["07"]
    assert len(again.json["already_here"]) == 23
    assert len(list_runs(None, data_dir)) == 23


@pytest.mark.slow
def test_following_shows_what_comes_and_ends_with_the_whole(home: Path, data_dir: Path) -> None:
    """A live session is watched in the page; Ctrl-C leaves a finished run behind."""
    lines = (_CLAUDE / _TILL).read_text().splitlines()
    log = home / "live.jsonl"
    log.write_text("\n".join(lines[:6]) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "agentdbg", "import", str(log), "--follow"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": "true"},
    )  # fmt: skip
    try:
        _until(lambda: bool(list_runs(None, data_dir)))
        assert list_runs(None, data_dir)[0]["status"] == "running"
        with log.open("a") as file:
            file.write("\n".join(lines[6:]) + "\n")
        _until(lambda: list_runs(None, data_dir)[0]["counts"]["tool_calls"] == 3)
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)

    (run,) = list_runs(None, data_dir)
    assert process.returncode == 0, err
    assert "Stopped; 11 events" in out
    assert (run["status"], run["counts"]["llm_calls"]) == ("ok", 3)


def _until(holds: Any) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
def test_json_lists_what_was_known_too(home: Path) -> None:
    """A script that imports every evening reads the same document each time."""
    first = agentdbg("import", "--from", "qwen", "--since", "1d", "--json").json
    second = agentdbg("import", "--from", "qwen", "--since", "1d", "--json").json

    assert {run["run_id"] for run in second["already_here"]} == {run["run_id"] for run in first["imported"]}
    assert json.dumps(second["imported"]) == "[]"


def test_the_journal_of_a_workflow_is_part_of_its_session(tmp_path: Path) -> None:
    """It lies among the subagents' files; whoever imports the whole folder is not told of it as a broken file."""
    work = tmp_path / "s-1" / "subagents" / "workflows" / "wf_1"
    work.mkdir(parents=True)
    (tmp_path / "s-1.jsonl").write_text('{"type":"user","sessionId":"s-1","uuid":"u","message":{"content":"Go."}}\n')
    for name in ("agent-a.jsonl", "journal.jsonl"):
        (work / name).write_text('{"type":"started","key":"k","agentId":"a"}\n')

    assert [source.path.name for source in find_sources([str(tmp_path)])] == ["s-1.jsonl"]
