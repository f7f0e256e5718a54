"""There is one way to the disk, and an event does not touch many files on it."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agentdbg

if TYPE_CHECKING:
    from tests.conftest import Recorded

PACKAGE = Path(agentdbg.__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def _places(is_meant: object) -> set[str]:
    """The functions in which a node is found that `is_meant`."""
    found: set[str] = set()

    def look(node: ast.AST, place: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
            if callable(is_meant) and is_meant(child):
                found.add(place)
            look(child, f"{place.partition(':')[0]}:{inside}" if inside else place)

    for path, tree in TREES.items():
        look(tree, str(path.relative_to(PACKAGE)))
    return found


def _calls(name: str) -> set[str]:
    return _places(lambda node: isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name)


def test_one_function_hands_the_lines_of_events_to_the_log() -> None:
    """Live recording, import and receive are drivers of one walk; a second way would forget redaction or a limit."""
    assert _calls("RunWriter") == {"recorder/run_log.py:__init__", "tape/tape_writer.py:__init__"}
    assert _calls("RunLog") == {"recorder/walk.py:__init__"}
    appending = _places(
        lambda node: isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("_log.append", "_writer.append"))
    )
    of_events = {place for place in appending if not place.startswith("tape/")}
    assert of_events == {"recorder/walk.py:_append", "recorder/run_log.py:append", "recorder/run_log.py:flush"}


def test_nobody_else_opens_the_file_of_events_to_write_it() -> None:
    """Copying a run that is whole (an import of our own format, a scrub) puts a new file in the place of another."""
    to_append = _places(lambda node: isinstance(node, ast.Attribute) and node.attr == "O_APPEND")

    assert {place for place in to_append if "tape" not in place} == {"storage/writer.py:_open"}


def test_the_stages_of_the_walk_are_asked_for_by_the_walk_alone() -> None:
    """Sealing an event, judging it and making its line belong together."""
    judging = _places(
        lambda node: (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[0].endswith("budget")
            and ast.unparse(node.func).endswith(".judge")
        )
    )

    assert judging == {"recorder/walk.py:_judge_and_write", "interop/foreign_run.py:count_again"}


MOST_FILES = 14


def test_an_event_touches_few_files_before_it_is_on_disk(recorded: Recorded) -> None:
    """Whoever wants to understand what happens to an event has to read these, and should not have to read more."""
    touched: set[str] = set()

    def note(frame: Any, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            touched.add(str(path.relative_to(PACKAGE)))

    with agentdbg.traced_run("steady"):
        for city in ("London", "Paris"):
            before = sys.getprofile()
            sys.setprofile(note if city == "Paris" else before)  # the second time nothing is new but the words
            agentdbg.record_tool_call("weather", {"city": city}, {"today": [f"sunny in {city}"]})
            sys.setprofile(before)

    assert recorded.only().meta["counts"]["tool_calls"] == 2
    assert {"recorder/verbs.py", "recorder/walk.py", "storage/writer.py"} <= touched
    assert len(touched) <= MOST_FILES, sorted(touched)
