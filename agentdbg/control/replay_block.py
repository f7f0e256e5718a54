"""
`with agentdbg.replay("3f2a") as replayed:` answers the calls of a block from a recorded run.

    with agentdbg.replay("3f2a", mocks={"refund": {"ok": True}}) as replayed:
        answer = agent.run()
    replayed.equal, replayed.divergence, replayed.served, replayed.live, replayed.run_id

At the end AgentDbgReplayDiverged is raised when anything was different, unless `check=False`. Meanwhile the machine is
closed as under `agentdbg replay`; connections that were open before are not seen (`replayed.open_before` names them).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agentdbg.config import load_config
from agentdbg.control.effects_guard import parse_allow
from agentdbg.control.forking import MockedPlan
from agentdbg.control.mocks import Mocks
from agentdbg.control.recorded_calls import recorded_arguments, until_event
from agentdbg.control.recorded_runs import open_recorded
from agentdbg.control.replay_file import read_replay_file
from agentdbg.control.replaying import Replay, ReplayOptions
from agentdbg.control.volatile_inputs import parse_ignore
from agentdbg.exceptions import AgentDbgReplayDiverged, ReplayReached, RunStopped, UsageError
from agentdbg.recorder.traced_runs import traced_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from agentdbg.control.divergence import Divergence

__all__ = ["ReplayBlock", "Replayed"]

_TAPE = "AGENTDBG_TAPE"


class Replayed:
    """How a replay goes; complete when the block is over."""

    def __init__(self, inner: Replay) -> None:
        self._inner = inner

    @property
    def equal(self) -> bool:
        """Whether the program did what it had done."""
        return self._inner.session.is_equal

    @property
    def divergence(self) -> Divergence | None:
        """The first thing that was different."""
        return self._inner.session.first

    @property
    def served(self) -> int:
        """How many calls were answered from the recording."""
        return self._inner.counts["served"]

    @property
    def live(self) -> int:
        """How many calls were really made."""
        return self._inner.counts["live"]

    @property
    def run_id(self) -> str | None:
        """The run that was recorded meanwhile."""
        return self._inner.new_run_id

    @property
    def arguments(self) -> dict[str, Any]:
        """What the traced function was called with, by name."""
        return recorded_arguments(self._inner.opened)

    @property
    def open_before(self) -> list[str]:
        """Connections that were open when the block began."""
        return self._inner.open_before

    def report(self) -> dict[str, Any]:
        """What `agentdbg replay --report` would write."""
        return self._inner.report()


class ReplayBlock:
    """Answer the calls of a block from a recorded run: its id, a unique prefix, or the path of a recording."""

    def __init__(
        self,
        run: str | Path,
        *,
        mocks: Mapping[str, Any] | None = None,
        faults: Mapping[str, str] | None = None,
        on_divergence: str = "stop",
        check: bool = True,
        until: str | None = None,
        loose: bool = False,
        ignore: Sequence[str] = (),
        allow: Sequence[str] = (),
        clock: str = "recorded",
        keep_sleep: bool = False,
    ) -> None:
        if on_divergence not in ("stop", "live", "nearest"):
            raise UsageError(f"on_divergence is {on_divergence!r}; it can be stop, live or nearest")
        data_dir = load_config().data_dir
        opened = open_recorded(str(run), data_dir)
        file = read_replay_file()
        options = ReplayOptions(
            any_lane=loose,
            on_divergence=on_divergence,
            until=None if until is None else until_event(opened, until, data_dir),
            volatile=[*map(parse_ignore, ignore), *file.volatile],
            allow=[*map(parse_allow, allow), *file.allow],
            clock=clock,
            keep_sleep=keep_sleep,
            plan=MockedPlan(Mocks.of_values(mocks or {}, faults)) if mocks or faults else None,
        )
        self._check = check
        self._replay = Replay(opened, options)
        self._whole: traced_run | None = None
        self._tape: str | None = None

    def __enter__(self) -> Replayed:
        self._tape = os.environ.get(_TAPE)
        os.environ[_TAPE] = "1"  # a call is found by its place, which is counted for the tape
        self._replay.start()
        if self._replay.opened.head.get("whole"):  # nothing in the program begins a run
            self._whole = traced_run(self._replay.opened.main.undated_name)
            self._whole.__enter__()
        return Replayed(self._replay)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        try:
            if self._whole is not None:
                self._whole.__exit__(kind, error, trace)
        finally:
            self._replay.stop()
            self._replay.keep_verdicts()
            self._replay.opened.close()
            if self._tape is None:
                os.environ.pop(_TAPE, None)
            else:
                os.environ[_TAPE] = self._tape
        if isinstance(error, ReplayReached):
            return True
        if isinstance(error, RunStopped) and isinstance(error.public, AgentDbgReplayDiverged):
            raise error.public from None
        first = self._replay.session.first
        if error is None and self._check and not self._replay.session.is_equal and first is not None:
            raise AgentDbgReplayDiverged(first.text(), first)
        return False

    async def __aenter__(self) -> Replayed:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return self.__exit__(kind, error, trace)
