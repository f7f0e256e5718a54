"""What a run came to: calls, failures, tokens, cost and time, counted while its events are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.columns import END, LLM, START, TOOL
from agentdbg.analysis.memory import token_counts
from agentdbg.analysis.wording import number_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Totals", "TotalsCounter"]

_LARGEST = 1 << 60


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
        self._events = self._llm_calls = self._tool_calls = self._failed_calls = 0
        self._tokens: list[tuple[int | None, int | None, int | None]] = []
        self._cost: float | None = None
        self._first_ms: int | None = None
        self._last_ms = 0
        self._duration_ms: int | None = None
        self._status: str | None = None
        self._knows_times = True

    def add(
        self, kind: int, event: Mapping[str, Any], payload: dict[str, Any], *, failed: bool, moment_ms: int
    ) -> None:
        self._events += 1
        if kind == LLM:
            self._llm_calls += 1
            self._failed_calls += failed
            self._add_usage(payload)
        elif kind == TOOL:
            self._tool_calls += 1
            self._failed_calls += failed
        elif kind == END:
            status = payload.get("status")
            self._status = status if isinstance(status, str) else None
            self._duration_ms = number_or_none(event.get("duration_ms"))
        elif kind == START:
            self._knows_times = not _lacks_times(event)
        if moment_ms:
            if self._first_ms is None or moment_ms < self._first_ms:
                self._first_ms = moment_ms
            self._last_ms = max(self._last_ms, moment_ms)

    def _add_usage(self, payload: dict[str, Any]) -> None:
        self._tokens.append(_token_counts(payload))
        cost = payload.get("cost_usd")
        if isinstance(cost, (int, float)) and not isinstance(cost, bool):
            self._cost = (self._cost or 0.0) + cost

    def totals(self) -> Totals:
        length = self._duration_ms
        if not self._knows_times:
            length = None
        elif length is None and self._first_ms is not None:
            length = self._last_ms - self._first_ms
        cost = None if self._cost is None else round(self._cost, 9)
        return Totals(
            events=self._events,
            llm_calls=self._llm_calls,
            tool_calls=self._tool_calls,
            failed_calls=self._failed_calls,
            tokens_in=self._sum_of(0),
            tokens_out=self._sum_of(1),
            total_tokens=self._sum_of(2),
            cost_usd=cost,
            duration_ms=length,
            status=self._status,
        )

    def _sum_of(self, place: int) -> int | None:
        known = [count for counts in self._tokens if (count := counts[place]) is not None]
        return sum(known) if known else None


def _lacks_times(start: Mapping[str, Any]) -> bool:
    """Whether the run was imported from a file that has no times, and all its events have that of the file."""
    meta = start.get("meta")
    imported = meta.get("imported_from") if isinstance(meta, dict) else None
    return isinstance(imported, dict) and bool(imported.get("times"))


def _token_counts(payload: dict[str, Any]) -> tuple[int | None, int | None, int | None]:
    """As `token_counts`, but quick where the usage is three plain numbers, which is nearly always."""
    usage = payload.get("usage")
    if isinstance(usage, dict):
        tokens_in: Any = usage.get("prompt_tokens")
        tokens_out: Any = usage.get("completion_tokens")
        total: Any = usage.get("total_tokens")
        plain = type(tokens_in) is type(tokens_out) is type(total) is int
        if plain and 0 <= tokens_in <= total and 0 <= tokens_out <= total < _LARGEST:
            return tokens_in, tokens_out, total
    return token_counts(payload)
