"""CrewAI plays the story with a crew of one agent and one task."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import traced_run
from tests.integrations.story import MODEL, QUESTION, SUMMARY, Story, greet, read_weather, slow_weather

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded, RecordedRun

# Before the import: CrewAI reports to its makers otherwise, and asks questions on the terminal.
if importlib.util.find_spec("crewai") is None:  # before the variables: they would silence other tests' telemetry
    pytest.skip("crewai is not installed", allow_module_level=True)
os.environ.update({"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"})
crewai = pytest.importorskip("crewai")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]
EXPECTED = "a sentence"


@pytest.fixture(autouse=True)
def _enabled(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from agentdbg.integrations import crewai as integration

    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))
    integration.enable()
    yield
    integration.disable()


def weather_agent(server: FakeServer, **options: Any) -> Any:
    from crewai.tools import tool

    def get_weather(city: str) -> str:
        """How the weather is there."""
        return read_weather(city)

    weather_tool = tool("get_weather")(get_weather)
    weather_tool.cache_function = lambda *_: False  # the story asks for the same city again and means it
    llm = crewai.LLM(model=MODEL, base_url=server.openai_url, api_key="none", **options)
    return crewai.Agent(
        role="weather agent", goal="tell the weather", backstory="a reporter", llm=llm, tools=[weather_tool]
    )


def weather_crew(server: FakeServer, question: str, *, stream: bool = False) -> Any:
    agent = weather_agent(server, stream=stream)
    task = crewai.Task(description=question, expected_output=EXPECTED, agent=agent)
    return crewai.Crew(name="weather crew", agents=[agent], tasks=[task], stream=stream)


class TestCrewAi(Story):
    framework = "crewai"

    def ask(self, server: FakeServer, question: str) -> str:
        return str(weather_crew(server, question).kickoff().raw)

    async def aask(self, server: FakeServer, question: str) -> str:
        return str((await weather_crew(server, question).kickoff_async()).raw)

    def ask_streaming(self, server: FakeServer, question: str, pieces: int | None = None) -> str:
        said = []
        streaming = weather_crew(server, question, stream=True).kickoff()
        for chunk in streaming:
            said.append(chunk.content)
            if len(said) == pieces:
                streaming.close()
                break
        return "".join(said)

    def check_weather_run(self, run: RecordedRun, *, requests: int, question: str = QUESTION) -> None:
        """CrewAI writes the prompt around the question."""
        around = (
            f"\nCurrent Task: {question}\n\nThis is the expected criteria for your final answer: {EXPECTED}\n"
            "you MUST return the actual complete content as the final answer, not a summary."
        )
        super().check_weather_run(run, requests=requests, question=around)

    def test_everything_is_recorded_when_kickoff_returns(self, server: FakeServer, recorded: Recorded) -> None:
        """CrewAI tells its listeners later, on other threads; a run that closed by then would be incomplete."""
        server.brain = slow_weather
        for _ in range(3):
            with traced_run("story"):
                self.ask(server, QUESTION)

        for run in recorded.all():
            assert run.meta["dropped_events"] == 0
            assert run.types()[-1] == "RUN_END"
            self.check_weather_run(run, requests=2)

    def test_the_client_below_is_not_recorded_a_second_time(self, server: FakeServer, recorded: Recorded) -> None:
        """Under `agentdbg run` the openai client is recorded too; one request is one event."""
        from agentdbg.integrations import openai as client_integration

        client_integration.enable()
        try:
            with traced_run("story"):
                self.ask(server, QUESTION)
                server.brain = greet
                self.ask_streaming(server, QUESTION)
        finally:
            client_integration.disable()

        calls = recorded.only().of_type("LLM_CALL")
        assert [call["meta"]["framework"] for call in calls] == ["crewai"] * len(server.requests)


def test_crew_task_and_agent_are_spans_around_the_calls(server: FakeServer, recorded: Recorded) -> None:
    """Which agent did what for which task is what a crew is about."""
    with traced_run("story"):
        weather_crew(server, QUESTION).kickoff()

    run = recorded.only()
    spans = {span["meta"]["span"]: span for span in run.of_type("STATE_UPDATE")}
    crew, task, agent = spans["weather crew"], spans[QUESTION], spans["weather agent"]
    assert len(spans) == 3
    assert crew["parent_id"] == run.one("RUN_START")["event_id"]
    assert (task["parent_id"], agent["parent_id"]) == (crew["event_id"], task["event_id"])
    assert {call["parent_id"] for call in run.of_type("LLM_CALL")} == {agent["event_id"]}
    assert crew["payload"]["output"] == task["payload"]["output"] == SUMMARY
    first = run.of_type("LLM_CALL")[0]
    assert first["meta"]["agent_name"] == "weather agent"
    assert first["meta"]["task_name"] == QUESTION
    assert first["meta"]["generation_id"] == "chatcmpl-1"
    assert [tool["function"]["name"] for tool in first["payload"]["tools"]] == ["get_weather"]
    assert first["payload"]["source"].startswith("tests/integrations/test_crewai.py:")


def test_a_flow_and_its_methods_are_spans(server: FakeServer, recorded: Recorded) -> None:
    """Flows are how crews are put together."""
    from crewai.flow.flow import Flow, listen, start

    class Report(Flow):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def gather(self) -> str:
            return str(weather_crew(server, QUESTION).kickoff().raw)

        @listen(gather)  # type: ignore[untyped-decorator]
        def publish(self, report: str) -> str:
            return report.upper()

    with traced_run("story"):
        assert Report(suppress_flow_events=False).kickoff() == SUMMARY.upper()

    run = recorded.only()
    spans = {span["meta"]["span"]: span for span in run.of_type("STATE_UPDATE")}
    assert spans.keys() == {"Report", "gather", "publish", "weather crew", QUESTION, "weather agent"}
    assert spans["gather"]["parent_id"] == spans["publish"]["parent_id"] == spans["Report"]["event_id"]
    assert spans["weather crew"]["parent_id"] == spans["gather"]["event_id"]


def test_an_agent_without_a_crew_is_recorded(server: FakeServer, recorded: Recorded) -> None:
    """`agent.kickoff` is the short way to use the framework."""
    weather_agent(server).kickoff(QUESTION)

    run = recorded.only()
    assert run.meta["status"] == "ok"
    assert run.meta["counts"]["llm_calls"] == len(server.requests) == 2
    assert run.meta["counts"]["tool_calls"] == 2


def test_a_model_asked_directly_is_recorded(server: FakeServer, recorded: Recorded) -> None:
    """`LLM.call` needs no agent at all, and awaiting it is the same."""
    server.brain = greet
    llm = crewai.LLM(model=MODEL, base_url=server.openai_url, api_key="none", temperature=0.5)
    with traced_run("story"):
        llm.call(QUESTION)
        asyncio.run(llm.acall(QUESTION))

    calls = recorded.only().of_type("LLM_CALL")
    assert len(calls) == len(server.requests) == 2
    assert {call["payload"]["temperature"] for call in calls} == {0.5}


def test_disabled_nothing_is_recorded_and_nothing_is_left(server: FakeServer, recorded: Recorded) -> None:
    """Whoever turns it off gets the framework back as it was."""
    from crewai.agent import core
    from crewai.events import crewai_event_bus

    from agentdbg import AgentDbgGuardrailExceeded
    from agentdbg.integrations import crewai as integration

    integration.disable()
    weather_crew(server, QUESTION).kickoff()

    assert recorded.all() == []
    assert "emit" not in vars(crewai_event_bus)
    assert AgentDbgGuardrailExceeded not in core._passthrough_exceptions
