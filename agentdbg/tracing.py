"""
What records, under the name that the specification gives it: the same names as `agentdbg` itself has.
"""

from __future__ import annotations

from agentdbg.recorder.decorators import llm, llm_call, tool, tool_call
from agentdbg.recorder.traced_runs import current_run, has_active_run, trace, traced_run
from agentdbg.recorder.verbs import record_error, record_event, record_llm_call, record_state, record_tool_call

__all__ = [
    "current_run",
    "has_active_run",
    "llm",
    "llm_call",
    "record_error",
    "record_event",
    "record_llm_call",
    "record_state",
    "record_tool_call",
    "tool",
    "tool_call",
    "trace",
    "traced_run",
]
