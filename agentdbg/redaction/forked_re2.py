"""
Match with google-re2 in a way that survives a fork.

A compiled expression takes a lock of its own while it matches, and lets other threads run meanwhile. A process forked
in that moment finds the lock taken for ever. So a child never asks an expression that its parent compiled: each is
compiled anew when the child first needs it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

try:
    import re2
except ImportError:  # pragma: no cover -- the lane without wheels runs the same tests
    re2 = None

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HAS_RE2", "LinearPattern"]

HAS_RE2 = re2 is not None
_left_behind: list[Any] = []
"""What the parent compiled; freeing it could wait for the same lock."""


class _Forks:
    """How many forks lie between this process and the one that loaded this module."""

    count = 0


class LinearPattern:
    """An expression for google-re2, compiled when it is first asked; `options` are those of re2."""

    __slots__ = ("_compiled", "_expression", "_forks", "_options")

    def __init__(self, expression: str, **options: Any) -> None:
        self._expression = expression
        self._options = options
        self._compiled: Any = None
        self._forks = -1

    def search(self, text: Any) -> Any:
        """The first match, or None."""
        return (self._compiled if self._forks == _Forks.count else self.compile()).search(text)

    def finditer(self, text: Any) -> Iterator[Any]:
        """Every match."""
        found: Iterator[Any] = (self._compiled if self._forks == _Forks.count else self.compile()).finditer(text)
        return found

    def compile(self) -> Any:
        """Make it ready to match in this process; an expression that is not valid raises here."""
        options = re2.Options()
        options.log_errors = False
        for name, value in self._options.items():
            setattr(options, name, value)
        if self._compiled is not None:
            _left_behind.append(self._compiled)
        self._compiled = compiled = re2.compile(self._expression, options)
        self._forks = _Forks.count
        return compiled


def _forget_what_the_parent_compiled() -> None:
    _Forks.count += 1
    re2.purge()  # it keeps what it compiled, and would give the parent's again


if re2 is not None and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_what_the_parent_compiled)
