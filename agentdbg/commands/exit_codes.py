"""What went wrong, as a sentence on stderr and an exit code."""

from __future__ import annotations

import os

from agentdbg.commands.terminal import problem
from agentdbg.exceptions import AgentDbgError

__all__ = ["exit_code_of"]


def exit_code_of(error: Exception) -> int:
    """Say what went wrong, and give the exit code for it."""
    if isinstance(error, AgentDbgError):
        problem(str(error))
        return error.exit_code
    if os.environ.get("AGENTDBG_TRACEBACK") == "1":
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        problem(f"{error.strerror}: {error.filename}" if error.filename else error.strerror)
    else:
        problem(f"internal error, {what}; AGENTDBG_TRACEBACK=1 shows where")
    return AgentDbgError.exit_code
