"""Counting a run again from its events."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING

from agentdbg.storage.runfile import rebuild_run
from tests.storage import handmade
from tests.storage.handmade import age, write_run

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_dead_run_was_doing_is_named_however_long_ago_it_began(tmp_path: Path) -> None:
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

    said = rebuild_run(str(folder), run_id)
    assert said["status_reason"].endswith("an answer of gpt-4, inside crawl")
