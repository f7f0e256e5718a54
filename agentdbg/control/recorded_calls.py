"""
The step of a recording that a person means, and the traced function that a recording began with.
"""

from __future__ import annotations

import importlib
import inspect
import os
import runpy
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.control.recorded_runs import CannotReplay
from agentdbg.index.events import EventIndex
from agentdbg.recorder.functions import rebind_arguments
from agentdbg.storage.layout import run_dir
from agentdbg.tape.decoder import CannotRebuild, decode_value

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from agentdbg.control.recorded_runs import Opened

__all__ = ["call_recorded", "recorded_arguments", "until_event"]

_MAIN = "__mp_main__"


def until_event(opened: Opened, wanted: str, data_dir: Path) -> str:
    """
    The id of the call that a person means: a number as `agentdbg show` has it, an id, `error`, `loop` or `last`.

    A step that is no call stands for the next call after it.
    """
    recording = opened.main.recording
    if not recording.calls:
        raise CannotReplay(f"{opened.place} has no calls to stop at")
    text = wanted.strip().removeprefix("#").lower()
    if text == "last":
        return recording.calls[-1].event_id
    by_prefix = [event_id for event_id in recording.by_id if event_id and event_id.startswith(text)]
    if len(text) >= 4 and len(by_prefix) == 1:
        return by_prefix[0]
    folder = run_dir(data_dir, opened.main.run_id)
    index = EventIndex(folder, opened.main.run_id)
    try:
        index.extend()
        number = _number_of(index, text)
        if number is not None:
            for at in range(number, index.total + 1):
                event = index.event(at)
                meant = event["payload"].get("call_id") if event["event_type"] == "CALL_START" else event["event_id"]
                if meant in recording.by_id:
                    return str(meant)
    finally:
        index.close()
    raise CannotReplay(f"{opened.place} has no call at {wanted!r}; `agentdbg show {opened.place}` lists its steps")


def _number_of(index: EventIndex, text: str) -> int | None:
    if text.isdecimal() and 1 <= int(text) <= index.total:
        return int(text)
    for at in range(1, index.total + 1):
        event = index.event(at)
        payload = event["payload"]
        is_error = event["event_type"] == "ERROR" or payload.get("status") == "error"
        if (text == "error" and is_error) or (text == "loop" and event["event_type"] == "LOOP_WARNING"):
            return at
        if len(text) >= 4 and event["event_id"].startswith(text):
            return at
    return None


def recorded_arguments(opened: Opened) -> dict[str, Any]:
    """What the traced function was called with, by name. Raises CannotReplay."""
    call = opened.head.get("call")
    if not isinstance(call, dict):
        raise CannotReplay(f"{opened.place} did not begin with a traced function; replay its program instead")
    try:
        given = decode_value(opened.main.tape.value(call.get("in")))
    except CannotRebuild as reason:
        raise CannotReplay(f"the arguments of {call.get('function')} cannot be rebuilt: {reason}") from None
    return given if isinstance(given, dict) else {}


def call_recorded(opened: Opened, named: str | None) -> Any:
    """Call the traced function with its recorded arguments. Raises what it raises, and CannotReplay before that."""
    call = opened.head.get("call")
    target = named or (str(call.get("function")) if isinstance(call, dict) else "")
    module_name, _, path = target.partition(":")
    if not module_name or not path or "<locals>" in path:
        raise CannotReplay(f"{opened.place} does not say which function it began with; name it: --call module:function")
    function: Any = _module(opened, module_name)
    for part in path.split("."):
        function = getattr(function, part, None)
        if function is None:
            raise CannotReplay(f"there is no function {path!r} in {module_name}; name it: --call module:function")
    args, kwargs = rebind_arguments(function, (), {}, recorded_arguments(opened))
    result = function(*args, **kwargs)
    if inspect.iscoroutine(result):
        return _run(result)
    if inspect.isgenerator(result):
        return list(result)
    if inspect.isasyncgen(result):
        return _run(_read(result))
    return result


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio  # noqa: PLC0415 -- most functions await nothing

    return asyncio.run(coroutine)


async def _read(generator: Any) -> list[Any]:
    return [item async for item in generator]


def _module(opened: Opened, name: str) -> Any:
    argv = opened.argv or [""]
    folder = os.path.dirname(os.path.abspath(argv[0])) if argv[0] else os.getcwd()
    for path in (os.getcwd(), folder):
        if path not in sys.path:
            sys.path.insert(0, path)
    try:
        return _script(argv[0]) if name == "__main__" else importlib.import_module(name)
    except ImportError as error:
        raise CannotReplay(f"{name} cannot be imported: {error}") from None


def _script(path: str) -> Any:
    """The script as a module, without what it does when it is run: as `multiprocessing` loads it in its workers."""
    if not os.path.isfile(path):
        raise CannotReplay(f"the script {path!r} is gone; name the function: --call module:function")
    module: Any = type(sys)("__main__")
    sys.modules["__main__"] = sys.modules[_MAIN] = module
    module.__dict__.update(runpy.run_path(path, run_name=_MAIN))
    for value in list(module.__dict__.values()):
        if isinstance(value, type) and value.__module__ == _MAIN:
            value.__module__ = "__main__"
    return module
