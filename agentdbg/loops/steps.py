"""
One counted event as the detector remembers it: its name, what it asked, what came back, and where it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.loops.values import FORGOTTEN, NOTHING_ASKED, Input

if TYPE_CHECKING:
    from agentdbg.loops.values import Outcome, Recall, Unread

__all__ = ["COMPARED_CALLS", "NOTHING_SPENT", "Named", "Spent", "Step"]


Spent = tuple[int, int, float, int]
"""What a run has used up to some point: model calls, tokens, US dollars, and how many calls have a known price."""

NOTHING_SPENT: Spent = (0, 0, 0.0, 0)
COMPARED_CALLS = 8
"""Nearly equal calls count among the last so many calls of any tool."""

_SIGNATURES = {"tool": "TOOL_CALL:", "model": "LLM_CALL:", "state": "STATE_UPDATE"}


class Named:
    """A tool, a model or the state, while a step of that name is within reach."""

    __slots__ = (
        "alike",
        "asked",
        "by_input",
        "character",
        "is_tool",
        "kind",
        "lone",
        "name",
        "present",
        "recall",
        "recent",
    )

    def __init__(self, kind: str, name: str, character: str, recall: Recall) -> None:
        self.kind = kind
        self.is_tool = kind == "tool"
        self.name = name
        self.character = character
        self.recall = recall
        self.present = 0
        """How many steps within reach have this name."""
        self.alike = 0
        """How many of them are the first call, or equal to it, and so share the character of the name."""
        self.lone: Step | None = None
        """The only call so far, not compared with anything yet."""
        self.asked: tuple[bytes, int] | None = None
        """What the last call asked, and its key, unless that is long; None before the second call."""
        self.by_input: dict[int | None, Step] | None = None
        """The last call for each input; None before the second call."""
        self.recent: list[Step] | None = None
        """The last few calls, from the second on."""

    @property
    def signature(self) -> str:
        """The name as patterns show it."""
        return _SIGNATURES[self.kind] + self.name


class Step:
    """One event, and its place among its like."""

    __slots__ = (
        "_asked",
        "_got",
        "_words",
        "arguments_key",
        "call_number",
        "event_id",
        "exact",
        "failed",
        "forgotten",
        "is_new",
        "known_outcome_key",
        "named",
        "near",
        "number",
        "polling",
        "previous",
        "recurs",
        "spent",
        "streak",
        "ts",
        "turn",
        "unread",
        "was_asked",
    )

    def __init__(self, event_id: str, ts: str, named: Named, turn: int, spent: Spent) -> None:
        self.event_id = event_id
        self.ts = ts
        self.named = named
        self.turn = turn
        self.spent = spent
        self.recurs = named.present > 0
        # The first call of a tool needs no character of its own: nothing else has the one of its name.
        self.exact = named.character
        self.number = self.call_number = 0
        self.is_new = True
        """Whether a tool call was never made before with this result."""
        self.streak = self.near = 1
        self.was_asked = self.failed = self.polling = self.forgotten = False
        # `was_asked`: whether a tool call within reach had the same input.
        self.previous: Step | None = None
        self.arguments_key: int | None = None
        self.known_outcome_key: int | None = None
        self.unread: Unread | None = None
        """What was asked and got, as it came; nearly always it is forgotten before anyone asks."""
        self._asked = NOTHING_ASKED
        self._got = FORGOTTEN
        self._words: frozenset[bytes] | None = None

    @property
    def kind(self) -> str:
        """Tool, model or state."""
        return self.named.kind

    @property
    def signature(self) -> str:
        """The name as patterns show it."""
        return self.named.signature

    @property
    def name(self) -> str:
        """The character that stands for the name."""
        return self.named.character

    @property
    def asked(self) -> Input:
        """What was asked."""
        if self.unread is not None:
            self._read(self.unread)
        return self._asked

    @property
    def got(self) -> Outcome:
        """What came back."""
        if self.unread is not None:
            self._read(self.unread)
        return self._got

    def words(self, like: Step | None = None) -> frozenset[bytes]:
        """The words of what was asked, which may begin like what another step asked."""
        found = self._words
        if found is None:
            found = self._words = self.asked.words(None if like is None else like.asked)
        return found

    def hold(self, asked: Input, got: Outcome) -> None:
        """Take what was asked and what came back."""
        self._asked = asked
        self._words = None
        self._got = got
        if got.failed:
            self.failed = True

    def outcome_key(self) -> int:
        """Equal for results that differ in nothing but ids and clocks."""
        key = self.known_outcome_key
        if key is None:
            key = self.known_outcome_key = self.got.key()
        return key

    def read(self) -> None:
        """Look at what was left unread: of a first call it is not known before whether it failed."""
        if self.unread is not None:
            self._read(self.unread)

    def _read(self, unread: Unread) -> None:
        self.unread = None
        if isinstance(unread, str):
            self.hold(NOTHING_ASKED, self.named.recall.words(unread))
            return
        asked, got = unread
        self.hold(Input(asked, self.arguments_key), self.named.recall.unread(got))
