"""
Raise at every place of the recorder where the interpreter admits a signal: nothing is swallowed, nothing left undone.

The fast tests take a few places of each program, the slow one takes them all; what only a first run does is in
`test_first_run`.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
import time
from typing import TYPE_CHECKING

import pytest

import agentdbg
from agentdbg import faults
from tests.recorder.interruptions.interrupting import (
    Interrupted,
    Place,
    close_what_is_open,
    descriptors,
    handler_raising,
    interrupt,
    is_out_of_reach,
    places_in,
    what_is_left,
)
from tests.recorder.interruptions.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# What is interrupted between its making and its first use is warned of: a file that closes itself, a coroutine.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]


class SoftTimeLimit(Exception):
    """As a task queue raises it; no exception of Python's own."""


_SEEN_BY_THE_PROGRAM = (
    LookupError,
    agentdbg.AgentDbgGuardrailExceeded,
    GeneratorExit,
    StopIteration,
    StopAsyncIteration,
)
IS_WHOLE = os.environ.get("AGENTDBG_TEST_WHOLE") == "1"
"""`make soak` takes every place of each program, however often others came there."""
_KINDS = (Interrupted, SoftTimeLimit, KeyboardInterrupt, SystemExit, ValueError)


@pytest.fixture(autouse=True)
def _faults_are_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a user's program: what is taken for a fault of ours disappears."""
    monkeypatch.setattr(faults.settings, "raise_faults", False)


@pytest.fixture(autouse=True)
def _nothing_is_pending() -> None:
    """
    An exception set for a thread that has ended stays pending in the interpreter until a thread takes one. Python 3.11
    then never gets past the start of a function while a profiler watches.
    """
    pending = ctypes.pythonapi.PyThreadState_SetAsyncExc
    try:
        pending(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(_Taken))
        for _ in range(1_000):
            time.sleep(0)
    except _Taken:
        pass


class _Taken(Exception):
    """Set only to be taken."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interruption_reaches_the_program_and_the_run_is_closed(name: str, data_dir: Path) -> None:
    """A few places of each program, other ones each time the code changes."""
    places = places_in(PROGRAMS[name])
    sample = places[len(name) :: max(1, len(places) // 4)]

    assert _troubles(PROGRAMS[name], sample, data_dir) == {}


@pytest.mark.slow
def test_an_interruption_anywhere_reaches_the_program_and_the_run_is_closed(data_dir: Path) -> None:
    """Every place of every program; one that a program before had too, with the same callers, is taken once."""
    taken: set[Place] = set()
    for program in PROGRAMS.values():
        places = [place for place in places_in(program) if place not in taken]
        taken.update(() if IS_WHOLE else places)
        assert _troubles(program, places, data_dir) == {}
    assert len(taken) > 5_000 or IS_WHOLE


def _troubles(program: Callable[[], object], places: list[Place], data_dir: Path) -> dict[Place, list[str]]:
    found = {place: _trouble_at(program, place, number, data_dir) for number, place in enumerate(places)}
    return {place: troubles for place, troubles in found.items() if troubles}


def _chained(error: BaseException) -> list[BaseException]:
    """What an exception is said to have come in the handling of, and the program never saw."""
    found, other = [], error.__context__
    while other is not None:
        if type(other) not in _SEEN_BY_THE_PROGRAM:
            found.append(other)
        other = other.__context__
    return found


def _trouble_at(program: Callable[[], object], place: Place, number: int, data_dir: Path) -> list[str]:
    """What was wrong after the program was interrupted at one place."""
    shutil.rmtree(data_dir, ignore_errors=True)
    kind = _KINDS[number % len(_KINDS)]
    error = kind("time is up")
    by_hand = kind is KeyboardInterrupt and number % 2 == 0
    before = descriptors()
    troubles = []
    try:
        with handler_raising(None if by_hand else error) as raise_it:
            if interrupt(program, place, raise_it):
                troubles.append("it was swallowed")
    except BaseException as raised:
        if raised is not error and not (by_hand and type(raised) is KeyboardInterrupt):
            troubles.append(f"{raised!r} came in its place")
        troubles += [f"{type(other).__name__} is chained to it" for other in _chained(raised)]
        raised.__traceback__ = None  # its frames hold what the program held
    if not is_out_of_reach(place):
        troubles += what_is_left(data_dir)
        troubles += ["a descriptor is left open"] if descriptors() - before else []
    close_what_is_open()
    return troubles
