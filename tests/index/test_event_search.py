"""Full-text search over a run."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.index.events import EventIndex
from agentdbg.index.search_runs import Matcher, search_events
from tests.storage import handmade
from tests.storage.handmade import tool_call, write_run

if TYPE_CHECKING:
    from pathlib import Path

TEXTS: list[Any] = [
    "Plain words",
    'a "quoted" word',
    "back\\slash and\nnewline",
    "Zürich straße ΣΊΣΥΦΟΣ",
    "日本語",
    "emoji 🎈 here",
    {"needle_key": "hay"},
    {"outer": [{"inner": "Needle_Key as value"}]},
    12345678901234567890,
    True,
    None,
    "a, b: [c] {d}",
    "",
]


def found(index: EventIndex, query: str, limit: int = 10_000) -> list[int]:
    """The numbers a search finds."""
    return [number for numbers in search_events(index, query, limit) for number in numbers]


@pytest.fixture(params=["raw", "escaped"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> EventIndex:
    """A run that holds all kinds of text, stored as UTF-8 or as escapes."""
    run_id = str(uuid.uuid4())
    lines = [
        json.dumps(tool_call(run_id, payload={"result": text}), ensure_ascii=request.param == "escaped").encode()
        + b"\n"
        for text in TEXTS
    ]
    lines.insert(3, b"damaged plain words\n")
    write_run(tmp_path, run_id, raw=b"".join(lines))
    made = EventIndex(tmp_path / "runs" / run_id, run_id)
    made.extend()
    return made


@pytest.mark.parametrize(
    "query",
    [
        "plain",
        "PLAIN WORDS",
        '"quoted"',
        "back\\slash",
        "and\nnewline",
        "zürich",
        "STRAßE",
        "σίσυφος",
        "日本",
        "🎈",
        "needle_key",
        "outer",
        "inner",
        "payload",
        "spec_version",
        "12345678901234567890",
        "true",
        "null",
        "[c] {d}",
        '"result":',
        "search",
        "tool_call",
        "zzz",
        "ok",
    ],
)
def test_a_search_finds_exactly_the_events_whose_values_hold_the_text(query: str, index: EventIndex) -> None:
    """A match in a field's name is on every row and helps nobody; a value missed is a lie."""
    expected = [number for number in range(1, index.total + 1) if Matcher(query).matches(index.event(number))]

    assert found(index, query) == expected


def test_what_is_expected_of_each_kind(index: EventIndex) -> None:
    """The oracle of the test above is our own code, so some answers stand here in full."""
    assert found(index, "plain words") == [1]
    assert found(index, "STRAßE") == [4]
    assert found(index, "needle_key") == [8]
    assert found(index, "spec_version") == []
    assert found(index, '"result":') == []
    assert found(index, "") == []


def test_a_search_stops_at_its_limit_and_crosses_blocks(tmp_path: Path) -> None:
    """Thousands of matches in megabytes are found in order, and no more than asked for."""
    run_id = str(uuid.uuid4())
    events = [
        tool_call(run_id, step, payload={"result": ("hit " if step % 3 == 0 else "") + "x" * 900})
        for step in range(3000)
    ]
    write_run(tmp_path, run_id, events=[handmade.run_start(run_id), *events])
    made = EventIndex(tmp_path / "runs" / run_id, run_id)
    made.extend()

    assert found(made, "HIT") == [step + 2 for step in range(0, 3000, 3)]
    assert found(made, "hit", 10) == [step + 2 for step in range(0, 30, 3)]
