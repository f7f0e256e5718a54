"""Laws that hold for any input: nothing raises on odd payloads, the tree keeps every event, the sums are right."""

from __future__ import annotations

import tracemalloc
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.analysis.report import build_report, summarise
from agentdbg.analysis.rows import RowBuilder
from agentdbg.analysis.run_columns import EXCEPTION, KINDS
from agentdbg.analysis.stats import Coverage, Tally
from agentdbg.analysis.tree import tree_order
from tests.analysis.story import Story

pytestmark = pytest.mark.slow

_NAMES = (
    "role content type text tool_calls function name arguments choices message error error_type state diff status "
    "usage total_tokens severity kind pattern user evidence_event_ids guardrail threshold fatal result args prompt "
    "response messages stack details summary duration_ms call_id input"
)
WORDS = st.sampled_from(_NAMES.split(" "))
NUMBERS = st.integers() | st.just(10**400) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text() | WORDS
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=5),
    max_leaves=12,
)
TYPES = st.sampled_from(
    ["LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "ERROR", "LOOP_WARNING", "RUN_END", "CALL_START", "RUN_START", "OWN"]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(TYPES, JSON, st.none() | st.integers(-5, 10**12)), max_size=8),
    st.sampled_from(["ok", "error", "running"]),
)
def test_no_payload_can_break_a_row_a_verdict_or_a_report(
    drafts: list[tuple[str, Any, int | None]], status: str
) -> None:
    """Traces come from other tools, older versions and damaged disks; a page that fails shows nothing at all."""
    story = Story()
    for event_type, payload, duration_ms in drafts:
        story.write(event_type, "x", payload)
        story.events[-1]["duration_ms"] = duration_ms
    tally, run = story.tally(), story.meta(status)

    rows = RowBuilder(tally.columns).rows(range(1, tally.columns.total + 1), running=status == "running")
    assert len(rows) == len(story.events)
    assert all(row["label"] for row in rows)
    assert 1 <= len(summarise(tally, run)["verdict"]["lines"]) <= 3
    assert len(build_report(tally, run).encode()) <= 6_200


def test_an_integer_too_long_to_print_is_no_reason_to_fail() -> None:
    """Python refuses to print more than 4,300 digits, and a trace may hold them."""
    story = Story()
    huge = 10**5000
    for number in (story.tool("pow", {"x": huge}, huge), story.llm([huge], huge), story.tool("x", error=huge)):
        assert story.row(number)["label"]

    assert build_report(story.tally(), story.meta("error"))


@given(st.data(), st.integers(0, 30))
def test_the_tree_keeps_every_event_whatever_the_parents(data: st.DataObject, total: int) -> None:
    """Any parent is accepted: none, unknown, itself, a circle."""
    parents = data.draw(st.lists(st.integers(0, total + 3), min_size=total, max_size=total))
    starts = data.draw(st.lists(st.integers(0, 50), min_size=total, max_size=total))

    order = list(tree_order(parents, starts, [0] * total))
    assert sorted(number for number, _ in order) == list(range(1, total + 1))
    assert all(depth >= 0 for _, depth in order)
    for place, (number, depth) in enumerate(order):
        parent = parents[number - 1]
        if depth:  # right below its parent, or below what began before it there
            above = next(at for at in range(place - 1, -1, -1) if order[at][1] < depth)
            assert order[above] == (parent, depth - 1)
        elder = [
            at for at, (other, _) in enumerate(order[:place]) if depth and parents[other - 1] == parent and order[at][1]
        ]
        assert all(starts[order[at][0] - 1] <= starts[number - 1] for at in elder)


def test_children_follow_their_parent_in_order_of_start() -> None:
    """A call is written when it ends, so file order is not the order in which a tree reads."""
    start = KINDS.index("start")

    #  1 start · 2 tool under 4 · 3 tool under 4 that began first · 4 span
    order = tree_order([0, 4, 4, 1], [0, 30, 10, 5], [start, 2, 2, 4])
    assert list(order) == [(1, 0), (4, 0), (3, 1), (2, 1)]


def test_the_tree_of_a_long_run_takes_few_bytes_an_event() -> None:
    """Drawing the tree of a million events must not need more memory than all that is known of them."""
    total = 50_000
    parents, starts, kinds = array("I", [1] * total), array("I", range(total)), bytearray([KINDS.index("tool")]) * total
    tracemalloc.start()
    count = sum(1 for _ in tree_order(parents, starts, kinds))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == total
    assert peak < 16 * total


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40), st.booleans(), st.integers(0, 40))
def test_coverage_is_the_length_of_the_union(intervals: list[tuple[int, int]], in_order: bool, cut: int) -> None:
    """Parallel calls must not add up to more time than there was, one by one or many at once, over weeks too."""
    weeks = (1 << 32) - 60
    intervals = [*(sorted(intervals) if in_order else intervals), *[(start + weeks, 70) for start, _ in intervals[:2]]]
    one_by_one, at_once = Coverage(), Coverage()
    for start, length in intervals:
        one_by_one.add(start, start + length)
    for some in (intervals[:cut], intervals[cut:]):
        at_once.add_all([start for start, _ in some], [start + length for start, length in some])

    covered = {moment for start, length in intervals for moment in range(start, start + length)}
    assert one_by_one.total == at_once.total == len(covered)


def test_counting_in_steps_gives_what_counting_at_once_gives() -> None:
    """A live run is counted a little at a time; its figures must not depend on when one looked."""
    story = Story()
    columns = story.columns()
    stepwise = Tally(columns)
    for turn in range(20):
        story.llm("q", "a", tokens=(10, turn))
        story.tool("search", {"q": turn % 3}, error="no" if turn % 4 == 0 else None)
        story.error("ValueError", str(turn), fatal=False)
        for event in story.events[columns.total :]:
            columns.append(event)
        stepwise.catch_up()
    whole = story.tally()

    for name in (
        "llm_calls",
        "tool_calls",
        "failed_calls",
        "type_counts",
        "model_ms",
        "tool_ms",
        "last_call",
        "largest_llm",
    ):
        assert getattr(stepwise, name) == getattr(whole, name)
    assert stepwise.count_errors() == whole.count_errors() == 5 + 20
    assert columns.kind.count(EXCEPTION) == 20
