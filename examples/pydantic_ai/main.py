"""
A Pydantic AI agent: one line records every agent of the process.

    pip install "pydantic-ai-slim[openai]"
    python examples/pydantic_ai/main.py

No key is needed: a little server on this machine answers like OpenAI.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from agentdbg import current_run, trace
from agentdbg.integrations import pydantic_ai

sys.path.append(str(Path(__file__).parents[2]))
from examples.fake_openai_server import FakeServer

pydantic_ai.enable()


def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}.get(city, "unknown")


@trace("weather with Pydantic AI", max_llm_calls=5)
async def run_agent(address: str, question: str) -> str:
    """Let the agent answer a question."""
    async with AsyncOpenAI(base_url=address, api_key="none") as client:
        model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, name="Weather", tools=[get_weather])
        answered = await agent.run(question)
    run = current_run()
    if run is not None:
        print(f"recorded; see it with: agentdbg view {run.run_id[:8]}")
    return str(answered.output)


if __name__ == "__main__":
    with FakeServer() as server:
        print(asyncio.run(run_agent(server.openai_url, "How is the weather in Oslo and Lima?")))
