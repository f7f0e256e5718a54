"""Each framework tells the story under `agentdbg run`: every request is one LLM_CALL, every tool one TOOL_CALL."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.integrations.frameworks import SEAMS
from examples.fake_openai_server import INPUT_TOKENS, OUTPUT_TOKENS, Answer, Request, weather
from tests.integrations.model_server import ModelServer
from tests.integrations.story import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.integrations._framework_seams import Seam
    from tests.conftest import Recorded, RecordedRun

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

HEAD = '''
import asyncio, os, sys
url = sys.argv[1]
def get_weather(city: str) -> str:
    """Tell the weather in a city.

    Args:
        city: Where.
    """
    if city == "Atlantis":
        raise ValueError("no weather station in Atlantis")
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}[city]
'''
PROGRAMS = {
    "agno": """
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat
    model = OpenAIChat(id="gpt-4o-mini", base_url=url + "/v1", api_key="none")
    print(Agent(name="weather", model=model, tools=[get_weather], telemetry=False).run("weather?").content)
    """,
    "anthropic": """
    import anthropic
    client = anthropic.Anthropic(base_url=url, api_key="none")
    runner = client.beta.messages.tool_runner(
        model="gpt-4o-mini", max_tokens=99, tools=[anthropic.beta_tool(get_weather)],
        messages=[{"role": "user", "content": "weather?"}],
    )
    print(runner.until_done().content[0].text)
    """,
    "autogen_agentchat": """
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient
    model = OpenAIChatCompletionClient(model="gpt-4o-mini", base_url=url + "/v1", api_key="none")
    agent = AssistantAgent("weather", model_client=model, tools=[get_weather], reflect_on_tool_use=True)
    print(asyncio.run(agent.run(task="weather?")).messages[-1].content)
    """,
    "google.adk": """
    os.environ["GOOGLE_API_KEY"], os.environ["GOOGLE_GEMINI_BASE_URL"] = "none", url
    from google.adk.agents import Agent
    from google.adk.runners import InMemoryRunner
    from google.genai import types
    agent = Agent(name="weather", model="gemini-x", instruction="Tell.", tools=[get_weather])
    runner = InMemoryRunner(agent=agent, app_name="w")
    async def main():
        session = await runner.session_service.create_session(app_name="w", user_id="u")
        asked = types.Content(role="user", parts=[types.Part(text="weather?")])
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=asked):
            said = "".join(part.text or "" for part in event.content.parts)
            if said:
                print(said)
    asyncio.run(main())
    """,
    "google.genai": """
    from google import genai
    client = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=url))
    config = genai.types.GenerateContentConfig(tools=[get_weather])
    print(client.models.generate_content(model="gemini-x", contents="weather?", config=config).text)
    """,
    "haystack": """
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import create_tool_from_function
    from haystack.utils import Secret
    model = OpenAIChatGenerator(model="gpt-4o-mini", api_key=Secret.from_token("none"), api_base_url=url + "/v1")
    agent = Agent(chat_generator=model, tools=[create_tool_from_function(get_weather)])
    print(agent.run(messages=[ChatMessage.from_user("weather?")])["messages"][-1].text)
    """,
    "llama_index": """
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.openai import OpenAI
    model = OpenAI(model="gpt-4o-mini", api_base=url + "/v1", api_key="none")
    agent = FunctionAgent(name="weather", tools=[get_weather], llm=model, streaming=False)
    async def main():
        print(str(await agent.run("weather?")))
    asyncio.run(main())
    """,
    "semantic_kernel": """
    from openai import AsyncOpenAI
    from semantic_kernel.agents import ChatCompletionAgent
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
    from semantic_kernel.functions import kernel_function
    class Tools:
        @kernel_function
        def get_weather(self, city: str) -> str:
            return get_weather(city)
    client = AsyncOpenAI(base_url=url + "/v1", api_key="none")
    model = OpenAIChatCompletion(ai_model_id="gpt-4o-mini", async_client=client)
    agent = ChatCompletionAgent(service=model, name="weather", plugins=[Tools()])
    async def main():
        print((await agent.get_response("weather?")).content)
    asyncio.run(main())
    """,
    "smolagents": """
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool
    model = OpenAIServerModel("gpt-4o-mini", api_base=url + "/v1", api_key="none")
    print(ToolCallingAgent([tool(get_weather)], model, verbosity_level=0).run("weather?"))
    """,
    "strands": """
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel
    model = OpenAIModel(client_args={"api_key": "none", "base_url": url + "/v1"}, model_id="gpt-4o-mini")
    print(str(Agent(model=model, tools=[tool(get_weather)], callback_handler=None)("weather?")).strip())
    """,
    "dspy": """
    import dspy
    dspy.configure(lm=dspy.LM("openai/gpt-4o-mini", api_base=url + "/v1", api_key="none", cache=False))
    agent = dspy.ReAct("question -> answer", tools=[get_weather])
    print(agent(question="weather?").answer)
    """,
}
NAMES = {"autogen_agentchat": "autogen", "google.adk": "google_adk", "google.genai": "google_genai"}
LOOPS = {"anthropic", "google.genai"}
"""They call tools, but have no agents."""
SAYS_OTHERWISE = {"dspy", "smolagents"}
"""They ask for tools in words of their own, so the story's model answers those."""
TELLS_ITS_FAILURES = {"agno"}
"""It prints the stack of a tool that fails, which a tool that is not run does not have."""


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(_brain) as server:
        yield server


