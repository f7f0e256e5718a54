"""
What a span says of its event, in the words of the GenAI semantic conventions.

How many tokens a model call took, out of a usage in any provider's words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.run_columns import LLM, TOOL
from agentdbg.encoding import encode_json
from agentdbg.events.facts import cached_tokens, call_failed, token_counts, whole_number
from agentdbg.interop.otel.conventions import GenAI, provider_there
from agentdbg.interop.otel.messages import input_messages, output_messages, tool_definitions
from agentdbg.interop.shapes import as_dict, as_word

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["agent_attributes", "is_embedding", "parameters_of", "read_tokens", "span_name", "span_says", "text_of"]

_PARAMETERS = {
    "top_p": GenAI.TOP_P,
    "top_k": GenAI.TOP_K,
    "max_tokens": GenAI.MAX_TOKENS,
    "max_output_tokens": GenAI.MAX_TOKENS,
    "max_completion_tokens": GenAI.MAX_TOKENS,
    "seed": GenAI.SEED,
    "frequency_penalty": GenAI.FREQUENCY_PENALTY,
    "presence_penalty": GenAI.PRESENCE_PENALTY,
}


def span_name(kind: int, name: str, payload: Mapping[str, Any]) -> str:
    """The name the conventions want: what is done, and with what."""
    if kind == LLM:
        return f"{GenAI.EMBEDDINGS if is_embedding(payload) else GenAI.CHAT} {name}"
    return f"{GenAI.EXECUTE_TOOL if kind == TOOL else GenAI.INVOKE_AGENT} {name}"


def span_says(kind: int, name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a model call, a tool call or a traced function."""
    if kind == LLM:
        return _model_call(name, payload)
    if kind == TOOL:
        return {
            GenAI.OPERATION: GenAI.EXECUTE_TOOL,
            GenAI.TOOL_NAME: name,
            GenAI.TOOL_TYPE: "function",
            GenAI.TOOL_CALL_ID: payload.get("tool_call_id"),
            GenAI.TOOL_ARGUMENTS: text_of(payload.get("args")),
            GenAI.TOOL_RESULT: text_of(payload.get("result")),
        }
    return agent_attributes(name, payload.get("input"), payload.get("output"))


def agent_attributes(name: str, given: Any, result: Any) -> dict[str, Any]:
    """The attributes of the run itself, or of a part of it."""
    asked = input_messages(given if isinstance(given, (str, list)) else text_of(given or None))[1]
    return {
        GenAI.OPERATION: GenAI.INVOKE_AGENT,
        GenAI.AGENT_NAME: name,
        GenAI.INPUT_MESSAGES: _listed(asked),
        GenAI.OUTPUT_MESSAGES: _listed(output_messages(result)),
    }


def is_embedding(payload: Mapping[str, Any]) -> bool:
    """Whether a model call made vectors: those are recorded by their number and length."""
    response = payload.get("response")
    return isinstance(response, dict) and response.keys() == {"embeddings", "dimensions"}


def parameters_of(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What else the request asked for, where it was kept apart from the rest of the payload."""
    return as_dict(payload.get("parameters"))


def text_of(value: Any) -> str | None:
    """A value as an attribute: text as it is, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return encode_json(value).decode()


def _model_call(name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    provider = payload.get("provider")
    provider = provider if isinstance(provider, str) and provider else "unknown"
    tokens = read_tokens(payload.get("usage"))
    reason = payload.get("stop_reason")
    answered = as_dict(payload.get("response"))
    says: dict[str, Any] = {
        GenAI.OPERATION: GenAI.CHAT,
        GenAI.PROVIDER: provider_there(provider),
        GenAI.REQUEST_MODEL: name,
        GenAI.TEMPERATURE: _number(payload.get("temperature")),
        GenAI.RESPONSE_ID: as_word(answered.get("id")) or None,
        GenAI.RESPONSE_MODEL: as_word(answered.get("model")) or None,
        GenAI.FINISH_REASONS: [reason] if isinstance(reason, str) else None,
        GenAI.INPUT_TOKENS: tokens.input,
        GenAI.OUTPUT_TOKENS: tokens.output,
        GenAI.CACHE_READ_TOKENS: tokens.cache_read,
        GenAI.CACHE_WRITE_TOKENS: tokens.cache_write,
        GenAI.REASONING_TOKENS: tokens.reasoning,
        **_parameters(payload),
    }
    if is_embedding(payload):
        return {**says, GenAI.OPERATION: GenAI.EMBEDDINGS, GenAI.INPUT_MESSAGES: _said(payload, "")[1]}
    instructions, asked = _said(payload, provider)
    failed = call_failed(payload)
    says[GenAI.SYSTEM_INSTRUCTIONS] = instructions
    says[GenAI.INPUT_MESSAGES] = asked
    says[GenAI.OUTPUT_MESSAGES] = _listed(output_messages(payload.get("response"), reason, failed=failed))
    says[GenAI.TOOL_DEFINITIONS] = _listed(tool_definitions(payload.get("tools")))
    return says


def _said(payload: Mapping[str, Any], provider: str) -> tuple[str | None, str | None]:
    instructions, asked = input_messages(payload.get("prompt"), provider)
    return _listed(instructions), _listed(asked)


def _parameters(payload: Mapping[str, Any]) -> dict[str, Any]:
    given = {**payload, **parameters_of(payload)}
    found: dict[str, Any] = {}
    for name, attribute in _PARAMETERS.items():
        value = _number(given.get(name))
        if value is not None:
            found.setdefault(attribute, value)
    stop = given.get("stop", given.get("stop_sequences"))
    words = [stop] if isinstance(stop, str) else stop
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        found[GenAI.STOP_SEQUENCES] = words
    return found


def _listed(items: list[dict[str, Any]]) -> str | None:
    return encode_json(items).decode() if items else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")


class UsedTokens(NamedTuple):
    """Counts, None where nobody said. Cached tokens are part of the input, reasoning is part of the output."""

    input: int | None = None
    output: int | None = None
    total: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


def read_tokens(usage: Any) -> UsedTokens:
    """The counts of a stored usage."""
    if not isinstance(usage, dict):
        return UsedTokens()
    counted = token_counts(usage)
    details = {key: value for name in _INPUT_DETAILS for key, value in as_dict(usage.get(name)).items()}
    spent = {key: value for name in _OUTPUT_DETAILS for key, value in as_dict(usage.get(name)).items()}
    return UsedTokens(
        input=counted.given,
        output=counted.written,
        total=counted.total,
        cache_read=cached_tokens(usage),
        cache_write=_first(
            _count(details, "cache_write_tokens", "cache_creation"), _count(usage, "cache_creation_input_tokens")
        ),
        reasoning=_first(_count(spent, "reasoning_tokens", "reasoning"), _count(usage, "thoughts_token_count")),
    )


def _count(counts: dict[str, Any], *names: str) -> int | None:
    for name in names:
        if (count := whole_number(counts.get(name))) is not None:
            return count
    return None


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
