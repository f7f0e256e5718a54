"""The OpenAI Agents SDK: the story over Responses and over Chat Completions, and what only agents do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import traced_run
from examples.fake_openai_server import Answer, Request
from tests.integrations.story import MODEL, QUESTION, SUMMARY, Story, check_tree, greet, read_weather

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded

agents = pytest.importorskip("agents")
openai = pytest.importorskip("openai")
client_integration = pytest.importorskip("agentdbg.integrations.openai")
integration = pytest.importorskip("agentdbg.integrations.openai_agents")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

get_weather = agents.function_tool(read_weather, name_override="get_weather")


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    integration.local_only()
    yield
    integration.disable()
    client_integration.disable()


async def in_agent(server: FakeServer, kind: Any, use: Any, **options: Any) -> Any:
    """Give `use` an agent whose client lives as long as it does."""
    async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="none", max_retries=0) as client:
        model = kind(MODEL, client)
        options = {"model_settings": agents.ModelSettings(include_usage=True), **options}
        return await use(agents.Agent(name="Weather", model=model, tools=[get_weather], **options))


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


class AgentsStory(Story):
    framework = "openai_agents"
    model_kind: Any

    def ask(self, server: FakeServer, question: str) -> str:
        return str(run(self.aask(server, question)))

    async def aask(self, server: FakeServer, question: str) -> str:
        async def use(agent: Any) -> str:
            return str((await agents.Runner.run(agent, question)).final_output)

        return str(await in_agent(server, self.model_kind, use))

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said: list[str] = []

        async def use(agent: Any) -> None:
            result = agents.Runner.run_streamed(agent, question)
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    said.append(event.data.delta)
                    if len(said) == pieces:
                        result.cancel()

        run(in_agent(server, self.model_kind, use))
        return "".join(said)


class TestResponses(AgentsStory):
    model_kind = agents.OpenAIResponsesModel


class TestChatCompletions(AgentsStory):
    model_kind = agents.OpenAIChatCompletionsModel


class TestBesideTheRecordedClient(AgentsStory):
    """The client underneath is recorded too: one call is still one LLM_CALL."""

    model_kind = agents.OpenAIResponsesModel

    @pytest.fixture(autouse=True)
    def _client_enabled(self, _enabled: None) -> None:
        client_integration.enable()


def test_an_agent_is_a_span_and_its_calls_say_whose_they_are(server: FakeServer, recorded: Recorded) -> None:
    """With several agents in one run, the first question is who did this."""

    async def use(agent: Any) -> None:
        about = agents.RunConfig(workflow_name="Report", group_id="chat-7", trace_metadata={"user_id": "ada"})
        await agents.Runner.run(agent, QUESTION, run_config=about)

    with traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use, instructions="Be brief."))

    trace = recorded.only()
    span, workflow = trace.of_type("STATE_UPDATE")
    assert (span["name"], span["meta"]["agent_name"]) == ("Weather", "Weather")
    assert (workflow["name"], workflow["meta"]["session_id"], workflow["meta"]["user_id"]) == (
        "Report",
        "chat-7",
        "ada",
    )
    assert span["parent_id"] == workflow["event_id"]
    assert workflow["parent_id"] == trace.one("RUN_START")["event_id"]
    for number, call in enumerate(trace.of_type("LLM_CALL"), 1):
        assert call["parent_id"] == span["event_id"]
        assert call["meta"]["agent_name"] == "Weather"
        assert call["meta"]["generation_id"] == f"resp_{number}"
        assert call["payload"]["prompt"][0] == {"role": "system", "content": "Be brief."}


def test_a_handoff_is_seen_and_the_next_agent_too(server: FakeServer, recorded: Recorded) -> None:
    """Who handed over to whom is the plot of a run with several agents."""

    def hand_over(request: Request) -> Answer:
        return greet(request) if request.tool_results else Answer(calls=[("transfer_to_helper", {})])

    server.brain = hand_over

    async def use(agent: Any) -> None:
        helper = agent.clone(name="Helper", tools=[])
        await agents.Runner.run(agent.clone(name="Desk", tools=[], handoffs=[helper]), QUESTION)

    with traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use))

    trace = recorded.only()
    spans = trace.of_type("STATE_UPDATE")
    assert [span["name"] for span in spans] == ["handoff to Helper", "Desk", "Helper", "Agent workflow"]
    assert {span["parent_id"] for span in spans[1:3]} == {spans[3]["event_id"]}  # both agents in one workflow
    assert [call["meta"]["agent_name"] for call in trace.of_type("LLM_CALL")] == ["Desk", "Helper"]
    check_tree(trace)


def test_an_agent_used_as_a_tool_hangs_under_that_tool(server: FakeServer, recorded: Recorded) -> None:
    """A tool that is itself an agent makes calls of its own; they belong inside it."""

    def delegate(request: Request) -> Answer:
        if request.body.get("tools") and not request.tool_results:
            return Answer(calls=[("ask_helper", {"input": "help"})])
        return greet(request)

    server.brain = delegate

    async def use(agent: Any) -> None:
        helper = agent.clone(name="Helper", tools=[])
        tool = helper.as_tool(tool_name="ask_helper", tool_description="Ask.")
        await agents.Runner.run(agent.clone(name="Desk", tools=[tool]), QUESTION)

    with traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use))

    trace = recorded.only()
    tool = trace.one("TOOL_CALL")
    helper = next(span for span in trace.of_type("STATE_UPDATE") if span["name"] == "Helper")
    assert tool["payload"]["args"] == {"input": "help"}
    assert helper["parent_id"] == tool["event_id"]
    assert len(trace.of_type("LLM_CALL")) == len(server.requests) == 3
    check_tree(trace)


def test_a_tripped_guardrail_of_the_sdk_is_recorded(server: FakeServer, recorded: Recorded) -> None:
    """The SDK has guardrails of its own; when one ends a run, the trace must say which."""

    async def refuse(_context: Any, _agent: Any, _given: Any) -> Any:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    server.brain = greet

    async def use(agent: Any) -> None:
        guardrail = agents.InputGuardrail(guardrail_function=refuse, name="politeness", run_in_parallel=False)
        await agents.Runner.run(agent.clone(input_guardrails=[guardrail]), QUESTION)

    with pytest.raises(agents.InputGuardrailTripwireTriggered), traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use))

    trace = recorded.only()
    span = next(span for span in trace.of_type("STATE_UPDATE") if span["name"] == "politeness")
    assert span["payload"]["error"]["error_type"] == "GuardrailTripwireTriggered"
    assert trace.one("ERROR")["payload"]["error_type"] == "InputGuardrailTripwireTriggered"
    assert server.requests == []


def test_what_a_tool_records_hangs_under_the_tool(server: FakeServer, recorded: Recorded) -> None:
    """Plain recording and the SDK's make one tree, though hooks run in tasks of their own."""
    from agentdbg import record_state

    def note(city: str) -> str:
        """The weather."""
        record_state({"city": city})
        return read_weather(city)

    async def use(agent: Any) -> None:
        await agents.Runner.run(agent.clone(tools=[agents.function_tool(note, name_override="get_weather")]), QUESTION)

    with traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use))

    trace = recorded.only()
    tools = {tool["event_id"]: tool["payload"]["args"] for tool in trace.of_type("TOOL_CALL")}
    states = [state for state in trace.of_type("STATE_UPDATE") if state["name"] == "state"]
    assert len(states) == 2
    for state in states:
        assert tools[state["parent_id"]] == state["payload"]["state"]


