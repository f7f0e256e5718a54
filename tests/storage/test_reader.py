"""Stored runs: found, listed, read, whatever state they are in."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.commands.find_runs import find
from agentdbg.events import utc_timestamp
from agentdbg.exceptions import AmbiguousRun, EventNotFound, InvalidRunId, RunNotFound, UnsupportedSpecVersion
from agentdbg.owner import describe_owner
from agentdbg.storage import runfile, tally
from agentdbg.storage.reader import find_run, get_event, list_runs, load_events, load_run_meta, program_of, run_ids
from agentdbg.storage.runfile import is_being_written, read_run
from tests.storage import handmade
from tests.storage.handmade import age, as_line, run_end, run_json, timestamp, tool_call, usual_events, write_run
from tests.storage.test_dialects import DAMAGED

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("number", "is_read"), [("0.5", True), ("1e3", True), ("1e999", False), ("NaN", True)])
def test_a_number_that_cannot_be_served_on_is_no_run_json(tmp_path: Path, number: str, is_read: bool) -> None:
    """1e999 is infinite when it is read; any other fraction is no reason to count the events again."""
    run_id = str(uuid.uuid4())
    raw = json.dumps({**run_json(run_id), "metadata": {"temperature": 0}}).replace(
        '"temperature": 0', f'"temperature": {number}'
    )
    write_run(tmp_path, run_id, meta=raw.encode())

    assert ("metadata" in load_run_meta(run_id, tmp_path)) == is_read


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    """The run a developer wants is nearly always the last one."""
    old = write_run(tmp_path, meta=None)
    ids = [str(uuid.uuid4()) for _ in range(3)]
    for day, run_id in enumerate(ids):
        write_run(tmp_path, run_id, meta=run_json(run_id, started_at=f"2026-05-0{day + 1}T00:00:00.000Z"))

    assert [meta["run_id"] for meta in list_runs(data_dir=tmp_path)] == [*reversed(ids), old]
    assert len(list_runs(2, tmp_path)) == 2
    assert find_run("latest", tmp_path) == ids[-1]


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    """Nobody types a UUID."""
    first = write_run(tmp_path, "aaaa1111-0000-4000-8000-000000000001")
    write_run(tmp_path, "aaaa2222-0000-4000-8000-000000000002")

    assert find_run("aaaa1", tmp_path) == first
    assert find_run(first.upper(), tmp_path) == first
    with pytest.raises(AmbiguousRun) as ambiguous:
        find_run("aaaa", tmp_path)
    assert len(ambiguous.value.candidates) == 2
    with pytest.raises(RunNotFound):
        find_run("bbbb", tmp_path)
    with pytest.raises(RunNotFound):
        find_run("latest", tmp_path / "nothing")


def test_the_latest_run_is_that_of_the_program_and_not_of_its_child(tmp_path: Path) -> None:
    """An agent starts Python for its tools too; a run inside the program's own process is what it was made for."""
    programs = [str(uuid.uuid4()) for _ in range(5)]
    for minute, (run_id, parent, pid) in enumerate(
        zip(programs, [None, programs[0], programs[1], programs[0], "no id"], [1, 2, 3, 1, 5], strict=True)
    ):
        meta = run_json(run_id, started_at=f"2026-05-01T00:0{minute}:00.000Z", owner={"pid": pid})
        write_run(tmp_path, run_id, meta={**meta, "metadata": {"parent_run_id": parent}})

    assert [program_of(load_run_meta(run_id, tmp_path), tmp_path) for run_id in programs] == [
        programs[n] for n in (0, 0, 0, 3, 4)
    ]
    shutil.rmtree(tmp_path / "runs" / programs[4])
    shutil.rmtree(tmp_path / "runs" / programs[3])
    assert find_run("latest", tmp_path) == find("latest", tmp_path) == programs[0]


