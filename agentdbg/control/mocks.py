"""
Mocks and faults: what a tool or a model answers in place of the real one, as people write it.

    refund={"ok": true}              this value; also refund=@file.json
    refund=raise:TimeoutError("…")   this exception
    search=seq:[1, 2, 3]             one after the other; the last stays
    search=py:mocks.py:search        what a function of the user's own gives for the same arguments
    gpt-4o=timeout|500|429|empty|garbage|cut|slow:5     with --fault: what an outage gives

`NAME#2` means only the second call of that name; `tool` and `llm` mean all of a kind, and `*` matches any part. Where a
model is asked over HTTP the fault is the real thing: a status, a broken stream, a timeout of the connection.
"""

from __future__ import annotations

import asyncio
import copy
import errno
import fnmatch
import importlib.util
import io
import json
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

from agentdbg.control.edits import read_value_file
from agentdbg.control.given_answers import as_given
from agentdbg.control.pauses import error_named
from agentdbg.control.provider_answers import STATUSES, http_fault, new_answer
from agentdbg.exceptions import UsageError
from agentdbg.faults import tell_once
from agentdbg.loading import lock_of
from agentdbg.recorder.deciders import Answer, Decider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentdbg.recorder.deciders import AnnouncedCall, Proceed, Refuse

__all__ = ["FAULTS", "Mock", "Mocks", "parse_fault", "parse_mock"]

FAULTS = ("timeout", "500", "429", "empty", "garbage", "cut", "slow:SECONDS")
_NAMED = re.compile(r"(?P<name>.+?)(?:#(?P<nth>[1-9]\d*))?=(?P<what>.*)", re.DOTALL)
_RAISE = re.compile(r"""raise:(?P<type>[\w.]+)(?:\((?P<text>"(?:[^"\\]|\\.)*"|'[^']*')?\))?""")
_sleep = time.sleep  # a replay takes the program's sleep away, not ours
_NOTHING: dict[type, Any] = {str: "", list: [], dict: {}, tuple: (), int: 0, float: 0.0, bool: False}


@dataclass
class Mock:
    """What one name answers."""

    name: str
    answer: Callable[[AnnouncedCall, Any], Answer | None]
    """Gives the answer to a call, from the recorded value where there is one (else None); None: the call is made."""
    nth: int = 0
    """Only this call of the name; 0: every one."""
    fault: str = ""
    """Which outage it is, where it is one."""
    seconds: float = 0.0
    """How long the call is held before it is made."""
    text: str = ""
    is_used: bool = field(default=False, repr=False)
    """Whether it has answered or held a call, or one that it is for could not be answered, which is said then."""
    _seen: int = field(default=0, repr=False)

    def is_for(self, call: AnnouncedCall) -> bool:
        """Whether it answers this call; each call of the name is asked about once."""
        if not self.is_named(call.kind, call.plain_name):
            return False
        self._seen += 1
        return self.nth in (0, self._seen)

    def is_named(self, kind: str, name: str) -> bool:
        """Whether it is about calls of this kind or name."""
        return self.name == kind or fnmatch.fnmatchcase(name, self.name)


@dataclass
class _Held:
    """A call that is mocked, while it lasts."""

    mock: Mock
    call: AnnouncedCall
    is_used: bool = False


