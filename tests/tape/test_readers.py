"""What is cut in the log is found on the tape, by every reader; and whoever changes runs changes their tapes too."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import cli, llm_call, record_llm_call, tool, traced_run
from agentdbg.config import load_config
from agentdbg.index.validation import RunCheck
from agentdbg.mcp_server.run_access import Reader
from agentdbg.mcp_server.tools_runs import READ_EVENT
from agentdbg.storage.housekeeping import compress_run, drop_tapes
from agentdbg.tape.tape_reader import TapeReader, find_tape
from tests.server.test_every_route import Asked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Recorded

MESSAGES = [{"role": "user", "content": f"message {number} " + "x" * 1_500} for number in range(40)]


@tool
def fetch(page: int) -> dict[str, Any]:
    return {"page": page, "rows": [f"row {number} of {page}" * 20 for number in range(200)]}


def _recorded(recorded: Recorded, *, taped: bool = True) -> tuple[Path, dict[str, Any]]:
    with traced_run("long"):
        if taped:
            with llm_call("gpt", MESSAGES) as call:
                call.response = "CUST-4711 is " + "y" * 30_000
            fetch(3)
        else:
            record_llm_call("gpt", MESSAGES, "short")
    run = recorded.only()
    os.utime(run.path / "events.jsonl", (time.time() - 60,) * 2)  # else its writer may still be about to close it
    return run.path, run.one("LLM_CALL")


def _type(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    with pytest.MonkeyPatch.context() as typed:
        typed.setattr(sys, "argv", ["agentdbg", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert ended.value.code in (0, None)
    said = capsys.readouterr()
    return said.out, said.err


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    return _type(capsys, *arguments)[0]


def _problems(folder: Path) -> list[str]:
    return [problem.sentence for problem in RunCheck(folder, folder.name).problems()]


def test_show_says_where_the_rest_is_and_fetches_it(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    """A marker is a sentence, never a message; `--full` gives every message."""
    _, event = _recorded(recorded)

    short = _run(capsys, "show", "latest", "--event", event["event_id"])
    whole = _run(capsys, "show", "latest", "--event", event["event_id"], "--full")
    plain = json.loads(_run(capsys, "show", "latest", "--event", event["event_id"], "--full", "--json"))

    assert "not in the log; the tape has them" in short
    assert "__TRUNCATED__" not in short + whole
    assert "message 20" not in short
    assert "message 20" in whole
    assert plain["payload"]["prompt"] == MESSAGES
    assert len(plain["payload"]["response"]) > 30_000


def test_without_a_tape_show_says_what_it_cannot_fetch(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    """Calls of `record_*` have none."""
    _, event = _recorded(recorded, taped=False)

    out, err = _type(capsys, "show", "latest", "--event", event["event_id"], "--full")

    assert "were not recorded" in out
    assert "cannot be fetched: the run has no tape" in err


def test_the_page_gets_an_event_whole(recorded: Recorded, data_dir: Path) -> None:
    """It offers the whole of a cut field."""
    folder, event = _recorded(recorded)
    asked = Asked(data_dir)

    _, said = asked(f"GET /api/runs/{folder.name}/events/{event['event_id']}/full")
    answer = json.loads(said)
    start = json.loads(asked(f"GET /api/runs/{folder.name}/events/1/full")[1])
    status, _ = asked(f"GET /api/runs/{folder.name}/events/00000000-0000-4000-8000-000000000000/full")

    assert answer["event"]["payload"]["prompt"] == MESSAGES
    assert sorted(answer["whole"]) == ["prompt", "response"]
    assert answer["problem"] is None
    assert start["whole"] == []
    assert status == 404


def test_an_assistant_reads_an_event_whole(recorded: Recorded, data_dir: Path) -> None:
    """`full` fetches, `path` and `offset` read on as ever."""
    folder, event = _recorded(recorded)
    reader = Reader(data_dir)

    text = READ_EVENT.call(
        reader, {"run": folder.name, "event": event["event_id"], "full": True, "path": "/payload/prompt/20/content"}
    )

    assert "message 20" in text
    assert '"whole"' in text


def test_a_compressed_tape_reads_the_same(recorded: Recorded, data_dir: Path) -> None:
    """It goes with the events."""
    folder, event = _recorded(recorded)
    compress_run(folder.name, data_dir)

    path = find_tape(folder)

    assert path is not None
    assert path.name == "tape.jsonl.gz"
    with TapeReader(path) as tape:
        call = tape.find(event["event_id"])
        assert call is not None
        assert tape.value(call.input) == MESSAGES
        assert tape.is_from(data_dir)
    assert _problems(folder) == []


def test_old_tapes_are_dropped_and_run_json_says_so(recorded: Recorded, data_dir: Path) -> None:
    """`tape_days` keeps whole prompts for a month by default."""
    folder, _ = _recorded(recorded)
    later = time.time() + 31 * 86_400

    kept = drop_tapes(60 * 86_400, data_dir=data_dir, now=later)
    only_said = drop_tapes(30 * 86_400, data_dir=data_dir, now=later, dry_run=True)
    assert find_tape(folder) is not None
    dropped = drop_tapes(30 * 86_400, data_dir=data_dir, now=later)

    assert [len(done.without_tape) for done in (kept, only_said, dropped)] == [0, 1, 1]
    assert find_tape(folder) is None
    assert recorded.only().meta["replay"] == {"state": "none", "why": "dropped after 30 days"}
    assert recorded.only().one("LLM_CALL")


def test_prune_drops_tapes_alone(recorded: Recorded, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The runs stay."""
    folder, _ = _recorded(recorded)
    os.utime(folder / "tape.jsonl", (1, 1))
    old = (folder / "run.json").read_text().replace(recorded.only().meta["started_at"], "2020-01-01T00:00:00.000Z")
    (folder / "run.json").write_text(old)

    said = _run(capsys, "prune", "--tapes", "--older-than", "7d")

    assert f"Dropped the tape of {folder.name[:8]}" in said
    assert find_tape(folder) is None


