"""Counting a run many events at a time: the same numbers as one by one."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING

import pytest

from agentdbg.index.recount import recount
from agentdbg.storage.runfile import rebuild_run
from tests.index.test_event_index import varied_events
from tests.storage import handmade
from tests.storage.handmade import age, as_line, write_run
from tests.storage.test_dialects import DAMAGED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("own_types", [True, False])
@pytest.mark.parametrize("cut", [1.0, 0.77, 0.5, 0.21, 0.0])
@pytest.mark.parametrize("damage", ["none", "torn end", "everywhere"])
def test_both_ways_of_counting_agree(own_types: bool, cut: float, damage: str, tmp_path: Path) -> None:
    """A crashed run's figures must not depend on who asked."""
    run_id = str(uuid.uuid4())
    events = [event for event in varied_events(run_id, 900) if own_types or not event["event_type"].startswith("MY_")]
    lines = [as_line(event) for event in events[: int(len(events) * cut)]]
    if damage == "everywhere":
        for position, kind in enumerate(DAMAGED.values()):
            lines.insert(min(len(lines), position * 31), kind + b"\n")
    if damage == "torn end":
        lines.append(b'{"spec_version":"0.1","event_id"')
    write_run(tmp_path, run_id, meta=None, raw=b"".join(lines))
    folder = tmp_path / "runs" / run_id
    age(folder / "events.jsonl")

    assert recount(str(folder), run_id) == rebuild_run(str(folder), run_id)


def test_what_a_dead_run_was_doing_is_named_across_blocks(tmp_path: Path) -> None:
    """The call a process died in may have begun long before the end of the file."""
    run_id, call_id = str(uuid.uuid4()), str(uuid.uuid4())
    chance = random.Random(3)
    begun = handmade.event(run_id, "CALL_START", 1, payload={"call_id": call_id, "kind": "tool", "name": "crawl"})
    inside = [
        handmade.llm_call(run_id, 2, parent_id=call_id, payload={"prompt": "x" * chance.randrange(3000)})
        for _ in range(400)
    ]
    write_run(tmp_path, run_id, meta=None, events=[handmade.run_start(run_id), begun, *inside])
    folder = tmp_path / "runs" / run_id
    age(folder / "events.jsonl")

    said = recount(str(folder), run_id)
    assert said["status_reason"].endswith("an answer of gpt-4, inside crawl")
    assert said == rebuild_run(str(folder), run_id)