def test_a_run_that_nobody_closed_is_not_counted_again_to_be_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a million events takes seconds, and every command without a run asks which one is the latest."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, events=usual_events(run_id)[:-1], meta=None)
    age(tmp_path / "runs" / run_id)  # a folder that was touched just now is looked at twice
    find("latest", tmp_path)
    counted: list[int] = []
    monkeypatch.setattr(tally.Tally, "add", lambda *_: counted.append(1))

    assert find("latest", tmp_path) == run_id
    assert not counted


def test_the_latest_run_is_found_without_reading_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`agentdbg.storage` is asked for the latest run by scripts that run all day."""
    now = time.time()
    made = []
    for hours_ago in range(50, 0, -1):
        run_id, moment = str(uuid.uuid4()), now - hours_ago * 3600
        write_run(tmp_path, run_id, meta=run_json(run_id, started_at=utc_timestamp(moment)))
        os.utime(tmp_path / "runs" / run_id, (moment + 1, moment + 1))
        made.append(run_id)
    os.utime(tmp_path / "runs" / made[0], (now, now))  # renamed, say: changed last, but not started last
    read: list[str] = []

    def counted(folder: str, run_id: str) -> Any:
        read.append(run_id)
        return read_run(folder, run_id)

    monkeypatch.setattr("agentdbg.storage.reader.read_run", counted)

    assert find_run("latest", tmp_path) == made[-1]
    assert len(read) <= 3


@pytest.mark.parametrize("wanted", ["", "  ", "..", "../x", "a/b", "%2e", "latest ", "zzz", "a" * 37, "٣", "-\x00"])
def test_what_cannot_be_an_id_is_said_so(wanted: str, tmp_path: Path) -> None:
    """A typing mistake and a missing run need different answers."""
    with pytest.raises(InvalidRunId):
        find_run(wanted, tmp_path)


def test_events_come_back_as_written(tmp_path: Path) -> None:
    """The files are the public format; what is read is what stands there."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(tmp_path, run_id, events=events)

    assert list(load_events(run_id[:8], tmp_path)) == events
    assert get_event(run_id, events[2]["event_id"], tmp_path) == events[2]
    with pytest.raises(EventNotFound):
        get_event(run_id, "nope", tmp_path)


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED.keys())
@pytest.mark.parametrize("position", [0, 2, 4])
def test_a_damaged_line_hides_no_other_line(damage: bytes, position: int, tmp_path: Path) -> None:
    """After a crash, everything but the torn line has to be there, and the loss has to be said."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    lines = [as_line(event) for event in events]
    lines.insert(position, damage + b"\n")
    write_run(tmp_path, run_id, raw=b"".join(lines), meta=None)

    assert list(load_events(run_id, tmp_path)) == events
    pieces = len([piece for piece in damage.split(b"\n") if piece.strip()])  # UTF-16 may hold a newline byte
    assert load_run_meta(run_id, tmp_path)["damaged_lines"] == pieces


def test_a_line_beyond_any_bound_is_stepped_over(tmp_path: Path) -> None:
    """A 20 MB line of another writer must neither fill memory nor hide its neighbours."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    lines = [as_line(event) for event in events]
    lines.insert(1, b'{"event_type":"' + b"x" * 20_000_000 + b'"}\n')
    write_run(tmp_path, run_id, raw=b"".join(lines), meta=None)

    assert list(load_events(run_id, tmp_path)) == events
    assert load_run_meta(run_id, tmp_path)["damaged_lines"] == 1


def test_a_foreign_line_of_several_megabytes_is_an_event(tmp_path: Path) -> None:
    """Only our own writer promises 1 MB."""
    run_id = str(uuid.uuid4())
    large = handmade.tool_call(run_id, payload={"result": "x" * 3_000_000})
    write_run(tmp_path, run_id, events=[*usual_events(run_id), large])

    assert [event["event_type"] for event in load_events(run_id, tmp_path)][-1] == "TOOL_CALL"


