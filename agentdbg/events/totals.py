"""
What a run came to: calls, errors, loop warnings, tokens and cost, counted event by event.

`RunTotals` is the only counter. The writer keeps run.json with it, readers count with it where run.json is missing, and
gates, diffs and exports count with it too, so all of them say the same of one run. What an event says is read in
`facts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import Tokens, call_failed, cost_of, error_of, tokens_of, whole_number
from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COST_DIGITS", "TOTAL_FIELDS", "KnownFailures", "RunTotals"]

TOTAL_FIELDS = (
    "llm_calls",
    "tool_calls",
    "failed_calls",
    "errors",
    "loop_warnings",
    "tokens_in",
    "tokens_in_told",
    "tokens_out",
    "tokens_out_told",
    "total_tokens",
    "tokens_told",
    "cost_usd",
    "costs_told",
)
COST_DIGITS = 9
"""A hundred cents are a dollar, although as a sum of fractions they are a little more: so far digits are shown."""
_MOST_FAILURES = 4_096


class RunTotals:
    """
    Numbers that only grow. `…_told` says how many calls said theirs: a sum of which none is told is unknown, not 0.

    `errors` are ERROR events and failed calls. An ERROR with the very type and message of a failed call before it is
    that call's exception on its way out, and is not counted again. Spans and CALL_STARTs count nowhere.
    """

    __slots__ = ("_failures", *TOTAL_FIELDS)

    llm_calls: float
    tool_calls: float
    failed_calls: float
    errors: float
    loop_warnings: float
    tokens_in: float
    tokens_in_told: float
    tokens_out: float
    tokens_out_told: float
    total_tokens: float
    tokens_told: float
    cost_usd: float
    costs_told: float

    def __init__(self) -> None:
        for name in TOTAL_FIELDS:
            setattr(self, name, 0)
        self._failures = KnownFailures()

    def add(self, event_type: str, payload: Mapping[str, Any]) -> None:
        """Count one event."""
        if event_type == "LLM_CALL":
            self.add_model_call(tokens_of(payload), cost_of(payload))
            if call_failed(payload):
                self.add_failed_call(payload)
        elif event_type == "TOOL_CALL":
            self.tool_calls += 1
            if call_failed(payload):
                self.add_failed_call(payload)
        elif event_type == "ERROR":
            self.errors += not self._failures.told(payload)
        elif event_type == "LOOP_WARNING":
            self.loop_warnings += 1
        elif event_type == "RUN_END":
            self._add_end(payload)

    def add_model_call(self, tokens: Tokens, cost_usd: float | None) -> None:
        """Count a model call by what it spent; `add_failed_call` is told besides if it failed."""
        self.llm_calls += 1
        given, written, total = tokens
        if total is not None:
            self.total_tokens += total
            self.tokens_told += 1
            if given is not None:
                self.tokens_in += given
                self.tokens_in_told += 1
            if written is not None:
                self.tokens_out += written
                self.tokens_out_told += 1
        if cost_usd is not None:
            self.cost_usd += cost_usd
            self.costs_told += 1

    def add_failed_call(self, payload: Mapping[str, Any]) -> None:
        """Count that a call, counted as one already, failed."""
        self.failed_calls += 1
        self.errors += 1
        self._failures.remember(error_of(payload))

    def tokens(self) -> Tokens:
        """The tokens of all model calls that said."""
        return Tokens(
            int(self.tokens_in) if self.tokens_in_told else None,
            int(self.tokens_out) if self.tokens_out_told else None,
            int(self.total_tokens) if self.tokens_told else None,
        )

    def cost(self) -> float | None:
        """What all model calls whose cost is known cost, in dollars."""
        return round(self.cost_usd, COST_DIGITS) if self.costs_told else None

    def counts(self) -> dict[str, int]:
        """The four counters of run.json."""
        return {name: int(getattr(self, name)) for name in ("llm_calls", "tool_calls", "errors", "loop_warnings")}

    def _add_end(self, payload: Mapping[str, Any]) -> None:
        """The processes of a forked run count alone, and one error in two of them twice: their sum is what was told."""
        summary = payload.get("summary")
        told = whole_number(summary.get("errors")) if isinstance(summary, dict) else None
        self.errors = max(self.errors, told or 0)


class KnownFailures:
    """The errors that failed calls have told of."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[int, None] = {}

    def remember(self, error: Any) -> None:
        """Note the error of a failed call."""
        if error is not None:
            if len(self._seen) >= _MOST_FAILURES:
                del self._seen[next(iter(self._seen))]
            self._seen[_what_failed(error)] = None

    def told(self, error: Any) -> bool:
        """Whether a failed call has told of this very error."""
        return _what_failed(error) in self._seen


def _what_failed(error: Any) -> int:
    """What tells one error from another; not its words, of which a long run would collect too many."""
    if not isinstance(error, dict):
        return hash(("", _text(error)))
    return hash((_text(error.get("error_type", error.get("type"))), _text(error.get("message"))))


def _text(value: Any) -> str:
    if not value or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except ValueError as error:  # an integer of more digits than Python prints
        pass_on(error)
        return "a very large number"
