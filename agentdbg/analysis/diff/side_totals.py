"""What a run came to: calls, failures, tokens, cost and time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.run_columns import CALL_KINDS, LLM, TOOL
from agentdbg.analysis.wording import number_or_none
from agentdbg.events.facts import call_failed, cost_of, tokens_of
from agentdbg.events.totals import RunTotals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from agentdbg.analysis.diff.steps import Step

__all__ = ["Totals", "TotalsCounter"]


@dataclass(frozen=True)
class Totals:
    """The figures of one side; None where nothing is known."""

    events: int = 0
    llm_calls: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None
    status: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class TotalsCounter:
    """Notes what the events of one run say of its cost and length; the rest is counted at the end."""

    def __init__(self) -> None:
        self._spent = RunTotals()
        self._duration_ms: int | None = None
        self._status: str | None = None
        self._knows_times = True

    def add_model_call(self, payload: dict[str, Any]) -> None:
        self._spent.add_model_call(tokens_of(payload), cost_of(payload))

    def add_start(self, event: Mapping[str, Any]) -> None:
        self._knows_times = not _lacks_times(event)

    def add_end(self, event: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        self._status = "error" if call_failed(payload) else "ok"
        self._duration_ms = number_or_none(event.get("duration_ms"))

    def totals(self, steps: Collection[Step]) -> Totals:
        """The figures, where `steps` are all events of the run."""
        kinds = [step.kind for step in steps]
        tokens_in, tokens_out, total_tokens = self._spent.tokens()
        return Totals(
            events=len(kinds),
            llm_calls=kinds.count(LLM),
            tool_calls=kinds.count(TOOL),
            failed_calls=len([step for step in steps if step.failed and step.kind in CALL_KINDS]),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            total_tokens=total_tokens,
            cost_usd=self._spent.cost(),
            duration_ms=self._length_ms(steps) if self._knows_times else None,
            status=self._status,
        )

    def _length_ms(self, steps: Iterable[Step]) -> int | None:
        if self._duration_ms is not None:
            return self._duration_ms
        moments = [step.end_ms for step in steps if step.end_ms]
        return max(moments) - min(moments) if moments else None


def _lacks_times(start: Mapping[str, Any]) -> bool:
    """Whether the run was imported from a file that has no times, and all its events have that of the file."""
    meta = start.get("meta")
    imported = meta.get("imported_from") if isinstance(meta, dict) else None
    return isinstance(imported, dict) and bool(imported.get("times"))
