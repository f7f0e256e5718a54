"""One agent, run twice with another prompt in between: what the picture of a comparison shows."""

from __future__ import annotations

import time
from typing import Any, Literal

from agentdbg import llm_call, tool_call, traced_run

FLIGHTS = [{"number": "HAT172", "price": 207}, {"number": "HAT132", "price": 105}]
RESERVATION = {"reservation": "M05KNL", "from": "ATL", "to": "PHL", "cabin": "economy"}


def rebook(name: str, *, is_careful: bool) -> None:
    """Move a reservation to another day; the careful one compares prices first."""
    with traced_run(name):
        model = Model("You move reservations." + (" Always take the cheapest flight." if is_careful else ""))
        model.hear("Please move M05KNL to 24 May.")
        model.say("Let me see what you have booked." if is_careful else "I will look up your reservation.")
        _tool("get_reservation", {"reservation": "M05KNL"}, RESERVATION)
        model.say("There are two connections on that day." if is_careful else "Two flights fit that day.")
        _tool("search_flights", {"from": "ATL", "to": "PHL", "date": "2026-05-24"}, FLIGHTS)
        if is_careful:
            model.say("I compare what they cost.")
            _tool("calculate", {"expression": "207 - 105"}, 102)
        flight = FLIGHTS[1 if is_careful else 0]
        model.say(f"I take {flight['number']} for {flight['price']} dollars.")
        arguments = {"reservation": "M05KNL", "flights": ["HAT110", flight["number"]], "payment": "gift card 8887"}
        _tool("update_reservation", arguments, "updated", effect="write")
        model.say("Done. You fly on 24 May." if is_careful else "Your reservation was moved to 24 May.")


class Model:
    """Says what it is told to say, and remembers it."""

    def __init__(self, instructions: str) -> None:
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": instructions}]

    def hear(self, text: str) -> None:
        """The user says something."""
        self._messages.append({"role": "user", "content": text})

    def say(self, text: str) -> None:
        """One call of the model."""
        with llm_call("gpt-4o", prompt=list(self._messages)) as call:
            time.sleep(len(text) / 400)
            call.response = text
            call.usage = {"prompt_tokens": 700 + 240 * len(self._messages), "completion_tokens": len(text) // 4}
        self._messages.append({"role": "assistant", "content": text})


def _tool(name: str, arguments: dict[str, Any], result: Any, effect: Literal["write", "read"] = "read") -> None:
    with tool_call(name, args=arguments, effect=effect) as call:
        time.sleep(0.03)
        call.result = result


if __name__ == "__main__":
    rebook("rebook a flight, old prompt", is_careful=False)
    rebook("rebook a flight, new prompt", is_careful=True)
