"""Asking whether all is well after each change is how work is done, not a loop."""

from __future__ import annotations

import pytest

from benchmarks.loop_quality import judge
from benchmarks.loop_traces import Recorder


def _severities(run: Recorder) -> set[str]:
    return {finding.severity for finding in judge(run.events)}


@pytest.mark.parametrize("written", ["File written.", "", None, {"ok": True}])
@pytest.mark.parametrize(
    "checked",
    ["All tests passed.", "12 passed", "ok", "Success: no issues found in 24 source files", "0 failed, 12 passed"],
)
def test_tests_that_pass_after_each_edit_are_no_stall(written: object, checked: str) -> None:
    """Such an agent must not be stopped at the third green run."""
    run = Recorder()
    for name in ("parser", "lexer", "printer", "checker", "linker", "loader"):
        run.model(f"Now the {name}.")
        run.tool("write_file", {"path": f"src/{name}.py", "content": f"class {name.title()}: ..."}, written)
        run.tool("run_tests", {}, checked)

    assert _severities(run) <= {"info"}


def test_one_tool_for_everything_may_check_its_own_work() -> None:
    """Agents with a shell write and test with the same tool."""
    run = Recorder()
    for name in ("parser", "lexer", "printer", "checker", "linker", "loader"):
        run.tool("bash", {"command": f"touch src/{name}.py tests/{name}.py docs/{name}.md"}, "")
        run.tool("bash", {"command": "pytest -q"}, "12 passed")

    assert _severities(run) <= {"info"}


@pytest.mark.parametrize("checked", ["1 test failed", "No tests were found.", "no changes made", "not found: 0 errors"])
def test_a_check_that_keeps_saying_no_is_a_stall(checked: str) -> None:
    """Edit after edit that changes nothing about the result is what a stuck agent does."""
    run = Recorder()
    for name in ("parser", "lexer", "printer", "checker", "linker", "loader"):
        run.tool("write_file", {"path": f"src/{name}.py"}, "File written.")
        run.tool("run_tests", {}, checked)

    assert "warning" in _severities(run)


def test_a_question_asked_again_while_reading_on_is_a_stall() -> None:
    """Nothing was done in between, so the answer could not have changed."""
    run = Recorder()
    for page in ("rivers", "towns", "roads", "bridges", "harbours", "schools"):
        run.tool(
            "read_page", {"title": page}, f"The {page} of the country are many, and each has a long story to tell."
        )
        run.tool("lookup", {"query": "who is the mayor of the town"}, "Ada Berg")

    assert "warning" in _severities(run)


def test_saving_what_was_found_by_now_is_no_stall() -> None:
    """A call that only says "saved" cannot bring anything new, and is made because something else did."""
    run = Recorder()
    for page in ("rivers", "towns", "roads", "bridges", "harbours", "schools"):
        run.tool(
            "read_page", {"title": page}, f"The {page} of the country are many, and each has a long story to tell."
        )
        run.tool("save", {}, "saved")

    assert _severities(run) <= {"info"}


def test_saving_again_and_again_with_nothing_in_between_is_a_loop() -> None:
    """Then there is nothing to save."""
    run = Recorder()
    for number in range(5):
        run.model(f"Let me save it, attempt {number}.")
        run.tool("save", {}, "saved")

    assert "critical" in _severities(run)
