"""
Which tool calls change something outside the agent, and with what arguments.

Two runs of one agent rarely take the same steps, yet good ones leave the same things behind: the side effects are what
a comparison and a gate can rely on. A call's effect is declared by the tool itself (`@tool(effect="write")`), else
named by the settings or a policy, else guessed from the tool's name; a verdict built on guesses can say so. Where
nothing says it, the effect is unknown, which is neither a write nor a read: nobody may call such a tool harmless.

A write that failed or was refused did nothing and is no effect. A write that never returned may have done its work, so
it is one. Of a tool that nobody knows every call counts, for a failure may have come after half of the work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from agentdbg.analysis.columns import ERROR, TOOL, status_of
from agentdbg.analysis.refusals import is_refusal
from agentdbg.analysis.values import parse_embedded
from agentdbg.analysis.wording import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentdbg.events import Event

__all__ = [
    "NO_RULES",
    "UNKNOWN",
    "Effect",
    "EffectKind",
    "EffectReader",
    "EffectRules",
    "EffectSource",
    "SideEffect",
    "effect_of",
    "effects_of",
    "guess",
    "normal_form",
    "possible_effects_of",
]

EffectKind = Literal["write", "read", "unknown"]
EffectSource = Literal["declared", "configured", "guessed", "unknown"]
"""`unknown` is a name that says nothing; the kind of such a tool is `unknown` too."""


@dataclass(frozen=True)
class EffectRules:
    """Names of tools, or patterns with `*`, that are known to write or to read."""

    write_tools: tuple[str, ...] = ()
    read_tools: tuple[str, ...] = ()

    def kind_of(self, name: str) -> EffectKind | None:
        """What the rules say of a tool: an exact name before a pattern, and `write` where both match."""
        if name in self.write_tools:
            return "write"
        if name in self.read_tools:
            return "read"
        if any(fnmatchcase(name, pattern) for pattern in self.write_tools):
            return "write"
        return "read" if any(fnmatchcase(name, pattern) for pattern in self.read_tools) else None


@dataclass(frozen=True)
class Effect:
    """Whether a call writes or only reads, and who says so."""

    kind: EffectKind
    source: EffectSource

    @property
    def changes_something(self) -> bool | None:
        """Whether it writes; None where nobody knows."""
        return None if self.kind == "unknown" else self.kind == "write"


@dataclass(frozen=True)
class SideEffect:
    """
    One call that changed something, or, if its source is `unknown`, may have. `number` counts its run's events from 1.

    `failed` is a call of an unknown tool that raised or was refused.
    """

    number: int
    event_id: str
    name: str
    args: Any
    source: EffectSource
    returned: bool = True
    failed: bool = False

    @property
    def is_known(self) -> bool:
        """Whether something says that the tool writes."""
        return self.source != "unknown"

    @cached_property
    def signature(self) -> str:
        """The same for two calls that did the same: tool and arguments, whatever the order of the keys."""
        return f"{self.name}({as_json(self.args)})" + ("" if self.returned else " never returned")

    def to_json(self) -> dict[str, Any]:
        return {
            "n": self.number,
            "event_id": self.event_id,
            "name": self.name,
            "args": self.args,
            "source": self.source,
            "returned": self.returned,
        }


NO_RULES = EffectRules()
UNKNOWN = Effect("unknown", "unknown")


def effect_of(event: Event, rules: EffectRules = NO_RULES) -> Effect:
    """Whether a tool call (or its CALL_START) writes: its own word, then the rules, then its name."""
    meta: Any = event.get("meta")
    declared = meta.get("effect") if isinstance(meta, dict) else None
    if declared in ("write", "read"):
        return Effect(declared, "declared")
    name = _tool_name(event, _dict(event.get("payload")))
    configured = rules.kind_of(name)
    return Effect(configured, "configured") if configured else guess(name)


def effects_of(events: Iterable[Event], rules: EffectRules = NO_RULES) -> list[SideEffect]:
    """The calls of a run that changed something, in the order they stand in the file."""
    return [call for call in possible_effects_of(events, rules) if call.is_known]


def possible_effects_of(events: Iterable[Event], rules: EffectRules = NO_RULES) -> list[SideEffect]:
    """As `effects_of`, and the calls of which nobody knows whether they changed something."""
    reader = EffectReader(rules)
    for number, event in enumerate(events, 1):
        reader.add(number, event)
    return reader.found()


class EffectReader:
    """Collects the calls of a run that changed something or may have, one event after the other."""

    def __init__(self, rules: EffectRules = NO_RULES) -> None:
        self._rules = rules
        self._done: list[SideEffect] = []
        self._open: dict[str, SideEffect] = {}
        self._by_name: dict[str, Effect] = {}

    def add(self, number: int, event: Event) -> Effect | None:
        """Take the next event; gives its effect if it is a tool's call, or the start of one."""
        event_type = event.get("event_type")
        if event_type not in ("TOOL_CALL", "CALL_START"):
            return None
        payload = _dict(event.get("payload"))
        if event_type == "CALL_START" and payload.get("kind") != "tool":
            return None
        name = _tool_name(event, payload)
        effect = self._effect(event, name)
        if event_type == "TOOL_CALL":
            self._open.pop(event["event_id"], None)
        if effect.kind == "read":
            return effect
        if event_type == "TOOL_CALL":
            failed = status_of(TOOL, payload) == ERROR or is_refusal(payload.get("result"))
            if effect.kind == "unknown" or not failed:
                args = normal_form(payload.get("args"))
                self._done.append(SideEffect(number, event["event_id"], name, args, effect.source, failed=failed))
        else:
            args = normal_form(payload.get("input"))
            call = SideEffect(number, event["event_id"], name, args, effect.source, returned=False)
            self._open[str(payload.get("call_id"))] = call
        return effect

    def found(self) -> list[SideEffect]:
        """The calls so far; one that has not returned is one of them."""
        return sorted([*self._done, *self._open.values()], key=lambda effect: effect.number)

    def _effect(self, event: Event, name: str) -> Effect:
        """`effect_of`; the few tools of an agent are called again and again."""
        if "effect" in _dict(event.get("meta")):  # of this call alone
            return effect_of(event, self._rules)
        known = self._by_name.get(name)
        if known is None:
            known = self._by_name[name] = effect_of(event, self._rules)
        return known


