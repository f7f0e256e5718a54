"""
Limits the user set, what has been spent of them, and the verdict on each event: what to write besides it, and whether
to stop. In a fork, limits count only what is made: the recorded steps before its cut were paid for long ago.

A `Budget` belongs to a run, or to a span in it that was given limits of its own; what happens in the span counts in
both. It judges; it writes nothing and raises nothing. The run writes what a verdict says, then raises. The order of the
checks is part of the contract: loop, model calls, tool calls, events, tokens, cost, duration.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.config import GUARDRAILS, SETTINGS
from agentdbg.events import BUILTIN_EVENT_TYPES, COUNTED_CALLS
from agentdbg.exceptions import AgentDbgGuardrailExceeded, AgentDbgLoopAbort
from agentdbg.faults import is_contained, tell_once
from agentdbg.interruptions import is_interruption
from agentdbg.loops import LoopDetector
from agentdbg.recorder.counters import Counters, LoopSpending, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentdbg.config import Config
    from agentdbg.loops import LoopFinding
    from agentdbg.recorder.deadline import Deadline
    from agentdbg.recorder.stopping import Stop

__all__ = [
    "DEFAULT_LOOP_STOP",
    "Budget",
    "Limits",
    "RunClock",
    "Verdict",
    "choose_limits",
    "detector_of",
    "limit_live_calls_only",
]

DEFAULT_LOOP_STOP = 3
# Which number each limit is held against, in the order of the checks; the duration is no counter.
_COUNTED: dict[str, str | None] = {
    "max_llm_calls": "llm_calls",
    "max_tool_calls": "tool_calls",
    "max_events": "limited_events",
    "max_tokens": "total_tokens",
    "max_cost_usd": "cost_usd",
    "max_duration_s": None,
}
_SERVED = {"LLM_CALL": "served_llm", "TOOL_CALL": "served_tool"}
_UNLIMITED_TYPES = BUILTIN_EVENT_TYPES - {"LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "ERROR"}


class _OfProcess:
    is_live_only = False


_process = _OfProcess()


def limit_live_calls_only(yes: bool) -> None:
    """Whether the limits of runs that begin from now on leave out calls that were answered and not made."""
    _process.is_live_only = yes


class Limits(NamedTuple):
    """The guardrails of one run or span; None is no limit."""

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

    def can_stop(self) -> bool:
        """Whether any of them could ever stop anything."""
        return bool(self.stop_on_loop) or any(getattr(self, name) is not None for name in _COUNTED)


class Verdict(NamedTuple):
    """What follows from one event: a finding to write down, and the limit that was crossed."""

    finding: LoopFinding | None
    stop: AgentDbgGuardrailExceeded | None


def detector_of(config: Config) -> LoopDetector | None:
    """The detector of these settings; None when no loops are to be looked for."""
    if not config.loops:
        return None
    return LoopDetector(config.loop_window, config.loop_repetitions, config.loop_ignore_tools)


class RunClock:
    """Time since a run's start, without the time in which anything of it was paused. The caller holds a lock."""

    __slots__ = ("_held_since", "_holds", "_started", "paused_s")

    def __init__(self) -> None:
        self.paused_s = 0.0
        """How long the run was paused, pauses that overlap counted once."""
        self._holds = 0
        self._held_since = 0.0
        self.start()

    def start(self) -> None:
        """From now on the time counts."""
        self._started = time.monotonic()

    def elapsed_s(self) -> float:
        """Seconds since the start."""
        now = self._held_since if self._holds else time.monotonic()
        return now - self._started - self.paused_s

    def hold(self) -> None:
        """Something of the run is paused; `release` as often as this was called."""
        if not self._holds:
            self._held_since = time.monotonic()
        self._holds += 1

    def release(self) -> None:
        """It goes on."""
        self._holds -= 1
        if not self._holds:
            self.paused_s += time.monotonic() - self._held_since


