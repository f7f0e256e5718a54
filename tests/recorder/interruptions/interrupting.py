"""
Interrupt the recorder at a chosen place, from a real signal handler, and look at what is left.

The interpreter looks for signals where a function of Python's begins, where one of C's has returned, and where a loop
goes back to its beginning. The first two are where it calls a profiler, the third is an instruction that a tracer sees.
So they list the places of ours that a program passes, each with the functions of ours around it. At the chosen one a
signal is raised, whose handler raises the exception, and the interpreter carries it up through the recorder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from opcode import opmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import agentdbg
from agentdbg.recorder import calls, context, run_lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["Interrupted", "Place", "interrupt", "places_in", "what_is_left"]

_OURS = str(Path(agentdbg.__file__).parent) + os.sep
_MOST_CALLERS = 4
_BEGINNING = {opmap["RESUME"]} if "RESUME" in opmap else set(opmap.values())
_GOING_BACK = {opmap[name] for name in ("JUMP_BACKWARD", "JUMP_ABSOLUTE") if name in opmap}


class Place(NamedTuple):
    """An instruction of ours, and the functions of ours that led to it."""

    file: str
    function: str
    line: int
    instruction: int
    event: str
    callers: tuple[str, ...]


class Interrupted(OSError):
    """What a program's own handler raises; an OSError as TimeoutError is, which a recorder expects of a disk."""


def places_in(program: Callable[[], object]) -> list[Place]:
    """Every place of ours that the program passes, in the order of their first time."""
    program()  # once before: what is remembered from then on is not done again
    seen: dict[Place, None] = {}
    for watch in (_watching_calls, _watching_loops):
        watch(program, lambda place: bool(seen.setdefault(place)))
    return list(seen)


def interrupt(program: Callable[[], object], at: Place, raise_it: Callable[[], None]) -> bool:
    """Run the program and call `raise_it` when it comes to a place for the first time; whether it did."""
    came = False

    def reached(place: Place) -> None:
        nonlocal came
        if place == at and not came:
            came = True
            raise_it()

    watch = _watching_loops if at.event == "loop" else _watching_calls
    watch(program, reached)
    return came


def _watching_calls(program: Callable[[], object], reached: Callable[[Place], object]) -> None:
    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        # A generator that is closed is called too, but goes on without looking for signals.
        is_looking = event == "c_return" or (event == "call" and _instruction(frame) in _BEGINNING)
        if is_looking and frame.f_code.co_filename.startswith(_OURS):
            place = _place(frame, event)
            del frame, event  # the handler's frame alone has to tell that we did not call it
            reached(place)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        program()
    finally:
        sys.setprofile(before)


def _watching_loops(program: Callable[[], object], reached: Callable[[Place], object]) -> None:
    def trace_calls(frame: FrameType, event: str, _argument: Any) -> Any:
        del event
        if not frame.f_code.co_filename.startswith(_OURS):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return trace_instructions

    def trace_instructions(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode" and _instruction(frame) in _GOING_BACK:
            place = _place(frame, "loop")
            del frame, event
            reached(place)
        return trace_instructions

    before = sys.gettrace()
    sys.settrace(trace_calls)
    try:
        program()
    finally:
        sys.settrace(before)


def _instruction(frame: FrameType) -> int:
    return frame.f_code.co_code[frame.f_lasti]


def _place(frame: FrameType, event: str) -> Place:
    callers: list[str] = []
    caller = frame.f_back
    while caller is not None and len(callers) < _MOST_CALLERS:
        if caller.f_code.co_filename.startswith(_OURS):
            callers.append(caller.f_code.co_name)
        caller = caller.f_back
    file = frame.f_code.co_filename.removeprefix(_OURS)
    return Place(file, frame.f_code.co_name, frame.f_lineno, frame.f_lasti, event, tuple(callers))


def raise_from_handler(error: BaseException) -> Callable[[], None]:
    """Raise a signal whose handler raises this very exception."""

    def handler(signum: int, frame: Any) -> None:
        raise error

    def raise_it() -> None:
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            signal.raise_signal(signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, before)

    return raise_it


def press_ctrl_c() -> None:
    """Raise SIGINT, which the interpreter answers by itself."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def is_out_of_reach(place: Place) -> bool:
    """
    Whether no Python code can notice an interruption there.

    A `with` block was left, and the interruption meets the call of `__exit__` before its first instruction. The
    interpreter does not call it again. Such a run is closed when the program exits.
    """
    return place.event == "call" and place.function in ("__exit__", "__aexit__")


def descriptors() -> set[str]:
    return set(os.listdir("/dev/fd"))


def what_is_left(data_dir: Path) -> list[str]:
    """What a run that is over should not have left: one sentence for each thing."""
    left = []
    if context.live_runs:
        left.append("a run is still open in this process")
    if context.own_scope() is not None:
        left.append("code after the run still records into it")
    if calls.open_calls:
        left.append("a model call is still open")
    left += ["a run's lock is held" for run in run_lifecycle.recently_ended() if not _is_free(run.lock)]
    for folder in (data_dir / "runs").iterdir() if (data_dir / "runs").is_dir() else ():
        left += _problems_of(folder)
    return left


def _is_free(lock: Any) -> bool:
    got: list[bool] = []

    def ask() -> None:
        got.append(lock.acquire(timeout=1))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return got[0]


def _problems_of(folder: Path) -> list[str]:
    names = {path.name for path in folder.iterdir()}
    if not names:
        return []  # interrupted before the run began
    if names - {"tape.jsonl"} != {"run.json", "events.jsonl"}:
        return [f"the folder holds {sorted(names)}"]
    content = (folder / "events.jsonl").read_bytes()
    events = [json.loads(line) for line in content.splitlines()]
    meta = json.loads((folder / "run.json").read_bytes())
    types = [event["event_type"] for event in events]
    problems = []
    if not content.endswith(b"\n"):
        problems.append("the last line is torn")
    if types[:1] != ["RUN_START"] or types[-1:] != ["RUN_END"] or len(types) != len(set(map(_id, events))):
        problems.append(f"the events are {types}")
    if meta["status"] == "running" or meta["status"] != events[-1]["payload"].get("status"):
        problems.append(f"run.json says {meta['status']}")
    counted = {"llm_calls": "LLM_CALL", "tool_calls": "TOOL_CALL", "loop_warnings": "LOOP_WARNING"}
    for counter, event_type in counted.items():
        if meta["counts"][counter] != types.count(event_type):
            problems.append(f"{meta['counts'][counter]} {counter} are counted, {types.count(event_type)} are there")
    begun = {event["payload"]["call_id"] for event in events if event["event_type"] == "CALL_START"}
    if begun - set(map(_id, events)):
        problems.append("a call began and never ended")
    return problems


def _id(event: dict[str, Any]) -> Any:
    return event["event_id"]
