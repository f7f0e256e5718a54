"""
The user's own patterns, made safe to run on any text.

A pattern is taken when it is valid, cannot match nothing, and asks for nothing that would cost more than one pass
(look-around, back-references, repeats within repeats). With google-re2 the match is linear by construction; without
it the same patterns are accepted and the same text is matched by the standard library.

Match with google-re2 in a way that survives a fork.

A compiled expression takes a lock of its own while it matches, and lets other threads run meanwhile. A process forked
in that moment finds the lock taken for ever. So a child never asks an expression that its parent compiled: each is
compiled anew when the child first needs it.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from agentdbg.interruptions import WeakBag, is_not_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentdbg.redaction.assigned_values import Span

__all__ = ["HAS_RE2", "LinearPattern", "UserPattern", "compile_patterns"]

try:
    from re import _parser as parser  # type: ignore[attr-defined,unused-ignore]
except ImportError:  # Python 3.10
    import sre_parse as parser  # type: ignore[no-redef,unused-ignore]


_LONGEST_PATTERN = 1000


class UserPattern:
    """One pattern a user wrote; everything it matches is secret."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def spans(self, text: str) -> Iterator[Span]:
        """Where the pattern matches something."""
        for found in self._compiled.finditer(text):
            start, end = found.span()
            if start < end:
                yield start, end


def compile_patterns(patterns: Iterable[str], *, use_re2: bool = True) -> tuple[list[UserPattern], list[str]]:
    """The patterns that can be used, and one sentence for each that cannot."""
    usable: list[UserPattern] = []
    problems: list[str] = []
    for pattern in patterns:
        try:
            reason = _reason_against(pattern)
            if reason is None:
                usable.append(UserPattern(_compiled(pattern, use_re2=use_re2 and HAS_RE2)))
        except Exception as error:  # two engines, each with errors of its own
            if is_not_ours(error):
                raise
            reason = f"it is not a valid pattern ({error})"
        if reason is not None:
            problems.append(f"redact pattern {_shown(pattern)} is not used: {reason}")
    return usable, problems


def _shown(pattern: object) -> str:
    shown = repr(pattern)
    return shown if len(shown) <= 80 else shown[:79] + "…"


def _compiled(pattern: str, *, use_re2: bool) -> Any:
    if not use_re2:
        return re.compile(pattern, re.ASCII)
    linear = LinearPattern(pattern)
    linear.compile()
    return linear


def _reason_against(pattern: object) -> str | None:
    if not isinstance(pattern, str):
        return "it is not text"
    if not pattern or len(pattern) > _LONGEST_PATTERN:
        return f"it must have 1 to {_LONGEST_PATTERN} characters"
    compiled = re.compile(pattern)
    if compiled.match("") is not None:
        return "it matches nothing at all, and so would match everywhere"
    return _costly_part(_parsed(pattern), within_repeat=False)


def _parsed(pattern: str) -> Any:
    return parser.parse(pattern)


_LOOK_AROUND = frozenset({"ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS", "ATOMIC_GROUP", "POSSESSIVE_REPEAT"})
_MANY = 64


def _costly_part(parsed: Any, *, within_repeat: bool) -> str | None:
    """Why some part of a parsed pattern could take more than one pass; None when nothing could."""
    for operation, argument in parsed:
        name = str(operation)
        if name in _LOOK_AROUND:
            return "look-around, back-references and possessive repeats cannot be matched in one pass"
        if name in {"MAX_REPEAT", "MIN_REPEAT"}:
            _least, most, inner = argument
            repeats = int(most) > _MANY
            if repeats and within_repeat:
                return "a repeat inside a repeat cannot be matched in one pass"
            reason = _costly_part(inner, within_repeat=within_repeat or repeats)
        else:
            reasons = (_costly_part(part, within_repeat=within_repeat) for part in _parts(argument))
            reason = next(filter(None, reasons), None)
        if reason:
            return reason
    return None


def _parts(argument: Any) -> Iterator[Any]:
    """The sub-patterns within one operation's argument."""
    if hasattr(argument, "data"):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for item in argument:
            if hasattr(item, "data") or isinstance(item, list):
                yield from _parts(item)


try:
    import re2
except ImportError:  # pragma: no cover -- the lane without wheels runs the same tests
    re2 = None


HAS_RE2 = re2 is not None
_left_behind: list[Any] = []
"""What the parent compiled; freeing it could wait for the same lock."""


class LinearPattern:
    """
    An expression for google-re2, compiled when it is first asked; `options` are those of re2.

    `search` gives the first match or None, `finditer` every match.
    """

    __slots__ = ("__weakref__", "_compiled", "_expression", "_options", "finditer", "search")

    search: Callable[[Any], Any]
    finditer: Callable[[Any], Iterator[Any]]

    def __init__(self, expression: str, **options: Any) -> None:
        self._expression = expression
        self._options = options
        self._compiled: Any = None
        self.forget()
        _patterns.add(self)

    def compile(self) -> None:
        """Make it ready to match in this process; an expression that is not valid raises here."""
        options = re2.Options()
        options.log_errors = False
        for name, value in self._options.items():
            setattr(options, name, value)
        self._compiled = re2.compile(self._expression, options)
        self.search, self.finditer = self._compiled.search, self._compiled.finditer

    def forget(self) -> None:
        """Compile it anew when it is next asked."""
        if self._compiled is not None:
            _left_behind.append(self._compiled)
        self.search, self.finditer = self._search_first, self._find_first

    def _search_first(self, text: Any) -> Any:
        self.compile()
        return self.search(text)

    def _find_first(self, text: Any) -> Iterator[Any]:
        self.compile()
        found: Iterator[Any] = self.finditer(text)
        return found


_patterns: WeakBag[LinearPattern] = WeakBag()


def _forget_what_the_parent_compiled() -> None:
    re2.purge()  # it keeps what it compiled, and would give the parent's again
    for pattern in _patterns.now():
        pattern.forget()


if re2 is not None and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_what_the_parent_compiled)