def test_scrub_reaches_the_tape(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    """A secret that is only in the middle of a long answer is only there."""
    folder, event = _recorded(recorded)
    _run(capsys, "scrub", "CUST-4711", "--yes")

    assert b"CUST-4711" not in (folder / "tape.jsonl").read_bytes()
    with TapeReader(folder / "tape.jsonl") as tape:
        call = tape.find(event["event_id"])
        assert call is not None
        assert str(tape.value(call.out["ok"])).startswith("__REDACTED__ is yyy")
    assert _problems(folder) == []


def test_validate_finds_what_was_changed_or_is_missing(recorded: Recorded) -> None:
    """Names are hashes of what they name."""
    folder, _ = _recorded(recorded)
    path = folder / "tape.jsonl"
    content = path.read_bytes()
    assert _problems(folder) == []

    path.write_bytes(content.replace(b"message 20 ", b"massage 20 ", 1))
    changed = _problems(folder)
    lines = content.splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b"message 20 " not in line))
    missing = _problems(folder)
    path.write_bytes(content.replace(b'{"c":"', b'{"c":"00000000-', 1))
    foreign = _problems(folder)

    assert any("it was changed" in problem for problem in changed)
    assert any("which is not on the tape" in problem for problem in missing)
    assert any("which does not exist" in problem for problem in foreign)


def test_a_project_that_turns_the_tape_on_against_its_user_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who wants less stored should know."""
    (home / ".agentdbg").mkdir(parents=True)
    (home / ".agentdbg" / "config.yaml").write_text("tape: false\n")
    (tmp_path / ".agentdbg").mkdir()
    (tmp_path / ".agentdbg" / "config.yaml").write_text("tape: true\n")
    monkeypatch.chdir(tmp_path)

    assert any("the whole values of calls are kept" in notice for notice in load_config().notices)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_an_export_with_its_tape_is_a_recording_by_itself(
    recorded: Recorded, data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """A colleague imports it and sees every value; nothing that it names is run by itself there."""
    folder, event = _recorded(recorded)
    plain, whole = tmp_path / f"plain.{form}", tmp_path / f"whole.{form}"
    _run(capsys, "export", "latest", "--format", form, "--out", str(plain))
    _run(capsys, "export", "latest", "--format", form, "--with-tape", "--out", str(whole))
    original = (folder / "tape.jsonl").read_bytes()
    if form == "json":
        assert len(json.loads(whole.read_bytes())["tape"]) == original.count(b"\n")

    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("AGENTDBG_DATA_DIR", str(tmp_path / "theirs"))
        _run(capsys, "import", str(whole))
        theirs = tmp_path / "theirs" / "runs" / folder.name
        assert (theirs / "tape.jsonl").read_bytes() == original
        assert (theirs / "events.jsonl").read_bytes() == (folder / "events.jsonl").read_bytes()
        with TapeReader(theirs / "tape.jsonl") as tape:
            assert tape.find(event["event_id"]) is not None
            assert not tape.is_from(tmp_path / "theirs")
        elsewhere.setenv("AGENTDBG_DATA_DIR", str(tmp_path / "copied"))
        _run(capsys, "import", str(data_dir))
        assert (tmp_path / "copied" / "runs" / folder.name / "tape.jsonl").read_bytes() == original
        elsewhere.setenv("AGENTDBG_DATA_DIR", str(tmp_path / "others"))
        _run(capsys, "import", str(plain))
        said = json.loads((tmp_path / "others" / "runs" / folder.name / "run.json").read_bytes())
        assert said["replay"] == {"state": "none", "why": "imported without a tape"}


def test_diff_sees_what_only_the_tapes_have(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    """Two prompts that differ in a message which is cut out of both logs."""
    for word in ("blue", "green"):
        middle = [*MESSAGES[:20], {"role": "user", "content": f"the colour is {word}"}, *MESSAGES[20:]]
        with traced_run("colours"), llm_call("gpt", middle) as call:
            call.response = "ok"
    first, second = (run.path.name for run in recorded.all())

    with pytest.MonkeyPatch.context() as typed:
        typed.setattr(sys, "argv", ["agentdbg", "diff", first, second])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    said = capsys.readouterr().out

    assert ended.value.code == 1
    assert "green" in said
    assert "Compared with the whole values on the tapes of both runs." in " ".join(said.split())
