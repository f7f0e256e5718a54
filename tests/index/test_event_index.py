"""The columns of a run: the same as counting its events one by one, however the file comes to be."""

from __future__ import annotations

import gzip
import json
import random
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.run_columns import MemoryColumns
from agentdbg.exceptions import EventNotFound
from agentdbg.index.events import EventIndex
from agentdbg.index.scan import scan_lines
from agentdbg.storage.reader import load_events, load_run_meta
from tests.storage import handmade
from tests.storage.handmade import as_line, llm_call, tool_call, usual_events, write_run
from tests.storage.test_dialects import DAMAGED

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ("kind", "status", "severity", "type", "types", "parent_n", "start_ms", "duration_ms", "tokens")
SUMS = ("total", "started_ms", "tokens_in", "tokens_out", "cost_usd")


def varied_events(run_id: str, count: int = 300) -> list[dict[str, Any]]:
    """A run with everything in it: spans and calls after their children, failures, loops, own types, odd parents."""
    chance = random.Random(7)
    start = handmade.run_start(run_id)
    events = [start]
    for step in range(count):
        at_ms = step * 10
        parent = chance.choice(events)["event_id"] if chance.random() < 0.5 else start["event_id"]
        error = {"error_type": "KeyError", "message": "'a'", "stack": None, "details": None}
        later = str(uuid.uuid4())
        events += chance.choice(
            [
                [llm_call(run_id, at_ms, parent_id=parent, payload={"cost_usd": 0.25})],
                [llm_call(run_id, at_ms, parent_id=parent, payload={"usage": None, "status": "error", "error": error})],
                [tool_call(run_id, at_ms, f"tool{step % 5}", parent_id=parent, payload={"args": {"q": step % 7}})],
                [tool_call(run_id, at_ms, payload={"status": "error", "error": error})],
                [
                    handmade.event(
                        run_id, "CALL_START", at_ms, payload={"call_id": later, "kind": "tool", "name": "x"}
                    ),
                    tool_call(run_id, at_ms + 5, event_id=later if step % 3 else None),
                ],
                [
                    tool_call(run_id, at_ms, parent_id=later),
                    handmade.event(
                        run_id,
                        "STATE_UPDATE",
                        at_ms + 9,
                        event_id=later,
                        meta={"span": "plan"},
                        payload={"state": None, "diff": None, "error": error if step % 2 else None},
                        duration_ms=9,
                    ),
                ],
                [handmade.event(run_id, "STATE_UPDATE", at_ms, payload={"state": {"a": step}, "diff": None})],
                [handmade.event(run_id, "ERROR", at_ms, payload=error, parent_id="nobody")],
                [
                    handmade.event(
                        run_id,
                        "LOOP_WARNING",
                        at_ms,
                        payload={"pattern": "a", "evidence_event_ids": [], "severity": chance.choice(["info", None])},
                    )
                ],
                [handmade.event(run_id, f"MY_{step % 3}", at_ms, duration_ms=3)],
            ]
        )
    return [*events, handmade.run_end(run_id, count * 10)]


def assert_same_columns(index: EventIndex, events: list[Any]) -> None:
    """What the index says is what counting the events one by one says."""
    plain = MemoryColumns(events)
    for name in SUMS:
        assert getattr(index, name) == getattr(plain, name), name
    for name in COLUMNS:
        assert list(getattr(index, name)) == list(getattr(plain, name)), name
    for number in range(1, index.total + 1):
        assert index.event(number) == events[number - 1]
        assert index.same_as(number) == plain.same_as(number)
        assert index.previous_call(number) == plain.previous_call(number)
        assert index.number_of(events[number - 1]["event_id"]) == plain.number_of(events[number - 1]["event_id"])
    assert index.number_of("nobody") is None


STRICT_TRAPS: dict[str, dict[str, Any]] = {
    "as we write it": {},
    "a number nobody believes": {"duration_ms": 1 << 60},
    "tokens nobody believes": {
        "event_type": "LLM_CALL",
        "payload": {"model": "m", "status": "ok", "usage": {"total_tokens": 1 << 60}},
    },
    "an integer of many digits": {"payload": {"tool_name": "t", "status": "ok", "result": 10**30}},
    "a number too large for a float": {"payload": {"tool_name": "t", "status": "ok", "result": 1.0, "args": [1e308]}},
    "another word for success": {"payload": {"tool_name": "t", "status": "success"}},
    "an error as text": {"payload": {"tool_name": "t", "status": "error", "error": "no"}},
    "an error of another writer": {
        "payload": {"tool_name": "t", "status": "error", "error": {"type": "E", "stack_trace": "s"}}
    },
    "a field beside the payload": {"result": 7},
    "no payload": {"payload": None},
    "a state that is the payload": {"event_type": "STATE_UPDATE", "payload": {"a": 1}},
    "an end of another writer": {"event_type": "RUN_END", "payload": {"status": "aborted"}},
    "a warning of an older format": {"event_type": "LOOP_WARNING", "payload": {"evidence": ["a"]}},
    "another spelling of the time": {"ts": "2026-04-12 10:30:00,5"},
    "another version": {"spec_version": "0.2"},
    "no id": {"event_id": ""},
    "an empty parent": {"parent_id": ""},
}


