"""
The names under which spans tell the same thing, the most telling first.

The pinned conventions are in `otel.conventions`. Beside them stand the names earlier versions had, those of
OpenLLMetry, and those of SDKs that go their own way, so that a span of any of them is read alike.
"""

from __future__ import annotations

from typing import Any, Final

from agentdbg.interop.otel.conventions import GenAI, OpenInference

__all__ = ["KIND_NAMES", "said_in"]

KIND_NAMES: Final = (OpenInference.KIND, GenAI.OPERATION, "traceloop.span.kind", "llm.request.type")
_NAMES: dict[str, tuple[str, ...]] = {
    "model": (
        GenAI.RESPONSE_MODEL,
        OpenInference.MODEL,
        OpenInference.EMBEDDING_MODEL,
        GenAI.REQUEST_MODEL,
        "ai.model.id",
    ),
    "provider": (GenAI.PROVIDER, "gen_ai.system", OpenInference.PROVIDER, OpenInference.SYSTEM),
    "temperature": (GenAI.TEMPERATURE,),
    "stop_reason": (OpenInference.FINISH_REASON, "gen_ai.completion.0.finish_reason", "ai.response.finishReason"),
    "cost_usd": (OpenInference.COST, "gen_ai.usage.cost"),
    "input_tokens": (
        OpenInference.PROMPT_TOKENS,
        GenAI.INPUT_TOKENS,
        "gen_ai.usage.prompt_tokens",
        "ai.usage.promptTokens",
    ),
    "output_tokens": (
        OpenInference.COMPLETION_TOKENS,
        GenAI.OUTPUT_TOKENS,
        "gen_ai.usage.completion_tokens",
        "ai.usage.completionTokens",
    ),
    "total_tokens": (OpenInference.TOTAL_TOKENS, "gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
    "cache_read_tokens": (
        OpenInference.CACHE_READ_TOKENS,
        GenAI.CACHE_READ_TOKENS,
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.input_tokens.cached",
    ),
    "cache_write_tokens": (
        OpenInference.CACHE_WRITE_TOKENS,
        GenAI.CACHE_WRITE_TOKENS,
        "gen_ai.usage.cache_creation_input_tokens",
    ),
    "reasoning_tokens": (
        OpenInference.REASONING_TOKENS,
        GenAI.REASONING_TOKENS,
        "gen_ai.usage.reasoning_tokens",
        "llm.usage.reasoning_tokens",
    ),
    "tool_name": (GenAI.TOOL_NAME, OpenInference.TOOL_NAME, "ai.toolCall.name", "traceloop.entity.name"),
    "input": (
        GenAI.TOOL_ARGUMENTS,
        "ai.toolCall.args",
        "tool_arguments",
        OpenInference.INPUT,
        OpenInference.TOOL_PARAMETERS,
        "traceloop.entity.input",
    ),
    "output": (
        GenAI.TOOL_RESULT,
        "ai.toolCall.result",
        "tool_response",
        OpenInference.OUTPUT,
        "traceloop.entity.output",
    ),
    "agent_name": (GenAI.AGENT_NAME, OpenInference.AGENT_NAME),
    "workflow_name": ("traceloop.workflow.name", "gen_ai.workflow.name"),
    "session_id": (
        GenAI.CONVERSATION_ID,
        GenAI.SESSION_ID,
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.thread_id",
    ),
    "user_id": (GenAI.USER_ID, "enduser.id", "traceloop.association.properties.user_id"),
}
_PLACES = {name: (subject, rank) for subject, names in _NAMES.items() for rank, name in enumerate(names)}


def said_in(attributes: dict[str, Any]) -> dict[str, Any]:
    """What the attributes say, by subject; where several say it, the most telling one."""
    found: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    for name, value in attributes.items():
        if name in _PLACES and value is not None:
            subject, rank = _PLACES[name]
            if subject not in ranks or rank < ranks[subject]:
                ranks[subject], found[subject] = rank, value
    return found