def test_a_last_line_without_its_newline_is_an_event(tmp_path: Path) -> None:
    """An editor or a copy may strip it; the event is whole all the same."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(tmp_path, run_id, raw=b"".join(map(as_line, events)).rstrip(b"\n"))

    assert list(load_events(run_id, tmp_path)) == events


def test_blank_lines_and_carriage_returns_are_no_damage(tmp_path: Path) -> None:
    """A file edited on Windows is still a run."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    raw = b"\xef\xbb\xbf" + b"\r\n\r\n \n".join(as_line(event).rstrip() for event in events) + b"\r\n\n"
    write_run(tmp_path, run_id, raw=raw, meta=None)

    assert list(load_events(run_id, tmp_path)) == events
    assert "damaged_lines" not in load_run_meta(run_id, tmp_path)


def test_compressed_events_read_the_same(tmp_path: Path) -> None:
    """Old runs are gzipped to save room, and stay readable."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(tmp_path, run_id, events=events)
    plain = tmp_path / "runs" / run_id / "events.jsonl"
    packed = gzip.compress(plain.read_bytes())
    plain.with_name("events.jsonl.gz").write_bytes(packed)
    plain.unlink()

    assert list(load_events(run_id, tmp_path)) == events

    plain.with_name("events.jsonl.gz").write_bytes(packed[:-20])
    assert list(load_events(run_id, tmp_path)) == events[: len(list(load_events(run_id, tmp_path)))]
    plain.with_name("events.jsonl.gz").write_bytes(b"not gzip")
    assert list(load_events(run_id, tmp_path)) == []


def _broken_run_jsons() -> dict[str, Any]:
    good = run_json("x")
    wrong = {
        "other run's id": {**good, "run_id": str(uuid.uuid4())},
        "run_id a number": {**good, "run_id": 7},
        "no started_at": {key: value for key, value in good.items() if key != "started_at"},
        "started_at a list": {**good, "started_at": []},
        "started_at no time": {**good, "started_at": "soon"},
        "status unknown": {**good, "status": "perhaps"},
        "status a number": {**good, "status": 1},
        "no status": {key: value for key, value in good.items() if key != "status"},
        "counts a list": {**good, "counts": [1]},
        "counts of text": {**good, "counts": {"llm_calls": "three"}},
        "counts negative": {**good, "counts": {"llm_calls": -1}},
        "no counts at all": {key: value for key, value in good.items() if key != "counts"},
        "ended without a time": {**good, "ended_at": None},
        "array": [good],
        "text": "run",
        "null": None,
    }
    as_bytes = wrong
    return {
        **{name: json.dumps(value).encode() for name, value in as_bytes.items()},
        "missing": None,
        "empty": b"",
        "truncated": json.dumps(good).encode()[:60],
        "NUL bytes": b"\x00" * 300,
        "invalid UTF-8": b'{"run_id":"\xff"}',
        "lone surrogate": b'{"run_id":"\\ud800"}',
        "bottomless": b"[" * 100_000,
        "huge": b" " * 9_000_000 + b"{}",
        "two documents": b"{}{}",
    }


@pytest.mark.parametrize(("kind", "content"), _broken_run_jsons().items(), ids=_broken_run_jsons().keys())
def test_a_broken_run_json_is_counted_again_from_the_events(kind: str, content: bytes | None, tmp_path: Path) -> None:
    """run.json is a cache; without it the run must read the same, and the others must not notice."""
    other = write_run(tmp_path)
    run_id = str(uuid.uuid4())
    if content is not None and kind not in ("other run's id", "run_id a number"):
        content = content.replace(b'"x"', json.dumps(run_id).encode())
    write_run(tmp_path, run_id, meta=content)

    meta = load_run_meta(run_id, tmp_path)

    assert {other, run_id} == {found["run_id"] for found in list_runs(data_dir=tmp_path)}
    assert meta["status"] == "ok"
    assert (meta["run_name"], meta["started_at"], meta["duration_ms"]) == ("agent", handmade.START, 100)
    assert meta["counts"] == {"llm_calls": 1, "tool_calls": 1, "errors": 0, "loop_warnings": 0}
    assert meta["total_tokens"] == 30


def _make_run_json_odd(kind: str, path: Path, elsewhere: Path) -> None:
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "symlink":
        elsewhere.write_text(json.dumps(run_json("x", name="stolen")))
        path.symlink_to(elsewhere)
    elif kind == "dangling symlink":
        path.symlink_to(elsewhere / "nowhere")
    elif kind == "pipe":
        os.mkfifo(path)


@pytest.mark.parametrize("kind", ["folder", "symlink", "dangling symlink", "pipe"])
def test_a_run_json_that_is_no_plain_file_is_not_opened(kind: str, tmp_path: Path) -> None:
    """A symlink could show another user's file and a pipe could hold the viewer forever."""
    run_id = write_run(tmp_path)
    _make_run_json_odd(kind, tmp_path / "runs" / run_id / "run.json", tmp_path / "secret")

    assert load_run_meta(run_id, tmp_path)["run_name"] == "agent"


