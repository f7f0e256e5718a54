"""
OpenTelemetry GenAI and OpenInference attribute names. Nothing else in the package spells them out.

Three vocabularies: the GenAI semantic conventions of OpenTelemetry as of v1.41, OpenInference, and our own
`agentdbg.*` names, which carry an event whole, so that a run that was pushed can be received again without loss.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

__all__ = ["AgentDbg", "GenAI", "OpenInference", "provider_here", "provider_there"]

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"
"""The version of the conventions, as OpenTelemetry names it."""


class GenAI:
    """The GenAI semantic conventions, v1.41, and the general ones that go with them."""

    OPERATION: Final = "gen_ai.operation.name"
    CHAT: Final = "chat"
    EMBEDDINGS: Final = "embeddings"
    EXECUTE_TOOL: Final = "execute_tool"
    INVOKE_AGENT: Final = "invoke_agent"

    PROVIDER: Final = "gen_ai.provider.name"
    AGENT_NAME: Final = "gen_ai.agent.name"
    CONVERSATION_ID: Final = "gen_ai.conversation.id"

    REQUEST_MODEL: Final = "gen_ai.request.model"
    TEMPERATURE: Final = "gen_ai.request.temperature"
    TOP_P: Final = "gen_ai.request.top_p"
    TOP_K: Final = "gen_ai.request.top_k"
    MAX_TOKENS: Final = "gen_ai.request.max_tokens"
    SEED: Final = "gen_ai.request.seed"
    FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
    PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
    STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"

    RESPONSE_ID: Final = "gen_ai.response.id"
    RESPONSE_MODEL: Final = "gen_ai.response.model"
    FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
    OUTPUT_TYPE: Final = "gen_ai.output.type"

    INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
    """All of the input; what came from a cache is part of it."""
    OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
    """All of the output; what was reasoning is part of it."""
    CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
    CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
    REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"

    INPUT_MESSAGES: Final = "gen_ai.input.messages"
    OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
    SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
    TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"

    TOOL_NAME: Final = "gen_ai.tool.name"
    TOOL_TYPE: Final = "gen_ai.tool.type"
    TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
    TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
    TOOL_RESULT: Final = "gen_ai.tool.call.result"

    ERROR_TYPE: Final = "error.type"
    EXCEPTION: Final = "exception"
    """The name of the span event that tells of an exception."""
    EXCEPTION_TYPE: Final = "exception.type"
    EXCEPTION_MESSAGE: Final = "exception.message"
    EXCEPTION_STACK: Final = "exception.stacktrace"
    CODE_FILE: Final = "code.file.path"
    CODE_LINE: Final = "code.line.number"
    SESSION_ID: Final = "session.id"
    USER_ID: Final = "user.id"


class OpenInference:
    """OpenInference: the same things as Phoenix and its relatives name them, with messages spelled out part by part."""

    KIND: Final = "openinference.span.kind"
    LLM: Final = "LLM"
    EMBEDDING: Final = "EMBEDDING"
    TOOL: Final = "TOOL"
    AGENT: Final = "AGENT"
    CHAIN: Final = "CHAIN"

    INPUT: Final = "input.value"
    INPUT_TYPE: Final = "input.mime_type"
    OUTPUT: Final = "output.value"
    OUTPUT_TYPE: Final = "output.mime_type"
    JSON: Final = "application/json"
    TEXT: Final = "text/plain"

    MODEL: Final = "llm.model_name"
    PROVIDER: Final = "llm.provider"
    SYSTEM: Final = "llm.system"
    PARAMETERS: Final = "llm.invocation_parameters"
    FINISH_REASON: Final = "llm.finish_reason"
    INPUT_MESSAGES: Final = "llm.input_messages"
    OUTPUT_MESSAGES: Final = "llm.output_messages"
    ROLE: Final = "message.role"
    CONTENT: Final = "message.content"
    CONTENTS: Final = "message.contents"
    CONTENT_TYPE: Final = "message_content.type"
    CONTENT_TEXT: Final = "message_content.text"
    TOOL_CALLS: Final = "message.tool_calls"
    TOOL_CALL_ID: Final = "message.tool_call_id"
    CALL_ID: Final = "tool_call.id"
    CALL_NAME: Final = "tool_call.function.name"
    CALL_ARGUMENTS: Final = "tool_call.function.arguments"
    TOOLS: Final = "llm.tools"
    TOOL_SCHEMA: Final = "tool.json_schema"
    EMBEDDING_MODEL: Final = "embedding.model_name"

    PROMPT_TOKENS: Final = "llm.token_count.prompt"
    COMPLETION_TOKENS: Final = "llm.token_count.completion"
    TOTAL_TOKENS: Final = "llm.token_count.total"
    CACHE_READ_TOKENS: Final = "llm.token_count.prompt_details.cache_read"
    CACHE_WRITE_TOKENS: Final = "llm.token_count.prompt_details.cache_write"
    REASONING_TOKENS: Final = "llm.token_count.completion_details.reasoning"
    COST: Final = "llm.cost.total"

    TOOL_NAME: Final = "tool.name"
    TOOL_PARAMETERS: Final = "tool.parameters"
    AGENT_NAME: Final = "agent.name"
    SESSION_ID: Final = "session.id"
    USER_ID: Final = "user.id"
    METADATA: Final = "metadata"


class AgentDbg:
    """
    Our own names, on every span and span event that a run of ours becomes.

    A span, or a span event, with `EVENT_TYPE` is one event of the run, whole: whoever has these needs no other
    attribute. The span of the run itself has RUN_START's payload, and beside it RUN_END's as `RUN_END`.
    """

    RUN_ID: Final = "agentdbg.run.id"
    RUN_NAME: Final = "agentdbg.run.name"
    RUN_END: Final = "agentdbg.run.end"
    """RUN_END's payload as JSON; absent when the run has none, because its process died."""
    RUN_STATUS: Final = "agentdbg.run.status"
    """ok or error."""
    RUN_END_ID: Final = "agentdbg.run.end_id"
    RUN_END_SEQUENCE: Final = "agentdbg.run.end_sequence"

    EVENT_ID: Final = "agentdbg.event.id"
    EVENT_TYPE: Final = "agentdbg.event.type"
    """A type of the trace format. CALL_START stands for a call that never ended."""
    NAME: Final = "agentdbg.event.name"
    PARENT_ID: Final = "agentdbg.event.parent_id"
    """The parent as the event names it; absent when it is null. A span event may hang on a span further up."""
    SEQUENCE: Final = "agentdbg.event.sequence"
    """The event's place in its run, from 1. Spans arrive in any order; this is the order they were written in."""
    DURATION_MS: Final = "agentdbg.event.duration_ms"
    """Absent when it is null. The end of the span is the event's `ts`."""
    PAYLOAD: Final = "agentdbg.event.payload"
    """The payload as JSON text."""
    META: Final = "agentdbg.event.meta"
    """The meta as JSON text; absent when it is empty."""

    COST_USD: Final = "agentdbg.cost_usd"
    LOOP_KIND: Final = "agentdbg.loop.kind"
    LOOP_SEVERITY: Final = "agentdbg.loop.severity"
    LOOP_PATTERN: Final = "agentdbg.loop.pattern"
    LOOP_REPETITIONS: Final = "agentdbg.loop.repetitions"
    LOOP_EXPLANATION: Final = "agentdbg.loop.explanation"


# Names people and client libraries use, and what the conventions call the same provider.
_PROVIDERS = MappingProxyType(
    {
        "azure": "azure.ai.openai",
        "azure_ai": "azure.ai.inference",
        "bedrock": "aws.bedrock",
        "gemini": "gcp.gemini",
        "google": "gcp.gen_ai",
        "mistral": "mistral_ai",
        "vertex_ai": "gcp.vertex_ai",
        "watsonx": "ibm.watsonx.ai",
        "xai": "x_ai",
    }
)
_HERE = MappingProxyType({there: here for here, there in _PROVIDERS.items()})


def provider_there(provider: str) -> str:
    """The name the conventions have for a provider; its own where they have none."""
    return _PROVIDERS.get(provider, provider)


def provider_here(provider: str) -> str:
    """The name a provider has in our runs."""
    return _HERE.get(provider, provider)
