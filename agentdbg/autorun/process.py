"""
Record a whole program as one run, without a line of code in it.

`begin` starts the run of the process, lets each integration come to life when its package is imported, and sees to it
that Python children are recorded as runs of their own, linked to this one. `agentdbg run` calls it before it runs a
program; with AGENTDBG_AUTO=1 in the environment it is called when agentdbg is imported. The run ends with the process:
as error after an uncaught exception or an exit status other than 0.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentdbg.autorun.departure import watch_departure
from agentdbg.autorun.known_packages import loaded_packages, unrecorded_packages
from agentdbg.control.surroundings import begin_random
from agentdbg.faults import Shield, is_contained
from agentdbg.import_hook import when_imported
from agentdbg.integrations import INTEGRATIONS
from agentdbg.interruptions import is_interruption
from agentdbg.recorder.context import set_process_scope
from agentdbg.recorder.run_lifecycle import (
    default_run_name,
    end_run,
    is_switched_off,
    recently_ended,
    start_run,
    whole_program,
)
from agentdbg.recorder.source_lines import function_source
from agentdbg.tape import program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.recorder.active_run import ActiveRun

__all__ = ["ProcessRun", "begin", "enable_integrations", "note_program", "start_child", "start_for_environment"]

_PARENT = "AGENTDBG_PARENT_RUN_ID"
_START_AND_END = {"RUN_START", "RUN_END"}
_CALLS = {"LLM_CALL", "TOOL_CALL"}
_MOST_NAMED = 5
_STARTUP_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
_begun: list[ProcessRun] = []


class ProcessRun:
    """The run of this process: what ended it, and the closing of it at exit."""

    def __init__(self, run: ActiveRun, *, is_child: bool) -> None:
        self._run = run
        self._is_child = is_child
        self._error: BaseException | None = None

    def note_end(self, error: BaseException | None) -> BaseException | None:
        """This is what ends the program (None: it came to its end). Gives what to raise instead, if anything."""
        instead = None
        if error is not None and self._run.is_ours():
            instead = self._run.budget.public_form(error)
        self._error = instead or error
        return instead

    def close(self) -> None:
        """At exit: end the run, and say where it is."""
        run = self._run
        if run.closed or not run.is_ours():
            return
        exit_code = _exit_code(self._error)
        end_run(run, self._error, {"exit_code": exit_code})
        if not self._is_child:
            is_ok = exit_code == 0 and run.stop is None
            _say_where(run, "ok" if is_ok else "error")


def begin(
    shown_name: str, name: str | None = None, limits: Mapping[str, Any] | None = None, *, is_quiet: bool = False
) -> ProcessRun | None:
    """
    Start the run of this process; None when recording is off. A second call gives the first one's run.

    `is_quiet` leaves it to others to say where the run is.
    """
    if _begun or is_switched_off():
        return _begun[0] if _begun else None
    parent_run_id = os.environ.get(_PARENT)
    meta = {"parent_run_id": parent_run_id} if parent_run_id else None
    with whole_program():
        scope = start_run(name, default_run_name(function_source(shown_name), None), limits or {}, {}, meta)
    if scope is None:
        return None
    set_process_scope(scope)
    process_run = ProcessRun(scope.run, is_child=bool(parent_run_id) or is_quiet)
    _begun.append(process_run)
    atexit.register(process_run.close)
    with Shield("prepare the recording of the program", scope.run.count_fault):
        _lead_children_here(scope.run.run_id)
        enable_integrations()
    return process_run


def note_program(module: str | None, seed: int | None = None) -> None:
    """
    Let the tape say how the program was started, and begin its random numbers with a seed that the tape has.

    A program that does not seed them itself cannot tell; one that does has its own seed.
    """
    program["module"] = module
    program["seed"] = int.from_bytes(os.urandom(7), "big") if seed is None else seed
    begin_random(program["seed"])


def start_for_environment() -> None:
    """With AGENTDBG_AUTO=1: record this process. Does nothing in our own commands, nor in Python's own helpers."""
    with Shield("record this program"):
        if not _begun and _is_wanted() and not _is_helper():
            process_run = begin(_shown_program())
            if process_run is not None:
                watch_departure(process_run.note_end)


def start_child() -> None:
    """Called at the start of a Python child of a recorded program, before the child's own code runs."""
    start_for_environment()
    from agentdbg.autorun.launcher import forget_shadowed  # noqa: PLC0415 -- nothing that records needs it

    script = _first_word()
    forget_shadowed(os.path.dirname(os.path.realpath(script)) if os.path.isfile(script) else os.curdir)


def _is_wanted() -> bool:
    return os.environ.get("AGENTDBG_AUTO", "").strip().lower() in ("1", "true", "yes", "on")


