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
import fnmatch
import importlib.util
import json
import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.control.pauses import error_named
from agentdbg.exceptions import UsageError
from agentdbg.recorder.deciders import Answer, Decider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentdbg.recorder.deciders import AnnouncedCall, Proceed, Refuse

__all__ = ["FAULTS", "Mock", "Mocks", "parse_fault", "parse_mock"]

FAULTS = ("timeout", "500", "429", "empty", "garbage", "cut", "slow:SECONDS")
_NAMED = re.compile(r"(?P<name>.+?)(?:#(?P<nth>[1-9]\d*))?=(?P<what>.*)", re.DOTALL)
_RAISE = re.compile(r"""raise:(?P<type>[\w.]+)(?:\((?P<text>"(?:[^"\\]|\\.)*"|'[^']*')?\))?""")
_STATUSES = {"500": "Internal Server Error", "429": "Too Many Requests"}
_NOTHING: dict[type, Any] = {str: "", list: [], dict: {}, tuple: (), int: 0, float: 0.0, bool: False}


@dataclass
class Mock:
    """What one name answers."""

    name: str
    answer: Callable[[AnnouncedCall, Any], Answer | None]
    """Gives the answer to a call, from the recorded value where there is one (else None); None: the call is made."""
    nth: int = 0
    """Only this call of the name; 0: every one."""
    over_http: Callable[[], dict[str, Any]] | None = None
    """What the server gives, where the call is made over HTTP."""
    seconds: float = 0.0
    """How long the call is held before it is made."""
    text: str = ""
    _seen: int = field(default=0, repr=False)

    def is_for(self, call: AnnouncedCall) -> bool:
        """Whether it answers this call; each call of the name is asked about once."""
        if self.name != call.kind and not fnmatch.fnmatchcase(call.plain_name, self.name):
            return False
        self._seen += 1
        return self.nth in (0, self._seen)


class Mocks(Decider):
    """Answers calls by their names, in any program that is run."""

    asks_http = True

    def __init__(self, mocks: Iterable[Mock]) -> None:
        self._mocks = list(mocks)
        self._lock = threading.Lock()
        self._open: dict[str, Mock] = {}

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> Mocks:
        """Mocks as Python gives them: a value, an exception to raise, or a function to call."""
        return cls(mock_of_value(name, value) for name, value in values.items())

    def find(self, call: AnnouncedCall) -> Mock | None:
        """The mock that answers this call, if one does."""
        if call.kind == "http" or call.is_silent:  # what stands behind a call that was asked about already
            return self._open.get(call.outer_id)
        with self._lock:
            found = [mock for mock in self._mocks if mock.is_for(call)]
            if found:
                self._open[call.call_id] = found[0]
        return found[0] if found else None

    def answer(self, call: AnnouncedCall, recorded: Any = None) -> Answer | None:
        """The answer to a call; None where it is to be made."""
        mock = self.find(call)
        if mock is None:
            return None
        if call.kind == "http":
            return None if mock.over_http is None else Answer(mock.over_http(), served="fault")
        if not call.can_answer:  # what it asks over HTTP is answered instead
            return None
        return mock.answer(call, recorded)

    def decide(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Answer a call that is mocked."""
        return self.answer(call)

    def wait(self, call: AnnouncedCall) -> None:
        """Hold a call that is to be slow."""
        if (mock := self._slow(call)) is not None:
            time.sleep(mock.seconds)

    async def wait_async(self, call: AnnouncedCall) -> None:
        """Do the same in a task."""
        if (mock := self._slow(call)) is not None:
            await asyncio.sleep(mock.seconds)

    def released(self, call: AnnouncedCall) -> None:
        """The call is over."""
        with self._lock:
            self._open.pop(call.call_id, None)

    def _slow(self, call: AnnouncedCall) -> Mock | None:
        mock = self._open.get(call.call_id)
        return mock if mock is not None and mock.seconds else None


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
        try:
            what = Path(what[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--mock {text}: the file cannot be read: {error}") from None
    value = _json(what, text)
    return Mock(name, lambda *_: Answer(value, served="mock"), nth, text=text)


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
    return Mock(name, lambda _, recorded: _fault(what, recorded), nth, over_http=lambda: _http_fault(what), text=text)


def mock_of_value(name: str, value: Any) -> Mock:
    """A mock as Python gives it."""
    base, _, nth = name.partition("#")
    if isinstance(value, BaseException):
        return Mock(base, lambda *_: Answer(error=value, served="mock"), int(nth or 0), text=name)
    if callable(value):
        return Mock(base, lambda call, _: _called(value, call), int(nth or 0), text=name)
    return Mock(base, lambda *_: Answer(value, served="mock"), int(nth or 0), text=name)


def _named(text: str, option: str, example: str) -> tuple[str, int, str]:
    found = _NAMED.fullmatch(text)
    if found is None or not found["name"].strip():
        raise UsageError(f"{option} {text}: it takes NAME=…, for example {example}")
    return found["name"].strip(), int(found["nth"] or 0), found["what"].strip()


def _json(text: str, whole: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f'--mock {whole}: that is no JSON ({error}); a text needs quotes, as in "done"') from None


def _one_after_the_other(values: list[Any]) -> Callable[..., Answer]:
    left = list(values)
    lock = threading.Lock()

    def answer(*_: Any) -> Answer:
        with lock:
            return Answer(left.pop(0) if len(left) > 1 else left[0], served="mock")

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
    return Answer(value, served="mock")


def _fault(what: str, recorded: Any) -> Answer:
    if what in _STATUSES:
        return Answer(error=RuntimeError(f"HTTP {what} {_STATUSES[what]}"), served="fault")
    if what == "empty":
        return Answer(_NOTHING.get(type(recorded)), served="fault")
    if what == "garbage":
        text = recorded if isinstance(recorded, str) else json.dumps(recorded, default=str)
        return Answer(text[: len(text) // 2] if recorded is not None else '{"resu', served="fault")
    error = ConnectionResetError("the connection was reset") if what == "cut" else TimeoutError("timed out")
    return Answer(error=error, served="fault")


def _http_fault(what: str) -> dict[str, Any]:
    outcome: dict[str, Any] = {"status": 200, "headers": [("content-type", "application/json")]}
    outcome |= {"chunks": [], "at": [], "cut": None}
    if what in _STATUSES:
        body = {"error": {"message": _STATUSES[what], "type": "server_error", "code": what}}
        outcome |= {"status": int(what), "chunks": [json.dumps(body).encode()]}
    elif what == "timeout":
        outcome |= {"status": None, "headers": [], "cut": "ReadTimeout: timed out"}
    elif what == "garbage":
        outcome["chunks"] = [b'{"id": "answer-1", "choi']
    elif what == "cut":
        outcome |= {"chunks": [b'{"id": "ans'], "cut": "RemoteProtocolError: peer closed connection"}
    outcome["at"] = [0] * len(outcome["chunks"])
    return outcome
