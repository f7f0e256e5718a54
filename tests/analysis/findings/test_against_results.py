"""Words that do not fit what came back, and where the values of an event came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.findings import examine
from agentdbg.analysis.suspects import RATES, RunStory, provenance, rank
from tests.analysis.story import Story

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = {"contradicts_result", "claims_undone", "asked_about_another", "unused_result"}


def _found(tool: str, result: Any, answer: str, asked: str = "Help me with my order", args: Any = None) -> list[str]:
    story, prompt = Story(), [{"role": "user", "content": asked}]
    call = {"function": {"name": tool, "arguments": json.dumps(args or {})}}
    story.llm(prompt, {"content": "", "tool_calls": [call]})
    story.tool(tool, args or {}, result)
    story.llm(prompt, answer)
    story.end()
    return [f"{one.kind} {one.severity}" for one in examine(story.events).findings if one.kind in KINDS]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"balance": 120.5, "currency": "EUR"}, "Your balance is 310.75 euros."),
        ({"status": "cancelled"}, "All is well. The status is confirmed."),
        ({"delivery_date": "2024-05-03"}, "The delivery date is 2024-05-13."),
        ({"seat": "14C"}, "Your seat is 15D."),
        ('{"total": 88, "items": 3}', "The order has 3 items and the total: 97."),
        ({"available": False}, "The flight is available, shall I book it?"),
        ({"in_stock": False}, "Good news, it is in stock."),
        ({"id": "SUB-8841", "status": "past_due"}, "Yes, your subscription SUB-8841 is active."),
        ({"order": {"id": "#W17", "status": "cancelled"}}, "Your order is still open."),
        ({"id": "A-17", "status": "active"}, "I looked it up: order A-17 is cancelled."),
        ({"price": "142 GBP"}, "The room costs 142 euros a night."),
        ({"card_id": "4410", "status": "blocked"}, "Yes, card 4410 is active, you can use it at once."),
    ],
)
def test_a_claim_that_the_last_result_denies_is_a_problem(result: Any, answer: str) -> None:
    """The member is named in the claim, and the result gives it another value."""
    assert _found("get_order", result, answer) == ["contradicts_result warning"]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"balance": 120.5}, "Your balance is 120.50 euros."),
        ({"balance": 120.49}, "Your balance is about 120 euros."),
        ({"price": 27}, "The price is 54 for two."),
        ({"price": 27, "tax": 4}, "The price is 31 with tax."),
        ({"status": "delivered"}, "The status is complete."),
        ({"status": "cancelled"}, "The status was confirmed before you asked."),
        ({"items": [{"price": 3}, {"price": 9}]}, "The price is 9 for the second."),
        ({"available": False}, "The flight is not available."),
        ({"in_stock": False}, "I can tell you when it is in stock."),
        ({"temperature": 14}, "The temperature is 57 degrees Fahrenheit."),
        ({"state": "booked"}, "Your flight has been booked."),
        ({"id": "A-17", "status": "cancelled"}, "Your account is active, and the order is cancelled."),
        ({"id": "A-17", "status": "cancelled"}, "If the order is open, I can change it."),
        ({"id": "A-17", "status": "shipped"}, "Your order is confirmed."),
        ({"id": "A-17", "status": "closed", "items": [{"status": "open"}]}, "The order is open."),
        ({"id": "A-17", "status": "cancelled"}, "The shop is open."),
        ({"price": "142 GBP"}, "The room costs 142 pounds."),
        ({"price": "142 GBP"}, "That is roughly 142 euros."),
        ({"price": "142 GBP", "also": "142 EUR"}, "The room costs 142 euros."),
        ({"open": False, "opens_at": "09:00"}, "It is closed now. It is open from 09:00."),
        ({"version": "1.2.3"}, "The version is 1.2.3; the latest version is 1.3.0."),
        ({"size": 1048576}, "The size is 1 MB."),
        ({"duration": 90}, "The duration is 1.5 hours."),
    ],
)
def test_what_may_follow_from_the_result_is_left_alone(result: Any, answer: str) -> None:
    """Rounded, computed, converted, hedged: a false alarm is worse than silence."""
    assert [kind for kind in _found("get_order", result, answer) if "warning" in kind] == []


def test_something_said_to_be_done_that_no_call_did_is_a_problem() -> None:
    """A run that only looked things up cannot have cancelled a booking; one that sent a mail can."""
    assert "claims_undone warning" in _found("get_user", {"email": "a@b.c"}, "Your booking has been cancelled.")
    assert "claims_undone warning" in _found("get_user", {"email": "a@b.c"}, "I have updated your address.")
    assert _found("send_mail", {"ok": True}, "I have sent the mail.") == []
    assert _found("get_user", {"plan": "pro"}, "I have not cancelled anything. Your plan is pro.") == []


def test_a_call_about_another_id_than_the_one_asked_for_is_told() -> None:
    """Only where the asked one was never looked at."""
    asked = "When does order W-2291 come?"
    day = {"delivery": "2 March"}
    assert "asked_about_another info" in _found("get_order", day, "It comes on 2 March.", asked, {"id": "W-2281"})
    assert _found("get_order", day, "It comes on 2 March.", asked, {"id": "W-2291"}) == []


def test_every_value_of_an_event_has_its_source_or_comes_from_nowhere() -> None:
    """With the path in the result that brought it."""
    story, prompt = Story(), [{"role": "user", "content": "Seats to Graz on 2024-05-03?"}]
    story.llm(prompt, {"content": "", "tool_calls": [{"function": {"name": "find", "arguments": '{"to": "Graz"}'}}]})
    call = story.tool("find", {"to": "Graz"}, {"trains": [{"id": "R1", "seats": 1200}, {"id": "R22", "seats": 7}]})
    said = story.llm(prompt, "R22 goes on 3 May 2024 and has 1,200 seats at 55 euros.")
    told = {one.value: one.origin for one in provenance(RunStory.of(story.events), said)}
    assert told["R22"] is not None
    assert (told["R22"].number, told["R22"].path) == (call, "result.trains[1].id")
    assert told["1,200"] is not None
    assert told["1,200"].path == "result.trains[0].seats"
    assert told["55"] is None
    given = provenance(RunStory.of(story.events), call)
    assert [(one.value, one.path, one.origin and one.origin.who) for one in given] == [("Graz", "args.to", "asked")]


@pytest.mark.slow
def test_the_rates_of_suspects_are_those_the_benchmark_counts() -> None:
    """A change of a rule changes them; `make bench-blame` prints the new ones."""
    from benchmarks.blame import rates

    counted = rates(40)
    assert {kind: counted.get(kind) for kind in RATES} == RATES


def _loops(calls: Sequence[tuple[str, Any, Any, str | None]]) -> list[str]:
    story, prompt = Story(), [{"role": "user", "content": "Find it"}]
    for name, args, result, error in calls:
        story.llm(prompt, {"content": "", "tool_calls": [{"function": {"name": name, "arguments": json.dumps(args)}}]})
        failure = {"error_type": "Exception", "message": error} if error else None
        story.tool(name, args, result, error=failure)
    story.llm(prompt, "There it is.")
    story.end()
    return [one.severity for one in examine(story.events).findings if one.kind == "loop"]


QUERIES = ("mayor of Braga 1950", "mayor Braga in 1950", "the mayor of Braga 1950", "Braga mayor 1950 list")


def test_the_same_search_failing_in_other_words_is_one_loop() -> None:
    """The error repeats the query, so no two texts are equal."""
    said = "No results found for query: '{}'. Use a less specific query."
    assert _loops([("web_search", {"query": query}, None, said.format(query)) for query in QUERIES]) == ["warning"]


def test_one_loop_is_one_warning_however_it_was_found() -> None:
    """An argument that alternates between two empty values is one mistake."""
    values: list[Any] = ["", {}] * 3
    calls = [("page_down", {"": value}, None, "unexpected keyword argument ''") for value in values]
    assert len(_loops(calls)) == 1


def test_trying_again_after_a_change_and_searching_files_is_no_loop() -> None:
    """Tests that fail after each edit, and patterns that stand in no file."""
    fails = {"exit_code": 1, "stdout": ""}
    edits = [
        call
        for turn in range(5)
        for call in (
            ("edit_file", {"path": "a.py", "text": f"x = {turn}"}, {"saved": turn}, None),
            ("run_tests", {"turn": turn}, {"exit_code": 1, "stdout": f"{9 - turn} of {turn + 20} failed"}, None),
        )
    ]
    assert _loops(edits) == []
    assert (
        _loops(
            [
                ("bash", {"command": f"grep -rn {word} src"}, fails, None)
                for word in ("foo", "bar", "baz", "qux", "quux")
            ]
        )
        == []
    )


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("get_order", "I have added two checked bags to your reservation."),
        ("get_order", "I have upgraded your plan to Flex Plus."),
        ("get_order", "Your membership has been changed: it is frozen, and no fees are due."),
        ("buscar_citas", "Su cita del martes ha sido cancelada."),
        ("termin_suchen", "Ihr Termin wurde storniert."),
        ("get_order", "Votre commande a été annulée."),
        ("get_order", "您的订单已经取消,退款将在三天内到账。"),
        ("get_order", "ご予約をキャンセルしました。"),
    ],
)
def test_a_claim_to_have_done_something_is_seen_in_other_languages(tool: str, answer: str) -> None:
    assert _found(tool, {"id": "C-91", "day": "10:30"}, answer) == ["claims_undone warning"]


@pytest.mark.parametrize(
    ("tool", "result", "answer"),
    [
        ("buscar_citas", {"id": "C-91", "estado": "cancelada"}, "Su cita ha sido cancelada."),
        ("get_order", {"id": "C-91", "status": "cancelled"}, "Su cita ha sido cancelada."),
        ("cancelar_cita", {"id": "C-91", "dia": "10:30"}, "Su cita ha sido cancelada."),
        ("buscar_citas", {"id": "C-91"}, "Su cita no ha sido cancelada."),
        ("termin_suchen", {"id": "C-91"}, "Wenn der Termin storniert wurde, melden wir uns."),
        ("get_order", {"id": "C-91"}, "I have added a summary of what I found below."),
    ],
)
def test_what_a_result_tells_of_is_no_claim_in_any_language(tool: str, result: Any, answer: str) -> None:
    assert "claims_undone warning" not in _found(tool, result, answer)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Wurde mein Paket verschickt?", "Ja, Ihr Paket wurde verschickt und ist unterwegs."),
        ("¿Dónde está mi pedido?", "Su pedido ha sido enviado y está en camino."),
        ("我的订单取消了吗?", "您的订单已经取消。"),
        ("Note the cheaper plan", "I have added the cheaper plan, Basic, to my summary below."),
    ],
)
def test_who_asks_how_things_stand_is_told_of_the_work_of_others(asked: str, answer: str) -> None:
    """The parcel service sent it, and the agent only says so; a request with "please" is another matter."""
    assert "claims_undone warning" not in _found("get_order", {"id": "C-91", "place": "hub 3"}, answer, asked=asked)


def test_a_request_that_is_put_as_a_question_is_one() -> None:
    answer, asked = "Ihr Paket wurde verschickt.", "Können Sie mein Paket bitte verschicken?"
    assert "claims_undone warning" in _found("get_order", {"id": "C-91"}, answer, asked=asked)


@pytest.mark.parametrize(
    ("between", "named"), [((), True), ((("get_invoice", {"id": "INV-77"}, {"paid": False}),), False)]
)
def test_a_write_that_may_have_been_done_is_not_simply_repeated(between: Any, named: bool) -> None:
    """A second payment is what comes of it; whoever looks first may try again."""
    story, prompt = Story(), [{"role": "user", "content": "Pay invoice INV-77 of 340 euros."}]
    pay = ("pay", {"invoice": "INV-77", "amount": 340})
    for tool, args, result in ((*pay, "TimeoutError: the read operation timed out"), *between, (*pay, {"ok": True})):
        asked = story.llm(prompt, {"content": "", "tool_calls": [{"function": {"name": tool}}]})
        story.tool(tool, args, result, parent=asked)
    story.llm(prompt, "Invoice INV-77 is paid.")
    story.end()

    assert ("repeated_write" in {one.kind for one in rank(RunStory.of(story.events), has_failed=False)}) is named
