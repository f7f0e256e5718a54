"""
Run a recorded program again: answer its calls from the tape (replay), and build on that (fork, breakpoints).

A `Session` is a decider. For each call it finds the recorded one (`matching`), asks its `Plan` what to do with it
(`plan`), lets calls end in the order in which they ended (`gate`), tells what is different (`divergence`), and keeps
the machine closed meanwhile (`effects_guard`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.loading import undisturbed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agentdbg.control.replay_block import ReplayBlock

__all__ = ["breakpoint", "replay"]


def breakpoint(name: str = "", **shown: Any) -> None:  # noqa: A001 -- read as `agentdbg.breakpoint()`
    """
    Pause here, inside a run, and show these values; whoever looks may go on, step to the next call, or abort.

    Without a terminal, and where nothing else waits for an answer, the program goes on at once.
    """
    with undisturbed():
        from agentdbg.control.arming import pause_in_code  # noqa: PLC0415 -- loaded by whoever pauses

    pause_in_code(name, shown)


def replay(
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
) -> ReplayBlock:
    """
    Answer the calls of a block from a recorded run: `with agentdbg.replay("3f2a") as replayed:`, also `async with`.

    `run` is an id, a unique prefix, or the path of a recording. At the end AgentDbgReplayDiverged is raised when
    anything was different, unless `check` is False. The options are those of `agentdbg replay`; `mocks` answers tools
    and models by name, with a value, an exception or a function; `faults` lets them fail as `--fault` does.
    """
    from agentdbg.control.replay_block import ReplayBlock  # noqa: PLC0415 -- loaded by whoever replays

    return ReplayBlock(
        run,
        mocks=mocks,
        faults=faults,
        on_divergence=on_divergence,
        check=check,
        until=until,
        loose=loose,
        ignore=ignore,
        allow=allow,
        clock=clock,
        keep_sleep=keep_sleep,
    )
