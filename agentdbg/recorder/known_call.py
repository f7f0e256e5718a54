"""
What is known of one call: who makes it, what it was given and, later, what it came to; and the payload of its event.

More may be told at any time while the call lasts, also by a hook that stands further inside. When something is asked,
announced or written is for `calls` to say.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from agentdbg.recorder.given_values import NO_MCP_RESULTS, mcp_failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.recorder.consultation import Consultation
    from agentdbg.recorder.context import Scope
    from agentdbg.recorder.deciders import Outcome
    from agentdbg.recorder.lanes import Lane
    from agentdbg.recorder.payloads import Payload
    from agentdbg.redaction.sealed_items import SealedValue
    from agentdbg.tape.tape_writer import TapeCall

__all__ = ["KnownCall"]

_MOST_ITEMS = 10_000


class KnownCall:
    """What is known of a call."""

    decided: Consultation | None = None
    """What the deciders say about this call; None when nobody is asked."""
    deadline = None
    result: Any = None
    response: Any = None
    usage: Any = None
    stop_reason: Any = None
    error: Any = None
    duration_ms: int | None = None
    """How long it took; measured from `begin` when nobody knows better."""
    scope: Any = None
    lane: Lane | None = None
    """The thread of control that makes the call, and its place there; None when the run has no tape."""
    place = 0
    inside: Lane | None = None
    """The lane of what the call does, where we stand around it."""
    belongs_to: str | None = None
    """The id of the call that this one is directly made in."""
    is_silent = False
    """Whether it is no event of its own: an HTTP exchange, the function behind a tool that a framework reports."""
    behind: tuple[str | None, ...] = ()
    """How each call that stands silently behind this one was answered; None for one that was made."""
    _made: Outcome | None = None
    """What a call came to that was made with `make`; a framework may report something else."""
    _items: list[Any] | None = None
    _returned: Any = None
    _is_closed = False
    _taped: TapeCall | None = None
    _sealed: SealedValue | None = None
    """The input as it was when the call began, ready to be stored."""
    _from_inside: dict[str, Any] | None = None
    _ask_inside: Callable[[], dict[str, Any]] | None = None
    _ended = False
    _call_id: str | None = None
    _outer: Scope | None = None
    _source: str | None = None
    _has_place = True
    _is_noticed = True

    def __init__(self, kind: str, name: Any, given: Any, meta: dict[str, Any] | None, fields: dict[str, Any]) -> None:
        self.kind = kind
        self._name = name
        self._given = given
        self._meta = meta
        self._fields = fields

    @property
    def call_id(self) -> str | None:
        """The id the call's event will have; None when nothing is being recorded."""
        return self._call_id

    @property
    def name(self) -> Any:
        """What is called: the tool's name, or the model's."""
        return self._name

    @property
    def framework(self) -> Any:
        """The integration that reports the call; None for one of the program's own."""
        return self.meta.get("framework")

    @property
    def meta(self) -> dict[str, Any]:
        """What else is known of the call."""
        return self._meta or {}

    @property
    def source(self) -> str | None:
        """Where in the user's code the call is made."""
        return self._source

    @property
    def outer(self) -> Scope | None:
        """Where the call itself stands."""
        return self._outer

    @property
    def input(self) -> Any:
        """What the call is to be made with; a decider may have put something else in its place."""
        return self._given

    @property
    def is_over(self) -> bool:
        """Whether the call has not begun, or has ended."""
        return self._ended or self._call_id is None

    def by_name(self, given: Any) -> Any:
        """The arguments that an input stands for; a decorated function's input is just that."""
        return given

    def learn(self, name: Any = None, meta: dict[str, Any] | None = None, **fields: Any) -> None:
        """Add what is known only after the start: the model that answered, more meta, more of the payload."""
        if name is not None:
            self._name = name
        if meta:
            self._meta = {**self.meta, **meta}
        self._fields = {**self._fields, **fields}

    def complete(self, response: Any = None, usage: Any = None, stop_reason: Any = None, **fields: Any) -> None:
        """What a hook further inside knows; it fills in where nothing better is known when the call ends."""
        self._from_inside = {"response": response, "usage": usage, "stop_reason": stop_reason}
        self._fields = {**fields, **{key: value for key, value in self._fields.items() if value != "unknown"}}

    def complete_later(self, known: Callable[[], dict[str, Any]]) -> None:
        """Where a hook further inside can be asked when the call ends without an answer or a usage that can be read."""
        self._ask_inside = known

    def saw(self, item: Any) -> None:
        """A generator yielded one more piece of its answer."""
        if self._items is None:
            self._items = []
            if self.decided is not None:
                self.decided.call.gave = functools.partial(self._whole, None)
        if len(self._items) < _MOST_ITEMS:
            self._items.append(item if self._taped is None else self._taped.as_it_is_now(item))
        elif self._taped is not None:
            self._taped.lost(f"it yielded more than {_MOST_ITEMS:,} items")

    def _take(self, result: Any) -> None:
        self.response, self.result = (result, None) if self.kind == "llm" else (None, result)

    @property
    def _outcome(self) -> Any:
        return self.response if self.kind == "llm" else self.result

    def _take_items(self) -> None:
        if self._items is not None:
            self._take(self._whole(None))

    def _whole(self, result: Any) -> Any:
        if self._items is None:
            return result
        if all(type(item) is str for item in self._items):
            return "".join(self._items)
        return list(self._items)

    def _fill_in(self, known: dict[str, Any]) -> None:
        for name, value in known.items():
            if getattr(self, name) is None:
                setattr(self, name, value)

    def _payload(self, output: SealedValue | None) -> Payload:
        """The fields of its event; `output` is its response or result where that is sealed already."""
        assert self._outer is not None
        run, extra = self._outer.run, dict(self._fields)
        asked = self._given if self._sealed is None else self._sealed
        if self.decided is not None and self.decided.answer is not None and self._is_noticed:
            extra["served"] = self.decided.answer.served
        elif self.behind and None not in self.behind:
            extra["served"] = self.behind[-1]
        if self.kind == "tool":
            result, error = self.result, self.error
            if error is None and type(result) not in NO_MCP_RESULTS:
                error = mcp_failure(result)
            return run.tool_fields(self._name, asked, output or result, "ok", error, extra)
        is_priced = "cost_usd" in extra or not self.meta.get("cancelled")
        fields, given = run.llm_fields(
            self._name,
            asked,
            output or self.response,
            self.usage,
            extra.pop("provider", "unknown"),
            extra.pop("temperature", None),
            self.stop_reason if self.stop_reason is not None else extra.pop("stop_reason", None),
            "ok",
            self.error,
            extra,
        )
        if not is_priced:  # what an answer had used when it was broken off is not what it will cost
            fields["cost_usd"] = None
        return fields, given
