"""
Decide when an agent is going round in circles.

`LoopDetector` looks at each event as it is recorded, or as it is read again from a file, and names what repeats.
It reads no clock and writes no file; whether a loop stops the run is decided by the guardrails.
"""

from __future__ import annotations

from agentdbg.loops.detector import LoopDetector
from agentdbg.loops.ledger import ActiveLoop, LoopFinding

__all__ = ["ActiveLoop", "LoopDetector", "LoopFinding"]
