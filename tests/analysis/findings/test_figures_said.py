"""Sums that do not come out, and figures that nobody gave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentdbg.analysis.findings import examine
from agentdbg.analysis.suspects import RunStory, rank
from agentdbg.analysis.suspects.sums import Figures, wrong_sums
from tests.analysis.story import Story

KINDS = {"wrong_sum", "figure_from_nowhere", "gave_figure_from_nowhere", "claims_after_nothing", "changed_another"}


def _found(*steps: tuple[str, Any, Any] | str, asked: str = "Help me with my order") -> list[str]:
    story, prompt = Story(), [{"role": "user", "content": asked}]
    for step in steps:
        if isinstance(step, str):
            story.llm(prompt, step)
        else:
            tool, args, result = step
            call = {"function": {"name": tool, "arguments": json.dumps(args)}}
            story.llm(prompt, {"content": "", "tool_calls": [call]})
            story.tool(tool, args, result)
    story.end()
    return [f"{one.kind} {one.severity}" for one in examine(story.events).findings if one.kind in KINDS]


@pytest.mark.parametrize(
    ("text", "comes_to"),
    [
        ("The lakes differ: 39.3 - 38.3 = 2.0 so it is larger.", "1"),
        ("$46.66 + $193.38 + $225.02 = $445.06.", "465.06"),
        ("So 12 * 3 = 35.", "36"),
        ("9 hours + 5 hours = 13 hours", "14"),
        (r"we get 7 \times 8 = 54 and", "56"),
        ("1,200 / 3 = 300", "400"),
    ],
)
def test_an_equation_that_does_not_come_out_is_found(text: str, comes_to: str) -> None:
    assert [one.right for one in wrong_sums(text)] == [comes_to]


@pytest.mark.parametrize(
    "text",
    [
        "46.66 + 193.38 = 240.04",
        "300 g / 28.35 = 10.6 oz",
        "5 km + 300 m = 5.3 km",
        "2024 - 1990 = 33",
        "7 / 2 = 3",
        "100 / 3 = 33.3",
        "3.33 * 3 = 10",
        "412,300 + 455,900 = 868,000",
        "2 + 2 = 5 is wrong",
        "(3 + 4) * 2 = 14",
        "2^3 + 4 = 12",
        "10 - 3 x 2 = 4",
        "2 + 3 = 5 + 1 = 6",
        "50 + 20 = 70%",
        "5 * 3 = 15 million",
        "`1 + 1 = 3`",
        "Is 2 + 2 = 5?",
        "page 3 of 4 + 5 = 9",
        "9" * 400 + " + 1 = 2",
    ],
)
def test_an_equation_that_comes_out_or_is_none_is_silent(text: str) -> None:
    """Rounding, other units, years counted with both ends, and what is only asked or doubted."""
    assert list(wrong_sums(text)) == []


def test_a_wrong_sum_is_a_problem() -> None:
    """Arithmetic denies it, whatever the run was about."""
    assert _found("The first has 39.3 and the other 38.3. 39.3 - 38.3 = 2.0.") == ["wrong_sum warning"]
    assert _found("You say that 2 * 2 = 5.", asked="Explain why 2 * 2 = 5") == []


@pytest.mark.parametrize("said", ["60", "20.00", "10.5", "295", "49.17 %", "$49.50"])
def test_a_figure_that_follows_from_others_is_given(said: str) -> None:
    """Sums, averages, differences, multiples and shares of what a result holds."""
    figures = Figures()
    figures.add('{"items": [{"price": 10.5}, {"price": 20.0}, {"price": 29.5}], "total": 60}')

    assert figures.give(said.strip("$ %"))


def test_a_figure_that_nothing_gives_is_named() -> None:
    result = {"revenue_musd": 412.6, "operating_income_musd": 38.1, "net_income_musd": 27.9}
    wrong = "The operating income was $48.7 m, see the filing."

    assert _found(("search_filings", {"company": "Halden"}, result), wrong) == ["figure_from_nowhere info"]


@pytest.mark.parametrize(
    "answer",
    [
        "The operating income was $38.1 million.",
        "The margin was 9.2 %, as 38.1 of 412.6.",
        "It is about 48.7 million, I estimate.",
        "Revenue and operating income together are 450.7.",
        "The filing is of 2024.",
        "Revenue is 374,50 above the operating income, which is 38,10.",
    ],
)
def test_a_figure_that_is_reckoned_or_estimated_is_left_alone(answer: str) -> None:
    result = {"revenue_musd": 412.6, "operating_income_musd": 38.1, "net_income_musd": 27.9}
    assert _found(("search_filings", {"company": "Halden"}, result), answer) == []


def test_an_amount_that_nobody_gave_is_named_in_the_call() -> None:
    asked = "Please change my rate to 85 euros, customer 7710342"
    found = {"contract": "V-553", "rate": 70}

    assert _found(
        ("find_customer", {"number": "7710342"}, found),
        ("update_rate", {"contract": "V-553", "amount": 58}, {"ok": True}),
        "Done.",
        asked=asked,
    ) == ["gave_figure_from_nowhere info"]
    assert (
        _found(
            ("find_customer", {"number": "7710342"}, found),
            ("update_rate", {"contract": "V-553", "amount": 85, "limit": 58}, {"ok": True}),
            "Done.",
            asked=asked,
        )
        == []
    )


def test_a_zero_too_many_is_no_multiple() -> None:
    asked = "Pay Ida a bonus of 1250 euros"
    for amount, found in ((12500, ["gave_figure_from_nowhere info"]), (125000, []), (2500, [])):
        assert _found(("pay_bonus", {"amount": amount}, {"ok": True}), "Ida has it.", asked=asked) == found


def test_names_right_after_an_empty_result_are_named() -> None:
    """Whoever found nothing and answers with a name made it up, or knew it all along."""
    empty: tuple[str, Any, Any] = ("wiki_search", {"query": "chess championship 1987"}, {"hits": []})

    story = RunStory()
    prompt = [{"role": "user", "content": "Who won in 1987?"}]
    told = Story()
    told.llm(prompt, {"content": "", "tool_calls": [{"function": {"name": "wiki_search", "arguments": "{}"}}]})
    told.tool("wiki_search", {"query": "chess championship 1987"}, {"hits": []})
    told.llm(prompt, "It was won by Manuel Rivas.")
    told.end()
    assert next(one.kind for one in rank(story.after(told.events), has_failed=False)) == "claims_after_nothing"
    assert _found(empty, "I could not find out who won, perhaps Manuel Rivas.", asked="Who won in 1987?") == []
    assert _found(empty, ("wiki_search", {"query": "x"}, "Won by Manuel Rivas"), "Manuel Rivas won.") == []


def test_a_change_of_another_thing_than_the_one_asked_for_is_named() -> None:
    tickets = ("list_tickets", {"reporter": "mo"}, [{"id": "T-1044"}, {"id": "T-1040"}])
    looked = ("get_ticket", {"id": "T-1044"}, {"id": "T-1044", "title": "Printer"})
    asked = "Close ticket T-1044 as solved"

    other = ("close_ticket", {"id": "T-1040"}, {"id": "T-1040", "status": "closed"})
    right = ("close_ticket", {"id": "T-1044"}, {"id": "T-1044", "status": "closed"})
    assert _found(looked, tickets, other, "Done.", asked=asked) == ["changed_another info"]
    assert _found(looked, tickets, right, "Done.", asked=asked) == []
    assert _found(looked, tickets, other, "Done.", asked=f"{asked}, and T-1040 too") == []
