"""
A row is a sentence: `input → outcome`, said so that opening the event is for depth only.

One function per kind of event. What the line above already said is left out: a model row names the tools it calls, the
arguments stand in the tool's own row; a repeated call says which call it repeats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.value_text import (
    Part,
    Parts,
    fields,
    is_cut,
    key_text,
    merge,
    outcome_of,
    parse_embedded,
    part,
    plain_text,
    value,
)
from agentdbg.analysis.wording import count_noun, cut, duration, number_or_none, one_line
from agentdbg.events import TRUNCATED

if TYPE_CHECKING:
    from agentdbg.analysis.tree import SpanTotals

__all__ = [
    "LOOP_NAMES",
    "Preview",
    "call_start_preview",
    "error_preview",
    "llm_preview",
    "loop_preview",
    "other_preview",
    "run_end_preview",
    "run_start_preview",
    "span_preview",
    "state_preview",
    "tool_preview",
]

LOOP_NAMES = {
    "error_retry": "retry loop",
    "cycle": "loop",
    "stall": "stall",
    "echo": "echo",
    "repetition": "repetition",
}
NEVER_RETURNED = "never returned: the process ended during this call"

_GUARDRAIL_NAMES = ("max_llm_calls", "max_tool_calls", "max_events", "max_tokens", "max_cost_usd", "max_duration_s")
_UNKNOWN: Any = object()
_WORTH_LEAVING_OUT = 24
"""Characters of unchanged arguments below which `the rest as in #49` would be longer than the rest."""


class _PreviewRequired(TypedDict):
    input: list[Part]
    outcome: list[Part]
    error: str | None
    same_as: int | None
    rest_as: int | None


class Preview(_PreviewRequired, total=False):
    """What a row says. `tree`: what a span says in the tree, where its children stand below it."""

    tree: dict[str, list[Part]]


def preview(
    given: list[Part] | None = None,
    outcome: list[Part] | None = None,
    error: str | None = None,
    same_as: int | None = None,
    rest_as: int | None = None,
) -> Preview:
    return {"input": given or [], "outcome": outcome or [], "error": error, "same_as": same_as, "rest_as": rest_as}


def llm_preview(payload: dict[str, Any], *, failed: bool, tools_have_rows: bool = True) -> Preview:
    """The new user message, if that is what came last, and the answer: its words, then the tools it calls."""
    given: list[Part] = []
    latest = conversation.turns(payload.get("prompt"), last=1)
    if latest and latest[0].role == "user" and latest[0].text.strip():
        given = [part("user", "role"), *outcome_of(latest[0].text)]
    if failed:
        return preview(given, error=failure_of(payload).text)
    return preview(given, answer_parts(payload.get("response"), tools_have_rows=tools_have_rows))


def answer_parts(response: Any, *, tools_have_rows: bool = True) -> list[Part]:
    """The words of an answer, then `calls name` for each tool it asks for."""
    said = conversation.answer(response)
    if not said.calls:
        if said.text.strip():
            return outcome_of(said.text)
        # Not a message in any shape we know: better its keys than nothing.
        return outcome_of(response) if not isinstance(response, dict) else fields(response) or [part("empty", "muted")]
    parts = outcome_of(said.text, room=240) if said.text.strip() else []
    if parts:
        parts.append(part(" · ", "muted"))
    parts.append(part("calls ", "muted"))
    for position, call in enumerate(said.calls[:6]):
        if position:
            parts.append(part(", ", "muted"))
        arguments = f"({plain_text(argument_parts(call.args, room=200))})"
        parts.append({"text": one_line(call.name, 80), "style": "call", "args": arguments})
        if not tools_have_rows:
            parts.append(part(arguments, "mono"))
    if len(said.calls) > 6:
        parts.append(part(f" and {len(said.calls) - 6} more", "muted"))
    return merge(parts)


def argument_parts(args: Any, room: int = 400) -> list[Part]:
    """Arguments as `key: value`; a single unnamed one as its value."""
    args = parse_embedded(args)
    if args is None or args in ({}, []):
        return []
    return fields(args, room) if isinstance(args, dict) else value(args, room)


def tool_preview(
    payload: dict[str, Any],
    *,
    failed: bool,
    same_as: int | None = None,
    earlier: tuple[int, Any] | None = None,
) -> Preview:
    """
    Arguments and result. `same_as` is the number of a call with the very same arguments, `earlier` the number and
    arguments of the latest call of the same tool.
    """
    args = parse_embedded(payload.get("args"))
    given: list[Part] = []
    rest_as = None
    if same_as is not None and is_cut(args):
        same_as = None  # what was cut away may have differed
    if same_as is None:
        changed = _changed_arguments(args, earlier[1]) if earlier else None
        if changed is not None and earlier is not None:
            rest_as = earlier[0]
        given = argument_parts(args if changed is None else changed)
    elif not args:
        same_as = None  # two calls without arguments are alike, but there is nothing to refer to
    if failed:
        return preview(given, error=failure_of(payload).text, same_as=same_as, rest_as=rest_as)
    return preview(given, outcome_of(payload.get("result"), args), same_as=same_as, rest_as=rest_as)


def _changed_arguments(args: Any, earlier: Any) -> dict[str, Any] | None:
    """The one or two arguments that differ from the earlier call; None when saying so would not help."""
    earlier = parse_embedded(earlier)
    if not isinstance(args, dict) or not isinstance(earlier, dict) or set(args) != set(earlier):
        return None
    changed = {key: item for key, item in args.items() if item != earlier[key]}
    if not 1 <= len(changed) <= 2:
        return None
    rest = {key: item for key, item in args.items() if key not in changed}
    if is_cut(rest):
        return None
    return changed if len(plain_text(fields(rest, 80))) >= _WORTH_LEAVING_OUT else None


def state_preview(payload: dict[str, Any], before: Any = None) -> Preview:
    """
    What changed: `stage "a" → "b" · + added [..] · - removed`; where that cannot be known, the keys.

    `before` is the state recorded before under the same name: the stored diff has only the new values.
    """
    state = payload.get("state")
    if isinstance(before, dict) and isinstance(state, dict):
        changes = _compare(before, state)
        if not changes:
            return preview(outcome=[part("unchanged", "muted")])
    else:
        changes = _changes(payload.get("diff"), state)
    if changes:
        parts = Parts()
        for position, (sign, key, old, new) in enumerate(changes):
            if parts.full:
                break
            if position:
                parts.add(" · ", "muted")
            _add_change(parts, sign, key, old, new)
        return preview(outcome=merge(parts.items))
    if isinstance(state, dict) and state:
        return preview(outcome=[part(cut(", ".join(key_text(key) for key in state if key != TRUNCATED), 400), "mono")])
    return preview(outcome=outcome_of(state))


def _compare(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, Any, Any]]:
    changed = [("~", key, before[key], item) for key, item in after.items() if key in before and before[key] != item]
    # What one of them does not hold because it was cut was neither added nor removed.
    added = [("+", key, None, item) for key, item in after.items() if key not in before and TRUNCATED not in before]
    removed = [("-", key, None, None) for key in before if key not in after and TRUNCATED not in after]
    added = [change for change in added if change[1] != TRUNCATED]
    removed = [change for change in removed if change[1] != TRUNCATED]
    return [(sign, key_text(key), old, new) for sign, key, old, new in (*changed, *added, *removed)]


def _add_change(parts: Parts, sign: str, key: str, old: Any, new: Any) -> None:
    if sign == "+":
        parts.add(f"+ {key} ", "add")
        parts.add_value(new)
    elif sign == "-":
        parts.add(f"- {key}", "del")
    else:
        parts.add(f"{key} ", "key")
        if old is not _UNKNOWN:
            before = Parts(min(parts.left, 80))
            before.add_value(old)
            parts.items.extend(before.items)
            parts.left -= sum(len(piece["text"]) for piece in before.items)
            parts.add(" → ", "muted")
        parts.add_value(new)


def _changes(diff: Any, state: Any) -> list[tuple[str, str, Any, Any]]:
    """A stored diff as (sign, key, old, new): grouped by what happened, or flat with the new values."""
    if not isinstance(diff, dict):
        return []
    added, removed = diff.get("added"), diff.get("removed")
    changed = diff.get("changed", diff.get("modified"))
    changes: list[tuple[str, Any, Any, Any]] = []
    if any(isinstance(group, (dict, list)) for group in (added, removed, changed)):
        changes += [("~", key, *_old_and_new(item)) for key, item in _items(changed)]
        changes += [("+", key, None, item) for key, item in _items(added)]
        changes += [("-", key, None, None) for key, _ in _items(removed)]
    else:
        kept = state if isinstance(state, dict) else diff
        changes += [("~", key, *_old_and_new(item)) for key, item in diff.items() if key in kept]
        changes += [("-", key, None, None) for key in diff if key not in kept]
    return [(sign, key_text(key), old, new) for sign, key, old, new in changes]


def _old_and_new(item: Any) -> tuple[Any, Any]:
    if isinstance(item, dict):
        for before, after in (("old", "new"), ("from", "to"), ("before", "after")):
            if before in item or after in item:
                return item.get(before), item.get(after)
    if isinstance(item, list) and len(item) == 2:
        return item[0], item[1]
    return _UNKNOWN, item


def _items(group: Any) -> list[tuple[Any, Any]]:
    if isinstance(group, dict):
        return list(group.items())
    return [(key, None) for key in group] if isinstance(group, list) else []


def span_preview(payload: dict[str, Any], totals: SpanTotals, first: Preview | None, last: Preview | None) -> Preview:
    """How much happened inside; in the tree, how it began and the outcome."""
    said = []
    if totals.llm_calls:
        said.append(f"{totals.llm_calls:,} LLM")
    if totals.tool_calls:
        said.append(count_noun(totals.tool_calls, "tool"))
    if totals.failed:
        said.append(f"{totals.failed:,} failed")
    error = failure_of(payload).text if payload.get("error") else None
    shown = preview(outcome=[part(" · ".join(said), "plain")] if said else [], error=error)
    if totals.tool_calls_failed:
        end = [part(f"{totals.tool_calls_failed:,} of {count_noun(totals.tool_calls, 'tool call')} failed")]
    else:
        end = last["outcome"] if last else []
    shown["tree"] = {"input": first["input"] if first else [], "outcome": end}
    return shown


def error_preview(payload: dict[str, Any]) -> Preview:
    """The message and the user's frame; the class stands in the name column."""
    failure = failure_of(payload)
    text = failure.message or failure.error_type or "an error without a message"
    frame = failure.frame
    return preview(error=f"{text} in {frame.function}, {_short_path(frame.path)}:{frame.line}" if frame else text)


