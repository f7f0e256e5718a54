"""`agentdbg config` and `agentdbg doctor`: why is it as it is, and why is my run empty?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.config import SETTINGS
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


pytestmark = pytest.mark.slow


def test_every_setting_is_shown_with_its_source(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit nobody remembers setting has to be findable."""
    monkeypatch.setenv("AGENTDBG_MAX_TOKENS", "50000")
    settings = cli("config", "--json").json["settings"]

    assert set(settings) == {setting.yaml_key for setting in SETTINGS}
    assert settings["guardrails.max_tokens"] == {
        "value": 50000,
        "source": "AGENTDBG_MAX_TOKENS",
        "environment": "AGENTDBG_MAX_TOKENS",
    }
    assert settings["loop_window"]["source"] == "default"
    lines = [line.split() for line in cli("config").out.splitlines()]
    assert ["guardrails.max_tokens", "50000", "AGENTDBG_MAX_TOKENS", "AGENTDBG_MAX_TOKENS"] in lines


def test_a_setting_that_was_ignored_is_said(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the value that is used instead."""
    monkeypatch.setenv("AGENTDBG_LOOP_WINDOW", "many")
    ran = cli("config")

    assert "AGENTDBG_LOOP_WINDOW" in ran.err
    assert ran.code == 0


def problems(ran: Ran) -> list[str]:
    return [finding["text"] for finding in ran.json["findings"] if finding["tone"] == "problem"]


def test_a_healthy_setup_has_no_problems(cli: Callable[..., Ran], failed_run: str) -> None:
    """A doctor who always finds something is not asked again."""
    assert problems(cli("doctor", "--json")) == []
    assert "✓ Recording is on." in cli("doctor").out


def test_switched_off_recording_is_found_first(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """The most common reason for an empty list."""
    monkeypatch.setenv("AGENTDBG_ENABLED", "0")

    assert problems(cli("doctor", "--json"))[0] == "Recording is off: AGENTDBG_ENABLED says so."


def test_no_runs_no_calls_and_lost_events_are_problems(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Each with what to do about it."""
    assert "No run is stored there." in problems(cli("doctor", "--json"))

    empty = Story()
    empty.end()
    run_id = store(data_dir, empty, name="empty", dropped_events=3)
    found = problems(cli("doctor", "--json"))
    assert f"1 of the last runs holds no call at all: {run_id[:8]}." in found
    assert "3 events could not be written, in 1 run." in found


def test_a_data_folder_that_cannot_be_one_is_a_problem(
    cli: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in its place, most often after a typing mistake."""
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(tmp_path / "file"))

    assert any("is not a folder" in problem for problem in problems(cli("doctor", "--json")))


def test_a_script_that_is_not_there_is_said(cli: Callable[..., Ran]) -> None:
    """That it imports no framework would be true of any file that nobody wrote."""
    ran = cli("doctor", "nope.py")

    assert ran.code == 2
    assert "there is no file 'nope.py'" in ran.err
