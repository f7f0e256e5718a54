"""Following a run as it is written."""

from __future__ import annotations

import gzip
import uuid
from typing import TYPE_CHECKING

from agentdbg.index.follow import Follower
from tests.storage.handmade import as_line, usual_events, write_run

if TYPE_CHECKING:
    from pathlib import Path


def test_events_come_once_each_and_only_whole(tmp_path: Path) -> None:
    """Half a line is not an event yet, and an event shown twice is a lie."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    raw = b"".join(map(as_line, events))
    write_run(tmp_path, run_id, raw=b"")
    path = tmp_path / "runs" / run_id / "events.jsonl"
    follower = Follower(path.parent, run_id)
    seen = []
    for position in range(0, len(raw), 100):
        with path.open("ab") as file:
            file.write(raw[position : position + 100])
        seen += follower.poll()

    assert seen == events
    assert (follower.offset, follower.damaged) == (len(raw), 0)


def test_following_another_file_begins_anew(tmp_path: Path) -> None:
    """A log that is shorter than what was read of it is not the same log."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(tmp_path, run_id, events=events)
    folder = tmp_path / "runs" / run_id

    follower = Follower(folder, run_id)
    assert follower.poll() == events
    (folder / "events.jsonl").write_bytes(as_line(events[0]))
    assert follower.poll() == events[:1]


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    """`tail` may be started before the agent."""
    run_id = str(uuid.uuid4())
    follower = Follower(tmp_path / "runs" / run_id, run_id)
    assert follower.poll() == []
    events = usual_events(run_id)
    write_run(tmp_path, run_id, events=events)

    assert follower.poll() == events


def test_a_replaced_or_compressed_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    """Another file has other events; going on in its middle would show nonsense."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(tmp_path, run_id, events=events)
    path = tmp_path / "runs" / run_id / "events.jsonl"
    follower = Follower(path.parent, run_id)
    follower.poll()
    path.with_name("new").write_bytes(b"".join(map(as_line, events[:2])))
    path.with_name("new").replace(path)
    assert follower.poll() == events[:2]
    path.with_name("events.jsonl.gz").write_bytes(gzip.compress(b"".join(map(as_line, events[1:]))))
    path.unlink()
    assert follower.poll() == events[1:]


def test_following_ends_when_the_run_does_and_loses_nothing(tmp_path: Path) -> None:
    """What the writer wrote last is what the user waited for."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    write_run(tmp_path, run_id, events=events[:2])
    path = tmp_path / "runs" / run_id / "events.jsonl"

    def ends_with_a_last_word() -> bool:
        with path.open("ab") as file:
            file.write(b"damaged\n" + b"".join(map(as_line, events[2:])))
        return False

    follower = Follower(path.parent, run_id)
    assert list(follower.events(ends_with_a_last_word)) == events
    assert follower.damaged == 1


def test_a_stretch_of_damaged_lines_is_not_the_end(tmp_path: Path) -> None:
    """Who takes `nothing` for the end would leave out everything after the damage, and call the run complete."""
    run_id = str(uuid.uuid4())
    events = usual_events(run_id)
    lines = [as_line(event) for event in events]
    damage = (b"no event at all " * 50 + b"\n") * 400 + b"\n" * 300_000
    write_run(tmp_path, run_id, raw=lines[0] + damage + b"".join(lines[1:]))
    follower = Follower(tmp_path / "runs" / run_id, run_id)
    seen = []
    while found := follower.poll():
        seen += found

    assert seen == events
    assert follower.damaged == 400
