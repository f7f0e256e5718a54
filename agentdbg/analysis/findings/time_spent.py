"""
Where the time went: models, tools, the program's own code, and the few steps that took longest.

Calls that overlap are counted once, so parallel work does not add up to more than the run.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.sentences import code, line
from agentdbg.analysis.stats import Coverage
from agentdbg.analysis.wording import duration, timestamp_ms

if TYPE_CHECKING:
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.analysis.sentences import VerdictPart
    from agentdbg.events import Event

__all__ = ["TimeSpent"]

_SLOWEST = 5
_NAMED = 3
_WORTH_TELLING_MS = 1_000


class TimeSpent:
    """Adds up calls and keeps the longest."""

    types = frozenset({"RUN_START", "LLM_CALL", "TOOL_CALL"})

    def __init__(self) -> None:
        self._began = 0
        self._model = Coverage()
        self._busy = Coverage()
        self._slowest: list[tuple[int, int, str, str]] = []
        self._timed = 0
        self._untimed_models = 0

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:  # noqa: ARG002
        length = event.get("duration_ms")
        if event["event_type"] == "RUN_START":
            self._began = timestamp_ms(event.get("ts")) or 0
            return
        if not isinstance(length, int) or length < 0:
            self._untimed_models += event["event_type"] == "LLM_CALL"
            return
        self._timed += 1
        end = max((timestamp_ms(event.get("ts")) or 0) - self._began, length)
        self._busy.add(end - length, end)
        if event["event_type"] == "LLM_CALL":
            self._model.add(end - length, end)
        step = (length, -number, event["name"], event["event_id"])
        if len(self._slowest) < _SLOWEST:
            heapq.heappush(self._slowest, step)
        elif step > self._slowest[0]:
            heapq.heapreplace(self._slowest, step)

    def finish(self, end: RunEnd) -> list[Finding]:
        whole = end.duration_ms
        # Where the model's calls have no times, what the rest took would look like all there was.
        if not whole or not self._timed or whole < _WORTH_TELLING_MS or self._untimed_models:
            return []
        model, busy = min(self._model.total, whole), min(self._busy.total, whole)
        shares = {"model_ms": model, "tool_ms": busy - model, "own_ms": whole - busy}
        slowest = sorted(self._slowest, reverse=True)
        evidence = Evidence()
        for _, number, _, event_id in slowest:
            evidence.add(-number, event_id)
        steps = [{"event": -number, "name": name, "duration_ms": length} for length, number, name, _ in slowest]
        pieces: list[str | VerdictPart] = [f"Of {duration(whole)}, {_in_words(shares, whole)}. The slowest: "]
        for position, (length, number, name, _) in enumerate(slowest[:_NAMED]):
            pieces += [", " if position else "", code(name), f" #{-number} {duration(length)}"]
        figures: dict[str, Any] = {**shares, "duration_ms": whole, "slowest": steps}
        return [Finding("time_spent", "info", line(-slowest[0][1], *pieces, "."), evidence, figures)]


def _in_words(shares: dict[str, int], whole: int) -> str:
    words = {"model_ms": "the model took", "tool_ms": "tools", "own_ms": "everything else"}
    said = [(name, round(100 * shares[key] / whole)) for key, name in words.items()]
    shown = [f"{name} {share} %" for name, share in said if share]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
