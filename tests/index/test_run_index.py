"""Many runs: listed, filtered, searched, and looked at again only when they changed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.findings import Examination, examine
from agentdbg.exceptions import InvalidRunId, RunNotFound
from agentdbg.index import kept_findings, run_index
from agentdbg.index.run_index import RunFilter, RunIndex, load_run_meta
from agentdbg.storage.control_files import post_pause, withdraw_pause
from agentdbg.storage.housekeeping import delete_run, rename_run
from agentdbg.storage.reader import list_runs
from agentdbg.storage.reader import load_run_meta as stored_run_meta
from agentdbg.storage.runfile import read_run, rebuild_run
from tests.storage.handmade import age, run_json, usual_events, write_run

if TYPE_CHECKING:
    from pathlib import Path


def add_run(tmp_path: Path, day: int, **fields: Any) -> str:
    """A run of some day."""
    run_id = str(uuid.uuid4())
    meta = run_json(run_id, **{"started_at": f"2026-05-{day:02d}T00:00:00.000Z", **fields})
    return write_run(tmp_path, run_id, meta=meta, events=usual_events(run_id))


def ids(index: RunIndex, **wanted: Any) -> list[str]:
    """The ids a filter leaves."""
    return [meta["run_id"] for meta in index.page(RunFilter(**wanted)).runs]


def test_the_index_lists_what_reading_every_run_lists(tmp_path: Path) -> None:
    """A cache that says something else than the files is worse than none."""
    for day in range(1, 8):
        add_run(tmp_path, day)
    write_run(tmp_path, meta=None)
    write_run(tmp_path, meta=b"{broken")
    index = RunIndex(tmp_path)
    index.refresh()

    assert index.page(limit=None).runs == list_runs(data_dir=tmp_path)
    assert RunIndex(tmp_path).page(limit=None).runs == list_runs(data_dir=tmp_path)


def test_a_run_that_waits_at_a_breakpoint_is_told_as_paused_until_it_goes_on(tmp_path: Path) -> None:
    """Somebody looks at another run, or at the list in a terminal, while a program waits for them."""
    fcntl = pytest.importorskip("fcntl")
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, status="running"), events=usual_events(run_id)[:2])
    folder = tmp_path / "runs" / run_id
    index = RunIndex(tmp_path)
    seen: list[tuple[list[str], str | None, str | None]] = []

    def look() -> None:
        changed, _ = index.glance() if seen else index.refresh()
        headline = index.headlines([run_id])[run_id]
        seen.append((changed, index.states([run_id])[run_id], headline))

    with (folder / "events.jsonl").open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH | fcntl.LOCK_NB)
        look()
        (folder / "control").mkdir(mode=0o700)
        (folder / "control" / "breaks.json").write_text("[]")  # so that the folder stays when the pause ends
        post_pause(folder, {"pause_id": "a" * 32, "when": "before", "call": {"name": "refund"}})
        look()
        withdraw_pause(folder, "a" * 32)
        look()

    assert [state for _, state, _ in seen] == ["running", "paused", "running"]
    assert all(changed == [run_id] for changed, _, _ in seen)
    assert seen[1][2] == "Paused before refund, waiting for you"


def test_runs_are_filtered_by_what_users_remember(tmp_path: Path) -> None:
    """A name, a day, a tag, a session, a word of the answer: whatever is left in memory has to find the run."""
    old = add_run(tmp_path, 1, name="Airline agent", metadata={"tags": ["eval", "slow"], "session_id": "s1"})
    new = add_run(tmp_path, 2, name="crawler", status="error", metadata={"session_id": "s2", "try": 3})
    index = RunIndex(tmp_path)
    index.refresh()
    index.headlines([old, new])

    assert ids(index, q="AIRLINE") == [old]
    assert ids(index, q="agent airline") == [old]
    assert ids(index, q=new[:13]) == [new]
    assert ids(index, q="s2") == [new]
    assert ids(index, q="hi there") == [old]  # what it answered
    assert ids(index, name="crawl") == [new]
    assert ids(index, status="error") == [new]
    assert ids(index, since="2026-05-02") == [new]
    assert ids(index, session="s1") == [old]
    assert ids(index, meta={"tags": "slow"}) == [old]
    assert ids(index, meta={"try": "3"}) == [new]
    assert ids(index, meta={"try": "4"}) == []


def test_a_page_says_how_many_there_are_in_all(tmp_path: Path) -> None:
    """The rail shows counts by status beside a page of two hundred."""
    for day in range(1, 6):
        add_run(tmp_path, day, status="error" if day % 2 else "ok")
    index = RunIndex(tmp_path)
    index.refresh()
    page = index.page(RunFilter(status="error"), limit=2, offset=1)

    assert (len(page.runs), page.total) == (2, 3)
    assert page.counts_by_status == {"all": 5, "error": 3, "running": 0, "ok": 2, "problems": 0}


@pytest.mark.parametrize("thorough", [True, False])
def test_only_runs_that_changed_are_read_again(thorough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand runs are listed in milliseconds because nobody opens them."""
    made = [add_run(tmp_path, day) for day in range(1, 6)]
    for run_id in made:
        age(tmp_path / "runs" / run_id)
    RunIndex(tmp_path).refresh()
    read: list[str] = []

    def counted(folder: str, run_id: str) -> Any:
        read.append(run_id)
        return read_run(folder, run_id)

    monkeypatch.setattr(run_index, "read_run", counted)
    index = RunIndex(tmp_path)

    assert index.refresh(thorough=thorough) == ([], [])
    assert read == []
    rename_run(made[2], "renamed", tmp_path)
    assert index.refresh(thorough=True) == ([made[2]], [])
    assert read == [made[2]]
    assert index.get(made[2])["run_name"] == "renamed"


