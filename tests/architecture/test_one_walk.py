"""There is one way to the disk, and an event does not touch many files on it."""

from __future__ import annotations

import ast
from pathlib import Path

import agentdbg

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
