"""
What is public: the modules whose `__all__` keeps its meaning from one release to the next.

Integrations, ours as well as anybody's, are made of these alone, and a test holds ours to it.
"""

from __future__ import annotations

__all__ = ["PUBLIC_MODULES"]

PUBLIC_MODULES = {
    "agentdbg": "record: runs, calls, states, errors",
    "agentdbg.around": "stand around calls: decide about them, write integrations",
    "agentdbg.events": "what an event is: types, schemas, checks",
    "agentdbg.integrations": "record frameworks and model clients",
    "agentdbg.loopdetect": "find loops in events",
    "agentdbg.storage": "read runs",
    "agentdbg.tracing": "record, under the name that the specification gives it",
}