@pytest.mark.parametrize(
    ("told", "read"), [(73, 73), (0, 0), (-5, 100), (2.5, 100), (True, 100), ("73", 100), (None, 100)]
)
def test_the_duration_of_a_run_is_the_one_that_was_measured(tmp_path: Path, told: object, read: int) -> None:
    """It comes from a clock that nobody sets; the two times stand in only where it is not a count."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, duration_ms=told))

    assert load_run_meta(run_id, tmp_path)["duration_ms"] == read


def test_a_runs_folder_that_is_a_symlink_holds_no_runs(tmp_path: Path) -> None:
    """It could lead into another user's folder."""
    outside = tmp_path / "outside"
    write_run(outside)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "runs").symlink_to(outside / "runs")

    assert list_runs(data_dir=tmp_path / "mine") == []


def test_symlinked_runs_and_events_are_not_followed(tmp_path: Path) -> None:
    """What a link points at was never recorded here."""
    outside = tmp_path / "outside"
    stolen = write_run(outside)
    mine = write_run(tmp_path, meta=run_json("x"))
    (tmp_path / "runs" / stolen).symlink_to(outside / "runs" / stolen)
    events = tmp_path / "runs" / mine / "events.jsonl"
    events.unlink()
    events.symlink_to(outside / "runs" / stolen / "events.jsonl")

    assert run_ids(tmp_path) == [mine]
    assert list(load_events(mine, tmp_path)) == []


def test_only_folders_named_by_a_canonical_id_are_runs(tmp_path: Path) -> None:
    """Everything else in the folder is somebody else's."""
    run_id = write_run(tmp_path)
    for name in ("notes", run_id.upper(), run_id + "x", "{" + run_id + "}", run_id.replace("-", "")):
        (tmp_path / "runs" / name).mkdir(exist_ok=True)
    (tmp_path / "runs" / str(uuid.uuid4())).write_text("a file")
    empty = tmp_path / "runs" / str(uuid.uuid4())
    empty.mkdir()

    assert [meta["run_id"] for meta in list_runs(data_dir=tmp_path)] == [run_id]


def test_002s_run_json_is_read(tmp_path: Path) -> None:
    """It counts by type, says `completed`, and knows neither spec_version nor run_name."""
    run_id = str(uuid.uuid4())
    write_run(
        tmp_path,
        run_id,
        meta={
            "run_id": run_id,
            "status": "completed",
            "started_at": "2024-01-15T14:32:15.123456Z",
            "ended_at": "2024-01-15T14:32:20.456Z",
            "duration_ms": 5333,
            "event_counts": {"LLM_CALL": 5, "TOOL_CALL": 12, "ERROR": 1, "STATE_UPDATE": 3},
            "metadata": {"framework": "langchain"},
        },
    )
    (tmp_path / "runs" / run_id / "events.jsonl").unlink()  # where it is there, it is asked

    meta = load_run_meta(run_id, tmp_path)

    assert (meta["status"], meta["started_at"]) == ("ok", "2024-01-15T14:32:15.123Z")
    assert meta["counts"] == {"llm_calls": 5, "tool_calls": 12, "errors": 1, "loop_warnings": 0}
    assert meta["metadata"] == {"framework": "langchain"}


