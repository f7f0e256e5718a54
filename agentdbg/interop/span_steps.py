"""
The names under which spans tell the same thing, the most telling first.

The pinned conventions are in `otel.conventions`. Beside them stand the names earlier versions had, those of
OpenLLMetry, and those of SDKs that go their own way, so that a span of any of them is read alike.

What a span says happened: a model call, a tool call, or a stretch of work.

One mapping for every instrumentation, used for files of spans and for spans as they arrive. Tokens that came from a
cache are part of the input, whichever way they were counted.
"""

from __future__ import annotations

import ast
import contextlib
import re
from typing import TYPE_CHECKING, Any, Final

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import Step, model_call, read_arguments, span, tool_call
from agentdbg.interop.otel.conventions import GenAI, OpenInference, provider_here
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.span_messages import finish_reason_in, listed_under, messages_in, tool_call_in, tools_in

if TYPE_CHECKING:
    from agentdbg.interop.otel_spans import Span

__all__ = ["facts_of", "failure_of", "name_of_run", "output_of", "said_in", "step_of", "unwrapped_call"]

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
    "cost_usd": (OpenInference.COST, "gen_ai.usage.cost", "operation.cost"),
    "input_tokens": (
        OpenInference.PROMPT_TOKENS,
        GenAI.INPUT_TOKENS,
        "gen_ai.usage.prompt_tokens",
        "ai.usage.promptTokens",
        "ai.usage.inputTokens",
        "ai.usage.tokens",
    ),
    "output_tokens": (
        OpenInference.COMPLETION_TOKENS,
        GenAI.OUTPUT_TOKENS,
        "gen_ai.usage.completion_tokens",
        "ai.usage.completionTokens",
        "ai.usage.outputTokens",
    ),
    "total_tokens": (
        OpenInference.TOTAL_TOKENS,
        "gen_ai.usage.total_tokens",
        "llm.usage.total_tokens",
        "ai.usage.totalTokens",
    ),
    "cache_read_tokens": (
        OpenInference.CACHE_READ_TOKENS,
        GenAI.CACHE_READ_TOKENS,
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.input_tokens.cached",
        "gen_ai.usage.details.cached_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "ai.usage.cachedInputTokens",
        "ai.usage.inputTokenDetails.cacheReadTokens",
    ),
    "cache_write_tokens": (
        OpenInference.CACHE_WRITE_TOKENS,
        GenAI.CACHE_WRITE_TOKENS,
        "gen_ai.usage.cache_creation_input_tokens",
        "ai.usage.inputTokenDetails.cacheWriteTokens",
    ),
    "reasoning_tokens": (
        OpenInference.REASONING_TOKENS,
        GenAI.REASONING_TOKENS,
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "llm.usage.reasoning_tokens",
        "ai.usage.reasoningTokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
    ),
    "tool_name": (GenAI.TOOL_NAME, OpenInference.TOOL_NAME, "ai.toolCall.name", "traceloop.entity.name"),
    "input": (
        GenAI.TOOL_ARGUMENTS,
        "ai.toolCall.args",
        "tool_arguments",
        OpenInference.INPUT,
        OpenInference.TOOL_PARAMETERS,
        "traceloop.entity.input",
        "ai.prompt",
    ),
    "output": (
        GenAI.TOOL_RESULT,
        "ai.toolCall.result",
        "tool_response",
        OpenInference.OUTPUT,
        "traceloop.entity.output",
        "ai.response.text",
        "ai.response.object",
        "final_result",
    ),
    "agent_name": (GenAI.AGENT_NAME, OpenInference.AGENT_NAME, "agent_name", "ai.telemetry.functionId"),
    "workflow_name": ("traceloop.workflow.name", "gen_ai.workflow.name"),
    "session_id": (
        GenAI.CONVERSATION_ID,
        GenAI.SESSION_ID,
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.thread_id",
        "ai.telemetry.metadata.sessionId",
    ),
    "user_id": (
        GenAI.USER_ID,
        "enduser.id",
        "traceloop.association.properties.user_id",
        "ai.telemetry.metadata.userId",
    ),
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


_KINDS = {
    **dict.fromkeys(("llm", "chat", "text_completion", "generate_content", "completion"), "model"),
    **dict.fromkeys(("embeddings", "embedding"), "embedding"),
    **dict.fromkeys(("tool", "execute_tool", "retriever", "reranker", "retrieval", "rerank"), "tool"),
    **dict.fromkeys(("agent", "chain", "workflow", "task", "evaluator", "guardrail"), ""),
    **dict.fromkeys(("invoke_agent", "create_agent", "invoke_workflow"), ""),
}


_VERCEL_KINDS = {"doGenerate": "model", "doStream": "model", "doEmbed": "embedding", "toolCall": "tool"}


