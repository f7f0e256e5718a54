"""
Parts of inputs that differ from run to run, and what to do about them.

A rule names calls (`tool:search`, `llm`, `http:POST /v1/*`), a path into their input, and perhaps kinds. Without kinds
whatever stands at the path is passed over; with kinds only the times, ids and the like in it are. Rules come from
`.agentdbg/replay.yaml` and from `--ignore 'tool:search args.query'`.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.control.value_paths import MISSING, parse_path, value_at, with_value
from agentdbg.exceptions import UsageError
from agentdbg.tape.codec import HELD, KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["KINDS", "VolatileRule", "parse_ignore", "rules_of", "without_volatile"]

_BLANK = "…"
KINDS: dict[str, re.Pattern[str]] = {
    "time": re.compile(
        r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?"
        r"|\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?\b"
    ),
    "date": re.compile(
        r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
        r"|\b\d{1,2} [A-Z][a-z]+ \d{4}\b|\b[A-Z][a-z]+ \d{1,2}, \d{4}\b"
    ),
    "epoch": re.compile(r"\b1\d{9}(?:\d{3}|\.\d+)?\b"),
    "uuid": re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    "hex": re.compile(r"\b(?:0x)?[0-9a-fA-F]{8,64}\b"),
    "tmp": re.compile(r"(?:/private)?/(?:tmp|var/folders)/[^\s\"':,;)]*|[A-Z]:\\[^\s\"']*\\Temp\\[^\s\"']*"),
    "call_id": re.compile(r"\b(?:call|toolu|chatcmpl|resp|msg|run|fc)[_-][A-Za-z0-9_-]{8,}"),
}


class VolatileRule(NamedTuple):
    """One rule: for these calls, what stands at this path."""

    call: str
    path: str
    kinds: tuple[str, ...] = ()

    def holds_for(self, kind: str, name: str) -> bool:
        """Whether the rule is about calls of this kind and name."""
        wanted, colon, pattern = self.call.partition(":")
        return wanted in (kind, "*") and (not colon or fnmatch.fnmatchcase(name, pattern))

    def to_json(self) -> dict[str, Any]:
        """The rule as the report has it."""
        return {"call": self.call, "path": self.path, **({"kinds": list(self.kinds)} if self.kinds else {})}


def parse_ignore(text: str) -> VolatileRule:
    """`tool:search args.query`, or `tool:search args.query time,uuid`. Raises UsageError."""
    words = text.split()
    if not 2 <= len(words) <= 3:
        raise UsageError(f"--ignore {text!r} does not fit; it looks like --ignore 'tool:search args.query'")
    return _checked(words[0], words[1], words[2].split(",") if len(words) == 3 else ())


def rules_of(settings: Mapping[str, Any], file: str) -> list[VolatileRule]:
    """The rules under `volatile` in a replay.yaml. Raises UsageError."""
    given = settings.get("volatile") or []
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise UsageError(f"volatile in {file} is not a list of rules like {{call: tool:search, path: args.query}}")
    return [_checked(str(entry.get("call")), str(entry.get("path")), entry.get("kinds") or ()) for entry in given]


def _checked(call: str, path: str, kinds: Iterable[Any]) -> VolatileRule:
    if call.partition(":")[0] not in ("tool", "llm", "http", "mcp", "draw", "*"):
        raise UsageError(f"{call!r} names no calls; use tool, tool:NAME, llm, llm:MODEL, http or *")
    known = tuple(str(kind) for kind in kinds)
    for kind in known:
        if kind not in KINDS:
            raise UsageError(f"{kind!r} is not a kind of volatile text; there are {', '.join(KINDS)}")
    if path != "*":
        parse_path(path)
    return VolatileRule(call, path, known)


def without_volatile(shown: Any, rules: Iterable[VolatileRule]) -> Any:
    """An input, under its paths, with what the rules name blanked."""
    for rule in rules:
        steps = () if rule.path == "*" else _into_objects(shown, parse_path(rule.path))
        value = value_at(shown, steps)
        if value is not MISSING:
            shown = with_value(shown, steps, _blanked(value, rule.kinds) if rule.kinds else _BLANK)
    return shown


def _into_objects(shown: Any, steps: Sequence[str | int]) -> list[str | int]:
    """A path as people have it, `args.order.due`, as it leads through the forms in which a tape has objects."""
    found: list[str | int] = []
    for step in steps:
        while isinstance(shown, dict) and HELD in shown and KIND in shown and step not in shown:
            found.append(HELD)
            shown = shown[HELD]
        found.append(step)
        shown = value_at(shown, (step,))
    return found


def _blanked(value: Any, kinds: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        for kind in kinds:
            value = KINDS[kind].sub(_BLANK, value)
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _BLANK if any(KINDS[kind].fullmatch(str(value)) for kind in kinds) else value
    if isinstance(value, list):
        return [_blanked(item, kinds) for item in value]
    if isinstance(value, dict):
        return {key: _blanked(item, kinds) for key, item in value.items()}
    return value
