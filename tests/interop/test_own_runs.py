"""Exports and earlier data folders of ours: the run comes back as it was."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentdbg import record_llm_call, record_tool_call, traced_run
from agentdbg.storage import load_run_meta
from agentdbg.storage.housekeeping import compress_run, rename_run
from tests.interop.files import agentdbg, take, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def run_id(data_dir: Path) -> str:
    with traced_run("round trip", meta={"version": "3"}) as run:
        record_llm_call("gpt-4o", prompt="ünïcode ✓ 1e400", response="ok", usage={"prompt_tokens": 3})
        record_tool_call("read", {"number": 12345678901234567890, "float": 1.50}, result=None)
    assert run is not None
    return run.run_id


def _lines(data_dir: Path, run_id: str) -> bytes:
    return (data_dir / "runs" / run_id / "events.jsonl").read_bytes()


def test_an_export_comes_back_byte_for_byte(tmp_path: Path, data_dir: Path, run_id: str) -> None:
    """What was recorded is evidence; it must survive the journey through a file."""
    assert agentdbg("export", run_id, "--out", tmp_path / "run.json").code == 0
    elsewhere = tmp_path / "elsewhere"

    ran = agentdbg("import", tmp_path / "run.json", AGENTDBG_DATA_DIR=str(elsewhere))

    assert ran.code == 0, ran.err
    assert _lines(elsewhere, run_id) == _lines(data_dir, run_id)
    before = {key: value for key, value in load_run_meta(run_id, data_dir).items() if key != "owner"}
    assert load_run_meta(run_id, elsewhere) == before
    folder = elsewhere / "runs" / run_id
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert {stat.S_IMODE(os.stat(file).st_mode) for file in folder.iterdir()} == {0o600}


def test_a_reformatted_export_says_the_same(tmp_path: Path, data_dir: Path, run_id: str) -> None:
    """People look at exports with tools that print them anew."""
    agentdbg("export", run_id, "--out", tmp_path / "run.json")
    pretty = json.dumps(json.loads((tmp_path / "run.json").read_text()), indent=2)
    (data_dir / "runs").rename(data_dir / "before")

    (outcome,) = take(write(tmp_path / "pretty.json", pretty))

    assert outcome.run is not None
    before = (data_dir / "before" / run_id / "events.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in _lines(data_dir, run_id).splitlines()] == [json.loads(line) for line in before]


def test_a_damaged_line_of_an_export_is_named_and_left_out(tmp_path: Path, data_dir: Path, run_id: str) -> None:
    """The rest of the run is still worth having."""
    agentdbg("export", run_id, "--out", tmp_path / "run.json")
    lines = (tmp_path / "run.json").read_text().splitlines()
    lines[2] = lines[2][:50] + ","
    (data_dir / "runs" / run_id).rename(tmp_path / run_id)

    outcomes = take(write(tmp_path / "damaged.json", "\n".join(lines)))

    assert outcomes[0].run is not None
    assert outcomes[0].run.events == 3
    assert "line 2 is not an event" in outcomes[1].problem


def test_an_event_of_another_run_is_not_smuggled_in(tmp_path: Path, data_dir: Path, run_id: str) -> None:
    """A run holds its own events only."""
    agentdbg("export", run_id, "--out", tmp_path / "run.json")
    text = (tmp_path / "run.json").read_text()
    (data_dir / "runs" / run_id).rename(tmp_path / run_id)
    lines = text.splitlines()
    lines[2] = lines[2].replace(run_id, "00000000-0000-4000-8000-000000000000")

    outcomes = take(write(tmp_path / "mixed.json", "\n".join(lines)))

    assert outcomes[0].run is not None
    assert outcomes[0].run.events == 3
    assert "another run" in outcomes[1].problem


@pytest.mark.parametrize("bad_id", ["../../etc", "", "0af7", "0AF76519-16CD-43DD-8448-EB211C80319C"])
def test_a_run_id_that_is_none_makes_no_folder(tmp_path: Path, data_dir: Path, bad_id: str) -> None:
    """The id becomes the name of a folder, so nothing but an id will do."""
    document = {"spec_version": "0.1", "run": {"run_id": bad_id}, "events": []}

    (outcome,) = take(write(tmp_path / "evil.json", document))

    assert outcome.run is None
    assert "is not a run id" in outcome.problem
    assert not (data_dir / "runs").exists()


def test_an_earlier_data_folder_is_taken_over(tmp_path: Path, data_dir: Path, run_id: str) -> None:
    """A new machine, or a folder that moved: names and compressed runs come along."""
    rename_run(run_id, "the good one", data_dir)
    with traced_run("second") as second:
        record_tool_call("x", {}, 1)
    assert second is not None
    content = _lines(data_dir, second.run_id)
    os.utime(data_dir / "runs" / second.run_id / "events.jsonl", (1_700_000_000, 1_700_000_000))
    assert compress_run(second.run_id, data_dir)
    elsewhere = tmp_path / "elsewhere"

    ran = agentdbg("import", data_dir, "--json", AGENTDBG_DATA_DIR=str(elsewhere))

    assert ran.code == 0, ran.err
    assert {run["run_id"] for run in ran.json["imported"]} == {run_id, second.run_id}
    assert load_run_meta(run_id, elsewhere)["run_name"] == "the good one"
    assert _lines(elsewhere, second.run_id) == content


def test_one_run_folder_is_enough(tmp_path: Path, data_dir: Path, run_id: str) -> None:
    """People hand each other the folder of one run."""
    elsewhere = tmp_path / "elsewhere"

    ran = agentdbg("import", data_dir / "runs" / run_id, AGENTDBG_DATA_DIR=str(elsewhere))

    assert ran.code == 0, ran.err
    assert _lines(elsewhere, run_id) == _lines(data_dir, run_id)


def test_a_run_that_is_being_recorded_is_left_alone(tmp_path: Path, data_dir: Path) -> None:
    """Half a run would never be completed."""
    with traced_run("live") as live:
        record_tool_call("x", {}, 1)
        ran = agentdbg("import", data_dir, AGENTDBG_DATA_DIR=str(tmp_path / "elsewhere"))

    assert live is not None
    assert ran.code == 2
    assert f"run {live.run_id}: still being recorded" in ran.err
