"""
Interrupt the recorder at a chosen place, from a real signal handler, and look at what is left.

The interpreter looks for signals where a function of Python's begins, where a call that is none of those has returned,
and where a loop goes back to its beginning. A profiler sees the first, and the returns of C's functions; the returns of
other callables (a class, a partial) and the third are instructions that a tracer sees. So they list the places that a
program passes while a function of ours is being called, in whatever file, each with its callers. At the chosen one a
signal is raised, whose handler raises the exception, and the interpreter carries it up through the recorder.
"""

from __future__ import annotations

import contextlib
import dis
import json
import os
import signal
import sys
import threading
from opcode import opmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import agentdbg
from agentdbg.control import arming
from agentdbg.control.breakpoints import Breakpoints
from agentdbg.recorder import calls, context, deciders, run_lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

__all__ = ["Interrupted", "Place", "close_what_is_open", "interrupt", "places_in", "what_is_left"]

_OURS = str(Path(agentdbg.__file__).parent) + os.sep
_HERE = str(Path(__file__).parent) + os.sep
_MOST_CALLERS = 4
_BEGINNING = {opmap["RESUME"]} if "RESUME" in opmap else set(opmap.values())
_AFTER_AWAIT = 2
_GOING_BACK = {opmap[name] for name in ("JUMP_BACKWARD", "JUMP_ABSOLUTE") if name in opmap}
_CALLING = {opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "CALL_FUNCTION", "CALL_METHOD") if name in opmap}
# Functions of Python's that the interpreter calls for a class, an object or an attribute, and not for a call of theirs.
_BEHIND_A_CALL = ("__init__", "__new__", "__call__")


class Place(NamedTuple):
    """An instruction, and the functions that led to it."""

    file: str
    function: str
    line: int
    instruction: int
    event: str
    callers: tuple[str, ...]


class Interrupted(OSError):
    """What a program's own handler raises; an OSError as TimeoutError is, which a recorder expects of a disk."""


def places_in(program: Callable[[], object]) -> list[Place]:
    """Every place that the program passes inside our functions, in the order of their first time."""
    program()  # once before: what is remembered from then on is not done again
    seen: dict[Place, None] = {}
    for watch in (_watching_calls, _watching_instructions):
        watch(program, None, lambda place: bool(seen.setdefault(place)))
    return list(seen)


def interrupt(program: Callable[[], object], at: Place, raise_it: Callable[[], None]) -> bool:
    """Run the program and call `raise_it` when it comes to a place for the first time; whether it did."""
    came = False

    def reached(place: Place) -> None:
        nonlocal came
        if place == at and not came:
            came = True
            raise_it()

    watch = _watching_calls if at.event in ("call", "c_return") else _watching_instructions
    watch(program, at, reached)
    return came


def _watching_calls(program: Callable[[], object], at: Place | None, reached: Callable[[Place], object]) -> None:
    instruction, function = (None, None) if at is None else (at.instruction, at.function)

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if function is not None and (frame.f_lasti != instruction or frame.f_code.co_name != function):
            return
        is_looking = event == "c_return" or (event == "call" and _looks_at_its_beginning(frame))
        if is_looking and _is_inside(frame):
            place = _place(frame, event)
            del frame, event  # the handler's frame alone has to tell that we did not call it
            reached(place)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        program()
    finally:
        sys.setprofile(before)


