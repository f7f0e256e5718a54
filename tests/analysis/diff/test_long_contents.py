"""The contents of long runs lie in a file: the comparison says the same, whatever is held in memory."""

from __future__ import annotations

import random
import sys
import tracemalloc
from typing import Any

import pytest

from agentdbg.analysis.diff import compare, steps
from agentdbg.analysis.diff.read_side import read_side


def _events(seed: int, count: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    events = []
    for number in range(count):
        is_model = number % 2 == 0
        said = " ".join(chance.choices(["grüße", "flight", "zürich", "7", "\u2028", "no"], k=chance.randrange(1, 30)))
        payload: dict[str, Any] = (
            {"model": "m", "prompt": [{"role": "user", "content": said}], "response": said[::-1], "stop_reason": None}
            if is_model
            else {
                "tool_name": f"t{number % 3}",
                "args": {"q": said, "n": 1.5},
                "result": {"rows": [said], "id": number},
            }
        )
        events.append(
            {
                "event_id": f"{seed}-{number}",
                "parent_id": None,
                "event_type": "LLM_CALL" if is_model else "TOOL_CALL",
                "ts": f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000Z",
                "duration_ms": 5,
                "name": "m" if is_model else f"t{number % 3}",
                "payload": payload,
                "meta": {},
            }
        )
    return events


@pytest.mark.parametrize("held", [0, 3_000])
@pytest.mark.parametrize("ignore", [(), ("args.q",)])
def test_a_comparison_is_the_same_wherever_the_contents_lie(
    held: int, ignore: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    common = _events(1, 40)
    a: list[Any] = [*common, *_events(2, 30)]
    b: list[Any] = [*common, *_events(3, 50)]
    in_memory = compare(a, b, ignore=ignore).to_json()
    made: list[steps.Contents] = []

    class Small(steps.Contents):
        def __init__(self) -> None:
            super().__init__(held)
            made.append(self)

    monkeypatch.setattr(sys.modules["agentdbg.analysis.diff.read_side"], "Contents", Small)
    assert compare(a, b, ignore=ignore).to_json() == in_memory
    assert len(made) == 2
    assert all(contents._file is not None for contents in made)


def test_a_run_to_compare_keeps_a_kilobyte_an_event() -> None:
    """A hundred thousand events are compared in a hundred megabytes; kept whole they would take three hundred."""
    count = 800
    events: list[Any] = _events(3, count)
    for event in events:
        event["payload"]["response" if event["event_type"] == "LLM_CALL" else "result"] = "a long text " * 80
    read_side(iter(events[:20]))  # what is loaded once
    tracemalloc.start()
    try:
        side = read_side(iter(events))
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert side.count == count
    assert kept / count < 850


def test_a_content_that_cannot_be_written_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError("no space left on device")

    content = {"args": {"q": 1}}
    by_hand = {"args": object()}
    assert steps.Contents(0).keep(by_hand, 10) is by_hand
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert steps.Contents(0).keep(content, 10) is content
