"""Deciders: who is told of a call before it is made, and may answer, change or refuse it."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg import AgentDbgGuardrailExceeded, around, llm, llm_call, tool, tool_call, traced_run
from agentdbg.around import Answer, Outcome, Proceed, Refuse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

    from tests.conftest import Recorded, RecordedRun

made: list[Any] = []
"""What was really called, whatever the trace says."""


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    made.clear()
    yield
    assert around.add_decider.__globals__["asked"].chain == ()


class Says(around.Decider):
    """Says what it is told to say, and keeps what it heard."""

    def __init__(self, decision: Any = None, *, waited: Any = None, replaced: Any = None) -> None:
        self.decision, self.waited, self.replaced = decision, waited, replaced
        self.heard: list[Any] = []
        self.calls: list[around.AnnouncedCall] = []

    def decide(self, call: around.AnnouncedCall) -> Any:
        self.heard.append("decide")
        self.calls.append(call)
        return self.decision(call) if callable(self.decision) else self.decision

    def wait(self, call: around.AnnouncedCall) -> Any:
        self.heard.append("wait")
        return self.waited

    async def wait_async(self, call: around.AnnouncedCall) -> Any:
        await asyncio.sleep(0)
        self.heard.append("wait_async")
        return self.waited

    def ended(self, call: around.AnnouncedCall, outcome: Outcome) -> Any:
        self.heard.append(("ended", outcome.value, type(outcome.error).__name__ if outcome.error else None))
        return self.replaced

    async def ended_async(self, call: around.AnnouncedCall, outcome: Outcome) -> Any:
        await asyncio.sleep(0)
        return self.ended(call, outcome)

    def released(self, call: around.AnnouncedCall) -> None:
        self.heard.append("released")


# Four kinds of functions and two of blocks: each gives what it was called with.


@tool
def plain(city: str, days: int = 1) -> Any:
    made.append((city, days))
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"{city}:{days}"


@tool
async def awaited(city: str, days: int = 1) -> Any:
    await asyncio.sleep(0)
    return plain.__wrapped__(city, days)  # type: ignore[attr-defined]


@tool
def yielding(city: str, days: int = 1) -> Iterator[Any]:
    yield f"{city}:"
    yield plain.__wrapped__(city, days)[len(city) + 1 :]  # type: ignore[attr-defined]


@tool
async def yielding_async(city: str, days: int = 1) -> AsyncIterator[Any]:
    yield f"{city}:"
    await asyncio.sleep(0)
    yield plain.__wrapped__(city, days)[len(city) + 1 :]  # type: ignore[attr-defined]


def block(city: str, days: int = 1) -> Any:
    with tool_call("block", {"city": city, "days": days}) as call:
        if not call.served:
            call.result = plain.__wrapped__(**call.input)  # type: ignore[attr-defined]
    return call.result


async def block_async(city: str, days: int = 1) -> Any:
    async with tool_call("block_async", {"city": city, "days": days}) as call:
        if not call.served:
            call.result = plain.__wrapped__(**call.input)  # type: ignore[attr-defined]
    return call.result


def run_awaited(*args: Any, **kwargs: Any) -> Any:
    return asyncio.run(awaited(*args, **kwargs))


def run_yielding(*args: Any, **kwargs: Any) -> Any:
    return "".join(yielding(*args, **kwargs))


def run_yielding_async(*args: Any, **kwargs: Any) -> Any:
    async def main() -> str:
        return "".join([item async for item in yielding_async(*args, **kwargs)])

    return asyncio.run(main())


def run_block_async(*args: Any, **kwargs: Any) -> Any:
    return asyncio.run(block_async(*args, **kwargs))


SEAMS: dict[str, Callable[..., Any]] = {
    "plain": plain,
    "awaited": run_awaited,
    "yielding": run_yielding,
    "yielding_async": run_yielding_async,
    "block": block,
    "block_async": run_block_async,
}
ASYNC = {"awaited", "yielding_async", "block_async"}
STREAMS = {"yielding", "yielding_async"}
BLOCKS = {"block", "block_async"}


@pytest.fixture(params=list(SEAMS))
def seam(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def one_call(recorded: Recorded) -> tuple[dict[str, Any], RecordedRun]:
    run = recorded.only()
    return run.one("TOOL_CALL"), run


def test_without_an_opinion_everything_is_as_it_was(seam: str, recorded: Recorded) -> None:
    """A decider that only looks changes nothing, and hears of each moment once, in order."""
    decider = Says()
    with traced_run("story"), around.deciding(decider):
        assert SEAMS[seam]("Oslo", days=3) == "Oslo:3"

    event, run = one_call(recorded)
    call = decider.calls[0]
    ended = None if seam in STREAMS else "Oslo:3"
    wait = "wait_async" if seam in ASYNC else "wait"
    assert decider.heard == ["decide", wait, ("ended", ended, None), "released"]
    assert (call.kind, call.name, call.input) == ("tool", seam, {"city": "Oslo", "days": 3})
    assert (call.call_id, call.run_id, call.parent_id) == (event["event_id"], run.meta["run_id"], event["parent_id"])
    assert call.source == event["payload"]["source"]
    assert event["payload"]["result"] == "Oslo:3"
    assert "served" not in event["payload"]
    assert run.one("CALL_START")["payload"]["call_id"] == event["event_id"]


def test_an_answer_takes_the_place_of_the_call(seam: str, recorded: Recorded) -> None:
    """Replay and mocks are nothing else: the program gets a value, and nothing was called."""
    decider = Says(Answer("sunny", served="recorded"))
    with traced_run("story"), around.deciding(decider):
        assert SEAMS[seam]("Oslo") == "sunny"

    event, run = one_call(recorded)
    assert made == []
    assert (event["payload"]["result"], event["payload"]["served"]) == ("sunny", "recorded")
    assert event["payload"]["status"] == "ok"
    assert run.one("CALL_START")["payload"]["call_id"] == event["event_id"]
    assert decider.heard[-1] == "released"


def test_an_answer_may_be_an_exception(seam: str, recorded: Recorded) -> None:
    """A recorded failure is replayed as one, and a fault can be put where none was."""
    error = TimeoutError("too slow")
    with traced_run("story"), around.deciding(Says(Answer(error=error, served="fault"))):
        with pytest.raises(TimeoutError) as caught:
            SEAMS[seam]("Oslo")
        assert caught.value is error

    event, run = one_call(recorded)
    assert made == []
    assert (event["payload"]["status"], event["payload"]["served"]) == ("error", "fault")
    assert event["payload"]["error"]["message"] == "too slow"
    assert run.meta["status"] == "ok"


def test_another_input_is_what_is_called_and_recorded(seam: str, recorded: Recorded) -> None:
    """The trace shows what was really done."""
    decider = Says(lambda call: Proceed({**call.input, "city": "Lima"}))
    with traced_run("story"), around.deciding(decider):
        assert SEAMS[seam]("Oslo", 2) == "Lima:2"

    event, run = one_call(recorded)
    assert made == [("Lima", 2)]
    assert event["payload"]["args"] == run.one("CALL_START")["payload"]["input"] == {"city": "Lima", "days": 2}


def test_a_refusal_is_raised_and_said(seam: str, recorded: Recorded) -> None:
    """Nothing is called, the program sees the reason, and so does whoever reads the trace."""
    error = PermissionError("not today")
    decider = Says(Refuse(error))
    with traced_run("story"), around.deciding(decider):
        with pytest.raises(PermissionError) as caught:
            SEAMS[seam]("Oslo")
        assert caught.value is error

    run = recorded.only()
    assert made == run.of_type("CALL_START") == run.of_type("TOOL_CALL") == []
    refusal = run.one("ERROR")["payload"]
    assert (refusal["error_type"], refusal["message"]) == ("PermissionError", "not today")
    assert refusal["context"] == {"refused": {"kind": "tool", "name": seam}}
    assert decider.heard == ["decide", "released"]


def test_a_refusal_that_ends_the_run_is_one_error(recorded: Recorded) -> None:
    """It is one failure, told once."""
    with pytest.raises(PermissionError), traced_run("story"), around.deciding(Says(Refuse(PermissionError("no")))):
        plain("Oslo")

    assert recorded.only().meta["counts"]["errors"] == 1


def test_who_waits_may_decide_otherwise(seam: str, recorded: Recorded) -> None:
    """At a breakpoint the person decides, and that takes a while."""
    with traced_run("story"), around.deciding(Says(waited=Answer("skipped"))):
        assert SEAMS[seam]("Oslo") == "skipped"

    assert made == []
    assert one_call(recorded)[0]["payload"]["served"] == "mock"


def test_who_waits_may_change_the_input(seam: str, recorded: Recorded) -> None:
    """Edited while it was held."""
    with traced_run("story"), around.deciding(Says(waited=Proceed({"city": "Lima", "days": 9}))):
        assert SEAMS[seam]("Oslo") == "Lima:9"

    event, run = one_call(recorded)
    assert event["payload"]["args"] == {"city": "Lima", "days": 9}
    assert run.one("CALL_START")["payload"]["input"]["city"] == "Oslo"  # that is what it began with


def test_who_waits_may_refuse(seam: str, recorded: Recorded) -> None:
    """The call has begun by then, so it ends as a failed one."""
    decider = Says(waited=Refuse(InterruptedError("aborted")))
    with traced_run("story"), around.deciding(decider), pytest.raises(InterruptedError):
        SEAMS[seam]("Oslo")

    assert made == []
    assert one_call(recorded)[0]["payload"]["error"]["error_type"] == "InterruptedError"


def test_who_waits_may_let_an_answered_call_be_made(seam: str, recorded: Recorded) -> None:
    """From here on live; and then it takes a place in the limits like any other."""

    class Live(Says):
        def decide(self, call: around.AnnouncedCall) -> Any:
            return Answer("served")

    with traced_run("story", max_tool_calls=1), around.deciding(Live(waited=Proceed())):
        assert SEAMS[seam]("Oslo") == "Oslo:1"
        with pytest.raises(AgentDbgGuardrailExceeded):
            SEAMS[seam]("Oslo")

    assert made == [("Oslo", 1)]


def test_another_outcome_is_what_the_program_gets(seam: str, recorded: Recorded) -> None:
    """A person at a breakpoint may change what came back; of a stream only its end is still to come."""
    with traced_run("story"), around.deciding(Says(replaced=Outcome("changed"))):
        assert SEAMS[seam]("Oslo") == ("Oslo:1" if seam in STREAMS else "changed")

    assert made == [("Oslo", 1)]
    assert one_call(recorded)[0]["payload"]["result"] == ("Oslo:1" if seam in STREAMS else "changed")


def test_an_outcome_may_become_an_exception(seam: str, recorded: Recorded) -> None:
    """And is recorded as the failure that the program sees."""
    decider = Says(replaced=Outcome(error=TimeoutError("late")))
    with traced_run("story"), around.deciding(decider), pytest.raises(TimeoutError):
        SEAMS[seam]("Oslo")

    payload = one_call(recorded)[0]["payload"]
    assert (payload["status"], payload["error"]["error_type"]) == ("error", "TimeoutError")


def test_an_exception_may_become_an_outcome(seam: str, recorded: Recorded) -> None:
    """Except in a block, which Python leaves no way to continue."""
    decider = Says(replaced=Outcome("found after all"))
    with traced_run("story"), around.deciding(decider):
        if seam in BLOCKS:
            with pytest.raises(ValueError, match="no such city"):
                SEAMS[seam]("Atlantis")
        else:
            assert SEAMS[seam]("Atlantis") == ("Atlantis:" if seam in STREAMS else "found after all")

    payload = one_call(recorded)[0]["payload"]
    assert payload["status"] == ("error" if seam in BLOCKS else "ok")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_nobody_can_keep_an_interruption(kind: type[BaseException], recorded: Recorded) -> None:
    """Ctrl-C ends the program, whatever a decider would like to make of it."""

    @tool
    def interrupted() -> None:
        raise kind

    decider = Says(replaced=Outcome("went well"))
    with traced_run("story"), around.deciding(decider), pytest.raises(kind):
        interrupted()

    assert ("ended", None, kind.__name__) in decider.heard


def test_the_programs_exception_passes_as_it_is(seam: str, recorded: Recorded) -> None:
    """A decider that only looks is not seen in it."""
    decider = Says()
    with traced_run("story"), around.deciding(decider), pytest.raises(ValueError, match="no such city") as caught:
        SEAMS[seam]("Atlantis")

    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert ("ended", None, "ValueError") in decider.heard
    assert one_call(recorded)[0]["payload"]["error"]["error_type"] == "ValueError"


# Several of them, and the limits.


def test_they_are_asked_in_order_and_told_in_reverse(recorded: Recorded) -> None:
    """Breaks stand outside and replay inside: what the inner answers, the outer sees as the outcome."""
    order: list[str] = []

    class Named(around.Decider):
        def __init__(self, name: str, decision: Any = None) -> None:
            self.name, self.decision = name, decision

        def decide(self, call: around.AnnouncedCall) -> Any:
            order.append(f"{self.name} decides on {call.input['city']}")
            return self.decision

        def wait(self, call: around.AnnouncedCall) -> None:
            order.append(f"{self.name} waits")

        def ended(self, call: around.AnnouncedCall, outcome: Outcome) -> Outcome:
            order.append(f"{self.name} sees {outcome.value}")
            return Outcome(f"{outcome.value}+{self.name}")

        def released(self, call: around.AnnouncedCall) -> None:
            order.append(f"{self.name} is released")

    outer, inner = Named("outer", Proceed({"city": "Lima"})), Named("inner", Answer("served"))
    with traced_run("story"), around.deciding(outer), around.deciding(inner), around.deciding(Named("never asked")):
        assert plain("Oslo") == "served+inner+outer"

    assert order == [
        "outer decides on Oslo",
        "inner decides on Lima",
        "outer waits",
        "inner waits",
        "inner sees served",
        "outer sees served+inner",
        "inner is released",
        "outer is released",
    ]


def test_limits_are_asked_last_and_a_served_call_takes_no_place(seam: str, recorded: Recorded) -> None:
    """A replay is not stopped by the limit of the run it repeats, and what it serves leaves room for live calls."""
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("story", max_tool_calls=3):
        with around.deciding(Says(Answer("served"))):
            for _ in range(3):
                assert SEAMS[seam]("Oslo") == "served"
        SEAMS[seam]("Oslo")

    run = recorded.only()
    assert made == []
    assert run.meta["counts"]["tool_calls"] == 3


def test_a_limit_that_refuses_is_heard_of(seam: str, recorded: Recorded) -> None:
    """Whoever holds something for a call has to let go of it when there is none after all."""
    decider = Says()
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("story", max_tool_calls=0), around.deciding(decider):
        SEAMS[seam]("Oslo")

    assert (made, decider.heard) == ([], ["decide", "released"])


def test_what_was_not_asked_of_a_model_costs_nothing(recorded: Recorded) -> None:
    """The tokens of a recorded answer were paid for when it was recorded."""
    usage = {"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200}
    answer = {"text": "hi", "usage": usage}

    @llm(model="gpt-4o")
    def ask(prompt: str) -> Any:
        return answer

    with traced_run("story", max_tokens=300):
        ask("live")
        with around.deciding(Says(Answer(answer, served="recorded"))):
            for _ in range(5):
                assert ask("served") == answer

    run = recorded.only()
    assert run.meta["counts"]["llm_calls"] == 6
    assert run.meta["total_tokens"] == run.one("RUN_END")["payload"]["summary"]["total_tokens"] == 200
    live, served = run.of_type("LLM_CALL")[0]["payload"], run.of_type("LLM_CALL")[1]["payload"]
    assert run.meta["cost_usd"] == live["cost_usd"]
    assert served["usage"] == live["usage"]


class AnswersExchanges(Says):
    asks_http = True


@pytest.mark.parametrize(
    ("exchanges", "served"),
    [
        (["recorded"], "recorded"),
        (["edited"], "edited"),
        (["fault", "mock"], "mock"),
        (["fault", None], None),
        ([None, "mock"], None),
        ([None], None),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_is_served_where_the_exchanges_behind_it_are(
    exchanges: list[str | None], served: str | None, is_async: bool, recorded: Recorded
) -> None:
    """A client whose request was answered here has spent nothing; one that asked again and was heard has."""
    usage = {"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200}

    @llm(model="gpt-4o")
    def ask(prompt: str) -> Any:
        for served in exchanges:
            decider = AnswersExchanges(lambda call, served=served: Answer("hi", served=served) if served else None)
            with around.deciding(decider):
                exchange = around.Call("http", "POST /v1/chat/completions", {"url": "/"}, None, {})
                assert exchange.begin()
                exchange.finish(asyncio.run(made_async(exchange)) if is_async else exchange.make(lambda **_: "hi"))
        return {"text": "hi", "usage": usage}

    async def made_async(exchange: around.Call) -> Any:
        return await exchange.make_async(functools.partial(asyncio.sleep, 0, "hi"))

    @tool
    def consult(question: str) -> Any:
        return ask(question)

    with traced_run("story"):
        consult("hi")

    run = recorded.only()
    assert run.one("LLM_CALL")["payload"].get("served") == served
    assert "served" not in run.one("TOOL_CALL")["payload"]
    assert run.meta["total_tokens"] == (None if served else 200)


# What must never happen.


def test_a_decider_that_fails_is_left_out(swallow_faults: None, seam: str, recorded: Recorded, capsys: Any) -> None:
    """A mistake in it is no reason for the agent to fail."""

    class Broken(around.Decider):
        def decide(self, call: around.AnnouncedCall) -> Any:
            raise ZeroDivisionError("decide")

        def wait(self, call: around.AnnouncedCall) -> Any:
            raise ZeroDivisionError("wait")

        def ended(self, call: around.AnnouncedCall, outcome: Outcome) -> Any:
            raise ZeroDivisionError("ended")

        def released(self, call: around.AnnouncedCall) -> Any:
            raise ZeroDivisionError("released")

    with traced_run("story"), around.deciding(Broken()):
        assert SEAMS[seam]("Oslo") == "Oslo:1"

    assert one_call(recorded)[0]["payload"]["status"] == "ok"
    assert "could not ask a decider (ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("nonsense", ["yes", 3, object(), Answer])
def test_what_is_no_decision_is_none(swallow_faults: None, nonsense: Any, recorded: Recorded) -> None:
    """A wrong return value is a mistake like any other."""
    with traced_run("story"), around.deciding(Says(lambda _: nonsense)):
        assert plain("Oslo") == "Oslo:1"


def test_calls_of_a_decider_are_not_announced(recorded: Recorded) -> None:
    """One that asks a model whether a call is wise would otherwise ask itself for ever."""

    class Asks(around.Decider):
        def decide(self, call: around.AnnouncedCall) -> None:
            plain("Lima")

    with traced_run("story"), around.deciding(Asks()):
        plain("Oslo")

    assert made == [("Lima", 1), ("Oslo", 1)]


def test_outside_a_run_nobody_is_asked(seam: str) -> None:
    """What is not recorded is not decided about."""
    decider = Says(Answer("served"))
    with around.deciding(decider):
        assert SEAMS[seam]("Oslo") == "Oslo:1"

    assert decider.heard == []


def test_no_lock_is_held_while_somebody_is_asked(recorded: Recorded) -> None:
    """Another thread records on while a call is held."""

    class Holds(around.Decider):
        def wait(self, *_: Any) -> None:
            thread = threading.Thread(target=lambda: agentdbg.record_state({"from": "elsewhere"}))
            thread.start()
            thread.join(5)
            assert not thread.is_alive()

        decide = ended = wait  # type: ignore[assignment]

    with traced_run("story"), around.deciding(Holds()):
        plain("Oslo")

    assert len(recorded.only().of_type("STATE_UPDATE")) == 3


def test_other_tasks_go_on_while_one_is_held(recorded: Recorded) -> None:
    """An agent at a breakpoint does not stop the others on its event loop."""
    released = asyncio.Event()

    class Holds(around.Decider):
        async def wait_async(self, call: around.AnnouncedCall) -> None:
            if call.input["city"] == "Oslo":
                await released.wait()

    async def main() -> list[Any]:
        held = asyncio.create_task(awaited("Oslo"))
        done = [await awaited("Lima"), await awaited("Rome")]
        released.set()
        return [*done, await held]

    with traced_run("story"), around.deciding(Holds()):
        assert asyncio.run(main()) == ["Lima:1", "Rome:1", "Oslo:1"]


def test_the_time_somebody_waited_is_not_the_calls(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person thinks for minutes; the tool took none of them."""
    now = [0.0]
    monkeypatch.setattr("agentdbg.recorder.calls.time.monotonic", lambda: now[0])

    class Thinks(around.Decider):
        def wait(self, call: around.AnnouncedCall) -> None:
            now[0] += 600

    with traced_run("story"), around.deciding(Thinks()):
        plain("Oslo")

    assert one_call(recorded)[0]["duration_ms"] == 0


