"""`agentdbg import` as people run it: what it says, how it ends, what it leaves behind."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agentdbg.config import load_config
from agentdbg.interop.foreign_run import ForeignRun
from agentdbg.interop.imports import Importing
from agentdbg.interop.sources import Source
from tests.interop.files import CHAT, agentdbg, events_of, imported, take, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_it_says_what_it_made_and_what_to_do_next(tmp_path: Path) -> None:
    """Somebody who has just imported wants to look."""
    ran = agentdbg("import", write(tmp_path / "airline.json", [{"traj": CHAT}, {"traj": CHAT[:3]}]))

    assert ran.code == 0, ran.err
    assert ran.out == (
        "airline.json  chat transcript  2 runs, 9 events\n"
        "Imported 2 runs; `agentdbg list` and `agentdbg view` show what is there.\n"
    )
    assert ran.err == ""


def test_importing_twice_adds_nothing(tmp_path: Path, data_dir: Path) -> None:
    """A run is known by what it holds, wherever its file lies now."""
    agentdbg("import", write(tmp_path / "a.json", CHAT))
    before = sorted(path.name for path in (data_dir / "runs").iterdir())

    ran = agentdbg("import", write(tmp_path / "copy.json", CHAT), tmp_path / "a.json")

    assert ran.code == 0, ran.err
    assert "already here" in ran.out
    assert "Nothing new was imported." in ran.out
    assert sorted(path.name for path in (data_dir / "runs").iterdir()) == before


def test_the_same_file_gives_the_same_bytes(tmp_path: Path, data_dir: Path) -> None:
    """Links to events, shared with a colleague, point at the same events there."""
    path = write(tmp_path / "a.json", CHAT)
    first = imported(path, data_dir)
    (data_dir / "runs").rename(tmp_path / "aside")

    assert imported(path, data_dir) == first


def test_what_cannot_be_read_is_named_and_the_rest_imported(tmp_path: Path) -> None:
    """The exit code tells a script; the words tell a person which entry and why."""
    good = write(tmp_path / "good.json", [{"traj": CHAT}, {"nothing": 1}])
    prose = write(tmp_path / "notes.json", "just words")
    empty = write(tmp_path / "empty.json", "")
    other = write(tmp_path / "other.json", {"a": 1})

    ran = agentdbg("import", good, prose, empty, other)

    assert ran.code == 2
    assert "Imported 1 run;" in ran.out
    assert f"not imported: {good}, entry 2: no list of messages in it" in ran.err
    assert f"not imported: {prose}: is not JSON" in ran.err
    assert f"not imported: {empty}: is empty" in ran.err
    assert f"not imported: {other}: is in no format that is known here" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nowhere.json"], "there is no file or folder nowhere.json"), (["x.json", "--format", "csv"], "no format 'csv'")],
)
def test_a_mistake_is_explained(tmp_path: Path, arguments: list[str], said: str) -> None:
    """Exit code 2, one line, no traceback."""
    write(tmp_path / "x.json", CHAT)

    ran = agentdbg("import", *[str(tmp_path / word) if word == "x.json" else word for word in arguments])

    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_json_is_pure_and_lists_everything(tmp_path: Path) -> None:
    """For scripts that go on with the ids."""
    path = write(tmp_path / "a.json", [{"traj": CHAT, "id": "first-task"}, {"x": 1}])

    ran = agentdbg("import", path, "--json")

    (run,) = ran.json["imported"]
    assert (run["run_name"], run["events"], run["file"]) == ("first-task", 5, str(path))
    assert [problem["entry"] for problem in ran.json["problems"]] == ["entry 2"]
    assert agentdbg("import", path, "--json").json["already_here"][0]["run_id"] == run["run_id"]


def test_a_folder_of_files_is_imported(tmp_path: Path) -> None:
    """Whole evaluations are folders; a licence beside them is none of our business."""
    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs" / "a.json", CHAT)
    two = [json.dumps({"messages": CHAT, "id": number}) for number in (2, 3)]
    write(tmp_path / "logs" / "b.jsonl", "\n".join(two))
    write(tmp_path / "logs" / "LICENSE", "MIT")

    ran = agentdbg("import", tmp_path / "logs", "--json")

    assert ran.code == 0, ran.err
    assert len(ran.json["imported"]) == 3


def test_secrets_are_removed_like_anywhere_else(tmp_path: Path, data_dir: Path) -> None:
    """Other tools' traces are full of keys, and there is one redactor."""
    key = "sk-proj-" + "a1B2c3D4e5" * 4
    chat = [
        {"role": "user", "content": f"use {key}"},
        {"role": "assistant", "content": "ok", "api_key": "hunter2hunter2"},
    ]
    document = [{"name": f"run with {key}", "session": f"token={key}", "messages": chat}]

    (outcome,) = take(write(tmp_path / "leaky.json", document))

    assert outcome.run is not None
    stored = b"".join(path.read_bytes() for path in (data_dir / "runs" / outcome.run.run_id).iterdir())
    assert key.encode() not in stored
    assert b"hunter2" not in stored
    assert key not in outcome.run.run_name


def test_control_characters_of_a_name_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """A file from elsewhere must not move the cursor."""
    ran = agentdbg("import", write(tmp_path / "a.json", [{"name": "evil\x1b[2Jname", "messages": CHAT}]))

    assert "\x1b" not in ran.out + ran.err
    assert "evil" in ran.out


def test_a_run_appears_whole_or_not_at_all(tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a broken import leaves must not be taken for a run, nor keep the next try from it."""

    def fail(walk: ForeignRun, _: object) -> None:
        walk.flush()
        raise KeyboardInterrupt

    monkeypatch.setattr(ForeignRun, "end", fail)
    path = write(tmp_path / "a.json", CHAT)
    with pytest.raises(KeyboardInterrupt):
        list(Importing(load_config()).take(Source(path))[1])

    assert not (data_dir / "runs").exists() or not os.listdir(data_dir / "runs")
    assert os.listdir(data_dir / "index") == []

    monkeypatch.undo()
    os.environ["AGENTDBG_DATA_DIR"] = str(data_dir)
    assert len(imported(path, data_dir)) == 5


def test_runs_without_times_stand_in_the_order_of_their_file(tmp_path: Path, data_dir: Path) -> None:
    """They share the time of the file, and a list of runs is sorted by time."""
    path = write(tmp_path / "a.json", [{"traj": CHAT, "id": number} for number in range(3)])
    os.utime(path, (1_700_000_000, 1_700_000_000))

    starts = [events_of(data_dir, outcome.run.run_id)[0] for outcome in take(path) if outcome.run]

    assert [start["ts"] for start in starts] == [f"2023-11-14T22:13:20.00{number}Z" for number in (1, 2, 3)]
    assert "not recorded" in starts[0]["meta"]["imported_from"]["times"]
