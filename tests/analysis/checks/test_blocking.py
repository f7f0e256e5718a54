"""What a gate has to block, and what it must let through."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentdbg.exceptions import UsageError
from tests.analysis.checks.runs import baseline, facts_of, only_failure, refund_story, report
from tests.analysis.story import Story


def test_the_same_run_again_passes() -> None:
    """The least that may be asked of a gate."""
    found = report(refund_story(), baseline())

    assert found.passed
    assert [result.name for result in found.results] == ["status", "loops", "findings", "effects", "max_tokens"]


def test_other_words_pass() -> None:
    """A model never says the same thing twice in the same way."""
    assert report(refund_story(says="Done! The 40 are on their way to you."), baseline()).passed


def test_another_order_of_parallel_reads_passes() -> None:
    """Which of two lookups returns first is chance."""
    assert report(refund_story(reads=("get_customer", "find_order")), baseline()).passed


def test_more_reads_and_other_tools_pass() -> None:
    """In more than half of all pairs of good runs the sets of tools differ."""
    assert report(refund_story(reads=("find_order", "search_policy", "get_customer", "get_rates")), baseline()).passed


def test_a_changed_effect_blocks_and_shows_the_argument() -> None:
    """The customer got 4,000 instead of 40: the one thing a gate is for."""
    failed = only_failure(report(refund_story(amount=4000), baseline()))

    assert failed.name == "effects"
    assert failed.sentence.startswith("Other side effects: #5: `refund` has other arguments.")
    assert failed.diff == "  #5 refund\n- amount: 40\n+ amount: 4000"
    assert [event.number for event in failed.events] == [5]
    assert failed.events[0].event_id == refund_story().id_of(5)


def test_an_effect_that_happens_twice_blocks() -> None:
    """Paid twice is not paid once, although the calls are the same."""
    failed = only_failure(report(refund_story(refunds=2), baseline()))

    assert "#6: `refund` is new" in failed.sentence
    assert failed.diff.startswith("+ #6 refund(")


def test_a_missing_effect_blocks() -> None:
    """The agent said so, and did not do it."""
    failed = only_failure(report(refund_story(refunds=0), baseline()))

    assert "`refund` is missing" in failed.sentence
    assert failed.diff.startswith("- refund(")


def test_a_guessed_effect_is_called_a_guess() -> None:
    """Whoever reads the verdict should know what it rests on."""
    failed = only_failure(report(refund_story(amount=1), baseline()))

    assert failed.sentence.endswith("That `refund` has side effects is a guess from the name.")


def test_a_missing_call_blocks() -> None:
    """A read leaves no trace outside, so a policy has to ask for it."""
    failed = only_failure(report(refund_story(reads=("get_customer",)), must_call=["find_order", "refund"]))

    assert failed.sentence == "`find_order` was not called."
    assert "tools called: get_customer (1), refund (1)" in failed.diff


def test_a_call_that_only_failed_does_not_count_as_made() -> None:
    """Calling it is not doing it."""
    story = Story()
    story.tool("refund", {"amount": 40}, error={"error_type": "Timeout", "message": "30 s"})
    story.end()
    failed = only_failure(report(story, must_call=["refund"]))

    assert failed.sentence == "`refund` was called, but never succeeded (#2)."


def test_a_new_loop_blocks() -> None:
    """It costs money and ends in a time-out, in production first."""
    story = refund_story(ended=False)
    story.loop("stall", "warning", "TOOL_CALL:find_order", [3], "find_order brings nothing new.")
    story.end()
    failed = only_failure(report(story, baseline()))

    assert failed.name == "loops"
    assert failed.sentence == "#7: find_order brings nothing new."
    assert failed.events[0].event_id == story.id_of(7)


def test_a_repetition_that_is_only_information_passes() -> None:
    """Work that goes on looks like a loop from afar."""
    story = refund_story(ended=False)
    story.loop("repetition", "info", "TOOL_CALL:find_order", [3])
    story.end()

    assert report(story, baseline(), loops="none").passed


def test_a_loop_that_the_baseline_has_passes_and_another_does_not() -> None:
    """Some agents poll, and their owners know."""

    def with_loop(pattern: str) -> Story:
        story = refund_story(ended=False)
        story.loop("stall", "warning", pattern, [3])
        story.end()
        return story

    known = baseline(with_loop("TOOL_CALL:poll"))
    assert report(with_loop("TOOL_CALL:poll"), known).passed
    assert only_failure(report(with_loop("TOOL_CALL:other"), known)).name == "loops"
    assert only_failure(report(with_loop("TOOL_CALL:poll"), known, loops="none")).name == "loops"


def test_doubled_tokens_block_and_the_call_that_went_over_is_named() -> None:
    """A prompt that grew is the usual reason, and the bill shows it a month later."""
    failed = only_failure(report(refund_story(tokens=2000), baseline()))

    assert failed.name == "max_tokens"
    assert failed.sentence == "4,000 tokens, 3,500 allowed: the baseline's 1 run needed 2,000; #6 went over it."
    assert failed.diff == "- total_tokens 3,500\n+ total_tokens 4,000"


def test_half_as_many_tokens_again_pass() -> None:
    """Good runs differ by that much all the time."""
    assert report(refund_story(tokens=1500), baseline()).passed


def test_more_calls_are_shown_where_a_budget_is_crossed() -> None:
    """Where the money went is the next question."""
    story = refund_story(reads=("find_order",) * 12)
    failed = only_failure(report(story, baseline(), max_steps="baseline", loops="off"))

    assert failed.name == "max_steps"
    assert "  find_order: 1 -> 12" in failed.diff


def test_a_run_that_failed_blocks_with_its_own_words() -> None:
    """The first thing to know is what it said."""
    story = refund_story(ended=False)
    story.error("KeyError", "'due'")
    story.end("error", error={"error_type": "KeyError", "message": "'due'"})
    failed = only_failure(report(story, baseline(), "error"))

    assert failed.sentence == "#7: The run ended with an error: KeyError: 'due'"
    assert failed.events[0].event_id == story.id_of(7), "the error has the stack, the end of the run has not"


def test_a_run_that_died_blocks_and_says_in_which_call() -> None:
    """No RUN_END, no exception: the process was killed, and the log ends in the middle of a call."""
    story = refund_story(ended=False)
    story.call_start("get_rates", given={"day": "today"})
    found = report(story, baseline(), "error")
    failed = only_failure(found)

    assert failed.name == "status"
    assert failed.sentence.startswith("#7: The process ended inside get_rates")
    assert failed.events[0].number == 7


def test_a_run_that_was_expected_to_fail_and_did_not_is_named_too() -> None:
    """A test of an agent that has to refuse something."""
    failed = only_failure(report(refund_story(), status="error"))

    assert failed.sentence == "#7: The run ended ok, but was expected to fail."


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"max_cost_usd": 0.0101}, "$0.010140, $0.010100 allowed; #2 went over it."),
        ({"max_duration_s": 1.02}, "1,040 ms, 1,020 ms allowed; the longest call was #2, `gpt-4o`, 1 s."),
    ],
)
def test_what_was_spent_and_what_is_allowed_are_told_apart(rules: dict[str, Any], says: str) -> None:
    """`$0.01, $0.01 allowed` is no reason to fail."""
    story = Story()
    number = story.llm("hello", "hello", tokens=(10, 10))
    story.events[number - 1]["payload"]["cost_usd"] = 0.01014
    story.tool("search", {}, "ok", duration_ms=40)
    story.end()

    assert only_failure(report(story, **rules)).sentence == says


def test_a_run_that_died_in_a_call_with_side_effects_fails_for_both_reasons() -> None:
    """Whether the money went out nobody knows, and somebody has to look."""
    story = refund_story(refunds=0, ended=False)
    story.call_start("refund", given={"order_id": "A-17", "amount": 40})
    found = report(story, baseline(), "error")

    assert [result.name for result in found.failures] == ["status", "effects"]
    assert "never returned" in found.failures[1].diff or "returned" in found.failures[1].diff


def test_a_run_that_is_still_going_on_blocks() -> None:
    """Judged too early is judged wrong."""
    failed = only_failure(report(refund_story(ended=False), baseline(), "running"))

    assert failed.sentence == "The run is still being recorded."


@pytest.mark.parametrize("rules", [{}, {"write_tools": ["refund"]}, {"tolerance": 1}, {"status": "off"}])
def test_no_checks_is_not_a_pass(rules: dict[str, Any]) -> None:
    """An empty policy that passes everything is worse than none: it looks like a gate."""
    with pytest.raises(UsageError, match="no checks is not a pass"):
        report(refund_story(), **rules)


def test_a_baseline_with_every_check_taken_away_is_not_a_pass() -> None:
    """`off` takes checks away one by one; what is left may be nothing."""
    off = dict.fromkeys(("status", "loops", "findings", "effects", "max_tokens", "max_cost_usd"), "off")
    with pytest.raises(UsageError, match="no checks is not a pass"):
        report(refund_story(), baseline(), **off)


def test_a_budget_for_what_was_not_recorded_fails() -> None:
    """A limit that cannot be checked must not look like one that holds."""
    failed = only_failure(report(refund_story(), max_cost_usd=1))

    assert failed.sentence == "The run did not record what it cost, so the budget cannot be checked."


def test_a_tool_that_must_not_be_called_blocks_even_when_it_never_returned() -> None:
    """A deletion that was begun may have been done."""
    story = refund_story(ended=False)
    story.call_start("delete_account", given={"id": 7})
    failed = only_failure(report(story, ended_as="error", must_not_call=["delete_*"]))

    assert failed.sentence == "#7: `delete_account` must not be called."


def test_a_tool_called_before_its_turn_blocks() -> None:
    """Refund first, check later is how money is lost."""
    story = Story()
    story.tool("refund", {"amount": 40}, "ok")
    story.tool("check_identity", {}, "ok")
    story.end()
    failed = only_failure(report(story, order=["check_identity", "refund"]))

    assert failed.sentence == "#2: `refund` was called before `check_identity`."
    assert failed.diff == "- check_identity -> refund\n+ refund -> check_identity"
    assert report(refund_story(), order=["find_order", "refund", "send_letter"]).passed


def test_a_tool_that_is_not_allowed_blocks() -> None:
    """For agents whose owners want no surprises at all."""
    story = refund_story(reads=("find_order", "run_shell"))

    assert only_failure(report(story, tools=["find_*", "refund"])).sentence == "#4: `run_shell` is not allowed."
    assert only_failure(report(story, baseline(), tools="baseline", effects="off")).name == "tools"


def test_the_names_of_a_baselines_tools_are_no_patterns() -> None:
    """A tool may be called `files[read]`, and no tool's name may stand for all the others."""
    odd = refund_story(reads=("files[read]", "*"))

    assert report(odd, baseline(odd), tools="baseline").passed
    other = report(refund_story(reads=("run_shell",)), baseline(odd), tools="baseline", effects="off")
    assert only_failure(other).name == "tools"