# What a block knows.


def test_a_block_that_does_not_ask_is_made_all_the_same(recorded: Recorded) -> None:
    """It cannot be skipped, so nothing may claim that it was."""
    with traced_run("story"), around.deciding(Says(Answer("served"))):
        with tool_call("search", {"q": 1}) as call:
            call.result = "live"
        with llm_call("gpt-4o", "hi") as asked:
            if not asked.served:
                asked.response = "live"
        assert asked.response == "served"

    run = recorded.only()
    assert run.one("TOOL_CALL")["payload"]["result"] == "live"
    assert "served" not in run.one("TOOL_CALL")["payload"]
    assert run.one("LLM_CALL")["payload"]["served"] == "mock"


def test_a_block_used_again_is_asked_about_again(recorded: Recorded) -> None:
    """One object may be entered several times."""
    decider = Says()
    call = tool_call("search", {"q": 1})
    with traced_run("story"):
        with around.deciding(decider), call:
            pass
        with call:
            pass

    assert decider.heard.count("decide") == 1
    assert len(recorded.only().of_type("TOOL_CALL")) == 2


# What a generator does.


def test_a_stream_can_be_served_piece_by_piece(recorded: Recorded) -> None:
    """As it came when it was recorded."""

    @tool
    def count() -> Generator[int, None, str]:
        made.append("counted")
        yield 0
        return "the end"

    def read() -> Iterator[Any]:
        returned = yield from count()
        yield returned

    with traced_run("story"), around.deciding(Says(Answer("done", items=[1, 2, 3]))):
        assert list(read()) == [1, 2, 3, "done"]

    assert (made, one_call(recorded)[0]["payload"]["result"]) == ([], [1, 2, 3])