def index_of(tmp_path: Path, run_id: str) -> EventIndex:
    """An index that keeps its cache beside the runs."""
    return EventIndex(tmp_path / "runs" / run_id, run_id, tmp_path / "index")


def test_the_columns_say_what_the_events_say(tmp_path: Path) -> None:
    """The page draws a million events from these columns, so each must be right."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id)
    write_run(tmp_path, run_id, events=events)
    index = index_of(tmp_path, run_id)
    index.extend()

    assert index.complete
    assert_same_columns(index, events)


def test_a_file_of_nothing_but_our_own_lines_is_taken_apart_at_once(tmp_path: Path) -> None:
    """That is how most files are read, so the short way has to say what the long way says."""
    run_id = str(uuid.uuid4())
    events = [event for event in varied_events(run_id) if not event["event_type"].startswith("MY_")]
    raw = b"".join(map(as_line, events))
    write_run(tmp_path, run_id, raw=raw)
    index = index_of(tmp_path, run_id)
    index.extend()

    assert scan_lines(raw, 0, run_id).is_whole
    assert index.clean_bytes == len(raw)
    assert_same_columns(index, events)


def test_an_event_over_two_lines_is_no_line_however_many_share_another(tmp_path: Path) -> None:
    """As many events as lines does not mean one on each; an offset that is off would serve garbage."""
    run_id = str(uuid.uuid4())
    start, one, two, three, end = (
        usual_events(run_id)[:2] + [tool_call(run_id) for _ in range(2)] + [handmade.run_end(run_id, 9)]
    )
    split = as_line(three).replace(b'"payload":{', b'"payload":\n{')
    raw = b"".join([as_line(start), as_line(one).rstrip() + as_line(two), split, as_line(end)])
    write_run(tmp_path, run_id, raw=raw)
    index = index_of(tmp_path, run_id)
    index.extend()

    assert raw.count(b"\n") == 5
    assert not scan_lines(raw, 0, run_id).is_whole
    assert [index.event(number) for number in range(1, index.total + 1)] == [start, end]
    assert index.damaged_total == 3


@pytest.mark.parametrize("chunk", [1, 7, 1000, 50_000])
def test_growing_a_little_at_a_time_gives_the_same(chunk: int, tmp_path: Path) -> None:
    """A live run is indexed as it is written, and a poll may see half a line."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id, 5 if chunk == 1 else 100)
    raw = b"".join(map(as_line, events))
    write_run(tmp_path, run_id, raw=b"")
    path = tmp_path / "runs" / run_id / "events.jsonl"
    index = index_of(tmp_path, run_id)
    for position in range(0, len(raw), chunk):
        with path.open("ab") as file:
            file.write(raw[position : position + chunk])
        index.extend()
        assert index.complete

    assert_same_columns(index, events)
    assert index.damaged_total == 0


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED.keys())
def test_damage_is_counted_and_hides_nothing(damage: bytes, tmp_path: Path) -> None:
    """Numbers count whole events only, and the user is told which lines were skipped."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    lines = [as_line(event) for event in events]
    lines.insert(2, damage + b"\n")
    write_run(tmp_path, run_id, raw=b"".join(lines))
    index = index_of(tmp_path, run_id)
    index.extend()

    assert_same_columns(index, events)
    assert index.damaged_lines[0] == 3
    assert index.damaged_total == len([piece for piece in damage.split(b"\n") if piece.strip()])


def test_every_dialect_gets_its_columns(tmp_path: Path) -> None:
    """A looser line must not only be read, but counted like a strict one."""
    run_id = str(uuid.uuid4())
    loose: list[dict[str, Any]] = [
        {"event_type": "RUN_START", "ts": "2026-04-12T10:30:00.000123+00:00", "name": "x"},
        {"event_type": "LLM_CALL", "name": "m", "payload": {"error": {"type": "E"}, "usage": {"input_tokens": 3}}},
        {"event_type": "TOOL_CALL", "ts": handmade.timestamp(50), "payload": {"tool_name": "t", "status": "success"}},
        {"event_type": "LOOP_WARNING", "ts": handmade.timestamp(60), "payload": {"repetition_count": 3}},
        {"event_type": "RUN_END", "ts": handmade.timestamp(70), "status": "aborted"},
    ]
    write_run(tmp_path, run_id, raw=b"".join(map(as_line, loose)))
    index = index_of(tmp_path, run_id)
    index.extend()

    assert_same_columns(index, list(load_events(run_id, tmp_path)))
    assert bytes(index.strictness) == b"\x00" * 5


@pytest.mark.parametrize(
    "ts", ["2026-02-31T10:00:00.000Z", "2026-04-12T10:00:60.000Z", "0000-00-00T00:00:00.000Z", "x"]
)
def test_a_time_that_does_not_exist_costs_nothing_but_itself(ts: str, tmp_path: Path) -> None:
    """The shape of a timestamp can be right and its day wrong; the event stands where the one before it did."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    events.insert(2, {**tool_call(run_id), "ts": ts})
    write_run(tmp_path, run_id, events=events, meta=None)
    index = index_of(tmp_path, run_id)
    index.extend()

    assert (index.total, index.damaged_total) == (5, 0)
    assert index.start_ms[2] == 45  # the model's answer at 50, less the 5 the call took
    assert load_run_meta(run_id, tmp_path)["status"] == "ok"


