"""
A value that stands for what a call gives.
"""

from __future__ import annotations

from typing import Any

from agentdbg.recorder.deciders import Answer

__all__ = ["as_given"]


def as_given(value: Any, served: str) -> Answer:
    """A call that gives this; of a generator a list is what it yields, as its event has it."""
    return Answer(value, items=value if type(value) is list else None, served=served)
