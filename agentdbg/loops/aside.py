"""
Calls of names that nobody called before, put aside until one of them matters.

A run that never repeats itself has nothing to compare, so such a call is kept as a few values and nothing is worked out
from it. When an event comes that may repeat another, the detector takes in what was put aside as if it had come just
then. What has gone out of reach by that time is only counted.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.loops.steps import Spent
    from agentdbg.loops.values import Unread

__all__ = ["Aside", "Key", "PutAside"]

Key = tuple[str, str]
"""The kind and the name of a tool or a model."""

Aside = tuple[str, str, "Spent", bool]
"""The id, the time, what had been spent before, and whether it polls, of a call put aside."""


class PutAside:
    """The calls since the last one that was looked into, each with a name of its own."""

    __slots__ = ("_reach", "calls", "most", "out_of_reach", "texts", "tools_out_of_reach")

    def __init__(self, reach: int, texts_kept: int) -> None:
        self._reach = reach
        self.most = 2 * reach
        """With more than this many, `shorten` is due."""
        self.calls: dict[Key, Aside] = {}
        self.texts: deque[Unread] = deque(maxlen=texts_kept)
        """What the newest of them asked and got."""
        self.out_of_reach = 0
        self.tools_out_of_reach = 0

    def shorten(self) -> None:
        """Let go of what is out of reach; now and then, since taking the oldest out of a dict is slow work."""
        surplus = len(self.calls) - self._reach
        for key in list(self.calls)[: max(surplus, 0)]:
            del self.calls[key]
            self.out_of_reach += 1
            self.tools_out_of_reach += key[0] == "tool"

    def take_out(self) -> Iterator[tuple[Key, Aside, Unread | None]]:
        """All that is within reach, oldest first, with the texts so far as they are kept; none is left."""
        calls, texts = self.calls, self.texts
        without_text = len(calls) - len(texts)
        self.calls, self.texts = {}, deque(maxlen=texts.maxlen)
        self.out_of_reach = self.tools_out_of_reach = 0
        for place, (key, call) in enumerate(calls.items()):
            yield key, call, None if place < without_text else texts[place - without_text]
