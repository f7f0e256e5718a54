"""What a run came to: calls, failures, tokens, cost and time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.columns import CALL_KINDS, LLM, TOOL
from agentdbg.analysis.memory import token_counts
from agentdbg.analysis.wording import number_or_none

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
        self._tokens: list[tuple[int | None, int | None, int | None]] = []
        self._cost: float | None = None
        self._duration_ms: int | None = None
        self._status: str | None = None
        self._knows_times = True

    def add_model_call(self, payload: dict[str, Any]) -> None:
        if payload.get("usage"):
            self._tokens.append(token_counts(payload))
        cost = payload.get("cost_usd")
        if isinstance(cost, (int, float)) and not isinstance(cost, bool):
            self._cost = (self._cost or 0.0) + cost

    def add_start(self, event: Mapping[str, Any]) -> None:
        self._knows_times = not _lacks_times(event)

    def add_end(self, event: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        status = payload.get("status")
        self._status = status if isinstance(status, str) else None
        self._duration_ms = number_or_none(event.get("duration_ms"))

    def totals(self, steps: Collection[Step]) -> Totals:
        """The figures, where `steps` are all events of the run."""
        kinds = [step.kind for step in steps]
        tokens_in, tokens_out, total_tokens = self._sums()
        return Totals(
            events=len(kinds),
            llm_calls=kinds.count(LLM),
            tool_calls=kinds.count(TOOL),
            failed_calls=len([step for step in steps if step.failed and step.kind in CALL_KINDS]),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            total_tokens=total_tokens,
            cost_usd=None if self._cost is None else round(self._cost, 9),
            duration_ms=self._length_ms(steps) if self._knows_times else None,
            status=self._status,
        )

    def _sums(self) -> list[int | None]:
        """Of tokens in, out and in all, where at least one call told."""
        columns = zip(*self._tokens, strict=True) if self._tokens else ((), (), ())
        return [None if column.count(None) == len(column) else sum(filter(None, column)) for column in columns]

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
