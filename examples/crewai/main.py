"""
A crew of one agent: one line records every crew, flow and agent of the process.

    pip install crewai
    python examples/crewai/main.py

No key is needed: a little server on this machine answers like OpenAI.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"  # else CrewAI reports to its makers
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from agentdbg import current_run, trace
from agentdbg.integrations import crewai

sys.path.append(str(Path(__file__).parents[2]))
from examples.fake_openai_server import FakeServer

crewai.enable()


@tool("get_weather")  # type: ignore[untyped-decorator,unused-ignore]
def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}.get(city, "unknown")


@trace("weather with CrewAI", max_llm_calls=5)
def run_agent(address: str, question: str) -> str:
    """Let the crew answer a question."""
    model = LLM(model="gpt-4o-mini", base_url=address, api_key="none")
    agent = Agent(role="Weather", goal="tell the weather", backstory="a reporter", llm=model, tools=[get_weather])
    task = Task(description=question, expected_output="a sentence", agent=agent)
    answered = Crew(name="Weather crew", agents=[agent], tasks=[task]).kickoff()
    run = current_run()
    if run is not None:
        print(f"recorded; see it with: agentdbg view {run.run_id[:8]}")
    return str(answered.raw)


if __name__ == "__main__":
    with FakeServer() as server:
        print(run_agent(server.openai_url, "How is the weather in Oslo and Lima?"))