class Mocks(Decider):
    """
    Answers calls by their names, in any program that is run.

    A function is answered with a value. A model that is asked through a client is answered over HTTP, in the form that
    its provider uses, so that the client gives the program what it would have given.
    """

    asks_http = True
    is_planned = False
    """Whether a plan asks for the answers; then this only notes which call is which, and holds slow ones."""

    def __init__(self, mocks: Iterable[Mock]) -> None:
        self._mocks = list(mocks)
        self._lock = lock_of(self)
        self._open: dict[str, _Held] = {}

    @classmethod
    def of_values(cls, values: Mapping[str, Any], faults: Mapping[str, str] | None = None) -> Mocks:
        """Mocks as Python gives them: a value, an exception to raise, or a function to call; faults by their names."""
        mocks = [mock_of_value(name, value) for name, value in values.items()]
        return cls([*mocks, *(parse_fault(f"{name}={what}") for name, what in (faults or {}).items())])

    def may_answer(self, kind: str, name: str) -> bool:
        """Whether a call of this kind and name could be mocked."""
        return any(mock.is_named(kind, name) for mock in self._mocks)

    def tell_unused(self) -> None:
        """Say which have done nothing, at the end of a program: their names may be mistaken."""
        for mock in self._mocks:
            if not mock.is_used:
                which = f"call number {mock.nth}" if mock.nth else "call"
                sys.stderr.write(f"agentdbg: {mock.text} was not used: no {which} of {mock.name} was to be made\n")

    def answer(self, call: AnnouncedCall, recorded: Any = None) -> Answer | None:
        """The answer to a call; None where it is to be made."""
        held = self._held(call)
        if held is None or held.mock.seconds:
            return None
        if call.kind == "http":
            return self._over_http(held, call)
        if not call.can_answer or self.is_answered_inside(call):
            return None
        held.is_used = held.mock.is_used = True
        return held.mock.answer(call, recorded)

    def is_answered_inside(self, call: AnnouncedCall) -> bool:
        """Whether a mocked call is made, because it is a client's: what it asks over HTTP is answered."""
        held = None if call.kind != "llm" or call.can_edit or not call.can_answer else self._held(call)
        return held is not None and not held.mock.seconds

    def pass_over(self, call: AnnouncedCall) -> None:
        """Leave a call as it is, which a plan answers otherwise."""
        with self._lock:
            self._open.pop(call.outer_id if call.kind == "http" or call.is_silent else call.call_id, None)

    def decide(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Answer a call that is mocked."""
        if call.kind != "http" and not call.is_silent:
            with self._lock:
                found = [mock for mock in self._mocks if mock.is_for(call)]
                if found:
                    self._open[call.call_id] = _Held(found[0], call)
        return None if self.is_planned else self.answer(call)

    def wait(self, call: AnnouncedCall) -> None:
        """Hold a call that is to be slow."""
        if (mock := self._slow(call)) is not None:
            _sleep(mock.seconds)

    async def wait_async(self, call: AnnouncedCall) -> None:
        """Do the same in a task."""
        if (mock := self._slow(call)) is not None:
            await asyncio.sleep(mock.seconds)

    def released(self, call: AnnouncedCall) -> None:
        """The call is over."""
        with self._lock:
            held = self._open.pop(call.call_id, None)
        if held is not None and not held.is_used:
            held.mock.is_used = True
            tell_once(
                f"mock:{held.mock.text}",
                f"{held.mock.text} could not be used: {call.plain_name} is only reported by its framework, or asks "
                "nothing over HTTP that is seen here",
            )

    def _held(self, call: AnnouncedCall) -> _Held | None:
        """What is known of a call; what stands behind one that was asked about already is part of it."""
        return self._open.get(call.outer_id if call.kind == "http" or call.is_silent else call.call_id)

    def _over_http(self, held: _Held, call: AnnouncedCall) -> Answer | None:
        if held.mock.fault:
            held.is_used = held.mock.is_used = True
            return Answer(http_fault(call.input, held.mock.fault), served="fault")
        if held.call.kind != "llm":
            return None
        held.is_used = held.mock.is_used = True
        answer = held.mock.answer(held.call, None)
        if answer is None or answer.error is not None:
            return answer
        return Answer(new_answer(call.input, answer.value), served="mock")

    def _slow(self, call: AnnouncedCall) -> Mock | None:
        held = self._held(call)
        if held is None or not held.mock.seconds or held.is_used:
            return None
        held.is_used = held.mock.is_used = True
        return held.mock


def parse_mock(text: str) -> Mock:
    """`NAME=…` of --mock. Raises UsageError."""
    name, nth, what = _named(text, "--mock", 'refund={"ok": true}')
    if what.startswith("raise:"):
        found = _RAISE.fullmatch(what)
        if found is None:
            raise UsageError(f'--mock {text}: an exception is written as raise:TimeoutError("the reason")')
        reason = (found["text"] or "")[1:-1]
        return Mock(name, lambda *_: Answer(error=error_named(found["type"], reason), served="mock"), nth, text=text)
    if what.startswith("seq:"):
        values = _json(what[4:], text)
        if not isinstance(values, list) or not values:
            raise UsageError(f"--mock {text}: seq: takes a list that is not empty, as in seq:[1, 2]")
        return Mock(name, _one_after_the_other(values), nth, text=text)
    if what.startswith("py:"):
        function = _function(what[3:], text)
        return Mock(name, lambda call, _: _called(function, call), nth, text=text)
    if what.startswith("@"):
        what = read_value_file(what[1:], f"--mock {text}")
    value = _json(what, text)
    return Mock(name, lambda *_: as_given(copy.deepcopy(value), "mock"), nth, text=text)


def parse_fault(text: str) -> Mock:
    """`NAME=…` of --fault. Raises UsageError."""
    name, nth, what = _named(text, "--fault", "search=timeout")
    if what.startswith("slow:"):
        try:
            return Mock(name, lambda *_: None, nth, seconds=max(float(what[5:]), 0.0), text=text)
        except ValueError:
            raise UsageError(f"--fault {text}: slow takes a number of seconds, as in slow:5") from None
    if what not in FAULTS:
        raise UsageError(f"--fault {text}: there is no fault {what!r}; there are {', '.join(FAULTS)}")
    return Mock(name, lambda _, recorded: _fault(what, recorded), nth, fault=what, text=text)


def mock_of_value(name: str, value: Any) -> Mock:
    """A mock as Python gives it."""
    base, _, nth = name.partition("#")
    if isinstance(value, BaseException):
        return Mock(base, lambda *_: Answer(error=value, served="mock"), int(nth or 0), text=name)
    if callable(value):
        return Mock(base, lambda call, _: _called(value, call), int(nth or 0), text=name)
    return Mock(base, lambda *_: as_given(value, "mock"), int(nth or 0), text=name)


def _named(text: str, option: str, example: str) -> tuple[str, int, str]:
    found = _NAMED.fullmatch(text)
    if found is None or not found["name"].strip():
        raise UsageError(f"{option} {text}: it takes NAME=…, for example {example}")
    if found["name"].strip().endswith("#0"):
        raise UsageError(f"{option} {text}: calls are counted from #1")
    return found["name"].strip(), int(found["nth"] or 0), found["what"].strip()


def _json(text: str, whole: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f'--mock {whole}: that is not JSON ({reason}); a text needs quotes, as in "done"') from None


def _one_after_the_other(values: list[Any]) -> Callable[..., Answer]:
    left = list(values)
    lock = threading.Lock()

    def answer(*_: Any) -> Answer:
        with lock:
            return as_given(left.pop(0) if len(left) > 1 else copy.deepcopy(left[0]), "mock")

    return answer


def _function(where: str, whole: str) -> Callable[..., Any]:
    """The function in a file that the user has named."""
    path, _, name = where.rpartition(":")
    spec = importlib.util.spec_from_file_location("agentdbg_mocks", path) if path.endswith(".py") else None
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise UsageError(f"--mock {whole}: a function is written as py:FILE.py:FUNCTION, and {path!r} is no such file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"--mock {whole}: there is no function {name!r} in {path}")
    return function  # type: ignore[no-any-return]


def _called(function: Callable[..., Any], call: AnnouncedCall) -> Answer:
    """What the user's function gives: a tool's arguments by name, a model's prompt as the one argument."""
    try:
        value = function(**call.input) if isinstance(call.input, dict) and call.kind == "tool" else function(call.input)
    except Exception as error:  # noqa: BLE001 -- a mock that raises mocks a call that raises
        return Answer(error=error, served="mock")
    return as_given(value, "mock")


def _fault(what: str, recorded: Any) -> Answer:
    if what in STATUSES:
        error: Exception = HTTPError("", int(what), STATUSES[what], Message(), io.BytesIO())
        return Answer(error=error, served="fault")
    if what == "empty":
        return as_given(_NOTHING.get(type(recorded)), "fault")
    if what == "garbage":
        is_streamed = type(recorded) is list and recorded and all(type(piece) is str for piece in recorded)
        whole = "".join(recorded) if is_streamed else recorded
        text = whole if isinstance(whole, str) else json.dumps(whole, default=str)
        return Answer(text[: len(text) // 2] if recorded is not None else '{"resu', served="fault")
    error = (
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        if what == "cut"
        else TimeoutError("timed out")
    )
    return Answer(error=error, served="fault")
