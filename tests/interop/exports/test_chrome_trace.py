"""The trace opens where thread timelines open: nothing overlaps in a lane, and what happened inside is drawn inside."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.run_columns import MemoryColumns
from agentdbg.interop.exports.chrome_trace import Lanes
from tests.analysis.story import BEGAN_MS, Story
from tests.commands.stored import store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran

PHASES = {"X": {"ts", "dur"}, "i": {"ts", "s"}, "C": {"ts"}, "M": set()}
"""What the trace event format asks of each phase we use, beside name, ph, pid, tid and args."""


def _trace(cli: Callable[..., Ran], *runs: str) -> list[dict[str, Any]]:
    ran = cli("export", *runs, "--format", "chrome", "--out", "-")
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["displayTimeUnit"] == "ms"
    return document["traceEvents"]  # type: ignore[no-any-return]


def _around(events: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The names each slice lies in, as a viewer draws it from times alone; fails on a partial overlap."""
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    around: dict[str, list[str]] = {}
    for slices in threads.values():
        slices.sort(key=lambda event: (event["ts"], -event["dur"]))
        stack: list[dict[str, Any]] = []
        for event in slices:
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
                stack.pop()
            assert not stack or event["ts"] + event["dur"] <= stack[-1]["ts"] + stack[-1]["dur"], event["name"]
            around[event["name"]] = [outer["name"] for outer in stack]
            stack.append(event)
    return around


def test_parallel_work_has_lanes_and_what_is_inside_is_drawn_inside(cli: Callable[..., Ran], parallel_run: str) -> None:
    """A waterfall that shows parallel work as nested would send people after the wrong call."""
    events = _trace(cli, parallel_run)
    lanes = {event["name"]: event["tid"] for event in events if event["ph"] == "X"}

    assert _around(events) == {
        "parallel": [],
        "work": ["parallel"],
        "a": ["parallel", "work"],
        "gpt-4o": ["parallel", "work", "a"],
        "b": [],
        "c": [],
        "after": ["parallel"],
    }
    assert len({lanes["a"], lanes["b"], lanes["c"]}) == 3


def test_times_are_microseconds_of_the_wall_clock(cli: Callable[..., Ran], parallel_run: str) -> None:
    """Traces of other tools, recorded beside, line up."""
    events = {event["name"]: event for event in _trace(cli, parallel_run) if event["ph"] == "X"}

    assert (events["b"]["ts"], events["b"]["dur"]) == ((BEGAN_MS + 110) * 1000, 140_000)
    assert (events["parallel"]["ts"], events["parallel"]["dur"]) == (BEGAN_MS * 1000, 451_000)


def test_every_event_is_what_the_format_asks_for(cli: Callable[..., Ran], rich_run: str, parallel_run: str) -> None:
    """A trace that does not load shows nothing."""
    events = _trace(cli, rich_run, parallel_run)

    for event in events:
        assert {"name", "ph", "pid", "tid", "args", *PHASES[event["ph"]]} <= event.keys()
        assert isinstance(event["name"], str)
        assert all(isinstance(event[key], int) for key in ("pid", "tid", "ts", "dur") if key in event)
        assert event.get("dur", 0) >= 0
        assert event.get("s", "t") == "t"
        assert all(isinstance(value, (str, int, float, bool)) for value in event["args"].values())
    _around(events)
    named = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert [name.split(" (")[0] for name in named.values()] == ["rich", "parallel"]
    threads = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}
    assert threads <= {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}


def test_a_selected_event_says_what_happened(cli: Callable[..., Ran], rich_run: str) -> None:
    """Input, outcome, error and place, without going back to the log."""
    events = _trace(cli, rich_run)
    by_kind = {event["cat"]: event for event in events if "cat" in event}

    assert by_kind["llm"]["args"]["answer"] == "Ünïcödé 🙂"
    assert by_kind["llm"]["args"]["tokens in"] == 200
    assert by_kind["tool"]["args"]["error"].startswith("KeyError: ")
    assert by_kind["call_start"]["args"]["never returned"] is True
    assert by_kind["call_start"]["ph"] == "X"
    assert (by_kind["error"]["ph"], by_kind["loop"]["ph"], by_kind["state"]["ph"]) == ("i", "i", "i")
    counters = [event["args"] for event in events if event["ph"] == "C"]
    assert counters == [{"in": 200, "out": 40}, {"usd": 0.5}]


def test_long_texts_are_cut_and_say_so(cli: Callable[..., Ran], data_dir: Path) -> None:
    """A timeline shows where to look; a prompt of a megabyte in each slice would make it unreadable."""
    story = Story()
    story.tool("long", {"text": "x" * 5_000}, "short")
    (event,) = [event for event in _trace(cli, store(data_dir, story)) if event.get("cat") == "tool"]

    assert len(event["args"]["args"]) < 1_100
    assert event["args"]["args"].endswith("characters left out")
    assert event["args"]["result"] == "short"


@pytest.mark.parametrize("seed", range(60))
def test_no_two_calls_of_a_lane_overlap_whatever_happened(seed: int) -> None:
    """Any tree, any times, a clock that was set back: the layout is one a viewer can draw, and nothing is lost."""
    chance = random.Random(seed)
    story = Story()
    for number in range(2, 60):
        parent = chance.choice([1, None, *range(1, number), number]) if number > 2 else 1
        parent_id = story.id_of(parent) if parent and parent <= len(story.events) else "missing"
        story.now_ms = BEGAN_MS + chance.randrange(0, 400)
        story.write(
            chance.choice(["TOOL_CALL", "LLM_CALL", "STATE_UPDATE", "ERROR", "CALL_START"]),
            "x",
            {"status": "ok"},
            duration_ms=chance.choice([None, 0, 1, 3, chance.randrange(300)]),
            parent=parent_id,
            meta=chance.choice([{}, {"span": "x"}]),
        )
    columns = MemoryColumns(story.events)
    lanes = Lanes(columns)
    events: list[dict[str, Any]] = [
        {
            "ph": "X",
            "name": str(number),
            "pid": 1,
            "tid": lanes.lane[number - 1],
            "ts": lanes.start_ms[number - 1],
            "dur": lanes.end_ms[number - 1] - lanes.start_ms[number - 1],
        }
        for number in range(1, columns.total + 1)
        if lanes.is_slice(number)
    ]

    assert len(_around(events)) == len(events)
    assert max(event["tid"] for event in events) == lanes.count - 1
    for event in events:
        at = int(event["name"]) - 1
        assert abs(event["ts"] - columns.start_ms[at]) <= 6
