"""
Every exception of ours, and how the command line and the server answer it.

    Exception
    ├── AgentDbgGuardrailExceeded      a limit the user asked for; the only thing we raise into an agent
    │   └── AgentDbgLoopAbort          stop_on_loop
    ├── AgentDbgForkRefused            a call that a fork does not make; raised into the program
    ├── AgentDbgReplayDiverged         a replayed program does something else than it did; raised into it
    ├── RunLeftOpen                    never raised; stored when a program exits inside a run
    └── AgentDbgError                  read side only: commands, server, library readers
        ├── UsageError                 what was asked for makes no sense
        │   ├── InvalidRunId
        │   └── AmbiguousRun
        ├── RunNotFound
        │   └── DeletedRunNotFound
        ├── EventNotFound
        ├── UnsupportedSpecVersion
        ├── DataFolderUnusable         the data folder is a file, or may not be read
        └── ViewerUnavailable          the port is taken, or nothing could be served
    BaseException
    ├── ReplayReached                  a replay has come to the step it was to stop at
    └── RunStopped                     what a guardrail becomes once `except Exception` has swallowed it

`exit_code` is what the command line exits with, `http_status` what the server answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "AgentDbgError",
    "AgentDbgForkRefused",
    "AgentDbgGuardrailExceeded",
    "AgentDbgLoopAbort",
    "AgentDbgReplayDiverged",
    "AmbiguousRun",
    "DataFolderUnusable",
    "DeletedRunNotFound",
    "EventNotFound",
    "InvalidRunId",
    "ReplayReached",
    "RunLeftOpen",
    "RunNotFound",
    "RunStopped",
    "UnsupportedSpecVersion",
    "UsageError",
    "ViewerUnavailable",
]


class AgentDbgGuardrailExceeded(Exception):
    """A limit the user set was crossed, and the run is being stopped, or the span in it that has this limit."""

    def __init__(self, guardrail: str, threshold: float, actual: float, message: str | None = None) -> None:
        super().__init__(message or f"{guardrail} exceeded: {actual:g} of {threshold:g}")
        self.guardrail = guardrail
        self.threshold = threshold
        self.actual = actual
        self.run_id: str | None = None
        self.span_id: str | None = None
        """The nested trace whose own limit it was; None for a limit of the run."""

    def __reduce__(self) -> tuple[type[AgentDbgGuardrailExceeded], tuple[str, float, float, str]]:
        # Pools send exceptions between processes by pickling; the default would lose all but the message.
        return type(self), (self.guardrail, self.threshold, self.actual, str(self))


class AgentDbgLoopAbort(AgentDbgGuardrailExceeded):
    """The agent was going round in circles and `stop_on_loop` was set."""


class AgentDbgForkRefused(RuntimeError):
    """A live call of a fork was not made: it would write, or send a secret that is not known."""


class AgentDbgReplayDiverged(Exception):
    """A replayed program asked for something that its recording does not have, and is being stopped."""

    def __init__(self, message: str, divergence: Any = None) -> None:
        super().__init__(message)
        self.divergence = divergence
        """What is different, for programs: its `to_json()` is what `agentdbg replay --report` writes."""

    def __reduce__(self) -> tuple[type[AgentDbgReplayDiverged], tuple[str]]:
        return type(self), (str(self),)


class ReplayReached(BaseException):
    """A replay has come to the step that it was to stop at; not to be caught by the program."""

    def __init__(self) -> None:
        super().__init__("the replay has come to the step it was to stop at")


class RunStopped(BaseException):
    """
    The stop that `except Exception` cannot hold.

    Raised once the public exception has been swallowed. The edge of the run, or of the span that is stopped, turns it
    back into `public`, so nobody outside ever sees it.
    """

    def __init__(self, public: AgentDbgGuardrailExceeded | AgentDbgReplayDiverged) -> None:
        super().__init__(str(public))
        self.public = public

    def __reduce__(self) -> tuple[type[RunStopped], tuple[AgentDbgGuardrailExceeded | AgentDbgReplayDiverged]]:
        return type(self), (self.public,)


class RunLeftOpen(Exception):
    """The program ended while a run was still open, in a daemon thread for example."""

    def __init__(self) -> None:
        super().__init__("the program ended while this run was still open")


class AgentDbgError(Exception):
    """Something on the read side could not be done; the message says what and what to do."""

    exit_code = 10
    http_status = 500
    code = "internal_error"


class UsageError(AgentDbgError):
    """What was asked for makes no sense as it stands."""

    exit_code = 2
    http_status = 400
    code = "bad_request"


class InvalidRunId(UsageError):
    """The text given as a run id cannot be one."""

    code = "invalid_run_id"

    def __init__(self, wanted: str) -> None:
        super().__init__(f"{wanted!r} is not a run id; `agentdbg list` shows the ids")
        self.wanted = wanted


class AmbiguousRun(UsageError):
    """A prefix that several runs share."""

    code = "ambiguous_run"

    def __init__(self, wanted: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(candidates[:10]) + (f" and {len(candidates) - 10} more" if len(candidates) > 10 else "")
        super().__init__(f"{wanted!r} matches {len(candidates)} runs: {shown}. Use a longer prefix")
        self.wanted = wanted
        self.candidates = list(candidates)


_WHAT_THERE_IS = "`agentdbg list` shows what is there"


class RunNotFound(AgentDbgError):
    """No stored run matches what the user asked for."""

    exit_code = 2
    http_status = 404
    code = "run_not_found"

    def __init__(self, wanted: str, data_dir: Path) -> None:
        hint = "there are none yet; `agentdbg demo` records a few" if wanted == "latest" else _WHAT_THERE_IS
        super().__init__(f"no run matches {wanted!r} in {data_dir}; {hint}")
        self.wanted = wanted


class DeletedRunNotFound(RunNotFound):
    """No run in the trash matches what the user asked for."""

    def __init__(self, wanted: str, trash: Path) -> None:
        AgentDbgError.__init__(
            self, f"no deleted run matches {wanted!r} in {trash}; `agentdbg restore` shows what can be brought back"
        )
        self.wanted = wanted


class EventNotFound(AgentDbgError):
    """The run exists, the event does not."""

    exit_code = 2
    http_status = 404
    code = "event_not_found"

    def __init__(self, wanted: str, run_id: str) -> None:
        super().__init__(f"run {run_id} has no event {wanted!r}; `agentdbg show {run_id[:8]}` lists its events")
        self.wanted = wanted


class UnsupportedSpecVersion(AgentDbgError):
    """The run was written in a format this version does not read."""

    exit_code = 2
    http_status = 422
    code = "unsupported_spec_version"

    def __init__(self, run_id: str, spec_version: str) -> None:
        super().__init__(
            f"run {run_id} is in trace format {spec_version}, and this version reads 0.x; upgrade agentdbg to read it"
        )
        self.spec_version = spec_version


class DataFolderUnusable(AgentDbgError):
    """The place where runs are stored is no folder that can be read."""

    code = "data_folder_unusable"

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(
            f"runs cannot be read from {path} ({reason}); set AGENTDBG_DATA_DIR or data_dir in config.yaml to a folder"
        )
        self.path = str(path)


class ViewerUnavailable(AgentDbgError):
    """The viewer could not be started."""

    code = "viewer_unavailable"
