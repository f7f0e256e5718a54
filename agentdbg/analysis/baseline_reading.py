"""
Read a stored baseline, which people edit and merge by hand: what cannot be meant is refused with its place in the file.

A baseline that is read half is a gate that checks half, so nothing is guessed and nothing is passed over.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from agentdbg.analysis.baseline import FORMAT, Baseline, BaselineRun, Variant
from agentdbg.analysis.checks.run_facts import TOTALS
from agentdbg.analysis.effects import SideEffect, normal_form
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from agentdbg.analysis.effects import EffectSource

__all__ = ["parse_baseline"]

_MARK = "agentdbg_baseline"
_KEYS = (_MARK, "runs", "statuses", "tools", "effects", "unknown_calls", "answers", "loops", "totals")
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
            loops=tuple(
                (_get(loop, "kind", str, f"loop {number}"), _get(loop, "pattern", str, f"loop {number}"))
                for number, loop in enumerate(_get(self._content, "loops", list), 1)
            ),
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
