"""
Limits the user set, and the verdict on each event: what to write besides it, and whether to stop.

`Guards` judges; it writes nothing and raises nothing. The run writes what a verdict says, then raises. The order of
the checks is part of the contract: loop, model calls, tool calls, events, tokens, cost, duration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.config import GUARDRAILS, SETTINGS
from agentdbg.events import BUILTIN_EVENT_TYPES, COUNTED_CALLS
from agentdbg.exceptions import AgentDbgGuardrailExceeded, AgentDbgLoopAbort
from agentdbg.faults import contain, pass_on, tell_once
from agentdbg.loops import LoopDetector
from agentdbg.recorder.counters import LoopSpending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentdbg.config import Config
    from agentdbg.events import Event
    from agentdbg.loops import LoopFinding
    from agentdbg.recorder.counters import Counters

__all__ = ["DEFAULT_LOOP_STOP", "Guards", "Limits", "Verdict", "choose_limits", "detector_of"]

DEFAULT_LOOP_STOP = 3
_LARGEST_QUICK = 2**30 - 1  # the interpreter compares whole numbers up to here much quicker
# Which number each limit is held against, in the order of the checks; the duration is no counter.
_COUNTED: dict[str, str | None] = {
    "max_llm_calls": "llm_calls",
    "max_tool_calls": "tool_calls",
    "max_events": "limited_events",
    "max_tokens": "total_tokens",
    "max_cost_usd": "cost_usd",
    "max_duration_s": None,
}
_UNLIMITED_TYPES = BUILTIN_EVENT_TYPES - {"LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "ERROR"}


class Limits(NamedTuple):
    """The guardrails of one run; None is no limit."""

    stop_on_loop: bool | None = None
    stop_on_loop_min_repetitions: int | None = None
    max_llm_calls: int | None = None
    max_tool_calls: int | None = None
    max_events: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_duration_s: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """All of them, null where unset, as RUN_START and run.json store them."""
        return self._asdict()


class Verdict(NamedTuple):
    """What follows from one event: a finding to write down, and the limit that was crossed."""

    finding: LoopFinding | None
    stop: AgentDbgGuardrailExceeded | None


_NOTHING = Verdict(None, None)


def detector_of(config: Config) -> LoopDetector:
    """The detector of these settings."""
    return LoopDetector(config.loop_window, config.loop_repetitions, config.loop_ignore_tools)


class Guards:
    """Counts what a run does and judges it against its limits."""

    __slots__ = (
        "_counters",
        "_detector",
        "_limits",
        "_limits_set",
        "_loop_spending",
        "_make_detector",
        "_most",
        "_stops_loops",
    )

    def __init__(self, limits: Limits, counters: Counters, make_detector: Callable[[], LoopDetector]) -> None:
        self._limits = limits
        self._counters = counters
        self._make_detector = make_detector
        self._detector: LoopDetector | None = make_detector()
        """None only while it takes an event in."""
        self._loop_spending = LoopSpending(counters)
        self._limits_set = [
            (name, limit, counter) for name, counter in _COUNTED.items() if (limit := getattr(limits, name)) is not None
        ]
        self._most = _Most(limits)
        self._stops_loops = bool(limits.stop_on_loop)

    def judge(self, event: Event, elapsed_s: float, *, is_span: bool) -> Verdict:
        """Count one event and say what follows from it. The caller holds the run's lock."""
        parts = (event["event_type"], event["event_id"], event["ts"], event["name"], event["payload"], event["meta"])
        return self.judge_parts(*parts, elapsed_s, is_span) or _NOTHING

    def judge_parts(
        self,
        event_type: str,
        event_id: str,
        ts: str,
        name: str,
        payload: dict[str, Any],
        meta: dict[str, Any],
        elapsed_s: float,
        is_span: bool,
    ) -> Verdict | None:
        """Like `judge`, for an event whose dict does not exist yet; None when nothing follows from the event."""
        finding, spending = None, self._loop_spending
        detector = self._detector
        if not is_span:
            try:
                if detector is not None:
                    self._detector = None  # a handler of signals that records meanwhile must not find it half way
                    finding = detector.take(event_type, event_id, ts, name, payload, meta)
            except Exception as fault:  # noqa: BLE001 -- the event is worth more than what can be said of it
                contain(fault, "look for loops")
            finally:
                self._detector = detector
        _count(self._counters, event_type, payload, is_span=is_span)
        if finding is not None:
            spending.begin(finding)
        elif not is_span and detector is not None and detector.active is not None:
            spending.follow(event_type)
        stop = self._loop_stop() if self._stops_loops else None
        if stop is None and self._limits_set and not self._is_surely_within(elapsed_s):
            stop = self._crossed(elapsed_s)
        return None if finding is None and stop is None else Verdict(finding, stop)

    def _is_surely_within(self, elapsed_s: float) -> bool:
        """Whether no limit can have been crossed; spelled out, because every event of a run with limits passes here."""
        counters, most = self._counters, self._most
        if counters.limited_events > most.fewest_events and (
            counters.llm_calls > most.max_llm_calls
            or counters.tool_calls > most.max_tool_calls
            or counters.limited_events > most.max_events
        ):
            return False
        if counters.total_tokens > most.max_tokens or counters.cost_usd > most.max_cost_usd:
            return False
        return elapsed_s <= most.max_duration_s and not counters.is_shared

    def look_anew(self) -> None:
        """Forget what the detector has seen: it was interrupted while it took an event in, and may be half way."""
        self._detector = self._make_detector()

    def last_finding(self) -> LoopFinding | None:
        """What the detector was still holding back when the run ends."""
        finding = None if self._detector is None else self._detector.finish()
        if finding is not None:
            self._loop_spending.begin(finding)
        return finding

    def reserve(self, kind: str, elapsed_s: float) -> AgentDbgGuardrailExceeded | None:
        """Take a place for a call that is about to be made, or say which limit leaves none."""
        refusal = self._would_cross(kind, elapsed_s)
        if refusal is None:
            self.take_place(kind)
        return refusal

    def take_place(self, kind: str) -> None:
        """Count a call as being made."""
        self._add_reserved(kind, 1)

    def release(self, kind: str) -> None:
        """Give a place back, because its call has been recorded or will not be."""
        self._add_reserved(kind, -1)

    def overdue(self, elapsed_s: float) -> AgentDbgGuardrailExceeded | None:
        """The duration limit alone, for the clock that watches a silent run."""
        limit = self._limits.max_duration_s
        return None if limit is None or elapsed_s <= limit else _exceeded("max_duration_s", limit, round(elapsed_s, 3))

    def _loop_stop(self) -> AgentDbgGuardrailExceeded | None:
        threshold = self._limits.stop_on_loop_min_repetitions or DEFAULT_LOOP_STOP
        loop = None if self._detector is None else self._detector.active
        if loop is None or loop.repetitions < threshold:
            return None
        return AgentDbgLoopAbort(
            "stop_on_loop",
            threshold,
            loop.repetitions,
            f"stop_on_loop exceeded: {loop.finding.pattern}, {loop.repetitions} repetitions, the limit is {threshold}",
        )

    def _crossed(self, elapsed_s: float) -> AgentDbgGuardrailExceeded | None:
        """The first limit, in the contract's order, that has been crossed."""
        for name, limit, counter in self._limits_set:
            actual = elapsed_s if counter is None else self._so_far(counter)
            if actual > limit:
                return _exceeded(name, limit, actual)
        return None

    def _would_cross(self, kind: str, elapsed_s: float) -> AgentDbgGuardrailExceeded | None:
        """The first limit that is crossed already, or would be by one more call beside those being made."""
        for name, limit, counter in self._limits_set:
            actual = elapsed_s if counter is None else self._so_far(counter)
            if name == f"max_{kind}_calls":
                actual += self._counters.total(f"reserved_{kind}") + 1
            elif name == "max_events":
                actual += self._counters.total("reserved_llm") + self._counters.total("reserved_tool") + 1
            if actual > limit:
                return _exceeded(name, limit, actual)
        return None

    def _so_far(self, counter: str) -> float:
        total = self._counters.total(counter)
        # A hundred cents are a dollar, although as sums of fractions they are a little more.
        return round(total, 9) if counter == "cost_usd" else total

    def _add_reserved(self, kind: str, amount: int) -> None:
        if kind == "llm":
            self._counters.reserved_llm += amount
        else:
            self._counters.reserved_tool += amount


