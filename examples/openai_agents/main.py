"""
An agent of the OpenAI Agents SDK: importing the integration is all it takes.

    pip install openai-agents
    python examples/openai_agents/main.py

No key is needed: a little server on this machine answers like OpenAI.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agents import Agent, OpenAIResponsesModel, Runner, function_tool
from openai import AsyncOpenAI

from agentdbg import current_run, trace
from agentdbg.integrations import openai_agents

sys.path.append(str(Path(__file__).parents[2]))
from examples.fake_openai_server import FakeServer

openai_agents.local_only()  # the SDK's own tracing would upload; here nothing leaves the machine


def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}.get(city, "unknown")


@trace("weather with the Agents SDK", max_llm_calls=5)
async def run_agent(address: str, question: str) -> str:
    """Let the agent answer a question."""
    async with AsyncOpenAI(base_url=address, api_key="none") as client:
        model = OpenAIResponsesModel("gpt-4o-mini", client)
        agent = Agent(name="Weather", model=model, tools=[function_tool(get_weather)])
        answered = await Runner.run(agent, question)
    run = current_run()
    if run is not None:
        print(f"recorded; see it with: agentdbg view {run.run_id[:8]}")
    return str(answered.final_output)


if __name__ == "__main__":
    with FakeServer() as server:
        print(asyncio.run(run_agent(server.openai_url, "How is the weather in Oslo and Lima?")))
