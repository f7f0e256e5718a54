"""What belongs to the program reaches it, wherever it arrived; what data raises ends at the recorder."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import agentdbg
from agentdbg import faults
from agentdbg.interruptions import WeakBag, hide_own_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Recorded


@pytest.fixture(autouse=True)
def _faults_are_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults.settings, "raise_faults", False)


class Telling:
    """An object whose repr does something."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __repr__(self) -> str:
        self._act()
        return "told"


class Timeout(Exception):
    """A program's own."""


class _Limit:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def handle(self, signum: int, frame: Any) -> None:
        raise self.error

    __call__ = handle


def _with_extra(extra: str, signum: int, frame: Any, *, error: BaseException) -> None:
    raise error


def _once(error: BaseException) -> Callable[..., None]:
    def handler(signum: int, frame: Any) -> None:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # as one does who lets a second Ctrl-C kill
        raise error

    return handler


def _tidy(error: BaseException) -> Callable[..., None]:
    def handler(signum: int, frame: Any) -> None:
        del signum, frame  # not used
        list(map(_raise, [error]))

    return handler


def _raise(error: BaseException) -> NoReturn:
    raise error


_HANDLERS: dict[str, Callable[[BaseException], Any]] = {
    "method": lambda error: _Limit(error).handle,
    "object": _Limit,
    "partial": lambda error: functools.partial(_with_extra, "x", error=error),
    "gives its place back": _once,
    "deletes its arguments": _tidy,
    "lambda": lambda error: lambda *given: _raise(error),
}


