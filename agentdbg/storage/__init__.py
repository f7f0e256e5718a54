"""
Runs on disk: where they lie, how they are written, how they are read.

    from agentdbg.storage import list_runs, load_run_meta, load_events, get_event

The readers are loaded when one of them is asked for: the agent's own process only writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentdbg.storage.reader import get_event, list_runs, load_events, load_run_meta

__all__ = ["get_event", "list_runs", "load_events", "load_run_meta"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentdbg.storage import reader  # noqa: PLC0415 -- see above

    return getattr(reader, name)