def _is_helper() -> bool:
    """Whether this is our own command, or a process that Python starts for itself and nobody asked for."""
    first = _first_word()
    name = _module() if first == "-m" else os.path.basename(first)
    return name.partition(".")[0] == "agentdbg" or "resource_tracker import main" in " ".join(sys.orig_argv)


def _shown_program() -> str:
    if "--multiprocessing-fork" in sys.orig_argv:
        return "multiprocessing child"
    first = _first_word()
    if first == "-m":
        return _module()
    return f"python {first}".rstrip() if first in ("", "-c", "-") else first


def _first_word() -> str:
    return sys.argv[0] if getattr(sys, "argv", None) else ""


def _module() -> str:
    """The module that `python -m` was given; it is not yet in `sys.argv` when the interpreter starts."""
    words = sys.orig_argv
    return words[words.index("-m") + 1] if "-m" in words[:-1] else ""


def _lead_children_here(run_id: str) -> None:
    """Let Python children record themselves: through the environment, the only thing they are sure to inherit."""
    os.environ["AGENTDBG_AUTO"] = "1"
    os.environ[_PARENT] = run_id
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    if _STARTUP_FOLDER not in folders:
        os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP_FOLDER, *folders])


@cache
def enable_integrations() -> None:
    """Record every package that has an integration, from the moment that the program imports it."""
    from agentdbg.autorun.installed import offered_integrations  # noqa: PLC0415 -- nothing that records needs it

    when_imported(INTEGRATIONS, lambda package: _enable_ours(INTEGRATIONS[package]), each_time=True)
    for package, target in offered_integrations():
        when_imported([package], partial(_enable_theirs, target), each_time=True)


def _enable_ours(integration: str) -> None:
    try:
        _enable(integration)
    except ImportError:
        pass  # the program has a package of the same name that is not the framework
    except Exception as fault:
        if not is_contained(fault, f"enable {integration}"):
            raise


def _enable_theirs(integration: str, _package: str) -> None:
    with Shield(f"enable {integration}"):  # also what it needs and does not find: it was installed on purpose
        _enable(integration)


def _enable(integration: str) -> None:
    """Call `enable` of a module, or the function that is named after a colon."""
    module, _, function = integration.partition(":")
    enable: Any = import_module(module.strip())
    for name in (function.strip() or "enable").split("."):
        enable = getattr(enable, name)
    enable()


def _exit_code(error: BaseException | None) -> int:
    """What the process exits with, as a shell sees it."""
    if error is None:
        return 0
    if isinstance(error, KeyboardInterrupt):
        return 130
    if not isinstance(error, SystemExit) or (error.code is not None and not isinstance(error.code, int)):
        return 1
    return int(error.code or 0) & 0xFF


def _say_where(run: ActiveRun, status: str) -> None:
    recorded = "recorded run"
    inner = [other for other in recently_ended() if other is not run]
    if inner and set(run.counters.by_type()) <= _START_AND_END:
        # A trace with limits of its own is a run of its own, and the one around it holds nothing to look at.
        run = inner[-1]
        status = run.status
        recorded = "recorded run" if len(inner) == 1 else "recorded several runs; the last is"
    count = run.event_count()
    short_id = run.run_id[:8]
    events = "1 event" if count == 1 else f"{count} events"
    try:
        sys.stderr.write(
            f"agentdbg: {recorded} {short_id} ({status}, {events}); open it with: agentdbg view {short_id}\n"
            f"{_unseen([run, *inner])}"
        )
        sys.stderr.flush()
    except Exception as error:  # stderr may be closed, None or the program's own object
        if is_interruption(error):
            raise


def _unseen(runs: list[ActiveRun]) -> str:
    """A line that names what was loaded, or asked, and left no trace; empty when all of it is recorded."""
    recorded = {event_type for run in runs for event_type in run.counters.by_type()}
    exchanges = sys.modules.get("agentdbg.integrations._http_exchange")
    asked = [] if exchanges is None else [f"requests to {one}" for one in sorted(exchanges.unread_addresses)]
    script = f" {os.path.basename(_first_word())}" if _first_word().endswith(".py") else " SCRIPT"
    if recorded.isdisjoint(_CALLS):
        if not (named := _few(loaded_packages()) + _few(asked)):
            return ""
        return (
            f"agentdbg: no model or tool call was recorded, although the program used {', '.join(named)}; "
            f"see what can be recorded: agentdbg doctor{script}\n"
        )
    if not (named := _few([f"calls of {package}" for package in unrecorded_packages()]) + _few(asked)):
        return ""
    return f"agentdbg: not recorded unless @llm is put around them: {', '.join(named)}; see agentdbg doctor{script}\n"


def _few(names: list[str]) -> list[str]:
    """The first of these, and how many there are beside them."""
    more = len(names) - _MOST_NAMED
    return names if more <= 0 else [*names[:_MOST_NAMED], f"{more} more"]