def test_a_served_stream_may_break_off(seam: str, recorded: Recorded) -> None:
    """A recorded stream that failed half way fails there again."""
    if seam not in STREAMS:
        pytest.skip("no stream")
    answer = Answer(items=["Os"], error=ConnectionError("cut"))
    with traced_run("story"), around.deciding(Says(answer)), pytest.raises(ConnectionError):
        SEAMS[seam]("Oslo")

    payload = one_call(recorded)[0]["payload"]
    assert (payload["result"], payload["status"], payload["served"]) == ("Os", "error", "mock")


def test_a_stream_left_early_is_released(recorded: Recorded) -> None:
    """Its end is told when its consumer goes away."""
    decider = Says()
    with traced_run("story"), around.deciding(decider):
        stream = yielding("Oslo")
        next(stream)
        assert "released" not in decider.heard
        stream.close()  # type: ignore[attr-defined]

    assert decider.heard[-2:] == [("ended", "Oslo:", None), "released"]


# Editing the arguments of functions of every shape.


class Shop:
    @tool
    def method(self, item: str, *, count: int = 1) -> Any:
        return (item, count)

    @tool
    @classmethod
    def of_class(cls, item: str) -> Any:
        return (cls.__name__, item)

    @tool
    @staticmethod
    def static(item: str) -> Any:
        return item


