"""
One counted event as the detector remembers it: its name, what it asked, what came back, and where it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.loops.signatures import encode
from agentdbg.loops.values import FORGOTTEN, FORGOTTEN_FAILURE, NOTHING_ASKED, Input, is_lasting, reply_words

if TYPE_CHECKING:
    from collections import deque

    from agentdbg.loops.similar import Vocabulary
    from agentdbg.loops.values import Outcome, Recall

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
        "vocabulary",
        "worded",
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
        self.asked: Input | None = None
        """What the last call asked, unless that is long; None before the second call."""
        self.by_input: dict[int | None, Step] | None = None
        """The last call for each input; None before the second call."""
        self.recent: deque[Step] | None = None
        """The last few calls, from the second on."""
        self.vocabulary: Vocabulary | None = None
        """The words of what they asked; None before that matters."""
        self.worded: Step | None = None
        """The newest call whose words are among them."""

    @property
    def signature(self) -> str:
        """The name as patterns show it."""
        return _SIGNATURES[self.kind] + self.name


class Step:
    """One event, and its place among its like."""

    __slots__ = (
        "_got",
        "arguments_key",
        "asked",
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
        "question",
        "recurs",
        "spent",
        "streak",
        "ts",
        "unread",
        "was_asked",
    )

    def __init__(self, event_id: str, ts: str, named: Named, spent: Spent) -> None:
        self.event_id = event_id
        self.ts = ts
        self.named = named
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
        self.question = 0
        """What a model was asked: equal for prompts that say the same."""
        self.arguments_key: int | None = None
        self.known_outcome_key: int | None = None
        self.unread: bytes | str | None = None
        """What came back, as it came; nearly always it is forgotten before anyone asks."""
        self.asked = NOTHING_ASKED
        self._got = FORGOTTEN

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
    def got(self) -> Outcome:
        """What came back."""
        if self.unread is not None:
            self._read(self.unread)
        return self._got

    def words(self, like: Step | None = None) -> frozenset[bytes]:
        """The words of what was asked, which may begin like what another step asked."""
        return self.asked.words(None if like is None else like.asked)

    def said(self) -> frozenset[bytes]:
        """The first words of a model's answer."""
        unread = self.unread
        return reply_words(encode(unread) if type(unread) is str else self._got.text)

    def is_lasting(self) -> bool:
        """Whether nothing in a model's answer can hide that it is equal to another."""
        unread = self.unread
        return is_lasting(encode(unread) if type(unread) is str else self._got.text)

    def answers_like(self, other: Step) -> bool:
        """Whether two answers are seen to be the same without a look at their words."""
        return self._got is other._got if self.unread is None else self.unread == other.unread

    def hold(self, asked: Input, got: Outcome) -> None:
        """Take what was asked and what came back."""
        self.asked = asked
        self._got = got
        if got.failed:
            self.failed = True

    def forget(self) -> None:
        """Let go of the bytes; what was worked out from them stays."""
        self.unread = None
        self.asked = NOTHING_ASKED
        self._got = FORGOTTEN_FAILURE if self.failed else FORGOTTEN
        self.forgotten = True

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

    def _read(self, unread: bytes | str) -> None:
        self.unread = None
        recall = self.named.recall
        if self.named.is_tool:
            self.hold(self.asked, recall.unread(unread))
        elif isinstance(unread, str):
            self.hold(NOTHING_ASKED, recall.words(unread))