def test_side_effects_block_a_dry_run() -> None:
    """`effects: none` is for agents that may only look."""
    failed = only_failure(report(refund_story(), effects="none"))

    assert failed.sentence.startswith("`refund` changed something (#5).")
    assert report(refund_story(refunds=0), effects="none").passed


def test_arguments_that_always_differ_can_be_left_out() -> None:
    """A timestamp in the arguments would make every run another one."""

    def at(time: str) -> Story:
        story = Story()
        story.tool("send_mail", {"to": "a@b.c", "head": {"sent_at": time}}, "ok")
        story.end()
        return story

    assert not report(at("10:00"), baseline(at("11:00"))).passed
    assert report(at("10:00"), baseline(at("11:00")), ignore_args=["sent_at"]).passed
    assert report(at("10:00"), baseline(at("11:00")), ignore_args=["send_mail.sent_at"]).passed
    assert not report(at("10:00"), baseline(at("11:00")), ignore_args=["other.sent_at"]).passed


def test_a_finding_that_must_not_be_there_blocks() -> None:
    """`explain` knows more kinds of trouble than loops."""
    story = Story()
    for _ in range(4):
        story.tool("fetch", {"url": "x"}, error={"error_type": "Timeout", "message": "30 s"})
    story.llm("p", "All good.")
    story.end()
    found = report(story, must_not_find=["swallowed_error"])

    assert only_failure(found).name == "must_not_find"
    assert report(refund_story(), must_not_find=["swallowed_error"]).passed


