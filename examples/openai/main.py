"""
An agent written by hand on the openai client: ask, call the tools it wants, ask again.

    pip install openai
    python examples/openai/main.py

No key is needed: a little server on this machine answers like OpenAI.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from openai import OpenAI

from agentdbg import current_run, tool, trace
from agentdbg.integrations import openai as openai_integration

sys.path.append(str(Path(__file__).parents[2]))
from examples.fake_openai_server import FakeServer

openai_integration.enable()

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}.get(city, "unknown")


@trace("weather with the openai client", max_llm_calls=5)
def run_agent(client: OpenAI, question: str) -> str:
    """Answer a question with as many model and tool calls as it takes."""
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=TOOLS).choices[0].message
        messages.append(message)
        for call in message.tool_calls or []:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            run = current_run()
            if run is not None:
                print(f"recorded; see it with: agentdbg view {run.run_id[:8]}")
            return str(message.content)


if __name__ == "__main__":
    with FakeServer() as server, OpenAI(base_url=server.openai_url, api_key="none") as client:
        print(run_agent(client, "How is the weather in Oslo and Lima?"))