def _short_path(path: str) -> str:
    return "/".join(path.replace("\\", "/").split("/")[-2:])


def loop_preview(payload: dict[str, Any]) -> Preview:
    """The finding's own sentence; an older trace has only a pattern and a count."""
    explanation = payload.get("explanation")
    if not isinstance(explanation, str) or not explanation:
        count = payload.get("repetitions", payload.get("repetition_count"))
        pattern = payload.get("pattern") or "The same step"
        explanation = f"{pattern} repeated {count if isinstance(count, int) else 'several'} times."
    return preview(outcome=[part(one_line(explanation), "plain")])


def run_start_preview(payload: dict[str, Any]) -> Preview:
    """The limits in force, Python and the platform."""
    limits = payload.get("guardrails")
    said = []
    if isinstance(limits, dict):
        if limits.get("stop_on_loop"):
            said.append(f"stop_on_loop at {limits.get('stop_on_loop_min_repetitions') or 3}")
        said += [f"{name} {limits[name]}" for name in _GUARDRAIL_NAMES if limits.get(name) is not None]
    version, platform = payload.get("python_version"), payload.get("platform")
    if isinstance(version, str) and version:
        said.append(f"Python {version.split()[0]}" + (f" on {platform}" if isinstance(platform, str) else ""))
    return preview(outcome=[part(one_line(" · ".join(said)), "plain")] if said else [])


