"""Real frameworks, recorded against a model on loopback and replayed without it: the same output, nothing run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from examples.fake_openai_server import FakeServer
from tests.integrations.story import QUESTION
from tests.integrations.test_zero_code import PROGRAMS as ZERO_CODE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

TOOL = """
def get_weather(city: str) -> str:
    '''The weather in a city.'''
    if NOTES:
        open("ran.txt", "a").write(city + " ")
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}[city]
"""
MORE = {
    "openai-stream": """
    import asyncio, sys
    from openai import AsyncOpenAI, OpenAI
    client = OpenAI(base_url=sys.argv[1], api_key="none")
    messages = [{"role": "user", "content": sys.argv[2]}]
    pieces = []
    for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
        pieces.append(str(chunk.choices[0].delta.content) if chunk.choices else "-")
    print(pieces)
    some = client.chat.completions.create(model="m", messages=messages, stream=True)
    print(next(iter(some)).id)
    some.close()
    async def ask(n):
        client = AsyncOpenAI(base_url=sys.argv[1], api_key="none")
        answer = await client.chat.completions.create(model="m", messages=messages)
        return answer.choices[0].message.content, answer.id
    async def main():
        print(await asyncio.gather(*(ask(n) for n in range(6))))
        for first in asyncio.as_completed([ask(n) for n in range(4)]):
            print(await first)
    asyncio.run(main())
    """,
    "langchain-stream": """
    import asyncio, sys
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    agent = create_agent(ChatOpenAI(model="gpt-4o-mini", base_url=sys.argv[1], api_key="none"), [get_weather])
    for mode, piece in agent.stream({"messages": [("user", sys.argv[2])]}, stream_mode=["updates", "messages"]):
        print(mode, str(piece)[:40] if mode == "updates" else piece[0].content)
    async def main():
        print((await agent.ainvoke({"messages": [("user", sys.argv[2])]}))["messages"][-1].content)
    asyncio.run(main())
    """,
    "crewai-tools": """
    import asyncio, sys
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import BaseTool, tool
    class Weather(BaseTool):
        name: str = "get_weather"
        description: str = "The weather in a city."
        def _run(self, city: str) -> str:
            return get_weather(city)
    @tool("get_weather")
    async def look(city: str) -> str:
        '''The weather in a city.'''
        return get_weather(city)
    model = LLM(model="gpt-4o-mini", base_url=sys.argv[1], api_key="none")
    agents, tasks = [], []
    for number, made in enumerate((Weather(), look)):
        agents.append(Agent(role=f"a{number}", goal="g", backstory="b", llm=model, tools=[made]))
        task = Task(description=sys.argv[2], expected_output="o", agent=agents[-1], async_execution=number == 0)
        tasks.append(task)
    print(Crew(agents=agents, tasks=tasks).kickoff().raw)
    """,
    "pydantic_ai-stream": """
    import asyncio, sys
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(base_url=sys.argv[1], api_key="none"))
    async def main():
        async with Agent(model, tools=[get_weather]).run_stream(sys.argv[2]) as result:
            async for piece in result.stream_text(delta=True, debounce_by=None):
                print(piece)
    asyncio.run(main())
    """,
    "litellm-streams": """
    import asyncio, sys
    import litellm
    messages = [{"role": "user", "content": sys.argv[2]}]
    anthropic = {"model": "anthropic/claude-sonnet-4-5", "api_base": sys.argv[1].removesuffix("/v1"), "api_key": "none"}
    openai = {"model": "openai/gpt-4o-mini", "api_base": sys.argv[1], "api_key": "none"}
    async def main():
        for asked in (anthropic, openai):
            pieces = await litellm.acompletion(messages=messages, stream=True, **asked)
            print([piece.choices[0].delta.content async for piece in pieces])
    for asked in (anthropic, openai):
        print([piece.choices[0].delta.content for piece in litellm.completion(messages=messages, stream=True, **asked)])
    asyncio.run(main())
    """,
    "agents-stream": """
    import asyncio, sys
    from openai import AsyncOpenAI
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="none")
    model = OpenAIChatCompletionsModel(model="gpt-4o-mini", openai_client=client)
    agent = Agent(name="weather", model=model, tools=[function_tool(get_weather)])
    async def main():
        result = Runner.run_streamed(agent, sys.argv[2])
        async for event in result.stream_events():
            print(event.type)
        print(result.final_output)
    asyncio.run(main())
    """,
}
# Their tools are called by the program itself, with nothing of ours around: they run again, and must not be watched.
BY_HAND = {"openai", "anthropic", "litellm", "litellm-streams", "openai-stream"}
PROGRAMS = {**ZERO_CODE, **MORE}


def _package(name: str) -> str:
    return name.partition("-")[0]


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_replay_without_the_server_gives_the_same(name: str, tmp_path: Path) -> None:
    """The promise, for each framework as it is released: equal output, no request, no tool run."""
    if importlib.util.find_spec(_package(name)) is None:
        pytest.skip(f"{_package(name)} is not installed")
    program = f"NOTES = {name not in BY_HAND}\n{TOOL}\n{textwrap.dedent(PROGRAMS[name])}"
    (tmp_path / "agent.py").write_text(program)
    quiet = {
        "CREWAI_DISABLE_TELEMETRY": "true",
        "CREWAI_TRACING_ENABLED": "false",
        "OTEL_SDK_DISABLED": "true",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "CREWAI_STORAGE_DIR": str(tmp_path / "crewai")}
    environment = {**os.environ, **quiet, **offline, "PYTHONHASHSEED": "0", "OPENAI_API_KEY": "none"}

    def agentdbg(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agentdbg", *words]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120, check=False
        )

    with FakeServer() as server:
        live = agentdbg("run", "agent.py", server.openai_url, QUESTION)
    assert live.returncode == 0, live.stderr
    notes = tmp_path / "ran.txt"
    before = notes.read_text() if notes.exists() else ""

    for _ in range(2):
        again = agentdbg("replay", _recorded(live.stderr))
        assert again.returncode == 0, again.stderr + live.stderr
        assert _lines(name, again.stdout) == _lines(name, live.stdout)
        assert "0 live" in again.stderr
    assert (notes.read_text() if notes.exists() else "") == before
    assert bool(before) == (name not in BY_HAND)


def _lines(name: str, output: str) -> list[str]:
    """What a program printed. LangGraph streams what two tools gave in one moment in whatever order its threads do."""
    lines = output.splitlines()
    return sorted(lines) if name == "langchain-stream" else lines


def _recorded(stderr: str) -> str:
    return stderr.rpartition("recorded run ")[2].split()[0]