def _count(counters: Counters, event_type: str, payload: Mapping[str, Any], *, is_span: bool) -> None:
    if event_type not in COUNTED_CALLS:
        counters.count_type(event_type)
        if is_span or event_type in _UNLIMITED_TYPES:
            return
    counters.limited_events += 1
    counters.add(event_type, payload)


class _Most:
    """The limits as numbers; where none is set, one that is as good as none."""

    __slots__ = (*_COUNTED, "fewest_events")

    max_llm_calls: int
    max_tool_calls: int
    max_events: int
    max_tokens: int
    max_cost_usd: float
    max_duration_s: float
    fewest_events: int
    """Up to this many events no limit on how many there may be is crossed."""

    def __init__(self, limits: Limits) -> None:
        for name in _COUNTED:
            limit = getattr(limits, name)
            unlimited = float("inf") if name in ("max_cost_usd", "max_duration_s") else _LARGEST_QUICK
            setattr(self, name, unlimited if limit is None else limit)
        self.fewest_events = min(self.max_llm_calls, self.max_tool_calls, self.max_events)


_WORDS = {
    "max_llm_calls": "{actual} model calls, the limit is {limit}",
    "max_tool_calls": "{actual} tool calls, the limit is {limit}",
    "max_events": "{actual} events, the limit is {limit}",
    "max_tokens": "{actual} tokens used, the limit is {limit}",
    "max_cost_usd": "{actual} USD spent, the limit is {limit}",
    "max_duration_s": "{actual} s passed, the limit is {limit} s",
}


def _exceeded(name: str, limit: float, actual: float) -> AgentDbgGuardrailExceeded:
    actual = int(actual) if float(actual).is_integer() else round(actual, 6)
    words = _WORDS[name].format(actual=f"{actual:,}", limit=f"{limit:,}")
    return AgentDbgGuardrailExceeded(name, limit, actual, f"{name} exceeded: {words}")


_PARSERS = {setting.key: setting.parse for setting in SETTINGS if setting.guardrail}


def choose_limits(config: Config, given: Mapping[str, Any]) -> Limits:
    """The limits of one run: arguments over settings, each checked the same way."""
    chosen = {name: getattr(config, name) for name in GUARDRAILS}
    for name, value in given.items():
        if value is None:
            continue
        try:
            chosen[name] = _PARSERS[name](value)
        except Exception as error:  # noqa: BLE001 -- the value may be anything
            pass_on(error, of_user_code=True)
            kept = "no limit" if chosen[name] is None else chosen[name]
            message = f"{name}={_shown(value)}, {error}; kept {kept}"
            tell_once(message, message)
    return Limits(**chosen)


def _shown(value: object) -> str:
    try:
        return f"{value!r:.60}"
    except Exception as error:  # noqa: BLE001 -- its own __repr__ failed
        pass_on(error, of_user_code=True)
        return f"a {type(value).__name__}"
