"""
One small agent under the instrumentation that is asked for: a program of its own, as users have.

    python instrumented_agent.py INSTRUMENTATION RECEIVER PROVIDER

It asks the model, uses the tool the model asked for, asks again with the answer streamed, embeds the question, and
once asks a model that does not exist.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

HOW, RECEIVER, PROVIDER = sys.argv[1:] if __name__ == "__main__" else ("", "", "")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "description": "Looks an order up.",
            "parameters": {"type": "object", "properties": {"order_id": {"type": "integer"}}},
        },
    }
]
QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is order 8812?"}]


def main() -> None:
    provider = _provider()
    find_order, agent = {
        "openinference": _with_openinference,
        "openllmetry": _with_openllmetry,
        "both": _with_both,
        "genai": _with_genai,
    }[HOW](provider)
    agent(lambda: _work(find_order))
    provider.shutdown()


def _work(find_order: Any) -> str:
    import openai

    client = openai.OpenAI(base_url=PROVIDER, api_key="sk-test", max_retries=0)
    first = client.chat.completions.create(model="gpt-4o", messages=QUESTION, tools=TOOLS, temperature=0.2)
    call = first.choices[0].message.tool_calls[0]
    found = find_order(**json.loads(call.function.arguments))
    asked = {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]}
    answered = {"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)}
    chunks = client.chat.completions.create(
        model="gpt-4o",
        messages=[*QUESTION, asked, answered],
        stream=True,
        stream_options={"include_usage": True},
    )
    told = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    client.embeddings.create(model="text-embedding-3-small", input="Where is order 8812?")
    with contextlib.suppress(openai.NotFoundError):
        client.chat.completions.create(model="nobody", messages=QUESTION)
    return told


def _provider() -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{RECEIVER}/v1/traces")))
    return provider


def _with_openinference(provider: Any) -> tuple[Any, Any]:
    from openinference.instrumentation import OITracer, TraceConfig  # type: ignore[import-not-found,unused-ignore]
    from openinference.instrumentation.openai import OpenAIInstrumentor  # type: ignore[import-not-found,unused-ignore]

    OpenAIInstrumentor().instrument(tracer_provider=provider)
    tracer = OITracer(provider.get_tracer("agent"), TraceConfig())

    @tracer.tool  # type: ignore[untyped-decorator,unused-ignore]
    def find_order(order_id: int) -> dict[str, Any]:
        """Looks an order up."""
        return _order(order_id)

    def agent(work: Any) -> None:
        with tracer.start_as_current_span("shop", openinference_span_kind="agent") as span:
            span.set_output(work())

    return find_order, agent


def _with_openllmetry(provider: Any) -> tuple[Any, Any]:
    from opentelemetry import trace
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry.sdk.trace import SpanProcessor
    from traceloop.sdk import Traceloop  # type: ignore[import-not-found,unused-ignore]
    from traceloop.sdk.decorators import agent as agent_decorator  # type: ignore[import-not-found,unused-ignore]
    from traceloop.sdk.decorators import tool  # type: ignore[import-not-found,unused-ignore]

    trace.set_tracer_provider(provider)
    # It would bring an exporter of its own; a processor that does nothing takes its place.
    Traceloop.init(app_name="shop", processor=SpanProcessor(), instruments=set(), telemetry_enabled=False)
    OpenAIInstrumentor().instrument(tracer_provider=provider)

    @tool(name="find_order")  # type: ignore[untyped-decorator,unused-ignore]
    def find_order(order_id: int) -> dict[str, Any]:
        return _order(order_id)

    @agent_decorator(name="shop")  # type: ignore[untyped-decorator,unused-ignore]
    def agent(work: Any) -> Any:
        return work()

    return find_order, agent


def _with_both(provider: Any) -> tuple[Any, Any]:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=provider)
    return _with_openinference(provider)


def _with_genai(provider: Any) -> tuple[Any, Any]:
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    tracer = provider.get_tracer("agent")

    def find_order(order_id: int) -> dict[str, Any]:
        says = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find_order"}
        with tracer.start_as_current_span("execute_tool find_order", attributes=says) as span:
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps({"order_id": order_id}))
            span.set_attribute("gen_ai.tool.call.result", json.dumps(_order(order_id)))
            return _order(order_id)

    def agent(work: Any) -> None:
        says = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
        with tracer.start_as_current_span("invoke_agent shop", attributes=says):
            work()

    return find_order, agent


def _order(order_id: int) -> dict[str, Any]:
    return {"order_id": order_id, "left": "Monday"}


if __name__ == "__main__":
    main()