def run_end_preview(payload: dict[str, Any]) -> Preview:
    """Status, duration and counts."""
    summary = payload.get("summary")
    summary = summary if isinstance(summary, dict) else {}
    said = [str(payload.get("status") or "ended")]
    length = number_or_none(summary.get("duration_ms"))
    if length is not None:
        said.append(duration(length))
    for key, noun in (
        ("llm_calls", "LLM call"),
        ("tool_calls", "tool call"),
        ("errors", "error"),
        ("loop_warnings", "loop finding"),
    ):
        count = number_or_none(summary.get(key))
        if count:
            said.append(count_noun(count, noun))
    return preview(outcome=[part(one_line(" · ".join(said)), "plain")])


def call_start_preview(payload: dict[str, Any], *, running: bool, ended: bool = False) -> Preview:
    """A call's start: what it was given, and, unless it has ended, that it runs or never returned."""
    given = payload.get("input")
    if payload.get("kind") == "llm":
        shown = llm_preview({"prompt": given}, failed=False)["input"]
    else:
        shown = argument_parts(given)
    if ended:
        return preview(shown)
    return preview(shown, [part("running…")]) if running else preview(shown, error=NEVER_RETURNED)


def other_preview(payload: dict[str, Any]) -> Preview:
    """A type we do not know: its payload."""
    return preview(outcome=fields(payload))
