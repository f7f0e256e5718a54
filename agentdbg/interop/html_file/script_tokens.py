"""
Find strings, templates, patterns and comments in JavaScript, so that none is taken for code.

`tokens_of` gives what stands between plain code: comments, texts, and the words that matter to imports and exports.
What cannot be told for sure raises `UnknownSyntax`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Token", "UnknownSyntax", "tokens_of"]


class UnknownSyntax(Exception):
    """A module is written in a way that is not understood here."""


class Token(NamedTuple):
    """A piece of a script that is more than plain code: `kind` is comment, word or text."""

    kind: str
    start: int
    end: int


_STRING = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NEXT = re.compile(
    rf"(?P<comment>{_COMMENT.pattern})|(?P<text>{_STRING})|(?P<slash>/)|(?P<tick>`)|(?P<quote>[\"'])"
    r"|(?P<word>(?<![\w$#])(?:import|export|let|var)(?![\w$]))",
    re.DOTALL,
)
_NEXT_IN_TEMPLATE = re.compile(rf"{_NEXT.pattern}|(?P<brace>[{{}}])", re.DOTALL)
_TEMPLATE_TEXT = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
# After these words a slash begins a regular expression; after any other word, a number or a closing bracket it divides.
_BEFORE_A_VALUE = re.compile(
    r"(?<![\w$.])(?:return|typeof|case|in|of|do|else|new|delete|void|instanceof|yield|await|throw)$"
)


def tokens_of(script: str) -> Iterator[Token]:
    """What is more than plain code in a script, in order."""
    at = 0
    code_end = 0
    while found := _NEXT.search(script, at):
        kind, start, at = _token(script, found, code_end)
        if kind:
            yield Token(kind, start, at)
        if kind != "comment":
            code_end = at


def _token(script: str, found: re.Match[str], code_end: int) -> tuple[str, int, int]:
    """The kind of what was found, its start and its end; no kind for a slash that divides."""
    kind, start = str(found.lastgroup), found.start()
    if kind == "slash":
        if _ends_a_value(script, code_end, start):
            return "", start, start + 1
        pattern = _REGEX.match(script, start)
        return "text", start, _end(pattern, "a regular expression", script, start)
    if kind == "tick":
        return "text", start, _template_end(script, start + 1)
    if kind == "quote":
        raise _no_end("a string", script, start)
    return kind, start, found.end()


def _template_end(script: str, at: int) -> int:
    """Where the template literal whose text begins at `at` ends."""
    start = at - 1
    while True:
        at = _end(_TEMPLATE_TEXT.match(script, at), "a template", script, start)
        if script.startswith("`", at):
            return at + 1
        if not script.startswith("${", at):
            raise _no_end("a template", script, start)
        at = _expression_end(script, at + 2)


def _expression_end(script: str, at: int) -> int:
    """Where the `${…}` whose code begins at `at` ends."""
    start, code_end, depth = at, at, 1
    while found := _NEXT_IN_TEMPLATE.search(script, at):
        if found.lastgroup == "brace":
            depth += 1 if found[0] == "{" else -1
            at = found.end()
            if not depth:
                return at
        else:
            at = _token(script, found, code_end)[2]
        if found.lastgroup != "comment":
            code_end = at
    raise _no_end("an expression in a template", script, start)


def _ends_a_value(script: str, code_end: int, at: int) -> bool:
    """Whether a slash at `at` divides what is before it; the code before it begins at `code_end`."""
    text = _COMMENT.sub(" ", script[max(0, code_end - 1) : at]).rstrip()
    if text.endswith("${"):
        return False
    last = text[-1:]
    return last in tuple(")]}`\"'/") or ((last.isalnum() or last in ("_", "$")) and not _BEFORE_A_VALUE.search(text))


def _end(found: re.Match[str] | None, what: str, script: str, at: int) -> int:
    if found is None:
        raise _no_end(what, script, at)
    return found.end()


def _no_end(what: str, script: str, at: int) -> UnknownSyntax:
    return UnknownSyntax(f"{what} has no end: {script[at : at + 40]!r}")
