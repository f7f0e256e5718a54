"""
What differs between two steps that belong together: where in the JSON, what it was, what it is now.

A prompt is compared by its parts (instructions, tools, parameters, new messages), an answer by its words and the tools
it asks for. Fields that belong to the single call (`request_id`, `timestamp`) are no differences, nor are clocks and
ids inside a text.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from agentdbg.analysis.conversation import text_of, turns
from agentdbg.analysis.diff.sequences import Segment, common_pairs, other_wording, word_segments
from agentdbg.analysis.diff.steps import encoded
from agentdbg.analysis.run_columns import LLM
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_json, cut
from agentdbg.events import TRUNCATED
from agentdbg.events.markers import has_gap, is_gap, missing_count
from agentdbg.loops.volatile import VOLATILE_KEYS

if TYPE_CHECKING:
    from agentdbg.analysis.conversation import Turn
    from agentdbg.analysis.diff.steps import Step

__all__ = ["Change", "changes_between", "context_changes", "from_first_difference", "sorted_changes", "value_changes"]

_MOST = 200
_DEEPEST = 40
_LOOKED_AT = 400
_SHORT = 80
_MISSING: Any = object()
_NO_KEYS: frozenset[str] = frozenset()
_COMPARED = frozenset({"appended", "response"})
_Item = TypeVar("_Item", str, bytes)
_PIECES = re.compile(r"\d+|\D+")
_SHIFTED = re.compile(r"\[(\d+)→(\d+)\]")
_GIVEN = ("system", "tools", "parameters")
_PARTS = {"parameters": 0, "system": 1, "tools": 2, "appended": 3, "args": 4, "calls": 5, "response": 6, "result": 7}

Op = Literal["changed", "added", "removed"]


class Change(NamedTuple):
    """
    One difference. `path` begins with the part of the step it is in: `args.flights[1].number`, `response`, `system`.

    An item of a list that stands elsewhere has both places in its path: `args.tags[1→2]`. `wording` says that both are
    sentences and contradict each other in no figure, date or code.
    """

    path: str
    op: Op
    was: Any = None
    now: Any = None
    wording: bool = False

    @property
    def part(self) -> str:
        """`args`, `result`, `response`, `calls`, `appended`, `system`, `tools`, `parameters` …"""
        return self.path.partition(".")[0].partition("[")[0]

    @property
    def is_given(self) -> bool:
        """Whether it is what the model was given beside the messages: a cause, and not what the agent did."""
        return self.part in _GIVEN

    @property
    def is_quiet(self) -> bool:
        """Whether the agent did nothing else because of it, as far as this step shows."""
        return self.wording or self.is_given

    def swapped(self) -> Change:
        op: dict[str, Op] = {"added": "removed", "removed": "added"}
        path = _SHIFTED.sub(r"[\2→\1]", self.path)
        return Change(path, op.get(self.op, "changed"), self.now, self.was, self.wording)

    def words(self) -> list[Segment] | None:
        """Both texts word by word; None where they are no texts."""
        if isinstance(self.was, str) and isinstance(self.now, str):
            return word_segments(self.was, self.now)
        return None

    def to_json(self) -> dict[str, Any]:
        told = {"path": self.path, "op": self.op, **dict(self._values()), "wording": self.wording}
        segments = self.words()
        if segments is not None:
            told["words"] = [list(segment) for segment in segments]
        return told

    def to_short_json(self) -> dict[str, Any]:
        """The change with its values cut, for a list of many."""
        values = {name: cut(as_json(value)[:_LOOKED_AT], _SHORT) for name, value in self._values()}
        return {"path": self.path, "op": self.op, **values, "wording": self.wording}

    def _values(self) -> list[tuple[str, Any]]:
        """`was` and `now`, as far as there is one."""
        was, now = ("was", self.was), ("now", self.now)
        return [now] if self.op == "added" else [was] if self.op == "removed" else [was, now]


def from_first_difference(was: Any, now: Any, near: int = 20) -> tuple[Any, Any]:
    """Two texts that begin alike, from a word or so before the place where they differ; anything else as it is."""
    if not isinstance(was, str) or not isinstance(now, str):
        return was, now
    differing = (at for at, (old, new) in enumerate(zip(was, now, strict=False)) if old != new)
    begin = next(differing, min(len(was), len(now)))
    if begin < 2 * near:
        return was, now
    space = was.rfind(" ", begin - 2 * near, begin - near)
    kept = space if space >= 0 else begin - near
    return f"…{was[kept:].lstrip()}", f"…{now[kept:].lstrip()}"


def changes_between(a: Step, b: Step) -> list[Change]:
    """What differs in the content of two paired steps; what a prompt only repeats is not said again."""
    found: list[Change] = []
    if a.kind == LLM:
        _compare_answers(a, b, found)
    else:
        _compare_tables(a.content, b.content, "", 0, found, _NO_KEYS)
    return sorted_changes(found)


def context_changes(a: Step, b: Step) -> list[Change]:
    """What differs in what a model was given beside the messages: instructions, tools, parameters."""
    if a.context_key == b.context_key or a.context is None or b.context is None:
        return []
    was, now = dict(a.context), dict(b.context)
    tools = _tools_by_name(was.pop("tools", None)), _tools_by_name(now.pop("tools", None))
    parameters = was.pop("parameters", {}), now.pop("parameters", {})
    found = value_changes(was, now, "")
    found += value_changes(*tools, "tools")
    found += value_changes(*parameters, "parameters")
    return sorted_changes(found)


def _tools_by_name(tools: Any) -> Any:
    """A list of tool schemas as a table, so that a new tool does not shift the others."""
    if not isinstance(tools, list):
        return {} if tools is None else tools
    table: dict[str, Any] = {}
    for at, tool in enumerate(tools):
        inner = tool.get("function") if isinstance(tool, dict) and isinstance(tool.get("function"), dict) else tool
        name = inner.get("name") if isinstance(inner, dict) else tool if isinstance(tool, str) else None
        table[name if isinstance(name, str) and name not in table else str(at)] = inner
    return table


def _compare_answers(a: Step, b: Step, found: list[Change]) -> None:
    was, now = a.content, b.content
    _compare_messages(was.get("appended", []), now.get("appended", []), found)
    response, response_now = was.get("response"), now.get("response")
    if response != response_now:
        before = len(found)
        _compare_said(a.said, b.said, found)
        if len(found) == before:
            found += value_changes(_without_empty(response), _without_empty(response_now), "response")
    _compare_tables(was, now, "", 0, found, _COMPARED)


def _without_empty(value: Any, depth: int = 0) -> Any:
    """An answer without fields that hold nothing, which one provider sends and another leaves out."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        kept = {
            key: _without_empty(item, depth + 1) for key, item in value.items() if not (key == "index" and item == 0)
        }
        return {key: item for key, item in kept.items() if item not in (None, "", [], {})}
    return [_without_empty(item, depth + 1) for item in value] if isinstance(value, list) else value


