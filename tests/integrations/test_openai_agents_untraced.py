"""The OpenAI Agents SDK where its own tracing says nothing: switched off, replaced, or models of the program's own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import textwrap
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from agentdbg import AgentDbgGuardrailExceeded, record_state, traced_run
from examples.fake_openai_server import Answer
from tests.integrations.story import MODEL, QUESTION, Story, check_tree, find_stop, read_weather

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded, RecordedRun

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
    agents.set_tracing_disabled(False)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


# The whole story, untraced.


class UntracedStory(Story):
    framework = "openai_agents"
    model_kind: Any = agents.OpenAIResponsesModel
    run_config: Any = None

    async def use(self, server: FakeServer, use: Callable[[Any], Any]) -> Any:
        async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="none", max_retries=0) as client:
            settings = agents.ModelSettings(include_usage=True)
            model = self.model_kind(MODEL, client)
            return await use(agents.Agent(name="Weather", model=model, tools=[get_weather], model_settings=settings))

    def ask(self, server: FakeServer, question: str) -> str:
        return str(run(self.aask(server, question)))

    async def aask(self, server: FakeServer, question: str) -> str:
        async def use(agent: Any) -> str:
            return str((await agents.Runner.run(agent, question, run_config=self.run_config)).final_output)

        return str(await self.use(server, use))

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said: list[str] = []

        async def use(agent: Any) -> None:
            result = agents.Runner.run_streamed(agent, question, run_config=self.run_config)
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    said.append(event.data.delta)
                    if len(said) == pieces:
                        result.cancel()

        run(self.use(server, use))
        return "".join(said)


class TestTracingSwitchedOff(UntracedStory):
    @pytest.fixture(autouse=True)
    def _off(self, _enabled: None) -> None:
        agents.set_tracing_disabled(True)


class TestTracingSwitchedOffWithChatCompletions(TestTracingSwitchedOff):
    model_kind = agents.OpenAIChatCompletionsModel


class TestTracingOffForTheRun(UntracedStory):
    run_config = agents.RunConfig(tracing_disabled=True)


class TestTracingWithoutData(UntracedStory):
    run_config = agents.RunConfig(trace_include_sensitive_data=False)


class TestProcessorsReplaced(UntracedStory):
    """Other tools for tracing put themselves in everybody's place."""

    @pytest.fixture(autouse=True)
    def _replaced(self, _enabled: None) -> None:
        agents.set_trace_processors([])


