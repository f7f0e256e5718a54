"""What the tools answer: within its bound, with a way to ask for more, and with nothing hidden in it."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.mcp_server.protocol import TOOLS
from agentdbg.mcp_server.run_access import Reader
from agentdbg.mcp_server.tool_answers import encode, fit, fit_text, read_part
from agentdbg.storage.reader import load_events
from tests.analysis.checks.runs import refund_story
from tests.analysis.story import Story
from tests.commands.stored import store
from tests.mcp_server.client import every_call
from tests.mcp_server.runs import STEERING, hostile, huge, ordinary

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def ask(data_dir: Path, tool: str, **arguments: Any) -> Any:
    return json.loads(TOOLS[tool].call(Reader(data_dir), arguments))


def all_of(data_dir: Path, tool: str, key: str, **arguments: Any) -> list[Any]:
    """Every item, asked for until `next` says that was all."""
    reader, found, pages = Reader(data_dir), [], 0
    more: dict[str, Any] | None = {}
    while more is not None:
        text = TOOLS[tool].call(reader, {**arguments, **more})
        assert len(text.encode()) <= arguments.get("max_bytes", 20_000)
        answer = json.loads(text)
        found += answer[key]
        more = answer["next"]
        pages += 1
        assert pages < 2_000, "asking on never ends"
    return found


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("max_bytes", [2_000, 5_000, 20_000, 200_000])
def test_no_answer_exceeds_its_bound(data_dir: Path, name: str, max_bytes: int) -> None:
    """An assistant's memory is small and dear; one huge answer ends the conversation."""
    run, other = huge(data_dir), hostile(data_dir)
    reader = Reader(data_dir)
    for arguments in (every_call(run, other)[name], every_call(other, run)[name]):
        text = TOOLS[name].call(reader, {**arguments, "max_bytes": max_bytes})

        assert len(text.encode()) <= max_bytes
        assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize("max_bytes", [2_000, 20_000])
def test_every_event_of_a_long_run_can_be_read_by_asking_on(data_dir: Path, max_bytes: int) -> None:
    """A bound is only fair where nothing is out of reach behind it."""
    run = huge(data_dir)

    events = all_of(data_dir, "read_events", "events", run=run, limit=500, max_bytes=max_bytes)

    assert [event["n"] for event in events] == list(range(1, len(list(load_events(run, data_dir))) + 1))


def test_every_part_of_a_huge_event_can_be_read(data_dir: Path) -> None:
    """The one argument that matters may stand at the end of a long text, or behind a thousand others."""
    run = huge(data_dir)
    events = list(load_events(run, data_dir))

    text = ""
    more: Any = {"path": "/payload/response", "offset": 0}
    while more is not None:
        answer = ask(data_dir, "read_event", run=run, event="2", max_bytes=30_000, **more)
        text, more = text + answer["value"], answer["next"]
    assert text == events[1]["payload"]["response"]
    members: dict[str, Any] = {}
    more = {"path": "/payload/args", "offset": 0}
    while more is not None:
        answer = ask(data_dir, "read_event", run=run, event="3", max_bytes=100_000, **more)
        members |= {key: value for key, value in answer["value"].items() if key != "…"}
        more = answer["next"]
    assert members == events[2]["payload"]["args"]


def test_what_was_shortened_says_where_and_how_much(data_dir: Path) -> None:
    """The assistant has to know that it has not seen all, and how to ask for the rest."""
    answer = ask(data_dir, "read_event", run=huge(data_dir), event="2", max_bytes=10_000)

    cuts = {cut["path"]: cut for cut in answer["cut"]}
    assert cuts["/payload/prompt/0/content"]["length"] == 200_000
    assert cuts["/payload/response"]["length"] == 150_000
    assert "more characters]" in answer["event"]["payload"]["response"]
    assert answer["next"]["path"] in cuts


def test_searching_on_gives_every_match_once(data_dir: Path) -> None:
    """Two thousand matches do not fit one answer, and none may be missed or told twice."""
    run = huge(data_dir)

    found = all_of(data_dir, "search_run", "events", run=run, text="CONTENTS of page", limit=200)

    assert len(found) == len({event["n"] for event in found}) == 3_000
    assert found[0]["found"]["path"] == "/payload/result"
    assert "contents of page 0" in found[0]["found"]["text"]


def test_finding_on_gives_every_run_once(data_dir: Path) -> None:
    """What is looked for may be in the oldest run of hundreds."""
    wanted = {ordinary(data_dir, f"to Oslo {number}") for number in range(25)}
    for number in range(25):
        ordinary(data_dir, f"to Lima {number}", "Lima")

    found = all_of(data_dir, "find", "found", text="oslo", limit=4, max_bytes=3_000)

    assert len(found) == 25
    assert {run["run_id"] for run in found} == wanted
    assert all(run["matching_events"] >= 1 and run["events"] for run in found)


def test_runs_are_listed_newest_first_filtered_and_paged(data_dir: Path) -> None:
    """The same filters as `agentdbg list`, so that an assistant finds what its user means."""
    runs = {ordinary(data_dir, f"run {number}") for number in range(30)}
    failed = hostile(data_dir)

    assert {run["run_id"] for run in all_of(data_dir, "list_runs", "runs", limit=7)} == {*runs, failed}
    assert [run["run_id"] for run in ask(data_dir, "list_runs", status="error")["runs"]] == [failed]
    assert ask(data_dir, "list_runs", name="run 2")["total"] == 11
    assert ask(data_dir, "list_runs", since="1h")["total"] == 0
    assert ask(data_dir, "list_runs", meta={"no": "such"})["total"] == 0


