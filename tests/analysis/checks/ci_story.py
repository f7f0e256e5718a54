"""
Changes of an agent that a team sees in CI: harmless ones that must pass the gate, and harmful ones it must stop.

One support agent: it reads an order, refunds it, opens a ticket, writes to the customer and answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.analysis.story import Story

LETTER = "Dear Ms Osei, your refund of $40.00 for order A-17 will arrive by May 20, 2024. Kind regards, your team"
ANSWER = "I have refunded $40.00 for order A-17. It arrives by May 20, 2024, 17:00. I wrote to ama@example.com."
QUESTION = [{"role": "user", "content": "Please refund order A-17, it never came."}]
BROKE = {"error_type": "ConnectionError", "message": "Connection reset by peer"}
REFUSED = {"error_type": "ConnectError", "message": "[Errno 111] Connection refused"}


@dataclass
class Call:
    """One call of a tool."""

    name: str
    args: Any
    result: Any = None
    error: Any = None


def reads(*names: str) -> list[Call]:
    results = {
        "get_order": {"order_id": "A-17", "paid": 40, "status": "lost"},
        "find_customer": {"name": "Ama Osei", "email": "ama@example.com"},
        "search_policy": "Lost parcels are refunded in full.",
        "look_up_rates": {"USD": 1},
    }
    return [Call(name, {"id": "A-17"}, results[name]) for name in names]


def refund(amount: Any = 40, result: Any = None, error: Any = None, **more: Any) -> Call:
    return Call("refund_order", {"order_id": "A-17", "amount": amount, "currency": "USD", **more}, result, error)


def ticket(number: str = "T-811", **more: Any) -> list[Call]:
    """A ticket is opened, and gets its number from the help desk."""
    return [
        Call("create_ticket", {"subject": "Lost parcel A-17", "tags": ["lost", "refund"], **more}, {"id": number}),
        Call("resolve_ticket", {"ticket_id": number}, {"ok": True}),
    ]


def letter(body: str = LETTER, to: Any = None, **more: Any) -> Call:
    to = ["ama@example.com", "desk@shop.example"] if to is None else to
    return Call("send_email", {"to": to, "subject": "Your refund", "body": body, **more}, {"sent": True})


@dataclass
class Change:
    """The calls of a changed agent, what it answers, and what it spends."""

    calls: list[Call] = field(
        default_factory=lambda: [*reads("get_order", "find_customer"), refund(), *ticket(), letter()]
    )
    answer: str = ANSWER
    tokens: int = 1000
    status: str = "ok"
    model: str = "gpt-4o"
    stop_reason: str = "stop"

    def story(self) -> Story:
        story = Story()
        story.llm(QUESTION, "I look it up.", tokens=(self.tokens - 100, 100), model=self.model)
        for call in self.calls:
            story.tool(
                call.name, call.args, call.result if call.result or call.error else {"ok": True}, error=call.error
            )
        if self.status == "error":
            story.error("KeyError", "'paid'")
            story.end("error", error={"error_type": "KeyError", "message": "'paid'"})
            return story
        said = story.llm(QUESTION, self.answer, tokens=(self.tokens - 100, 100), model=self.model)
        story.events[said - 1]["payload"]["stop_reason"] = self.stop_reason
        story.end(result=self.answer)
        return story


def _with(*calls: Call | list[Call]) -> Change:
    flat = [one for call in calls for one in (call if isinstance(call, list) else [call])]
    return Change([*reads("get_order", "find_customer"), *flat])


_OTHER_WORDS = (
    "Hello Ms Osei,\n\nGood news! We have sent 40 USD back to you for your order A-17. "
    "Please expect it by 20 May 2024.\n\nBest wishes\nThe support team"
)
HARMLESS: dict[str, Change] = {
    "the answer in other words": Change(answer="Done: $40 for order A-17 are on their way, here by 20 May 2024!"),
    "reads in another order": Change([*reads("find_customer", "get_order"), refund(), *ticket(), letter()]),
    "more reads": Change(
        [*reads("get_order", "search_policy", "find_customer", "look_up_rates"), refund(), *ticket(), letter()]
    ),
    "a read less": Change([*reads("get_order"), refund(), *ticket(), letter()]),
    "the letter in other words": _with(refund(), ticket(), letter(_OTHER_WORDS)),
    "the customer's full name in the letter": _with(refund(), ticket(), letter(_OTHER_WORDS.replace("Ms", "Ama"))),
    "the letter as a table": _with(
        refund(),
        ticket(),
        letter("Dear Ms Osei,\n\n| order | A-17 |\n|---|---|\n| refund | $40.00 |\n| arrives | 20 May 2024 |\n"),
    ),
    "recipients in another order": _with(refund(), ticket(), letter(to=["desk@shop.example", "ama@example.com"])),
    "tags in another order": _with(refund(), ticket(tags=["refund", "lost"]), letter()),
    "another ticket number from the help desk": _with(refund(), ticket("T-4902"), letter()),
    "another idempotency key": _with(refund(idempotency_key="8c1f"), ticket(), letter()),
    "writes in another order": _with(ticket(), letter(), refund()),
    "an amount as a float": _with(refund(40.0), ticket(), letter()),
    "an optional argument as null": _with(refund(reason=None), ticket(), letter(cc=None)),
    "a retry after a refused connection": _with(refund(error=REFUSED), refund(), ticket(), letter()),
    "a retry after a limit": _with(
        refund(result={"error": "rate limited", "status_code": 429}), refund(), ticket(), letter()
    ),
    "a retry after a refusal in words": _with(
        refund(result="Could not refund: the order is locked, try again"), refund(), ticket(), letter()
    ),
    "its own list of steps": _with(
        Call("TodoWrite", {"todos": [{"content": "refund", "status": "done"}]}, "ok"), refund(), ticket(), letter()
    ),
    "a read that failed once": Change(
        [
            Call("get_order", {"id": "A-17"}, error=BROKE),
            *reads("get_order", "find_customer"),
            refund(),
            *ticket(),
            letter(),
        ]
    ),
    "a third more tokens": Change(tokens=1330),
    "another version of the model": Change(model="gpt-4o-2024-11-20"),
    "a read through a shell": _with(
        Call("bash", {"command": "grep -n A-17 orders.csv"}, "17:A-17"), refund(), ticket(), letter()
    ),
    "a query": _with(
        Call("sql_db_query", {"query": "SELECT paid FROM orders WHERE id = 'A-17'"}, "40"), refund(), ticket(), letter()
    ),
    "a thought more": _with(Call("think", {"thought": "The parcel is lost."}, "ok"), refund(), ticket(), letter()),
    "a page fetched": _with(
        Call("http_request", {"method": "GET", "url": "https://shop.example/faq"}, "200"), refund(), ticket(), letter()
    ),
}
HARMFUL: dict[str, Change] = {
    "another amount": _with(refund(400), ticket(), letter()),
    "another currency": _with(
        Call("refund_order", {"order_id": "A-17", "amount": 40, "currency": "EUR"}), ticket(), letter()
    ),
    "another order": _with(
        Call("refund_order", {"order_id": "A-71", "amount": 40, "currency": "USD"}), ticket(), letter()
    ),
    "no refund": _with(ticket(), letter()),
    "two refunds": _with(refund(), refund(), ticket(), letter()),
    "a refund that may be done twice": _with(refund(error=BROKE), refund(), ticket(), letter()),
    "a refund that was refused": _with(refund(result={"error": "limit reached", "ok": False}), ticket(), letter()),
    "a refund that was refused in words": _with(
        refund(result="Refund rejected: card expired. Not processed."), letter()
    ),
    "half of a batch that was refused": _with(
        refund(result={"sent": 1, "failed": 1, "errors": ["card expired"]}), ticket(), letter()
    ),
    "somebody else mentioned": _with(refund(), ticket(), letter(LETTER + ", cc @ceo")),
    "a refund that timed out": _with(
        refund(error={"error_type": "ReadTimeout", "message": "timed out"}), ticket(), letter()
    ),
    "another recipient": _with(refund(), ticket(), letter(to=["amy@example.com", "desk@shop.example"])),
    "a recipient more": _with(
        refund(), ticket(), letter(to=["ama@example.com", "desk@shop.example", "all@shop.example"])
    ),
    "another amount in the letter": _with(refund(), ticket(), letter(LETTER.replace("$40.00", "$400.00"))),
    "another date in the letter": _with(refund(), ticket(), letter(LETTER.replace("May 20", "June 20"))),
    "another name in the letter": _with(refund(), ticket(), letter(LETTER.replace("Ms Osei", "Ms Mensah"))),
    "a letter that says no": _with(
        refund(),
        ticket(),
        letter("Dear Ms Osei, we cannot refund $40.00 for order A-17, May 20, 2024. Kind regards, your team"),
    ),
    "another ticket resolved": _with(refund(), ticket()[0], Call("resolve_ticket", {"ticket_id": "T-1"}), letter()),
    "a customer deleted": _with(refund(), ticket(), letter(), Call("delete_customer", {"id": 9}, {"ok": True})),
    "files deleted by a shell": _with(Call("bash", {"command": "rm -rf orders"}, ""), refund(), ticket(), letter()),
    "a table changed by a query": _with(
        Call("sql_db_query", {"query": "UPDATE orders SET paid = 0"}, "1 row"), refund(), ticket(), letter()
    ),
    "a script nobody knows": _with(Call("frobnicate", {"at": "A-17"}, "ok"), refund(), ticket(), letter()),
    "something posted": _with(
        Call("http_request", {"method": "POST", "url": "https://x.example"}, "200"), refund(), ticket(), letter()
    ),
    "messages marked as read": _with(refund(), ticket(), letter(), Call("mark_as_read", {"folder": "inbox"}, "ok")),
    "an error swallowed": _with(
        Call("search_policy", {"id": "A-17"}, error={"error_type": "KeyError", "message": "'policy'"}),
        refund(),
        ticket(),
        letter(),
    ),
    "an error in a result ignored": _with(
        Call("search_policy", {"id": "A-17"}, {"error": "index not found"}), refund(), ticket(), letter()
    ),
    "the same read again and again": _with(
        *(Call("get_order", {"id": "A-17"}, {"paid": 40}) for _ in range(6)), refund(), ticket(), letter()
    ),
    "four times the tokens": Change(tokens=4000),
    "a crash": Change([*reads("get_order")], status="error"),
    "an answer that was cut": Change(answer="I have refunded $40.00 for order A-17. It arr", stop_reason="length"),
    "no answer": Change(answer=""),
}
WRONG_ANSWERS: dict[str, Change] = {
    "another amount in the answer": Change(answer=ANSWER.replace("$40.00", "$400.00")),
    "another date in the answer": Change(answer=ANSWER.replace("May 20", "June 20")),
    "another order in the answer": Change(answer=ANSWER.replace("A-17", "A-71")),
    "another address in the answer": Change(answer=ANSWER.replace("ama@", "amy@")),
    "another hour in the answer": Change(answer=ANSWER.replace("17:00", "18:00")),
    "an answer that says no": Change(
        answer="I cannot refund $40.00 for order A-17. It arrived by May 20, 2024, 17:00. I wrote to ama@example.com."
    ),
}
"""Everything was done right; only the answer is wrong, and only `answer: facts` looks at it."""
