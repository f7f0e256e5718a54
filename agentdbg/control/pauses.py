"""
One pause: what is shown of a call, who may answer, and what an answer makes of the call.

A pause is posted as a file, so the page, another terminal or an assistant can answer it; where the program has a
terminal of its own, that asks too. The first answer counts. Answers hold values only. Nothing waits where nobody can
answer: without a terminal and without a time to wait, the program goes on at once.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.control.kept_values import kept_where_unchanged
from agentdbg.control.value_paths import parse_path
from agentdbg.events import utc_timestamp
from agentdbg.exceptions import UsageError
from agentdbg.faults import contain, pass_on
from agentdbg.interpreter import frame_above
from agentdbg.owner import describe_owner
from agentdbg.recorder.source_lines import is_user_file
from agentdbg.storage.control_files import new_pause_id, post_pause, reject_command, take_command, withdraw_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType

__all__ = [
    "ACTIONS",
    "CALLED_OFF",
    "Answered",
    "Pause",
    "Waiting",
    "error_named",
    "is_terminal",
    "mistake_in",
    "root_of",
    "steps_into",
]

ACTIONS = ("continue", "step", "into", "out", "skip", "raise", "mock", "abort")
_LOOK_SECONDS = 0.02
_GIVES_UP_SECONDS = 0.2
CALLED_OFF = "another pause"
"""Who answers what still waits when the program is ended at one of several pauses."""
_UNCHANGED: Any = object()


def is_terminal() -> bool:
    """Whether a person can be asked here: standard input and standard error are a terminal, and it is ours now."""
    try:
        return bool(sys.stdin.isatty() and sys.stderr.isatty()) and _is_in_front(sys.stdin.fileno())
    except (AttributeError, ValueError, OSError) as error:  # the program may have replaced or closed them
        pass_on(error, of_user_code=True)
        return False


def _is_in_front(terminal: int) -> bool:
    """Whether the terminal listens to this process: one started with `&` is stopped as soon as it asks anything."""
    try:
        return not hasattr(os, "tcgetpgrp") or os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError as error:  # a terminal without jobs
        pass_on(error)
        return True


def _user_frames() -> list[FrameType]:
    """Where this is in the program's own code, the nearest first; a paused task is on no stack any more."""
    frame: FrameType | None = frame_above()
    frames: list[FrameType] = []
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            frames.append(frame)
        frame = frame.f_back
    return frames


@dataclass
class Answered:
    """What somebody said to a pause."""

    do: str = "continue"
    value: Any = _UNCHANGED
    """What comes in the place of the input, or of the outcome."""
    error: BaseException | None = None
    by: str = "nobody"
    """terminal, page, attach, assistant or nobody."""
    breaks: list[str] | None = None
    """Where to pause from now on, if that was changed."""

    @property
    def is_edited(self) -> bool:
        """Whether a value was given."""
        return self.value is not _UNCHANGED


@dataclass
class Pause:
    """What waits, as it is shown."""

    when: str
    """before or after."""
    kind: str
    name: str
    shown: Any
    """The input before a call, the outcome after it: JSON, without secrets."""
    original: Any
    call_id: str = ""
    number: int = 0
    source: str | None = None
    lane: str = ""
    reason: str = ""
    error: str | None = None
    spent: str = ""
    can_edit: bool = True
    can_skip: bool = True
    calls_before: int = 0
    """How many calls the program had begun when it came here; not this one."""
    shows: dict[str, Any] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    """Where the program pauses, as it stands."""
    frames: list[FrameType] = field(default_factory=list)
    """Where the program waits, in its own code, the nearest first; only while it waits, and only in its process."""
    pause_id: str = field(default_factory=new_pause_id)
    since: str = field(default_factory=utc_timestamp)

    @property
    def place(self) -> str:
        """Where it waits, in words."""
        return f"at the breakpoint {self.name}" if self.when == "here" else f"{self.when} {self.kind} {self.name}"

    def as_json(self, until: float | None) -> dict[str, Any]:
        """The control file: what the page and other terminals show."""
        return {
            "pause_id": self.pause_id,
            "since": self.since,
            "when": self.when,
            "call": {"call_id": self.call_id, "kind": self.kind, "name": self.name, "number": self.number},
            "source": self.source,
            "lane": self.lane,
            "reason": self.reason,
            "error": self.error,
            "spent": self.spent,
            "value": self.shown,
            "shows": self.shows,
            "breaks": self.breaks,
            "can": self.can,
            "until": until,
            "owner": describe_owner(),
        }

    @property
    def can(self) -> list[str]:
        """What an answer may do besides going on."""
        return [*(["edit"] if self.can_edit else []), *(["skip", "raise", "mock"] if self.can_skip else [])]

    def understood(self, command: dict[str, Any]) -> Answered | None:
        """What a command says; None where it makes no sense here, so that the program goes on waiting."""
        if mistake_in(command, self.can):
            return None
        do = command["do"]
        answered = Answered(do, by=str(command.get("by") or "page")[:40])
        if isinstance(command.get("breaks"), list):
            answered.breaks = [one for one in command["breaks"] if isinstance(one, str)][:100]
        if do == "raise":
            error = command["error"]
            answered.error = error_named(str(error.get("type") or "RuntimeError"), str(error.get("message") or ""))
        elif do in ("skip", "mock"):
            answered.value = command["value"]
        elif "value" in command and do != "abort":
            value = kept_where_unchanged(self.original, self.shown, command["value"])
            if value is not self.original:
                answered.value = value
        return answered


