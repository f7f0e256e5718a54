"""
The little story that every framework plays, and what must stand in its trace. Written once, for all of them.

An agent is asked for the weather in two cities. The model (a loopback server) asks for two tools at once, then sums
up. Variations: a tool that raises, a streamed answer, an async run, two agents at once, a model that never stops
asking, a model that asks the same thing again and again. A test module subclasses `Story` and says how its framework
does three things: `ask`, `aask` and `ask_streaming`.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import AgentDbgGuardrailExceeded, AgentDbgLoopAbort, around, traced_run
from agentdbg.analysis.conversation import Call, answer, turns
from agentdbg.events.facts import cached_tokens
from examples.fake_openai_server import Answer, FakeServer, Request, weather

if TYPE_CHECKING:
    from tests.conftest import Recorded, RecordedRun

__all__ = ["Story", "read_weather"]

MODEL = "gpt-4o-mini"
QUESTION = "How is the weather in Oslo and Lima?"
SUMMARY = "It is 3 degrees in Oslo and 22 degrees in Lima."
GREETING = "Good morning, dear traveller, and welcome."
_FAR_TOO_MANY = 12  # a guardrail that does not hold has to fail its test, not hang it
_WEATHER = {"Oslo": "3 degrees", "Lima": "22 degrees"}

cities_read: list[str] = []
"""What the tool was really called for, whatever the trace says."""


def read_weather(city: str) -> str:
    """The story's one tool; there is no station in Atlantis."""
    cities_read.append(city)
    if city == "Atlantis":
        raise ValueError("no weather station in Atlantis")
    return _WEATHER.get(city, f"unknown weather in {city}")


# What the model does.


def slow_weather(request: Request) -> Answer:
    """The usual story, slowly enough for its durations to be looked at."""
    told = weather(request)
    return Answer(text=told.text, calls=told.calls, delay_s=0.02)


def ask_for_atlantis(request: Request) -> Answer:
    if request.tool_results:
        return Answer(text="Nobody knows.")
    return Answer(calls=[("get_weather", {"city": "Atlantis"})])


def greet(request: Request) -> Answer:
    return Answer(text=GREETING)


def never_stop(request: Request) -> Answer:
    if request.number > _FAR_TOO_MANY:
        return Answer(text="Nobody stopped me.")
    return Answer(calls=[("get_weather", {"city": f"Town {len(request.tool_results)}"})])


def go_in_circles(request: Request) -> Answer:
    if request.number > _FAR_TOO_MANY:
        return Answer(text="Nobody stopped me.")
    return Answer(calls=[("get_weather", {"city": "Oslo"})])


