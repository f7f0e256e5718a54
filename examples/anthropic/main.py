"""
An agent written by hand on the anthropic client: ask, call the tools it wants, ask again.

    pip install anthropic
    python examples/anthropic/main.py

No key is needed: a little server on this machine answers like Anthropic.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from anthropic import Anthropic

from agentdbg import current_run, tool, trace
from agentdbg.integrations import anthropic as anthropic_integration

sys.path.append(str(Path(__file__).parents[2]))
from examples.fake_openai_server import FakeServer

anthropic_integration.enable()

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Any = [{"name": "get_weather", "description": "The weather in a city.", "input_schema": CITY}]


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}.get(city, "unknown")


@trace("weather with the anthropic client", max_llm_calls=5)
def run_agent(client: Anthropic, question: str) -> str:
    """Answer a question with as many model and tool calls as it takes."""
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        message = client.messages.create(model="claude-example", max_tokens=500, messages=messages, tools=TOOLS)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            run = current_run()
            if run is not None:
                print(f"recorded; see it with: agentdbg view {run.run_id[:8]}")
            return "".join(block.text for block in message.content if block.type == "text")
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": get_weather(**call.input)} for call in calls
        ]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]


if __name__ == "__main__":
    with FakeServer() as server, Anthropic(base_url=server.anthropic_url, api_key="none") as client:
        print(run_agent(client, "How is the weather in Oslo and Lima?"))
