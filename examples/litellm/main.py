"""
An agent written by hand on LiteLLM: ask, call the tools it wants, ask again.

    pip install litellm mcp
    python examples/litellm/main.py

No key is needed: a little server on this machine answers like OpenAI. (LiteLLM wants `mcp` as soon as there are tools.)
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else LiteLLM fetches its price list when it is imported

import litellm

from agentdbg import current_run, tool, trace
from agentdbg.integrations import litellm as litellm_integration

sys.path.append(str(Path(__file__).parents[2]))
from examples.fake_openai_server import FakeServer

litellm_integration.enable()

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Oslo": "3 degrees", "Lima": "22 degrees"}.get(city, "unknown")


@trace("weather with LiteLLM", max_llm_calls=5)
def run_agent(address: str, question: str) -> str:
    """Answer a question with as many model and tool calls as it takes."""
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        response = litellm.completion(
            "openai/gpt-4o-mini", messages, tools=TOOLS, api_base=address, api_key="none", temperature=0
        )
        message = response.choices[0].message
        messages.append(message.model_dump())
        for call in message.tool_calls or []:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            run = current_run()
            if run is not None:
                print(f"recorded; see it with: agentdbg view {run.run_id[:8]}")
            return str(message.content)


if __name__ == "__main__":
    with FakeServer() as server:
        print(run_agent(server.openai_url, "How is the weather in Oslo and Lima?"))
