"""Renaming, deleting, compressing and pruning stored runs."""

from __future__ import annotations

import os
import stat
import time
import uuid
from typing import TYPE_CHECKING

import pytest

from agentdbg.exceptions import RunNotFound, UsageError
from agentdbg.owner import describe_owner
from agentdbg.storage import housekeeping
from agentdbg.storage.housekeeping import compress_run, delete_run, empty_trash, prune, rename_run, restore_run
from agentdbg.storage.reader import list_runs, load_events, load_run_meta
from tests.storage.handmade import age, run_json, usual_events, write_run

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_a_new_name_lies_beside_the_run_and_can_be_taken_back(tmp_path: Path) -> None:
    """A rename must change no recorded byte, and be undone by an empty name."""
    run_id = write_run(tmp_path)
    folder = tmp_path / "runs" / run_id
    before = (folder / "run.json").read_bytes()

    assert rename_run(run_id[:9], "  the good one ", tmp_path)["run_name"] == "the good one"
    assert (folder / "run.json").read_bytes() == before
    assert mode(folder / "label.json") == 0o600
    assert rename_run(run_id, "", tmp_path)["run_name"] == "agent"
    for bad in ("x" * 501, "\ud800"):
        with pytest.raises(UsageError):
            rename_run(run_id, bad, tmp_path)


def test_a_secret_in_a_new_name_does_not_reach_the_disk(tmp_path: Path) -> None:
    """What people paste into a name by mistake stays there for everybody who sees the list."""
    run_id = write_run(tmp_path)
    key = "sk" + "-ant-api03-" + "aB3dE6gH9j" * 8

    assert rename_run(run_id, f"try with {key}", tmp_path)["run_name"] == "try with __REDACTED__"
    assert key.encode() not in (tmp_path / "runs" / run_id / "label.json").read_bytes()


def test_a_deleted_run_can_be_brought_back(tmp_path: Path) -> None:
    """Undo is what makes deleting without a question bearable."""
    run_id = write_run(tmp_path)

    assert delete_run(run_id, tmp_path) == run_id
    assert list_runs(data_dir=tmp_path) == []
    assert mode(tmp_path / "trash") == 0o700
    with pytest.raises(RunNotFound):
        delete_run(run_id, tmp_path)
    assert restore_run(run_id[:8], tmp_path) == run_id
    assert len(list(load_events(run_id, tmp_path))) == 4
    with pytest.raises(RunNotFound):
        restore_run(run_id, tmp_path)


def test_restoring_never_writes_over_a_run(tmp_path: Path) -> None:
    """A run that took the place meanwhile is somebody's work."""
    run_id = write_run(tmp_path)
    delete_run(run_id, tmp_path)
    write_run(tmp_path, run_id)

    with pytest.raises(UsageError):
        restore_run(run_id, tmp_path)


def test_deleting_twice_keeps_the_newer(tmp_path: Path) -> None:
    """An import can bring a deleted run again; deleting that one too must not fail."""
    run_id = write_run(tmp_path)
    delete_run(run_id, tmp_path)
    write_run(tmp_path, run_id, meta=run_json(run_id, name="second"))
    delete_run(run_id, tmp_path)
    restore_run(run_id, tmp_path)

    assert load_run_meta(run_id, tmp_path)["run_name"] == "second"


def test_the_trash_is_emptied_after_a_day(tmp_path: Path) -> None:
    """Deleted means gone in the end, but not before the user could change their mind."""
    old, fresh = write_run(tmp_path), write_run(tmp_path)
    delete_run(old, tmp_path)
    delete_run(fresh, tmp_path)
    age(tmp_path / "trash" / old, 90_000)

    tables = tmp_path / "index" / "tables"
    tables.mkdir(parents=True)

    assert empty_trash(tmp_path) == [old]
    assert not tables.exists(), "what was deleted for good would live on there"
    assert restore_run(fresh, tmp_path) == fresh


def test_emptying_the_trash_follows_no_symlink(tmp_path: Path) -> None:
    """What a link in the trash points at was never deleted by anyone."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep")
    link = tmp_path / "trash" / str(uuid.uuid4())
    link.parent.mkdir()
    link.symlink_to(precious)
    run_id = write_run(tmp_path)
    (tmp_path / "runs" / run_id / "inside").symlink_to(precious)
    delete_run(run_id, tmp_path)

    assert empty_trash(tmp_path, older_than_s=-10) == [run_id]
    assert (precious / "file").read_text() == "keep"


def test_a_compressed_run_reads_the_same_and_is_private(tmp_path: Path) -> None:
    """Compressing saves room and must cost nothing else."""
    run_id = write_run(tmp_path, events=[event for _ in range(50) for event in usual_events("x")])
    folder = tmp_path / "runs" / run_id
    age(folder / "events.jsonl")
    before = list(load_events(run_id, tmp_path))

    assert compress_run(run_id, tmp_path) > 0
    assert sorted(path.name for path in folder.iterdir()) == ["events.jsonl.gz", "run.json"]
    assert mode(folder / "events.jsonl.gz") == 0o600
    assert list(load_events(run_id, tmp_path)) == before
    assert compress_run(run_id, tmp_path) == 0


def test_a_copy_that_cannot_be_read_back_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing disk is exactly when the original must not be removed."""
    run_id = write_run(tmp_path)
    age(tmp_path / "runs" / run_id / "events.jsonl")
    monkeypatch.setattr(housekeeping, "_unpacked_digest", lambda _: b"other")

    with pytest.raises(UsageError):
        compress_run(run_id, tmp_path)
    assert sorted(path.name for path in (tmp_path / "runs" / run_id).iterdir()) == ["events.jsonl", "run.json"]


