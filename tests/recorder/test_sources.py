"""Where in the user's code an event was recorded: a click on it must open the right line."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import agentdbg

if TYPE_CHECKING:
    import pytest

    from tests.conftest import Recorded


def test_an_event_names_the_line_that_recorded_it(recorded: Recorded) -> None:
    """The first question about a strange call is who made it."""
    with agentdbg.traced_run("r"):
        agentdbg.record_tool_call("first")
        agentdbg.record_tool_call("second")
    lines, begin = inspect.getsourcelines(test_an_event_names_the_line_that_recorded_it)
    expected = [f"{_shown()}:{begin + at}" for at, line in enumerate(lines) if "record_tool_call(" in line][:2]
    assert [event["payload"]["source"] for event in recorded.only().of_type("TOOL_CALL")] == expected


def test_the_same_line_is_named_again_and_again(recorded: Recorded) -> None:
    """What is remembered of a place must be what was found out about it."""
    with agentdbg.traced_run("r"):
        for _ in range(5):
            agentdbg.record_llm_call("m")
    assert len({event["payload"]["source"] for event in recorded.only().of_type("LLM_CALL")}) == 1


def test_code_that_takes_the_place_of_dead_code_names_its_own_line(recorded: Recorded) -> None:
    """A notebook compiles each cell anew, and the interpreter puts it where the cell before it was."""
    with agentdbg.traced_run("r"):
        for empty_lines in range(12):
            names: dict[str, object] = {"agentdbg": agentdbg}
            exec(compile("\n" * empty_lines + "agentdbg.record_state({})", "cell.py", "exec"), names)
    sources = [event["payload"]["source"] for event in recorded.only().of_type("STATE_UPDATE")]
    assert sources == [f"cell.py:{line}" for line in range(1, 13)]


def test_what_a_library_records_is_named_by_the_line_that_called_the_library(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user cannot change the library, and can change the line."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "a_library_of_others.py").write_text("def work(record):\n    record('inside')\n")
    monkeypatch.syspath_prepend(str(folder))
    from a_library_of_others import work  # type: ignore[import-not-found]

    with agentdbg.traced_run("r"):
        work(agentdbg.record_tool_call)
    assert recorded.only().of_type("TOOL_CALL")[0]["payload"]["source"].startswith(f"{_shown()}:")


def _shown() -> str:
    return str(Path(__file__).relative_to(Path.cwd()))
