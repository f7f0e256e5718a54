"""What the page says on top of a run: the cause first, and nothing the log cannot prove."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

import pytest

from agentdbg.analysis.run_answer import first_request, spoken
from agentdbg.analysis.stats import figures
from agentdbg.analysis.verdict import headline, headline_from_tail, judge
from tests.analysis.story import Story

if TYPE_CHECKING:
    from agentdbg.events import RunMeta

MISMATCH = {"error_type": "Error", "message": "payment amount does not add up"}
STACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/me/eval/retrieval.py", line 114, in score\n    return hits / total\n'
    '  File "/usr/lib/python3.12/site-packages/lib/x.py", line 3, in inner\n    boom()\n'
    "ZeroDivisionError: division by zero\n"
)


def test_a_healthy_run_is_its_answer() -> None:
    """A run that worked needs one line: the outcome."""
    story = Story()
    story.llm("Refund order 8812", "I have **refunded** order 8812 to your card.")
    story.end()

    assert story.said() == [(None, "Answered: I have refunded order 8812 to your card.")]
    assert story.verdict()["tone"] == "ok"


def test_what_the_traced_function_returned_is_the_answer() -> None:
    """The program's own result is more certain than the model's last words."""
    story = Story()
    story.llm("How many?", "Let me think.")
    story.end(result={"answer": "42 apples", "steps": 3})

    assert story.said() == [(None, "Answered: 42 apples")]


def test_what_the_last_span_returned_is_the_answer_of_a_program() -> None:
    """A script under `agentdbg run` returns nothing; the traced function in it does."""
    story = Story()
    story.llm("What do I wear?", "I will look it up.")
    story.tool("get_weather", {"city": "Oslo"}, "rain")
    story.write("STATE_UPDATE", "agent", {"state": None, "diff": None, "output": "A raincoat."}, meta={"span": "agent"})
    told = Story()
    told.write("STATE_UPDATE", "plan", {"state": None, "diff": None, "output": "a plan"}, meta={"span": "plan"})
    told.llm("What do I wear?", "A raincoat.")
    for one in (story, told):
        one.end()

    assert story.said() == told.said() == [(None, "Answered: A raincoat.")]


def test_without_an_answer_the_time_is_said() -> None:
    """A batch job has no answer, and an empty verdict would look broken."""
    story = Story()
    story.tool("load", {"path": "a"}, "ok", duration_ms=12_000)
    story.end()

    assert story.said() == [(None, "Finished in 12 s, nothing failed.")]


def test_a_run_whose_times_nobody_recorded_is_not_said_to_have_taken_none() -> None:
    """Imported transcripts know no clock; "finished in under a millisecond" would be made up."""
    story = Story()
    story.tool("load", {"path": "a"}, "ok", duration_ms=0)
    story.end()
    run = {**story.meta(), "metadata": {"imported_from": {"format": "chat", "times": "not recorded"}}}

    (said,) = judge(story.tally(), cast("RunMeta", run))["lines"]

    assert said["parts"][0]["text"] == "Finished, nothing failed."
    assert figures(story.tally(), cast("RunMeta", run))["duration_ms"] is None


def test_failures_on_the_way_to_an_answer_are_amber() -> None:
    """A finished run can hide ten failed calls; they cost money and point at a bug."""
    story = Story()
    for _ in range(10):
        story.tool("page_down", {"": ""}, error={"error_type": "TypeError", "message": "bad keyword"})
    story.llm("How many?", "1")
    story.end()

    assert story.said() == [
        (
            2,
            "Finished with the answer 1, but page_down failed 10 times: TypeError: bad keyword",
        )
    ]
    assert story.verdict()["tone"] == "warn"


def test_a_second_kind_of_failure_gets_a_line_of_its_own() -> None:
    """Two bugs are two bugs."""
    story = Story()
    story.tool("a", error="first")
    story.tool("a", error="first")
    story.tool("b", error="second")
    story.end()

    assert [text for _, text in story.said()] == [
        "Finished, but a failed twice: first",
        "b failed too: second",
    ]


def test_errors_that_differ_in_their_figures_are_one() -> None:
    """Eleven pages that took too long are one thing to mend; a refusal and a crash of the server are two."""
    story = Story()
    for page in (13, 110, 401):
        story.tool("read_page", error=f"page {page} took longer than 30 s")
    for refusal in ("HTTP 403", "HTTP 500", "404 Not Found", "503 Service Unavailable", "exit code 2", "exit code 127"):
        story.tool("send", error=refusal)
    story.end()

    assert [text for _, text in story.said()] == [
        "Finished, but read_page failed 3 times, first with: page 13 took longer than 30 s",
        "6 other calls failed, among them send: HTTP 403",
    ]
    assert [len(group.numbers) for group in story.tally().groups()] == [3, 1, 1, 1, 1, 1, 1]


def test_errors_that_differ_in_what_they_quote_at_their_end_are_one() -> None:
    """Two sentences of which the page shows the same beginning would be read as a mistake of ours."""
    story = Story()
    refusal = "Cannot execute multiple commands at once. Please run each command separately, or chain them. Given: "
    for commands in ("ls; pwd", "cat a; cat b"):
        story.tool("terminal", error=refusal + commands)
    story.end()

    assert [text for _, text in story.said()] == [
        f"Finished, but terminal failed twice, first with: {refusal}ls; pwd",
    ]


def test_an_error_that_came_with_other_figures_before_is_quoted_as_it_ended_the_run() -> None:
    """The words of the last one are in the user's terminal."""
    story = Story()
    story.tool("connect", error="no answer from host 1")
    story.tool("connect", error="no answer from host 2")
    story.write("ERROR", "ERROR", {"error_type": None, "message": "no answer from host 2"})
    story.end("error")

    assert [text for _, text in story.said("error")] == [
        "connect failed twice, first with: no answer from host 1, the last time uncaught."
    ]


