"""
AgentDbg: the debugger for AI agents. Local-first, plain files, one decorator.

    from agentdbg import trace, tool

    @tool
    def search(query): ...

    @trace
    def run_agent(question): ...

Then `agentdbg view` shows what happened. Importing this package does no work: what recording needs is loaded when the
first run starts.

PYTEST_DONT_REWRITE: pytest would like to rewrite the asserts of a package that brings a plugin, and complains when the
package is loaded before it, as `agentdbg run` does.
"""

import os as _os

from agentdbg import around
from agentdbg.control import breakpoint, replay  # noqa: A004 -- used as `agentdbg.breakpoint()`
from agentdbg.exceptions import AgentDbgGuardrailExceeded, AgentDbgLoopAbort, AgentDbgReplayDiverged
from agentdbg.recorder.decorators import llm, llm_call, tool, tool_call
from agentdbg.recorder.draws import draw
from agentdbg.recorder.draws import follow_waiting as _follow_waiting
from agentdbg.recorder.run_lifecycle import when_taped as _when_taped
from agentdbg.recorder.run_lifecycle import when_whole as _when_whole
from agentdbg.recorder.traced_runs import current_run, has_active_run, trace, traced_run
from agentdbg.recorder.verbs import (
    record_error,
    record_event,
    record_llm_call,
    record_outcome,
    record_state,
    record_tool_call,
)
from agentdbg.version import __version__

__all__ = [
    "AgentDbgGuardrailExceeded",
    "AgentDbgLoopAbort",
    "AgentDbgReplayDiverged",
    "__version__",
    "around",
    "breakpoint",
    "current_run",
    "draw",
    "has_active_run",
    "llm",
    "llm_call",
    "record_error",
    "record_event",
    "record_llm_call",
    "record_outcome",
    "record_state",
    "record_tool_call",
    "replay",
    "tool",
    "tool_call",
    "trace",
    "traced_run",
]


def _follow_exchanges() -> None:
    """Let the exchanges with models be on the tape, so that a replay can answer for their servers."""
    from agentdbg.integrations import http  # noqa: PLC0415 -- `import agentdbg` does no work

    http.install()
    _follow_waiting()


def _enable_integrations() -> None:
    from agentdbg.autorun.process import enable_integrations  # noqa: PLC0415 -- as above

    enable_integrations()


_when_taped.append(_follow_exchanges)
_when_whole.append(_enable_integrations)

if "AGENTDBG_AUTO" in _os.environ:  # record this program as `agentdbg run` would
    from agentdbg.autorun.process import start_for_environment

    start_for_environment()

if "AGENTDBG_BREAK" in _os.environ:
    from agentdbg.control.arming import arm_from_environment

    arm_from_environment()