def test_failed_calls_are_errors_where_events_were_counted_by_type(tmp_path: Path) -> None:
    """A count of ERROR events leaves out the calls that failed; the run has one number of errors, not two."""
    run_id = str(uuid.uuid4())
    failed = tool_call(run_id, 60, payload={"status": "failed", "error": "gone"})
    events = [*usual_events(run_id)[:-1], failed, run_end(run_id)]
    told = {key: value for key, value in run_json(run_id).items() if key != "counts"}
    write_run(tmp_path, run_id, events=events, meta={**told, "event_counts": {"LLM_CALL": 1, "TOOL_CALL": 2}})

    assert load_run_meta(run_id, tmp_path)["counts"] == {
        "llm_calls": 1,
        "tool_calls": 2,
        "errors": 1,
        "loop_warnings": 0,
    }


@pytest.mark.parametrize(
    ("told", "tokens", "cost"),
    [
        ({}, 30, 0.25),
        ({"total_tokens": 7}, 7, 0.25),
        ({"total_tokens": None, "cost_usd": None}, None, None),
        ({"total_tokens": -7, "cost_usd": -0.5}, 30, 0.25),
        ({"total_tokens": "many", "cost_usd": True}, 30, 0.25),
        ({"total_tokens": 12.5, "cost_usd": {}}, 30, 0.25),
    ],
)
def test_totals_that_run_json_does_not_tell_are_counted(
    told: dict[str, Any], tokens: int | None, cost: float | None, tmp_path: Path
) -> None:
    """Older writers leave them out, and a number that can be none is as good as left out; null says: not known."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    events[1]["payload"]["cost_usd"] = 0.25
    write_run(tmp_path, run_id, events=events, meta=run_json(run_id, **told))

    meta = load_run_meta(run_id, tmp_path)
    assert (meta["total_tokens"], meta["cost_usd"]) == (tokens, cost)
    assert meta["counts"]["llm_calls"] == 1


def test_a_number_below_zero_is_no_count_of_anything(tmp_path: Path) -> None:
    """It would be shown as it stands: "-3 events were not written"."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, dropped_events=-3, damaged_lines=2))
    meta = load_run_meta(run_id, tmp_path)

    assert "dropped_events" not in meta
    assert meta["damaged_lines"] == 2


def test_a_run_json_longer_than_any_of_ours_is_not_read(tmp_path: Path) -> None:
    """Whoever put it there, listing runs must not take its memory; the events say what it would have said."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, metadata={"tag": "x" * 2_000_000}))

    meta = load_run_meta(run_id, tmp_path)
    assert "metadata" not in meta
    assert meta["counts"]["tool_calls"] == 1


def test_half_a_character_in_run_json_costs_that_file_and_no_answer(tmp_path: Path) -> None:
    """It can be read, but not be sent on: the viewer would fail on it for every run of the list."""
    run_id = str(uuid.uuid4())
    raw = json.dumps(run_json(run_id, name="agent")).replace("agent", "\\ud83d").encode()
    write_run(tmp_path, run_id, meta=raw)

    meta = load_run_meta(run_id, tmp_path)
    json.dumps(meta, ensure_ascii=False).encode()
    assert meta["run_name"] == "agent"


@pytest.mark.parametrize("ended_at", [None, "never"])
def test_a_finished_run_that_does_not_say_when_is_counted_again(ended_at: Any, tmp_path: Path) -> None:
    """When it ended and how long it took stand in its last event."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, meta=run_json(run_id, ended_at=ended_at, duration_ms=None))

    meta = load_run_meta(run_id, tmp_path)
    assert (meta["ended_at"], meta["duration_ms"]) == (timestamp(100), 100)


