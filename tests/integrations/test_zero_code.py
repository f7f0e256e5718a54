"""Programs that have never heard of AgentDbg, on real frameworks, under `agentdbg run`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from tests.integrations.story import QUESTION, SUMMARY

if TYPE_CHECKING:
    from pathlib import Path

    from examples.fake_openai_server import FakeServer
    from tests.conftest import Recorded

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

TOOL = """
    def get_weather(city: str) -> str:
        '''The weather in a city.'''
        return {"Oslo": "3 degrees", "Lima": "22 degrees"}[city]
"""
# By the package that has to be there; the names in the trace are of AgentDbg's modules.
PROGRAMS = {
    "openai": """
    import json, sys
    from openai import OpenAI
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]
    messages = [{"role": "user", "content": sys.argv[2]}]
    client = OpenAI(base_url=sys.argv[1], api_key="none")
    while True:
        message = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=tools).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(message.content)
    """,
    "anthropic": """
    import sys
    from anthropic import Anthropic
    tools = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    messages = [{"role": "user", "content": sys.argv[2]}]
    client = Anthropic(base_url=sys.argv[1].removesuffix("/v1"), api_key="none")
    while True:
        message = client.messages.create(model="claude-haiku-4-5", messages=messages, tools=tools, max_tokens=500)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            break
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": get_weather(**call.input)} for call in calls
        ]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    print(message.content[0].text)
    """,
    "langchain": """
    import sys
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    agent = create_agent(ChatOpenAI(model="gpt-4o-mini", base_url=sys.argv[1], api_key="none"), [get_weather])
    print(agent.invoke({"messages": [("user", sys.argv[2])]})["messages"][-1].content)
    """,
    "agents": """
    import sys
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI
    model = OpenAIResponsesModel("gpt-4o-mini", AsyncOpenAI(base_url=sys.argv[1], api_key="none"))
    agent = Agent(name="Weather", model=model, tools=[function_tool(get_weather)])
    print(Runner.run_sync(agent, sys.argv[2]).final_output)
    """,
    "pydantic_ai": """
    import sys
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(base_url=sys.argv[1], api_key="none"))
    print(Agent(model, tools=[get_weather]).run_sync(sys.argv[2]).output)
    """,
    "crewai": """
    import sys
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool
    model = LLM(model="gpt-4o-mini", base_url=sys.argv[1], api_key="none")
    agent = Agent(role="Weather", goal="tell", backstory="b", llm=model, tools=[tool("get_weather")(get_weather)])
    task = Task(description=sys.argv[2], expected_output="a sentence", agent=agent)
    print(Crew(agents=[agent], tasks=[task]).kickoff().raw)
    """,
    "litellm": """
    import json, sys
    from litellm import completion
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]
    messages = [{"role": "user", "content": sys.argv[2]}]
    while True:
        response = completion("openai/gpt-4o-mini", messages, tools=tools, api_base=sys.argv[1], api_key="none")
        message = response.choices[0].message
        messages.append(message.model_dump())
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(message.content)
    """,
}
NAMES = {"agents": "openai_agents"}


@pytest.mark.parametrize("framework", list(PROGRAMS))
def test_an_unchanged_program_is_recorded(
    framework: str, server: FakeServer, recorded: Recorded, tmp_path: Path
) -> None:
    """One word before the command line is all it takes; output and exit code stay what they are."""
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed in this lane")
    (tmp_path / "agent.py").write_text(textwrap.dedent(TOOL) + textwrap.dedent(PROGRAMS[framework]))
    plain = _run(tmp_path, [], server)
    if plain.stdout != f"{SUMMARY}\n":  # some greet whoever runs them for the first time
        plain = _run(tmp_path, [], server)
    asked_before = len(server.requests)
    result = _run(tmp_path, ["-m", "agentdbg", "run"], server)

    assert (result.stdout, result.returncode) == (plain.stdout, plain.returncode) == (f"{SUMMARY}\n", 0)
    assert "could not" not in result.stderr
    run = recorded.only()
    calls = run.of_type("LLM_CALL")
    assert [call["meta"]["framework"] for call in calls] == [NAMES.get(framework, framework)] * 2
    assert len(server.requests) - asked_before == 2
    tools = [(call["payload"]["args"], call["payload"]["result"]) for call in run.of_type("TOOL_CALL")]
    assert sorted(tools, key=str) == [({"city": "Lima"}, "22 degrees"), ({"city": "Oslo"}, "3 degrees")]


@pytest.mark.parametrize("framework", list(PROGRAMS))
def test_a_limit_on_the_command_line_stops_it(
    framework: str, server: FakeServer, recorded: Recorded, tmp_path: Path
) -> None:
    """The reason to run somebody else's agent this way."""
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed in this lane")
    (tmp_path / "agent.py").write_text(textwrap.dedent(TOOL) + textwrap.dedent(PROGRAMS[framework]))
    result = _run(tmp_path, ["-m", "agentdbg", "run", "--max-llm-calls", "1"], server)

    assert result.returncode == 1
    assert "AgentDbgGuardrailExceeded: max_llm_calls exceeded" in result.stderr
    assert len(server.requests) == len(recorded.only().of_type("LLM_CALL")) == 1
    assert recorded.only().meta["status"] == "error"


LOOKED_FOR = """
import importlib.util
for name in ("openai", "anthropic", "agents", "langchain_core", "crewai", "litellm", "pydantic_ai"):
    importlib.util.find_spec(name)
"""
IMPORTED_ANEW = """
import importlib, sys
importlib.import_module({framework!r})
for name in list(sys.modules):
    if name.partition(".")[0].partition("_")[0] == {framework!r}.partition("_")[0]:
        del sys.modules[name]
"""
SLOW_TO_IMPORT = {"crewai", "litellm"}


@pytest.mark.parametrize("framework", list(PROGRAMS))
@pytest.mark.parametrize("before", ["looked for", "imported anew"])
def test_a_limit_holds_however_the_package_was_imported(
    before: str, framework: str, server: FakeServer, recorded: Recorded, tmp_path: Path
) -> None:
    """Many libraries look for optional packages first, and test suites import them again."""
    if importlib.util.find_spec(framework) is None or (before == "imported anew" and framework in SLOW_TO_IMPORT):
        pytest.skip(f"{framework} is not installed in this lane, or takes long to import twice")
    first = LOOKED_FOR if before == "looked for" else IMPORTED_ANEW.format(framework=framework)
    (tmp_path / "agent.py").write_text(first + textwrap.dedent(TOOL) + textwrap.dedent(PROGRAMS[framework]))
    result = _run(tmp_path, ["-m", "agentdbg", "run", "--max-llm-calls", "1"], server)

    assert result.returncode == 1
    assert "AgentDbgGuardrailExceeded: max_llm_calls exceeded" in result.stderr
    call = recorded.only().one("LLM_CALL")
    assert call["meta"]["framework"] == NAMES.get(framework, framework)
    assert len(server.requests) == 1


def _run(folder: Path, words: list[str], server: FakeServer) -> subprocess.CompletedProcess[str]:
    quiet = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "CREWAI_STORAGE_DIR": str(folder / "crewai")}
    return subprocess.run(
        [sys.executable, *words, "agent.py", server.openai_url, QUESTION],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, **quiet, **offline},
    )