def _brain(request: Request) -> Answer:
    told = json.dumps(request.body)
    if "final_answer" in told:  # smolagents
        return Answer(calls=[("final_answer", {"answer": SUMMARY})]) if request.number > 1 else weather(request)
    if "next_tool_name" in told or "[[ ## answer ## ]]" in told:  # dspy
        return Answer(text=_dspy(request))
    return weather(request)


def _dspy(request: Request) -> str:
    steps = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"}), ("finish", {})]
    if request.number > len(steps):
        return f"[[ ## reasoning ## ]]\nRead.\n\n[[ ## answer ## ]]\n{SUMMARY}\n\n[[ ## completed ## ]]"
    name, args = steps[request.number - 1]
    fields = {"next_thought": "Look.", "next_tool_name": name, "next_tool_args": json.dumps(args)}
    return "\n\n".join(f"[[ ## {key} ## ]]\n{value}" for key, value in fields.items()) + "\n\n[[ ## completed ## ]]"


@pytest.mark.parametrize("framework", list(PROGRAMS))
def test_an_unchanged_program_is_recorded_with_its_tools(
    framework: str, model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """The trace is what happened, counted by the server, and the program does what it does without us."""
    _skip_if_missing(framework)
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(PROGRAMS[framework]))
    result = _run(tmp_path, model.address)

    assert (result.stdout, result.returncode) == (f"{SUMMARY}\n", 0), result.stderr
    assert "could not" not in result.stderr
    run = recorded.only()
    calls = run.of_type("LLM_CALL")
    assert len(calls) == len(model.requests)
    assert {(c["payload"]["usage"]["prompt_tokens"], c["payload"]["usage"]["completion_tokens"]) for c in calls} == {
        (INPUT_TOKENS, OUTPUT_TOKENS)
    }
    tools = [t for t in run.of_type("TOOL_CALL") if t["name"].endswith("get_weather")]
    told = sorted((t["payload"]["args"]["city"], str(t["payload"]["result"]), t["payload"]["status"]) for t in tools)
    assert told == [("Lima", "22 degrees", "ok"), ("Oslo", "3 degrees", "ok")]
    assert {tool["meta"]["framework"] for tool in tools} == {NAMES.get(framework, framework)}
    asking = {call["event_id"] for call in calls}
    assert all(tool["parent_id"] in asking for tool in tools) or framework == "dspy"  # which asks in words of its own
    if framework not in LOOPS:
        _check_tree(run)


def _check_tree(run: RecordedRun) -> None:
    """The agent is one step, and everything it did hangs under it."""
    parents = {event["event_id"]: event["parent_id"] for event in run.events}
    spans = [event for event in run.of_type("STATE_UPDATE") if event["meta"].get("span")]
    agent = spans[-1]["event_id"]
    for event in run.events:
        if event["event_type"] in ("LLM_CALL", "TOOL_CALL"):
            above: Any = event["event_id"]
            while above not in (agent, None):
                above = parents[above]
            assert above == agent, event["name"]