def test_a_refused_request_is_recorded_as_it_was_raised(server: FakeServer, recorded: Recorded) -> None:
    """The provider's own exception, not the SDK's summary of it."""
    server.brain = lambda request: Answer(text="no such model", status=404)

    async def use(agent: Any) -> None:
        await agents.Runner.run(agent, QUESTION)

    with pytest.raises(openai.NotFoundError), traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use))

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert payload["error"]["error_type"] == "NotFoundError"
    assert recorded.only().meta["counts"]["errors"] == 1


def test_usage_nobody_counted_is_unknown(server: FakeServer, recorded: Recorded) -> None:
    """The SDK reports zeros for a stream without counts; a zero in the sums would be a lie."""
    server.brain = greet

    async def use(agent: Any) -> None:
        async for _ in agents.Runner.run_streamed(agent, QUESTION).stream_events():
            pass

    with traced_run("story"):
        run(in_agent(server, agents.OpenAIChatCompletionsModel, use, model_settings=agents.ModelSettings()))

    assert recorded.only().one("LLM_CALL")["payload"]["usage"] is None


def test_the_programs_own_hooks_still_run(server: FakeServer, recorded: Recorded) -> None:
    """Ours stand before them, not instead of them."""
    heard: list[str] = []

    class Hooks(agents.RunHooks):  # type: ignore[name-defined,misc]
        async def on_llm_start(self, *_: Any) -> None:
            heard.append("llm")

        async def on_tool_end(self, *_: Any) -> None:
            heard.append("tool")

    async def use(agent: Any) -> Any:
        return await agents.Runner.run(agent, QUESTION, hooks=Hooks())

    with traced_run("story"):
        assert run(in_agent(server, agents.OpenAIResponsesModel, use)).final_output == SUMMARY

    assert sorted(heard) == ["llm", "llm", "tool", "tool"]
    assert len(recorded.only().of_type("LLM_CALL")) == 2


def test_run_sync_is_recorded_and_stopped(server: FakeServer, recorded: Recorded) -> None:
    """The SDK runs it on a loop of its own; the run it belongs to goes along."""
    from agentdbg import AgentDbgGuardrailExceeded

    client = openai.AsyncOpenAI(base_url=server.openai_url, api_key="none")
    agent = agents.Agent(name="Weather", model=agents.OpenAIResponsesModel(MODEL, client), tools=[get_weather])
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        with traced_run("story"):
            assert agents.Runner.run_sync(agent, QUESTION).final_output == SUMMARY
        with pytest.raises(AgentDbgGuardrailExceeded), traced_run("stopped", max_llm_calls=1):
            agents.Runner.run_sync(agent, QUESTION)
    finally:
        loop.run_until_complete(client.close())
        asyncio.set_event_loop(None)
        loop.close()

    assert [len(trace.of_type("LLM_CALL")) for trace in recorded.all()] == [2, 1]
    assert len(server.requests) == 3


def test_run_inside_a_handled_exception_is_no_failure(server: FakeServer, recorded: Recorded) -> None:
    """An agent called while a program deals with something else has not failed because of that."""
    server.brain = greet

    async def use(agent: Any) -> None:
        try:
            raise KeyError("the program's own trouble")
        except KeyError:
            await agents.Runner.run(agent, QUESTION)

    with traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use))

    trace = recorded.only()
    assert trace.one("LLM_CALL")["payload"]["status"] == "ok"
    assert [span["payload"]["error"] for span in trace.of_type("STATE_UPDATE")] == [None, None]


def test_disabled_it_records_nothing(server: FakeServer, recorded: Recorded) -> None:
    """A switch that does not switch off is worse than none."""
    integration.disable()
    client_integration.disable()

    async def use(agent: Any) -> None:
        await agents.Runner.run(agent, QUESTION)

    with traced_run("story"):
        run(in_agent(server, agents.OpenAIResponsesModel, use))

    assert recorded.only().types() == ["RUN_START", "RUN_END"]