def test_new_and_deleted_runs_are_noticed_and_told(tmp_path: Path) -> None:
    """The page's list follows the folder without being reloaded."""
    first = add_run(tmp_path, 1)
    index = RunIndex(tmp_path)
    index.refresh()
    _, _, position = index.changes_since(None)
    second = add_run(tmp_path, 2)
    assert index.refresh(thorough=False)[0] == [second]
    delete_run(first, tmp_path)
    assert index.refresh(thorough=False)[1] == [first]

    changed, removed, now = index.changes_since(position)
    assert ([meta["run_id"] for meta in changed], removed) == ([second], [first])
    assert index.changes_since(now) == ([], [], now)


def test_a_glance_sees_what_came_and_went_without_asking_for_times(tmp_path: Path) -> None:
    """A list of thousands is asked for four times a second."""
    first = add_run(tmp_path, 1)
    index = RunIndex(tmp_path)
    assert not index.is_known()
    index.refresh()
    second = add_run(tmp_path, 2)

    assert index.is_known()
    assert index.glance() == ([second], [])
    delete_run(first, tmp_path)
    assert index.glance() == ([], [first])
    assert index.glance() == ([], [])
    assert index.page().counts_by_status == {"all": 1, "error": 0, "running": 0, "ok": 1, "problems": 0}


def test_reading_many_runs_says_how_far_it_is(tmp_path: Path) -> None:
    """The first look at thousands of runs takes over a second, and whoever waits is told."""
    for day in range(1, 6):
        add_run(tmp_path, day)
    told: list[float] = []
    RunIndex(tmp_path).refresh(progress=told.append)

    assert told == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_runs_come_encoded_with_their_headlines(tmp_path: Path) -> None:
    """The server sends what was encoded once, and it has to be what it would encode."""
    made = [add_run(tmp_path, day, run_name='a "quoted" näme \u2028') for day in (1, 2)]
    index = RunIndex(tmp_path)
    index.refresh()
    runs, headlines = index.page().runs, index.headlines(made)

    assert json.loads(index.encoded([run["run_id"] for run in runs])) == [
        {**run, "headline": headlines[run["run_id"]], "state": "ok"} for run in runs
    ]
    assert index.encoded(["nobody"]) == b"[]"


@pytest.mark.parametrize("calls", [5, 50_000])
def test_a_list_of_runs_looks_into_short_ones_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """Whoever waits for the list waits for its longest run, also when its writer counted no events by type."""
    counts = {"llm_calls": calls, "tool_calls": 0, "errors": 0, "loop_warnings": 0}
    run_id = add_run(tmp_path, 1, counts=counts, event_counts=None)
    looked: list[str] = []

    def look(_: Any, run: Any) -> Examination:
        looked.append(run["run_id"])
        return examine((), run)

    monkeypatch.setattr(kept_findings, "examine", look)
    index = RunIndex(tmp_path)
    index.refresh()
    index.headlines([run_id])

    assert looked == [run_id] * (calls < 1000)


def test_a_run_nobody_closed_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash a run may hold a million events, and every command asks what is known of it."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, status="running"), events=usual_events(run_id)[:3])
    age(tmp_path / "runs" / run_id / "events.jsonl")
    age(tmp_path / "runs" / run_id)
    counted: list[str] = []

    def count(folder: str, run_id: str, owner: Any = None) -> Any:
        counted.append(run_id)
        return rebuild_run(folder, run_id, owner)

    monkeypatch.setattr("agentdbg.index.run_index.rebuild_run", count)
    said = [load_run_meta(run_id[:8], tmp_path) for _ in range(3)]
    index = RunIndex(tmp_path)
    index.refresh()

    assert counted == [run_id]
    assert said[0] == said[1] == said[2] == index.get(run_id) == stored_run_meta(run_id, tmp_path)
    assert said[0]["status"] == "error"


def test_a_running_run_is_always_looked_at(tmp_path: Path) -> None:
    """That a process died changes no file, and must be seen all the same."""
    fcntl = pytest.importorskip("fcntl")
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, status="running"), events=usual_events(run_id)[:2])
    index = RunIndex(tmp_path)
    with (tmp_path / "runs" / run_id / "events.jsonl").open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH | fcntl.LOCK_NB)
        index.refresh()
        assert index.get(run_id)["status"] == "running"
    index.refresh(thorough=False)

    assert index.page().runs[0]["status"] == "error"


