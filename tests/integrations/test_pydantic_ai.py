"""Pydantic AI plays the story, enabled for the whole process."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import traced_run
from examples.fake_openai_server import Answer, Request
from tests.integrations.story import MODEL, QUESTION, SUMMARY, Story, greet, read_weather

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded

pydantic_ai = pytest.importorskip("pydantic_ai")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    from agentdbg.integrations import pydantic_ai as integration

    integration.enable()
    yield
    integration.disable()


@contextlib.asynccontextmanager
async def weather_agent(server: FakeServer, **options: Any) -> AsyncIterator[Any]:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async with AsyncOpenAI(base_url=server.openai_url, api_key="none") as client:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
        agent = pydantic_ai.Agent(model, name="weather agent", **options)

        def get_weather(city: str) -> str:
            """How the weather is there."""
            return read_weather(city)

        agent.tool_plain(get_weather)
        yield agent


class TestPydanticAi(Story):
    framework = "pydantic_ai"

    def ask(self, server: FakeServer, question: str) -> str:
        return asyncio.run(self.aask(server, question))

    async def aask(self, server: FakeServer, question: str) -> str:
        async with weather_agent(server) as agent:
            return str((await agent.run(question)).output)

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        return asyncio.run(self.aask_streaming(server, question, pieces))

    async def aask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said = []
        async with weather_agent(server) as agent, agent.run_stream(question) as result:
            async for piece in result.stream_text(delta=True, debounce_by=None):
                said.append(piece)
                if len(said) == pieces:
                    break
        return "".join(said)

    def test_the_client_below_is_not_recorded_a_second_time(self, server: FakeServer, recorded: Recorded) -> None:
        """Under `agentdbg run` the openai client is recorded too; one request is one event."""
        from agentdbg.integrations import openai as client_integration

        client_integration.enable()
        try:
            with traced_run("story"):
                self.ask(server, QUESTION)
                server.brain = greet
                self.ask_streaming(server, QUESTION)
                self.ask_streaming(server, QUESTION, pieces=2)
        finally:
            client_integration.disable()

        calls = recorded.only().of_type("LLM_CALL")
        assert [call["meta"]["framework"] for call in calls] == ["pydantic_ai"] * len(server.requests)
        assert [call["meta"].get("cancelled") for call in calls[-2:]] == [None, True]


def test_the_agent_is_a_span_around_its_calls(server: FakeServer, recorded: Recorded) -> None:
    """Which agent made a call is the first question when there are several."""

    async def main() -> None:
        async with weather_agent(server, instructions="Be brief.") as agent, traced_run("story"):
            await agent.run(QUESTION, model_settings={"temperature": 0.5})

    asyncio.run(main())
    run = recorded.only()
    span = run.one("STATE_UPDATE")
    first = run.of_type("LLM_CALL")[0]
    assert span["meta"]["span"] == span["meta"]["agent_name"] == "weather agent"
    assert span["payload"]["input"] == QUESTION
    assert span["payload"]["output"] == SUMMARY
    assert {call["parent_id"] for call in run.of_type("LLM_CALL")} == {span["event_id"]}
    assert first["payload"]["prompt"][0] == {"role": "system", "content": "Be brief."}
    assert first["payload"]["temperature"] == 0.5
    assert [tool["name"] for tool in first["payload"]["tools"]] == ["get_weather"]
    assert first["meta"]["generation_id"] == "chatcmpl-1"
    assert first["payload"]["source"].startswith("tests/integrations/test_pydantic_ai.py:")


def test_an_agent_inside_a_tool_hangs_under_that_tool(server: FakeServer, recorded: Recorded) -> None:
    """Agents call agents; the tree shows who called whom."""

    async def main() -> None:
        async with weather_agent(server) as outer, weather_agent(server) as inner:

            async def ask_a_friend(question: str) -> str:
                return str((await inner.run(question)).output)

            outer.tool_plain(ask_a_friend)
            with traced_run("story"):
                await outer.run("outer")

    def brain(request: Request) -> Answer:
        if request.tool_results:
            return Answer(text="done")
        if request.number == 1:
            return Answer(calls=[("ask_a_friend", {"question": "inner"})])
        return Answer(text="hello")

    server.brain = brain
    asyncio.run(main())
    run = recorded.only()
    tool = run.one("TOOL_CALL")
    inner_span = next(span for span in run.of_type("STATE_UPDATE") if span["payload"]["input"] == "inner")
    inner_call = next(call for call in run.of_type("LLM_CALL") if call["payload"]["response"] == "hello")
    assert inner_span["parent_id"] == tool["event_id"]
    assert inner_call["parent_id"] == inner_span["event_id"]


def test_a_tool_that_a_stream_asks_for_hangs_under_it(recorded: Recorded) -> None:
    """A stream that ends with words runs its tools before its own end; ids of the same name went before."""
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    async def speak(_messages: Any, _info: Any) -> Any:
        yield "Let me see."
        yield {1: DeltaToolCall(name="get_weather", json_args='{"city": "Oslo"}', tool_call_id="call_1")}

    agent = pydantic_ai.Agent(FunctionModel(stream_function=speak), name="weather agent")
    agent.tool_plain(lambda city: city, name="get_weather")

    async def main() -> None:
        with traced_run("story"):
            for _ in range(2):
                async with agent.run_stream(QUESTION) as result:
                    await result.get_output()

    asyncio.run(main())
    run = recorded.only()
    assert [tool["parent_id"] for tool in run.of_type("TOOL_CALL")] == [
        call["event_id"] for call in run.of_type("LLM_CALL")
    ]


def test_a_tool_that_asks_for_another_try_shows_its_own_words(server: FakeServer, recorded: Recorded) -> None:
    """`ModelRetry` is how tools of this framework fail; the reason must not be lost in its wrapping."""

    async def main() -> None:
        async with weather_agent(server) as agent:

            def picky(city: str) -> str:
                raise pydantic_ai.ModelRetry("another city, please")

            agent.tool_plain(picky)
            with traced_run("story"):
                await agent.run(QUESTION)

    server.brain = lambda request: (
        Answer(text="well") if request.tool_results else Answer(calls=[("picky", {"city": "x"})])
    )
    asyncio.run(main())
    error = recorded.only().one("TOOL_CALL")["payload"]["error"]
    assert (error["error_type"], error["message"]) == ("ModelRetry", "another city, please")


def test_an_mcp_result_that_says_it_failed_is_a_failed_call(server: FakeServer, recorded: Recorded) -> None:
    """A tool may hand on what an MCP server answered as it is."""

    async def main() -> None:
        async with weather_agent(server) as agent:

            def get_weather(city: str) -> Any:
                """How the weather is there."""
                return {"content": [{"type": "text", "text": f"no {city}"}], "isError": city == "Oslo"}

            with agent.override(tools=[get_weather]):
                await agent.run(QUESTION)

    with traced_run("story"):
        asyncio.run(main())

    tools = {event["payload"]["args"]["city"]: event["payload"] for event in recorded.only().of_type("TOOL_CALL")}
    assert (tools["Oslo"]["status"], tools["Oslo"]["error"]["message"]) == ("error", "no Oslo")
    assert tools["Lima"]["status"] == "ok"


def test_structured_output_is_recorded_and_is_no_tool(server: FakeServer, recorded: Recorded) -> None:
    """The framework asks for an object by a tool of its own; nothing runs, so no tool call is recorded."""

    async def main() -> None:
        async with weather_agent(server, output_type=dict[str, int]) as agent, traced_run("story"):
            assert (await agent.run(QUESTION)).output == {"Oslo": 3}

    server.brain = lambda request: Answer(calls=[("final_result", {"response": {"Oslo": 3}})])
    asyncio.run(main())
    run = recorded.only()
    assert run.of_type("TOOL_CALL") == []
    assert run.one("STATE_UPDATE")["payload"]["output"] == {"Oslo": 3}


def test_a_refused_request_is_the_error_of_its_call(server: FakeServer, recorded: Recorded) -> None:
    """The provider's no is recorded where it was said, and reaches the caller as it would without us."""
    server.brain = lambda request: Answer(text="no such model", status=404)

    async def main() -> None:
        async with weather_agent(server) as agent, traced_run("story"):
            await agent.run(QUESTION)

    with pytest.raises(pydantic_ai.exceptions.ModelHTTPError) as caught:
        asyncio.run(main())
    call = recorded.only().one("LLM_CALL")
    assert call["payload"]["error"]["error_type"] == caught.type.__name__
    assert recorded.only().meta["counts"]["errors"] == 1


def test_one_agent_can_be_recorded_alone(server: FakeServer, recorded: Recorded) -> None:
    """With the capability given to one agent only that one is recorded; given and enabled, it is recorded once."""
    from agentdbg.integrations import pydantic_ai as integration

    async def main() -> None:
        async with weather_agent(server, capabilities=[integration.recorder()]) as agent:
            await agent.run(QUESTION)

    asyncio.run(main())
    integration.disable()
    asyncio.run(main())
    assert [run.meta["counts"]["llm_calls"] for run in recorded.all()] == [2, 2]


def test_disabled_nothing_is_recorded_and_nothing_is_left(server: FakeServer, recorded: Recorded) -> None:
    """Whoever turns it off gets the framework back as it was."""
    from agentdbg.integrations import pydantic_ai as integration

    ours = pydantic_ai.Agent.iter
    integration.disable()

    async def main() -> None:
        async with weather_agent(server) as agent:
            await agent.run(QUESTION)

    asyncio.run(main())
    assert pydantic_ai.Agent.iter is not ours
    assert recorded.all() == []
