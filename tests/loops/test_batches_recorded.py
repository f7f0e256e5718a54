"""A batch that is recorded by any verb runs to its end, also where loops are stopped; a loop is stopped."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import AgentDbgLoopAbort, llm, llm_call, record_llm_call, tool, traced_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Recorded

LONG_ANSWER = "The invoice was paid in full and on time by the customer."


@llm(model="clerk")
def ask_text(question: str) -> str:
    """Answer one question."""
    return LONG_ANSWER if question else ""


@llm(model="clerk")
def ask_with_fields(invoice: int, *, task: str = "is it paid?") -> bool:
    """Answer by two arguments."""
    return bool(invoice and task)


@llm(model="clerk")
def ask_messages(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Answer a list of messages."""
    return {"role": "assistant", "content": "yes" if messages else "no"}


@tool
def read_rules() -> str:
    """Read what is the same for all."""
    return "Pay within thirty days, keep the receipt, and ask the office when in doubt."


def _by_record(number: int) -> None:
    record_llm_call("clerk", f"Is invoice {number} paid?", "yes")


def _by_messages(number: int) -> None:
    prompt = [{"role": "system", "content": "Help."}, {"role": "user", "content": f"Is invoice {number} paid?"}]
    record_llm_call("clerk", prompt, {"choices": [{"message": {"role": "assistant", "content": "yes"}}]})


def _by_block(number: int) -> None:
    with llm_call("clerk", prompt={"input": [{"role": "user", "content": f"Is invoice {number} paid?"}]}) as call:
        call.response = LONG_ANSWER


def _by_pair(number: int) -> None:
    record_llm_call("writer", f"Write section {number}.", f"This is section {number}.")
    record_llm_call("judge", f"Is this good? This is section {number}.", "PASS")


def _with_rules(number: int) -> None:
    record_llm_call("clerk", f"{read_rules()}\n\nIs invoice {number} paid?", "yes")


BATCHES: dict[str, Callable[[int], object]] = {
    "record_llm_call, a text": _by_record,
    "record_llm_call, messages": _by_messages,
    "llm_call": _by_block,
    "a writer and a judge": _by_pair,
    "llm, a text": lambda number: ask_text(f"Is invoice {number} paid?"),
    "llm, fields": ask_with_fields,
    "llm, messages": lambda number: ask_messages([{"role": "user", "content": f"Is invoice {number} paid?"}]),
    "a tool before each": _with_rules,
}


@pytest.mark.parametrize("name", list(BATCHES))
def test_a_batch_is_not_stopped(name: str, recorded: Recorded) -> None:
    """It was stopped at the third invoice."""
    with traced_run("batch", stop_on_loop=True):
        for number in range(4711, 4721):
            BATCHES[name](number)

    run = recorded.only()
    assert run.meta["status"] == "ok"
    assert {event["payload"]["severity"] for event in run.of_type("LOOP_WARNING")} <= {"info"}


@pytest.mark.parametrize("name", list(BATCHES))
def test_the_same_item_for_ever_is_stopped(name: str) -> None:
    """What tells them apart is the item alone."""
    with pytest.raises(AgentDbgLoopAbort), traced_run("loop", stop_on_loop=True):
        for _ in range(10):
            BATCHES[name](4711)


def test_a_batch_of_tasks_is_not_stopped(recorded: Recorded) -> None:
    """The answers come in any order."""

    async def one(number: int) -> None:
        async with llm_call("clerk", prompt=f"Is invoice {number} paid?") as call:
            await asyncio.sleep(0)
            call.response = "yes"

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(12)))

    with traced_run("batch", stop_on_loop=True):
        asyncio.run(all_of_them())

    assert recorded.only().meta["status"] == "ok"