@tool
def every(first: Any, /, second: Any, *rest: Any, only: Any = None, **others: Any) -> Any:
    return (first, second, rest, only, others)


@tool
def defaults(first: Any = 1, second: Any = 2) -> Any:
    return (first, second)


EDITS: list[tuple[Callable[[], Any], dict[str, Any], Any]] = [
    (lambda: Shop().method("pen", count=2), {"item": "ink", "count": 3}, ("ink", 3)),
    (lambda: Shop().method(item="pen"), {"item": "ink"}, ("ink", 1)),
    (lambda: Shop.of_class("pen"), {"item": "ink"}, ("Shop", "ink")),
    (lambda: Shop.static("pen"), {"item": "ink"}, "ink"),
    (
        lambda: every(1, 2, 3, 4, only=5, more=6),
        {"first": 10, "second": 20, "rest": [30], "only": 50, "more": 60},
        (10, 20, (30,), 50, {"more": 60}),
    ),
    (lambda: defaults(5, 6), {"first": 7}, (7, 2)),
    (lambda: defaults(5), {"second": 7}, (1, 7)),
    (defaults, {"first": 3, "second": 4}, (3, 4)),
    (lambda: tool(functools.partial(every.__wrapped__, 1))(2), {"first": 1, "second": 20}, (1, 20, (), None, {})),  # type: ignore[attr-defined]
    (lambda: tool(functools.partial(defaults, second=5))(1), {"first": 3, "second": 4}, (3, 4)),
    (lambda: tool(name="length")(len)("four"), {"args": ["five!"]}, 5),
]


