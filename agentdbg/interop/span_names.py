"""
The names under which spans tell the same thing, the most telling first.

The pinned conventions are in `otel.conventions`. Beside them stand the names earlier versions had, those of
OpenLLMetry, and those of SDKs that go their own way, so that a span of any of them is read alike.
"""

from __future__ import annotations

from typing import Final

from agentdbg.interop.otel.conventions import GenAI, OpenInference

__all__ = ["SpanNames"]


class SpanNames:
    """Attributes by what they say."""

    KIND: Final = (OpenInference.KIND, GenAI.OPERATION, "traceloop.span.kind", "llm.request.type")
    MODEL: Final = (
        GenAI.RESPONSE_MODEL,
        OpenInference.MODEL,
        OpenInference.EMBEDDING_MODEL,
        GenAI.REQUEST_MODEL,
        "ai.model.id",
    )
    PROVIDER: Final = (GenAI.PROVIDER, "gen_ai.system", OpenInference.PROVIDER, OpenInference.SYSTEM)
    STOP_REASON: Final = (OpenInference.FINISH_REASON, "gen_ai.completion.0.finish_reason", "ai.response.finishReason")
    COST: Final = (OpenInference.COST, "gen_ai.usage.cost")

    INPUT_TOKENS: Final = (
        OpenInference.PROMPT_TOKENS,
        GenAI.INPUT_TOKENS,
        "gen_ai.usage.prompt_tokens",
        "ai.usage.promptTokens",
    )
    OUTPUT_TOKENS: Final = (
        OpenInference.COMPLETION_TOKENS,
        GenAI.OUTPUT_TOKENS,
        "gen_ai.usage.completion_tokens",
        "ai.usage.completionTokens",
    )
    TOTAL_TOKENS: Final = (OpenInference.TOTAL_TOKENS, "gen_ai.usage.total_tokens", "llm.usage.total_tokens")
    CACHE_READ_TOKENS: Final = (
        OpenInference.CACHE_READ_TOKENS,
        GenAI.CACHE_READ_TOKENS,
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.input_tokens.cached",
    )
    CACHE_WRITE_TOKENS: Final = (
        OpenInference.CACHE_WRITE_TOKENS,
        GenAI.CACHE_WRITE_TOKENS,
        "gen_ai.usage.cache_creation_input_tokens",
    )
    REASONING_TOKENS: Final = (
        OpenInference.REASONING_TOKENS,
        GenAI.REASONING_TOKENS,
        "gen_ai.usage.reasoning_tokens",
        "llm.usage.reasoning_tokens",
    )

    TOOL_NAME: Final = (GenAI.TOOL_NAME, OpenInference.TOOL_NAME, "ai.toolCall.name", "traceloop.entity.name")
    INPUT: Final = (
        GenAI.TOOL_ARGUMENTS,
        "ai.toolCall.args",
        "tool_arguments",
        OpenInference.INPUT,
        OpenInference.TOOL_PARAMETERS,
        "traceloop.entity.input",
    )
    OUTPUT: Final = (
        GenAI.TOOL_RESULT,
        "ai.toolCall.result",
        "tool_response",
        OpenInference.OUTPUT,
        "traceloop.entity.output",
    )

    AGENT_NAME: Final = (GenAI.AGENT_NAME, OpenInference.AGENT_NAME)
    WORKFLOW_NAME: Final = ("traceloop.workflow.name", "gen_ai.workflow.name")
    SESSION_ID: Final = (
        GenAI.CONVERSATION_ID,
        GenAI.SESSION_ID,
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.thread_id",
    )
    USER_ID: Final = (GenAI.USER_ID, "enduser.id", "traceloop.association.properties.user_id")