@pytest.mark.parametrize("framework", sorted(PROGRAMS.keys() - LOOPS - SAYS_OTHERWISE))
def test_agents_that_follow_each_other_stand_beside_each_other(
    framework: str, model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """The second is no part of the first, which is over."""
    _skip_if_missing(framework)
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(PROGRAMS[framework]) * 2)
    result = _run(tmp_path, model.address)

    assert result.stdout == f"{SUMMARY}\n" * 2
    run = recorded.only()
    agents = [event for event in run.of_type("STATE_UPDATE") if event["meta"].get("span")]
    assert [agent["parent_id"] for agent in agents] == [run.one("RUN_START")["event_id"]] * 2


def test_agents_that_are_begun_before_they_are_awaited_stand_beside_each_other(
    model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """agno's `arun` is a plain function: what it gives is begun in another task, or later."""
    _skip_if_missing("agno")
    program = PROGRAMS["agno"].replace("print(", "agents = [").replace('.run("weather?").content)', "] * 2")
    gathered = """
    async def main():
        for answer in await asyncio.gather(*(agent.arun("weather?") for agent in agents)):
            print(answer.content)
    asyncio.run(main())
    """
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(program) + textwrap.dedent(gathered))
    result = _run(tmp_path, model.address)

    assert result.stdout == f"{SUMMARY}\n" * 2, result.stderr
    run = recorded.only()
    agents = [event for event in run.of_type("STATE_UPDATE") if event["meta"].get("span")]
    assert [agent["parent_id"] for agent in agents] == [run.one("RUN_START")["event_id"]] * 2
    asked = [call["parent_id"] for call in run.of_type("LLM_CALL")]
    assert sorted(asked) == sorted(agent["event_id"] for agent in agents for _ in range(2))


