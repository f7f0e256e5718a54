"""
Read a run into the steps that are compared, without what the user asked to leave out.

What a step keeps is small, so a long run is read once and its events need not be kept. A path to leave out,
`args.date`, `result.items[*].price`, `prompt`, names a part of a step the way differences are shown: `*` stands for one
key or position, and a path leaves out everything below it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.diff.model_context import ContextReader
from agentdbg.analysis.diff.steps import (
    NOT_CONTENT,
    Contents,
    Side,
    Step,
    TotalsCounter,
    comparable,
    encoded,
    fingerprint,
    print_of,
)
from agentdbg.analysis.effects import NO_RULES, EffectReader, SideEffect, normal_form
from agentdbg.analysis.run_columns import (
    CALL_START,
    END,
    ERROR,
    EXCEPTION,
    LLM,
    LOOP,
    SPAN,
    START,
    STATE,
    TOOL,
    kind_of,
    status_of,
)
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import timestamp_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentdbg.analysis.effects import EffectRules
    from agentdbg.events import Event

__all__ = ["Ignored", "read_side", "segments_of"]

_START_PARTS = ("function_name", "args", "kwargs", "argv", "guardrails", "python_version", "platform")
_TOOL_PARTS = frozenset({"args", "result", "status", "error"}) | NOT_CONTENT
_LOOP_PARTS = ("pattern", "kind", "severity")
_HOLD_NOTHING = frozenset({START, LOOP})
_NOTHING: dict[str, Any] = {}
_DEEPEST = 1_000
_FAR = 1 << 64
"""Added to the time of a run's end, and taken from that of its start: nothing stands behind or before them."""


def read_side(events: Iterable[Event], rules: EffectRules = NO_RULES, ignored: Ignored | None = None) -> Side:
    """Read one run."""
    reader = _Reader(rules, ignored)
    for event in events:
        reader.add(event)
    return reader.finish()


class _Reader:
    def __init__(self, rules: EffectRules, ignored: Ignored | None) -> None:
        self._ignored = ignored
        self._models = ContextReader()
        self._totals = TotalsCounter()
        self._contents = Contents()
        self._texts: dict[str, str] = {}
        """The names and ids that come again and again."""
        self._steps: dict[int, Step] = {}
        self._by_id: dict[str, Step] = {}
        self._parents: list[str | None] = []
        self._open: dict[str, Step] = {}
        self._starts: dict[int, str] = {}
        self._begun: dict[int, int] = {}
        self._effects = EffectReader(rules)
        self._context: dict[str, Any] = {}
        self._context_key = fingerprint(self._context)
        self._tools_seen = False
        self._has_findings = False
        self._count = 0

    def add(self, event: Event) -> None:
        self._count = number = self._count + 1
        payload: Any = event.get("payload")
        if not isinstance(payload, dict):
            payload = {}
        event_id, name = str(event.get("event_id") or ""), str(event.get("name") or "")
        kind = kind_of(str(event.get("event_type") or ""), event.get("meta"))
        start_ms = end_ms = timestamp_ms(event.get("ts")) or 0
        length = event.get("duration_ms")
        if isinstance(length, int):
            start_ms -= length
        failed = status_of(kind, payload) == ERROR
        step = Step(
            number, kind, self._texts.setdefault(name, name), start_ms, end_ms, failed, self._contents, _NOTHING
        )
        if kind == LLM:
            content = self._read_model_call(step, payload)
        elif kind == TOOL:
            self._tools_seen = True
            self._read_effect(step, event)
            content = _tool_content(payload, failed=failed)
        else:
            content = self._read_other(step, event, payload)
        if self._ignored is not None:
            content = self._ignored.strip(content)
        text = encoded(comparable(step, content))
        step.key, step.kept = print_of(text), self._contents.keep(content, len(text))
        if kind == CALL_START:
            call_id = str(payload.get("call_id") or "")
            self._open[call_id] = step
            self._starts[number] = call_id
        elif (announced := self._open.pop(event_id, None)) is not None:
            step.start_ms, self._begun[number] = announced.start_ms, announced.number
        self._by_id.setdefault(event_id, step)
        parent_id = event.get("parent_id")
        self._parents.append(self._texts.setdefault(parent_id, parent_id) if isinstance(parent_id, str) else None)
        self._steps[number] = step

    def _read_effect(self, step: Step, event: Event) -> None:
        effect = self._effects.add(step.number, event)
        if effect is not None:
            step.effect = effect.changes_something

    def _read_other(self, step: Step, event: Event, payload: dict[str, Any]) -> dict[str, Any]:
        if step.kind == CALL_START and payload.get("kind") == "tool":
            self._read_effect(step, event)
            return {"args": parse_embedded(payload.get("input"))}
        if step.kind == START:
            self._totals.add_start(event)
            step.start_ms = step.end_ms - _FAR
        elif step.kind == END:
            self._totals.add_end(event, payload)
            step.start_ms = step.end_ms + _FAR
        elif step.kind == LOOP:
            self._has_findings = True
        return _CONTENTS.get(step.kind, _other_content)(payload)

    def _read_model_call(self, step: Step, payload: dict[str, Any]) -> dict[str, Any]:
        self._totals.add_model_call(payload)
        context, appended, step.history, response = self._models.read(payload, tools_are_events=self._tools_seen)
        content = {"appended": appended, "response": response, "stop_reason": payload.get("stop_reason")}
        if step.failed:
            content["error"] = failure_of(payload).text
        if self._ignored is not None:
            context = self._ignored.strip(context)
        if context != self._context:  # most calls are given what the one before was
            self._context, self._context_key = context, fingerprint(context)
        step.context, step.context_key = self._context, self._context_key
        return content

    def finish(self) -> Side:
        totals = self._totals.totals(self._steps.values())
        open_numbers = {step.number for step in self._open.values()}
        ended = {number: call_id for number, call_id in self._starts.items() if number not in open_numbers}
        for number in ended:
            del self._steps[number]
        for step in self._open.values():
            _make_call(step)
        top = self._hang()
        return Side(
            self._steps,
            top,
            _in_order(top),
            totals,
            [self._without_ignored(effect) for effect in self._effects.found()],
            [self._without_ignored(effect) for effect in self._effects.refused()],
            {number: self._by_id[call_id].number for number, call_id in ended.items() if call_id in self._by_id},
            self._count,
            self._has_findings,
        )

    def _without_ignored(self, effect: SideEffect) -> SideEffect:
        if self._ignored is None:
            return effect
        return replace(effect, args=normal_form(self._ignored.strip({"args": effect.args}).get("args")))

    def _hang(self) -> list[Step]:
        """Parents and children; what hangs under RUN_START, under nothing, or in a circle stands at the top."""
        top: list[Step] = []
        families: dict[int, list[Step]] = {}
        for number, step in self._steps.items():
            parent = self._by_id.get(self._parents[number - 1] or "")
            is_held = parent is not None and parent.kind not in _HOLD_NOTHING and parent.number in self._steps
            if parent is None or not is_held or _is_above(step, parent):
                top.append(step)
            else:
                step.parent = parent
                families.setdefault(parent.number, []).append(step)
        for number, children in families.items():
            self._steps[number].children = children
        for siblings in (top, *families.values()):
            siblings.sort(key=self._beginning)
        return top

    def _beginning(self, step: Step) -> tuple[int, int]:
        """When a step began; those that begin together stay in the order of the file, where a call is announced."""
        return step.start_ms, self._begun.get(step.number, step.number)