def _compare_said(was: Turn, now: Turn, found: list[Change]) -> None:
    """The words of two answers, and the tools they ask for, by name first: another tool is another call."""
    text = _text_change("response", was.text, now.text)
    names, names_now = [call.name for call in was.calls], [call.name for call in now.calls]
    if text is not None:
        # A word beside the same calls, or none: models do as they like.
        found.append(text._replace(wording=True) if text.op != "changed" and names and names == names_now else text)
    matched = _matched(names, names_now)
    for at, at_now in matched:
        found += value_changes(was.calls[at].args, now.calls[at_now].args, f"calls.{was.calls[at].name}")
    kept, kept_now = {at for at, _ in matched}, {at for _, at in matched}
    found += [Change(f"calls.{call.name}", "removed", call.args) for at, call in enumerate(was.calls) if at not in kept]
    added = [call for at, call in enumerate(now.calls) if at not in kept_now]
    found += [Change(f"calls.{call.name}", "added", None, call.args) for call in added]


def _compare_messages(was: list[Any], now: list[Any], found: list[Change]) -> None:
    """New messages, in order: those at the same place are compared by their words."""
    if was == now:
        return
    if not _are_turns(was) or not _are_turns(now):
        found += value_changes(was, now, "appended")
        return
    for at, (old, new) in enumerate(zip_longest(was, now, fillvalue=_MISSING)):
        if new is _MISSING:
            found.append(Change(f"appended[{at}]", "removed", text_of(old) or old))
        elif old is _MISSING:
            found.append(Change(f"appended[{at}]", "added", None, text_of(new) or new))
        elif old != new:
            text = _text_change(f"appended[{at}]", text_of(old), text_of(new))
            if text is not None:
                found.append(text)
            else:
                found += value_changes(old, new, f"appended[{at}]")


def _are_turns(messages: list[Any]) -> bool:
    """Whether each item is one message."""
    are_messages = all(isinstance(message, dict) and "role" in message for message in messages)
    return are_messages or len(turns(messages)) == len(messages)


def _text_change(path: str, was: str, now: str) -> Change | None:
    if was == now:
        return None
    if was and now:
        wording = other_wording(was, now)
        return None if wording is None else Change(path, "changed", was, now, wording)
    return Change(path, "added", None, now) if now else Change(path, "removed", was)


def value_changes(was: Any, now: Any, path: str) -> list[Change]:
    """The differences inside two JSON values, innermost first told by their paths; all, or too many to be read."""
    found: list[Change] = []
    if not _are_equal(was, now):
        _compare_values(was, now, path, 0, found)
    return found


def _compare_values(was: Any, now: Any, path: str, depth: int, found: list[Change]) -> None:
    """As `value_changes`, of two that are known to differ."""
    opened, opened_now = parse_embedded(was), parse_embedded(now)
    if isinstance(opened, dict) and isinstance(opened_now, dict) and depth < _DEEPEST:
        passed_over = VOLATILE_KEYS if depth and not path.startswith("args") else _NO_KEYS
        _compare_tables(opened, opened_now, path, depth, found, passed_over)
    elif isinstance(opened, list) and isinstance(opened_now, list) and depth < _DEEPEST:
        _compare_lists(opened, opened_now, path, depth, found)
    else:
        wording = other_wording(was, now) if isinstance(was, str) and isinstance(now, str) else False
        if wording is not None:
            found.append(Change(path, "changed", was, now, wording))


