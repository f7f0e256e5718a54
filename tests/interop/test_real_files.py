"""
Traces of real agents, written by their own tools: every file imports, and nothing is lost on the way.

The files are public but not part of this project; without them these tests are skipped.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from agentdbg.storage import list_runs, load_events
from tests.interop.files import DATA, agentdbg, events_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "taubench-airline").exists(), reason="the public trajectories are not here"),
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """All files imported by one command: the data folder, and the runs by file."""
    data_dir = tmp_path_factory.mktemp("real") / "data"
    ran = agentdbg("import", DATA, "--json", AGENTDBG_DATA_DIR=str(data_dir))
    assert ran.code == 0, ran.err
    assert ran.json["problems"] == []
    by_file: dict[str, list[dict[str, Any]]] = {}
    for run in ran.json["imported"]:
        by_file.setdefault(Path(run["file"]).name, []).append(run)
    return data_dir, by_file


def _count(data_dir: Path, runs: list[dict[str, Any]], event_type: str) -> int:
    return sum(event["event_type"] == event_type for run in runs for event in events_of(data_dir, run["run_id"]))


def test_every_file_becomes_runs(stored: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    """Not one is refused, and the list of runs shows them all."""
    data_dir, by_file = stored
    files = [path.name for pattern in ("*.json", "*.traj", "*.jsonl") for path in DATA.rglob(pattern)]

    assert sorted(by_file) == sorted(files)
    assert len(list_runs(None, data_dir)) == sum(len(runs) for runs in by_file.values())


def test_the_airline_runs_are_complete(stored: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    """Counted without our reader: every answer a model call, every tool message a tool call."""
    data_dir, by_file = stored
    runs = by_file["gpt-4o-airline.json"]
    entries = json.loads((DATA / "taubench-airline" / "gpt-4o-airline.json").read_text())
    roles = [message["role"] for entry in entries for message in entry["traj"]]

    assert len(runs) == len(entries) == 200
    assert _count(data_dir, runs, "LLM_CALL") == roles.count("assistant")
    assert _count(data_dir, runs, "TOOL_CALL") == roles.count("tool")


def test_the_swe_agent_runs_are_complete(stored: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    """One answer and one command for every step."""
    data_dir, by_file = stored
    for path in sorted((DATA / "swe-agent").glob("*.traj")):
        document = json.loads(path.read_text())
        steps = document.get("trajectory") or [item for item in document["history"] if item["role"] == "assistant"]

        assert _count(data_dir, by_file[path.name], "LLM_CALL") == len(steps), path.name
        assert _count(data_dir, by_file[path.name], "TOOL_CALL") == len(steps), path.name


def test_the_span_traces_are_complete(stored: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    """Every span is one event, in the tree it came from."""
    data_dir, by_file = stored
    for path in sorted((DATA / "trail").glob("*.json")):
        spans: list[dict[str, Any]] = []
        waiting = list(json.loads(path.read_text())["spans"])
        while waiting:
            spans.append(waiting.pop())
            waiting += spans[-1]["child_spans"]
        kinds = [span["span_attributes"].get("openinference.span.kind") for span in spans]
        (run,) = by_file[path.name]

        assert _count(data_dir, [run], "LLM_CALL") == kinds.count("LLM"), path.name
        assert _count(data_dir, [run], "TOOL_CALL") == kinds.count("TOOL"), path.name
        assert _count(data_dir, [run], "STATE_UPDATE") == len(spans) - kinds.count("LLM") - kinds.count("TOOL")
        events = events_of(data_dir, run["run_id"])
        known = {event["event_id"] for event in events}
        assert all(event["parent_id"] in known for event in events[1:])
        inner = {span["span_id"] for span in spans if span["parent_span_id"]}
        under_start = [event for event in events[1:] if event["parent_id"] == events[0]["event_id"]]
        assert len([event for event in under_start if event["event_type"] == "STATE_UPDATE"]) == len(spans) - len(inner)


def test_the_openhands_events_are_complete(stored: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    """A tool call for each observation, a model call for each answer."""
    data_dir, by_file = stored
    lines = [json.loads(line) for line in (DATA / "openhands" / "events.jsonl").read_text().splitlines()]

    runs = by_file["events.jsonl"]
    assert _count(data_dir, runs, "TOOL_CALL") == sum(line["kind"] == "ObservationEvent" for line in lines)
    answers = {line["llm_response_id"] for line in lines if line["kind"] == "ActionEvent"}
    assert _count(data_dir, runs, "LLM_CALL") == len(answers)


def test_the_largest_file_is_imported_and_read_within_a_second(
    stored: tuple[Path, dict[str, list[dict[str, Any]]]], tmp_path: Path
) -> None:
    """Processor time, so that a busy machine does not decide the test."""
    from agentdbg.config import Config
    from agentdbg.interop.imports import Importing
    from agentdbg.interop.sources import Source

    data_dir, by_file = stored
    largest = max((DATA / "trail").glob("*.json"), key=lambda path: path.stat().st_size)
    began = time.process_time()
    outcomes = list(Importing(Config(data_dir=tmp_path / "again")).take(Source(largest))[1])
    read = sum(1 for _ in load_events(by_file[largest.name][0]["run_id"], data_dir))

    assert outcomes[0].run is not None
    assert read == outcomes[0].run.events
    assert time.process_time() - began < 1.0
