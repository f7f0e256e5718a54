"""Each kind of finding: said when the log proves it, and quiet when it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.findings import Finding, add_to_verdict, examine, find, headline_lines, is_said_by
from agentdbg.analysis.wording import text_of
from tests.analysis.story import Story

if TYPE_CHECKING:
    from agentdbg.events import Event

BOOM = {"error_type": "KeyError", "message": "'due_date'"}
USER = [{"role": "user", "content": "Which flights are there?"}]


def _found(story: Story, kind: str, status: str = "ok") -> list[Finding]:
    return [finding for finding in find(story.events, story.meta(status)) if finding.kind == kind]


def _only(story: Story, kind: str, status: str = "ok") -> Finding:
    (finding,) = _found(story, kind, status)
    return finding


# The first failure, and what it led to


def test_a_failure_that_ended_the_run_is_critical() -> None:
    """It is the cause, so it comes first."""
    story = Story()
    failed = story.tool("parse", {}, error=BOOM)
    story.error("KeyError", "'due_date'")
    story.end("error", error=BOOM)

    finding = _only(story, "first_failure", "error")

    assert finding.severity == "critical"
    assert finding.number == failed
    assert finding.sentence == "The first failure was parse: KeyError: 'due_date'. It ended the run."
    assert finding.evidence.event_ids == [story.id_of(failed)]


def test_a_failure_with_consequences_names_the_end() -> None:
    """Later errors are often only its consequences."""
    story = Story()
    story.tool("connect", {}, error={"error_type": "TimeoutError", "message": "no answer from db"})
    story.tool("query", {}, error={"error_type": "RuntimeError", "message": "no connection"})
    story.error("ValueError", "no rows")
    story.end("error")

    finding = _only(story, "first_failure", "error")

    assert "connect: TimeoutError: no answer from db" in finding.sentence
    assert finding.sentence.endswith("2 failures followed, and the run ended with ValueError: no rows.")


def test_a_failure_that_was_put_right_is_only_a_note() -> None:
    """One retry that works is how agents are meant to be."""
    story = Story()
    story.tool("fetch", {}, error=BOOM)
    again = story.tool("fetch", {}, "page")
    story.end()

    finding = _only(story, "first_failure")

    assert finding.severity == "info"
    assert finding.sentence.endswith(f"The same call worked at #{again}.")


def test_an_exception_wrapped_by_a_framework_is_still_the_same() -> None:
    """The words travel on in an exception of another class."""
    story = Story()
    story.llm(USER, None, error={"error_type": "RateLimitError", "message": "429, try later"})
    story.error("AgentError", "model failed: 429, try later")
    story.end("error")

    assert _only(story, "first_failure", "error").sentence.endswith("It ended the run as AgentError.")


# Errors swallowed


def test_the_same_error_again_and_again_is_told_once_with_its_count() -> None:
    """Ids and clocks in the message do not make it another error."""
    story = Story()
    for number in range(4):
        story.tool("book", {"n": number}, error={"error_type": "E", "message": f"full at 0x7f00aa0{number}beef"})
    story.end()

    finding = _only(story, "swallowed_error")

    assert finding.severity == "warning"
    assert finding.evidence.count == 4
    assert finding.evidence.numbers == [2, 3, 4, 5]
    assert finding.sentence.startswith("book failed 4 times with the same error")


def test_two_equal_errors_or_three_different_ones_are_not_told() -> None:
    """Bad luck is not a habit."""
    story = Story()
    for message in ("a", "a", "b", "c"):
        story.tool("book", {}, error={"error_type": "E", "message": message})
    story.end()

    assert _found(story, "swallowed_error") == []


# Results that were no answers


@pytest.mark.parametrize(
    ("result", "error", "what"),
    [
        ([], None, "gave nothing"),
        ("Error: service down", None, "gave an error: Error: service down"),
        ({"error": "service down"}, None, "gave an error: service down"),
        (None, {"error_type": "E", "message": "down"}, "failed: E: down"),
    ],
)
def test_an_answer_that_ignores_a_missing_result_is_told(result: Any, error: Any, what: str) -> None:
    """The classic way for an agent to make things up."""
    story = Story()
    asked = story.llm(USER, {"role": "assistant", "content": "I will look."})
    tool = story.tool("search_flights", {"to": "SEA"}, result, error=error, parent=asked)
    answer = story.llm(
        USER, {"role": "assistant", "content": "The best flight is HAT069, it leaves at 11 and is cheap."}
    )
    story.end()

    finding = _only(story, "unusable_result")

    assert finding.severity == "warning"
    assert finding.number == tool
    assert f"search_flights {what}, and the answer #{answer}" in finding.sentence
    assert finding.evidence.numbers == [tool, answer]


@pytest.mark.parametrize(
    ("tool", "result", "answer"),
    [
        ("search", [], "There are no flights on that day, unfortunately."),
        ("search", [], "I couldn’t find any flight for you."),
        ("send_email", None, "The mail is on its way to the whole team."),
        ("search", ["HAT069"], "The best flight is HAT069 and it is cheap."),
        ("search", [], "Der beste Flug ist HAT069, er ist am billigsten."),
    ],
    ids=["admits it", "admits it with a contraction", "a tool that merely does something", "a result", "not English"],
)
def test_an_honest_or_unclear_answer_is_left_alone(tool: str, result: Any, answer: str) -> None:
    """A finding that is wrong once is not believed the next time."""
    story = Story()
    story.tool(tool, {}, result)
    story.llm(USER, {"role": "assistant", "content": answer})
    story.end()

    assert _found(story, "unusable_result") == []


@pytest.mark.parametrize(
    ("result", "is_told"),
    [
        ("All done.", True),
        ("Refunded: the customer has the money.", True),
        ("The refund failed.", False),
        ("Erstattet.", False),
        ({"refunded": False}, False),
        (None, False),
    ],
)
def test_what_the_program_returns_is_an_answer_too(result: Any, *, is_told: bool) -> None:
    """A loop in plain code that catches the error of its last tool and returns a cheerful sentence."""
    story = Story()
    story.llm(USER, {"role": "assistant", "content": "I will refund it."})
    tool = story.tool("refund", {"order": "A-17"}, error={"error_type": "ValueError", "message": "over the limit"})
    end = story.end(result=result)

    found = _found(story, "unusable_result")

    assert [finding.evidence.numbers for finding in found] == [[tool, end]] * is_told


@pytest.mark.parametrize(
    ("said", "tool", "args"),
    [
        ("That is the wrong folder.\n\nunzip data.zip", "unzip", {"command": "unzip data.zip"}),
        ("Thought: the name has changed. Action: the price of ACME", "lookup", {"query": "the price of ACME"}),
    ],
    ids=["the tool is named", "its arguments are"],
)
def test_an_action_in_words_is_no_answer(said: str, tool: str, args: Any) -> None:
    """Agents that act in text go on after an error like any other; only the last words are the answer."""
    story = Story()
    story.tool("open", {"path": "data"}, "open: data: No such file or directory")
    story.llm(USER, {"role": "assistant", "content": said})
    story.tool(tool, args, "the data")
    story.llm(USER, {"role": "assistant", "content": "The price is 12 and the data is complete."})
    story.end()

    assert _found(story, "unusable_result") == []


def test_an_answer_that_is_saved_stays_an_answer() -> None:
    """A tool that is given the whole text was not asked for in it."""
    story = Story()
    story.tool("search", {"query": "price"}, "HTTP 500")
    answer = "The price is 12 and the data is complete."
    story.llm(USER, {"role": "assistant", "content": answer})
    story.tool("save_report", {"text": answer}, "ok")
    story.end()

    assert len(_found(story, "unusable_result")) == 1


def test_another_agents_answer_is_not_held_against_a_tool() -> None:
    """Agents that work side by side share one log."""
    story = Story()
    story.tool("search", {}, [], parent="11111111-1111-4111-8111-111111111111")
    said = {"role": "assistant", "content": "The report is ready for you to read."}
    story.llm(USER, said, parent="22222222-2222-4222-8222-222222222222")
    story.end()

    assert _found(story, "unusable_result") == []


# Arguments that do not fit

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "seats": {"type": "integer"}, "class": {"enum": ["eco", "business"]}},
    "required": ["to"],
}
OPENAI = [{"type": "function", "function": {"name": "book", "parameters": SCHEMA}}]
ANTHROPIC = [{"name": "book", "input_schema": SCHEMA}]


def _with_tools(tools: Any, args: Any, *, error: Any = None, response: Any = "ok") -> Story:
    story = Story()
    number = story.llm(USER, response)
    story.events[number - 1]["payload"]["tools"] = tools
    story.tool("book", args, "done", error=error)
    story.end()
    return story


@pytest.mark.parametrize("tools", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({}, "`to` is missing"),
        ({"to": "SEA", "colour": 1}, "`colour` is not in its schema"),
        ({"to": "SEA", "seats": "two"}, '`seats` is "two", not integer'),
        ({"to": "SEA", "class": "first"}, '`class` is "first", not one of "eco", "business"'),
        ({"to": "SEA", "": {}}, "an argument without a name is not in its schema"),
    ],
)
def test_a_failed_call_that_does_not_fit_says_why(tools: Any, args: Any, problem: str) -> None:
    """The schema the model was given is in the log; the call can be held against it."""
    finding = _only(_with_tools(tools, args, error=BOOM), "arguments_misfit")

    assert finding.severity == "warning"
    assert finding.sentence == f"book was called with arguments that do not fit, and failed: {problem}."


def test_a_call_that_worked_all_the_same_is_a_note() -> None:
    """The schema may be stricter than the tool."""
    assert _only(_with_tools(OPENAI, {"to": 5}), "arguments_misfit").severity == "info"


@pytest.mark.parametrize(
    "args",
    [
        {"to": "SEA", "seats": 2.0},
        {"to": "__REDACTED__", "seats": 1},
        {"to": "SEA" * 10 + "__TRUNCATED__"},
        '{"to": "SEA"}',
        ["SEA"],
    ],
)
def test_arguments_that_fit_or_cannot_be_judged_are_left_alone(args: Any) -> None:
    """What was redacted or cut cannot be held against anything."""
    assert _found(_with_tools(OPENAI, args, error=BOOM), "arguments_misfit") == []


def test_a_tool_that_was_not_offered_is_told() -> None:
    """Models make up tools; the program then usually fails far away from it."""
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "refund", "arguments": "{}"}}]}

    finding = _only(_with_tools(OPENAI, {"to": "SEA"}, response=call), "unknown_tool")

    assert finding.sentence == "The model asked for refund, a tool it was not offered."


def test_a_cut_list_of_tools_is_no_proof() -> None:
    """The tool may be in the part that is not stored."""
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "refund", "arguments": "{}"}}]}

    assert _found(_with_tools([*OPENAI, "__TRUNCATED__"], {"to": "SEA"}, response=call), "unknown_tool") == []


# The context


def test_growth_of_the_prompt_names_what_made_it_grow() -> None:
    """A tool that pours a page into the prompt is the usual reason."""
    story = Story()
    history = list(USER)
    for size, result in ((1_000, "small"), (1_200, "x" * 40_000), (11_000, "small")):
        story.llm(list(history), "…", tokens=(size, 10))
        tool = story.tool("visit", {}, result[:50])
        history.append({"role": "tool", "content": result[:50]})
    last = story.llm(list(history), "done", tokens=(11_200, 10))
    story.end()

    finding = _only(story, "context_growth")

    assert finding.severity == "info"
    assert finding.number == last
    assert finding.sentence == (
        "The prompt grew from 1k to 11k tokens over 4 calls, 9.8k of them at #6, after visit #5."
    )
    assert finding.figures["largest_step"]["entered"] == ["tool"]
    assert [step["tokens"] for step in finding.figures["prompt_tokens"]] == [1_000, 1_200, 11_000, 11_200]
    assert tool == last - 1


def test_a_second_conversation_is_not_taken_for_a_dropped_context() -> None:
    """Sub-agents begin with short prompts of their own."""
    story = Story()
    for size in (50_000, 52_000):
        story.llm([{"role": "system", "content": "You plan."}, *USER], "…", tokens=(size, 10))
        story.llm([{"role": "system", "content": "You search."}, *USER], "…", tokens=(1_000, 10))
    story.end()

    assert _found(story, "context_dropped") == []


def test_a_context_that_was_cut_down_is_told_with_what_left() -> None:
    """What the agent no longer knows explains what it does next."""
    story = Story()
    history: list[dict[str, Any]] = [{"role": "system", "content": "Rules"}, *USER]
    history += [{"role": "tool", "content": f"page {number}"} for number in range(6)]
    before = story.llm(list(history), "…", tokens=(9_000, 10))
    after = story.llm([*history[:2], {"role": "user", "content": "Summary"}], "…", tokens=(900, 10))
    story.end()

    finding = _only(story, "context_dropped")

    assert finding.sentence == (
        f"Part of the context was dropped between #{before} and #{after}: from 9k to 900 tokens, "
        "6 messages left and 1 entered."
    )


def test_a_prompt_the_model_refused_is_critical() -> None:
    """Nothing works after that, and the message is easy to miss."""
    story = Story()
    message = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130211 tokens."
    story.llm(USER, None, error={"error_type": "BadRequestError", "message": message})
    story.end("error")

    assert _only(story, "context_too_long", "error").severity == "critical"


def test_an_answer_cut_off_at_its_limit_is_told() -> None:
    """Half a JSON document fails later, somewhere else."""
    story = Story()
    number = story.llm(USER, "{")
    story.events[number - 1]["payload"]["stop_reason"] = "length"
    story.end()

    assert _only(story, "answer_cut").sentence == "An answer of gpt-4o was cut off at the limit of its length."


# Time, deaths, loops


def test_time_is_shared_out_and_parallel_work_counted_once() -> None:
    """Two calls side by side do not take twice as long."""
    story = Story()
    story.llm(USER, "…", duration_ms=6_000)
    story.tool("a", {}, 1, duration_ms=2_000)
    story.now_ms -= 2_000
    story.tool("b", {}, 1, duration_ms=2_000)
    story.now_ms += 2_000
    story.end()

    finding = _only(story, "time_spent")

    assert {key: finding.figures[key] for key in ("model_ms", "tool_ms", "own_ms")} == {
        "model_ms": 6_000,
        "tool_ms": 2_000,
        "own_ms": 2_000,
    }
    assert finding.sentence == (
        "Of 10 s, the model took 60 %, tools 20 % and everything else 20 %. "
        "The slowest: gpt-4o #2 6 s, a #3 2 s, b #4 2 s."
    )


def test_time_is_not_shared_out_where_the_models_times_are_unknown() -> None:
    """An imported transcript would blame the tools for everything."""
    story = Story()
    number = story.llm(USER, "…")
    story.events[number - 1]["duration_ms"] = None
    story.tool("a", {}, 1, duration_ms=2_000)
    story.end()

    assert _found(story, "time_spent") == []


def test_a_process_that_went_away_was_in_a_call() -> None:
    """Out of memory, killed, segfault: the call it was in is all there is to go by."""
    story = Story()
    story.tool("a", {}, 1)
    number = story.call_start("fetch_page", given={"url": "https://example.com"})

    finding = _only(story, "died_in_call", "error")

    assert finding.severity == "critical"
    assert finding.number == number
    assert finding.sentence.startswith("The process ended inside fetch_page, which had begun at ")
    assert 'url: "https://example.com"' in finding.sentence


def test_a_live_run_has_not_died() -> None:
    """Its call is simply still going on."""
    story = Story()
    story.call_start("fetch_page")

    assert _found(story, "died_in_call", "running") == []


def test_loops_of_warning_and_up_are_among_the_findings() -> None:
    """And a loop that turned out worse is told once, as the worse one."""
    story = Story()
    story.events[0]["payload"]["agentdbg_version"] = "0.1.0"
    numbers = [story.tool("a", {}, 1) for _ in range(3)]
    story.loop("repetition", "info", "TOOL_CALL:a", numbers)
    story.loop("stall", "warning", "TOOL_CALL:a", numbers, "a returned nothing new.")
    worst = story.loop("cycle", "critical", "LLM_CALL:m -> TOOL_CALL:a", numbers, "m and a go round.")
    story.end()

    finding = _only(story, "loop")

    assert (finding.severity, finding.number, finding.sentence) == ("critical", worst, "m and a go round.")
    assert finding.evidence.event_ids == [story.id_of(number) for number in numbers]


def test_a_log_nobody_judged_is_judged_when_it_is_read() -> None:
    """Runs of other writers hold no loop findings."""
    story = Story()
    for _ in range(5):
        story.tool("submit", {"flag": "x"}, "Wrong flag!")
    story.end()

    assert [finding.severity for finding in _found(story, "loop")] == ["critical"]


# All of them together


def test_the_worst_comes_first() -> None:
    """A reader stops early."""
    story = Story()
    story.llm(USER, "…", duration_ms=5_000)
    for _ in range(3):
        story.tool("a", {}, error=BOOM)
    story.error("KeyError", "'due_date'")
    story.end("error")

    ranks = ["critical", "warning", "info"]
    places = [ranks.index(finding.severity) for finding in find(story.events, story.meta("error"))]

    assert places == sorted(places)
    assert len(set(places)) == 3


def test_a_healthy_run_has_nothing_above_info() -> None:
    """Success is the absence of colour."""
    story = Story()
    asked = story.llm(USER, {"role": "assistant", "content": "Looking."}, tokens=(100, 5))
    story.tool("search", {"to": "SEA"}, ["HAT069"], parent=asked)
    story.llm(USER, {"role": "assistant", "content": "HAT069 is the one for you."}, tokens=(150, 5))
    story.end()

    assert {finding.severity for finding in find(story.events, story.meta())} <= {"info"}


def test_the_verdict_gets_what_it_does_not_say_itself() -> None:
    """Failures and loops have sentences of their own there."""
    story = _with_tools(OPENAI, {}, error=BOOM)
    found = find(story.events, story.meta())

    assert [text_of(line) for line in headline_lines(found)] == [
        "book was called with arguments that do not fit, and failed: `to` is missing."
    ]
    verdict = story.verdict()
    said = [finding.kind for finding in found if is_said_by(verdict["lines"], finding)]
    assert said == ["first_failure"]


def test_a_verdict_that_saw_nothing_lets_the_findings_speak_first() -> None:
    """`Finished with problems` has to say which, before it says what was answered."""
    story = Story()
    for words in ("flights to SEA", "flights to Seattle", "any flights to SEA", "flights SEA", "to SEA, flights"):
        story.llm(USER, {"role": "assistant", "content": f"I look for {words}."})
        story.tool("search", {"q": words}, {"hits": []})
    story.llm(USER, {"role": "assistant", "content": "All is well now."})
    story.end()
    verdict = story.verdict()
    assert [text_of(line) for line in verdict["lines"]] == ["Answered: All is well now."]

    add_to_verdict(verdict, examine(story.events, story.meta()))

    assert verdict["word"] == "Finished with problems"
    assert "search" in text_of(verdict["lines"][0])
    assert text_of(verdict["lines"][-1]) == "Answered: All is well now."


def test_events_are_read_once_and_one_by_one() -> None:
    """So that a run of any length can be given as its file's reader."""
    story = _with_tools(OPENAI, {}, error=BOOM)
    given: list[Event] = []

    def one_by_one() -> Any:
        for event in story.events:
            given.append(event)
            yield event

    assert find(one_by_one(), story.meta())
    assert given == story.events