class Story:
    """The tests every framework inherits."""

    framework: str
    provider = "openai"
    model = MODEL
    tools_have_framework = True
    """False where the tools are the program's own functions, recorded with `@tool`."""
    outermost_call_is_an_agent = True
    """False for a raw client: outside a run, each of its requests is a run."""

    def ask(self, server: FakeServer, question: str) -> str:
        """Run the agent to its end and give what it said."""
        raise NotImplementedError

    async def aask(self, server: FakeServer, question: str) -> str:
        """The same, awaited."""
        raise NotImplementedError

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        """The same, its answer read piece by piece; with `pieces`, only so many, and then let go of."""
        raise NotImplementedError

    # The tests.

    def test_every_call_is_recorded_once_and_complete(self, server: FakeServer, recorded: Recorded) -> None:
        """The trace has to be what happened: nothing missing, nothing twice, every fact where a reader looks for it."""
        server.brain = slow_weather
        with traced_run("story"):
            said = self.ask(server, QUESTION)

        assert said == SUMMARY
        self.check_weather_run(recorded.only(), requests=len(server.requests))

    def test_an_async_run_is_recorded_the_same(self, server: FakeServer, recorded: Recorded) -> None:
        """Most agents in production are async, and callbacks run elsewhere there."""
        server.brain = slow_weather

        async def main() -> str:
            async with traced_run("story"):
                return await self.aask(server, QUESTION)

        assert asyncio.run(main()) == SUMMARY
        self.check_weather_run(recorded.only(), requests=len(server.requests))

    def test_a_streamed_answer_is_recorded_whole(self, server: FakeServer, recorded: Recorded) -> None:
        """A stream passes by piece by piece; its event has the whole answer, usage and reason."""
        server.brain = greet
        with traced_run("story"):
            said = self.ask_streaming(server, QUESTION)

        assert said == GREETING
        call = recorded.only().one("LLM_CALL")
        self.check_model_call(call)
        assert answer(call["payload"]["response"]).text == GREETING
        assert call["payload"]["stop_reason"] in ("stop", "end_turn", "completed")

    def test_a_stream_dropped_half_way_is_recorded_as_far_as_it_came(
        self, server: FakeServer, recorded: Recorded
    ) -> None:
        """Whoever stops listening still wants to see what was said until then."""
        server.brain = greet
        with traced_run("story"):
            self.ask_streaming(server, QUESTION, pieces=3)

        call = recorded.only().one("LLM_CALL")
        heard = answer(call["payload"]["response"]).text
        assert GREETING.startswith(heard)
        assert heard.startswith("Good morning")
        assert recorded.only().meta["status"] == "ok"

    def test_a_tool_that_raises_is_recorded_with_its_own_exception(
        self, server: FakeServer, recorded: Recorded
    ) -> None:
        """Frameworks turn a tool's exception into words for the model; the developer needs the exception."""
        server.brain = ask_for_atlantis
        with contextlib.suppress(ValueError), traced_run("story"):  # some let it end the run, most do not
            self.ask(server, QUESTION)

        run = recorded.only()
        tool = run.one("TOOL_CALL")
        assert tool["payload"]["status"] == "error"
        assert tool["payload"]["error"]["error_type"] == "ValueError"
        assert tool["payload"]["error"]["message"] == "no weather station in Atlantis"
        assert "read_weather" in tool["payload"]["error"]["stack"]
        assert tool["payload"]["args"] == {"city": "Atlantis"}
        assert len(run.of_type("LLM_CALL")) == len(server.requests)
        assert run.meta["counts"]["errors"] == 1

    def test_max_llm_calls_stops_it_before_the_next_request(self, server: FakeServer, recorded: Recorded) -> None:
        """A guardrail that only writes down that it was crossed saves nobody any money."""
        server.brain = never_stop
        with pytest.raises(Exception) as caught, traced_run("story", max_llm_calls=2):
            self.ask(server, QUESTION)

        stop = find_stop(caught.value)
        assert (stop.guardrail, stop.threshold) == ("max_llm_calls", 2)
        self.check_stopped(recorded.only(), "max_llm_calls", requests=len(server.requests), expected=2)

    def test_max_llm_calls_stops_an_async_run_too(self, server: FakeServer, recorded: Recorded) -> None:
        """The same promise, on the path where frameworks swallow most."""
        server.brain = never_stop

        async def main() -> None:
            async with traced_run("story", max_llm_calls=2):
                await self.aask(server, QUESTION)

        with pytest.raises(Exception) as caught:
            asyncio.run(main())

        assert find_stop(caught.value).guardrail == "max_llm_calls"
        self.check_stopped(recorded.only(), "max_llm_calls", requests=len(server.requests), expected=2)

    def test_max_tool_calls_stops_it_before_the_next_tool(self, server: FakeServer, recorded: Recorded) -> None:
        """Tools are what changes the world: the one over the limit must not run."""
        server.brain = never_stop
        cities_read.clear()
        with pytest.raises(Exception) as caught, traced_run("story", max_tool_calls=2):
            self.ask(server, QUESTION)

        assert find_stop(caught.value).guardrail == "max_tool_calls"
        run = recorded.only()
        assert len(run.of_type("TOOL_CALL")) == len(cities_read) == 2
        assert run.meta["status"] == "error"

    def test_stop_on_loop_stops_it_before_the_next_request(self, server: FakeServer, recorded: Recorded) -> None:
        """An agent that goes in circles is the reason people set a guardrail at all."""
        server.brain = go_in_circles
        with pytest.raises(Exception) as caught, traced_run("story", stop_on_loop=True):
            self.ask(server, QUESTION)

        assert isinstance(find_stop(caught.value), AgentDbgLoopAbort)
        self.check_stopped(recorded.only(), "stop_on_loop", requests=len(server.requests), expected=3)
        assert recorded.only().one("LOOP_WARNING")["payload"]["kind"] == "cycle"

    def test_stop_on_loop_stops_an_async_run_too(self, server: FakeServer, recorded: Recorded) -> None:
        """The same promise, on the path where frameworks swallow most."""
        server.brain = go_in_circles

        async def main() -> None:
            async with traced_run("story", stop_on_loop=True):
                await self.aask(server, QUESTION)

        with pytest.raises(Exception) as caught:
            asyncio.run(main())

        assert isinstance(find_stop(caught.value), AgentDbgLoopAbort)
        self.check_stopped(recorded.only(), "stop_on_loop", requests=len(server.requests), expected=3)

    def test_the_stop_can_be_caught_where_the_agent_was_called(self, server: FakeServer, recorded: Recorded) -> None:
        """A program that handles its own limits does so around the call, not around the run."""
        server.brain = never_stop
        with traced_run("story", max_llm_calls=1), pytest.raises(Exception) as caught:
            self.ask(server, QUESTION)

        assert find_stop(caught.value).guardrail == "max_llm_calls"
        assert recorded.only().meta["status"] == "error"

    def test_two_agents_in_two_threads_do_not_mix(self, server: FakeServer, recorded: Recorded) -> None:
        """A server process runs many agents; each trace has to be about one of them."""
        server.brain = slow_weather

        def one(number: int) -> None:
            with traced_run(f"agent {number}"):
                self.ask(server, f"{QUESTION} I am agent {number}.")

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, (1, 2)))

        self.check_apart(recorded)

    def test_two_agents_in_two_tasks_do_not_mix(self, server: FakeServer, recorded: Recorded) -> None:
        """The same for asyncio, where everything shares one thread."""
        server.brain = slow_weather

        async def one(number: int) -> None:
            async with traced_run(f"agent {number}"):
                await self.aask(server, f"{QUESTION} I am agent {number}.")

        async def main() -> None:
            await asyncio.gather(one(1), one(2))

        asyncio.run(main())
        self.check_apart(recorded)

    def test_deciders_are_asked_about_every_call(self, server: FakeServer, recorded: Recorded) -> None:
        """Replay, mocks and breakpoints stand at this door; a call that goes past it is one they never see."""
        asked: dict[str, str] = {}

        class Listens(around.Decider):
            def decide(self, call: around.AnnouncedCall) -> None:
                if not call.is_silent:  # the function behind a tool belongs to the tool's own call
                    asked[call.call_id] = call.kind

        server.brain = slow_weather
        with traced_run("story"), around.deciding(Listens()):
            self.ask(server, QUESTION)

        run = recorded.only()
        kinds = {"LLM_CALL": "llm", "TOOL_CALL": "tool"}
        calls = [event for event in run.events if event["event_type"] in kinds]
        assert asked == {event["event_id"]: kinds[event["event_type"]] for event in calls}
        self.check_weather_run(run, requests=len(server.requests))

    def test_a_call_that_a_decider_refuses_is_not_made(self, server: FakeServer, recorded: Recorded) -> None:
        """The reason reaches the program, as itself or as the cause of what the framework raises."""

        class Refuses(around.Decider):
            def decide(self, call: around.AnnouncedCall) -> around.Refuse:
                return around.Refuse(PermissionError("no models today"))

        server.brain = greet
        with pytest.raises(Exception) as caught, traced_run("story"), around.deciding(Refuses()):
            self.ask(server, QUESTION)

        told: list[str] = []
        error: BaseException | None = caught.value
        while error is not None:
            told.append(repr(error))
            error = error.__cause__ or error.__context__
        assert any("no models today" in words for words in told)
        assert (server.requests, recorded.only().of_type("LLM_CALL")) == ([], [])

    def test_outside_a_run_the_outermost_call_is_a_run(self, server: FakeServer, recorded: Recorded) -> None:
        """Whoever enabled the integration wants to see something, also without a decorator."""
        server.brain = slow_weather
        self.ask(server, QUESTION)

        runs = recorded.all()
        assert sum(len(run.of_type("LLM_CALL")) for run in runs) == len(server.requests) == 2
        for run in runs:
            assert run.meta["status"] == "ok"
            assert run.one("RUN_START")["meta"]["framework"] == self.framework
        if self.outermost_call_is_an_agent:
            self.check_weather_run(recorded.only(), requests=2)

    def test_outside_a_run_the_limits_of_the_environment_hold(
        self, server: FakeServer, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """AGENTDBG_MAX_LLM_CALLS is how an agent is limited without touching its code."""
        monkeypatch.setenv("AGENTDBG_MAX_LLM_CALLS", "1" if self.outermost_call_is_an_agent else "0")
        server.brain = never_stop
        with pytest.raises(Exception) as caught:
            self.ask(server, QUESTION)

        assert find_stop(caught.value).guardrail == "max_llm_calls"
        assert recorded.only().meta["status"] == "error"
        assert len(recorded.only().of_type("LLM_CALL")) == len(server.requests)

    # The checks.

    def check_weather_run(self, run: RecordedRun, *, requests: int, question: str = QUESTION) -> None:
        """The trace of the usual story."""
        first, second = run.of_type("LLM_CALL")
        tools = sorted(run.of_type("TOOL_CALL"), key=lambda tool: tool["payload"]["args"]["city"])
        assert requests == 2
        assert (run.meta["counts"]["llm_calls"], run.meta["counts"]["tool_calls"]) == (2, 2)
        assert run.meta["status"] == "ok"

        for call in (first, second):
            self.check_model_call(call)
            assert call["duration_ms"] >= 20
        asked = [turn.text for turn in turns(first["payload"]["prompt"]) if turn.role == "user"]
        assert asked == [question]
        assert answer(first["payload"]["response"]).calls == [
            Call("get_weather", {"city": "Oslo"}),
            Call("get_weather", {"city": "Lima"}),
        ]
        assert first["payload"]["stop_reason"] in ("tool_calls", "tool_use", "completed")
        results = [turn.text for turn in turns(second["payload"]["prompt"]) if turn.role == "tool"]
        assert sorted("\n".join(results).splitlines()) == ["22 degrees", "3 degrees"]
        assert answer(second["payload"]["response"]).text == SUMMARY
        assert second["payload"]["stop_reason"] in ("stop", "end_turn", "completed")

        assert [tool["payload"]["tool_name"] for tool in tools] == ["get_weather", "get_weather"]
        assert [tool["payload"]["args"] for tool in tools] == [{"city": "Lima"}, {"city": "Oslo"}]
        assert [tool["payload"]["result"] for tool in tools] == ["22 degrees", "3 degrees"]
        for tool in tools:
            assert (tool["payload"]["status"], tool["payload"]["error"]) == ("ok", None)
            assert tool["duration_ms"] is not None
            assert tool["parent_id"] == first["event_id"]
            if self.tools_have_framework:
                assert tool["meta"]["framework"] == self.framework
        check_tree(run)

    def check_model_call(self, call: dict[str, Any]) -> None:
        """What every model call that went well must say."""
        payload = call["payload"]
        assert (payload["model"], call["name"]) == (self.model, self.model)
        assert payload["provider"] == self.provider
        assert (payload["status"], payload["error"]) == ("ok", None)
        usage = payload["usage"]
        counts = (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"])
        assert counts == (20, 7, 27)
        assert cached_tokens(usage) == 5
        assert call["meta"]["framework"] == self.framework

    def check_stopped(self, run: RecordedRun, guardrail: str, *, requests: int, expected: int) -> None:
        """A run that a guardrail stopped: no request more, and the reason is in it."""
        assert requests == expected
        assert len(run.of_type("LLM_CALL")) == expected
        assert run.meta["status"] == "error"
        stops = [error for error in run.of_type("ERROR") if error["payload"].get("guardrail")]
        assert [stop["payload"]["guardrail"] for stop in stops] == [guardrail]
        check_tree(run)

    def check_apart(self, recorded: Recorded) -> None:
        """Two runs, each about its own agent and complete."""
        runs = recorded.all()
        assert sorted(run.meta["run_name"] for run in runs) == ["agent 1", "agent 2"]
        for run in runs:
            self.check_weather_run(run, requests=2, question=f"{QUESTION} I am {run.meta['run_name']}.")


def find_stop(error: BaseException | None) -> AgentDbgGuardrailExceeded:
    """Our exception, or ours inside the framework's own."""
    seen: list[str] = []
    while error is not None:
        if isinstance(error, AgentDbgGuardrailExceeded):
            return error
        seen.append(repr(error))
        error = error.__cause__ or error.__context__
    raise AssertionError(f"no guardrail in {seen}")


def check_tree(run: RecordedRun) -> None:
    """Every event hangs under one that is there; every call that began ended, once; nothing stands there twice."""
    events = run.events
    parents = {event["event_id"]: event["parent_id"] for event in events}
    start_id = run.one("RUN_START")["event_id"]
    assert len(parents) == len(events)
    for event_id in parents:
        path = [event_id]
        while path[-1] != start_id:
            assert parents[path[-1]] in parents, "an event hangs under nothing"
            path.append(parents[path[-1]])
            assert len(path) < 50, "the tree has a ring"
    ended = sorted(event["event_id"] for event in events if event["event_type"] in ("LLM_CALL", "TOOL_CALL"))
    assert sorted(event["payload"]["call_id"] for event in run.of_type("CALL_START")) == ended
