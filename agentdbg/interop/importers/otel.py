"""
OpenTelemetry spans as JSON: OpenInference, the GenAI conventions and OpenLLMetry.

Every trace of a file is a run. Model spans are model calls, tool and retriever spans tool calls, all others spans, each
written when it ended and under its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft, Step, model_call, read_arguments, span, tool_call
from agentdbg.interop.shapes import as_list
from agentdbg.interop.span_messages import messages_in, tools_in
from agentdbg.interop.spans import Span, attributes_of, is_span_document, read_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "OpenTelemetry spans"

_MODEL_KINDS = frozenset({"llm", "chat", "text_completion", "generate_content", "completion"})
_TOOL_KINDS = frozenset({"tool", "execute_tool", "retriever", "reranker", "retrieval"})
_USAGE = {
    "prompt_tokens": ("llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "completion_tokens": ("llm.token_count.completion", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "total_tokens": ("llm.token_count.total", "gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
}


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return all(is_span_document(document) for _, document in source.documents[:3])


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    traces: dict[str, dict[str, Span]] = {}
    for place, document in source.documents:
        for found in read_spans(document):
            if isinstance(found, Span):
                # An exporter that tries again writes a span twice; the later one is the finished one.
                traces.setdefault(found.trace_id, {})[found.span_id] = found
            else:
                yield EntryProblem(place, found)
    source.expected = len(traces)
    for trace_id, spans in traces.items():
        yield _draft(source, trace_id, list(spans.values()), alone=len(traces) == 1)


def _draft(source: Source, trace_id: str, spans: list[Span], *, alone: bool) -> RunDraft:
    ids = {found.span_id for found in spans}
    # Spans that are each other's parents have no root; the first one stands for it.
    roots = [found for found in spans if found.parent_id not in ids] or spans[:1]
    depths = _depths(spans)
    began = [found.started_ms for found in spans if found.started_ms is not None]
    ended = [found.ended_ms for found in spans if found.ended_ms is not None]
    # In the order things ended, as a recorder writes them; what ends in the same instant from the inside out.
    ordered = sorted(spans, key=lambda found: (found.ended_ms or found.started_ms or 0.0, -depths[found.span_id]))
    failed = next((root for root in roots if root.failed), None)
    main = min(roots, key=lambda root: root.started_ms or 0.0)
    output = main.attributes.get("output.value") or main.attributes.get("traceloop.entity.output")
    return RunDraft(
        identity=[trace_id, sorted(ids)],
        name=_run_name(main, source, alone=alone),
        format="otel",
        steps=[_step(found) for found in ordered],
        entry="" if alone else f"trace {trace_id}",
        started_ms=min(began, default=None),
        ended_ms=max(ended, default=None),
        error=_failure(failed) if failed is not None else None,
        result=read_arguments(output),
        meta=_facts(trace_id, main),
    )


def _run_name(main: Span, source: Source, *, alone: bool) -> str:
    name = main.attributes.get("gen_ai.agent.name") or main.name
    return f"{name} ({source.stem[:16]})" if alone else str(name)


def _facts(trace_id: str, main: Span) -> dict[str, Any]:
    facts: dict[str, Any] = {"trace_id": trace_id}
    service = main.resource.get("service.name")
    if isinstance(service, str):
        facts["service"] = service
    for key, name in (("session.id", "session_id"), ("user.id", "user_id"), ("gen_ai.conversation.id", "session_id")):
        if isinstance(main.attributes.get(key), str):
            facts[name] = main.attributes[key]
    return facts


def _depths(spans: list[Span]) -> dict[str, int]:
    parents = {found.span_id: found.parent_id for found in spans}
    depths: dict[str, int] = {}
    for span_id in parents:
        path: list[str] = []
        at: str | None = span_id
        while at in parents and at not in depths and at not in path:
            path.append(at)
            at = parents[at]
        depth = depths.get(at, -1) if at is not None else -1
        for step, known in enumerate(reversed(path), 1):
            depths[known] = depth + step
    return depths


def _step(found: Span) -> Step:
    attributes = found.attributes
    place: dict[str, Any] = {
        "key": found.span_id,
        "parent": found.parent_id,
        "at_ms": found.ended_ms if found.ended_ms is not None else found.started_ms,
        "duration_ms": found.duration_ms,
    }
    error = _failure(found) if found.failed else None
    kind = _kind(attributes)
    if kind in _MODEL_KINDS:
        return _model_step(found, error, place)
    given, output = _input_of(found), read_arguments(_output_of(attributes))
    if kind in _TOOL_KINDS:
        name = attributes.get("tool.name") or attributes.get("gen_ai.tool.name") or found.name
        return tool_call(name, given, None if error else output, error=error, **place)
    return span(found.name, error=error, input=given, output=output, **place)


def _kind(attributes: dict[str, Any]) -> str:
    for key in ("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind"):
        if isinstance(attributes.get(key), str):
            return str(attributes[key]).lower()
    has_model = "gen_ai.request.model" in attributes or "llm.request.type" in attributes
    return "llm" if has_model else ""


def _model_step(found: Span, error: dict[str, Any] | None, place: dict[str, Any]) -> Step:
    attributes = found.attributes
    prompt = messages_in(attributes, "input")
    if prompt is None:
        given = _input_of(found)
        prompt = given.get("messages", given) if isinstance(given, dict) else given
    answers = messages_in(attributes, "output")
    response: Any = answers[0] if answers and len(answers) == 1 else answers
    if response is None:
        response = read_arguments(_output_of(attributes))
    parameters = read_arguments(attributes.get("llm.invocation_parameters"))
    parameters = parameters if isinstance(parameters, dict) else {}
    reasons = attributes.get("gen_ai.response.finish_reasons")
    return model_call(
        _first(attributes, "gen_ai.response.model", "llm.model_name", "gen_ai.request.model") or found.name,
        prompt,
        None if error else response,
        usage=_usage(attributes),
        tools=tools_in(attributes),
        provider=_first(attributes, "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"),
        temperature=_first(attributes, "gen_ai.request.temperature") or parameters.get("temperature"),
        stop_reason=as_list(reasons)[0] if as_list(reasons) else attributes.get("llm.finish_reason"),
        error=error,
        cost_usd=_first(attributes, "llm.cost.total", "gen_ai.usage.cost"),
        **place,
    )


def _usage(attributes: dict[str, Any]) -> dict[str, Any] | None:
    found = {name: _first(attributes, *keys) for name, keys in _USAGE.items()}
    return {name: count for name, count in found.items() if count is not None} or None


def _input_of(found: Span) -> Any:
    attributes = found.attributes
    given = read_arguments(
        _first(attributes, "gen_ai.tool.call.arguments", "input.value", "tool.parameters", "traceloop.entity.input")
    )
    if isinstance(given, dict) and set(given) <= {"args", "kwargs", "sanitize_inputs_outputs"}:
        # What smolagents hands to a tool: its arguments by name, if it was not called by place.
        if given.get("kwargs") and not given.get("args"):
            return given["kwargs"]
        if not given.get("kwargs") and "args" in given:
            return given["args"] or {}
    return given


def _output_of(attributes: dict[str, Any]) -> Any:
    return _first(attributes, "gen_ai.tool.call.result", "output.value", "traceloop.entity.output")


def _failure(found: Span) -> dict[str, Any]:
    """The exception a failed span recorded, else its status."""
    for event in reversed(found.events):
        given = event.get("attributes") or event.get("Attributes")
        if "exception" in (event.get("name"), event.get("Name")):
            noted = attributes_of(given)
            return {
                "error_type": noted.get("exception.type") or "Error",
                "message": noted.get("exception.message") or found.message,
                "stack": noted.get("exception.stacktrace"),
            }
    kind, separator, message = found.message.partition(": ")
    if separator and kind.replace(".", "").replace("_", "").isalnum():
        return {"error_type": kind, "message": message}
    return {"error_type": "Error", "message": found.message or f"{found.name} failed"}


def _first(attributes: dict[str, Any], *keys: str) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)
