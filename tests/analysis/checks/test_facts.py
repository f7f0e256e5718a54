"""What is said counts, and not in which words: messages by their facts, lists that are sets as sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.text_facts import facts_in, is_message
from agentdbg.exceptions import UsageError
from tests.analysis.checks.runs import baseline, only_failure, refund_story, report
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Ran]

LETTER = "Dear Anna, you get $40.00 back for your order A-17. The money is with you by May 20, 2024, 5 pm."
SAME = [
    "Hello Anna!\n\nWe have refunded 40 USD for order A-17. It arrives by 2024-05-20 at 17:00.\n\nThe Support Team",
    "<style>p {color: red}</style><p>Dear Anna,</p><p>Your <b>40&nbsp;USD</b> for A-17: May 20, 2024, 17:00.<br></p>",
    "We are glad to tell you that the refund of $40 for A-17 will be there on the 20th of May, 5:00 p.m.",
]
OTHER = {
    "amount": LETTER.replace("40.00", "400.00"),
    "order": LETTER.replace("A-17", "A-71"),
    "day": LETTER.replace("May 20", "May 21"),
    "year": LETTER.replace("2024", "2025"),
    "time": LETTER.replace("5 pm", "6 pm"),
    "person": LETTER.replace("Anna", "Bob"),
    "refusal": LETTER.replace("you get", "you cannot get"),
    "more": LETTER + " You also get 15 as a gift.",
}


def _mail(body: str, **more: Any) -> Story:
    story = Story()
    story.tool("send_email", {"to": "a@b.c", "body": body, **more}, "sent")
    story.end()
    return story


@pytest.mark.parametrize("body", SAME, ids=["other words", "HTML", "prose"])
def test_a_reworded_letter_is_the_same_effect(cli: Cli, data_dir: Path, body: str) -> None:
    """No model writes the same letter twice, and a gate that stops each of them is switched off."""
    assert report(_mail(body), baseline(_mail(LETTER))).passed
    ran = cli("diff", store(data_dir, _mail(LETTER)), store(data_dir, _mail(body)))
    assert ran.out.startswith("≈ Same effects")
    assert "Both did the same: 1 side effect, with arguments that say the same." in ran.out
    assert "Only the wording differs." in ran.out


@pytest.mark.parametrize("body", OTHER.values(), ids=OTHER)
def test_a_letter_that_says_something_else_is_another_effect(body: str) -> None:
    """400 for 40 in the same words is the one mistake that matters."""
    failed = only_failure(report(_mail(body), baseline(_mail(LETTER))))

    assert "`send_email` has other arguments" in failed.sentence
    assert "- body:" in failed.diff


def test_who_gets_a_letter_is_never_a_matter_of_words() -> None:
    """Only messages are read for what they say; an address, a code or a choice is itself."""
    known = baseline(_mail(LETTER))

    assert not report(_mail(LETTER, to="b@b.c"), known).passed
    assert not report(_mail(LETTER, priority="high"), known).passed


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("rm -rf the build and the old one", "rm -rf the source and the new one"),
        ("Please ring twice and leave it with the neighbours", "At the back door, under the old mat"),
        ("New York", "San Francisco"),
        ("if x: return the value of the sum", "if y: return the value of the product = 3"),
    ],
)
def test_what_is_no_letter_with_facts_is_compared_by_its_words(was: str, now: str) -> None:
    """Two notes without a figure in them are not the same note."""
    assert not report(_mail(now), baseline(_mail(was))).passed


def test_a_text_that_is_kept_as_it_is_is_compared_as_it_is() -> None:
    """What is written into a file is the effect, word by word."""

    def writes(text: str) -> Story:
        story = Story()
        story.tool("write_file", {"path": "a", "content": text}, "ok")
        story.end()
        return story

    assert not report(writes(SAME[0]), baseline(writes(LETTER))).passed


def _calls(args: dict[str, Any]) -> Story:
    story = Story()
    story.tool("update_order", args, "ok")
    story.end()
    return story


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, True),
        ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, False),
        ({"tags": ["a", "a"]}, {"tags": ["a"]}, False),
        ({"item_ids": [1, 2]}, {"item_ids": [2, 1]}, True),
        ({"people": [{"n": "A"}, {"n": "B"}]}, {"people": [{"n": "B"}, {"n": "A"}]}, True),
        ({"route": ["a", "b"]}, {"route": ["b", "a"]}, False),
        ({"coordinates": [1.5, 2.5]}, {"coordinates": [2.5, 1.5]}, False),
        ({"scores": [1, 2]}, {"scores": [2, 1]}, False),
        (
            {"item_ids": ["1", "2"], "new_item_ids": ["3", "4"]},
            {"item_ids": ["2", "1"], "new_item_ids": ["4", "3"]},
            True,
        ),
        (
            {"item_ids": ["1", "2"], "new_item_ids": ["3", "4"]},
            {"item_ids": ["2", "1"], "new_item_ids": ["3", "4"]},
            False,
        ),
        ({"a": {"cc": ["x", "y"]}}, {"a": {"cc": ["y", "x"]}}, True),
        ({"to": ["x", "y"], "labels": ["a", "b"]}, {"to": ["y", "x"], "labels": ["a", "b"]}, True),
        ({"sku_ids": ["x", "y"], "amounts": [1, 2]}, {"sku_ids": ["y", "x"], "amounts": [2, 1]}, True),
        ({"sku_ids": ["x", "y"], "amounts": [1, 2]}, {"sku_ids": ["y", "x"], "amounts": [1, 2]}, False),
        ({"ids": ["x", "y"], "route": ["a", "b"]}, {"ids": ["y", "x"], "route": ["b", "a"]}, False),
    ],
    ids=str,
)
def test_lists_that_are_sets_are_compared_as_sets(was: Any, now: Any, same: bool) -> None:
    """The order of recipients is chance; the order of a route, or of what is exchanged for what, is not."""
    assert report(_calls(now), baseline(_calls(was))).passed is same
    assert report(_calls(was), baseline(_calls(now))).passed is same


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("1,234.50 and 007", {"1234.5", "7"}),
        ("on 2024-05-20, May 20th and 20 May", {"05-20"}),
        ("at 5pm, 17:00, 5:00 PM", {"17:00"}),
        ("HAT172, #W123, A-17", {"HAT172", "W123", "A-17"}),
        ("write to A@b.co. See https://x.y/z.", {"a@b.co", "https://x.y/z"}),
        ("1. apples\n2. pears: three", {"3"}),
        ("5kg and the 3rd", {"5", "3"}),
        ("v4.2.0 on 10.0.0.1, up from 4.1", {"4.2.0", "10.0.0.1", "4.1"}),
        ("from v4.2 to V4.3, not 4.4.0-rc1.", {"4.2", "4.3", "4.4.0-rc1"}),
        ("nothing here", set()),
    ],
)
def test_a_fact_has_one_form(text: str, facts: set[str]) -> None:
    """Otherwise the same figure written differently would be another one."""
    assert facts_in(text).numbers_and_ids == facts


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        ("We refund you $40 for the order.", "We refund you 40.00 USD for the order.", True),
        ("We refund you 40 euros for the order.", "We refund you 40 for the order.", True),
        ("We refund you $40 for the order.", "We refund you 40 EUR for the order.", False),
        ("We refund you 40 USD for the order.", "We refund you 40 EUR for the order.", False),
        ("We deliver order 7 on Monday.", "Order 7 is delivered on Tuesday.", False),
        ("We deliver order 7 on Monday, May 20.", "We deliver order 7 on May 20.", True),
        ("Your card was charged twice for A-17.", "There are two payments of your card for A-17.", True),
        ("Your card was charged twice for A-17.", "Your card was charged by mistake for A-17.", True),
        ("You have 2 payments for the order A-17.", "There are two payments for the order A-17.", True),
        ("You have 2 payments for the order A-17.", "There are payments for the order A-17.", False),
        ("We send two parcels to you for A-17.", "We send three parcels to you for A-17.", False),
        ("We send two parcels to you for A-17.", "We send 3 parcels to you for A-17.", False),
        ("Your invoice A-17", "About your invoice A-17", True),
        ("Order A-17 confirmed", "Order A-17 cancelled", False),
        ("Order A-17 confirmed", "Order A-18 confirmed", False),
    ],
)
def test_a_number_in_words_may_be_left_out_and_not_exchanged(was: str, now: str, same: bool) -> None:
    """`charged twice` and `two payments` are wordings; three parcels for two are not."""
    for one, other in ((was, now), (now, was)):
        assert report(_mail(LETTER, subject=one), baseline(_mail(LETTER, subject=other))).passed is same


def test_code_is_no_message() -> None:
    """`x = 1` for `y = 1` is no other wording."""
    assert not is_message("for x in range(3): print(x) if the value is in it", "text")
    assert not is_message("SELECT a FROM the_table WHERE b = 1 and c is not null", "text")
    assert not is_message("git push --force to the origin of it", "text")


def test_an_answer_with_another_figure_is_stopped_where_the_policy_asks(cli: Cli, data_dir: Path) -> None:
    """The right calls and the wrong sum: nothing outside changed, and the customer was told nonsense."""
    good = store(data_dir, refund_story(says="You get 40 back on May 20."))
    cli("baseline", good, "--out", "b.json")
    reworded = store(data_dir, refund_story(says="Done: the 40 euros are with you on 2026-05-20."))
    shorter = store(data_dir, refund_story(says="Done, have a nice day!"))
    wrong = store(data_dir, refund_story(says="You get 400 back on May 20."))
    refused = store(data_dir, refund_story(says="I could not give two times 40 back on May 20."))

    for run in (good, reworded, shorter):
        assert cli("assert", run, "-b", "b.json", "--answer", "facts").code == 0
    assert cli("assert", wrong, "-b", "b.json").code == 0
    assert "answers with a refusal" in cli("assert", refused, "-b", "b.json", "--answer", "facts").out
    failed = cli("assert", wrong, "-b", "b.json", "--answer", "facts")
    assert failed.code == 1
    assert "✕ answer      The answer says 400 where the baseline's says 40." in failed.out
    assert "- You get 40 back on May 20.\n    + You get 400 back on May 20.\n" in failed.out


def test_any_answer_of_the_baselines_runs_is_a_good_one() -> None:
    """Two good runs may answer differently."""
    known = baseline(refund_story(says="It is 3 days."), refund_story(says="It is 4 days."))

    assert report(refund_story(says="You wait 4 days."), known, answer="facts").passed
    assert only_failure(report(refund_story(says="You wait 5 days."), known, answer="facts")).name == "answer"


def _silent() -> Story:
    """It does all the work and says nothing in the end."""
    story = Story()
    story.llm([{"role": "user", "content": "My money back, please"}], "", tokens=(900, 100))
    story.tool("find_order", {"order_id": "A-17"}, {"paid": 40})
    story.tool("refund", {"order_id": "A-17", "amount": 40}, {"ok": True, "id": 7})
    story.end()
    return story


@pytest.mark.parametrize("rules", [{}, {"answer": "facts", "findings": "off"}], ids=["by default", "answer: facts"])
def test_a_run_that_says_nothing_where_the_baselines_runs_answered_is_stopped(rules: dict[str, Any]) -> None:
    """Its last write may have been the purpose of a run; whoever waited for the answer waits in vain."""
    assert "answer" in only_failure(report(_silent(), baseline(), **rules)).sentence
    assert report(_silent(), baseline(refund_story(), _silent()), **rules).passed
    assert report(_silent(), baseline(_silent())).passed


def test_an_answer_needs_a_baseline_that_holds_one() -> None:
    """A check that cannot be made must not look like one that holds."""
    with pytest.raises(UsageError, match="answer: facts needs a baseline to compare with"):
        report(refund_story(), answer="facts")
    silent = Story()
    silent.tool("refund", {"amount": 40}, "ok")
    silent.end()
    assert "holds no answer" in only_failure(report(silent, baseline(silent), answer="facts")).sentence