def _are_equal(was: Any, now: Any) -> bool:
    """Equal as JSON: 2 is 2.0, the order of keys says nothing, but 1 is not true."""
    if was != now:
        return False
    if isinstance(was, dict):
        return all(_are_equal(item, now[key]) for key, item in was.items())
    if isinstance(was, list):
        return all(map(_are_equal, was, now))
    return isinstance(was, bool) == isinstance(now, bool)


def _compare_tables(
    was: dict[str, Any], now: dict[str, Any], path: str, depth: int, found: list[Change], passed_over: frozenset[str]
) -> None:
    # Of a table that was cut, nobody knows whether an entry was not there or only not stored.
    is_cut, is_cut_now = TRUNCATED in was, TRUNCATED in now
    for key, old in was.items():
        if key in passed_over or key == TRUNCATED:
            continue
        new = now.get(key, _MISSING)
        if new is _MISSING:
            if not is_cut_now:
                found.append(Change(f"{path}.{key}" if path else str(key), "removed", old))
        elif not _are_equal(old, new):
            _compare_values(old, new, f"{path}.{key}" if path else str(key), depth + 1, found)
        if len(found) >= _MOST:
            return
    for key, new in now.items() if not is_cut else ():
        if key not in was and key not in passed_over and key != TRUNCATED:
            found.append(Change(f"{path}.{key}" if path else str(key), "added", None, new))


def _compare_lists(was: list[Any], now: list[Any], path: str, depth: int, found: list[Change]) -> None:
    if has_gap(was) or has_gap(now):
        _compare_ends(was, now, path, depth, found)
        return
    if len(was) == len(now):
        for at, (old, new) in enumerate(zip(was, now, strict=True)):
            if not _are_equal(old, new) and len(found) < _MOST:
                _compare_values(old, new, f"{path}[{at}]", depth + 1, found)
        return
    edges = [*_matched([encoded(item) for item in was], [encoded(item) for item in now]), (len(was), len(now))]
    at = at_now = 0
    for end, end_now in edges:
        # Between equal items: as many changed as both sides have, the rest gone or come.
        while at < end and at_now < end_now and len(found) < _MOST:
            if not _are_equal(was[at], now[at_now]):
                place = f"[{at}]" if at == at_now else f"[{at}→{at_now}]"
                _compare_values(was[at], now[at_now], path + place, depth + 1, found)
            at, at_now = at + 1, at_now + 1
        if len(found) >= _MOST:
            return
        found += [Change(f"{path}[{gone}]", "removed", was[gone]) for gone in range(at, end)]
        found += [Change(f"{path}[{come}]", "added", None, now[come]) for come in range(at_now, end_now)]
        at, at_now = end + 1, end_now + 1


def _compare_ends(was: list[Any], now: list[Any], path: str, depth: int, found: list[Change]) -> None:
    """Compare lists whose middle was not stored: their length, and what both have of the beginning and of the end."""
    (head, tail, missing), (head_now, tail_now, missing_now) = _ends(was), _ends(now)
    count, count_now = (
        None if unknown is None else len(first) + unknown + len(last)
        for first, last, unknown in ((head, tail, missing), (head_now, tail_now, missing_now))
    )
    if count != count_now and count is not None and count_now is not None:
        found.append(Change(f"{path}.length", "changed", count, count_now))
    for at, (old, new) in enumerate(zip(head, head_now, strict=False)):
        if not _are_equal(old, new) and len(found) < _MOST:
            _compare_values(old, new, f"{path}[{at}]", depth + 1, found)
    for at, (old, new) in enumerate(zip(reversed(tail), reversed(tail_now), strict=False), 1):
        if not _are_equal(old, new) and len(found) < _MOST:
            _compare_values(old, new, f"{path}[-{at}]", depth + 1, found)


def _ends(items: list[Any]) -> tuple[list[Any], list[Any], int | None]:
    """What stands before and after the gap of a list, and how much is missing; a whole list has both ends in full."""
    at = next((at for at, item in enumerate(items) if is_gap(item)), None)
    if at is None:
        return items, items, -len(items)
    return items[:at], items[at + 1 :], missing_count(items[at])


def _matched(was: list[_Item], now: list[_Item]) -> list[tuple[int, int]]:
    """Equal items in order; the same ones whichever list comes first."""
    if now < was:
        return [(at, at_now) for at_now, at in common_pairs(now, was)]
    return common_pairs(was, now)


def sorted_changes(found: list[Change]) -> list[Change]:
    """The changes by their paths, as many as anybody would read."""
    return sorted(found[:_MOST], key=_place_of)


def _place_of(change: Change) -> list[int | str]:
    """The part first, then the path, positions by their size: `[2]` before `[10]`."""
    place: list[int | str] = [_PARTS.get(change.part, 9)]
    for piece in _PIECES.findall(change.path):
        place += (int(piece) if piece.isdecimal() and len(piece) < 10 else -1, piece)
    return place
