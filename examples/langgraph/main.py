"""
A LangGraph agent, recorded by a callback handler.

    pip install langchain langchain-openai
    python examples/langgraph/main.py

No key is needed: a little server on this machine answers like OpenAI.
"""

from __future__ import annotations

import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from agentdbg import current_run, trace
from agentdbg.integrations import AgentDbgLangChainCallbackHandler

sys.path.append(str(Path(__file__).parents[2]))
from examples.fake_openai_server import FakeServer


def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}.get(city, "unknown")


@trace("weather with LangGraph", max_llm_calls=5)
def run_agent(address: str, question: str) -> str:
    """Let the graph answer a question."""
    model = ChatOpenAI(model="gpt-4o-mini", base_url=address, api_key="none")  # type: ignore[arg-type,unused-ignore]
    agent = create_agent(model, [get_weather])
    handler = AgentDbgLangChainCallbackHandler()
    answered = agent.invoke({"messages": [("user", question)]}, {"callbacks": [handler]})  # type: ignore[arg-type,unused-ignore]
    run = current_run()
    if run is not None:
        print(f"recorded; see it with: agentdbg view {run.run_id[:8]}")
    return str(answered["messages"][-1].content)


if __name__ == "__main__":
    with FakeServer() as server:
        print(run_agent(server.openai_url, "How is the weather in Oslo and Lima?"))