def test_a_run_that_is_being_written_is_not_compressed(tmp_path: Path) -> None:
    """Replacing the file under a writer would lose what it writes next."""
    fcntl = pytest.importorskip("fcntl")
    run_id = write_run(tmp_path)
    path = tmp_path / "runs" / run_id / "events.jsonl"
    age(path)
    with path.open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with pytest.raises(UsageError):
            compress_run(run_id, tmp_path)


def _dated(tmp_path: Path, days_ago: int, status: str = "ok") -> str:
    run_id = str(uuid.uuid4())
    moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - days_ago * 86_400))
    owner = describe_owner() if status == "running" else None
    write_run(tmp_path, run_id, meta=run_json(run_id, status=status, started_at=moment, ended_at=moment, owner=owner))
    # The run of a living owner counts as running while its file is fresh, so that one is dated ahead.
    age(tmp_path / "runs" / run_id / "events.jsonl", -1000 if status == "running" else days_ago * 86_400 + 10)
    return run_id


def test_pruning_spares_the_newest_and_the_running(tmp_path: Path) -> None:
    """A tidy folder must never cost the run somebody is looking at."""
    live, fresh, old, older = (
        _dated(tmp_path, 90, "running"),
        _dated(tmp_path, 1),
        _dated(tmp_path, 40),
        _dated(tmp_path, 50),
    )

    rehearsal = prune(30 * 86_400, keep=2, dry_run=True, data_dir=tmp_path)
    assert [meta["run_id"] for meta in rehearsal.deleted] == [older]
    assert rehearsal.freed_bytes > 0
    assert len(list_runs(data_dir=tmp_path)) == 4

    prune(30 * 86_400, keep=2, data_dir=tmp_path)
    assert {meta["run_id"] for meta in list_runs(data_dir=tmp_path)} == {live, fresh, old}
    prune(keep=0, data_dir=tmp_path)
    assert [meta["run_id"] for meta in list_runs(data_dir=tmp_path)] == [live]
    with pytest.raises(UsageError):
        prune(data_dir=tmp_path)


def test_pruning_can_compress_instead(tmp_path: Path) -> None:
    """Old runs may be worth keeping, only not at full size."""
    old = _dated(tmp_path, 40)

    assert [meta["run_id"] for meta in prune(86_400, compress=True, data_dir=tmp_path).compressed] == [old]
    assert prune(86_400, compress=True, data_dir=tmp_path).compressed == []
    assert len(list(load_events(old, tmp_path))) == 4


def test_pruning_leaves_a_run_alone_while_its_file_is_held(tmp_path: Path) -> None:
    """A process may hold an ended run for a moment; the others are compressed all the same."""
    fcntl = pytest.importorskip("fcntl")
    held, free = _dated(tmp_path, 40), _dated(tmp_path, 41)
    with (tmp_path / "runs" / held / "events.jsonl").open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH | fcntl.LOCK_NB)
        would = prune(86_400, compress=True, dry_run=True, data_dir=tmp_path)
        done = prune(86_400, compress=True, data_dir=tmp_path)

    assert [meta["run_id"] for meta in would.compressed] == [free]
    assert [meta["run_id"] for meta in done.compressed] == [free]
    assert (tmp_path / "runs" / held / "events.jsonl").exists()


def test_a_trash_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    """Deleting must move nothing out of the data folder, and emptying must remove nothing outside it."""
    data_dir, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    kept, foreign = write_run(data_dir), write_run(elsewhere)
    os.symlink(elsewhere / "runs", data_dir / "trash")

    with pytest.raises(UsageError, match="link"):
        delete_run(kept, data_dir)
    with pytest.raises(RunNotFound):
        restore_run(foreign, data_dir)
    assert empty_trash(data_dir, older_than_s=-1) == []
    assert os.listdir(elsewhere / "runs") == [foreign]
    assert list_runs(data_dir=data_dir)[0]["run_id"] == kept
