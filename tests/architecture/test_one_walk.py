"""There is one way to the disk, and an event does not touch many files on it."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agentdbg
from tests.architecture.trees import PACKAGE, PATHS, tree_of

if TYPE_CHECKING:
    from tests.conftest import Recorded


@cache
def _calls_and_attributes() -> list[tuple[str, str, bool]]:
    """Each function that calls or reads something, the name of that with its dots, and whether it is a call."""
    found: list[tuple[str, str, bool]] = []

    def look(node: ast.AST, place: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
            if isinstance(child, ast.Call):
                found.append((place, _dotted(child.func), True))
            elif isinstance(child, ast.Attribute):
                found.append((place, _dotted(child), False))
            look(child, f"{place.partition(':')[0]}:{inside}" if inside else place)

    for path in PATHS:
        look(tree_of(path), str(path.relative_to(PACKAGE)))
    return found


def _dotted(node: ast.expr) -> str:
    """`self._log.append` for that expression; what stands before the names is left out."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(names)])


def _calls(*ends: str) -> set[str]:
    """The functions that call something whose name, with its dots, ends in one of these."""
    ends_of_names = tuple(f".{end}" for end in ends)
    return {place for place, name, is_call in _calls_and_attributes() if is_call and f".{name}".endswith(ends_of_names)}


def test_one_function_hands_the_lines_of_events_to_the_log() -> None:
    """Live recording, import and receive are drivers of one walk; a second way would forget redaction or a limit."""
    assert _calls("RunWriter") == {"recorder/run_log.py:__init__", "tape/tape_writer.py:__init__"}
    assert _calls("RunLog") == {"recorder/walk.py:__init__"}
    appending = _calls("_log.append", "_writer.append")
    of_events = {place for place in appending if not place.startswith("tape/")}
    assert of_events == {"recorder/walk.py:_append", "recorder/run_log.py:append", "recorder/run_log.py:flush"}


def test_nobody_else_opens_the_file_of_events_to_write_it() -> None:
    """Copying a run that is whole (an import of our own format, a scrub) puts a new file in the place of another."""
    to_append = {place for place, name, _ in _calls_and_attributes() if name.endswith(".O_APPEND")}

    assert {place for place in to_append if "tape" not in place} == {"storage/writer.py:_open"}


def test_the_stages_of_the_walk_are_asked_for_by_the_walk_alone() -> None:
    """Sealing an event, judging it and making its line belong together."""
    judging = {
        place
        for place, name, is_call in _calls_and_attributes()
        if is_call and name.endswith(".judge") and name.removesuffix(".judge").endswith("budget")
    }

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