@pytest.mark.parametrize("framework", sorted(PROGRAMS))
def test_a_replay_asks_nobody_and_runs_no_tool(
    framework: str, model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """The server is gone, and a tool that wrote a file would be stopped."""
    _skip_if_missing(framework)
    head = HEAD.replace("    if city ==", '    open("ran.txt", "a").write(city)\n    if city ==')
    (tmp_path / "agent.py").write_text(head + textwrap.dedent(PROGRAMS[framework]))
    live = _run(tmp_path, model.address)
    asked, ran = len(model.requests), (tmp_path / "ran.txt").read_text()
    again = _run(tmp_path, "", command=("replay", recorded.only().meta["run_id"]))

    assert (again.stdout, again.returncode) == (live.stdout, 0), again.stderr
    assert "0 live" in again.stderr
    assert (len(model.requests), (tmp_path / "ran.txt").read_text()) == (asked, ran)


@pytest.mark.parametrize("framework", sorted(PROGRAMS.keys() - SAYS_OTHERWISE - TELLS_ITS_FAILURES))
def test_a_tool_that_raised_is_served_as_one(
    framework: str, model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """What the framework made of the exception is made of it again, although the tool is not run."""
    _skip_if_missing(framework)
    model.brain = _atlantis
    head = HEAD.replace("    if city ==", '    open("ran.txt", "a").write(city)\n    if city ==')
    (tmp_path / "agent.py").write_text(head + textwrap.dedent(PROGRAMS[framework]))
    live = _run(tmp_path, model.address)
    again = _run(tmp_path, "", command=("replay", recorded.only().meta["run_id"]))

    assert (again.stdout, again.returncode) == (live.stdout, 0), again.stderr  # 0: what it did was the same
    assert (tmp_path / "ran.txt").read_text() == "Atlantis"


def test_an_agent_that_hands_over_to_another_is_replayed(
    model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """ADK's own tools change what ADK does next, so they run again."""
    _skip_if_missing("google.adk")
    model.brain = lambda request: (
        Answer(text="I am here.")
        if request.tool_results
        else Answer(calls=[("transfer_to_agent", {"agent_name": "b"})])
    )
    other = 'Agent(name="b", model="gemini-x", instruction="Be.", disallow_transfer_to_parent=True)'
    program = PROGRAMS["google.adk"].replace("tools=[get_weather]", f"sub_agents=[{other}]")
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(program))
    live = _run(tmp_path, model.address)
    again = _run(tmp_path, "", command=("replay", recorded.only().meta["run_id"]))

    assert live.stdout == "I am here.\n"
    assert (again.stdout, again.returncode) == (live.stdout, 0), again.stderr


TEAMS = {
    "llama_index": """
    from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
    from llama_index.llms.openai import OpenAI
    model = OpenAI(model="gpt-4o-mini", api_base=url + "/v1", api_key="none")
    kinds = {"description": "some", "llm": model}
    first = FunctionAgent(name="first", system_prompt="I am first", can_handoff_to=["second"], **kinds)
    second = FunctionAgent(name="second", system_prompt="I am second", tools=[get_weather], **kinds)
    async def main():
        print(await AgentWorkflow(agents=[first, second], root_agent="first").run(user_msg="weather?"))
    asyncio.run(main())
    """,
    "semantic_kernel": """
    from openai import AsyncOpenAI
    from semantic_kernel.agents import ChatCompletionAgent, HandoffOrchestration, OrchestrationHandoffs
    from semantic_kernel.agents.runtime import InProcessRuntime
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
    from semantic_kernel.functions import kernel_function
    def agent(name, **more):
        client = AsyncOpenAI(base_url=url + "/v1", api_key="none")
        model = OpenAIChatCompletion(ai_model_id="gpt-4o-mini", async_client=client)
        return ChatCompletionAgent(name=name, description=name, instructions=f"I am {name}", service=model, **more)
    class Weather:
        @kernel_function
        def get_weather(self, city: str) -> str:
            return get_weather(city)
    first, second = agent("first"), agent("second", plugins=[Weather()])
    told = lambda message: print(message.content) if message.content else None
    async def main():
        handoffs = OrchestrationHandoffs().add(first, second, "to the second")
        team = HandoffOrchestration(members=[first, second], handoffs=handoffs, agent_response_callback=told)
        runtime = InProcessRuntime()
        runtime.start()
        print(await (await team.invoke("weather?", runtime=runtime)).get(timeout=60))
        await runtime.stop_when_idle()
    asyncio.run(main())
    """,
    "strands": """
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel
    from strands.multiagent import Swarm
    def agent(name, **more):
        model = OpenAIModel(client_args={"base_url": url + "/v1", "api_key": "none"}, model_id="gpt-4o-mini")
        return Agent(name=name, system_prompt=f"I am {name}", model=model, callback_handler=None, **more)
    done = Swarm([agent("first"), agent("second", tools=[tool(get_weather)])])("weather?")
    print([node.node_id for node in done.node_history], done.results["second"].result)
    """,
}
HAND_OVER = {
    "llama_index": ("handoff", {"to_agent": "second", "reason": "it knows"}),
    "semantic_kernel": ("Handoff-transfer_to_second", {}),
    "strands": ("handoff_to_agent", {"agent_name": "second", "message": "go on"}),
}
END = ("Handoff-complete_task", {"task_summary": "all is told"})


@pytest.mark.parametrize("framework", list(TEAMS))
def test_a_team_whose_agents_hand_over_is_replayed(
    framework: str, model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """Handing over changes what the framework keeps of its agents, so it runs again; the tools of theirs do not."""
    _skip_if_missing(framework)

    def brain(request: Request) -> Answer:
        told = json.dumps(request.body["messages"])
        if "I am second" not in told:
            return Answer(text="It is yours.") if request.tool_results else Answer(calls=[HAND_OVER[framework]])
        if "3 degrees" in told:
            ends = END[0] in json.dumps(request.body.get("tools") or [])
            return Answer(calls=[END]) if ends else Answer(text="It is 3 degrees.")
        tools = [tool["function"]["name"] for tool in request.body["tools"]]
        name = next(name for name in tools if name.endswith("get_weather"))
        return Answer(calls=[(name, {"city": "Oslo"})])

    model.brain = brain
    head = HEAD.replace('    if city == "Atlantis"', '    open("ran.txt", "a").write(city)\n    if city == "Atlantis"')
    (tmp_path / "agent.py").write_text(head + textwrap.dedent(TEAMS[framework]))
    live = _run(tmp_path, model.address)
    again = _run(tmp_path, "", command=("replay", recorded.only().meta["run_id"]))

    assert live.returncode == 0, live.stderr
    assert "second" in live.stdout or "degrees" in live.stdout or "all is told" in live.stdout
    assert (again.stdout, again.returncode) == (live.stdout, 0), again.stderr
    assert (tmp_path / "ran.txt").read_text() == "Oslo"


def test_a_member_that_a_team_asks_stands_under_the_tool_that_asked(
    model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """agno's own tool tells its result in pieces, which are read after it came back."""
    _skip_if_missing("agno")
    asking = ("delegate_task_to_member", {"member_id": "expert", "task": "Oslo?"})

    def brain(request: Request) -> Answer:
        if "I am the expert" in json.dumps(request.body["messages"]):
            return _atlantis(request)
        return Answer(text="Told.") if request.tool_results else Answer(calls=[asking])

    model.brain = brain
    program = """
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat
    from agno.team import Team
    model = OpenAIChat(id="gpt-4o-mini", base_url=url + "/v1", api_key="none")
    instructions = "I am the expert"
    expert = Agent(name="expert", id="expert", model=model, tools=[get_weather], instructions=instructions)
    team = Team(name="team", members=[expert], model=model, telemetry=False)
    print(asyncio.run(team.arun("weather?")).content, team.run("weather?").content)
    """
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(program))
    result = _run(tmp_path, model.address)

    assert result.stdout.endswith("Told. Told.\n"), result.stderr
    run = recorded.only()
    names = {event["event_id"]: event["name"] for event in run.events}
    asked = [tool for tool in run.of_type("TOOL_CALL") if tool["name"] == asking[0]]
    experts = [event for event in run.of_type("STATE_UPDATE") if event["name"] == "expert"]
    assert [(tool["payload"]["status"], tool["payload"]["result"]) for tool in asked] == [("ok", "Nobody knows.")] * 2
    assert [names[expert["parent_id"]] for expert in experts] == [asking[0]] * 2


def test_agents_that_hand_over_are_steps_of_their_team(model: ModelServer, recorded: Recorded, tmp_path: Path) -> None:
    """Who reads the run sees which agents worked together."""
    _skip_if_missing("strands")
    model.brain = lambda request: (
        Answer(text="It is yours.")
        if request.tool_results
        else Answer(calls=[HAND_OVER["strands"]])
        if "I am first" in json.dumps(request.body["messages"])
        else Answer(text="It is 3 degrees.")
    )
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(TEAMS["strands"]))
    _run(tmp_path, model.address)

    spans = {event["name"]: event for event in recorded.only().of_type("STATE_UPDATE")}
    assert spans["first"]["parent_id"] == spans["second"]["parent_id"] == spans["Swarm"]["event_id"]
    assert spans["Swarm"]["payload"]["output"] == "It is 3 degrees."


@pytest.mark.parametrize("way", ["ask(question=question)", "asyncio.run(ask.acall(question=question))"])
def test_each_request_of_dspy_is_one_call(way: str, model: ModelServer, recorded: Recorded, tmp_path: Path) -> None:
    """What it asks again is a call of its own, and what it knows already is none."""
    _skip_if_missing("dspy")
    model.brain = lambda request: (
        Answer(status=500) if request.number == 1 else Answer(text="[[ ## answer ## ]]\nyes\n\n[[ ## completed ## ]]")
    )
    program = f"""
    import dspy
    dspy.configure(lm=dspy.LM("openai/gpt-4o-mini", api_base=url + "/v1", api_key="none"))
    ask, question = dspy.Predict("question -> answer"), "weather?"
    print({way}.answer, {way}.answer)
    """
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(program))
    result = _run(tmp_path, model.address)

    assert result.stdout == "yes yes\n", result.stderr
    run = recorded.only()
    assert [call["payload"]["status"] for call in run.of_type("LLM_CALL")] == ["error", "ok"]
    assert len(model.requests) == 2
    assert len(run.of_type("STATE_UPDATE")) == 2


def test_a_model_of_the_programs_own_is_recorded_where_dspy_asks_it(recorded: Recorded, tmp_path: Path) -> None:
    """It makes no request that could be seen."""
    _skip_if_missing("dspy")
    program = """
    import dspy
    from dspy.utils import DummyLM
    dspy.configure(lm=DummyLM([{"answer": "yes"}]))
    print(dspy.Predict("question -> answer")(question="weather?").answer)
    """
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(program))
    result = _run(tmp_path, "")

    assert result.stdout == "yes\n", result.stderr
    assert "yes" in str(recorded.only().one("LLM_CALL")["payload"]["response"])