def mistake_in(command: dict[str, Any], can: Sequence[str]) -> str:
    """Why a command makes no sense to a pause that `can` do this; empty where it does."""
    do = command.get("do")
    if do not in ACTIONS:
        return f"do is {do!r:.40}; it can be {', '.join(ACTIONS)}"
    if do in ("skip", "raise", "mock") and do not in can:
        return "this call can only be looked at: whoever makes it lets nobody answer in its place"
    if do in ("skip", "mock") and "value" not in command:
        return f"{do} needs a value"
    if do == "raise" and not isinstance(command.get("error"), dict):
        return 'raise needs an error: {"type": "TimeoutError", "message": "…"}'
    if do not in ("skip", "mock", "raise", "abort") and "value" in command and "edit" not in can:
        return "this call can only be looked at: nothing in it can be changed"
    return ""


def root_of(when: str, kind: str) -> str:
    """The name under which paths lead into what a pause shows."""
    return {"after": "result", "here": "shown"}.get(when) or ("args" if kind == "tool" else "prompt")


_ALSO = {"result": ("response",), "prompt": ("messages", "input")}
"""Other words for what a pause shows, as `fork --set` and conditions have them."""


def steps_into(root: str, value: Any, path: str) -> tuple[str | int, ...]:
    """Where a path leads in what a pause shows under `root`; it may begin inside. Raises UsageError."""
    steps = parse_path(path)
    if steps[0] == root:
        return steps
    if isinstance(value, dict) and steps[0] in value:
        return (root, *steps)
    if steps[0] in _ALSO.get(root, ()):
        return (root, *steps[1:])
    raise UsageError(f"{path[:60]} leads nowhere here; paths begin with {root}")


def error_named(name: str, message: str) -> Exception:
    """A built-in exception by its name; another name becomes part of the text. Nothing is imported."""
    kind = getattr(builtins, name.rpartition(".")[2], None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(message)
        except TypeError as error:  # UnicodeDecodeError and its like want more
            pass_on(error)
    return RuntimeError(f"{name}: {message}" if message else name)


class Waiting:
    """Waits for the answer to one pause, wherever it comes from."""

    def __init__(
        self,
        pause: Pause,
        run_folder: Path,
        ask: Callable[[Pause, Callable[[], Answered | None]], Answered | None] | None,
        is_called_off: Callable[[], bool],
        *,
        seconds: float,
        then: str,
    ) -> None:
        self._pause = pause
        self._folder = run_folder
        self._ask = ask
        self._is_called_off = is_called_off
        self._seconds = seconds
        self._then = then
        self._answer: Answered | None = None
        self._asking: threading.Thread | None = None
        self._is_over = False

    def here(self) -> Answered:
        """Wait in this thread."""
        with self._posted() as until:
            if self._ask is not None:
                return self._ask(self._pause, self._elsewhere) or Answered("continue", by="terminal")
            while (answer := self._elsewhere()) is None and time.monotonic() < until:
                time.sleep(_LOOK_SECONDS)
            return answer or Answered(self._then)

    async def in_task(self) -> Answered:
        """Wait in this task, without keeping the event loop from its other work."""
        with self._posted() as until:
            if self._ask is not None:
                self._asking = threading.Thread(target=self._ask_aside, name="agentdbg-prompt", daemon=True)
                self._asking.start()
            while (answer := self._elsewhere()) is None:
                if self._asking is None and time.monotonic() >= until:
                    return Answered(self._then)
                await asyncio.sleep(_LOOK_SECONDS)
            return answer

    def _ask_aside(self) -> None:
        assert self._ask is not None
        try:
            self._answer = self._ask(self._pause, self._elsewhere) or Answered(by="terminal")
        except BaseException:
            self._answer = Answered(by="terminal")
            raise

    @contextlib.contextmanager
    def _posted(self) -> Any:
        """The pause as a file, for as long as it lasts. A disk that takes no file leaves the terminal alone to ask."""
        until = time.monotonic() + self._seconds
        ends_at = None if self._ask is not None else time.time() + self._seconds
        try:
            post_pause(self._folder, self._pause.as_json(ends_at))
        except (OSError, ValueError) as fault:
            contain(fault, "say that the program is paused")
        self._pause.frames = _user_frames()
        try:
            yield until
        finally:
            self._pause.frames = []
            self._is_over = True
            withdraw_pause(self._folder, self._pause.pause_id)
            if self._asking is not None:  # who asks sees it at its next look, and gives the terminal back
                self._asking.join(_GIVES_UP_SECONDS)

    def _elsewhere(self) -> Answered | None:
        """What somebody else has answered by now."""
        if self._answer is not None:
            return self._answer
        if self._is_over:
            return Answered()  # a task that waited was cancelled: its call is not made, whatever is said
        if self._is_called_off():
            return Answered("abort", by=CALLED_OFF)
        command = take_command(self._folder, self._pause.pause_id)
        answered = None if command is None else self._pause.understood(command)
        if command is not None and answered is None:
            reject_command(self._folder, self._pause.pause_id)
        return answered