def normal_form(args: Any) -> Any:
    """
    Arguments as they are compared: JSON in a text is opened, 2.0 is 2, nothing given is an empty table.

    An id made for the single call (`idempotency_key`, `request_id`) is no part of what was asked.
    """
    args = parse_embedded(args)
    if isinstance(args, dict):
        if not _IDS_OF_THE_CALL.isdisjoint(args):
            args = {key: item for key, item in args.items() if key not in _IDS_OF_THE_CALL}
        return _plain(args)
    return {} if args is None or args == [] else _plain(args)


_DEEPEST = 100
_PLAIN = frozenset({str, int, bool, type(None)})
_IDS_OF_THE_CALL = frozenset(
    {"call_id", "correlation_id", "idempotency_key", "nonce", "request_id", "span_id", "tool_call_id", "trace_id"}
)


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST:  # stored arguments are ten deep at most; those of others may be anything
        return value
    # Most arguments are texts and whole numbers, not worth a call of their own, and many are one text alone.
    if isinstance(value, dict):
        plain = {}
        for key in _in_order(value) if len(value) > 1 else value:
            item = value[key]
            plain[key] = item if type(item) in _PLAIN else _plain(item, depth + 1)
        return plain
    if isinstance(value, list):
        return [item if type(item) in _PLAIN else _plain(item, depth + 1) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _in_order(table: dict[str, Any]) -> list[str]:
    try:
        return sorted(table)
    except TypeError:  # keys of several kinds, which no JSON has
        return sorted(table, key=str)


@lru_cache(maxsize=4096)
def guess(name: str) -> Effect:
    """
    What a tool's name says: the first verb in it decides (`create_issue`, `github.deleteBranch`, `get_updates`).

    A name without a verb we know (`bash`, `weather`) says nothing, and nobody may read a promise into it.
    """
    # A hand-over to another agent (`transfer_to_billing`, the name frameworks give it) moves the talk, not the world.
    if name.lower().startswith("transfer_to_"):
        return Effect("read", "guessed")
    words = [word.lower() for word in _WORD.findall(name)]
    first = next((at for at, word in enumerate(words) if word in _WRITES or word in _READS), None)
    if first is None:
        # `order_pizza` does something, `order_status` tells something.
        does = any(word in _WRITES_OR_THINGS for word in words) and words[-1] not in _THINGS_TOLD
        if does:
            return Effect("write", "guessed")
        return Effect("read", "guessed") if any(word in _THINGS_TOLD for word in words) else UNKNOWN
    # `get_or_create_user` writes too.
    joined = any(word in _WRITES and words[at] in ("and", "or") for at, word in enumerate(words[1:]))
    return Effect("write" if words[first] in _WRITES or joined else "read", "guessed")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WRITES = _words("""
    accept activate add allocate append apply approve assign authorize ban buy cancel change clear commit confirm create
    deactivate delete deploy deposit destroy disable dismiss drop edit enable enqueue erase grant hire insert install
    invite kill launch merge modify mutate notify overwrite pay persist publish purchase put reboot refund register
    reject remove rename reopen replace reply reschedule reserve reset restart restore revert revoke rollback save sell
    send set shutdown submit subscribe suspend terminate truncate uninstall unlock unsubscribe update upgrade upload
    upsert void withdraw write
""")
_READS = _words("""
    analyse analyze ask browse calculate check classify compare compute convert count describe detect download embed
    estimate evaluate examine explain explore extract fetch find forecast get glob grep inspect list load lookup parse
    peek poll predict preview query read recall reason recommend reflect resolve retrieve scan scrape search select show
    simulate suggest summarise summarize think translate validate verify view visit wait watch
""")
# Verbs that are things as often: `file_search` and `order_list` have a clearer word, which decides.
_WRITES_OR_THINGS = _words("""
    archive block book charge checkout close copy debit email exchange file issue lock mark message move order patch
    pause place post push release return schedule ship sign start stop store sync tag trade transfer
""")
_THINGS_TOLD = _words("balance detail details history info information policy price rate rates status summary")


def _tool_name(event: Mapping[str, Any], payload: dict[str, Any]) -> str:
    if event.get("event_type") == "CALL_START":
        return str(payload.get("name") or event.get("name") or "")
    return str(payload.get("tool_name") or event.get("name") or "")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