def test_a_tool_that_tells_its_result_in_pieces_runs_again(
    model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """Pieces are on no tape; what is between them is the tool's own."""
    _skip_if_missing("agno")
    head = HEAD.replace("    return {", "    yield {").replace("-> str", "-> 'typing.Iterator[str]'")
    (tmp_path / "agent.py").write_text("import typing\n" + head + textwrap.dedent(PROGRAMS["agno"]))
    live = _run(tmp_path, model.address)
    again = _run(tmp_path, "", command=("replay", recorded.only().meta["run_id"]))

    assert (again.stdout, again.returncode) == (live.stdout, 0), again.stderr
    assert live.stdout == f"{SUMMARY}\n"


@pytest.mark.parametrize("framework", [name for name in PROGRAMS if name not in SAYS_OTHERWISE])
def test_a_tool_that_raises_is_an_error(framework: str, model: ModelServer, recorded: Recorded, tmp_path: Path) -> None:
    """Frameworks turn an exception into words for the model; the developer needs to see that the tool failed."""
    _skip_if_missing(framework)
    model.brain = _atlantis
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(PROGRAMS[framework]))
    _run(tmp_path, model.address)

    run = recorded.only()
    tool = next(event for event in run.of_type("TOOL_CALL") if event["name"].endswith("get_weather"))
    assert tool["payload"]["status"] == "error"
    assert "no weather station in Atlantis" in json.dumps(tool["payload"]["error"])


