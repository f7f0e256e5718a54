"""
Weave exports: calls as JSON, in a list or one on each line, as the pages export them and the API streams them.

Every trace is a run here. Weave adds the use of all inner calls up in the call around them, so what was used counts
only where no inner call tells of any.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import amount
from agentdbg.interop.drafts import EntryProblem
from agentdbg.interop.importers.message_forms import answer_in, messages_in_value, stop_reason_in, usage_in
from agentdbg.interop.importers.span_trees import MODEL, SPAN, TOOL, Node, Trace, error_in_words, listed_in, runs_of
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import RunDraft
    from agentdbg.interop.sources import Source

TITLE = "Weave export"

_WRAPPERS = ("calls", "data", "results")
_TOOLS = re.compile(r"(?:^|[._])(?:tool|tools/call|mcp)(?:[._]|$)", re.IGNORECASE)
_ITSELF = ("self", "cls")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_call(item) for _, document in source.documents[:5] for item in listed_in(document, _WRAPPERS)[:3])


def _is_call(item: Any) -> bool:
    told = as_dict(item)
    return isinstance(told.get("op_name"), str) and "trace_id" in told and "started_at" in told


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    calls: dict[str, dict[str, Any]] = {}
    for place, document in source.documents:
        for number, item in enumerate(listed_in(document, _WRAPPERS), 1):
            if _is_call(item):
                calls[str(item.get("id"))] = item
            else:
                where = place if item is document else f"{place}, entry {number}".removeprefix(", ")
                yield EntryProblem(where, "no call of Weave: it has no op_name")
    using = {as_word(call.get("parent_id")) for call in calls.values() if _used(call)}
    traces: dict[str, Trace] = {}
    for call in calls.values():
        trace = traces.setdefault(str(call["trace_id"]), Trace(str(call["trace_id"])))
        node = _node(call, adds_up=str(call.get("id")) in using)
        trace.add(node)
        if not node.parent_id:
            trace.facts.update(_facts(call))
    yield from runs_of(traces, source, "weave", "weave")


def _used(call: dict[str, Any]) -> dict[str, Any]:
    return as_dict(as_dict(call.get("summary")).get("usage"))


def _name(call: dict[str, Any]) -> str:
    """As it is shown: an op is kept with the project before its name and a version behind it."""
    name: str = call["op_name"].rpartition("/op/")[2].partition(":")[0]
    return as_word(call.get("display_name")) or name or call["op_name"]


def _node(call: dict[str, Any], *, adds_up: bool) -> Node:
    name = _name(call)
    said_kind = as_word(as_dict(as_dict(call.get("attributes")).get("weave")).get("kind")) or as_word(call.get("kind"))
    kind = SPAN
    if said_kind == "llm" or (_used(call) and not adds_up):
        kind = MODEL
    elif said_kind == "tool" or _TOOLS.search(name):
        kind = TOOL
    given = {key: value for key, value in as_dict(call.get("inputs")).items() if key not in _ITSELF}
    node = Node(
        span_id=str(call.get("id")),
        parent_id=as_word(call.get("parent_id")),
        name=name,
        kind=kind,
        started_ms=moment_ms(call.get("started_at")),
        ended_ms=moment_ms(call.get("ended_at")),
        input=given,
        output=call.get("output"),
        error=error_in_words(call.get("exception")),
    )
    if kind == MODEL:
        node.input, node.output = messages_in_value(given), answer_in(call.get("output"))
        model, usage = next(iter(_used(call).items()), (None, None))
        node.said = {
            "model": model or as_dict(call.get("output")).get("model") or given.get("model"),
            "temperature": given.get("temperature"),
            "tools": as_list(given.get("tools")),
            "usage": None if adds_up else as_dict(usage) or usage_in(call.get("output")),
            "cost_usd": _cost(call),
            "stop_reason": stop_reason_in(call.get("output")),
        }
    scores = _scores(call)
    if scores and node.parent_id:
        node.meta["scores"] = scores
    return node


def _cost(call: dict[str, Any]) -> float | None:
    """What the call cost, where its export was asked for costs."""
    told = as_dict(as_dict(as_dict(call.get("summary")).get("weave")).get("costs"))
    parts = [amount(cost) for one in told.values() for key, cost in as_dict(one).items() if key.endswith("_total_cost")]
    return sum(filter(None, parts)) if any(part is not None for part in parts) else None


def _scores(call: dict[str, Any]) -> dict[str, Any]:
    """What scorers and people said of it."""
    found: dict[str, Any] = {}
    for told in as_list(as_dict(as_dict(call.get("summary")).get("weave")).get("feedback")):
        kind, payload = as_word(as_dict(told).get("feedback_type")), as_dict(as_dict(told).get("payload"))
        value = next((payload[key] for key in ("output", "value", "emoji", "note") if key in payload), None)
        if kind and value is not None:
            found[kind.removeprefix("wandb.")] = value
    return found


def _facts(call: dict[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in as_dict(call.get("attributes")).items() if key != "weave"}
    return {
        "project": call.get("project_id"),
        "session_id": call.get("thread_id"),
        "user_id": call.get("wb_user_id"),
        "scores": _scores(call),
        "metadata": own,
    }
