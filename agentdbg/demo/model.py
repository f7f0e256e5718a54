"""A model that says what a script tells it to, at the pace and the price in tokens of a small real one."""

from __future__ import annotations

import json
import time
from typing import Any

from agentdbg import llm_call

__all__ = ["Conversation", "calling"]

MODEL = "demo-model"


def calling(tool: str, **arguments: Any) -> dict[str, Any]:
    """An answer that asks for a tool."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": function}]}


class Conversation:
    """The messages of one agent; every answer is a recorded model call."""

    def __init__(self, system: str, pace: float = 1.0) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
        self._pace = pace

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def tool_result(self, result: Any) -> None:
        text = result if isinstance(result, str) else json.dumps(result)
        self.messages.append({"role": "tool", "tool_call_id": f"call_{len(self.messages)}", "content": text})

    def answer(self, said: str | dict[str, Any]) -> str:
        """Let the model say its next line; gives the text of it."""
        message = {"role": "assistant", "content": said} if isinstance(said, str) else said
        with llm_call(MODEL, prompt=list(self.messages), provider="demo") as call:
            size = len(json.dumps(self.messages)) // 4
            written = len(json.dumps(message)) // 4
            time.sleep(self._pace * (0.03 + written / 1500))
            call.response = message
            call.usage = {"prompt_tokens": size, "completion_tokens": written}
        self.messages.append(message)
        return str(message.get("content") or "")