@pytest.mark.parametrize("huge", [0xFFFFFFFE, 0xFFFFFFFF, 1 << 40, 1 << 62])
def test_an_absurd_duration_costs_nothing_but_itself(huge: int, tmp_path: Path) -> None:
    """A clock that was wrong once must not give a length to everything that has none."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    events.insert(2, tool_call(run_id, 60, duration_ms=huge))
    write_run(tmp_path, run_id, events=events)
    index = index_of(tmp_path, run_id)
    index.extend()

    assert index.duration_ms[0] == 0xFFFFFFFF  # null
    assert_same_columns(index, list(load_events(run_id, tmp_path)))


@pytest.mark.parametrize("chosen", STRICT_TRAPS.values(), ids=STRICT_TRAPS.keys())
def test_a_line_that_is_taken_as_it_stands_needs_no_repair(chosen: dict[str, Any], tmp_path: Path) -> None:
    """An event must be the same whether it is opened by its number or read with all others."""
    run_id = str(uuid.uuid4())
    events = [*usual_events(run_id), {**tool_call(run_id), **chosen}]
    write_run(tmp_path, run_id, events=events)
    index = index_of(tmp_path, run_id)
    index.extend()

    assert [index.event(number) for number in range(1, 6)] == list(load_events(run_id, tmp_path))


def test_only_strict_lines_are_served_as_they_stand(tmp_path: Path) -> None:
    """Splicing a line that readers would repair would show two truths."""
    run_id = str(uuid.uuid4())
    strict = tool_call(run_id)
    lines = [
        as_line(strict),
        as_line(strict),
        as_line({**strict, "ts": "2026-04-12 10:30:01.000Z"}),
        as_line(strict),
        b"damage\n",
        as_line(strict),
        as_line({**strict, "extra": 1}),
        as_line({**strict, "payload": {**strict["payload"], "error": {"type": "E"}}}),
        b"\n",
        as_line({**strict, "event_type": "MINE"}),
    ]
    write_run(tmp_path, run_id, raw=b"".join(lines))
    index = index_of(tmp_path, run_id)
    index.extend()

    assert list(index.strictness) == [1, 1, 0, 1, 2, 0, 0, 2]


def test_a_time_slice_stops_and_the_next_goes_on(tmp_path: Path) -> None:
    """A million events take seconds to index, and the page has to show something at once."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, raw=as_line(tool_call(run_id, payload={"result": "x" * 900})) * 1500)
    index = index_of(tmp_path, run_id)

    index.extend(max_ms=0)
    first = index.total
    assert 0 < first < 1500
    assert not index.complete
    assert 0 < index.progress < 1
    for _ in range(1500):
        index.extend(max_ms=0)
    assert (index.total, index.complete) == (1500, True)