@pytest.mark.parametrize(("call", "edited", "expected"), EDITS)
def test_arguments_of_any_shape_can_be_edited(
    call: Callable[[], Any], edited: dict[str, Any], expected: Any, recorded: Recorded
) -> None:
    """What deciders see by name reaches the function as it is called."""
    first = iter([Proceed(edited)])
    with traced_run("story"), around.deciding(Says(lambda _: next(first, None))):
        assert call() == expected


def test_a_prompt_can_be_edited(recorded: Recorded) -> None:
    """One argument is the prompt itself; several are a prompt by their names."""

    @llm(model="m")
    def ask(prompt: str) -> str:
        return prompt.upper()

    @llm
    def chat(messages: list[str], model: str = "m") -> str:
        return f"{model}: {messages[-1]}"

    with traced_run("story"):
        with around.deciding(Says(Proceed("other"))):
            assert ask("hello") == "OTHER"
        with around.deciding(Says(lambda call: Proceed({**call.input, "messages": ["edited"]}))):
            assert chat(["hello"], model="m2") == "m2: edited"

    assert [call["payload"]["prompt"] for call in recorded.only().of_type("LLM_CALL")] == [
        "other",
        {"messages": ["edited"], "model": "m2"},
    ]


def test_adding_and_removing_takes_effect_at_once(recorded: Recorded) -> None:
    """For whoever cannot put a block around it all."""
    decider = Says(Answer("served"))
    with traced_run("story"):
        around.add_decider(decider)
        assert plain("Oslo") == "served"
        around.remove_decider(decider)
        around.remove_decider(decider)
        assert plain("Oslo") == "Oslo:1"