class Budget:
    """Counts what happens in a run, or in a span of it, and judges it against its limits."""

    __slots__ = (
        "__weakref__",
        "_detector",
        "_is_live_only",
        "_limits_set",
        "_loop_spending",
        "_make_detector",
        "_started",
        "chain",
        "clock",
        "counters",
        "deadline",
        "is_over",
        "limits",
        "span_id",
        "stop",
    )

    def __init__(
        self,
        limits: Limits,
        make_detector: Callable[[], LoopDetector | None],
        clock: RunClock,
        outer: Budget | None = None,
        span_id: str | None = None,
    ) -> None:
        self.limits = limits
        self.counters = Counters()
        self.chain: tuple[Budget, ...] = (self,) if outer is None else (*outer.chain, self)
        """The budgets that an event in here counts in: the run's first, this one last."""
        self.span_id = span_id
        """The span it belongs to; None for that of a run."""
        self.stop: Stop | None = None
        self.is_over = False
        """Whether its span or run was left; what was started in it and goes on still counts."""
        self.deadline: Deadline | None = None
        self._make_detector = make_detector
        self._detector = make_detector()
        """None while it takes an event in, and where nobody looks for loops."""
        self._loop_spending = LoopSpending(self.counters)
        self.clock = clock
        self._limits_set = [
            (name, limit, counter) for name, counter in _COUNTED.items() if (limit := getattr(limits, name)) is not None
        ]
        self._started = clock.elapsed_s()
        self._is_live_only = _process.is_live_only

    # Events.

    def judge(
        self,
        event_type: str,
        event_id: str,
        ts: str,
        name: str,
        payload: dict[str, Any],
        meta: dict[str, Any],
        is_span: bool,
    ) -> Verdict | None:
        """Count one event and say what follows from it, if anything. The caller holds the run's lock."""
        finding = None
        detector = self._detector
        if not is_span and detector is not None:
            try:
                self._detector = None  # a handler of signals that records meanwhile must not find it half way
                finding = detector.take(event_type, event_id, ts, name, payload, meta)
            except Exception as fault:  # the event is worth more than what can be said of it
                if not is_contained(fault, "look for loops"):
                    raise
            finally:
                self._detector = detector
        self._count(event_type, payload, is_span=is_span)
        if finding is not None:
            self._loop_spending.begin(finding)
        elif not is_span and detector is not None and detector.active is not None:
            self._loop_spending.follow(event_type)
        stop = self._loop_stop() if self.limits.stop_on_loop else None
        if stop is None and self._limits_set:
            stop = self._crossed()
        return None if finding is None and stop is None else Verdict(finding, stop)

    def _count(self, event_type: str, payload: Mapping[str, Any], *, is_span: bool) -> None:
        counters = self.counters
        if event_type not in COUNTED_CALLS:
            counters.count_type(event_type)
            if is_span or event_type in _UNLIMITED_TYPES:
                counters.loop_warnings += event_type == "LOOP_WARNING"
                return
        if self._is_live_only and event_type in _SERVED and payload.get("served") is not None:
            name = _SERVED[event_type]
            setattr(counters, name, getattr(counters, name) + 1)
        else:
            counters.limited_events += 1
        counters.add(event_type, payload)

    def look_anew(self) -> None:
        """Forget what the detector has seen: it was interrupted while it took an event in, and may be half way."""
        self._detector = self._make_detector()

    def last_finding(self) -> LoopFinding | None:
        """What the detector was still holding back when the run ends."""
        finding = None if self._detector is None else self._detector.finish()
        if finding is not None:
            self._loop_spending.begin(finding)
        return finding

    def snapshot(self) -> tuple[Any, ...]:
        """What this process has counted, for `restore` should the event that is being counted not come."""
        return values_of(self.counters), self.counters.other_types.copy(), self.stop

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Count as if nothing had been counted since."""
        self.counters.restore(snapshot)
        self.stop = snapshot[2]

    # Calls that are about to be made.

    def refusal(self, kind: str) -> AgentDbgGuardrailExceeded | None:
        """The first limit that is crossed already, or would be by one more call beside those being made."""
        for name, limit, counter in self._limits_set:
            actual = self._so_far(counter)
            if name == f"max_{kind}_calls":
                actual += self.counters.total(f"reserved_{kind}") + 1
            elif name == "max_events":
                actual += self.counters.total("reserved_llm") + self.counters.total("reserved_tool") + 1
            if actual > limit:
                return _exceeded(name, limit, actual)
        return None

    def reserve(self, kind: str, amount: int = 1) -> None:
        """Count a call as being made; -1 when it has been recorded, or will not be."""
        if kind == "llm":
            self.counters.reserved_llm += amount
        elif kind:
            self.counters.reserved_tool += amount

    # What has been spent.

    def overdue(self) -> AgentDbgGuardrailExceeded | None:
        """The duration limit alone, for the clock that watches a silent run."""
        limit, elapsed_s = self.limits.max_duration_s, self._so_far(None)
        return None if limit is None or elapsed_s <= limit else _exceeded("max_duration_s", limit, round(elapsed_s, 3))

    def seconds_left(self) -> float:
        """How much of its time is not over; nothing without a limit of time."""
        return (self.limits.max_duration_s or 0.0) - self._so_far(None)

    def is_done(self) -> bool:
        """Whether it was left, or stopped with what is around it."""
        return any(budget.is_over or budget.stop for budget in self.chain)

    def public_form(self, error: BaseException) -> BaseException | None:
        """What the caller should see in place of `error` at the edge of the run or span; None: `error` itself."""
        if self.stop is None:
            return None
        if (instead := self.stop.instead_of(error)) is not None:
            return instead
        is_cancelling = type(error).__name__ == "CancelledError"
        if is_cancelling and self.deadline is not None and self.deadline.take_back_cancelling():
            return self.stop.public()
        return None

    def _loop_stop(self) -> AgentDbgGuardrailExceeded | None:
        threshold = self.limits.stop_on_loop_min_repetitions or DEFAULT_LOOP_STOP
        loop = None if self._detector is None else self._detector.active
        if loop is None or loop.repetitions < threshold:
            return None
        return AgentDbgLoopAbort(
            "stop_on_loop",
            threshold,
            loop.repetitions,
            f"stop_on_loop exceeded: {loop.finding.pattern}, {loop.repetitions} repetitions, the limit is {threshold}",
        )

    def _crossed(self) -> AgentDbgGuardrailExceeded | None:
        """The first limit, in the contract's order, that has been crossed."""
        for name, limit, counter in self._limits_set:
            actual = self._so_far(counter)
            if actual > limit:
                return _exceeded(name, limit, actual)
        return None

    def _so_far(self, counter: str | None) -> float:
        if counter is None:  # the time; a span that was left has no more of it to spend
            return 0.0 if self.is_over else self.clock.elapsed_s() - self._started
        total = self.counters.total(counter)
        if self._is_live_only and counter in ("llm_calls", "tool_calls"):
            total -= self.counters.total(f"served_{counter.removesuffix('_calls')}")
        # A hundred cents are a dollar, although as sums of fractions they are a little more.
        return round(total, 9) if counter == "cost_usd" else total


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


def choose_limits(settings: Config | Limits, given: Mapping[str, Any]) -> Limits:
    """The limits of one run: arguments over settings, each checked the same way."""
    chosen = {name: getattr(settings, name) for name in GUARDRAILS}
    for name, value in given.items():
        if value is None:
            continue
        try:
            chosen[name] = _PARSERS[name](value)
        except Exception as error:  # the value may be anything
            if is_interruption(error):
                raise
            kept = "no limit" if chosen[name] is None else chosen[name]
            message = f"{name}={_shown(value)}, {error}; kept {kept}"
            tell_once(message, message)
    return Limits(**chosen)


def _shown(value: object) -> str:
    try:
        return f"{value!r:.60}"
    except Exception as error:  # its own __repr__ failed
        if is_interruption(error):
            raise
        return f"a {type(value).__name__}"
