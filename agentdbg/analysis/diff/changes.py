"""
What differs between two steps that belong together: where in the JSON, what it was, what it is now.

A prompt is compared by its parts (instructions, tools, parameters, new messages), an answer by its words and the tools
it asks for. Fields that belong to the single call (`request_id`, `timestamp`) are no differences, nor are clocks and
ids inside a text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from agentdbg.analysis.columns import LLM
from agentdbg.analysis.conversation import text_of, turns
from agentdbg.analysis.diff.fingerprints import encoded
from agentdbg.analysis.diff.sequences import common_pairs
from agentdbg.analysis.diff.words import Segment, is_other_wording, says_the_same, word_segments
from agentdbg.analysis.values import parse_embedded
from agentdbg.analysis.wording import as_json, cut
from agentdbg.loops.volatile import VOLATILE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentdbg.analysis.conversation import Call
    from agentdbg.analysis.diff.steps import Step

__all__ = ["Change", "changes_between", "context_changes", "sorted_changes", "value_changes"]

_MOST = 200
_DEEPEST = 40
_MISSING: Any = object()
_NO_KEYS: frozenset[str] = frozenset()
_Item = TypeVar("_Item", str, bytes)
_PIECES = re.compile(r"\d+|\D+")
_SHIFTED = re.compile(r"\[(\d+)→(\d+)\]")
_PARTS = {"parameters": 0, "system": 1, "tools": 2, "appended": 3, "args": 4, "calls": 5, "response": 6, "result": 7}


class Change(NamedTuple):
    """
    One difference. `path` begins with the part of the step it is in: `args.flights[1].number`, `response`, `system`.

    An item of a list that stands elsewhere has both places in its path: `args.tags[1→2]`. `wording` says that both are
    sentences and contradict each other in no figure, date or code.
    """

    path: str
    op: Literal["changed", "added", "removed"]
    was: Any = None
    now: Any = None
    wording: bool = False

    @property
    def part(self) -> str:
        """`args`, `result`, `response`, `calls`, `appended`, `system`, `tools`, `parameters` …"""
        return _part_of(self.path)

    @property
    def is_given(self) -> bool:
        """Whether it is what the model was given beside the messages: a cause, and not what the agent did."""
        return self.part in ("system", "tools", "parameters")

    @property
    def is_quiet(self) -> bool:
        """Whether the agent did nothing else because of it, as far as this step shows."""
        return self.wording or self.is_given

    def swapped(self) -> Change:
        op: dict[str, Literal["added", "removed"]] = {"added": "removed", "removed": "added"}
        path = _SHIFTED.sub(r"[\2→\1]", self.path)
        return Change(path, op.get(self.op, "changed"), self.now, self.was, self.wording)

    def words(self) -> list[Segment] | None:
        """Both texts word by word; None where they are no texts."""
        if isinstance(self.was, str) and isinstance(self.now, str):
            return word_segments(self.was, self.now)
        return None

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"path": self.path, "op": self.op}
        if self.op != "added":
            told["was"] = self.was
        if self.op != "removed":
            told["now"] = self.now
        told["wording"] = self.wording
        segments = self.words()
        if segments is not None:
            told["words"] = [list(segment) for segment in segments]
        return told

    def to_short_json(self, room: int = 80) -> dict[str, Any]:
        """The change with its values cut, for a list of many."""
        told: dict[str, Any] = {"path": self.path, "op": self.op}
        if self.op != "added":
            told["was"] = cut(as_json(self.was)[:400], room)
        if self.op != "removed":
            told["now"] = cut(as_json(self.now)[:400], room)
        told["wording"] = self.wording
        return told


def _part_of(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def changes_between(a: Step, b: Step) -> list[Change]:
    """What differs in the content of two paired steps; what a prompt only repeats is not said again."""
    if a.kind == LLM:
        return sorted_changes(_model_changes(a, b))
    return sorted_changes(_table_changes(a.content, b.content, "", 0))


def context_changes(a: Step, b: Step) -> list[Change]:
    """What differs in what a model was given beside the messages: instructions, tools, parameters."""
    if a.context_key == b.context_key or a.context is None or b.context is None:
        return []
    was, now = dict(a.context), dict(b.context)
    tools = _tools_by_name(was.pop("tools", None)), _tools_by_name(now.pop("tools", None))
    parameters = was.pop("parameters", {}), now.pop("parameters", {})
    found = list(value_changes(was, now, ""))
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


def _model_changes(a: Step, b: Step) -> Iterator[Change]:
    was, now = dict(a.content), dict(b.content)
    yield from _message_changes(was.pop("appended", []), now.pop("appended", []))
    responses = was.pop("response", None), now.pop("response", None)
    if responses[0] != responses[1]:
        said, says = a.said, b.said
        found = [*_text_change("response", said.text, says.text), *_call_changes(said.calls, says.calls)]
        if [call.name for call in said.calls] == [call.name for call in says.calls] and said.calls:
            # A word beside the same calls, or none: models do as they like.
            found = [_as_wording(change) if change.path == "response" else change for change in found]
        yield from found or value_changes(*responses, "response")
    yield from _table_changes(was, now, "", 0)


def _message_changes(was: list[Any], now: list[Any]) -> Iterator[Change]:
    """New messages, in order: those at the same place are compared by their words."""
    if was == now:
        return
    if not _are_turns(was) or not _are_turns(now):
        yield from value_changes(was, now, "appended")
        return
    for at, (old, new) in enumerate(zip_longest(was, now, fillvalue=_MISSING)):
        path = f"appended[{at}]"
        if new is _MISSING:
            yield Change(path, "removed", text_of(old) or old)
        elif old is _MISSING:
            yield Change(path, "added", None, text_of(new) or new)
        elif old != new:
            texts = list(_text_change(path, text_of(old), text_of(new)))
            yield from texts or value_changes(old, new, path)


def _are_turns(messages: list[Any]) -> bool:
    """Whether each item is one message."""
    return all(isinstance(message, dict) and "role" in message for message in messages) or (
        len(turns(messages)) == len(messages)
    )


def _text_change(path: str, was: str, now: str) -> Iterator[Change]:
    if was != now and not says_the_same(was, now):
        if was and now:
            yield Change(path, "changed", was, now, is_other_wording(was, now))
        elif now:
            yield Change(path, "added", None, now)
        else:
            yield Change(path, "removed", was)


def _as_wording(change: Change) -> Change:
    return change if change.op == "changed" else change._replace(wording=True)


def _call_changes(was: list[Call], now: list[Call]) -> Iterator[Change]:
    """Calls are compared by name first: another tool is another call, not a changed argument."""
    matched = _matched([call.name for call in was], [call.name for call in now])
    for at, at_now in matched:
        yield from value_changes(was[at].args, now[at_now].args, f"calls.{was[at].name}")
    kept, kept_now = {at for at, _ in matched}, {at for _, at in matched}
    for at, call in enumerate(was):
        if at not in kept:
            yield Change(f"calls.{call.name}", "removed", call.args)
    for at, call in enumerate(now):
        if at not in kept_now:
            yield Change(f"calls.{call.name}", "added", None, call.args)


def value_changes(was: Any, now: Any, path: str, depth: int = 0) -> Iterator[Change]:
    """The differences inside two JSON values, innermost first told by their paths."""
    return iter(()) if _are_equal(was, now) else _differences(was, now, path, depth)


def _differences(was: Any, now: Any, path: str, depth: int) -> Iterator[Change]:
    """As `value_changes`, of two that are known to differ."""
    opened, opened_now = parse_embedded(was), parse_embedded(now)
    if type(opened) is type(opened_now) and isinstance(opened, (dict, list)) and depth < _DEEPEST:
        yield from _inner_changes(opened, opened_now, path, depth)
    elif isinstance(was, str) and isinstance(now, str):
        if not says_the_same(was, now):
            yield Change(path, "changed", was, now, is_other_wording(was, now))
    else:
        yield Change(path, "changed", was, now)


def _are_equal(was: Any, now: Any) -> bool:
    """Equal as JSON: 2 is 2.0, the order of keys says nothing, but 1 is not true."""
    if was is now:
        return True
    if was != now:
        return False
    if isinstance(was, (dict, list)):
        return encoded(was) == encoded(now) or not any(True for _ in _inner_changes(was, now, "", 0))
    return isinstance(was, bool) == isinstance(now, bool)


def _inner_changes(was: Any, now: Any, path: str, depth: int) -> Iterator[Change]:
    if isinstance(was, dict):
        return _table_changes(was, now, path, depth)
    return _list_changes(was, now, path, depth)


def _table_changes(was: dict[str, Any], now: dict[str, Any], path: str, depth: int) -> Iterator[Change]:
    passed_over = VOLATILE_KEYS if depth and not path.startswith("args") else _NO_KEYS
    for key, old in was.items():
        new = now.get(key, _MISSING)
        if key in passed_over:
            continue
        if new is _MISSING:
            yield Change(f"{path}.{key}" if path else str(key), "removed", old)
        elif not _are_equal(old, new):
            yield from _differences(old, new, f"{path}.{key}" if path else str(key), depth + 1)
    for key, new in now.items():
        if key not in was and key not in passed_over:
            yield Change(f"{path}.{key}" if path else str(key), "added", None, new)


def _list_changes(was: list[Any], now: list[Any], path: str, depth: int) -> Iterator[Change]:
    if len(was) == len(now):
        for at, (old, new) in enumerate(zip(was, now, strict=True)):
            if not _are_equal(old, new):
                yield from _differences(old, new, f"{path}[{at}]", depth + 1)
        return
    edges = [*_matched([encoded(item) for item in was], [encoded(item) for item in now]), (len(was), len(now))]
    at = at_now = 0
    for end, end_now in edges:
        # Between equal items: as many changed as both sides have, the rest gone or come.
        while at < end and at_now < end_now:
            place = f"[{at}]" if at == at_now else f"[{at}→{at_now}]"
            yield from value_changes(was[at], now[at_now], path + place, depth + 1)
            at, at_now = at + 1, at_now + 1
        for gone in range(at, end):
            yield Change(f"{path}[{gone}]", "removed", was[gone])
        for come in range(at_now, end_now):
            yield Change(f"{path}[{come}]", "added", None, now[come])
        at, at_now = end + 1, end_now + 1


def _matched(was: list[_Item], now: list[_Item]) -> list[tuple[int, int]]:
    """Equal items in order; the same ones whichever list comes first."""
    if now < was:
        return [(at, at_now) for at_now, at in common_pairs(now, was)]
    return common_pairs(was, now)


def sorted_changes(found: Iterable[Change]) -> list[Change]:
    """The changes by their paths, as many as anybody would read."""
    few = list(islice(found, _MOST))
    if len(few) > 1:
        few.sort(key=lambda change: _place_of(change.path))
    return few


@lru_cache(maxsize=4096)
def _place_of(path: str) -> tuple[int, list[tuple[int, str]]]:
    """The part first, then the path, positions by their size: `[2]` before `[10]`. The same paths come in every row."""
    pieces = [(int(piece) if piece.isdecimal() and len(piece) < 10 else -1, piece) for piece in _PIECES.findall(path)]
    return _PARTS.get(_part_of(path), 9), pieces
