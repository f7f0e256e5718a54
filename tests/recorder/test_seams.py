"""@tool, @llm, tool_call and llm_call: what stands around a call, and what it leaves alone."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import llm, llm_call, record_llm_call, record_tool_call, tool, tool_call, trace, traced_run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.conftest import Recorded


def test_a_tool_records_its_arguments_result_and_time(recorded: Recorded) -> None:
    """The decorator people put on every tool."""

    @tool
    def search(query: str, limit: int = 5, *filters: str, **options: Any) -> list[str]:
        return [query]

    with traced_run("r"):
        assert search("x", 3, "f1", "f2", deep=True) == ["x"]

    run = recorded.only()
    assert run.types(call_starts=True) == ["RUN_START", "CALL_START", "TOOL_CALL", "RUN_END"]
    call = run.one("TOOL_CALL")
    assert call["name"] == "search"
    assert call["payload"]["args"] == {"query": "x", "limit": 3, "filters": ["f1", "f2"], "deep": True}
    assert call["payload"]["result"] == ["x"]
    assert call["payload"]["status"] == "ok"
    assert call["payload"]["source"].startswith("tests/recorder/test_seams.py:")
    assert call["duration_ms"] >= 0


def test_call_start_is_written_before_the_call_and_names_its_end(recorded: Recorded) -> None:
    """A run that died inside a call says in which."""

    @tool(name="fetch page")
    def fetch(url: str) -> str:
        started = recorded.only().events[-1]
        assert started["event_type"] == "CALL_START"
        assert started["payload"]["name"] == "fetch page"
        assert started["payload"]["kind"] == "tool"
        assert started["payload"]["input"] == {"url": "u"}
        return "page"

    with traced_run("r"):
        fetch("u")

    run = recorded.only()
    assert run.one("CALL_START")["payload"]["call_id"] == run.one("TOOL_CALL")["event_id"]
    assert run.meta["counts"]["tool_calls"] == 1


@pytest.mark.parametrize("size", [1, 40], ids=["short", "long"])
def test_a_call_is_recorded_with_what_it_was_given_whatever_becomes_of_that(recorded: Recorded, size: int) -> None:
    """Many a program appends the answer to the very list that it asked with."""
    messages = [{"role": "user", "content": f"question {number} " * size} for number in range(size)]
    args: dict[str, Any] = {"rows": [1, 2], "note": "word " * 10 * size}
    asked, called = json.loads(json.dumps(messages)), json.loads(json.dumps(args))
    with traced_run("r"):
        with llm_call("gpt", messages) as model:
            messages[0]["content"] = "something else"
            messages.append({"role": "assistant", "content": "the answer"})
            model.response = "the answer"
        with tool_call("search", args) as used:
            args["rows"].append(3)
            used.result = 3

    run = recorded.only()
    assert run.one("LLM_CALL")["payload"]["prompt"] == asked
    assert run.one("TOOL_CALL")["payload"]["args"] == called
    start = next(event for event in run.events if event["event_type"] == "CALL_START")
    assert start["payload"]["input"][0]["content"].startswith("question 0")
    assert len(json.dumps(start["payload"]["input"])) < 5_000


def test_an_object_given_to_a_call_is_asked_once_what_it_is(recorded: Recorded) -> None:
    """Its own code may be slow, and the start and the end of a call tell the same."""
    asked = []

    class Slow:
        def __repr__(self) -> str:
            asked.append(1)
            return "<slow>"

    with traced_run("r"), tool_call("search", {"what": Slow()}) as call:
        call.result = 1

    run = recorded.only()
    assert run.one("CALL_START")["payload"]["input"] == run.one("TOOL_CALL")["payload"]["args"] == {"what": "<slow>"}
    assert len(asked) == 1


def test_what_is_recorded_inside_a_call_is_its_child(recorded: Recorded) -> None:
    """Tools that call models are nested, and look nested."""

    @tool
    def research() -> None:
        with llm_call("gpt-4", prompt="p") as call:
            call.response = "r"
            record_tool_call("inner")

    with traced_run("r"):
        research()

    run = recorded.only()
    inner, model, outer = run.of_type("TOOL_CALL")[0], run.one("LLM_CALL"), run.of_type("TOOL_CALL")[1]
    assert inner["parent_id"] == model["event_id"]
    assert model["parent_id"] == outer["event_id"]
    assert outer["parent_id"] == run.one("RUN_START")["event_id"]


def test_an_exception_passes_through_and_is_one_error(recorded: Recorded) -> None:
    """The failed call and the end of the run tell of the same failure."""
    error = KeyError("due_date")

    @tool
    def parse() -> None:
        raise error

    with pytest.raises(KeyError) as caught, traced_run("r"):
        parse()

    assert caught.value is error
    assert error.__context__ is None
    run = recorded.only()
    call = run.one("TOOL_CALL")
    assert call["payload"]["status"] == "error"
    assert call["payload"]["error"]["error_type"] == "KeyError"
    assert run.one("ERROR")["payload"]["call_id"] == call["event_id"]
    assert run.meta["counts"]["errors"] == 1


def test_a_model_call_with_everything_it_can_say(recorded: Recorded) -> None:
    """The block form is for code that talks to a model by hand."""
    with traced_run("r"), llm_call("gpt-4", prompt="p", provider="openai", temperature=0.1) as call:
        call.response = {"role": "assistant", "content": "hi"}
        call.usage = {"input_tokens": 3, "output_tokens": 1}
        call.stop_reason = "stop"

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["response"] == {"role": "assistant", "content": "hi"}
    assert payload["usage"]["total_tokens"] == 4
    assert payload["stop_reason"] == "stop"
    assert payload["provider"] == "openai"
    assert payload["temperature"] == 0.1


def test_a_decorated_model_function_is_a_model_call(recorded: Recorded) -> None:
    """Most people have one function that asks the model."""

    @llm(model="gpt-4", provider="openai")
    def ask(prompt: str) -> dict[str, Any]:
        return {"content": "hi", "usage": {"prompt_tokens": 2, "completion_tokens": 1}, "finish_reason": "stop"}

    @llm
    def chat(model: str, messages: list[dict[str, str]]) -> str:
        return "hello"

    with traced_run("r"):
        ask("what?")
        chat("claude", [{"role": "user", "content": "x"}])

    first, second = recorded.only().of_type("LLM_CALL")
    assert first["payload"]["prompt"] == "what?"
    assert first["payload"]["usage"]["total_tokens"] == 3
    assert first["payload"]["stop_reason"] == "stop"
    assert second["name"] == "claude"
    assert second["payload"]["prompt"]["messages"] == [{"role": "user", "content": "x"}]


def test_the_model_is_the_functions_own_argument_also_where_it_is_not_given(recorded: Recorded) -> None:
    """The usual model stands in the signature, and calls leave it out."""

    @llm
    def ask(prompt: str, model: str = "gpt-4o") -> str:
        return "hi"

    class Client:
        @llm
        def chat(self, prompt: str, *, model: str = "claude") -> str:
            return "hi"

        @llm
        @classmethod
        def shared(cls, prompt: str, model: str = "gemini") -> str:
            return "hi"

    with traced_run("r"):
        ask("what?")
        ask("what?", "gpt-5")
        Client().chat("what?")
        Client.shared("what?")

    assert [call["name"] for call in recorded.only().of_type("LLM_CALL")] == ["gpt-4o", "gpt-5", "claude", "gemini"]


def test_a_streaming_model_function_stays_a_stream(recorded: Recorded) -> None:
    """Tokens must reach the user as they come, and the answer the log as a whole."""

    @llm(model="m")
    def stream(prompt: str) -> Iterator[str]:
        yield from ["Hel", "lo"]

    with traced_run("r"):
        pieces = stream("p")
        assert inspect.isgenerator(pieces)
        assert list(pieces) == ["Hel", "lo"]

    assert recorded.only().one("LLM_CALL")["payload"]["response"] == "Hello"


def test_a_stream_dropped_half_way_is_recorded_as_far_as_it_came(recorded: Recorded) -> None:
    """Stopping early is normal; what was said until then was said."""

    @llm(model="m")
    def stream() -> Iterator[str]:
        yield "a"
        yield "b"
        yield "c"

    with traced_run("r"):
        pieces: Any = stream()
        next(pieces)
        next(pieces)
        pieces.close()

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["response"] == "ab"
    assert payload["status"] == "ok"


def test_a_foreign_iterator_is_passed_on_untouched(recorded: Recorded) -> None:
    """Reading a stream to record it would take it from its owner."""
    numbers = iter([1, 2, 3])

    @tool
    def give() -> Iterator[int]:
        return numbers

    with traced_run("r"):
        assert give() is numbers

    assert list(numbers) == [1, 2, 3]
    assert "iterator" in str(recorded.only().one("TOOL_CALL")["payload"]["result"])


@pytest.mark.asyncio
async def test_async_tools_run_in_parallel_and_each_is_right(recorded: Recorded) -> None:
    """Parallel tool calls are how agents save time."""

    @tool
    async def work(n: int) -> int:
        await asyncio.sleep(0.01 * (3 - n))
        return n * 10

    @llm(model="m")
    async def tokens() -> AsyncIterator[str]:
        for piece in ("x", "y"):
            await asyncio.sleep(0)
            yield piece

    @trace
    async def agent() -> list[int]:
        record_llm_call("planner")
        results = list(await asyncio.gather(work(0), work(1), work(2)))
        assert [piece async for piece in tokens()] == ["x", "y"]
        async with tool_call("block", {"a": 1}) as call:
            call.result = "done"
        return results

    assert await agent() == [0, 10, 20]
    run = recorded.only()
    calls = {call["payload"]["args"].get("n"): call for call in run.of_type("TOOL_CALL")}
    assert [calls[n]["payload"]["result"] for n in range(3)] == [0, 10, 20]
    planner = run.of_type("LLM_CALL")[0]["event_id"]
    assert {calls[n]["parent_id"] for n in range(3)} == {planner}
    assert run.of_type("LLM_CALL")[1]["payload"]["response"] == "xy"


def test_outside_a_run_a_decorated_function_is_just_itself(recorded: Recorded) -> None:
    """A library with decorated tools must not cost its users anything."""

    @tool
    def add(a: int, b: int) -> int:
        return a + b

    @tool
    def count() -> Iterator[int]:
        yield 1
        return

    assert add(1, b=2) == 3
    assert list(count()) == [1]
    with tool_call("x") as call:
        call.result = 1
    assert recorded.run_dirs() == []


def test_declared_facts_about_a_tool_are_in_its_meta(recorded: Recorded) -> None:
    """Polling and side effects are things only the author knows."""

    @tool(polling=True, effect="write")
    def check() -> None: ...

    with traced_run("r"):
        check()

    assert recorded.only().one("TOOL_CALL")["meta"] == {"polling": True, "effect": "write"}


def test_a_block_can_say_that_it_changes_something(recorded: Recorded) -> None:
    """The same word as for a decorated tool, also when the process dies inside the block."""
    with traced_run("r"), tool_call("checkout", {"cart": 7}, effect="write", meta={"team": "shop"}):
        pass

    assert recorded.only().one("TOOL_CALL")["meta"] == {"team": "shop", "effect": "write"}
    assert recorded.only().one("CALL_START")["meta"] == {"team": "shop", "effect": "write"}
    assert "effect" not in recorded.only().one("TOOL_CALL")["payload"]


def test_long_input_is_cut_in_the_start_and_whole_in_the_end(recorded: Recorded) -> None:
    """The start is for finding out where a run died; the end is for reading."""

    @tool
    def read(text: str) -> None: ...

    with traced_run("r"):
        read("x" * 10_000)

    run = recorded.only()
    assert len(run.one("CALL_START")["payload"]["input"]["text"]) <= 4_000
    assert len(run.one("TOOL_CALL")["payload"]["args"]["text"]) == 10_000


class _Vault:
    """A callable object, a method and an async one, with a parameter whose value must not be stored."""

    def __call__(self, password: str, query: str) -> str:
        return query

    def open(self, password: str, query: str) -> str:
        return query


def _look_up(user: str, password: str, query: str) -> str:
    return query


@pytest.mark.parametrize(
    ("function", "args", "name"),
    [
        (_Vault().open, ("hunter2", "q"), "open"),
        (_Vault(), ("hunter2", "q"), "_Vault"),
        (functools.partial(_look_up, "me"), ("hunter2", "q"), "_look_up"),
        (functools.partial(_look_up, query="q"), ("me", "hunter2"), "_look_up"),
        (functools.partial(_Vault().open, "hunter2"), ("q",), "open"),
    ],
)
def test_methods_partials_and_objects_meet_the_right_parameters(
    recorded: Recorded, function: Any, args: tuple[Any, ...], name: str
) -> None:
    """Arguments shifted by one would store a password under a harmless name."""
    with traced_run("r"):
        assert tool(function)(*args) == "q"

    call = recorded.only().one("TOOL_CALL")
    assert call["name"] == name
    assert call["payload"]["args"]["password"] == "__REDACTED__"
    assert call["payload"]["args"]["query"] == "q"
    assert "hunter2" not in json.dumps(recorded.only().events)


def test_an_object_with_an_async_call_is_recorded_when_it_is_awaited(recorded: Recorded) -> None:
    """What it returns is its answer, not the coroutine."""

    class Asking:
        async def __call__(self, question: str) -> str:
            record_tool_call("inner")
            return question.upper()

    ask = tool(Asking())
    assert inspect.iscoroutinefunction(ask)
    with traced_run("r"):
        assert asyncio.run(ask("why")) == "WHY"

    inner, outer = recorded.only().of_type("TOOL_CALL")
    assert outer["payload"]["result"] == "WHY"
    assert inner["parent_id"] == outer["event_id"]


def test_a_class_stays_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    """A function in its place would break isinstance and subclassing."""

    class Search:
        pass

    assert tool(Search) is Search
    assert llm(Search) is Search
    assert "decorate its methods" in capsys.readouterr().err


def test_an_object_that_has_an_answer_for_every_attribute_can_be_decorated(recorded: Recorded) -> None:
    """Proxies and mocks answer anything; decorating them must not raise."""

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            return self

        def __call__(self, number: int) -> int:
            return number + 1

    with traced_run("r"):
        assert tool(Proxy())(1) == 2

    assert recorded.only().one("TOOL_CALL")["payload"]["result"] == 2


def test_a_generator_called_with_wrong_arguments_gives_its_place_back(recorded: Recorded) -> None:
    """A call that never began must not use up the limit, and its failure is recorded."""

    @tool
    def count(to: int) -> Iterator[int]:
        yield from range(to)

    with traced_run("r", max_tool_calls=2):
        with pytest.raises(TypeError, match="to"):
            next(count())  # type: ignore[call-arg]
        assert list(count(2)) == [0, 1]

    failed, worked = recorded.only().of_type("TOOL_CALL")
    assert failed["payload"]["error"]["error_type"] == "TypeError"
    assert worked["payload"]["result"] == [0, 1]


def test_meta_of_any_type_can_be_declared(recorded: Recorded) -> None:
    """A decorator runs when the program is imported; it must not be what stops it."""
    search = tool(name="search", meta="v2", polling=True)(str.upper)  # type: ignore[call-overload]

    with traced_run("r"):
        assert search("a") == "A"

    assert recorded.only().one("TOOL_CALL")["meta"] == {"meta": "v2", "polling": True}


def test_a_block_that_is_entered_twice_is_two_calls(recorded: Recorded) -> None:
    """A second use must not stay open for ever, nor repeat what came of the first."""
    block = tool_call("search")

    with traced_run("twice"):
        with block as call:
            call.result = "first"
        with block:
            pass

    calls = recorded.only().of_type("TOOL_CALL")
    assert [call["payload"]["result"] for call in calls] == ["first", None]
    assert len({call["event_id"] for call in calls}) == 2


def test_the_object_of_a_method_is_no_argument_whatever_it_is_called(recorded: Recorded) -> None:
    """Some write `this`; the object is where the method lives, not what it was given."""

    class Agent:
        @tool
        def ask(this, question: str) -> str:  # noqa: N805 -- that is the point
            return question

        @classmethod
        @tool
        def make(kind, question: str) -> str:  # noqa: N804
            return question

        @staticmethod
        @tool
        def look(agent: Any, question: str) -> str:
            return question

    with traced_run("r"):
        Agent().ask("a")
        Agent.make("b")
        Agent.look(Agent(), "c")

    args = [call["payload"]["args"] for call in recorded.only().of_type("TOOL_CALL")]
    assert args[:2] == [{"question": "a"}, {"question": "b"}]
    assert set(args[2]) == {"agent", "question"}


def test_what_a_call_raised_shows_who_made_the_call(recorded: Recorded) -> None:
    """Its traceback begins with us; the developer looks for the line in the program that called."""

    @tool
    def fetch() -> str:
        raise ValueError("gone")

    def ask_for_it() -> None:
        with contextlib.suppress(ValueError):
            fetch()

    with traced_run("caught"):
        ask_for_it()

    stack = recorded.only().one("TOOL_CALL")["payload"]["error"]["stack"]
    assert stack.index("in ask_for_it") < stack.index("in fetch")
    assert f"{os.sep}agentdbg{os.sep}recorder" not in stack
