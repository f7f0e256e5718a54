"""What is pushed arrives in Arize Phoenix, asked through its own API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_state, traced_run
from agentdbg.cli import _run
from agentdbg.interop.otel.spans_out import trace_id_of
from tests.interop.collectors.running import ask, free_port, program, running, settled
from tests.interop.collectors.told import Message, Told, record_agents, told_by_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.frameworks

_KINDS = {"LLM": "llm", "TOOL": "tool", "AGENT": "agent", "CHAIN": "agent"}


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    folder: Path = tmp_path_factory.mktemp("phoenix")
    url = f"http://127.0.0.1:{port}"
    with running(
        [program("phoenix", "phoenix"), "serve"],
        folder,
        f"{url}/healthz",
        PHOENIX_WORKING_DIR=str(folder),
        PHOENIX_HOST="127.0.0.1",
        PHOENIX_PORT=str(port),
        PHOENIX_GRPC_PORT=str(free_port()),
        PHOENIX_TELEMETRY_ENABLED="false",
    ):
        yield url


@pytest.mark.parametrize("words", [[], ["--openinference"]], ids=["genai", "openinference"])
def test_a_pushed_run_is_the_same_run_there(phoenix: str, words: list[str]) -> None:
    """The same calls in the same tree, with their models, tokens, messages and errors."""
    runs = record_agents()
    assert _run(["push", *runs, "--otlp", phoenix, *words]) == 0

    for run_id in runs:
        expected = told_by_run(run_id)
        assert settled(lambda run_id=run_id: _told_by_phoenix(phoenix, run_id), expected) == expected  # type: ignore[misc]


def test_pushing_everything_again_doubles_nothing(phoenix: str) -> None:
    """A push that was interrupted sends its last batch once more."""
    runs = record_agents()
    for _ in range(2):
        assert _run(["push", *runs, "--otlp", phoenix, "--again"]) == 0
    with traced_run("the last one") as last:
        record_state({"step": 1})
    assert _run(["push", last.run_id, "--otlp", phoenix]) == 0
    # Phoenix takes them in order: when the last one is there, so is everything before it.
    assert settled(lambda: len(_spans(phoenix, last.run_id)), 1) == 1

    for run_id in runs:
        assert len(_spans(phoenix, run_id)) == len(told_by_run(run_id))


def _told_by_phoenix(url: str, run_id: str) -> dict[str, Told]:
    return {span["context"]["span_id"]: _told(span) for span in _spans(url, run_id)}


def _spans(url: str, run_id: str) -> list[dict[str, Any]]:
    trace_id = trace_id_of(run_id).hex()
    answer = ask(f"{url}/v1/projects/default/spans?limit=1000&trace_id={trace_id}")
    assert answer["next_cursor"] is None
    return [span for span in answer["data"] if span["context"]["trace_id"] == trace_id]


def _told(span: dict[str, Any]) -> Told:
    says = span["attributes"]
    kind = _KINDS[span["span_kind"]]
    error = None
    if span["status_code"] == "ERROR":
        error = span["status_message"]
        assert any(event["name"] == "exception" for event in span["events"])
    name = span["name"].partition(" ")[2]
    if kind != "llm":
        return Told(kind, name, span["parent_id"], error)
    return Told(
        kind,
        name,
        span["parent_id"],
        error,
        says["llm.model_name"],
        (says.get("llm.token_count.prompt"), says.get("llm.token_count.completion")),
        says.get("llm.token_count.prompt_details.cache_read"),
        _messages(says, "llm.input_messages"),
        _messages(says, "llm.output_messages"),
    )


def _messages(says: dict[str, Any], side: str) -> tuple[Message, ...]:
    found: list[Message] = []
    while (role := says.get(f"{side}.{len(found)}.message.role")) is not None:
        at = f"{side}.{len(found)}.message."
        parts = [says[key] for key in sorted(says) if key.startswith(f"{at}contents.") and key.endswith(".text")]
        asked = [says[key] for key in sorted(says) if key.startswith(f"{at}tool_calls.") and key.endswith(".name")]
        found.append((role, says.get(f"{at}content") or "".join(parts), tuple(asked)))
    return tuple(found)
