"""What a run came to: calls, failures, tokens, cost and time, counted while its events are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.columns import END, LLM, TOOL
from agentdbg.analysis.memory import token_counts
from agentdbg.analysis.wording import number_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Counts one event after the other."""

    def __init__(self) -> None:
        self._counts = {"events": 0, "llm_calls": 0, "tool_calls": 0, "failed_calls": 0}
        self._tokens: list[int | None] = [None, None, None]
        self._cost: float | None = None
        self._first_ms: int | None = None
        self._last_ms = 0
        self._duration_ms: int | None = None
        self._status: str | None = None

    def add(
        self, kind: int, event: Mapping[str, Any], payload: dict[str, Any], *, failed: bool, moment_ms: int
    ) -> None:
        counts = self._counts
        counts["events"] += 1
        if kind in (LLM, TOOL):
            counts["llm_calls" if kind == LLM else "tool_calls"] += 1
            counts["failed_calls"] += failed
        if kind == LLM:
            self._add_usage(payload)
        elif kind == END:
            status = payload.get("status")
            self._status = status if isinstance(status, str) else None
            self._duration_ms = number_or_none(event.get("duration_ms"))
        if moment_ms:
            self._first_ms = moment_ms if self._first_ms is None else min(self._first_ms, moment_ms)
            self._last_ms = max(self._last_ms, moment_ms)

    def _add_usage(self, payload: dict[str, Any]) -> None:
        for place, count in enumerate(token_counts(payload)):
            if count is not None:
                self._tokens[place] = (self._tokens[place] or 0) + count
        cost = payload.get("cost_usd")
        if isinstance(cost, (int, float)) and not isinstance(cost, bool):
            self._cost = (self._cost or 0.0) + cost

    def totals(self) -> Totals:
        length = self._duration_ms
        if length is None and self._first_ms is not None:
            length = self._last_ms - self._first_ms
        tokens_in, tokens_out, total = self._tokens
        cost = None if self._cost is None else round(self._cost, 9)
        return Totals(**self._counts, tokens_in=tokens_in, tokens_out=tokens_out, total_tokens=total, cost_usd=cost,
                      duration_ms=length, status=self._status)  # fmt: skip
