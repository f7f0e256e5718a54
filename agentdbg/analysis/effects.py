"""
Which tool calls change something outside the agent, and with what arguments.

Two runs of one agent rarely take the same steps, yet good ones leave the same things behind: the side effects are what
a comparison and a gate can rely on. A call's effect is declared by the tool itself (`@tool(effect="write")`), else
named by the settings or a policy, else guessed from what it is asked to do and from the tool's name; a verdict built
on guesses can say so. Where nothing says it, the effect is unknown, which is neither a write nor a read: nobody may
call such a tool harmless.

A write that was refused did nothing and is no effect. One that never returned, or broke off on the way, may have done
its work, so it is one. Of a tool that nobody knows every call counts, for a failure may have come after half of the
work; and so it may for a command line or a script.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from agentdbg.analysis.call_results import Outcome, failure_of, outcome_of
from agentdbg.analysis.effect_guess import call_effect
from agentdbg.analysis.made_ids import MadeIds, times_of_call, with_origins
from agentdbg.analysis.result_signs import error_in_result, is_done_in_part
from agentdbg.analysis.run_columns import payload_of
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_json, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentdbg.analysis.effect_guess.tool_names import EffectKind
    from agentdbg.events import Event

__all__ = [
    "ARGUMENT_FORMS",
    "IDS_OF_THE_CALL",
    "NO_RULES",
    "UNKNOWN",
    "Effect",
    "EffectReader",
    "EffectRules",
    "EffectSource",
    "SideEffect",
    "effect_of",
    "guess",
    "matches_any",
    "normal_form",
    "read_effects",
]

EffectSource = Literal["declared", "configured", "asked", "guessed", "unknown"]
"""
Who says it: the tool itself, the settings or a policy, what the call was asked to do (`rm x`), the tool's name; or
nothing, and then the kind is `unknown` too.
"""


ARGUMENT_FORMS = ("exact", "set", "facts", "ignored")


@dataclass(frozen=True)
class EffectRules:
    """Names of tools, or patterns with `*`, that are known to write or to read."""

    write_tools: tuple[str, ...] = ()
    read_tools: tuple[str, ...] = ()
    forms: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    """How the arguments of a tool are compared, by their names: one of `ARGUMENT_FORMS`."""

    def kind_of(self, name: str) -> Literal["write", "read"] | None:
        """What the rules say of a tool: an exact name before a pattern, and `write` where both match."""
        if name in self.write_tools:
            return "write"
        if name in self.read_tools:
            return "read"
        if matches_any(name, self.write_tools):
            return "write"
        return "read" if matches_any(name, self.read_tools) else None


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns with `*` means this name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Effect:
    """Whether a call writes or only reads, and who says so."""

    kind: EffectKind
    source: EffectSource

    @property
    def changes_something(self) -> bool | None:
        """Whether it writes; None where nobody knows."""
        return None if self.kind == "unknown" else self.kind == "write"


@dataclass(frozen=True, slots=True)
class SideEffect:
    """
    One call that changed something, or, if its source is `unknown`, may have. `number` counts its run's events from 1.

    `outcome` says whether it was done; `failure` names what it ended with.
    """

    number: int
    event_id: str
    name: str
    args: Any
    source: EffectSource
    returned: bool = True
    outcome: Outcome = "done"
    failure: str = ""
    repeated_by: int = 0
    """The number of a later call that asks for the same after nobody knows what came of this one."""
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Where the ids come from that earlier writes of the run were given."""
    forms: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """How its arguments are compared, where a contract says so."""

    @property
    def portable_args(self) -> Any:
        """The arguments as another run may have them too: an id the run was given is told by where it comes from."""
        return with_origins(self.args, self.origins)

    @property
    def is_known(self) -> bool:
        """Whether something says that the tool writes."""
        return self.source != "unknown"

    @property
    def signature(self) -> str:
        """The same for two calls that did the same: tool and arguments, whatever the order of the keys."""
        state = {"done": "", "never returned": " never returned"}.get(self.state, " with unknown outcome")
        return f"{self.name}({as_json(self.portable_args)}){state}"

    @property
    def state(self) -> str:
        """What tells calls apart that were asked for the same."""
        if not self.returned:
            return "never returned"
        # Of a tool that nobody knows, nobody knows either what its failures mean.
        return self.outcome if self.is_known else "done"

    def to_json(self) -> dict[str, Any]:
        return {
            "n": self.number,
            "event_id": self.event_id,
            "name": self.name,
            "args": self.args,
            "source": self.source,
            "returned": self.returned,
            "outcome": self.outcome,
        }


NO_RULES = EffectRules()
UNKNOWN = Effect("unknown", "unknown")
_NO_FORMS: Mapping[str, str] = {}


def effect_of(event: Event, rules: EffectRules = NO_RULES) -> Effect:
    """Whether a tool call (or its CALL_START) writes: its own word, then the rules, then what it is asked to do."""
    meta: Any = event.get("meta")
    declared = meta.get("effect") if isinstance(meta, dict) else None
    payload = payload_of(event)
    name = _tool_name(event, payload)
    if declared in ("write", "read") and not _is_doubtful(event, declared, name, payload):
        return Effect(declared, "declared")
    configured = rules.kind_of(name)
    if configured:
        return Effect(configured, "configured")
    return guess(name, parse_embedded(payload.get("input" if event.get("event_type") == "CALL_START" else "args")))


