"""The page shows the reader's own code, and no other file of theirs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.server.code_view import source_lines

if TYPE_CHECKING:
    from pathlib import Path


def lines(folder: Any, source: Any, **run: Any) -> Any:
    """What is answered for an event with this source in a run started in this folder."""
    meta: Any = {"run_id": "r", "started_at": "2026-01-01T00:00:00.000Z", "metadata": {}, **run}
    start: Any = {"payload": {"cwd": str(folder)}}
    event: Any = {"payload": {"source": source}}
    return source_lines(start, event, meta)


def test_the_lines_around_a_step_are_shown(tmp_path: Path) -> None:
    """The line that recorded a step is what a developer goes to next."""
    (tmp_path / "agent.py").write_text("".join(f"line {n}\n" for n in range(1, 201)))
    os.utime(tmp_path / "agent.py", (0, 0))

    found = lines(tmp_path, "agent.py:100")

    assert (found["line"], found["first"], found["lines"][40], found["has_changed"]) == (100, 60, "line 100", False)
    os.utime(tmp_path / "agent.py")
    assert lines(tmp_path, "agent.py:100")["has_changed"]


@pytest.mark.parametrize(
    "source", ["../secret.py:1", "/etc/passwd:1", "notes.txt:1", "missing.py:1", "link.py:1", ".:1", "a\0.py"]
)
def test_nothing_outside_the_folder_and_nothing_but_source_is_read(tmp_path: Path, source: str) -> None:
    """A run is data: what it names must not make the viewer read whatever the user can read."""
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret.py").write_text("key")
    (folder / "notes.txt").write_text("notes")
    (folder / "link.py").symlink_to(tmp_path / "secret.py")

    found = lines(folder, source)

    assert found["lines"] == []
    assert found["reason"]


def test_a_run_from_elsewhere_names_no_file_of_this_machine(tmp_path: Path) -> None:
    """An imported file may claim any folder."""
    (tmp_path / "agent.py").write_text("x")

    assert lines(tmp_path, "agent.py:1", metadata={"imported_from": {"format": "otel"}})["lines"] == []
    assert lines("/", str(tmp_path / "agent.py") + ":1")["lines"] == []
