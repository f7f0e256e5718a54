"""
Who is asked about a call, and what they may say.

A decider is told of each call before it is made and says one of three things: `Proceed` (perhaps with another input),
`Answer` (the call is not made; this is its outcome) or `Refuse` (the call is not made; this is raised). Later it
may wait, see how the call ended and put another outcome in its place, and hear when the event is on disk.

Deciders are asked in the order in which they were added, and never under a lock. The run's own limits come after all
of them, so a call that was answered or refused takes no place in a limit. What a decider raises by mistake is a fault
like ours: it is said once, and the call goes on without it. Calls that a decider makes itself are not announced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from agentdbg.recorder.calls import Call
    from agentdbg.recorder.lanes import Lane
    from agentdbg.recorder.limits import Budget

__all__ = [
    "EXCHANGES",
    "AnnouncedCall",
    "Answer",
    "Decider",
    "Outcome",
    "Proceed",
    "Refuse",
    "add_decider",
    "deciders_for",
    "deciding",
    "is_refusal",
    "remove_decider",
]

_UNCHANGED: Any = object()
_REFUSED = "_agentdbg_refused"

EXCHANGES = ("draw", "http", "mcp")
"""The kinds of calls that are no events: an HTTP exchange, a request to an MCP server."""


class _Asked:
    chain: tuple[Decider, ...] = ()
    """All deciders of the process, the outermost first."""
    of_http: tuple[Decider, ...] = ()
    """Those of them that are asked about HTTP exchanges too."""


asked = _Asked()


class Proceed:
    """Make the call, with another input if one is given."""

    __match_args__ = ("new_input",)
    __slots__ = ("is_edited", "new_input")

    def __init__(self, new_input: Any = _UNCHANGED) -> None:
        self.is_edited = new_input is not _UNCHANGED
        self.new_input = new_input if self.is_edited else None


class Answer:
    """
    Do not make the call: it gives `value`, or raises `error`; a generator yields `items` and returns `value`.

    The call is recorded with `payload.served`, which says where the answer came from: "recorded", "edited", "mock" or
    "fault".
    """

    __match_args__ = ("value",)
    __slots__ = ("error", "items", "served", "value")

    def __init__(
        self,
        value: Any = None,
        *,
        error: BaseException | None = None,
        items: Iterable[Any] | None = None,
        served: str = "mock",
    ) -> None:
        self.value = value
        self.error = error
        self.items = items
        self.served = served


class Refuse:
    """Do not make the call, and raise this where it would have been made. An ERROR says so in the trace."""

    __match_args__ = ("error",)
    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error
        error.__dict__[_REFUSED] = True


def is_refusal(error: BaseException) -> bool:
    """Whether a decider wants this to be raised, so that it is no fault of ours."""
    return _REFUSED in error.__dict__


class Outcome:
    """How a call ended: with a value, or with the exception that it raised."""

    __match_args__ = ("value", "error")
    __slots__ = ("error", "trace", "value")

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self.value = value
        self.error = error
        self.trace = None if error is None else error.__traceback__


class AnnouncedCall:
    """
    A call that is about to be made, as deciders see it.

    `input` is a tool's arguments by name, or a model's prompt. Of an HTTP exchange (kind "http", for deciders that
    `asks_http`) it is `{method, url, body}`, and its answer is `{status, headers, chunks, at, cut}`. `can_answer`,
    `can_edit` and `can_replace` say what the place where the call is made can do: a framework that only reports its
    calls lets nobody answer in their place.
    """

    __slots__ = (
        "budgets",
        "call_id",
        "can_answer",
        "can_edit",
        "can_replace",
        "gave",
        "input",
        "is_silent",
        "kind",
        "lane",
        "meta",
        "name",
        "outer_id",
        "parent_id",
        "place",
        "run_id",
        "source",
    )

    def __init__(self, kind: str, name: Any, given: Any, meta: Any, *, can: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.input = given
        self.meta = meta
        self.can_answer = "answer" in can
        self.can_edit = "edit" in can
        self.can_replace = "replace" in can
        self.call_id = ""
        """The id that the call's event will have."""
        self.run_id = ""
        self.parent_id = ""
        """What its event hangs under: for a tool, the model call that asked for it."""
        self.is_silent = False
        """Whether it is no event of its own: what stands behind the call `outer_id`, which a framework reports."""
        self.outer_id = ""
        """The event inside which the call is made: a span, another call, or the run's start."""
        self.source: str | None = None
        """Where in the user's code the call is made, as `agent.py:42`."""
        self.lane: Lane | None = None
        """The thread of control that makes it, and its `place` there; None when the run has no tape."""
        self.place = 0
        self.budgets: tuple[Budget, ...] = ()
        self.gave: Callable[[], Any] | None = None
        """What a generator has given so far; None of a call that gives its result at its end."""

    @property
    def is_over_limits(self) -> bool:
        """Whether the run's own limits, which are asked last, leave no place for it."""
        return any(budget.stop is not None or budget.refusal(self.kind) is not None for budget in self.budgets)

    @property
    def plain_name(self) -> str:
        """Its name as text. A name may be any object of the program's; it is not asked for its own text."""
        return self.name if type(self.name) is str else type(self.name).__name__


class Decider:
    """Derive from this, and write the methods you need. Each of them must be quick, except the two that wait."""

    asks_http = False
    """Whether this one is also asked about HTTP exchanges and requests to MCP servers; most have enough with calls."""

    def passes_over(self, call: Call) -> bool | None:
        """
        Whether it has nothing to say or to hear about this call, which is not described yet.

        Asked once about every call, before anything else; where all deciders pass it over, it costs next to nothing.
        """

    def decide(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Say what is to be done; None has no opinion. Must not wait for anything."""

    def wait(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Hold the call for a while; what is returned replaces what `decide` said."""

    async def wait_async(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Do the same where the call is awaited, without keeping the event loop from its other work."""
        return self.wait(call)

    def ended(self, call: AnnouncedCall, outcome: Outcome) -> Outcome | None:
        """
        See how the call ended; an outcome that is returned takes its place, before anything is recorded.

        Ctrl-C, exits, cancelled tasks and what signal handlers raise are told of and go on to the program.
        """

    async def ended_async(self, call: AnnouncedCall, outcome: Outcome) -> Outcome | None:
        """Do the same where the call is awaited."""
        return self.ended(call, outcome)

    def released(self, call: AnnouncedCall) -> None:
        """Hear that the call is over and its event is on disk, or that no call was made after all."""


def add_decider(decider: Decider) -> None:
    """Ask this decider about every recorded call of the process from now on, after those that are there already."""
    _ask_these((*asked.chain, decider))


def remove_decider(decider: Decider) -> None:
    """Ask it no more."""
    _ask_these(tuple(other for other in asked.chain if other is not decider))


def _ask_these(deciders: tuple[Decider, ...]) -> None:
    asked.chain = deciders
    asked.of_http = tuple(decider for decider in deciders if decider.asks_http)


def deciders_for(kind: str) -> tuple[Decider, ...]:
    """Those who are asked about calls of this kind, the outermost first."""
    return asked.of_http if kind in EXCHANGES else asked.chain


class deciding:  # noqa: N801 -- read as a verb: `with deciding(mocks):`
    """Ask a decider about every recorded call of the process while a block runs."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    def __enter__(self) -> Decider:
        try:
            add_decider(self._decider)
        except BaseException:  # what a signal handler raises; nobody would take it away again
            remove_decider(self._decider)
            raise
        return self._decider

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            remove_decider(self._decider)
        except BaseException:  # as above
            remove_decider(self._decider)
            raise