def _is_doubtful(event: Event, declared: str, name: str, payload: dict[str, Any]) -> bool:
    """Whether a server of others calls a tool harmless that is asked to write: its word is a hint, says MCP."""
    if declared != "read" or not event["meta"].get("mcp"):
        return False
    return guess(name, parse_embedded(payload.get("args", payload.get("input")))).kind == "write"


def read_effects(events: Iterable[Event], rules: EffectRules = NO_RULES) -> EffectReader:
    """A reader that has read all events of a run."""
    reader = EffectReader(rules)
    for number, event in enumerate(events, 1):
        reader.add(number, event)
    return reader


class EffectReader:
    """Collects the calls of a run that changed something or may have, one event after the other."""

    def __init__(self, rules: EffectRules = NO_RULES) -> None:
        self._rules = rules
        self._ended: list[SideEffect] = []
        self._open: dict[str, SideEffect] = {}
        self._made = MadeIds()

    def add(self, number: int, event: Event) -> Effect | None:
        """Take the next event; gives its effect if it is a tool's call, or the start of one."""
        event_type = event.get("event_type")
        if event_type not in ("TOOL_CALL", "CALL_START"):
            return None
        payload = payload_of(event)
        if event_type == "CALL_START" and payload.get("kind") != "tool":
            return None
        name = _tool_name(event, payload)
        effect = effect_of(event, self._rules)
        if event_type == "TOOL_CALL":
            self._open.pop(event["event_id"], None)
        args = normal_form(payload.get("args" if event_type == "TOOL_CALL" else "input"))
        times = times_of_call(args, event.get("ts"), event.get("duration_ms"))
        origins = {**self._made.origins, **times} if times else self._made.origins
        forms = self._rules.forms.get(name, _NO_FORMS)
        call = SideEffect(number, event["event_id"], name, args, effect.source, origins=origins, forms=forms)
        if event_type == "TOOL_CALL":
            call = _with_outcome(call, payload)
            is_write = effect.kind == "write" and call.outcome == "done"
            self._made.add(name, args, payload.get("result"), is_write=is_write)
        if effect.kind == "read":
            return effect
        if event_type == "TOOL_CALL":
            self._ended.append(call)
        else:
            self._open[str(payload.get("call_id"))] = replace(call, returned=False, outcome="unknown")
        return effect

    @property
    def origins(self) -> Mapping[str, str]:
        """Where the ids come from that the run's writes were given."""
        return self._made.origins

    def found(self) -> list[SideEffect]:
        """The calls so far that did something or may have; one that has not returned is one of them."""
        calls = [call for call in self._ended if call.outcome != "refused" or not call.is_known]
        return _with_repeats(sorted([*calls, *self._open.values()], key=lambda effect: effect.number))

    def refused(self) -> list[SideEffect]:
        """The writes so far that were not done."""
        return [call for call in self._ended if call.outcome == "refused" and call.is_known]


def _with_repeats(calls: list[SideEffect]) -> list[SideEffect]:
    """The calls in order, each write of unknown outcome told which later call asks for the same."""
    later: dict[tuple[str, str], int] = {}
    found: list[SideEffect] = []
    for call in reversed(calls):
        asked = (call.name, as_json(call.args))
        repeats = call.is_known and call.outcome == "unknown" and asked in later
        found.append(replace(call, repeated_by=later[asked]) if repeats else call)
        later[asked] = call.number
    return found[::-1]


def _with_outcome(call: SideEffect, payload: dict[str, Any]) -> SideEffect:
    outcome = outcome_of(payload)
    complaint = error_in_result(payload.get("result")) if outcome == "done" else None
    if complaint is not None and not is_done_in_part(payload.get("result")):
        outcome = outcome_of({"error": complaint})
    elif complaint is None and outcome == "done":
        return call
    # A command line that failed may have failed after half of its commands.
    outcome = "unknown" if call.source == "asked" or outcome == "done" else outcome
    failure = failure_of(payload) if payload.get("error") else None
    named = (complaint or "") if failure is None else failure.error_type or failure.text
    return replace(call, outcome=outcome, failure=one_line(named or "an error", 80))


def normal_form(args: Any) -> Any:
    """
    Arguments as they are compared: JSON in a text is opened, 2.0 is 2, nothing given is an empty table.

    An id made for the single call (`idempotency_key`, `request_id`) is no part of what was asked.
    """
    args = parse_embedded(args)
    if isinstance(args, dict):
        return _plain({key: item for key, item in args.items() if key not in IDS_OF_THE_CALL})
    return {} if args is None or args == [] else _plain(args)


_DEEPEST = 100
IDS_OF_THE_CALL = frozenset(
    {"call_id", "correlation_id", "idempotency_key", "nonce", "request_id", "span_id", "tool_call_id", "trace_id"}
)


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:  # stored arguments are ten deep at most; those of others may be anything
        return value
    if isinstance(value, dict):
        return {key: _plain(value[key], depth + 1) for key in sorted(value, key=str)}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def guess(name: str, args: Any = None) -> Effect:
    """What a call is guessed to do: by what it is asked to do where that can be told, else by the tool's name."""
    found = call_effect(name, args)
    if found.kind == "unknown":
        return UNKNOWN
    return Effect(found.kind, "asked" if found.is_asked else "guessed")


def _tool_name(event: Mapping[str, Any], payload: dict[str, Any]) -> str:
    if event.get("event_type") == "CALL_START":
        return str(payload.get("name") or event.get("name") or "")
    return str(payload.get("tool_name") or event.get("name") or "")
