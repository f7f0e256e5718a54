"""What traces of other tools say in a form of its own: no result, count or reason gets lost over it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.files import imported, write

if TYPE_CHECKING:
    from pathlib import Path

_TRACE = "0af7651916cd43dd8448eb211c80319c"


def _otlp(attributes: dict[str, Any]) -> dict[str, Any]:
    """One span with these attributes, as a collector writes it."""
    told = []
    for key, value in attributes.items():
        if isinstance(value, list):
            told.append({"key": key, "value": {"arrayValue": {"values": [{"stringValue": one} for one in value]}}})
        else:
            told.append({"key": key, "value": {"intValue" if isinstance(value, int) else "stringValue": value}})
    times = {"startTimeUnixNano": "1748772000000000000", "endTimeUnixNano": "1748772001000000000"}
    span = {"traceId": _TRACE, "spanId": "00f067aa0ba902b7", "name": "chat", **times, "attributes": told}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def _call(events: list[dict[str, Any]]) -> dict[str, Any]:
    payload: dict[str, Any]
    (payload,) = [event["payload"] for event in events if event["event_type"] == "LLM_CALL"]
    return payload


def test_results_of_several_tools_in_one_message_are_all_told(tmp_path: Path, data_dir: Path) -> None:
    """Anthropic and Gemini answer all calls of a turn in one message, with what the user adds."""
    asked: list[Any] = [{"type": "tool_call", "id": each, "name": "look", "arguments": {}} for each in ("a", "b")]
    answered = [{"type": "tool_call_response", "id": each, "response": f"seen {each}"} for each in ("a", "b")]
    told = [
        {"role": "assistant", "parts": asked},
        {"role": "user", "parts": [*answered, {"type": "text", "content": "Go on"}]},
    ]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(told)}
    prompt = _call(imported(write(tmp_path / "spans.json", _otlp(attributes)), data_dir))["prompt"]

    assert [message["role"] for message in prompt] == ["assistant", "tool", "tool", "user"]
    assert [message["content"] for message in prompt[1:]] == ["seen a", "seen b", "Go on"]


def test_embeddings_of_the_vercel_sdk_are_counted(tmp_path: Path, data_dir: Path) -> None:
    """They name their tokens and texts unlike its other calls."""
    attributes = {
        "ai.operationId": "ai.embedMany.doEmbed",
        "ai.model.id": "small",
        "ai.values": ['"rope"', '"sail"'],
        "ai.embeddings": ["[0.1, 0.2, 0.3]", "[0.4, 0.5, 0.6]"],
        "ai.usage.tokens": 7,
    }
    call = _call(imported(write(tmp_path / "spans.json", _otlp(attributes)), data_dir))

    assert call["prompt"] == ["rope", "sail"]
    assert call["response"] == {"embeddings": 2, "dimensions": 3}
    assert call["usage"]["total_tokens"] == 7


_CHOICE = {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "So"}}]}
_OF_LANGCHAIN = {"generations": [[{"text": "So", "message": {"kwargs": {"content": "So"}}}]]}
_TIMES = {"startTime": "2025-06-01T10:00:00Z", "endTime": "2025-06-01T10:00:01Z"}


def _of_langsmith(outputs: dict[str, Any]) -> dict[str, Any]:
    times = {"start_time": "2025-06-01T10:00:00", "end_time": "2025-06-01T10:00:01"}
    return {"id": "r1", "name": "m", "run_type": "llm", **times, "inputs": {"prompt": "Why?"}, "outputs": outputs}


def _of_mlflow(outputs: dict[str, Any]) -> dict[str, Any]:
    attributes = {"mlflow.spanType": json.dumps("CHAT_MODEL"), "mlflow.spanOutputs": json.dumps(outputs)}
    span = {"span_id": "s", "name": "m", "start_time_unix_nano": 1748772000000000000, "attributes": attributes}
    info = {
        "trace_id": "tr-1",
        "request_time": "2025-06-01T10:00:00Z",
        "state": "OK",
        "response_preview": "word word...",
    }
    return {"info": info, "data": {"spans": [span]}}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param([_of_langsmith(_CHOICE)], id="LangSmith, as OpenAI says it"),
        pytest.param([_of_langsmith({**_OF_LANGCHAIN, "llm_output": {"stop_reason": "length"}})], id="LangSmith"),
        pytest.param(_of_mlflow(_CHOICE), id="MLflow"),
        pytest.param([{"id": "o", "traceId": "t", "type": "GENERATION", **_TIMES, "output": _CHOICE}], id="Langfuse"),
    ],
)
def test_an_answer_that_was_cut_off_says_so(tmp_path: Path, data_dir: Path, document: Any) -> None:
    """That the model ran out of tokens is what explains many a failure."""
    assert _call(imported(write(tmp_path / "trace.json", document), data_dir))["stop_reason"] == "length"


def test_a_run_of_mlflow_ends_with_all_of_its_answer(tmp_path: Path, data_dir: Path) -> None:
    """MLflow keeps a preview beside it, which is cut after some hundred characters."""
    answer = {"choices": [{"message": {"role": "assistant", "content": "word " * 400}}]}
    events = imported(write(tmp_path / "trace.json", _of_mlflow(answer)), data_dir)

    assert events[-1]["payload"]["result"]["content"] == "word " * 400


def test_spans_and_calls_of_a_log_have_their_own_times(tmp_path: Path, data_dir: Path) -> None:
    """Logfire's rows and DSPy's history name their times, and their tokens, in ways of their own."""
    row = {"trace_id": "1", "span_id": "2", "span_name": "chat", "attributes": {"gen_ai.request.model": "small"}}
    times = {"start_timestamp": "2025-01-01T00:00:00Z", "end_timestamp": "2025-01-01T00:00:02Z"}
    said = {"messages": [{"role": "user", "content": "Why?"}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    answer = {"choices": [{"message": {"role": "assistant", "content": "So."}}]}
    entry = {**said, "response": answer, "timestamp": "2025-02-01T00:00:00", "model": "small"}
    rows = imported(write(tmp_path / "rows.json", [{**row, **times}]), data_dir)
    history = imported(write(tmp_path / "history.json", [entry]), data_dir)

    assert (rows[0]["ts"], rows[-1]["duration_ms"]) == ("2025-01-01T00:00:00.000Z", 2000)
    assert (history[0]["ts"], _call(history)["usage"]["total_tokens"]) == ("2025-02-01T00:00:00.000Z", 4)


def test_calls_that_say_nothing_of_their_usage_cost_no_time(tmp_path: Path, data_dir: Path) -> None:
    """Looked for in every place where a framework may put it, and in no place that is not there."""
    spans = [
        {"span_id": f"s{n}", "root_span_id": "r", "span_attributes": {"type": "llm"}, "input": {}, "output": {}}
        for n in range(200)
    ]
    began = time.process_time()
    events = imported(write(tmp_path / "spans.json", spans), data_dir)

    assert sum(event["event_type"] == "LLM_CALL" for event in events) == 200
    assert time.process_time() - began < 3