def test_errors_are_counted_as_run_json_counts_them() -> None:
    """An exception that a failed call has told of is one error, not two."""
    story = Story()
    story.tool("refund", {}, error={"error_type": "KeyError", "message": "'due'"})
    story.error("KeyError", "'due'")
    story.error("ValueError", "bad", fatal=False)
    story.end()
    failed = only_failure(report(story, max_errors=1))

    assert failed.sentence == "2 errors, at most 1 allowed (#2, #4)."
    assert failed.diff == "+ #2 refund: KeyError: 'due'\n+ #4 ValueError: bad"
    assert report(story, max_errors=2).passed
    assert facts_of(story).totals["errors"] == 2


def test_a_tool_that_nothing_is_known_of_is_named_where_effects_are_judged() -> None:
    """Whoever reads the verdict should know what it rests on."""
    story = refund_story(reads=("frobnicate",))
    sentence = next(result.sentence for result in report(story, baseline(story)).results if result.name == "effects")

    assert "Side effects unknown: `frobnicate`, called as in the baseline." in sentence
    settled = report(story, effects="none", write_tools=["refund"], read_tools=["frobnicate"])
    assert "frobnicate" not in settled.results[0].sentence


def test_a_baseline_made_under_other_rules_is_suspected() -> None:
    """Somebody names a tool as a write, and every old baseline fails: the sentence should lead to the cause."""
    story = refund_story(reads=("find_order",))
    failed = only_failure(report(story, baseline(story), write_tools=["find_order"]))

    assert "The baseline's runs called `find_order` too, not as a side effect: make it anew?" in failed.sentence