def test_columns_are_kept_between_processes(tmp_path: Path) -> None:
    """Opening a large run a second time must cost nothing, and going on from there must stay right."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id, 1200)
    half = len(events) - 200
    write_run(tmp_path, run_id, events=events[:half])
    first = index_of(tmp_path, run_id)
    first.extend()
    assert first.save()
    cache = tmp_path / "index" / f"{run_id}.columns"
    assert cache.stat().st_mode & 0o777 == 0o600

    again = index_of(tmp_path, run_id)
    assert again.total == half
    assert_same_columns(again, events[:half])

    with (tmp_path / "runs" / run_id / "events.jsonl").open("ab") as file:
        file.write(b"".join(map(as_line, events[half:])))
    again.extend()
    assert_same_columns(again, events)


@pytest.mark.parametrize("fate", ["other file", "shorter", "torn cache", "empty cache", "other format", "garbage"])
def test_a_cache_that_does_not_fit_is_not_believed(fate: str, tmp_path: Path) -> None:
    """The cache is never the truth."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id, 900)
    write_run(tmp_path, run_id, events=events)
    first = index_of(tmp_path, run_id)
    first.extend()
    assert first.save()
    cache = tmp_path / "index" / f"{run_id}.columns"
    if fate == "other file":
        events = varied_events(run_id, 950)
        write_run(tmp_path, run_id, events=events)
    elif fate == "shorter":
        events = events[:-5]
        write_run(tmp_path, run_id, events=events)
    else:
        content = cache.read_bytes()
        cache.write_bytes(
            {
                "torn cache": content[:-3],
                "empty cache": b"",
                "other format": content.replace(b"columns-2", b"columns-0"),
                "garbage": b"{}\n\x00",
            }[fate]
        )

    index = index_of(tmp_path, run_id)
    index.extend()
    assert_same_columns(index, events)


def test_a_replaced_file_is_noticed(tmp_path: Path) -> None:
    """Scrubbing rewrites a run; rows of the old file must not be shown from the new one."""
    run_id = str(uuid.uuid4())
    write_run(tmp_path, run_id, events=varied_events(run_id, 50))
    index = index_of(tmp_path, run_id)
    index.extend()
    generation = index.generation
    events = usual_events(run_id)
    path = tmp_path / "runs" / run_id / "events.jsonl"
    path.with_name("new").write_bytes(b"".join(map(as_line, events)))
    path.with_name("new").replace(path)
    index.extend()

    assert index.generation != generation
    assert_same_columns(index, events)


def test_compressed_runs_have_the_same_columns(tmp_path: Path) -> None:
    """Old runs are gzipped; nothing else about them changes."""
    run_id = str(uuid.uuid4())
    events = varied_events(run_id, 50)
    write_run(tmp_path, run_id, events=events)
    path = tmp_path / "runs" / run_id / "events.jsonl"
    path.with_name("events.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    index = index_of(tmp_path, run_id)
    index.extend()

    assert_same_columns(index, events)


def test_lines_beyond_any_bound_are_damage(tmp_path: Path) -> None:
    """A 40 MB line is stepped over without being held, also when more of the file follows later."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    lines = [as_line(event) for event in events]
    write_run(tmp_path, run_id, raw=lines[0] + b'{"event_type":"' + b"x" * 20_000_000)
    index = index_of(tmp_path, run_id)
    index.extend()
    assert (index.total, index.damaged_total) == (1, 1)
    with (tmp_path / "runs" / run_id / "events.jsonl").open("ab") as file:
        file.write(b"x" * 20_000_000 + b'"}\n' + b"".join(lines[1:]))
    index.extend()

    assert_same_columns(index, events)
    assert (index.damaged_lines, index.damaged_total) == ([2], 1)


def test_an_event_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    """A link to event 99 of a run of 4 is a mistake to explain, not an IndexError."""
    run_id = write_run(tmp_path)
    index = index_of(tmp_path, run_id)
    index.extend()
    for number in (0, 5, -1):
        with pytest.raises(EventNotFound):
            index.event(number)


def test_a_run_without_events_has_an_empty_index(tmp_path: Path) -> None:
    """A run may have died before its first event."""
    run_id = write_run(tmp_path)
    (tmp_path / "runs" / run_id / "events.jsonl").unlink()
    index = index_of(tmp_path, run_id)

    assert index.extend() == 0
    assert index.complete


def test_duplicate_ids_stay_with_their_first_event(tmp_path: Path) -> None:
    """A copied line must not make the children of the original jump."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    events = [*events, *json.loads(json.dumps(events)), tool_call(run_id, parent_id=events[1]["event_id"])]
    write_run(tmp_path, run_id, events=events)
    index = index_of(tmp_path, run_id)
    index.extend()

    assert_same_columns(index, events)
