"""
A run as an importer tells it, before it is redacted, counted and written.

Importers say what happened in the words of their format's ids and times. Everything our own format adds (ids, strict
timestamps, totals, loop findings, secrets removed) is added when the draft is stored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from agentdbg.encoding import decode_json
from agentdbg.events.facts import amount
from agentdbg.recorder.described_errors import describe_error
from agentdbg.recorder.prices import normalise_usage

__all__ = [
    "EntryProblem",
    "RunDraft",
    "Step",
    "error_step",
    "message_step",
    "model_call",
    "span",
    "state_update",
    "tool_call",
    "unanswered_call",
]

_JSON_BEGINS = frozenset('{["-0123456789tfnNI \t\r\n')


@dataclass
class Step:
    """One thing that happened. `key` and `parent` are ids of the source; `at_ms` is when it ended, in Unix time."""

    event_type: str
    name: str
    fields: dict[str, Any]
    at_ms: float | None = None
    duration_ms: float | None = None
    key: str | None = None
    parent: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    is_span: bool = False
    is_told: bool = False
    """Whether it was an event of ours before: it is stored as it is, and loops have been looked for."""


@dataclass
class RunDraft:
    """
    A whole run. `identity` says which run this is, so that it is recognised when it is imported again.

    Steps stand in the order they ended. A run without times gets those of its file.
    """

    identity: Any
    name: str
    format: str
    steps: list[Step]
    entry: str = ""
    """Which part of its file the run came from, for a person: `entry 12`; empty when the file is one run."""
    started_ms: float | None = None
    ended_ms: float | None = None
    error: dict[str, Any] | None = None
    """What ended the run, when it failed."""
    result: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    """How far a run that may still grow has come; one that is here in another version is written anew."""
    cwd: str | None = None
    """The folder the agent worked in."""


@dataclass(frozen=True)
class EntryProblem:
    """A part of a file that is no run, and why."""

    entry: str
    message: str


def model_call(
    model: Any,
    prompt: Any,
    response: Any,
    *,
    usage: Any = None,
    tools: Any = None,
    provider: Any = None,
    temperature: Any = None,
    stop_reason: Any = None,
    error: Any = None,
    cost_usd: Any = None,
    **place: Any,
) -> Step:
    """An answer of a model."""
    name = model if isinstance(model, str) and model else "unknown"
    fields: dict[str, Any] = {
        "model": name,
        "prompt": prompt,
        "response": response,
        "usage": normalise_usage(usage) if isinstance(usage, dict) else None,
        "provider": provider if isinstance(provider, str) and provider else "unknown",
        "temperature": _number(temperature),
        "stop_reason": stop_reason if isinstance(stop_reason, str) else None,
        "status": "ok" if error is None else "error",
        "error": None if error is None else describe_error(error),
        "cost_usd": amount(cost_usd),
    }
    if tools:
        fields["tools"] = tools
    return Step("LLM_CALL", name, fields, **place)


def tool_call(name: Any, args: Any, result: Any, *, error: Any = None, diff: Any = None, **place: Any) -> Step:
    """A tool that was used; arguments given as JSON text are read. `diff` is what it changed in a file."""
    shown = name if isinstance(name, str) and name else "tool"
    fields: dict[str, Any] = {
        "tool_name": shown,
        "args": read_arguments(args),
        "result": result,
        "status": "ok" if error is None else "error",
        "error": None if error is None else describe_error(error),
    }
    if diff:
        fields["diff"] = diff
    return Step("TOOL_CALL", shown, fields, **place)


def span(name: str, *, error: Any = None, input: Any = None, output: Any = None, **place: Any) -> Step:  # noqa: A002
    """A stretch of work that others are part of."""
    fields: dict[str, Any] = {
        "state": None,
        "diff": None,
        "error": None if error is None else describe_error(error),
    }
    if input is not None:
        fields["input"] = input
    if output is not None:
        fields["output"] = output
    return Step("STATE_UPDATE", name, fields, meta={"span": name}, is_span=True, **place)


def state_update(name: str, state: Any, **place: Any) -> Step:
    """What the agent, or its surroundings, remembered."""
    return Step("STATE_UPDATE", name, {"state": state, "diff": None}, **place)


def message_step(role: str, content: Any, *, said: dict[str, Any] | None = None, **place: Any) -> Step:
    """Something that was said and is no answer of a model: `role` says by whom."""
    return Step("MESSAGE", role, {"role": role, "content": content, **(said or {})}, **place)


def unanswered_call(name: Any, args: Any, *, call: str, **place: Any) -> Step:
    """A tool that was asked for and of which nothing more is known; `call` is the key its call would have."""
    shown = name if isinstance(name, str) and name else "tool"
    fields = {"call_id": call, "kind": "tool", "name": shown, "input": read_arguments(args)}
    return Step("CALL_START", shown, fields, **place)


def error_step(error: Any, **place: Any) -> Step:
    """An error that was noted and did not end the run."""
    described = describe_error(error)
    return Step("ERROR", described["error_type"], {**described, "context": None, "fatal": False}, **place)


def read_arguments(args: Any) -> Any:
    """The arguments a text holds, when it is JSON; anything else as it is."""
    if not isinstance(args, str) or args[:1] not in _JSON_BEGINS:
        return args
    try:
        return decode_json(args)
    except ValueError:  # it may still be JSON that only the standard library reads: NaN, or very large numbers
        try:
            return json.loads(args)
        except (ValueError, RecursionError):
            return args


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
