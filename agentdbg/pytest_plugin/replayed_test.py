"""
A test whose calls are answered from a recording, and the recording of one that has none yet.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.control.recorded_calls import recorded_arguments
from agentdbg.control.recorded_runs import open_recorded
from agentdbg.control.recording_file import write_recording
from agentdbg.control.replay_file import read_replay_file
from agentdbg.control.replaying import Replay, ReplayOptions
from agentdbg.pytest_plugin.recording import Recording
from agentdbg.storage.layout import run_dir

if TYPE_CHECKING:
    from agentdbg.control.recorded_runs import Opened

__all__ = ["RecordedAnew", "ReplayedTest", "recording_of"]

_DATA_DIR, _TAPE = "AGENTDBG_DATA_DIR", "AGENTDBG_TAPE"


def recording_of(name: str, data_dir: Path, path: Path, mode: str, *, temporary: Path) -> ReplayedTest | RecordedAnew:
    """What a test with this recording gets: a replay of it, or a new recording where `mode` (once, all) says so."""
    if mode == "all" or (mode == "once" and not path.exists()):
        return RecordedAnew(name, data_dir, path)
    if not path.exists():
        raise AssertionError(
            f"there is no recording {path}; `pytest --agentdbg-record=once` records the test, `agentdbg test RUN`"
            " makes one of a run"
        )
    return ReplayedTest(name, data_dir, path, temporary=temporary)


class Original:
    """What is known of the run that is replayed: `agentdbg_run.recorded`."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @property
    def run_id(self) -> str:
        """Its id."""
        return self._opened.main.run_id

    @property
    def arguments(self) -> dict[str, Any]:
        """What the traced function was called with, by name."""
        return recorded_arguments(self._opened)

    @property
    def argv(self) -> list[str]:
        """The command line of the program."""
        return list(self._opened.head.get("argv") or ())


class RecordedAnew(Recording):
    """A test that is recorded with its tape, and kept when it passes."""

    original: Original | None = None

    def __init__(self, name: str, data_dir: Path, path: Path) -> None:
        self._path = path
        self._tape_before = os.environ.get(_TAPE)
        os.environ[_TAPE] = "1"
        super().__init__(name, data_dir)

    def begin(self) -> None:
        """The test's own code runs now."""

    is_stopped = False

    def judge(self, _: BaseException | None) -> str | None:
        """Nothing can be different from what is recorded for the first time."""
        return None

    def keep(self) -> None:
        """The test passed: its run is the recording from now on."""
        _put_back(_TAPE, self._tape_before)
        write_recording(Path(run_dir(self.data_dir, self.run_id)), self._path)


class ReplayedTest(Recording):
    """A test that is replayed. The machine is closed while its own code runs, and only then."""

    def __init__(self, name: str, data_dir: Path, path: Path, *, temporary: Path) -> None:
        self.data_dir = data_dir
        self._name = name
        self._before = {variable: os.environ.get(variable) for variable in (_DATA_DIR, _TAPE)}
        os.environ.update({_DATA_DIR: str(data_dir), _TAPE: "1"})
        self._opened = open_recorded(str(path), data_dir)
        self.original = Original(self._opened)
        file = read_replay_file(path.parent)
        options = ReplayOptions(volatile=file.volatile, allow=[*file.allow, ("write", str(temporary))])
        self._replay = Replay(self._opened, options)
        self._whole: Recording | None = None

    @property
    def run_id(self) -> str:
        """The run that the replay recorded; empty before it has begun."""
        return self._whole.run_id if self._whole is not None else self._replay.new_run_id or ""

    @property
    def is_open(self) -> bool:
        """Whether the test's own run is open; a traced function closes its own."""
        return self._whole is not None and self._whole.is_open

    def begin(self) -> None:
        """The test's own code runs now."""
        if self._opened.head.get("whole"):  # nothing in the program begins a run
            self._whole = Recording(self._name, self.data_dir)
        self._replay.start()

    is_stopped = False
    """Whether a difference ended the test's own code; else what that raised is its own."""

    def judge(self, error: BaseException | None) -> str | None:
        """The test's own code is over, perhaps with an exception: what was different, in words."""
        if isinstance(error, Exception):
            self._replay.session.ended_by = type(error).__name__
        self._replay.stop()
        self.is_stopped = self._replay.session.stopped is not None
        first = self._replay.session.first
        if first is None or self._replay.session.is_equal:
            return None
        equal = first.equal_before
        calls = "1 call before it was" if equal == 1 else f"{equal} calls before it were"
        told = [f"the replay {first.text()}", f"{calls} the same"]
        return "\n  ".join(told)

    def public_form(self, error: BaseException) -> BaseException | None:
        """What a person should see in place of `error`, if a limit stopped the run."""
        return None if self._whole is None else self._whole.public_form(error)

    def close(self, error: BaseException | None = None) -> None:
        """End the run. The second time does nothing."""
        self._replay.stop()
        if self._whole is not None:
            self._whole.close(error)
        self.restore_environment()

    def restore_environment(self) -> None:
        """Give the environment back what was there."""
        for variable, value in self._before.items():
            _put_back(variable, value)

    def keep(self) -> None:
        """The recording stays as it is."""


def _put_back(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value