def test_only_failures_or_some_types_can_be_read(data_dir: Path) -> None:
    """The failing call is one of thousands; the assistant asks for it, not for all."""
    run = ordinary(data_dir)

    assert [event["name"] for event in ask(data_dir, "read_events", run=run, failed=True)["events"]] == ["book"]
    types = ask(data_dir, "read_events", run=run, types=["LLM_CALL", "RUN_END"])["events"]
    assert [event["type"] for event in types] == ["LLM_CALL", "LLM_CALL", "RUN_END"]


def test_explaining_a_run_names_the_failure_and_its_event(data_dir: Path) -> None:
    """It is the first thing asked, and often the only one."""
    answer = ask(data_dir, "explain_run", run=ordinary(data_dir))

    assert answer["asked"] == "To Oslo, please."
    assert any("the budget is exceeded" in finding["sentence"] for finding in answer["findings"])
    assert any(4 in finding["evidence"]["numbers"] for finding in answer["findings"])


def test_comparing_on_gives_every_step_that_differs(data_dir: Path) -> None:
    """The step that matters may be the last of a thousand."""
    run, other = huge(data_dir), ordinary(data_dir)

    steps = all_of(data_dir, "compare_runs", "rows", a=run, b=other, limit=300)

    assert len([step for step in steps if step["name"] == "fetch"]) == 3_000
    assert all(step["op"] != "same" for step in steps)
    assert ask(data_dir, "compare_runs", a=run, b=run)["verdict"] == "same"
    assert ask(data_dir, "compare_runs", a=run, b=run, all_rows=True, limit=2)["rows"][0]["op"] == "same"


def test_a_call_of_which_nobody_knows_what_it_changes_is_a_verdict_of_its_own(data_dir: Path) -> None:
    """An assistant that reads `same_effects` says that nothing changed."""
    a, b = (store(data_dir, refund_story(reads=(name,))) for name in ("frobnicate", "find_order"))
    found = ask(data_dir, "compare_runs", a=a, b=b)

    assert found["verdict"] == "unknown_effects"
    assert [call["name"] for call in found["effects"]["unknown"]["only_a"]] == ["frobnicate"]
    assert found["notes"][-1].startswith("Side effects unknown: frobnicate.")


@pytest.mark.parametrize("name", TOOLS)
def test_nothing_unseen_reaches_the_assistant(data_dir: Path, name: str) -> None:
    """Text a person cannot see and a model can is how pages an agent read steer whoever debugs it."""
    run, other = hostile(data_dir), ordinary(data_dir)

    text = TOOLS[name].call(Reader(data_dir), every_call(run, other)[name])

    assert {unicodedata.category(character) for character in text}.isdisjoint({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def test_what_is_escaped_is_not_lost(data_dir: Path) -> None:
    """The evidence is exact: whoever decodes the answer has what was recorded."""
    answer = ask(data_dir, "read_event", run=hostile(data_dir), event="2")

    assert answer["event"]["payload"]["response"] == STEERING


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
    max_leaves=60,
)


@given(_JSON, st.integers(400, 4_000))
@settings(max_examples=150, deadline=None)
def test_whatever_is_shortened_fits(value: Any, max_bytes: int) -> None:
    """The bound is a promise about every value there is, not about those we thought of."""
    shown, cuts = fit(value, max_bytes)

    assert len(encode(shown).encode()) <= max_bytes
    assert (shown == value) == (cuts.count == 0)


@given(st.text(max_size=3_000), st.integers(20, 400))
@settings(max_examples=100, deadline=None)
def test_a_text_read_on_is_the_whole_text(text: str, max_bytes: int) -> None:
    """Pieces that overlap or leave a gap would be quoted as evidence."""
    pieces, offset = [], 0
    more: int | None = 0
    while more is not None:
        piece, more = fit_text(text, offset, max_bytes)
        assert len(encode(piece).encode()) <= max_bytes
        pieces.append(piece)
        offset = more or 0

    assert "".join(pieces) == text


@given(_JSON, st.integers(2_000, 4_000))
@settings(max_examples=100, deadline=None)
def test_the_first_cut_can_be_followed_to_its_end(value: Any, max_bytes: int) -> None:
    """`next` always leads somewhere, and always further."""
    more: dict[str, Any] | None = {"path": "", "offset": 0}
    seen = set()
    while more is not None:
        assert (more["path"], more["offset"]) not in seen
        seen.add((more["path"], more["offset"]))
        answer = read_part({"value": value}, more["path"], more["offset"], max_bytes)
        assert len(encode(answer).encode()) <= max_bytes
        more = answer["next"]


def test_a_finding_says_where_in_the_code_it_happened(data_dir: Path) -> None:
    """An assistant that debugs opens files; the line saves it the search."""
    story = Story()
    stack = 'Traceback (most recent call last):\n  File "/app/shop.py", line 41, in pay\n    order["due"]\nKeyError\n'
    number = story.tool("pay", {"id": 1}, error={"error_type": "KeyError", "message": "'due'", "stack": stack})
    story.events[number - 1]["payload"]["source"] = "app/agent.py:7"
    story.error("KeyError", "'due'", stack=stack)
    story.end("error", error={"error_type": "KeyError", "message": "'due'"})
    told = ask(data_dir, "explain_run", run=store(data_dir, story, "error"))
    first = next(finding for finding in told["findings"] if finding["kind"] == "first_failure")

    assert (first["where"], first["called_from"]) == ("/app/shop.py:41", "app/agent.py:7")
