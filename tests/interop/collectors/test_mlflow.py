"""What is pushed arrives in MLflow, asked through its own API."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.cli import _run
from agentdbg.interop.otel.spans_out import trace_id_of
from tests.interop.collectors.running import ask, free_port, program, running
from tests.interop.collectors.told import Message, Told, record_agents, told_by_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.frameworks

_KINDS = {"CHAT_MODEL": "llm", "TOOL": "tool", "AGENT": "agent"}
_EXPERIMENT = ["--header", "x-mlflow-experiment-id=0"]


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    folder: Path = tmp_path_factory.mktemp("mlflow")
    url = f"http://127.0.0.1:{port}"
    command = [program("mlflow", "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    store = [
        "--backend-store-uri",
        f"sqlite:///{folder}/mlflow.db",
        "--artifacts-destination",
        str(folder / "artifacts"),
    ]
    with running(
        [*command, *store],
        folder,
        f"{url}/health",
        MLFLOW_DISABLE_TELEMETRY="true",
        MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false",
    ):
        yield url


def test_a_pushed_run_is_the_same_run_there(mlflow: str) -> None:
    """The same calls in the same tree, with their models, tokens, messages and errors."""
    runs = record_agents()
    assert _run(["push", *runs, "--otlp", mlflow, *_EXPERIMENT]) == 0

    for run_id in runs:
        assert _told_by_mlflow(mlflow, run_id) == told_by_run(run_id)


def test_pushing_everything_again_doubles_nothing(mlflow: str) -> None:
    """A push that was interrupted sends its last batch once more."""
    runs = record_agents()
    for _ in range(2):
        assert _run(["push", *runs, "--otlp", mlflow, "--again", *_EXPERIMENT]) == 0

    for run_id in runs:
        assert _told_by_mlflow(mlflow, run_id) == told_by_run(run_id)


def _told_by_mlflow(url: str, run_id: str) -> dict[str, Told]:
    trace = ask(f"{url}/api/3.0/mlflow/traces/get?trace_id=tr-{trace_id_of(run_id).hex()}")["trace"]
    spans = {_hex(span["span_id"]): _told(span) for span in trace["spans"]}
    assert len(spans) == len(trace["spans"])
    return spans


def _told(span: dict[str, Any]) -> Told:
    says = {pair["key"]: _value(pair.get("value")) for pair in span["attributes"]}
    kind = _KINDS[says["mlflow.spanType"]]
    error = None
    if span["status"]["code"] == "STATUS_CODE_ERROR":
        error = span["status"]["message"]
        assert any(event["name"] == "exception" for event in span["events"])
    name = span["name"].partition(" ")[2]
    parent = _hex(span["parent_span_id"]) if span.get("parent_span_id") else None
    if kind != "llm":
        return Told(kind, name, parent, error)
    usage = says.get("mlflow.chat.tokenUsage", {})
    return Told(
        kind,
        name,
        parent,
        error,
        says["mlflow.llm.model"],
        (usage.get("input_tokens"), usage.get("output_tokens")),
        usage.get("cache_read_input_tokens"),
        # MLflow's own inputs are the messages alone; instructions that were given apart stay an attribute.
        (*_instructions(says), *_messages(says.get("mlflow.spanInputs"))),
        tuple(_messages(says.get("mlflow.spanOutputs"))),
    )


def _instructions(says: dict[str, Any]) -> list[Message]:
    parts = says.get("gen_ai.system_instructions")
    return [("system", "".join(part["content"] for part in parts), ())] if parts else []


def _messages(messages: Any) -> list[Message]:
    found = []
    for message in messages or []:
        parts = message["parts"]
        words = [part["content"] for part in parts if part["type"] == "text"]
        words += [_text(part["response"]) for part in parts if part["type"] == "tool_call_response"]
        asked = tuple(part["name"] for part in parts if part["type"] == "tool_call")
        found.append((message["role"], "".join(words), asked))
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _hex(identity: str) -> str:
    return base64.b64decode(identity).hex()


def _value(wrapped: Any) -> Any:
    """A value of OTLP as JSON has it: wrapped in its type."""
    if not wrapped:
        return None
    [(kind, value)] = wrapped.items()
    if kind == "kvlist_value":
        return {pair["key"]: _value(pair.get("value")) for pair in value.get("values", [])}
    if kind == "array_value":
        return [_value(item) for item in value.get("values", [])]
    return value