def _atlantis(request: Request) -> Answer:
    if request.tool_results:
        return Answer(text="Nobody knows.")
    return Answer(calls=[("get_weather", {"city": "Atlantis"})])


@pytest.mark.parametrize("framework", ["agno", "haystack", "strands", "google.adk", "autogen_agentchat"])
def test_a_limit_on_tools_stops_the_agent(
    framework: str, model: ModelServer, recorded: Recorded, tmp_path: Path
) -> None:
    """Tools are what changes the world: the one over the limit must not run."""
    _skip_if_missing(framework)
    (tmp_path / "agent.py").write_text(HEAD + textwrap.dedent(PROGRAMS[framework]))
    _run(tmp_path, model.address, "--max-tool-calls", "1")

    assert len(recorded.only().of_type("TOOL_CALL")) == 1
    assert recorded.only().meta["status"] == "error"


def _skip_if_missing(framework: str) -> None:
    try:
        missing = importlib.util.find_spec(framework) is None
    except ImportError:
        missing = True
    if missing:
        pytest.skip(f"{framework} is not installed in this lane")


def _run(folder: Path, url: str, *options: str, command: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    quiet = {"OTEL_SDK_DISABLED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "AGNO_TELEMETRY": "false"}
    quiet |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "DSPY_CACHEDIR": str(folder), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "agentdbg", *(command or ("run", *options, "agent.py", url))],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        env={**os.environ, **quiet},
    )


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: f"{seam.module}.{seam.owner}.{seam.method}")
def test_each_row_of_the_table_names_something_that_is_there(seam: Seam) -> None:
    """A class that a release moves elsewhere is not recorded any more, and nothing else tells."""
    _skip_if_missing(".".join(seam.module.split(".")[: 1 + seam.module.startswith("google.")]))
    module = importlib.import_module(seam.module)

    assert not seam.owner or hasattr(module, seam.owner)
