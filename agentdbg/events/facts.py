"""
What one event says: whether its call failed, with which error, of which model, and what it spent.

Everybody who asks an event asks here: the writer, the importers, the readers, the gates. The answers are these.

A call failed when an error stands beside it, whatever its status says, or when its status is a word for failure. An
error of null, false, "" or {} is none. A span failed when it has an error; a run when its RUN_END failed.

Only model calls have tokens and a cost. A count is a whole number from 0 up to 2**53; digits in a text are a number
too. Anything else (negative, a fraction, NaN, true, a word) is unknown, and so is what nobody said: unknown is None,
never 0. Tokens in and out are looked for under the names that providers give them. What a provider counts beside its
input (cached) or its output (thinking) is added. The total is the one that was told; where none was told, or 0
although parts are known, it is the sum of the known parts. A cost is a number of dollars from 0. A call that was
served (`served` says from where) was not made: its usage and cost are those of the answer, and it spent neither.

`RunTotals` is the only counter of these. The writer keeps run.json with it, readers count with it where run.json is
missing, and gates, diffs and exports count with it too, so all of them say the same of one run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "COST_DIGITS",
    "ERROR_WORDS",
    "LARGEST_COUNT_BITS",
    "NO_TOKENS",
    "OK_WORDS",
    "TOTAL_FIELDS",
    "KnownFailures",
    "RunTotals",
    "Tokens",
    "amount",
    "cached_tokens",
    "call_failed",
    "cost_of",
    "error_of",
    "is_span",
    "model_of",
    "reads_something",
    "token_counts",
    "tokens_of",
    "told_total",
    "whole_number",
]

OK_WORDS = frozenset(
    {"ok", "success", "succeeded", "successful", "completed", "complete", "done", "finished", "passed"}
)
ERROR_WORDS = frozenset(
    {
        "error",
        "errored",
        "failed",
        "failure",
        "fail",
        "aborted",
        "abort",
        "cancelled",
        "canceled",
        "interrupted",
        "timeout",
    }
)
LARGEST_COUNT_BITS = 53
_LARGEST_COUNT = 2**LARGEST_COUNT_BITS - 1
"""Nobody counts further, and beyond it numbers are not exact for every reader."""
_LONGEST_NUMBER = 40
_LARGEST_AMOUNT = 1e12

_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count", "promptTokenCount", "inputTokens", "prompt_eval_count")
_OUTPUT = (
    "completion_tokens",
    "output_tokens",
    "candidates_token_count",
    "candidatesTokenCount",
    "outputTokens",
    "eval_count",
)
_TOTAL = ("total_tokens", "total_token_count", "totalTokenCount", "totalTokens")
# Anthropic counts these beside input_tokens, not inside it; who says prompt_tokens has them inside.
_BESIDE_INPUT = ("cache_read_input_tokens", "cache_creation_input_tokens")
# Gemini counts thinking beside the answer.
_BESIDE_OUTPUT = ("thoughts_token_count", "thoughtsTokenCount")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_CACHED_DETAILS = ("cached_tokens", "cache_read", "cache_read_tokens")
_CACHED = ("cache_read_input_tokens", "cached_content_token_count", "cachedContentTokenCount", "cached_tokens")


class Tokens(NamedTuple):
    """What a model call used; None where it is not known."""

    given: int | None = None
    """In the prompt, cached ones included."""
    written: int | None = None
    """In the answer, thinking included."""
    total: int | None = None


NO_TOKENS = Tokens()


def call_failed(payload: Mapping[str, Any]) -> bool:
    """Whether a call, a span or the end of a run failed, from its payload."""
    if payload.get("error") is not None and error_of(payload) is not None:
        return True
    status = payload.get("status")
    return status != "ok" and isinstance(status, str) and status.strip().lower() in ERROR_WORDS


def error_of(payload: Mapping[str, Any]) -> Any:
    """The error in a payload, as it stands there; None where there is none, or one that says nothing."""
    error = payload.get("error")
    if isinstance(error, dict):
        return error if any(value is not None for value in error.values()) else None
    return error or None


def is_span(event_type: str, meta: Any) -> bool:
    """Whether an event is the end of a span: a STATE_UPDATE that says so in its meta."""
    return event_type == "STATE_UPDATE" and isinstance(meta, dict) and bool(meta.get("span"))


def model_of(event: Mapping[str, Any]) -> str:
    """The model that was called."""
    payload = event.get("payload")
    named = payload.get("model") if isinstance(payload, dict) else None
    return named if isinstance(named, str) and named else str(event.get("name") or "unknown")


def tokens_of(payload: Mapping[str, Any]) -> Tokens:
    """The tokens that a model call used, from its payload."""
    usage = payload.get("usage")
    return token_counts(usage) if isinstance(usage, dict) and payload.get("served") is None else NO_TOKENS


def token_counts(usage: Mapping[str, Any]) -> Tokens:
    """The tokens that a usage tells of, whatever names its provider uses."""
    given, written, total = usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("total_tokens")
    # Three plain numbers, as nearly always, need no closer look.
    are_plain = type(given) is type(written) is type(total) is int
    if are_plain and 0 <= given <= total <= _LARGEST_COUNT and 0 <= written <= total:  # type: ignore[operator] # ints
        return Tokens(given, written, total)
    given = _counted(usage, _INPUT, _BESIDE_INPUT)
    written = _counted(usage, _OUTPUT, _BESIDE_OUTPUT)
    total = told_total(usage)
    if not total and (given is not None or written is not None):
        total = (given or 0) + (written or 0)
    return Tokens(given, written, total)


def told_total(usage: Mapping[str, Any]) -> int | None:
    """All tokens of a call, as the provider counted them; None where it did not say."""
    return _first_count(usage, _TOTAL)


def _counted(usage: Mapping[str, Any], names: tuple[str, ...], beside: tuple[str, ...]) -> int | None:
    """One of the two counts; what is told beside it is added unless the first of the names tells all of it."""
    whole = whole_number(usage.get(names[0]))
    if whole is not None:
        return whole
    count = _first_count(usage, names)
    return None if count is None else count + sum(whole_number(usage.get(name)) or 0 for name in beside)


def cached_tokens(usage: Any) -> int | None:
    """How many of the tokens in the prompt came from a cache; None where nobody said."""
    if not isinstance(usage, dict):
        return None
    for name in _INPUT_DETAILS:
        details = usage.get(name)
        if isinstance(details, dict) and (count := _first_count(details, _CACHED_DETAILS)) is not None:
            return count
    return _first_count(usage, _CACHED)


def cost_of(payload: Mapping[str, Any]) -> float | None:
    """What a model call cost in dollars; None where that is not known."""
    cost = payload.get("cost_usd")
    return None if cost is None or payload.get("served") is not None else amount(cost)


def whole_number(value: Any) -> int | None:
    """A count of things as anybody may have written it; None for what is none."""
    kind = type(value)  # `isinstance` would ask the value itself, which may be anything
    if issubclass(kind, int) and kind is not bool:
        return value if 0 <= value <= _LARGEST_COUNT else None
    if issubclass(kind, float):
        return int(value) if 0 <= value <= _LARGEST_COUNT and value.is_integer() else None
    if issubclass(kind, str) and len(value) <= _LONGEST_NUMBER and value.isascii() and value.strip().isdigit():
        return whole_number(int(value))
    return None


def amount(value: Any) -> float | None:
    """A sum of money as anybody may have written it; None for what is none."""
    if type(value) is float and 0 <= value <= _LARGEST_AMOUNT:
        return value
    kind = type(value)
    if issubclass(kind, str) and len(value) <= _LONGEST_NUMBER:
        try:
            value = float(value)
        except ValueError as error:
            pass_on(error)
            return None
        kind = float
    if kind is bool or not issubclass(kind, (int, float)) or not 0 <= value <= _LARGEST_AMOUNT:
        return None
    return float(value)


def _first_count(counts: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in counts and (count := whole_number(counts[name])) is not None:
            return count
    return None


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


_READS = re.compile(
    r"(?:^|[_.\-\s])(?:search|find|get|list|read|fetch|query|look|lookup|retrieve|load|browse|visit|ask|calc\w*)"
    r"(?:$|[_.\-\s])|^(?:search|find|get|list|read|fetch|query|lookup|retrieve)(?=[A-Z])",
)


def reads_something(name: str) -> bool:
    """Whether a tool is meant to give something, going by its name: `search`, `get_order`, `readFile`."""
    return _READS.search(name) is not None
