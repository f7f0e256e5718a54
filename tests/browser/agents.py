"""
Little agents recorded for the page, with the public verbs and nothing else.

Run as a program with the names of agents to record; prints the run id of each. What they say is chosen so that a test
can find it again.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from agentdbg import (
    AgentDbgGuardrailExceeded,
    llm_call,
    record_error,
    record_event,
    record_llm_call,
    record_state,
    record_tool_call,
    tool_call,
    trace,
    traced_run,
)

if TYPE_CHECKING:
    from agentdbg.recorder.run_lifecycle import RunHandle

BIG_INTEGER = 9_007_199_254_740_993
SCRIPT = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\'"><svg onload=window.pwned=1>'


def healthy() -> str:
    """Three turns, each a span with a model call and a tool, and a state that changes."""
    with traced_run("support-bot", meta={"session_id": "chat-7", "tags": ["nightly"]}) as run:
        for turn in range(3):
            _turn(turn)
            record_state({"stage": f"turn {turn}", "refunded": turn == 2})
        record_llm_call("gpt-4o", prompt="And?", response="Order 2 has shipped, and it is on its way to you.")
    return id_of(run)


@trace
def _turn(turn: int) -> None:
    question = [{"role": "user", "content": f"Where is order {turn}?"}]
    with llm_call("gpt-4o", prompt=question) as call:
        call.response = f"I will look up order {turn}."
        call.usage = {"prompt_tokens": 900 + turn, "completion_tokens": 12}
    with tool_call("find_order", args={"order": turn, "exact": BIG_INTEGER}) as call:
        call.result = {"state": "shipped", "serial": BIG_INTEGER}


def failing() -> str:
    """The same call fails the same way until the guardrail stops it."""
    with suppress(AgentDbgGuardrailExceeded), traced_run("airline-agent", stop_on_loop=True) as run:
        for attempt in range(12):
            answer = f"Trying again, attempt {attempt}."
            record_llm_call("gpt-4o", prompt="Book it.", response=answer, usage={"total_tokens": 700})
            record_tool_call(
                "book_reservation",
                args={"user": "mohamed", "baggages": 2},
                error=ValueError("payment amount does not add up, total price is 1203, but paid 833"),
                duration_ms=40,
            )
    return id_of(run)


def hostile() -> str:
    """Markup and control characters in every place where a user's text can enter."""
    nasty = SCRIPT + "\u202egnp.exe\x1b[31m"
    with traced_run(SCRIPT, meta={SCRIPT: SCRIPT, "session_id": SCRIPT}) as run:
        record_llm_call(nasty, prompt=[{"role": SCRIPT, "content": nasty}], response={SCRIPT: nasty}, provider=SCRIPT)
        record_llm_call(
            "gpt-4o",
            prompt=[
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "javascript:window.pwned=1"}}]}
            ],
            response=f"[x](javascript:window.pwned=1) {nasty}",
        )
        record_tool_call(nasty, args={SCRIPT: [nasty, {"__proto__": {"polluted": nasty}}]}, result=nasty)
        record_tool_call(SCRIPT, args={"a": 1}, error=RuntimeError(nasty))
        record_state({SCRIPT: nasty}, name=SCRIPT)
        record_event("APPROVAL", SCRIPT, {"by": nasty, SCRIPT: 1})
        record_error(ValueError(nasty), context=SCRIPT)
    return id_of(run)


def long() -> str:
    """Three thousand events, the one that matters far down."""
    with traced_run("long-haul") as run:
        for number in range(1500):
            record_llm_call("gpt-4o", prompt=f"question {number}", response=f"answer {number}", duration_ms=2)
            record_tool_call(
                "step", args={"number": number}, result="needle" if number == 1400 else number, duration_ms=1
            )
    return id_of(run)


def wordy(name: str = "patient-agent") -> str:
    """Calls of minutes, one as long as the whole run, and names endless or written from the right."""
    with traced_run(name) as run:
        time.sleep(0.01)  # a run that took no time has no shares
        record_llm_call("gpt-4o", prompt="Wait.", response="I waited.", duration_ms=1_235_000)
        record_tool_call("render_video", args={"frames": 5}, result="done", duration_ms=90_000)
        record_tool_call("بحث", args={"من": "القاهرة", "إلى": "دبي"}, result="three flights", duration_ms=12)
        record_tool_call("a_tool_whose_name_" + "goes_on_" * 20, args={}, result=1, duration_ms=1)
    return id_of(run)


def arabic() -> str:
    """The same under a name written from the right."""
    return wordy("وكيل حجز الرحلات")


def live() -> str:
    """Goes on until its standard input closes, a turn for each line it is given."""
    with traced_run("gaia-browser") as run:
        print(id_of(run), flush=True)
        for number, _ in enumerate(sys.stdin):
            with llm_call("o3-mini", prompt=f"page {number}") as call:
                call.response = f"calling page_down {number}"
            with tool_call("page_down", args={"page": number}) as call:
                call.result = f"page {number}"
            print(time.time(), flush=True)
    return id_of(run)


def id_of(run: RunHandle | None) -> str:
    """The id of a run that is being recorded, as all of these are."""
    assert run is not None
    return run.run_id


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run_id = globals()[name]()
        if name != "live":
            print(name, run_id, flush=True)
