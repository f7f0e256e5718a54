"""
A baseline: what good runs of an agent have in common, small enough to be read in a review; made, combined and read.

It holds how the runs ended, which tools they called how often, what they changed outside (tool and arguments, in
normal form), what they called without anybody knowing whether it changes something, which loops they had, and what
they spent, one number for each run: several runs give a baseline its own noise. `combine` adds baselines up, so one run
or twenty are made the same way.

A stored baseline is edited and merged by hand, and one that is read half is a gate that checks half: what cannot be
meant is refused with its place in the file.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from agentdbg.analysis.checks.run_facts import TOTALS
from agentdbg.analysis.effects import SideEffect, normal_form
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from agentdbg.analysis.checks.run_facts import RunFacts
    from agentdbg.analysis.effects import EffectSource

__all__ = ["FORMAT", "Baseline", "BaselineRun", "Variant", "baseline_of", "combine", "loop_key", "parse_baseline"]

FORMAT = 1


@dataclass(frozen=True)
class BaselineRun:
    """Which run the baseline was made from."""

    run_id: str
    run_name: str
    started_at: str


@dataclass(frozen=True)
class Variant:
    """One set of side effects that good runs had, and how many runs had it."""

    runs: int
    calls: tuple[SideEffect, ...]


@dataclass(frozen=True)
class Baseline:
    """What is expected. Lists of numbers have one for each run, in the order of `runs`."""

    runs: tuple[BaselineRun, ...]
    statuses: tuple[str, ...]
    tools: Mapping[str, Sequence[int]]
    effects: tuple[Variant, ...]
    loops: tuple[tuple[str, str], ...] = ()
    """The kind and the pattern of each loop of warning or worse."""
    totals: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    unknown_calls: tuple[SideEffect, ...] = ()
    """Calls of tools of which nobody knows whether they change anything, each as often as any one run made it."""
    answers: tuple[str, ...] = ()
    """What the runs answered, each answer once; one that is empty where a run had none."""
    findings: tuple[tuple[str, str], ...] = ()
    """The kind of each other finding of warning or worse, and the tool or model it is about."""

    def known_totals(self, name: str) -> list[float]:
        """The values of one total, of the runs that know it."""
        return [value for value in self.totals.get(name, ()) if value is not None]

    def as_json(self) -> dict[str, Any]:
        """The baseline as it is stored."""
        return {
            "agentdbg_baseline": FORMAT,
            "runs": [vars(run) for run in self.runs],
            "statuses": list(self.statuses),
            "tools": {name: list(counts) for name, counts in sorted(self.tools.items())},
            "effects": [
                {"runs": variant.runs, "calls": [_stored_call(call) for call in variant.calls]}
                for variant in self.effects
            ],
            **({"unknown_calls": [_stored_call(call) for call in self.unknown_calls]} if self.unknown_calls else {}),
            **({"answers": list(self.answers)} if any(self.answers) else {}),
            "loops": [{"kind": kind, "pattern": pattern} for kind, pattern in self.loops],
            **(
                {"findings": [{"kind": kind, "about": about} for kind, about in self.findings]} if self.findings else {}
            ),
            "totals": {name: list(self.totals[name]) for name in TOTALS if name in self.totals},
        }


def baseline_of(facts: RunFacts) -> Baseline:
    """The baseline that one run makes."""
    return Baseline(
        runs=(BaselineRun(facts.run_id, facts.run_name, facts.started_at),),
        statuses=(facts.status,),
        tools={name: [count] for name, count in facts.call_counts().items()},
        effects=(Variant(1, facts.effects),),
        loops=tuple(sorted({loop_key(finding.figures) for finding in facts.loops})),
        totals={name: [facts.spent(name)] for name in TOTALS},
        unknown_calls=facts.unknown_calls,
        answers=(facts.portable_answer,),
        findings=tuple(sorted({concern.key for concern in facts.concerns()})),
    )


def loop_key(figures: Mapping[str, Any]) -> tuple[str, str]:
    """What makes two loops the same: their kind and what repeats."""
    return str(figures.get("kind") or "loop"), str(figures.get("pattern") or "")


def combine(baselines: Iterable[Baseline]) -> Baseline:
    """One baseline of several, at least one; a baseline whose runs are all known already adds nothing."""
    result: Baseline | None = None
    for baseline in baselines:
        result = baseline if result is None else _added(result, baseline)
    if result is None:
        raise UsageError("a baseline needs at least one run")
    return result


def _added(first: Baseline, second: Baseline) -> Baseline:
    known = {run.run_id for run in first.runs}
    if all(run.run_id in known for run in second.runs):
        return first
    before, after = len(first.runs), len(second.runs)
    tools = dict.fromkeys([*first.tools, *second.tools])
    totals = dict.fromkeys([*first.totals, *second.totals])
    return Baseline(
        runs=(*first.runs, *second.runs),
        statuses=tuple(dict.fromkeys([*first.statuses, *second.statuses])),
        tools={name: [*first.tools.get(name, [0] * before), *second.tools.get(name, [0] * after)] for name in tools},
        effects=_joined_variants(*first.effects, *second.effects),
        loops=tuple(sorted({*first.loops, *second.loops})),
        totals={
            name: [*first.totals.get(name, [None] * before), *second.totals.get(name, [None] * after)]
            for name in totals
        },
        unknown_calls=_made_by_either(first.unknown_calls, second.unknown_calls),
        answers=tuple(dict.fromkeys([*first.answers, *second.answers])),
        findings=tuple(sorted({*first.findings, *second.findings})),
    )


def _made_by_either(first: Sequence[SideEffect], second: Sequence[SideEffect]) -> tuple[SideEffect, ...]:
    """The calls of both, one that both made as often as the one that made it more often."""
    left = Counter(call.signature for call in first)
    left.subtract(call.signature for call in second)
    more = []
    for call in reversed(second):
        if left[call.signature] < 0:
            left[call.signature] += 1
            more.append(call)
    return (*first, *reversed(more))


def _joined_variants(*variants: Variant) -> tuple[Variant, ...]:
    """The variants, those with the same effects as one; the most frequent first."""
    counts: Counter[tuple[str, ...]] = Counter()
    calls: dict[tuple[str, ...], tuple[SideEffect, ...]] = {}
    for variant in variants:
        key = tuple(sorted(call.signature for call in variant.calls))
        counts[key] += variant.runs
        calls.setdefault(key, variant.calls)
    return tuple(Variant(count, calls[key]) for key, count in counts.most_common())


def _stored_call(call: SideEffect) -> dict[str, Any]:
    stored = {"name": call.name, "args": call.portable_args, **({"source": call.source} if call.is_known else {})}
    if not call.returned:
        return {**stored, "returned": False}
    return {**stored, "outcome": "unknown"} if call.state == "unknown" else stored


_MARK = "agentdbg_baseline"
_KEYS = (_MARK, "runs", "statuses", "tools", "effects", "unknown_calls", "answers", "loops", "findings", "totals")
_STATUSES = ("ok", "error")
_Kind = TypeVar("_Kind")


def parse_baseline(content: Any, source: str) -> Baseline:
    """A stored baseline; UsageError, naming `source` and the place in it, for what is none."""
    if isinstance(content, dict) and type(version := content.get(_MARK)) is int and version > FORMAT:
        raise UsageError(
            f"{source} is a baseline of a newer AgentDbg (its format is {version}, and this version reads {FORMAT}); "
            "update agentdbg here, or make the baseline anew"
        )
    try:
        return _Reader(content).baseline()
    except ValueError as why:
        raise UsageError(f"{source} is not a baseline ({why}); `agentdbg baseline RUN --out FILE` makes one") from None


class _Reader:
    """The parts of one baseline."""

    def __init__(self, content: Any) -> None:
        if not isinstance(content, dict) or _MARK not in content:
            raise ValueError(f'it has no "{_MARK}"')
        self._content: dict[str, Any] = content
        if content[_MARK] != FORMAT:
            raise ValueError(f"its {_MARK} is not {FORMAT}")
        _refuse_unknown(self._content, _KEYS)

    def baseline(self) -> Baseline:
        runs = self._some("runs")
        return Baseline(
            runs=tuple(
                BaselineRun(*(_get(run, key, str, f"run {number}") for key in ("run_id", "run_name", "started_at")))
                for number, run in enumerate(runs, 1)
            ),
            statuses=tuple(_status(status) for status in self._some("statuses")),
            tools={
                name: [int(_number(count, f"tools.{name}")) for count in _for_each_run(counts, runs, f"tools.{name}")]
                for name, counts in _get(self._content, "tools", dict).items()
            },
            effects=tuple(_variant(variant, number) for number, variant in enumerate(self._some("effects"), 1)),
            loops=_pairs(_get(self._content, "loops", list), "pattern", "loop"),
            findings=_pairs(self._added("findings"), "about", "finding"),
            totals={name: self._total(name, runs) for name in _get(self._content, "totals", dict)},
            answers=tuple(_typed(answer, str, "answers") for answer in self._added("answers")),
            unknown_calls=tuple(_call(call, "unknown_calls", is_known=False) for call in self._added("unknown_calls")),
        )

    def _some(self, key: str) -> list[Any]:
        """A list that has to have something in it: a baseline of nothing would be no gate."""
        found = _get(self._content, key, list)
        if not found:
            raise ValueError(f"{key} is empty")
        return found

    def _added(self, key: str) -> list[Any]:
        """A list that older baselines do not have."""
        return _typed(self._content.get(key, []), list, key)

    def _total(self, name: str, runs: list[Any]) -> list[float | None]:
        if name not in TOTALS:
            raise ValueError(f"totals.{name} is not known")
        where = f"totals.{name}"
        values = _for_each_run(self._content["totals"][name], runs, where)
        return [None if value is None else _number(value, where) for value in values]


def _pairs(rows: list[Any], second: str, what: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_get(row, "kind", str, f"{what} {number}"), _get(row, second, str, f"{what} {number}"))
        for number, row in enumerate(rows, 1)
    )


def _variant(variant: Any, number: int) -> Variant:
    where = f"effects {number}"
    calls = _get(variant, "calls", list, where)
    _refuse_unknown(variant, ("runs", "calls"), f"{where}: ")
    return Variant(_get(variant, "runs", int, where), tuple(_call(call, where) for call in calls))


def _call(call: Any, where: str, *, is_known: bool = True) -> SideEffect:
    name = _get(call, "name", str, where)
    if "args" not in call:
        raise ValueError(f"{where}: {name} has no 'args'")
    _refuse_unknown(call, ("name", "args", "source", "returned", "outcome"), f"{where}: {name}: ")
    sources: dict[str, EffectSource] = {"guessed": "guessed", "configured": "configured", "asked": "asked"}
    source = sources.get(str(call.get("source")), "declared") if is_known else "unknown"
    returned = _typed(call.get("returned", True), bool, f"{where}: returned")
    # A stored call has no event any more; 0 stands for that.
    if call.get("outcome", "unknown") != "unknown":
        raise ValueError(f"{where}: {name}: outcome is {call['outcome']!r:.40}; it is unknown, or left out")
    is_done = returned and "outcome" not in call
    return SideEffect(0, "", name, normal_form(call["args"]), source, returned, "done" if is_done else "unknown")


def _refuse_unknown(table: dict[str, Any], known: Collection[str], where: str = "") -> None:
    """A word with a letter too few would otherwise take away what it should say."""
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise ValueError(f"{where}{unknown[0]!r} is not known")


def _status(status: Any) -> str:
    if status not in _STATUSES:
        raise ValueError(f"statuses has {status!r:.40}, which is neither ok nor error")
    return str(status)


def _for_each_run(values: Any, runs: list[Any], where: str) -> list[Any]:
    found: list[Any] = _typed(values, list, where)
    if len(found) != len(runs):
        raise ValueError(f"{where} should have a number for each run")
    return found


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{where} has {value!r:.40}, which is not a number")
    return value


def _get(table: Any, key: str, kind: type[_Kind], where: str = "") -> _Kind:
    place = f"{where}: {key}" if where else key
    if key not in _typed(table, dict, where or "it"):
        raise ValueError(f"{where or 'it'} has no {key!r}")
    return _typed(table[key], kind, place)


def _typed(value: Any, kind: type[_Kind], where: str) -> _Kind:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{where} is not a {_WORDS[kind]}")
    return value


_WORDS: dict[type, str] = {dict: "table", list: "list", str: "text", int: "number", bool: "true or false"}
