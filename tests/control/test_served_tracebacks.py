"""A traceback that a program shows, to its model or to its user, is in a replay what it was."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest

import agentdbg
from agentdbg import tool, traced_run
from agentdbg.control.served_tracebacks import give_frames
from agentdbg.storage import list_runs
from agentdbg.tape.raised_from import frames_of

ran: list[str] = []
NOTHING: dict[str, str] = {}


class Odd(Exception):
    def __init__(self, code: int, *, why: str) -> None:
        super().__init__(f"{code}: {why}")


def _deeper(what: str) -> str:
    try:
        return NOTHING[what]
    except KeyError as error:
        raise Odd(7, why=what) from error


@tool
def failing(what: str) -> str:
    ran.append(what)
    return (
        _deeper(what)
        + "never"
    )  # fmt: skip


@tool
async def failing_later(what: str) -> str:
    ran.append(what)
    await asyncio.sleep(0)
    raise ValueError(what)


def _program() -> list[str]:
    shown = []
    try:
        failing("a")
    except Odd:
        shown.append(traceback.format_exc())
    try:
        asyncio.run(failing_later("b"))
    except ValueError:
        shown.append(traceback.format_exc())
    try:
        raise LookupError("handled meanwhile")
    except LookupError:
        try:
            asyncio.run(failing_later("c"))
        except ValueError as error:
            shown.append("".join(traceback.format_exception(error)))
    return shown


@pytest.mark.usefixtures("recorded")
def test_a_served_traceback_is_the_recorded_one() -> None:
    """With the lines and marks of the tool's own code, although nothing of it runs."""
    ran.clear()
    with traced_run("first"):
        live = _program()
    (run_id,) = (run["run_id"] for run in list_runs())
    assert [name in text for name, text in zip(["_deeper", "failing_later", "failing_later"], live, strict=True)] == [
        True
    ] * 3

    with agentdbg.replay(run_id), traced_run("again"):
        replayed = _program()

    assert ran == ["a", "b", "c"]
    assert replayed == live


def test_a_recording_shows_no_files_of_others() -> None:
    """A stranger's tape may name any file; only what the program has loaded is looked up."""
    error = ValueError("x")
    give_frames(error, [[["/etc/hostname", 1, "read", 1, 0, 4], [__file__, 3, "here", 3, 0, 4]]])

    assert [(frame.filename, frame.lineno, frame.name) for frame in traceback.extract_tb(error.__traceback__)] == [
        (__file__, 3, "here")
    ]


@pytest.mark.parametrize("frames", [None, "x", [7], [[7]], [[[__file__]]], [[[__file__, -1, "\0", 5, 9, 2]]], [[{}]]])
def test_damaged_places_are_passed_over(frames: Any) -> None:
    """The exception itself is served all the same."""
    error = ValueError("x")
    give_frames(error, frames)

    assert error.args == ("x",)


def test_what_a_framework_reports_has_no_known_places() -> None:
    """Where nobody of us stood around the call, the frames of its callers cannot be told from its own."""
    with pytest.raises(Odd) as raised:
        _deeper("a")

    assert frames_of(raised.value, raised.value.__traceback__) is None
