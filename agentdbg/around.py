"""
Stand around calls: decide about them before they are made, and write integrations.

A `Decider` is asked about every recorded call, and may answer in its place (`add_decider`, `deciding`). An integration
tells of the calls of a framework: with the blocks of `agentdbg` where it can stand around them, and with a `Pairing`
where the framework only reports that something began and, later, that it ended.
"""

from agentdbg.faults import pass_on
from agentdbg.import_hook import when_imported
from agentdbg.interruptions import hide_own_frames
from agentdbg.recorder.calls import Call, enclosing_call
from agentdbg.recorder.context import at_place, current_place
from agentdbg.recorder.deciders import (
    AnnouncedCall,
    Answer,
    Decider,
    Outcome,
    Proceed,
    Refuse,
    add_decider,
    deciders_for,
    deciding,
    remove_decider,
)
from agentdbg.recorder.given_values import mcp_failure, text_of
from agentdbg.recorder.lazy_runs import LazyRun
from agentdbg.recorder.pairing import Pairing, contained
from agentdbg.recorder.run_lifecycle import when_ending

__all__ = [
    "AnnouncedCall",
    "Answer",
    "Call",
    "Decider",
    "LazyRun",
    "Outcome",
    "Pairing",
    "Proceed",
    "Refuse",
    "add_decider",
    "at_place",
    "contained",
    "current_place",
    "deciders_for",
    "deciding",
    "enclosing_call",
    "hide_own_frames",
    "mcp_failure",
    "pass_on",
    "remove_decider",
    "text_of",
    "when_ending",
    "when_imported",
]
