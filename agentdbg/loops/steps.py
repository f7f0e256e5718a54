"""
One counted event as the detector remembers it: its name, what it asked, what came back, and where it stands.
"""

from __future__ import annotations

from typing import Any

from agentdbg.encoding import decode_json
from agentdbg.loops.signatures import encode, says_it_failed
from agentdbg.loops.values import (
    FORGOTTEN,
    FORGOTTEN_FAILURE,
    NOTHING_ASKED,
    Input,
    Outcome,
    Unread,
    unread_call,
    unread_reply,
)

__all__ = ["NOTHING_SPENT", "Named", "Spent", "Step"]


Spent = tuple[int, int, float, int]
"""What a run has used up to some point: model calls, tokens, US dollars, and how many calls have a known price."""

NOTHING_SPENT: Spent = (0, 0, 0.0, 0)


class Named:
    """A tool, a model or the state, while a step of that name is within reach."""

    __slots__ = ("_by_input", "alike", "character", "kind", "lone", "present", "signature")

    def __init__(self, kind: str, signature: str, character: str) -> None:
        self.kind = kind
        self.signature = signature
        self.character = character
        self.present = 0
        """How many steps within reach have this name."""
        self.alike = 0
        """How many of them are the first call, or equal to it, and so share the character of the name."""
        self.lone: Step | None = None
        """The only call so far, not compared with anything yet."""
        self._by_input: dict[int | None, Step] | None = None

    @property
    def by_input(self) -> dict[int | None, Step]:
        """The last call for each input; there is none before the second call."""
        by_input = self._by_input
        if by_input is None:
            by_input = self._by_input = {}
        return by_input


class Step:
    """One event, and its place among its like."""

    # Defaults live on the class: a step that nothing is compared with costs half as much to make that way.
    is_new = True
    """Whether a tool call was never made before with this result."""
    was_asked = False
    """Whether a tool call within reach had the same input."""
    previous: Step | None = None
    streak = near = 1
    failed = polling = forgotten = False
    arguments_key: int | None = None
    known_outcome_key: int | None = None
    call_number = number = turn = 0
    spent = NOTHING_SPENT

    unread: Unread | None = None
    """What a first call asked and got; nearly always it is forgotten before anyone asks."""
    asked = NOTHING_ASKED
    got = FORGOTTEN

    def __init__(self, event_id: str, ts: str, named: Named) -> None:
        self.event_id = event_id
        self.ts = ts
        self.named = named
        self.kind = named.kind
        self.signature = named.signature
        self.recurs = named.present > 0
        # The first call of a tool needs no character of its own: nothing else has the one of its name.
        self.name = self.exact = named.character

    def hold(self, asked: Input, got: Outcome) -> None:
        """Take what was asked and what came back."""
        self.asked = asked
        self.got = got
        if got.failed:
            self.failed = True

    def leave_unread(self, payload: dict[str, Any]) -> bool:
        """Keep what a first call asked and got as it came; False for what has to be looked into at once."""
        kind = self.kind
        if kind == "tool":
            self.unread = unread = unread_call(payload)
        elif kind == "model":
            self.unread = unread = unread_reply(payload)
        else:
            return False
        return unread is not None

    def read(self) -> None:
        """See to it that what a first call asked and got is there."""
        unread = self.unread
        if unread is None:
            return
        self.unread = None
        if isinstance(unread, str):
            self.hold(NOTHING_ASKED, Outcome(encode(unread)))
            return
        arguments, got = unread
        try:
            asked, result = decode_json(arguments), decode_json(got) if isinstance(got, bytes) else got
        except ValueError:  # nested more deeply than can be read
            asked = result = None
        self.hold(Input(encode(asked)), Outcome(encode(result), failed=says_it_failed(result)))

    def outcome_key(self) -> int:
        """Equal for results that differ in nothing but ids and clocks."""
        key = self.known_outcome_key
        if key is None:
            key = self.known_outcome_key = self.got.key()
        return key

    def forget_text(self) -> None:
        """Let go of the bytes; what was worked out from them stays."""
        self.unread = None
        self.asked = NOTHING_ASKED
        self.got = FORGOTTEN_FAILURE if self.failed else FORGOTTEN
        self.forgotten = True