def test_a_failed_call_that_ended_the_run_is_the_cause() -> None:
    """The ERROR event repeats the call's exception; the call is where to look."""
    story = Story()
    story.llm("Read it", "calling")
    call = story.tool("parse_invoice", {"path": "x"}, error={"error_type": "KeyError", "message": "'due_date'"})
    story.error("KeyError", "'due_date'")
    story.end("error")

    assert story.said("error") == [(call, "parse_invoice raised KeyError: 'due_date', which ended the run.")]
    assert story.verdict("error")["word"] == "Failed"
    assert headline(story.tally(), story.meta("error")) == "KeyError: 'due_date' in parse_invoice"


def test_an_uncaught_error_names_the_users_frame_and_the_call_before() -> None:
    """The innermost frame is often a library's; the user's own line is the one to open."""
    story = Story()
    story.tool("search", {"q": "a"}, "b")
    error = story.error("ZeroDivisionError", "division by zero", stack=STACK)
    story.end("error")

    assert story.said("error") == [
        (
            error,
            "The program raised ZeroDivisionError: division by zero in score, retrieval.py:114, after search #2.",
        )
    ]
    assert headline(story.tally(), story.meta("error")) == "ZeroDivisionError: division by zero in score"


def test_an_exit_status_is_said_as_one() -> None:
    """`sys.exit(3)` is a decision of the program, not an exception somebody forgot to catch."""
    story = Story()
    error = story.error("SystemExit", "3")
    story.end("error")

    assert story.said("error") == [(error, "The program ended itself with exit status 3.")]


def test_a_run_that_failed_without_an_error_says_so() -> None:
    """Foreign traces end as failed with nothing recorded; guessing would be worse than saying it."""
    story = Story()
    story.end("error")

    assert story.said("error") == [(2, "The run ended as failed, and no error was recorded.")]


