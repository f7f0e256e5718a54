"""What a span says of its event, in the words of OpenInference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.run_columns import LLM, TOOL
from agentdbg.encoding import encode_json
from agentdbg.events.facts import cost_of
from agentdbg.interop.otel.conventions import OpenInference
from agentdbg.interop.otel.genai import is_embedding, parameters_of, read_tokens, text_of
from agentdbg.interop.otel.messages import input_messages, output_messages, tool_definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["agent_attributes", "span_says"]

_PARAMETERS = ("temperature", "top_p", "top_k", "max_tokens", "max_output_tokens", "seed", "stop")


def span_says(kind: int, name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a model call, a tool call or a traced function."""
    if kind == LLM:
        return _model_call(name, payload)
    if kind == TOOL:
        return {
            OpenInference.KIND: OpenInference.TOOL,
            OpenInference.TOOL_NAME: name,
            OpenInference.TOOL_PARAMETERS: text_of(payload.get("args")),
            **_values(payload.get("args"), payload.get("result")),
        }
    return {**_values(payload.get("input"), payload.get("output")), OpenInference.KIND: OpenInference.CHAIN}


def agent_attributes(name: str, given: Any, result: Any) -> dict[str, Any]:
    """The attributes of the run itself."""
    return {
        OpenInference.KIND: OpenInference.AGENT,
        OpenInference.AGENT_NAME: name,
        **_values(given or None, result),
    }


def _model_call(name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    tokens = read_tokens(payload.get("usage"))
    provider = payload.get("provider")
    asked_for = {**{key: payload[key] for key in _PARAMETERS if payload.get(key) is not None}, **parameters_of(payload)}
    says: dict[str, Any] = {
        OpenInference.KIND: OpenInference.LLM,
        OpenInference.MODEL: name,
        OpenInference.PROVIDER: provider if isinstance(provider, str) and provider != "unknown" else None,
        OpenInference.PARAMETERS: encode_json(asked_for).decode() if asked_for else None,
        OpenInference.FINISH_REASON: payload.get("stop_reason"),
        OpenInference.PROMPT_TOKENS: tokens.input,
        OpenInference.COMPLETION_TOKENS: tokens.output,
        OpenInference.TOTAL_TOKENS: tokens.total,
        OpenInference.CACHE_READ_TOKENS: tokens.cache_read,
        OpenInference.CACHE_WRITE_TOKENS: tokens.cache_write,
        OpenInference.REASONING_TOKENS: tokens.reasoning,
        OpenInference.COST: cost_of(payload),
        **_values(payload.get("prompt"), payload.get("response")),
    }
    if is_embedding(payload):
        return {**says, OpenInference.KIND: OpenInference.EMBEDDING, OpenInference.EMBEDDING_MODEL: name}
    # No provider: instructions stay what they are here too, the first message.
    instructions, asked = input_messages(payload.get("prompt"))
    if instructions:
        asked.insert(0, {"role": "system", "parts": instructions})
    for number, message in enumerate(asked):
        says.update(_message(f"{OpenInference.INPUT_MESSAGES}.{number}.", message))
    for number, message in enumerate(output_messages(payload.get("response"))):
        says.update(_message(f"{OpenInference.OUTPUT_MESSAGES}.{number}.", message))
    for number, tool in enumerate(tool_definitions(payload.get("tools"))):
        function = {key: value for key, value in tool.items() if key != "type"}
        schema = encode_json({"type": tool["type"], "function": function}).decode()
        says[f"{OpenInference.TOOLS}.{number}.{OpenInference.TOOL_SCHEMA}"] = schema
    return says


def _values(given: Any, result: Any) -> dict[str, Any]:
    found = {}
    for value, name, type_name in (
        (given, OpenInference.INPUT, OpenInference.INPUT_TYPE),
        (result, OpenInference.OUTPUT, OpenInference.OUTPUT_TYPE),
    ):
        if value is not None:
            found[name] = text_of(value)
            found[type_name] = OpenInference.TEXT if isinstance(value, str) else OpenInference.JSON
    return found


def _message(prefix: str, message: dict[str, Any]) -> dict[str, Any]:
    says: dict[str, Any] = {f"{prefix}{OpenInference.ROLE}": message["role"]}
    parts = message["parts"]
    calls = [part for part in parts if part["type"] == "tool_call"]
    rest = [part for part in parts if part["type"] != "tool_call"]
    if len(rest) == 1 and rest[0]["type"] == "text":
        says[f"{prefix}{OpenInference.CONTENT}"] = rest[0]["content"]
    elif rest and rest[0]["type"] == "tool_call_response":
        says[f"{prefix}{OpenInference.CONTENT}"] = text_of(rest[0]["response"])
        says[f"{prefix}{OpenInference.TOOL_CALL_ID}"] = rest[0].get("id")
    else:
        for number, part in enumerate(rest):
            at = f"{prefix}{OpenInference.CONTENTS}.{number}."
            says[f"{at}{OpenInference.CONTENT_TYPE}"] = part["type"]
            content = part.get("content", part.get("uri"))
            says[f"{at}{OpenInference.CONTENT_TEXT}"] = text_of(part if content is None else content)
    for number, call in enumerate(calls):
        at = f"{prefix}{OpenInference.TOOL_CALLS}.{number}."
        says[f"{at}{OpenInference.CALL_ID}"] = call.get("id")
        says[f"{at}{OpenInference.CALL_NAME}"] = call["name"]
        says[f"{at}{OpenInference.CALL_ARGUMENTS}"] = text_of(call["arguments"])
    return says