# Frameworks that only report.


def test_a_reported_call_can_be_refused_and_not_answered(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody can answer in the place of a call that somebody else makes; that is said, and the call goes on."""
    pairing = around.Pairing("framework")
    with traced_run("story"):
        with around.deciding(decider := Says(Answer("served"), replaced=Outcome("changed"))):
            assert pairing.start("key", "tool", "search", {"q": 1})
            pairing.end("key", "live")
        with around.deciding(Says(Refuse(PermissionError("no")))), pytest.raises(PermissionError):
            pairing.start("other", "tool", "search")

    call = decider.calls[0]
    assert (call.can_answer, call.can_edit, call.can_replace) == (False, False, False)
    assert call.meta["framework"] == "framework"
    assert decider.heard == ["decide", ("ended", "live", None), "released"]
    payload = recorded.only().one("TOOL_CALL")["payload"]
    assert (payload["result"], "served" in payload) == ("live", False)
    assert "a tool call of framework cannot be answered here" in capsys.readouterr().err


def test_a_refusal_passes_through_our_callbacks(recorded: Recorded) -> None:
    """Everything else that goes wrong in a callback ends there."""

    @around.contained
    def callback() -> None:
        around.Pairing("framework").start("key", "llm", "m")

    with traced_run("story"), around.deciding(Says(Refuse(PermissionError("no")))), pytest.raises(PermissionError):
        callback()


def test_a_served_run_is_the_same_run(recorded: Recorded) -> None:
    """Where an answer came from is no difference: a replay that went well compares as equal."""
    from agentdbg.analysis.diff import compare

    with traced_run("live"):
        plain("Oslo")
    with traced_run("served"), around.deciding(Says(Answer("Oslo:1", served="recorded"))):
        plain("Oslo")

    live, served = (run.events for run in recorded.all())
    rows = compare(live, served).rows  # type: ignore[arg-type] # the test's reader knows no types
    assert [row.op for row in rows if row.op != "same"] == []
