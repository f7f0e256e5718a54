"""The agents themselves. Each is an ordinary function that a person could have written."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentdbg import record_state, tool, trace
from agentdbg.demo.model import Conversation, calling

__all__ = ["book_flight", "read_invoice", "refund_order", "research"]

_ORDERS = {"8812": {"item": "desk lamp", "paid": 39.9, "days_ago": 6}}
_INBOX = {"inbox/invoice-2041.txt": "Invoice 2041\nTotal: 1,280.00 EUR\nPayable within 30 days"}
_PAGES = {
    "lithium": "Sodium cells avoid lithium and cobalt. They hold about 30 % less energy per kilogram.",
    "price": "Cell prices: sodium 60 to 80 USD per kWh, lithium iron phosphate 70 to 90.",
    "cold": "Sodium cells keep 90 % of their capacity at minus 20 degrees.",
}


@tool
def find_order(order_id: str) -> dict[str, Any]:
    return _ORDERS[order_id]


@tool
def refund(order_id: str, amount: float) -> dict[str, Any]:
    time.sleep(0.05)
    return {"order_id": order_id, "refunded": amount, "to": "card ending 4242"}


@trace(name="demo: refund an order")
def refund_order(request: str = "My desk lamp arrived broken. Can I have my money back? Order 8812.") -> str:
    """A healthy agent: two tools, an answer."""
    talk = Conversation("You help customers of a lamp shop. Refund what is broken and younger than 30 days.")
    talk.user(request)
    talk.answer(calling("find_order", order_id="8812"))
    order = find_order("8812")
    record_state({"stage": "order found", "order": "8812"})
    talk.tool_result(order)
    talk.answer(calling("refund", order_id="8812", amount=order["paid"]))
    talk.tool_result(refund("8812", order["paid"]))
    record_state({"stage": "refunded", "order": "8812", "amount": order["paid"]})
    return talk.answer(
        "I have refunded 39.90 for the desk lamp to your card ending 4242. Sorry that it arrived broken."
    )


@tool
def read_file(path: str) -> str:
    return _INBOX[path]


@tool
def parse_invoice(text: str) -> dict[str, str]:
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return {"total": fields["Total"], "due_date": fields["Due"]}


@trace(name="demo: read an invoice")
def read_invoice(path: str = "inbox/invoice-2041.txt") -> dict[str, str]:
    """An agent that fails in a tool: the invoice says when it is due in a way its parser does not know."""
    talk = Conversation("You enter invoices into the books.")
    talk.user(f"Please enter {path}.")
    talk.answer(calling("read_file", path=path))
    text = read_file(path)
    talk.tool_result(text)
    talk.answer(calling("parse_invoice", text=text))
    entry: dict[str, str] = parse_invoice(text)
    return entry


@tool
def search_flights(origin: str, destination: str, date: str) -> list[dict[str, Any]]:
    time.sleep(0.04)
    return [{"flight": "DM204", "origin": origin, "destination": destination, "date": date, "price": 214}]


@tool
def book(flight: str, passenger: str, payment: float) -> dict[str, Any]:
    time.sleep(0.03)
    raise ValueError(f"the payment of {payment:.2f} does not cover the price of 214.00 for {passenger} on {flight}")


@trace(name="demo: book a flight", stop_on_loop=True, stop_on_loop_min_repetitions=4)
def book_flight(request: str = "Book me the cheapest flight from Oslo to Lisbon on 3 May. My budget is 200.") -> str:
    """An agent that goes round in circles: it repeats a booking that cannot work, until the guardrail stops it."""
    talk = Conversation("You book flights. Never give up before the flight is booked.")
    talk.user(request)
    talk.answer(calling("search_flights", origin="OSL", destination="LIS", date="2026-05-03"))
    talk.tool_result(search_flights("OSL", "LIS", "2026-05-03"))
    for _ in range(30):
        talk.answer(calling("book", flight="DM204", passenger="Dana", payment=200.0))
        try:
            talk.tool_result(book("DM204", "Dana", 200.0))
        except ValueError as error:
            talk.tool_result(f"Error: {error}")
        else:
            break
    return talk.answer("Your flight is booked.")


@tool
def fetch_page(topic: str) -> str:
    time.sleep({"lithium": 0.12, "price": 0.25, "cold": 0.18}[topic])
    return _PAGES[topic]


@trace(name="gather")
def gather(topics: list[str]) -> dict[str, str]:
    """Read all pages at the same time."""
    with ThreadPoolExecutor(max_workers=len(topics)) as pool:
        return dict(zip(topics, pool.map(fetch_page, topics), strict=True))


@trace(name="summarise")
def summarise(topic: str, page: str) -> str:
    talk = Conversation("You sum up a page in one sentence.", pace=0.6)
    talk.user(f"{topic}: {page}")
    return talk.answer(page.split(". ", maxsplit=1)[0] + ".")


@trace(name="demo: research a question")
def research(question: str = "Are sodium batteries ready to replace lithium ones?") -> str:
    """Nested and parallel work: pages are read at once, summed up one by one, then put together."""
    talk = Conversation("You research questions. Read several sources at once.")
    talk.user(question)
    talk.answer("I will look at energy density, price and cold weather.")
    pages = gather(["lithium", "price", "cold"])
    notes = [summarise(topic, page) for topic, page in pages.items()]
    talk.tool_result("\n".join(notes))
    return talk.answer(
        "**For stationary storage and cold climates: yes.** They are cheaper and work at minus 20 degrees, "
        "but hold about 30 % less energy per kilogram, so cars with long range keep lithium for now."
    )