def _make_call(step: Step) -> None:
    """A tool's call that never returned is a call all the same, and has its like in the run where it did."""
    content = step.content
    if "args" in content:
        step.kind, step.kept = TOOL, {**content, "returned": False}
        step.key = fingerprint(comparable(step, step.kept))


def _in_order(top: Sequence[Step]) -> list[Step]:
    """Every step, each told its depth. What a model call asked for stands as deep as the call."""
    order: list[Step] = []
    waiting = [*reversed(top)]
    while waiting:
        step = waiting.pop()
        order.append(step)
        for child in step.children:
            child.depth = step.depth if step.kind == LLM else step.depth + 1
        waiting += reversed(step.children)
    return order


def _is_above(step: Step, below: Step | None) -> bool:
    """Whether hanging `step` there would close a circle, or a chain too long to be a tree of calls."""
    for _ in range(_DEEPEST):
        if below is None:
            return False
        if below is step:
            return True
        below = below.parent
    return True


def _tool_content(payload: Mapping[str, Any], *, failed: bool) -> dict[str, Any]:
    content = {"args": parse_embedded(payload.get("args")), "result": payload.get("result")}
    if failed:
        content["error"] = failure_of(payload).text
    if not payload.keys() <= _TOOL_PARTS:
        content.update((key, item) for key, item in payload.items() if key not in _TOOL_PARTS)
    return content


def _start_content(payload: Mapping[str, Any]) -> dict[str, Any]:
    content = {key: payload[key] for key in _START_PARTS if key in payload}
    if isinstance(content.get("argv"), list):
        content["argv"] = content["argv"][1:]  # how the program was named says nothing
    return content


def _end_content(payload: Mapping[str, Any]) -> dict[str, Any]:
    content = {key: payload.get(key) for key in ("status", "result", "exit_code") if key in payload}
    return {**content, "error": failure_of(payload).text} if payload.get("error") else content


def _other_content(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in payload.items() if key not in NOT_CONTENT}


_CONTENTS: dict[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    START: _start_content,
    END: _end_content,
    STATE: lambda payload: {"state": payload.get("state")},
    SPAN: lambda payload: {"error": failure_of(payload).text} if payload.get("error") else {},
    EXCEPTION: lambda payload: {"error": failure_of(payload).text, "context": payload.get("context")},
    LOOP: lambda payload: {key: payload.get(key) for key in _LOOP_PARTS},
}


_GROUPS = {"prompt": ("appended", "system", "tools", "parameters")}


def segments_of(path: str) -> list[str]:
    """`result.items[0].price` as its steps."""
    return [part for part in re.split(r"[.\[\]]+", path.strip()) if part]


class Ignored:
    """Paths to leave out. `payload.args` and `args` mean the same."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths: list[list[str]] = []
        for path in paths:
            parts = segments_of(path.removeprefix("payload."))
            for first in _GROUPS.get(parts[0], parts[:1]) if parts else ():
                self._paths.append([first, *parts[1:]])

    def strip(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content without what is left out; the original stays as it is."""
        for path in self._paths:
            content = _without(content, path)
        return content


def _without(value: Any, path: list[str]) -> Any:
    opened = parse_embedded(value)
    if isinstance(opened, dict):
        hit = [key for key in opened if fnmatchcase(str(key), path[0])]
        if not hit:
            return value
        if len(path) == 1:
            return {key: item for key, item in opened.items() if key not in hit}
        return {key: _without(item, path[1:]) if key in hit else item for key, item in opened.items()}
    if isinstance(opened, list):
        if len(path) == 1:
            return [item for at, item in enumerate(opened) if not fnmatchcase(str(at), path[0])]
        return [_without(item, path[1:]) if fnmatchcase(str(at), path[0]) else item for at, item in enumerate(opened)]
    return value
