"""What is found in a run besides its verdict's own lines is said on the page too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg import record_llm_call, traced_run
from agentdbg.server.run_view import RunView
from agentdbg.storage import load_run_meta

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own: these runs are recorded, not written by hand for all tests of the server."""
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(tmp_path))
    return tmp_path


def test_an_answer_that_was_cut_turns_the_verdict_amber(data_dir: Path) -> None:
    """The run says ok, and its last answer ends in the middle of a sentence."""
    with traced_run("cut") as run:
        record_llm_call("m", prompt="Write it all down", response="The first of three", stop_reason="length")

    view = RunView(data_dir, run.run_id)
    view.extend(None)
    summary = view.summary(load_run_meta(run.run_id, data_dir=data_dir))
    said = " ".join(part["text"] for line in summary["verdict"]["lines"] for part in line["parts"])
    assert summary["verdict"]["tone"] == "warn"
    assert len(summary["verdict"]["lines"]) == 2
    assert "cut" in said or "length" in said or "limit" in said


def test_a_run_without_findings_stays_as_it_was(data_dir: Path) -> None:
    """Nothing found is nothing said."""
    with traced_run("fine") as run:
        record_llm_call("m", prompt="Hello", response="Hello to you.", stop_reason="stop")

    view = RunView(data_dir, run.run_id)
    view.extend(None)
    summary = view.summary(load_run_meta(run.run_id, data_dir=data_dir))
    assert summary["verdict"]["tone"] == "ok"
    assert len(summary["verdict"]["lines"]) == 1
