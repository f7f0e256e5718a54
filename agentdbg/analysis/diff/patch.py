"""
One run as the other and the difference: what makes a comparison provably complete.

A patch lists every event of both runs: paired ones with the edits that turn the first into the second, ids and times
included, the others whole. It is plain JSON, so it can be stored, and reads the same in both directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.diff.result import Diff
    from agentdbg.events import Event

__all__ = ["apply", "make_patch", "mirror_patch"]

Patch = dict[str, Any]
_DEEPEST = 200


def make_patch(a_events: Sequence[Event], b_events: Sequence[Event], diff: Diff) -> Patch:
    """What turns the events of A into those of B, along the alignment of a comparison."""
    partners = {**diff.pairing.pairs, **diff.pairing.moved}
    starts_b = {call: number for number, call in diff.side_b.starts.items()}
    for number, call in diff.side_a.starts.items():
        other = starts_b.get(partners.get(call, 0))
        if other is not None:
            partners[number] = other
    entries: list[dict[str, Any]] = []
    for number, event in enumerate(a_events, 1):
        other = partners.get(number)
        if other is None:
            entries.append({"a": number, "b": None, "event": event})
        else:
            entries.append({"a": number, "b": other, "edits": _edits(event, b_events[other - 1])})
    taken = set(partners.values())
    entries += [
        {"a": None, "b": number, "event": event} for number, event in enumerate(b_events, 1) if number not in taken
    ]
    return {"entries": entries}


def apply(a_events: Sequence[Event], patch: Patch) -> list[Event]:
    """The events of B, from those of A and the patch."""
    built: dict[int, Any] = {}
    for entry in patch["entries"]:
        if entry["b"] is None:
            continue
        if entry["a"] is None:
            built[entry["b"]] = entry["event"]
        else:
            value: Any = a_events[entry["a"] - 1]
            for edit in entry["edits"]:
                value = _edited(value, edit, 0)
            built[entry["b"]] = value
    return [built[number] for number in sorted(built)]


def mirror_patch(patch: Patch) -> Patch:
    """The patch that leads back."""
    return {"entries": [_mirrored(entry) for entry in patch["entries"]]}


def _mirrored(entry: dict[str, Any]) -> dict[str, Any]:
    swapped = {**entry, "a": entry["b"], "b": entry["a"]}
    if "edits" in entry:
        # The last edit is the first to be taken back.
        names = {"was": "now", "now": "was"}
        swapped["edits"] = [
            {names.get(name, name): value for name, value in edit.items()} for edit in reversed(entry["edits"])
        ]
    return swapped


def _edits(was: Any, now: Any) -> list[dict[str, Any]]:
    edits: list[dict[str, Any]] = []
    _collect(was, now, [], edits)
    return edits


def _collect(was: Any, now: Any, path: list[str | int], edits: list[dict[str, Any]]) -> None:
    """A key that only one side has lacks `was` or `now`; of lists of different lengths the middle is replaced."""
    if isinstance(was, dict) and isinstance(now, dict) and len(path) < _DEEPEST:
        for key in was:
            if key not in now:
                edits.append({"path": [*path, key], "was": was[key]})
            else:
                _collect(was[key], now[key], [*path, key], edits)
        edits.extend({"path": [*path, key], "now": now[key]} for key in now if key not in was)
    elif isinstance(was, list) and isinstance(now, list) and len(path) < _DEEPEST:
        if len(was) == len(now):
            for at, (old, new) in enumerate(zip(was, now, strict=True)):
                _collect(old, new, [*path, at], edits)
            return
        begin = 0
        while begin < min(len(was), len(now)) and _is_same(was[begin], now[begin]):
            begin += 1
        end = 0
        while end < min(len(was), len(now)) - begin and _is_same(was[-1 - end], now[-1 - end]):
            end += 1
        middle, middle_now = was[begin : len(was) - end], now[begin : len(now) - end]
        edits.append({"path": path, "at": begin, "was": middle, "now": middle_now})
    elif not _is_same(was, now):
        edits.append({"path": path, "was": was, "now": now})


def _is_same(was: Any, now: Any) -> bool:
    """Exactly the same JSON: 1, 1.0 and true are three values."""
    if was is now:
        return True
    if type(was) is not type(now):
        return False
    if isinstance(was, dict):
        return was.keys() == now.keys() and all(_is_same(item, now[key]) for key, item in was.items())
    if isinstance(was, list):
        return len(was) == len(now) and all(map(_is_same, was, now))
    return bool(was == now)


def _edited(value: Any, edit: dict[str, Any], depth: int) -> Any:
    """The value with one edit made; the original is left as it is."""
    path = edit["path"]
    if depth < len(path) and not (depth == len(path) - 1 and "at" not in edit):
        key = path[depth]
        copied = value.copy()
        copied[key] = _edited(value[key], edit, depth + 1)
        return copied
    if "at" in edit:
        return [*value[: edit["at"]], *edit["now"], *value[edit["at"] + len(edit["was"]) :]]
    if not path:
        return edit["now"]
    copied = value.copy()
    if "now" in edit:
        copied[path[-1]] = edit["now"]
    else:
        del copied[path[-1]]
    return copied