@pytest.mark.parametrize(
    ("guardrail", "threshold", "actual", "sentence"),
    [
        ("max_tokens", 50_000, 50_212, "Stopped: 50,212 tokens exceeded max_tokens=50,000."),
        ("max_llm_calls", 60, 61, "Stopped: LLM call 61 exceeded max_llm_calls=60."),
        ("max_tool_calls", 5, 6, "Stopped: tool call 6 exceeded max_tool_calls=5."),
        ("max_events", 100, 101, "Stopped: event 101 exceeded max_events=100."),
        ("max_cost_usd", 1.0, 1.02, "Stopped: a cost of $1.02 exceeded max_cost_usd=$1.00."),
        ("max_duration_s", 30, 30.2, "Stopped: a run time of 30.2 s exceeded max_duration_s=30 s."),
    ],
)
def test_a_guardrail_names_itself_and_the_limit(guardrail: str, threshold: float, actual: float, sentence: str) -> None:
    """A stopped run worked as asked; the first question is which limit it was."""
    story = Story()
    stop = story.error("AgentDbgGuardrailExceeded", "…", guardrail=guardrail, threshold=threshold, actual=actual)
    story.end("error")

    assert story.said("error") == [(stop, sentence)]


def test_a_token_limit_shows_what_used_the_tokens() -> None:
    """A prompt that grows with every call is the usual reason, and the log shows it."""
    story = Story()
    for call in range(21):
        story.llm("q", "a", tokens=(1200 + 420 * call, 200))
    story.error("AgentDbgGuardrailExceeded", "…", guardrail="max_tokens", threshold=50_000, actual=50_212)
    story.end("error")

    assert story.said("error")[1] == (
        22,
        "The largest call took 9.8k tokens; the prompt grew from 1.2k to 9.6k over 21 calls.",
    )


def failing_loop(story: Story) -> dict[str, int]:
    """Five failed bookings with a thought between them, the last four with the same arguments."""
    at: dict[str, int] = {}
    evidence = []
    for attempt in range(5):
        story.llm(None, {"tool_calls": [{"function": {"name": "book", "arguments": "{}"}}]}, tokens=(7000, 100))
        booked = story.tool("book", {"bags": 0 if attempt == 0 else 2, "user": "mohamed"}, error=MISMATCH)
        at.setdefault("first", booked)
        if attempt == 1:
            at["second"] = booked
        evidence.append(booked)
        story.llm(None, {"tool_calls": [{"function": {"name": "think", "arguments": "{}"}}]}, tokens=(7000, 100))
        story.tool("think", {"thought": "hm"}, None)
        if attempt == 2:
            at["warning"] = story.loop("error_retry", "critical", "TOOL_CALL:book", evidence)
    return at


def test_a_retry_loop_names_cause_loop_cost_and_stop() -> None:
    """The three lines a developer needs: what failed, that it went round, who stopped it."""
    story = Story(stop_on_loop=True, stop_on_loop_min_repetitions=5)
    at = failing_loop(story)
    stop = story.error("AgentDbgLoopAbort", "…", guardrail="stop_on_loop", threshold=5, actual=5)
    story.end("error")

    cost = "It cost 17 calls, 57k tokens and 8.5 s, 80 % of the run."
    assert story.said("error") == [
        (at["first"], "book failed 5 times with the same error: payment amount does not add up"),
        (
            at["warning"],
            f"Loop: think → book repeated with the same arguments from #{at['second']} on. {cost}",
        ),
        (stop, "Stopped: the same steps repeated 5 times (stop_on_loop limit: 5)."),
    ]
    assert headline(story.tally(), story.meta("error")) == "book failed 5 times, same error"


def test_a_finished_run_names_its_failures_once() -> None:
    """The finding's own sentence would repeat the error that stands in the line above."""
    story = Story()
    at = failing_loop(story)
    story.llm("q", "Sorry, I could not book it.")
    story.end()

    (first, cause), (second, loop) = story.said()
    assert (first, second) == (at["first"], at["warning"])
    assert cause.endswith("but book failed 5 times: payment amount does not add up")
    assert loop.startswith("Loop: think → book repeated with the same arguments from #")


def test_a_loop_says_its_dollars_where_they_are_known() -> None:
    """What a loop burnt is the first thing its owner asks; the calls around it are not its fault."""
    story = Story()
    story.write("LLM_CALL", "gpt-4o", {"model": "gpt-4o", "status": "ok", "cost_usd": 5.0}, duration_ms=100)
    calls = []
    for _ in range(3):
        payload = {"model": "gpt-4o", "status": "ok", "cost_usd": 0.25}
        calls.append(story.write("LLM_CALL", "gpt-4o", payload, duration_ms=100))
        calls.append(story.tool("search", {"q": "x"}, "none"))
    story.loop("cycle", "critical", "LLM_CALL:gpt-4o -> TOOL_CALL:search", calls)
    story.end()

    assert "It cost 6 calls, $0.75 and 450 ms, 82 % of the run." in story.said()[0][1]