def test_switched_off_by_the_environment_it_is_recorded(
    server: FakeServer, recorded: Recorded, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is read once in a process, so the process is a new one."""
    from tests.integrations.test_zero_code import PROGRAMS, TOOL, _run

    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    (tmp_path / "agent.py").write_text(textwrap.dedent(TOOL) + textwrap.dedent(PROGRAMS["agents"]))
    result = _run(tmp_path, ["-m", "agentdbg", "run", "--max-llm-calls", "1"], server)

    assert (result.returncode, len(server.requests)) == (1, 1), result.stderr
    assert recorded.only().meta["counts"]["llm_calls"] == 1


@pytest.mark.parametrize("way", ["globally", "for the run"])
def test_the_tree_is_the_one_that_a_trace_has(server: FakeServer, recorded: Recorded, way: str) -> None:
    """Agents are steps, and what a tool records hangs under the tool, whoever is told of it."""

    def note(city: str) -> str:
        """The weather."""
        record_state({"city": city})
        return read_weather(city)

    async def use(agent: Any, config: Any) -> None:
        agent = agent.clone(tools=[agents.function_tool(note, name_override="get_weather")])
        await agents.Runner.run(agent, QUESTION, run_config=config)

    agents.set_tracing_disabled(way == "globally")
    config = agents.RunConfig(tracing_disabled=way == "for the run")
    with traced_run("story"):
        run(UntracedStory().use(server, lambda agent: use(agent, config)))

    trace = recorded.only()
    span = next(step for step in trace.of_type("STATE_UPDATE") if step["name"] == "Weather")
    tools = {tool["event_id"]: tool["payload"]["args"] for tool in trace.of_type("TOOL_CALL")}
    states = [state for state in trace.of_type("STATE_UPDATE") if state["name"] == "state"]
    assert span["meta"]["agent_name"] == "Weather"
    assert {call["parent_id"] for call in trace.of_type("LLM_CALL")} == {span["event_id"]}
    assert [tools[state["parent_id"]] for state in states] == [state["payload"]["state"] for state in states]
    check_tree(trace)


# Models of the program's own.


def message(text: str) -> Any:
    part = openai.types.responses.ResponseOutputText(text=text, type="output_text", annotations=[])
    return openai.types.responses.ResponseOutputMessage(
        id="m1", content=[part], role="assistant", status="completed", type="message"
    )


def call_of_tool(number: int, **arguments: Any) -> Any:
    return openai.types.responses.ResponseFunctionToolCall(
        arguments=json.dumps(arguments), call_id=f"c{number}", name="get_weather", type="function_call"
    )


def response(*items: Any) -> Any:
    usage = agents.Usage(requests=1, input_tokens=20, output_tokens=7, total_tokens=27)
    return agents.ModelResponse(output=list(items), usage=usage, response_id="r1")


def completed(*items: Any) -> Any:
    made = openai.types.responses.Response(
        id="r1",
        created_at=0,
        model="named-in-the-answer",
        object="response",
        output=list(items),
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=False,
    )
    return openai.types.responses.ResponseCompletedEvent(response=made, sequence_number=9, type="response.completed")


def delta(text: str) -> Any:
    return openai.types.responses.ResponseTextDeltaEvent(
        content_index=0,
        delta=text,
        item_id="m1",
        logprobs=[],
        output_index=0,
        sequence_number=1,
        type="response.output_text.delta",
    )


class OwnModel(agents.Model):  # type: ignore[name-defined,misc]
    """Asks for the weather, again and again, or says what it is told to."""

    def __init__(self, answers: Any = None) -> None:
        self.answers = answers
        self.asked = 0

    def next_items(self) -> list[Any]:
        self.asked += 1
        if self.answers is None:
            return [call_of_tool(self.asked, city=f"Town {self.asked}")]
        item = self.answers[self.asked - 1]
        if isinstance(item, BaseException):
            raise item
        return [message(item) if isinstance(item, str) else item]

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        return response(*self.next_items())

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        items = self.next_items()
        for item in items:
            for word in item.content[0].text.split() if item.type == "message" else ():
                yield delta(f"{word} ")
        yield completed(*items)


class DerivedModel(OwnModel):
    """One that does something of its own before it asks the one it is made from."""

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        return await super().get_response(*args, **kwargs)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for event in super().stream_response(*args, **kwargs):
            yield event


class AroundAnother(agents.Model):  # type: ignore[name-defined,misc]
    """One that asks another, as models that retry or route do."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        return await self.inner.get_response(*args, **kwargs)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner.stream_response(*args, **kwargs)


def a_mock(model: OwnModel) -> Any:
    """Not derived from anything of the SDK's that could be followed."""
    mock, unfollowed = MagicMock(spec=agents.Model), vars(OwnModel)
    mock.get_response = AsyncMock(side_effect=unfollowed["get_response"].__wrapped__.__get__(model))
    mock.stream_response = unfollowed["stream_response"].__wrapped__.__get__(model)
    return mock


KINDS: dict[str, Callable[..., Any]] = {
    "own": lambda answers=None: (model := OwnModel(answers), model),
    "derived": lambda answers=None: (model := DerivedModel(answers), model),
    "around another": lambda answers=None: (AroundAnother(model := OwnModel(answers)), model),
    "a mock": lambda answers=None: (a_mock(model := OwnModel(answers)), model),
}


@pytest.fixture(params=["traced", "untraced"])
def _tracing(request: pytest.FixtureRequest) -> None:
    agents.set_tracing_disabled(request.param == "untraced")


async def ask(model: Any, *, streamed: bool = False, **options: Any) -> Any:
    agent = agents.Agent(name="Weather", model=model, tools=[get_weather])
    if not streamed:
        return (await agents.Runner.run(agent, QUESTION, **options)).final_output
    result = agents.Runner.run_streamed(agent, QUESTION, **options)
    async for _ in result.stream_events():
        pass
    return result.final_output


def calls(trace: RecordedRun) -> list[tuple[str, Any, str]]:
    return [
        (call["name"], call["payload"]["response"], call["payload"]["status"]) for call in trace.of_type("LLM_CALL")
    ]


@pytest.mark.usefixtures("_tracing")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", list(KINDS))
class TestModelsOfTheProgramsOwn:
    def test_what_it_said_is_recorded_once(self, recorded: Recorded, kind: str, streamed: bool) -> None:
        """A call that came back must not look as if the process had died in it."""
        asked, model = KINDS[kind](["It is cold."])
        with traced_run("story"):
            assert run(ask(asked, streamed=streamed)) == "It is cold."

        trace = recorded.only()
        name = "named-in-the-answer" if streamed and kind != "a mock" else "unknown"
        assert (calls(trace), model.asked) == ([(name, "It is cold.", "ok")], 1)
        call = trace.one("LLM_CALL")
        assert call["meta"]["agent_name"] == "Weather"
        assert streamed or call["payload"]["usage"]["total_tokens"] == 27
        assert trace.meta["counts"] == {"llm_calls": 1, "tool_calls": 0, "errors": 0, "loop_warnings": 0}
        check_tree(trace)

    def test_a_limit_stops_it_before_the_next_call(self, recorded: Recorded, kind: str, streamed: bool) -> None:
        """The limit that was not one."""
        asked, model = KINDS[kind]()
        with pytest.raises(AgentDbgGuardrailExceeded), traced_run("story", max_llm_calls=2):
            run(ask(asked, streamed=streamed))

        trace = recorded.only()
        assert (model.asked, len(trace.of_type("LLM_CALL")), len(trace.of_type("TOOL_CALL"))) == (2, 2, 2)
        check_tree(trace)

    def test_a_limit_on_tools_stops_it_too(self, recorded: Recorded, kind: str, streamed: bool) -> None:
        """Tools are announced by the same hooks."""
        asked, model = KINDS[kind]()
        with pytest.raises(Exception) as caught, traced_run("story", max_tool_calls=2):
            run(ask(asked, streamed=streamed))

        assert find_stop(caught.value).guardrail == "max_tool_calls"
        assert (model.asked, len(recorded.only().of_type("TOOL_CALL"))) == (3, 2)
        check_tree(recorded.only())

    def test_what_it_raised_is_recorded(self, recorded: Recorded, kind: str, streamed: bool) -> None:
        """No hook of the SDK is told of a failure."""
        asked, _ = KINDS[kind]([ConnectionError("no such host")])
        with pytest.raises(ConnectionError), traced_run("story"):
            run(ask(asked, streamed=streamed))

        payload = recorded.only().one("LLM_CALL")["payload"]
        assert (payload["status"], payload["error"]["error_type"]) == ("error", "ConnectionError")
        assert recorded.only().meta["counts"]["errors"] == 1
        check_tree(recorded.only())

    def test_outside_a_run_it_is_one_run(self, recorded: Recorded, kind: str, streamed: bool) -> None:
        """Each `Runner.run` is a run, not each of its calls."""
        asked, _ = KINDS[kind]([call_of_tool(1, city="Oslo"), "It is cold."])
        assert run(ask(asked, streamed=streamed)) == "It is cold."

        counts = recorded.only().meta["counts"]
        assert (counts["llm_calls"], counts["tool_calls"]) == (2, 1)
        tool = recorded.only().one("TOOL_CALL")
        assert tool["parent_id"] == recorded.only().of_type("LLM_CALL")[0]["event_id"]
        check_tree(recorded.only())


@pytest.mark.usefixtures("_tracing")
@pytest.mark.parametrize("kind", ["own", "derived", "around another"])
def test_a_stream_left_half_way_is_recorded_as_far_as_it_came(recorded: Recorded, kind: str) -> None:
    """What was said until then has been paid for."""
    asked, _ = KINDS[kind](["Good morning dear traveller"])

    async def leave() -> None:
        result = agents.Runner.run_streamed(agents.Agent(name="Weather", model=asked), QUESTION)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                result.cancel()

    with traced_run("story"):
        run(leave())

    call = recorded.only().one("LLM_CALL")
    assert call["payload"]["response"].startswith("Good")
    assert call["payload"]["status"] == "ok"
    check_tree(recorded.only())


@pytest.mark.usefixtures("_tracing")
def test_several_agents_at_once_are_told_apart(recorded: Recorded) -> None:
    """Spans that do nothing all have the same id."""

    async def all_at_once() -> list[str]:
        models = [OwnModel([call_of_tool(1, city="Oslo"), f"I am {number}."]) for number in range(5)]
        return list(await asyncio.gather(*(ask(model) for model in models)))

    with traced_run("story"):
        assert run(all_at_once()) == [f"I am {number}." for number in range(5)]

    counts = recorded.only().meta["counts"]
    assert (counts["llm_calls"], counts["tool_calls"]) == (10, 5)
    check_tree(recorded.only())


@pytest.mark.usefixtures("_tracing")
def test_an_answer_nobody_can_use_was_still_an_answer(recorded: Recorded) -> None:
    """The SDK raises when a model asks for a tool that is not there; the model did come back."""
    asked = OwnModel([call_of_tool(1, city="Oslo").model_copy(update={"name": "no_such_tool"})])
    with pytest.raises(agents.ModelBehaviorError), traced_run("story"):
        run(ask(asked))

    payload = recorded.only().one("LLM_CALL")["payload"]
    assert (payload["status"], payload["response"][0]["name"]) == ("ok", "no_such_tool")


def test_the_name_is_that_of_the_model_that_was_asked(server: FakeServer, recorded: Recorded) -> None:
    """A model may be chosen for the run, and then the agent's own is not asked."""
    server.brain = lambda request: Answer(text="Fine.")

    async def use(agent: Any) -> None:
        config = agents.RunConfig(model=agent.model, tracing_disabled=True)
        await agents.Runner.run(agent.clone(model="another-model"), QUESTION, run_config=config)

    with traced_run("story"):
        run(UntracedStory().use(server, use))

    assert recorded.only().one("LLM_CALL")["name"] == MODEL


def test_disabled_it_records_nothing(recorded: Recorded) -> None:
    """A switch that does not switch off is worse than none."""
    integration.disable()
    with traced_run("story"):
        run(ask(OwnModel(["Fine."]), run_config=agents.RunConfig(tracing_disabled=True)))

    assert recorded.only().types() == ["RUN_START", "RUN_END"]


def test_what_the_sdk_shows_of_its_tracing_is_unchanged(recorded: Recorded) -> None:
    """A program that switched tracing off finds it off."""
    seen: list[Any] = []

    def look(city: str) -> str:
        """Look."""
        span, trace = agents.get_current_span(), agents.get_current_trace()
        seen.append((span.span_id, trace.trace_id, span.export(), trace.export()))
        return city

    agents.set_tracing_disabled(True)
    agent = agents.Agent(
        name="A",
        model=OwnModel([call_of_tool(1, city="Oslo"), "Done."]),
        tools=[agents.function_tool(look, name_override="get_weather")],
    )
    with traced_run("story"):
        run(agents.Runner.run(agent, QUESTION))

    assert seen == [("no-op", "no-op", None, None)]


# MCP servers.


def result(text: str, *, failed: bool) -> Any:
    mcp = pytest.importorskip("mcp.types")
    content = [mcp.TextContent(type="text", text=text)]
    return mcp.CallToolResult.model_validate({"content": [part.model_dump() for part in content], "isError": failed})


def mcp_server(**answers: Any) -> Any:
    mcp = pytest.importorskip("agents.mcp")
    tool = pytest.importorskip("mcp.types").Tool

    class Server(mcp.MCPServer):  # type: ignore[misc,name-defined]
        name = "files"

        async def connect(self) -> None: ...
        async def cleanup(self) -> None: ...
        async def list_prompts(self) -> Any: ...
        async def get_prompt(self, *_: Any, **__: Any) -> Any: ...

        async def list_tools(self, *_: Any, **__: Any) -> Any:
            schema = {"type": "object", "properties": {"city": {"type": "string"}}}
            return [tool.model_validate({"name": "get_weather", "inputSchema": schema})]

        async def call_tool(self, tool_name: str, arguments: Any, *_: Any, **__: Any) -> Any:
            return answers[arguments["city"]]

    return Server()


@pytest.mark.usefixtures("_tracing")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_mcp_tool_that_says_it_failed_has_failed(recorded: Recorded, streamed: bool) -> None:
    """The SDK passes such a result on to the model like any other; whoever debugs must see the failure."""
    server = mcp_server(Oslo=result("3 degrees", failed=False), Atlantis=result("no such city", failed=True))
    asked = OwnModel([call_of_tool(1, city="Oslo"), call_of_tool(2, city="Atlantis"), "Nobody knows."])
    agent = agents.Agent(name="Weather", model=asked, mcp_servers=[server])

    async def use() -> None:
        if not streamed:
            await agents.Runner.run(agent, QUESTION)
            return
        async for _ in agents.Runner.run_streamed(agent, QUESTION).stream_events():
            pass

    with traced_run("story"):
        run(use())

    good, bad = (event["payload"] for event in recorded.only().of_type("TOOL_CALL"))
    assert (good["status"], good["error"]) == ("ok", None)
    assert (bad["status"], bad["error"]["message"]) == ("error", "no such city")
    assert "no such city" in str(bad["result"])
    assert recorded.only().meta["counts"]["errors"] == 1


# The SDK's own kinds of tools.


@pytest.mark.usefixtures("_tracing")
@pytest.mark.parametrize("fails", [False, True])
def test_a_local_shell_is_a_tool_call(recorded: Recorded, fails: bool) -> None:
    """The SDK puts no span around it, so only the hooks tell."""
    action = {"command": ["ls"], "env": {}, "type": "exec"}
    wanted = openai.types.responses.response_output_item.LocalShellCall.model_validate(
        {"id": "l1", "call_id": "c1", "status": "completed", "type": "local_shell_call", "action": action}
    )

    def execute(_: Any) -> str:
        if fails:
            raise OSError("no shell here")
        return "a file"

    agent = agents.Agent(name="A", model=OwnModel([wanted, "Done."]), tools=[agents.LocalShellTool(executor=execute)])
    with pytest.raises(Exception) if fails else contextlib.nullcontext(), traced_run("story"):
        run(agents.Runner.run(agent, QUESTION))

    payload = recorded.only().one("TOOL_CALL")["payload"]
    assert (payload["tool_name"], payload["status"]) == ("local_shell", "error" if fails else "ok")
    assert payload["error"]["error_type"] == "OSError" if fails else payload["result"] == "a file"
    check_tree(recorded.only())
