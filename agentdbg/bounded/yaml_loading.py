"""
YAML that stays small: bounded in length, in depth, in values once every alias is followed, and in the time it takes.

`a: &a [x, x]`, `b: &b [*a, *a]`, … is a page of text and a billion values to whoever walks through it.
"""

from __future__ import annotations

import time
from typing import Any

import yaml

from agentdbg.bounded import TooMuch

__all__ = ["LONGEST_YAML", "BoundedLoader"]

LONGEST_YAML = 256 << 10
_MOST_VALUES = 10_000
_DEEPEST = 50
_MOST_SECONDS = 2.0
_LOOK_AGAIN = 256
"""Tokens between two looks at the clock."""


class BoundedLoader(yaml.SafeLoader):
    """Safe YAML within bounds. A file of settings or rules has some dozens of values."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_YAML:
            raise TooMuch(f"it is longer than {LONGEST_YAML >> 10} KB")
        super().__init__(text)
        self._give_up_at = time.thread_time() + _MOST_SECONDS
        self._fetched = self._composed = self._depth = 0

    def fetch_more_tokens(self) -> Any:
        """As usual, while there is time."""
        self._fetched += 1
        if self._fetched % _LOOK_AGAIN == 0 and time.thread_time() > self._give_up_at:
            raise TooMuch(f"it takes longer than {_MOST_SECONDS:.0f} seconds to read")
        return super().fetch_more_tokens()

    def compose_node(self, parent: Any, index: Any) -> Any:
        """As usual, while there are not too many values, nor too deep ones."""
        self._composed += 1
        if self._composed > _MOST_VALUES:
            raise TooMuch(f"it holds more than {_MOST_VALUES:,} values")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TooMuch(f"it is nested too deeply: more than {_DEEPEST} values inside each other")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def get_single_node(self) -> Any:
        """The whole document, unless it holds too much once every alias is followed."""
        node = super().get_single_node()
        if node is not None:
            _count(node, {})
        return node


def _count(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for, aliases followed."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) in known:
        if not known[id(node)]:
            raise TooMuch("a value in it holds itself")
        return known[id(node)]
    known[id(node)] = 0  # until it is counted
    pairs = node.value if isinstance(node, yaml.MappingNode) else [(item,) for item in node.value]
    total = 1 + sum(_count(item, known) for pair in pairs for item in pair)
    if total > _MOST_VALUES:
        raise TooMuch(f"it holds more than {_MOST_VALUES:,} values")
    known[id(node)] = total
    return total