@pytest.mark.parametrize("broken_meta", [False, True])
def test_a_later_format_is_refused_for_that_run_alone(broken_meta: bool, tmp_path: Path) -> None:
    """Guessing at a format we do not know would show wrong things; the other runs have nothing to do with it."""
    other = write_run(tmp_path)
    later = str(uuid.uuid4())
    events = [{**event, "spec_version": "1.0"} for event in usual_events(later)]
    write_run(tmp_path, later, events=events, meta=None if broken_meta else run_json(later, spec_version="1.0"))

    for read in (load_run_meta, load_events):
        with pytest.raises(UnsupportedSpecVersion, match=r"1\.0"):
            read(later, tmp_path)
    assert load_run_meta(other, tmp_path)["status"] == "ok"
    listed = {meta["run_id"]: meta for meta in list_runs(data_dir=tmp_path)}
    assert "1.0" in listed[later]["status_reason"]


def test_a_users_name_is_laid_over_the_recorded_one(tmp_path: Path) -> None:
    """A rename must survive the writer replacing run.json."""
    run_id = write_run(tmp_path)
    label = tmp_path / "runs" / run_id / "label.json"
    label.write_text('{"run_name": "the good one"}')

    assert load_run_meta(run_id, tmp_path)["run_name"] == "the good one"

    for unusable in ('{"run_name": 7', '{"run_name": 7}', '{"run_name": ""}', "[]"):
        label.write_text(unusable)
        assert load_run_meta(run_id, tmp_path)["run_name"] == "agent"


@pytest.mark.parametrize(
    ("said", "mark"),
    [
        ({"outcome": "passed"}, {"outcome": "passed", "why": ""}),
        ({"outcome": "failed", "why": "wrong sum"}, {"outcome": "failed", "why": "wrong sum"}),
        ({"outcome": "maybe"}, None),
        ("passed", None),
    ],
)
def test_what_a_user_marked_a_run_as_is_read_with_it(said: Any, mark: Any, tmp_path: Path) -> None:
    """`explain` judges a run by its mark, so only the two words that a mark can be count as one."""
    run_id = write_run(tmp_path)
    (tmp_path / "runs" / run_id / "label.json").write_text(json.dumps({"mark": said}))

    assert load_run_meta(run_id, tmp_path).get("mark") == mark


def _running(tmp_path: Path, events: list[dict[str, Any]], run_id: str, **fields: Any) -> Path:
    counts = {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}
    write_run(tmp_path, run_id, meta=run_json(run_id, status="running", counts=counts, **fields), events=events)
    return tmp_path / "runs" / run_id / "events.jsonl"


def test_a_run_whose_process_is_gone_is_not_running(tmp_path: Path) -> None:
    """A killed agent must say so, and what it was doing, or its user waits for nothing."""
    run_id = str(uuid.uuid4())
    start = handmade.event(
        run_id, "CALL_START", 90, name="fetch_page", payload={"call_id": "c", "kind": "tool", "name": "fetch_page"}
    )
    age(_running(tmp_path, [*usual_events(run_id)[:3], start], run_id))

    meta = load_run_meta(run_id, tmp_path)

    assert (meta["status"], meta["ended_at"], meta["duration_ms"]) == ("error", handmade.timestamp(90), 90)
    assert "the start of fetch_page" in meta["status_reason"]
    assert meta["counts"]["llm_calls"] == 1


def test_a_dead_owner_is_known_at_once(tmp_path: Path) -> None:
    """After kill -9 the next look must not still say running."""
    import socket

    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    run_id = str(uuid.uuid4())
    owner = {"pid": process.pid, "started": 1.0, "host": socket.gethostname()}
    _running(tmp_path, usual_events(run_id)[:2], run_id, owner=owner)

    assert load_run_meta(run_id, tmp_path)["status"] == "error"