def test_a_loop_of_calls_that_took_no_time_says_no_time() -> None:
    """A file without times has every call at once; `and <1 ms` would be a claim."""
    story = Story()
    calls = [story.tool("search", {"q": "a"}, "none", duration_ms=0) for _ in range(4)]
    story.loop("cycle", "critical", "TOOL_CALL:search", calls)
    story.end()

    assert "It cost 4 calls." in story.said()[0][1]


def test_a_loop_that_is_left_costs_only_what_it_was() -> None:
    """Work that went on after the loop must not be blamed on it."""
    story = Story()
    evidence = [story.tool("search", {"q": "a"}, "nothing") for _ in range(3)]
    story.loop("cycle", "critical", "TOOL_CALL:search", evidence)
    for page in range(20):
        story.tool("read", {"page": page}, f"text {page}")
    story.end()

    assert story.said() == [
        (5, "Loop: search was called with the same arguments from #2 on. It cost 3 calls and 150 ms, 13 % of the run.")
    ]


@pytest.mark.parametrize(
    ("bags", "thoughts", "said"),
    [
        ([2, 2, 2], "abc", " → book repeated, book with the same arguments from #{0} on."),
        ([1, 2, 2], "aaa", " → book repeated with the same arguments from #{1} on."),
        ([1, 2, 2], "abc", " → book repeated, book with the same arguments from #{1} on."),
        ([2, 1, 2], "aaa", " → book repeated, think with the same arguments from #"),
        ([2, 1, 2], "abc", " → book repeated."),
    ],
)
def test_a_loop_claims_the_same_arguments_only_where_they_are(bags: list[int], thoughts: str, said: str) -> None:
    """The same call as long ago, with others in between, is not "the same arguments from there on"."""
    story = Story()
    story.tool("book", {"bags": bags[-1]}, "booked")
    evidence = []
    for number, thought in zip(bags, thoughts, strict=True):
        story.tool("think", {"thought": thought}, None)
        evidence.append(story.tool("book", {"bags": number}, error=MISMATCH))
    story.loop("error_retry", "critical", "TOOL_CALL:book", evidence)
    story.end()

    assert f"Loop: think{said.format(*evidence)}" in story.said()[1][1]


def test_what_came_after_the_warning_can_take_the_claim_back() -> None:
    """A stall may go on with other arguments than those it was found with."""
    story = Story()
    evidence = [story.tool("search", {"q": "a"}, "nothing") for _ in range(3)]
    story.loop("cycle", "critical", "TOOL_CALL:search", evidence)
    story.tool("search", {"q": "b"}, "nothing")
    story.tool("search", {"q": "b"}, "nothing")
    story.end()

    assert "same arguments from #2" not in story.said()[0][1]


def test_a_stall_in_a_finished_run_is_amber_and_in_its_own_words() -> None:
    """The finding's sentence says what was alike; the verdict adds what it cost."""
    story = Story()
    evidence = [story.tool("page_down", {"n": n}, "same page", duration_ms=2000) for n in range(5)]
    story.loop("stall", "warning", "TOOL_CALL:page_down", evidence, "page_down returned nothing new 5 times.")
    story.end()

    assert story.said() == [(7, "page_down returned nothing new 5 times. It cost 5 calls and 10 s, 100 % of the run.")]
    assert {"text": "page_down", "style": "code"} in story.verdict()["lines"][0]["parts"]
    assert story.verdict()["tone"] == "warn"


def test_an_info_finding_is_never_in_the_verdict() -> None:
    """Healthy runs repeat steps all the time."""
    story = Story()
    evidence = [story.tool("search", {"q": q}, q) for q in "abc"]
    story.loop("repetition", "info", "TOOL_CALL:search", evidence)
    story.end(result="done with it")

    assert story.said() == [(None, "Answered: done with it")]