@pytest.mark.parametrize("type_of_error", [Timeout, TimeoutError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("kind", _HANDLERS)
def test_what_a_handler_raises_in_a_users_repr_reaches_the_program(
    kind: str, type_of_error: type[BaseException], recorded: Recorded
) -> None:
    """A slow repr is where a timeout arrives, and SIGTERM may arrive anywhere."""
    error = type_of_error(3)
    before = signal.signal(signal.SIGUSR1, _HANDLERS[kind](error))
    try:
        with pytest.raises(type(error)) as raised, agentdbg.traced_run("r"):
            agentdbg.record_tool_call("t", {"a": Telling(lambda: signal.raise_signal(signal.SIGUSR1))})
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert raised.value is error
    run = recorded.only()
    assert run.meta["status"] == "error"
    assert run.one("ERROR")["payload"]["error_type"] == type(error).__name__
    assert run.meta["dropped_events"] == 1


class Slow(Exception):
    """Tells of itself for so long that a timeout comes; `traceback` catches whatever its text raises."""

    tells = 0

    def __str__(self) -> str:
        Slow.tells += 1
        if Slow.tells > 1:
            signal.raise_signal(signal.SIGUSR1)
        return "slow"


def test_what_the_standard_library_swallows_reaches_the_program_all_the_same(recorded: Recorded) -> None:
    """The text of an exception is asked for again where its traceback is told."""
    error = KeyboardInterrupt("now")
    before = signal.signal(signal.SIGUSR1, _HANDLERS["method"](error))
    Slow.tells = 0
    try:
        with pytest.raises(KeyboardInterrupt) as raised, agentdbg.traced_run("r"):
            try:
                raise Slow
            except Slow as slow:
                agentdbg.record_error(slow)
        assert signal.getsignal(signal.SIGUSR1) != before
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert raised.value is error
    assert recorded.only().meta["status"] == "error"


def _helped_by_a_frame() -> NoReturn:
    _raise_for(sys._getframe())


def _raise_for(frame: Any) -> NoReturn:
    raise Timeout(frame.f_code.co_name)


def _exit() -> NoReturn:
    sys.exit(3)


def _endless() -> int:
    return _endless() + 1


_OWN_DOING: dict[str, Callable[[], object]] = {
    "Timeout": lambda: _raise(Timeout("by itself")),
    "TimeoutError": lambda: _raise(TimeoutError()),
    "KeyboardInterrupt": lambda: _raise(KeyboardInterrupt()),
    "SystemExit": _exit,
    "a frame": _helped_by_a_frame,
    "C code": lambda: int("no number"),
    "no end": _endless,
}


@pytest.mark.parametrize("what", _OWN_DOING)
def test_what_data_raises_by_itself_ends_at_the_recorder(what: str, recorded: Recorded) -> None:
    """A program that is only being watched must not die of a repr that nobody else would have called."""
    with agentdbg.traced_run("r"):
        agentdbg.record_tool_call("t", {"a": Telling(_OWN_DOING[what])})

    run = recorded.only()
    assert run.meta["status"] == "ok"
    assert "its repr raised" in run.one("TOOL_CALL")["payload"]["args"]["a"]


@pytest.mark.parametrize("kind", [Timeout, TimeoutError, KeyboardInterrupt, SystemExit])
def test_what_another_thread_raises_in_this_one_reaches_the_program(kind: type[BaseException]) -> None:
    """Timeouts for threads are made that way: no handler, and so no frame of their own."""
    this, is_waiting = threading.get_ident(), threading.Event()

    def strike() -> None:
        is_waiting.wait()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(this), ctypes.py_object(kind))

    def wait_for_it() -> None:
        is_waiting.set()
        number = 0
        while True:
            number += 1

    thread = threading.Thread(target=strike)
    thread.start()
    with pytest.raises(kind), agentdbg.traced_run("r"):
        agentdbg.record_tool_call("t", {"a": Telling(wait_for_it)})
    thread.join()


def test_a_stop_inside_a_users_repr_is_not_swallowed(recorded: Recorded) -> None:
    """A repr may record too, and then it is that record which crosses the limit."""
    with pytest.raises(agentdbg.AgentDbgGuardrailExceeded), agentdbg.traced_run("r", max_tool_calls=1):
        agentdbg.record_tool_call("one")
        agentdbg.record_llm_call("m", prompt=Telling(lambda: agentdbg.record_tool_call("two")))

    assert recorded.only().meta["status"] == "error"


def test_a_bag_forgets_what_nobody_else_holds_and_runs_no_code_for_it() -> None:
    """Python drops what a signal handler raises in the callback of a weak reference."""

    class Thing:
        pass

    bag: WeakBag[Thing] = WeakBag()
    kept = [Thing() for _ in range(10)]
    for thing in kept:
        bag.add(thing)
        bag.add(thing)
    called: list[str] = []
    sys.setprofile(lambda frame, event, _: called.append(f"{event} {frame.f_code.co_name}"))
    try:
        for _ in range(1_000):
            bag.add(Thing())
    finally:
        sys.setprofile(None)

    assert bag.now() == kept
    assert len(bag._things) < 200
    assert {name for name in called if name.startswith("call ")} == {"call add"}


def test_what_another_thread_has_forgotten_meanwhile_is_no_error_of_a_bag() -> None:
    """Two threads may tidy it at once."""

    class Thing:
        pass

    bag: WeakBag[Thing] = WeakBag()
    things: dict[int, Any] = bag._things
    for key in range(100):
        things[key] = things.clear  # what the other one does while this one looks
    bag.add(thing := Thing())

    assert bag.now() == [thing]


@dataclasses.dataclass(frozen=True)
class Stop(BaseException):
    why: str


def test_an_exception_that_cannot_be_assigned_to_passes_as_it_is() -> None:
    """A frozen one raises another when its traceback or its context is set as an attribute."""
    with pytest.raises(Stop):
        try:
            raise Stop("now")
        except Stop as error:
            hide_own_frames(error)
            faults.contain(error, "do something")


def test_a_shield_ends_a_fault_of_ours_and_lets_what_is_not_ours_through(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program goes on behind the block, and is stopped by whatever was meant for it."""
    monkeypatch.setattr(faults, "settings", faults.FaultSettings())
    counted: list[int] = []
    with faults.Shield("do something", lambda: counted.append(1)):
        raise LookupError("nothing there")
    with pytest.raises(Stop), faults.Shield("do something", lambda: counted.append(1)):
        raise Stop("now")

    assert counted == [1]
    assert "could not do something (LookupError: nothing there)" in capsys.readouterr().err