def test_a_run_that_is_still_going_on_blocks_whatever_was_asked() -> None:
    """`must_not_call` holds until the run does it, a second after it was judged."""
    failed = only_failure(report(refund_story(ended=False), ended_as="running", must_not_call=["delete_*"]))

    assert failed.name == "complete"
    assert "still being recorded" in failed.sentence


def test_who_calls_no_model_has_spent_nothing() -> None:
    """One policy for a whole project must not stop a run that only uses tools."""
    story = Story()
    story.tool("find_order", {}, "ok")
    story.end()

    assert report(story, max_tokens=5, max_cost_usd=0).passed


def test_who_calls_nothing_was_perhaps_not_recorded() -> None:
    """A budget that holds because the recording was never switched on is no budget."""
    story = Story()
    story.end()

    assert only_failure(report(story, max_tokens=5)).sentence.startswith("The run did not record tokens")


def test_a_sum_that_is_not_all_of_it_says_so() -> None:
    """Half of the calls went through a client that tells nothing, and the budget holds for the other half."""
    story = Story()
    story.llm("p", "a", tokens=(10, 2))
    story.llm("p", "b")
    story.end()

    assert report(story, max_tokens=50).results[0].sentence == "12 tokens, 50 allowed (1 model call did not say)."
    assert "(1 model call did not say)" in only_failure(report(story, max_tokens=5)).sentence


def test_arguments_that_were_cut_are_compared_with_a_word_of_doubt() -> None:
    """The wrong account number may stand behind the cut."""

    def mail() -> Story:
        story = Story()
        story.tool("send_mail", {"body": "Dear customer __TRUNCATED__"}, "ok")
        story.end()
        return story

    [effects] = [result for result in report(mail(), baseline(mail())).results if result.name == "effects"]

    assert effects.passed
    assert "What `send_mail` was given was cut when it was recorded" in effects.sentence


def test_errors_of_a_baseline_that_has_none_written_down_cannot_be_compared() -> None:
    """What nobody knows is not what holds."""
    known = replace(baseline(), totals={})

    assert only_failure(report(refund_story(), known, max_errors="baseline")).name == "max_errors"


def test_a_verdict_on_very_many_calls_stays_readable() -> None:
    """An agent that went wild calls thousands of tools; the first ones tell as much as all of them."""
    story = Story()
    for number in range(800):
        story.tool(f"write_{number}", {"body": "x" * 50}, "ok")
    story.end()
    rules: dict[str, Any] = {"must_not_call": ["write_*"], "must_call": ["x"], "tools": ["x"], "max_steps": 5}
    found = report(story, baseline(), loops="off", **rules)

    assert len(found.failures) == 6
    for failed in found.failures:
        assert len(failed.sentence) < 600
        assert len(failed.diff.splitlines()) <= 61
        assert max(len(line) for line in failed.diff.splitlines()) <= 400
    assert len(report(story, baseline(story), loops="off").results[1].sentence) < 600


@pytest.mark.parametrize("ends", [("check_identity", "refund"), ("refund", "check_identity")])
def test_the_order_of_calls_is_the_order_they_were_made_in(ends: tuple[str, str]) -> None:
    """Which of two calls that run at once returns first is chance, and a call inside another always returns first."""
    story = Story()
    ids = {}
    for name in ("check_identity", "refund"):
        story.call_start(name)
        ids[name] = story.events[-1]["payload"]["call_id"]
    for name in ends:
        story.tool(name, {}, "ok", event_id=ids[name])
    story.end()

    assert report(story, order=["check_identity", "refund"]).passed
    assert only_failure(report(story, order=["refund", "check_identity"])).name == "order"
    assert [call.name for call in facts_of(story).calls] == ["check_identity", "refund"]