@pytest.mark.parametrize("fate", ["deleted", "garbage", "folder", "read-only", "symlink"])
def test_the_cache_may_be_lost_at_any_time(fate: str, tmp_path: Path) -> None:
    """<data_dir>/index is nobody's truth."""
    run_id = add_run(tmp_path, 1)
    RunIndex(tmp_path).refresh()
    path = tmp_path / "index" / "runs.sqlite3"
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    if fate == "garbage":
        path.write_bytes(b"not a database" * 1000)
    elif fate == "folder":
        path.mkdir()
    elif fate == "read-only":
        path.write_bytes(b"")
        path.chmod(0o400)
    elif fate == "symlink":
        (tmp_path / "elsewhere").write_bytes(b"precious")
        os.symlink(tmp_path / "elsewhere", path)
    for _ in range(2):
        index = RunIndex(tmp_path)
        index.refresh()
        assert ids(index) == [run_id]
    if fate == "symlink":
        assert (tmp_path / "elsewhere").read_bytes() == b"precious"


def test_what_is_no_run_is_said_so(tmp_path: Path) -> None:
    """A wrong id and a missing run need different answers."""
    index = RunIndex(tmp_path)
    with pytest.raises(InvalidRunId):
        index.get("../x")
    with pytest.raises(RunNotFound):
        index.get(str(uuid.uuid4()))


def test_a_headline_is_made_once_and_kept(tmp_path: Path) -> None:
    """Reading the end of two hundred runs for every list would be slow."""
    run_id = add_run(tmp_path, 1)
    index = RunIndex(tmp_path)
    index.refresh()
    assert index.headlines([run_id], compute=False) == {run_id: None}
    assert index.headlines([run_id, "unknown"]) == {run_id: "hi there", "unknown": None}
    assert RunIndex(tmp_path).headlines([run_id], compute=False) == {run_id: "hi there"}


def test_metadata_of_any_shape_is_no_obstacle(tmp_path: Path) -> None:
    """Users put anything into meta."""
    run_id = add_run(tmp_path, 1, metadata={"a": {"b": [None, 1.5]}, "c": None, "d": True})
    index = RunIndex(tmp_path)
    index.refresh()

    assert ids(index, meta={"d": "true"}) == [run_id]
    assert ids(index, meta={"c": "null"}) == [run_id]
    assert json.dumps(index.page().runs)


@pytest.mark.parametrize(
    "damage", ["meta = '{'", "meta = '[]'", "meta = '{}'", "meta = x'ff'", "started_at = NULL", "status = NULL"]
)
def test_a_damaged_row_of_the_cache_costs_one_reading(damage: str, tmp_path: Path) -> None:
    """The cache is served as it stands, so what is not ours in it must never get that far."""
    run_id = write_run(tmp_path)
    RunIndex(tmp_path).refresh()
    with contextlib.closing(sqlite3.connect(tmp_path / "index" / "runs.sqlite3")) as cache, cache:
        cache.execute(f"UPDATE runs SET {damage}")
    index = RunIndex(tmp_path)
    index.refresh(thorough=False)

    assert [meta["run_id"] for meta in index.page().runs] == [run_id]
    assert load_run_meta(run_id, tmp_path)["status"] == "ok"


def test_a_link_put_where_a_known_run_was_is_not_followed(tmp_path: Path) -> None:
    """A run that was seen once must not become a way to the rest of the disk."""
    data_dir, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    first, second = write_run(data_dir), write_run(data_dir)
    for run_id in (first, second):
        write_run(elsewhere, run_id)
    index = RunIndex(data_dir)
    index.refresh()
    shutil.rmtree(data_dir / "runs" / first)
    os.symlink(elsewhere / "runs" / first, data_dir / "runs" / first)

    with pytest.raises(RunNotFound):
        index.get(first)
    assert index.get(second)["run_id"] == second
    shutil.rmtree(data_dir / "runs")
    os.symlink(elsewhere / "runs", data_dir / "runs")
    with pytest.raises(RunNotFound):
        index.get(second)


def test_a_reader_that_keeps_nothing_uses_the_cache_and_leaves_it_alone(tmp_path: Path) -> None:
    """Whoever promises to write nothing may still be quick where others have looked before."""
    cached = add_run(tmp_path, 1)
    RunIndex(tmp_path, keep=False).refresh()
    assert not (tmp_path / "index").exists()
    RunIndex(tmp_path).refresh()
    new = add_run(tmp_path, 2)
    cache = tmp_path / "index" / "runs.sqlite3"
    before = (cache.read_bytes(), cache.stat().st_mtime_ns, sorted(cache.parent.iterdir()))

    reader = RunIndex(tmp_path, keep=False)
    assert ids(reader) == [cached]
    reader.refresh()
    reader.headlines([cached, new])
    assert ids(reader) == [new, cached]
    assert (cache.read_bytes(), cache.stat().st_mtime_ns, sorted(cache.parent.iterdir())) == before