def test_a_run_that_nobody_holds_is_over_however_fresh_it_is(tmp_path: Path) -> None:
    """A file that was torn and lost its run.json names no owner; its lock says that nobody writes it."""
    pytest.importorskip("fcntl")
    run_id = str(uuid.uuid4())
    path = _running(tmp_path, usual_events(run_id)[:2], run_id)
    (path.parent / "run.json").unlink()

    assert load_run_meta(run_id, tmp_path)["status"] == "error"


def test_a_run_that_is_being_written_is_running(tmp_path: Path) -> None:
    """Silence is not death: a model may think for minutes while the writer holds its lock."""
    fcntl = pytest.importorskip("fcntl")
    run_id = str(uuid.uuid4())
    path = _running(tmp_path, usual_events(run_id)[:2], run_id)
    age(path)

    with path.open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert load_run_meta(run_id, tmp_path)["status"] == "running"
    assert load_run_meta(run_id, tmp_path)["status"] == "error"


def test_asking_never_keeps_the_lock_from_a_writer(tmp_path: Path) -> None:
    """A reader must not be the reason why a writer has no lock."""
    fcntl = pytest.importorskip("fcntl")
    run_id = str(uuid.uuid4())
    path = _running(tmp_path, usual_events(run_id)[:2], run_id)
    age(path)
    load_run_meta(run_id, tmp_path)

    with path.open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_SH | fcntl.LOCK_NB)


_HERE, _GONE, _ELSEWHERE = "this process", "a process that is gone", "nobody known"