def step_of(found: Span) -> Step:
    """One span as a step; `key` and `parent` are span ids."""
    place: dict[str, Any] = {
        "key": found.span_id,
        "parent": found.parent_id,
        "at_ms": found.ended_ms if found.ended_ms is not None else found.started_ms,
        "duration_ms": found.duration_ms,
    }
    error = failure_of(found) if found.failed else None
    kind, said = _kind(found.attributes), said_in(found.attributes)
    if kind == "model":
        return _model_step(found, said, error, place)
    if kind == "embedding":
        return _embedding_step(found, said, error, place)
    given, output = _input_of(said), read_arguments(said.get("output"))
    if kind == "tool":
        noted = tool_call_in(found)
        given = noted[0] if given is None else given
        output = noted[1] if output is None else output
        if output is None:
            output = _documents(found.attributes)
        given, output, failed = unwrapped_call(given, output)
        error = error or ({"error_type": "Error", "message": str(output)} if failed else None)
        return tool_call(said.get("tool_name") or found.name, given, None if error else output, error=error, **place)
    if given is None:
        given = messages_in(found, "input")
    if output is None:
        output = output_of(found)
    made = span(found.name, error=error, input=given, output=output, **place)
    if given is None and output is None and not error and found.attributes:
        made.meta["attributes"] = found.attributes  # a request, a query: no convention of ours, and all it says
    return made


def output_of(found: Span) -> Any:
    """What the work of a span came to."""
    output = read_arguments(said_in(found.attributes).get("output"))
    if output is None:
        answers = messages_in(found, "output")
        output = answers[0] if answers and len(answers) == 1 else answers
    return output


def _documents(attributes: dict[str, Any]) -> list[Any] | None:
    """What a retriever or a reranker found."""
    for prefix in ("retrieval.documents.", "reranker.output_documents."):
        found = [as_dict(item).get("document", item) for item in listed_under(attributes, prefix)]
        if found:
            return found
    return None


def name_of_run(found: Span) -> str:
    """What a run is called that this span is the root of."""
    return str(said_in(found.attributes).get("agent_name") or found.name)


def facts_of(found: Span) -> dict[str, Any]:
    """What a span says of its run beyond what happened: whose it is, where it ran."""
    facts: dict[str, Any] = {"trace_id": found.trace_id}
    said = {**said_in(found.attributes), "service": found.resource.get("service.name")}
    facts.update((name, said[name]) for name in ("service", "session_id", "user_id") if as_word(said.get(name)))
    beside = as_dict(read_arguments(found.attributes.get(OpenInference.METADATA)))
    if beside:
        facts["metadata"] = beside
    return facts


def failure_of(found: Span) -> dict[str, Any]:
    """The exception a failed span recorded, else its status."""
    for event in reversed(found.events):
        if event.name == GenAI.EXCEPTION:
            return {
                "error_type": _class_name(event.attributes.get(GenAI.EXCEPTION_TYPE)),
                "message": event.attributes.get(GenAI.EXCEPTION_MESSAGE) or found.message,
                "stack": event.attributes.get(GenAI.EXCEPTION_STACK) or event.attributes.get("exception.stack"),
            }
    kind, separator, message = found.message.partition(": ")
    if separator and kind.replace(".", "").replace("_", "").isalnum():
        return {"error_type": _class_name(kind), "message": message}
    error_type = _class_name(found.attributes.get(GenAI.ERROR_TYPE))
    return {"error_type": error_type, "message": found.message or f"{found.name} failed"}


def _class_name(told: Any) -> str:
    """An exception's class without its module, as a recorder names it."""
    return as_word(told).rpartition(".")[2] or "Error"


def _kind(attributes: dict[str, Any]) -> str:
    for name in KIND_NAMES:
        told = attributes.get(name)
        kind = _KINDS.get(told.lower()) if isinstance(told, str) else None
        if kind is not None:
            return kind
    operation = as_word(attributes.get("ai.operationId"))  # the Vercel AI SDK; what has no such part stands around it
    if operation:
        return _VERCEL_KINDS.get(operation.rpartition(".")[2], "")
    if GenAI.REQUEST_MODEL in attributes or "llm.request.type" in attributes:
        return "model"
    return "tool" if GenAI.TOOL_NAME in attributes or "ai.toolCall.name" in attributes else ""


def _model_step(found: Span, said: dict[str, Any], error: dict[str, Any] | None, place: dict[str, Any]) -> Step:
    prompt = messages_in(found, "input")
    if prompt is None:
        given = _input_of(said)
        prompt = given.get("messages", given) if isinstance(given, dict) else given
    answers = messages_in(found, "output")
    response: Any = answers[0] if answers and len(answers) == 1 else answers
    if response is None:
        response = read_arguments(said.get("output"))
    call = {"prompt": prompt, "response": response, "tools": tools_in(found.attributes), "usage": _usage(said)}
    return _call_of_model(found, said, call, error, place)


