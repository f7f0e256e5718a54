"""
Loop detection, under the name that the specification gives it.
"""

from __future__ import annotations

from agentdbg.loops import ActiveLoop, LoopDetector, LoopFinding

__all__ = ["ActiveLoop", "LoopDetector", "LoopFinding"]