def test_a_dead_process_names_the_call_it_died_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """An out-of-memory kill leaves nothing but the start of the call it happened in."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    story = Story()
    story.tool("list_pages", {}, [1, 2])
    start = story.call_start("fetch_page", given={"url": "u"})

    assert story.said("error") == [
        (
            start,
            "The process ended inside fetch_page. The start of that call, at 22:13:20, is the last thing it recorded.",
        )
    ]
    assert story.verdict("error")["word"] == "Died"
    assert headline(story.tally(), story.meta("error")) == "process died in fetch_page"


def test_a_dead_process_between_calls_names_the_last_thing_recorded() -> None:
    """Without a call to blame, the last event is the best place to start looking."""
    story = Story()
    last = story.tool("list_pages", {}, [1, 2])

    number, text = story.said("error")[0]
    assert number == last
    assert text.startswith("The process ended without closing the run. The last thing it recorded was list_pages, at ")


def test_ctrl_c_says_which_call_it_hit() -> None:
    """People press Ctrl-C when an agent hangs; where it hung is the question."""
    story = Story()
    call = story.llm("q", error={"error_type": "KeyboardInterrupt", "message": ""}, duration_ms=11_000)
    story.error("KeyboardInterrupt", "")
    story.end("error")

    assert story.said("error") == [(call, "Ctrl-C during gpt-4o, 11 s into the call.")]
    assert story.verdict("error")["word"] == "Interrupted"


def test_ctrl_c_between_calls_says_after_which() -> None:
    """A recorder that only sees finished calls still knows the last one."""
    story = Story()
    call = story.tool("search", {}, "x")
    error = story.error("KeyboardInterrupt", "")
    story.end("error")

    assert story.said("error") == [(error, f"Ctrl-C after search #{call}.")]


def test_a_live_run_says_what_it_does_now() -> None:
    """A call that has not ended is what the user is waiting for."""
    story = Story()
    story.call_start("o3-mini", kind="llm", given="q")

    assert story.said("running", later_ms=2400) == [(None, "Waiting for o3-mini (2.4 s)")]
    assert story.verdict("running")["tone"] == "running"


def test_a_live_run_in_trouble_is_red_before_it_ends() -> None:
    """Stopping a looping agent early is what a live view is for."""
    story = Story()
    at = failing_loop(story)

    said = story.said("running")
    assert said[0] == (at["first"], "book has failed 5 times with the same error: payment amount does not add up")
    assert said[1] == (
        at["warning"],
        "Loop, still going: 57k tokens and 8.5 s so far. stop_on_loop is off, so nothing will stop it.",
    )
    assert story.verdict("running")["tone"] == "error"


def test_a_run_with_nothing_in_it_still_gets_a_verdict() -> None:
    """The first second of every run looks like this."""
    story = Story()

    assert story.said("running") == [(None, "Started; no call has been recorded yet")]
    assert story.said("error") == [(1, "The process ended before it recorded a call.")]


def test_the_headline_needs_only_the_last_events() -> None:
    """A list of ten thousand runs cannot index every one of them."""
    story = Story()
    for _ in range(50):
        story.llm("q", "thinking")
    story.llm("q", "Your seat is 12A.")
    story.end()

    assert headline_from_tail(story.meta(), story.events[-5:]) == "Your seat is 12A."


def test_what_a_program_wrote_before_the_user_is_not_what_was_asked() -> None:
    """Coding agents put reminders of their own in front of the first request."""
    reminder = "<system-reminder>Keep it short.</system-reminder>"
    story = Story()
    story.llm([{"role": "user", "content": reminder}, {"role": "user", "content": "Fix the <b>till</b>."}], "Done.")
    story.end()

    assert first_request(story.tally()) == "Fix the <b>till</b>."


def test_an_answer_that_is_a_message_is_its_words() -> None:
    """A program that returns the model's last message has answered with what is in it."""
    said = [{"type": "output_text", "text": "Mended."}, {"type": "output_text", "text": "It holds."}]

    assert spoken({"role": "assistant", "content": said}) == "Mended.\nIt holds."