def _embedding_step(found: Span, said: dict[str, Any], error: dict[str, Any] | None, place: dict[str, Any]) -> Step:
    """Embeddings, told by how many and how long they are: the numbers themselves say nothing to a person."""
    listed = listed_under(found.attributes, "embedding.embeddings.")
    items = [as_dict(as_dict(item).get("embedding")) for item in listed]
    vectors = [item["vector"] for item in items if isinstance(item.get("vector"), list)]
    texts = [item["text"] for item in items if "text" in item]
    texts = texts or [as_dict(message).get("content") for message in messages_in(found, "input") or ()]
    texts = texts or [read_arguments(text) for text in as_list(found.attributes.get("ai.values"))]
    made = [read_arguments(vector) for vector in as_list(found.attributes.get("ai.embeddings"))]
    vectors = vectors or [vector for vector in made if isinstance(vector, list)]
    dimensions = len(vectors[0]) if vectors else found.attributes.get("gen_ai.embeddings.dimension.count")
    usage = _usage(said)
    if usage is not None and usage["total_tokens"] is None:
        usage["total_tokens"] = usage["prompt_tokens"]  # nothing is generated
    call = {
        "prompt": texts[0] if len(texts) == 1 else texts or _input_of(said),
        "response": None if dimensions is None else {"embeddings": len(vectors) or None, "dimensions": dimensions},
        "usage": usage,
    }
    return _call_of_model(found, said, call, error, place)


def _call_of_model(
    found: Span, said: dict[str, Any], call: dict[str, Any], error: dict[str, Any] | None, place: dict[str, Any]
) -> Step:
    told = found.attributes.get(OpenInference.PARAMETERS)
    parameters = {} if told is None else as_dict(read_arguments(told))
    if error:
        call["response"] = None
    return model_call(
        said.get("model") or parameters.get("model") or found.name,
        provider=provider_here(as_word(said.get("provider")).lower()),
        temperature=said.get("temperature", parameters.get("temperature")),
        stop_reason=_stop_reason(found, said),
        error=error,
        cost_usd=said.get("cost_usd"),
        **call,
        **place,
    )


def _stop_reason(found: Span, said: dict[str, Any]) -> str | None:
    reasons = as_list(read_arguments(found.attributes.get(GenAI.FINISH_REASONS)))
    first = as_word(reasons[0]) if reasons else ""
    reason = first or as_word(said.get("stop_reason")) or finish_reason_in(found)
    # The conventions name it in the singular, OpenAI and everybody else in the plural.
    return {"tool_call": "tool_calls", "tool-calls": "tool_calls"}.get(reason, reason) if reason else None


def _usage(said: dict[str, Any]) -> dict[str, Any] | None:
    prompt, completion = whole_number(said.get("input_tokens")), whole_number(said.get("output_tokens"))
    total = whole_number(said.get("total_tokens"))
    cached, written = whole_number(said.get("cache_read_tokens")), whole_number(said.get("cache_write_tokens"))
    reasoning = whole_number(said.get("reasoning_tokens"))
    beside = (cached or 0) + (written or 0)
    if prompt is not None and beside > prompt:
        # More from the cache than there was input: it was counted beside the input, as Anthropic does.
        prompt += beside
        total = None
    if prompt is completion is total is None:
        return None
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    if total is None and prompt is not None and completion is not None:
        usage["total_tokens"] = prompt + completion
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if written is not None:
        usage["cache_creation_input_tokens"] = written
    if reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


def unwrapped_call(given: Any, output: Any) -> tuple[Any, Any, bool]:
    """
    The arguments and the result of a tool without what LangChain puts around them, and whether that says it failed.

    The arguments come as the text of a dict, or beside that text; the result as a message, as a message with its class
    named, or as the text of a message.
    """
    if isinstance(given, dict) and "input_str" in given:
        given = given.get("inputs") or given["input_str"]
    if isinstance(given, str) and given.startswith("{") and len(given) <= _LONGEST_TEXT:
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            given = ast.literal_eval(given)
    if isinstance(output, dict) and "output" in output and output.keys() <= {"output", "kwargs"}:
        output = read_arguments(output["output"])
    if isinstance(output, dict) and output.get("lc") and isinstance(output.get("kwargs"), dict):
        output = output["kwargs"]
    if isinstance(output, dict) and "content" in output and "tool_call_id" in output:
        return given, output["content"], output.get("status") == "error"
    if isinstance(output, str) and (said := _MESSAGE_TEXT.match(output[:_LONGEST_TEXT])):
        with contextlib.suppress(ValueError, SyntaxError):
            return given, ast.literal_eval(said[1]), "status='error'" in output[said.end() :]
    return given, output, False


_LONGEST_TEXT = 50_000
_MESSAGE_TEXT = re.compile(
    r"content=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") (?:name='[^']*' )?(?:id='[^']*' )?tool_call_id=", re.DOTALL
)


def _input_of(said: dict[str, Any]) -> Any:
    given = read_arguments(said.get("input"))
    if isinstance(given, dict) and set(given) <= {"args", "kwargs", "sanitize_inputs_outputs"}:
        # What smolagents hands to a tool: its arguments by name, if it was not called by place.
        if given.get("kwargs") and not given.get("args"):
            return given["kwargs"]
        if not given.get("kwargs") and "args" in given:
            return given["args"] or {}
    return given
