"""Which step is which: what is the same, what changed, came, went and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff import compare, mirror
from tests.analysis.diff.events import call_start, event, llm, run, tool

if TYPE_CHECKING:
    from agentdbg.analysis.diff import Diff
    from agentdbg.events import Event

SYSTEM = {"role": "system", "content": "You help with travel."}


def _ops(diff: Diff) -> list[tuple[str, str]]:
    return [("wording" if row.wording else row.op, row.name) for row in diff.rows[1:-1]]


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _calls(name: str, args: str = "{}", text: str | None = None) -> dict[str, Any]:
    function = {"name": name, "arguments": args}
    return {"role": "assistant", "content": text, "tool_calls": [{"id": f"call_{id(args)}", "function": function}]}


def test_two_recordings_of_the_same_steps_are_the_same() -> None:
    """Ids, times and durations are never alike, and are no differences."""

    def steps() -> list[Event]:
        asked = llm([SYSTEM, _user("Where?")], _calls("search"), usage={"total_tokens": 9})
        return run(asked, tool("search", {"q": "x"}, {"hits": 1, "request_id": "r-1"}, asked), llm("p", "Done."))

    a, b = steps(), steps()
    b[2]["payload"]["result"]["request_id"] = "r-2"
    b[1]["payload"]["usage"] = {"total_tokens": 11}
    b[1]["payload"]["source"] = "agent.py:7"
    diff = compare(a, b)

    assert diff.verdict == "same"
    assert diff.first_difference is None
    assert diff.counts["same"] == len(a)


def test_an_argument_that_changed_is_named_by_its_path() -> None:
    """The one thing a reader wants to know, not the two calls side by side."""
    a = run(tool("find"), tool("book_flight", {"legs": [{"no": "HAT1"}, {"no": "HAT172"}], "cabin": "economy"}))
    b = run(tool("find"), tool("book_flight", {"cabin": "economy", "legs": [{"no": "HAT1"}, {"no": "HAT132"}]}))
    diff = compare(a, b)
    (change,) = diff.rows[2].changes

    assert diff.verdict == "different_effects"
    assert diff.first_divergence == 2
    assert (change.path, change.was, change.now) == ("args.legs[1].no", "HAT172", "HAT132")


def test_steps_only_one_run_has_leave_the_others_paired() -> None:
    """A detour must not make everything behind it look different."""
    a = run(tool("get_user", {"id": 1}), tool("calculate", {"e": "1+1"}), tool("think"), tool("book", {"seat": 4}))
    b = run(tool("get_user", {"id": 1}), tool("think"), tool("list_seats"), tool("book", {"seat": 4}))
    diff = compare(a, b)

    assert _ops(diff) == [
        ("same", "get_user"),
        ("deleted", "calculate"),
        ("same", "think"),
        ("inserted", "list_seats"),
        ("same", "book"),
    ]
    assert diff.verdict == "same_effects"


def test_other_words_are_told_apart_from_other_facts() -> None:
    """Models never say a thing twice in the same words; a different price is another matter."""
    first = llm([_user("What does it cost?")], "The flight costs $105 in total.")
    other_words = llm([_user("What does it cost?")], "In total you would pay $105 for it.")
    other_facts = llm([_user("What does it cost?")], "The flight costs $207 in total.")

    assert compare(run(first), run(other_words)).rows[1].wording
    assert compare(run(first), run(other_words)).first_divergence is None
    assert not compare(run(first), run(other_facts)).rows[1].wording
    assert compare(run(first), run(other_facts)).first_divergence == 1


def test_a_prompt_that_only_repeats_an_earlier_difference_is_the_same() -> None:
    """One differing answer is in every later prompt; saying so each time would bury the rest."""

    def steps(answer: str) -> list[Event]:
        said = {"role": "assistant", "content": answer}
        start = [SYSTEM, _user("Hello there, I need help")]
        return run(llm(start, said), llm([*start, said, _user("Book it")], "Shall I book it now?"))

    diff = compare(steps("Hello, how can I help?"), steps("Hi! What can I do for you?"))

    assert [row.op for row in diff.rows] == ["same", "changed", "same", "same"]


def test_a_conversation_remembered_differently_is_a_difference() -> None:
    """Nothing the agent did explains it: somebody shortened the history."""

    def steps(kept: list[Any]) -> list[Event]:
        said = {"role": "assistant", "content": "Hello."}
        return run(llm([_user("one"), _user("two")], said), llm([*kept, said, _user("three")], "Fine."))

    diff = compare(steps([_user("one"), _user("two")]), steps([_user("two")]))

    assert [change.path for change in diff.rows[2].changes] == ["history"]


def test_a_mere_yes_does_not_continue_another_conversation() -> None:
    """Another agent of the run was last told the same word; what this one is told is new all the same."""

    def steps(word: str) -> list[Event]:
        asked = {"role": "assistant", "content": "Shall I?"}
        return run(
            llm([_user("other"), _user("task"), _user("yes")], "Done."),
            llm([_user("one"), _user("two"), _user("three")], asked),
            llm([_user("two"), _user("three"), asked, _user(word)], "Booked."),
        )

    changes = compare(steps("yes"), steps("no")).rows[3].changes

    assert [(change.path, change.was, change.now) for change in changes] == [("appended[0]", "yes", "no")]


def test_other_instructions_are_told_once_and_are_not_where_the_runs_part() -> None:
    """Whoever changed the prompt knows it; the question is what the agent did differently."""

    def steps(system: str, model: str, second: str) -> list[Event]:
        head = {"role": "system", "content": system}
        return run(
            llm([head, _user("one")], "First answer here.", model=model),
            llm([head, _user("one"), _user("two")], second, model=model),
        )

    diff = compare(steps("Be kind.", "gpt-4o", "It is 7 now."), steps("Be very kind.", "gpt-5", "It is 8 now."))

    assert [change.path for _, change in diff.context] == ["parameters.model", "system"]
    assert {change.part for change in diff.rows[2].changes} == {"response"}
    assert diff.rows[1].name_b == "gpt-5"
    assert diff.first_divergence == 2


def test_a_new_tool_does_not_shift_the_others() -> None:
    """Tool schemas are compared by name: the list has no order that means anything."""

    def offered(*names: str) -> list[Event]:
        return run(llm([_user("hi")], "ok then", tools=[{"type": "function", "function": {"name": n}} for n in names]))

    diff = compare(offered("search", "book"), offered("cancel", "search", "book"))

    assert [(change.path, change.op) for _, change in diff.context] == [("tools.cancel", "added")]


def test_tools_asked_for_at_once_have_no_order() -> None:
    """Which of two parallel lookups comes back first is chance."""

    def steps(*cities: str) -> list[Event]:
        asked = llm([_user("Compare")], _calls("search"))
        return run(asked, *(tool("search", {"city": city}, f"about {city}", asked) for city in cities))

    diff = compare(steps("Oslo", "Rome", "Bern"), steps("Bern", "Oslo", "Rome"))

    assert diff.verdict == "same"
    assert [(row.a, row.b) for row in diff.rows[2:5]] == [(3, 4), (4, 5), (5, 3)]


def test_the_same_steps_at_once_and_one_after_the_other_are_the_same() -> None:
    """How fast a tool answers decides nothing about what the agent did."""
    one_by_one, at_once = (run(tool("send", {"a": 1}, "ok"), llm("hello", "hi")) for _ in range(2))
    for made in at_once[1:3]:
        made["duration_ms"] = 5_000
    diff = compare(one_by_one, at_once)

    assert diff.verdict == "same"
    assert mirror(diff).to_json() == compare(at_once, one_by_one).to_json()


def test_of_tools_asked_for_at_once_the_most_alike_are_paired() -> None:
    """One of three changed; it must not be lost because its name sorts elsewhere."""

    def steps(*cities: str) -> list[Event]:
        asked = llm([_user("Compare")], _calls("search"))
        return run(asked, *(tool("search", {"city": city, "days": 3}, None, asked) for city in cities))

    diff = compare(steps("Oslo", "Rome"), steps("Rome", "Aarhus"))

    assert sorted((row.op, row.a, row.b) for row in diff.rows[2:4]) == [("changed", 3, 4), ("same", 4, 3)]


def test_work_done_at_the_same_time_is_paired_by_what_it_is() -> None:
    """Three agents started together end in any order."""

    def branch(name: str, at: int) -> Event:
        done = tool(name, {"who": name}, duration_ms=5_000)
        done["ts"] = f"2026-11-15T10:00:{at:02d}.000Z"
        return done

    a = run(branch("alpha", 10), branch("beta", 11), branch("gamma", 12))
    b = run(branch("gamma", 10), branch("alpha", 11), branch("beta", 12))

    assert compare(a, b).verdict == "same"


def test_an_equal_call_in_another_place_has_moved() -> None:
    """It is neither gone nor new."""
    a = run(tool("get_user", {"id": 1}), tool("list_flights"), tool("list_seats"), tool("list_bags"))
    b = run(tool("list_flights"), tool("list_seats"), tool("list_bags"), tool("get_user", {"id": 1}))
    moved = [row for row in compare(a, b).rows if row.op == "moved"]

    assert [(row.a, row.b, row.other) for row in moved] == [(2, None, 5), (None, 5, 2)]


def test_a_new_span_around_old_steps_hides_nothing() -> None:
    """Wrapping code into a traced function changes the tree, not what the agent did."""
    a = run(tool("get_user", {"id": 1}), tool("book", {"seat": 4}), tool("think", {"t": "done"}))
    span = event("STATE_UPDATE", "plan", {"state": None, "diff": None, "error": None}, meta={"span": "plan"})
    b = run(
        tool("get_user", {"id": 1}, None, span),
        tool("book", {"seat": 4}, None, span),
        span,
        tool("think", {"t": "done"}),
    )
    diff = compare(a, b)

    assert _ops(diff) == [("inserted", "plan"), ("same", "get_user"), ("same", "book"), ("same", "think")]
    assert [row.depth for row in diff.rows[1:-1]] == [0, 0, 0, 0]


def test_what_happens_inside_a_tool_is_compared_inside_it() -> None:
    """Two sub-agents that do the same things must not be mixed up."""

    def steps(second: str) -> list[Event]:
        one, two = tool("ask_agent", {"name": "one"}), tool("ask_agent", {"name": "two"})
        return run(tool("look", {"at": 1}, None, one), one, tool("look", {"at": second}, None, two), two)

    diff = compare(steps("x"), steps("y"))

    assert [(row.op, row.a, row.b) for row in diff.rows if row.op != "same"] == [("changed", 4, 4)]


def test_the_start_of_a_call_that_ended_has_no_row() -> None:
    """A reader shows it only if its call never ended."""
    done, lost = tool("a", {"x": 1}), tool("b")
    diff = compare(run(call_start(done), done, call_start(lost)), run(done))

    assert [(row.op, row.a, row.b) for row in diff.rows] == [
        ("same", 1, 1),
        ("same", 3, 2),
        ("deleted", 4, None),
        ("same", 5, 3),
    ]


def test_loop_findings_hold_nothing_together() -> None:
    """They are ours: they follow from what the agent did, and must not decide what is paired."""

    def finding() -> Event:
        return event("LOOP_WARNING", "LLM_CALL:x", {"pattern": "LLM_CALL:x", "kind": "repetition", "severity": "info"})

    a = run(tool("one"), tool("two"), finding(), tool("three"))
    b = run(finding(), tool("one"), tool("two"), tool("three"))
    diff = compare(a, b)

    assert [row.op for row in diff.rows if row.name in ("one", "two", "three")] == ["same"] * 3
    assert diff.first_divergence is None


def test_what_the_user_asked_to_ignore_is_no_difference() -> None:
    """A date in every call would otherwise make every comparison fail."""
    a = run(tool("book", {"day": "2026-11-15", "legs": [{"price": 7, "no": 1}]}, {"at": 1}))
    b = run(tool("book", {"day": "2026-11-16", "legs": [{"price": 9, "no": 1}]}, {"at": 2}))

    assert compare(a, b, ignore=["args.day", "args.legs[*].price", "result"]).verdict == "same"
    assert compare(a, b, ignore=["payload.args.day", "result.at"]).verdict == "different_effects"
    assert [change.path for change in compare(a, b, ignore=["args.day", "result"]).rows[1].changes] == [
        "args.legs[0].price"
    ]


def test_a_call_that_failed_in_one_run_is_paired_and_is_a_different_effect() -> None:
    """The same call with another outcome: that is the row to look at."""
    diff = compare(run(tool("send_mail", {"to": "a"}, "sent")), run(tool("send_mail", {"to": "a"}, error="refused")))

    assert diff.verdict == "different_effects"
    assert diff.rows[1].op == "changed"
    assert {change.path for change in diff.rows[1].changes} == {"result", "error"}


def test_parents_in_a_circle_or_nowhere_are_no_problem() -> None:
    """Readers accept any parent."""
    a = run(tool("one"), tool("two"), tool("three"))
    a[1]["parent_id"], a[2]["parent_id"], a[3]["parent_id"] = a[2]["event_id"], a[1]["event_id"], "nowhere"
    diff = compare(a, run(tool("one"), tool("two"), tool("three")))

    assert sorted(row.a for row in diff.rows if row.a) == [1, 2, 3, 4, 5]
    assert sorted(row.b for row in diff.rows if row.b) == [1, 2, 3, 4, 5]


def test_looking_at_one_thing_leaves_out_the_rest() -> None:
    """`--only` answers one question."""
    a = run(llm([_user("Pay it")], "Paying it now."), tool("pay", {"sum": 1}), tool("get_x", {"n": 1}))
    b = run(llm([_user("Pay that")], "Will pay it now."), tool("pay", {"sum": 1}), tool("get_x", {"n": 2}))
    diff = compare(a, b)

    assert [row.name for row in diff.only("effects").rows] == ["pay"]
    assert [row.op for row in diff.only("tools").rows] == ["same", "changed"]
    assert [change.part for row in diff.only("prompts").rows for change in row.changes] == ["appended"]


def test_looking_at_prompts_alone_keeps_what_the_model_was_given() -> None:
    """The row it is told in counts among the prompts, not among all steps."""

    def steps(system: str) -> list[Event]:
        head = {"role": "system", "content": system}
        return run(tool("get_x"), tool("get_y"), llm([head, _user("Pay it")], "Paying it now."))

    only = compare(steps("Be kind."), steps("Be brief.")).only("prompts")
    (given,) = [sentence for sentence in only.to_json()["sentences"] if sentence["a"] is not None]

    assert [(row, change.path) for row, change in only.context] == [(0, "system")]
    assert (given["a"], given["b"]) == (4, 4)
    assert only.first_difference == 0


def test_values_nested_very_deeply_are_compared_as_far_as_anybody_reads() -> None:
    """A log of another tool must not be able to break a comparison."""
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    diff = compare(run(tool("book", {"x": deep}, deep)), run(tool("book", {"x": [deep]}, [deep])))

    assert diff.verdict == "different_effects"
    assert diff.to_json()


def test_of_two_long_texts_the_sentence_shows_where_they_differ() -> None:
    """The sixty letters they begin with are the same; the reader wants the ones after them."""
    begin = "open the file, read every line of it and look for a heading that says "
    a, b = run(tool("write", {"text": begin + "INTRODUCTION"})), run(tool("write", {"text": begin + "SUMMARY"}))
    said = "".join(part["text"] for part in compare(a, b).to_json()["sentences"][0]["parts"])

    assert said == 'write got text "…heading that says INTRODUCTION" in A and "…heading that says SUMMARY" in B.'


def test_how_a_run_was_started_is_given_and_not_where_the_runs_part() -> None:
    """Another argument on the command line is why, not what."""
    a, b = run(tool("get_x", {"n": 1})), run(tool("get_x", {"n": 2}))
    b[0]["payload"]["argv"] = ["agent.py", "--fast"]
    diff = compare(a, b)
    said = ["".join(part["text"] for part in sentence["parts"]) for sentence in diff.to_json()["sentences"]]

    assert (diff.first_difference, diff.first_divergence) == (0, 1)
    assert said == [
        "Neither run changed anything outside the agent.",
        "First difference: get_x differs in n 1 in A and 2 in B. Before that every step is the same.",
        "Different inputs: argv[0].",
    ]
