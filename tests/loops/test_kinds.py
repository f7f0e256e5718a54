"""Each kind of finding: what makes it one, and what looks like it and is not."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.loops import LoopDetector
from benchmarks.loop_quality import judge
from benchmarks.loop_traces import HEALTHY, LOOPING, Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.events import Event

LONG = "the answer is long enough to tell somebody something"


def _kinds(events: list[Event], window: int = 12) -> list[tuple[str, str, str]]:
    return [(finding.kind, finding.severity, finding.pattern) for finding in judge(events, window)]


@pytest.mark.parametrize("name", list(LOOPING))
@pytest.mark.parametrize("seed", range(3))
def test_made_loops_are_found(name: str, seed: int) -> None:
    """Each is a way in which agents really get stuck."""
    findings = judge(LOOPING[name](random.Random(seed)), window=60)

    assert any(finding.severity != "info" for finding in findings)


@pytest.mark.parametrize("name", list(HEALTHY))
@pytest.mark.parametrize("seed", range(3))
def test_made_healthy_runs_stay_quiet(name: str, seed: int) -> None:
    """A warning on a healthy run teaches people to ignore warnings, and stop_on_loop would kill it."""
    findings = judge(HEALTHY[name](random.Random(seed)), window=60)

    assert [finding for finding in findings if finding.severity != "info"] == []


def test_differing_words_between_the_same_calls_are_still_a_cycle() -> None:
    """Models never say the same thing twice; what they do tells."""
    run = Recorder()
    for number in range(3):
        run.model(f"this time, number {number}, it will work")
        run.tool("search", {"q": 1}, LONG)

    assert _kinds(run.events) == [("cycle", "critical", "LLM_CALL:gpt-4 -> TOOL_CALL:search")]


def test_a_step_counter_in_the_state_does_not_hide_a_cycle() -> None:
    """Agents record their step number; that is not progress."""
    run = Recorder()
    for number in range(3):
        run.tool("search", {"q": 1}, LONG)
        run.add("STATE_UPDATE", "state", {"state": {"step": number}, "diff": None})

    assert [kind for kind, _, _ in _kinds(run.events)] == ["cycle"]


def test_changed_results_are_progress() -> None:
    """Paging with a cursor on the server asks the same and gets the next page."""
    run = Recorder()
    for number in range(6):
        run.tool("next_page", {}, f"page {number} of the catalogue")

    assert _kinds(run.events) == [("repetition", "info", "TOOL_CALL:next_page")]


def test_the_order_of_keys_does_not_make_another_input() -> None:
    """Models write the same arguments in any order."""
    run = Recorder()
    for args in ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}, {"a": 1, "b": {"c": 2, "d": 3}}):
        run.tool("search", args, LONG)

    assert [kind for kind, _, _ in _kinds(run.events)] == ["cycle"]


@pytest.mark.parametrize(
    "result",
    [
        lambda n: f"done at 2025-03-0{n + 1} 12:30:0{n}, {LONG}",
        lambda n: {"request_id": f"r{n}", "rows": [LONG]},
        lambda n: {"at": 1_700_000_000 + n, "rows": [LONG]},
        lambda n: f"{LONG} (id 1b4e28ba-2fa1-41d2-883f-0016d3cca42{n})",
        lambda n: f"<Response object at 0x7f31c2d5e{n}10> {LONG}",
        lambda n: f"2 failed, 1 passed in 0.{n + 3}1s",
        lambda n: f'{{"took_ms": {n}, "rows": ["{LONG}"]}}',
    ],
)
def test_ids_and_clocks_do_not_hide_a_cycle(result: Callable[[int], Any]) -> None:
    """Nearly every real tool puts one of these into its answer."""
    run = Recorder()
    for number in range(3):
        run.tool("search", {"q": 1}, result(number))

    assert [kind for kind, _, _ in _kinds(run.events)] == ["cycle"]


@pytest.mark.parametrize(
    "result", [lambda n: f"{n} rows left", lambda n: {"percent": n}, lambda n: ["2025-03-1" + str(n)]]
)
def test_figures_and_dates_are_data(result: Callable[[int], Any]) -> None:
    """What is stripped must never be the answer itself."""
    run = Recorder()
    for number in range(3):
        run.tool("search", {"q": 1}, result(number))

    assert [severity for _, severity, _ in _kinds(run.events)] == ["info"]


def test_a_call_that_raises_the_same_three_times_is_an_error_retry() -> None:
    """The commonest way to burn money: the call cannot work, and the agent calls it again."""
    run = Recorder()
    for _ in range(3):
        run.model("let me try that again")
        run.fail("fetch", {"url": "x"}, "timed out after 3.0s")

    (finding,) = judge(run.events)

    assert (finding.kind, finding.severity, finding.pattern) == ("error_retry", "critical", "TOOL_CALL:fetch")
    assert finding.evidence_event_ids == [event["event_id"] for event in run.events[1::2]]
    assert "timed out" in finding.explanation


def test_an_error_text_returned_normally_counts_as_failing() -> None:
    """Tools for models return their errors, they do not raise them."""
    run = Recorder()
    for _ in range(3):
        run.tool("book", {"seat": 4}, "Error: the amount does not add up")
        run.tool("think", {"thought": f"so {len(run.events)}"}, "")

    assert ("error_retry", "critical", "TOOL_CALL:book") in _kinds(run.events)


@pytest.mark.parametrize("told", ["ok", "changed line {} to something else entirely"])
@pytest.mark.parametrize(
    "outcome", [None, {"failed": 1, "exit_code": 1}, "E  assert 1 == 2\n1 failed, 3 passed in 0.1s"]
)
def test_the_same_result_after_each_of_a_few_changes_is_no_loop(told: str, outcome: Any) -> None:
    """Running the failing tests after each edit is what a programmer does; six edits in vain are worth a look."""

    def kinds(edits: int) -> list[tuple[str, str]]:
        run = Recorder()
        for number in range(edits):
            run.tool("edit", {"line": number, "text": f"x = {number}"}, told.format(number))
            if outcome is None:
                run.fail("run_tests", {}, "1 failed")
            else:
                run.tool("run_tests", {}, outcome)
        return [(kind, severity) for kind, severity, _ in _kinds(run.events) if severity != "info"]

    assert kinds(5) == []
    assert kinds(7) == [("stall", "warning")]


def test_thinking_between_failures_changes_nothing() -> None:
    """A thought is not an attempt."""
    run = Recorder()
    for number in range(3):
        run.tool("write_note", {"thought": f"so it is {number}"}, "noted")
        run.fail("run_tests", {}, "1 failed")

    assert [(kind, severity) for kind, severity, _ in _kinds(run.events) if severity != "info"] == [
        ("error_retry", "critical")
    ]


def test_a_retry_that_works_between_failures_is_no_loop() -> None:
    """A flaky call that is retried with success makes progress."""
    run = Recorder()
    for _ in range(4):
        run.fail("fetch", {"url": "x"})
        run.tool("fetch", {"url": "x"}, LONG)

    assert not [kind for kind, _, _ in _kinds(run.events) if kind in {"error_retry", "stall"}]


def test_the_same_model_error_again_and_again_is_an_error_retry() -> None:
    """A wrong API key fails the same way for ever."""
    run = Recorder()
    error = {"error_type": "AuthenticationError", "message": "wrong key", "stack": None, "details": None}
    for _ in range(3):
        run.model(None, status="error", error=error)

    assert _kinds(run.events) == [("error_retry", "critical", "LLM_CALL:gpt-4")]


@pytest.mark.parametrize("base", ["the red bicycle of the mayor of the town", "weather in paris"])
def test_nearly_the_same_call_that_brings_nothing_is_a_stall(base: str) -> None:
    """Rephrasing a query that finds nothing, over and over."""
    run = Recorder()
    for extra in ("today", "please", "again"):
        run.model(f"maybe so {extra}")
        run.tool("search", {"query": f"{base} {extra}"}, "No results were found for that.")

    assert ("stall", "warning", "TOOL_CALL:search") in _kinds(run.events)


@pytest.mark.parametrize(
    "nothing", [[], {}, "", None, "[]", {"hits": []}, {"rows": 0}, {"data": {"items": []}}, {"results": [], "total": 0}]
)
def test_a_search_in_other_words_that_gives_nothing_is_a_stall_in_every_shape(nothing: object) -> None:
    """Of a tool that is meant to give something an empty result is no success."""
    run = Recorder()
    for query in ("mayor of Braga in 1950", "mayor of Braga 1950", "Braga mayor of 1950", "the mayor of Braga 1950"):
        run.tool("web_search", {"query": query}, nothing)

    assert ("stall", "warning", "TOOL_CALL:web_search") in _kinds(run.events)


@pytest.mark.parametrize("nothing", [[], {"hits": []}, "No results found", {"message": "nothing found"}])
@pytest.mark.parametrize(
    "ask",
    [
        lambda name: {"customer": name, "status": "open"},
        lambda name: {"customer_name": name.lower(), "status": "open", "year": "2024"},
        lambda name: {"q": f"{name} criminal record court case"},
        lambda name: {"path": f"src/{name}/tests", "pattern": "*.py"},
        lambda name: {"sql": f"select * from orders where customer = '{name}' and open"},
    ],
    ids=["one of two", "one of three", "in a sentence", "in a path", "in a query"],
)
def test_looking_up_one_name_after_the_other_in_vain_is_no_stall(
    ask: Callable[[str], dict[str, str]], nothing: object
) -> None:
    """A batch puts another name into the same question; that is not the same question in other words."""
    run = Recorder()
    for name in ("Ana", "Berta", "Carl Otto", "Dora", "Emil", "Fred"):
        run.tool("search", ask(name), nothing)

    assert not [kind for kind, severity, _ in _kinds(run.events) if severity != "info"]


def test_a_batch_that_finds_nothing_for_many_items_is_no_stall() -> None:
    """Another number asks for another thing, however alike the rest."""
    run = Recorder()
    for number in range(8):
        run.tool("get_row", {"table": "orders", "column": "id", "value": 100 + number}, "no such row in the table")

    assert {severity for _, severity, _ in _kinds(run.events)} == {"info"}


@pytest.mark.parametrize("result", [None, True, "ok", "", [], {}, {"status": "sent"}, "Message sent."])
def test_a_bare_acknowledgement_to_different_inputs_is_not_nothing_new(result: Any) -> None:
    """Sending the same text to forty people is a batch."""
    run = Recorder()
    for number in range(6):
        run.tool("send", {"text": "a long text that is the same for all of them", "to": f"person-{number}"}, result)

    assert {severity for _, severity, _ in _kinds(run.events)} == {"info"}


def test_the_model_saying_the_same_again_is_an_echo() -> None:
    """An agent that only apologises is stuck too."""
    run = Recorder()
    for number in range(3):
        run.model(f"I am sorry, I cannot find the file you mean, attempt {number} of many")

    assert _kinds(run.events) == [("echo", "warning", "LLM_CALL:gpt-4")]


def _talk(news: Callable[[int], str]) -> list[str]:
    run = Recorder()
    for turn in range(6):
        run.model(f"The request is not done yet, so the surfer goes on with page number {turn}", model="Orchestrator")
        run.model(news(turn), model="Surfer")
    return [kind for kind, severity, _ in _kinds(run.events) if severity != "info"]


def test_another_speaker_who_says_something_new_is_no_echo() -> None:
    """Whoever leads a talk between agents says much the same each time, while the others work."""
    towns = (
        "Lisboa is large and old",
        "trains leave hourly from Faro",
        "nobody lives in Tomar now",
        "wine of Evora won",
    )
    chance = random.Random(3)
    assert _talk(lambda turn: f"{towns[turn % 4]} {chance.sample(towns, 2)} {' '.join(chance.sample(LONG, 9))}") == []
    assert _talk(lambda turn: "I opened the page and there was nothing on it at all") != []
    assert _talk(lambda turn: "OK.") != []


def test_similar_words_are_no_echo_while_tools_bring_something_new() -> None:
    """ "Let me look at the next page" is what a healthy agent says."""
    run = Recorder()
    for number in range(8):
        run.model("Let me look at the next page of the catalogue now.")
        run.tool("read_page", {"page": number}, f"page {number} of the catalogue")

    assert {kind for kind, _, _ in _kinds(run.events)} == {"repetition"}


@pytest.mark.parametrize("how", ["marked", "ignored"])
def test_a_poller_raises_info_only(how: str) -> None:
    """Waiting for a job looks exactly like being stuck; only the user can say which it is."""
    run = Recorder()
    for _ in range(8):
        run.tool("status", {"job": 1}, {"state": "running"}, meta={"polling": True} if how == "marked" else None)
    detector = LoopDetector(ignore_tools=["status"] if how == "ignored" else [])

    findings = [finding for event in run.events if (finding := detector.observe(event))]

    assert [(finding.kind, finding.severity) for finding in findings] == [("repetition", "info")]
    assert detector.active is None


def test_only_states_are_info() -> None:
    """A program that records its state in a loop is a program with a loop."""
    run = Recorder()
    for _ in range(5):
        run.add("STATE_UPDATE", "state", {"state": {"x": 1}, "diff": None})

    assert _kinds(run.events) == [("repetition", "info", "STATE_UPDATE")]


def test_a_first_call_counts_however_much_came_between() -> None:
    """The first of three equal calls is evidence like the others."""
    run = Recorder()
    for number in range(3):
        run.tool("book", {"seat": 5}, "Error: the seat is taken")
        run.tool(f"look_{number}", {"n": number}, "ok")
    found = judge(run.events)

    assert [(finding.kind, finding.repetitions) for finding in found] == [("error_retry", 3)]
    assert found[0].first_event_id == run.events[0]["event_id"]


@pytest.mark.parametrize("number", [1, 2.5, True, None, "1"])
def test_a_bare_value_asked_again_is_the_same_question(number: Any) -> None:
    """Not every tool is called with named arguments, and the first call counts like the later ones."""
    run = Recorder()
    for _ in range(3):
        run.tool("double", number, "Twice that is more than there is.")

    assert [finding.kind for finding in judge(run.events)] == ["cycle"]