@pytest.mark.parametrize(
    ("owner", "events", "has_locks", "silent_s", "is_written"),
    [
        # Before there is a file, the owner decides.
        (_HERE, None, True, 0, True),
        (_GONE, None, True, 0, False),
        (_ELSEWHERE, None, True, 0, False),
        # A compressed run is over, whoever made it.
        (_HERE, "events.jsonl.gz", True, 0, False),
        # Where there are locks, nobody holding the file means that nobody writes it.
        (_HERE, "events.jsonl", True, 5, False),
        (_ELSEWHERE, "events.jsonl", True, 0, False),
        # Where there are none, the owner decides, and without one how long nothing was written.
        (_HERE, "events.jsonl", False, 5_000, True),
        (_GONE, "events.jsonl", False, 5, False),
        (_ELSEWHERE, "events.jsonl", False, 5, True),
        (_ELSEWHERE, "events.jsonl", False, 5_000, False),
    ],
)
def test_whether_a_run_is_being_written(
    owner: str,
    events: str | None,
    has_locks: bool,
    silent_s: int,
    is_written: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A dead run shown as running is waited for; a running one shown as dead is deleted."""
    monkeypatch.setattr(runfile, "_HAS_LOCKS", has_locks)
    known = {_HERE: describe_owner(), _GONE: {**describe_owner(), "started": "1"}, _ELSEWHERE: None}
    path = None if events is None else tmp_path / events
    if path is not None:
        path.write_bytes(as_line(handmade.run_start(str(uuid.uuid4()))))

    asked = None if path is None else str(path)
    assert is_being_written(asked, known[owner], now=time.time() + silent_s) is is_written


def test_a_run_killed_between_its_end_and_run_json_ended_as_recorded(tmp_path: Path) -> None:
    """RUN_END is the truth; a stale run.json must not turn a success into a death."""
    run_id = str(uuid.uuid4())
    age(_running(tmp_path, usual_events(run_id), run_id))

    meta = load_run_meta(run_id, tmp_path)

    assert (meta["status"], meta["duration_ms"]) == ("ok", 100)
    assert "status_reason" not in meta


def test_an_exception_recorded_by_a_failed_call_counts_once(tmp_path: Path) -> None:
    """`errors` says how many things went wrong, not how many times one was written down."""
    run_id = str(uuid.uuid4())
    error = {"error_type": "KeyError", "message": "'a'", "stack": None, "details": None}
    failed = handmade.tool_call(run_id, 20, payload={"status": "error", "error": error})
    other = handmade.event(run_id, "ERROR", 40, name="ValueError", payload={"error_type": "ValueError", "message": "b"})
    write_run(
        tmp_path,
        run_id,
        meta=None,
        events=[handmade.run_start(run_id), failed, handmade.event(run_id, "ERROR", 30, payload=error), other],
    )

    assert load_run_meta(run_id, tmp_path)["counts"]["errors"] == 2


def test_what_loops_had_cost_is_the_sum_of_what_was_told_of_each(tmp_path: Path) -> None:
    """The end of a run knows it; of a run that was killed in a loop, the warnings do. A hint is no loop."""
    run_id = str(uuid.uuid4())
    told: list[Any] = [{"cost_usd": 0.1}, {"cost_usd": 0.2}, {"cost_usd": -4}, {"cost_usd": "much"}, None, [1]]
    warnings = [
        handmade.event(run_id, "LOOP_WARNING", 20 + at, name="a", payload={"spent": spent, "severity": "critical"})
        for at, spent in enumerate(told)
    ]
    hint = handmade.event(run_id, "LOOP_WARNING", 40, name="a", payload={"spent": {"cost_usd": 9}, "severity": "info"})
    start = handmade.run_start(run_id)
    write_run(tmp_path, run_id, meta=None, events=[start, *warnings, hint])
    assert load_run_meta(run_id, tmp_path)["loop_cost_usd"] == 0.3

    end = run_end(run_id)
    end["payload"]["summary"]["loop_cost_usd"] = 0.75
    write_run(tmp_path, run_id, meta=None, events=[start, *warnings, hint, end])
    assert load_run_meta(run_id, tmp_path)["loop_cost_usd"] == 0.75

    quiet = write_run(tmp_path, meta=None, events=[handmade.run_start(run_id), hint])
    assert load_run_meta(quiet, tmp_path)["loop_cost_usd"] is None


def test_reading_a_long_run_keeps_memory_flat(tmp_path: Path) -> None:
    """A run of any length has to open on a laptop."""
    run_id = str(uuid.uuid4())
    line = as_line(handmade.tool_call(run_id, payload={"result": "x" * 2000}))
    write_run(tmp_path, run_id, raw=line * 10_000)
    events = load_events(run_id, tmp_path)
    next(events)

    tracemalloc.start()
    count = sum(1 for _ in events)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 9_999
    assert peak < 3_000_000


@pytest.mark.parametrize("said", [{"total_tokens": 5}, {"status": "running", "ended_at": None}, None])
def test_reading_events_does_not_count_them_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any] | None
) -> None:
    """A run without totals, without an end or without run.json is counted for whoever wants figures, and only then."""
    run_id = str(uuid.uuid4())
    events = [handmade.run_start(run_id), *[handmade.llm_call(run_id, at) for at in range(1, 50)]]
    write_run(tmp_path, run_id, meta=None if said is None else run_json(run_id, **said), events=events)
    age(tmp_path / "runs" / run_id / "events.jsonl")
    counted: list[int] = []
    add = tally.Tally.add

    def count(self: tally.Tally, line: bytes | None, offset: int) -> None:
        counted.append(offset)
        add(self, line, offset)

    monkeypatch.setattr(tally.Tally, "add", count)

    assert len(list(load_events(run_id, tmp_path))) == 50
    assert len(counted) <= 1
    load_run_meta(run_id, tmp_path)
    assert len(counted) >= 50


@pytest.mark.parametrize("pid", [10**30, 2**31, 0, -1])
def test_an_owner_no_process_can_be_does_not_hide_the_other_runs(pid: int, tmp_path: Path) -> None:
    """A damaged run.json must not cost the list of runs."""
    good, odd = write_run(tmp_path), str(uuid.uuid4())
    owner = {"pid": pid, "host": os.uname().nodename, "started": None}
    write_run(tmp_path, odd, meta=run_json(odd, status="running", ended_at=None, owner=owner))
    age(tmp_path / "runs" / odd / "events.jsonl")

    assert {meta["run_id"]: meta["status"] for meta in list_runs(data_dir=tmp_path)} == {good: "ok", odd: "ok"}