def _watching_instructions(program: Callable[[], object], at: Place | None, reached: Callable[[Place], object]) -> None:
    called: dict[
        FrameType, str
    ] = {}  # what the frame's last instruction called, where that was code of Python's or C's
    last: dict[FrameType, tuple[int, int]] = {}

    def trace_calls(frame: FrameType, event: str, _argument: Any) -> Any:
        del event
        if frame.f_back is not None:
            called.setdefault(frame.f_back, frame.f_code.co_name)
        if (at is not None and frame.f_code.co_name != at.function) or not _is_inside(frame):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return trace_instructions

    def trace_instructions(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "return":
            last.pop(frame, None)
            called.pop(frame, None)
        if event != "opcode":
            return trace_instructions
        before, now, callee = last.get(frame, (-1, -1)), _instruction(frame), called.pop(frame, None)
        last[frame] = (frame.f_lasti, now)
        is_after_call = before[1] in _CALLING and (callee is None or callee in _BEHIND_A_CALL)
        # The tracer comes one instruction later, which must not be in or out of another `try`.
        is_made = is_after_call and _handler(frame, before[0]) == _handler(frame, frame.f_lasti)
        kind = "loop" if now in _GOING_BACK else "made" if is_made else ""
        if kind and (at is None or frame.f_lasti == at.instruction):
            place = _place(frame, kind)
            del frame, event
            reached(place)
        return trace_instructions

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            called.setdefault(frame, f"c:{argument.__name__}")

    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(trace_calls)
    sys.setprofile(profile)
    try:
        program()
    finally:
        sys.settrace(tracer)
        sys.setprofile(profiler)


def _is_inside(frame: FrameType | None) -> bool:
    """Whether a function of ours is at work here: its own code, or what it calls."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_OURS):
            return True
        if file.startswith(_HERE):
            return False
        frame = frame.f_back
    return False


def _looks_at_its_beginning(frame: FrameType) -> bool:
    """What is closed, or goes on after an `await` or a `yield from`, is called too, but without looking for signals."""
    argument = frame.f_code.co_code[frame.f_lasti + 1]
    return _instruction(frame) in _BEGINNING and ("RESUME" not in opmap or argument < _AFTER_AWAIT)


def _instruction(frame: FrameType) -> int:
    return frame.f_code.co_code[frame.f_lasti]


def _handler(frame: FrameType, instruction: int) -> Any:
    """Where the interpreter goes on when an instruction raises; always None where code has no table of that."""
    code = frame.f_code
    if code not in _tables:
        parse = getattr(dis, "_parse_exception_table", None)
        _tables[code] = [] if parse is None else parse(code)
    return next((entry.target for entry in _tables[code] if entry.start <= instruction < entry.end), None)


_tables: dict[CodeType, list[Any]] = {}


def _place(frame: FrameType, event: str) -> Place:
    callers: list[str] = []
    caller = frame.f_back
    while caller is not None and len(callers) < _MOST_CALLERS and not caller.f_code.co_filename.startswith(_HERE):
        callers.append(caller.f_code.co_name)
        caller = caller.f_back
    file = frame.f_code.co_filename.removeprefix(_OURS)
    return Place(file, frame.f_code.co_name, frame.f_lineno, frame.f_lasti, event, tuple(callers))


@contextlib.contextmanager
def handler_raising(error: BaseException | None) -> Iterator[Callable[[], None]]:
    """
    Have a handler that raises this very exception, and give what sends its signal.

    None: Ctrl-C, which the interpreter answers by itself.
    """

    def handler(signum: int, frame: Any) -> None:
        assert error is not None
        raise error

    signum = signal.SIGINT if error is None else signal.SIGUSR1
    before = signal.signal(signum, signal.default_int_handler if error is None else handler)
    try:
        yield lambda: signal.raise_signal(signum)
    finally:
        signal.signal(signum, before)


def is_out_of_reach(place: Place) -> bool:
    """
    Whether no Python code can notice an interruption there.

    A `with` block was left, and the interruption meets the call of `__exit__` before its first instruction. The
    interpreter does not call it again. Such a run is closed when the program exits.
    """
    return place.event == "call" and place.function in ("__exit__", "__aexit__")


def descriptors() -> set[str]:
    return set(os.listdir("/dev/fd"))


def close_what_is_open() -> None:
    """Let nothing of an interrupted program reach the next one, wherever it was interrupted."""
    for run in list(context.live_runs.values()):
        run_lifecycle.end_run(run)
    context.enter_scope(None)
    calls.open_calls.clear()
    arming.disarm()
    for decider in deciders.asked.chain:
        deciders.remove_decider(decider)


def what_is_left(data_dir: Path) -> list[str]:
    """What a run that is over should not have left: one sentence for each thing."""
    left = []
    if context.live_runs:
        left.append("a run is still open in this process")
    if context.own_scope() is not None:
        left.append("code after the run still records into it")
    if calls.open_calls:
        left.append("a model call is still open")
    if not all(
        isinstance(decider, Breakpoints) for decider in deciders.asked.chain
    ):  # those stay until the program ends
        left.append("somebody is still asked about calls")
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
