"""
Tell what programs say about secrets from the secrets themselves.

`cookies=cookies`, `token: TokenType`, `auth = self.make(request)` and a docstring below `class Cookie:` stand where a
secret could stand and are none. A line of an environment file is never taken for code.
"""

from __future__ import annotations

import re

from agentdbg.redaction.keys import LEAST_TOLD, is_told, letters_outside_words, looks_random

__all__ = ["closes_quotes", "is_docstring", "merely_mentions"]

_DOCSTRING = re.compile(r"[rRuUbB]{0,2}(?:\"\"\"|''')")


def is_docstring(text: str, at: int) -> bool:
    """Whether a value on the next line is the text that describes a class or a function."""
    return _DOCSTRING.match(text, at) is not None


_QUOTES = "\"'`"


def closes_quotes(text: str, name_start: int, at: int) -> bool:
    """Whether the quote at `at` closes the one that opened right before the name: `header="Cookie:"`."""
    return text[at : at + 1] in set(_QUOTES) and text[name_start - 1 : name_start] == text[at : at + 1]


_CALL = re.compile(
    r"(?:await |new |not |\*{1,2}|!)?(?P<called>[A-Za-z_$][\w$]*(?:\(\))?(?:\??\.[A-Za-z_$][\w$]*(?:\(\))?)*)\("
)
_CHAIN = re.compile(r"[A-Za-z_$]+(?:\(\))?(?:\.[A-Za-z_]+(?:\(\))?)+")
_NAME = re.compile(r"[A-Za-z_]{2,80}")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]")
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]*=")
_SMALL_NUMBER = re.compile(r"[-+]?[0-9]{1,3}[,;)]?")


_QUOTED_BEFORE = frozenset("\"'`")
_COMPARED = re.compile(r"[!=]==?\s{0,8}[bBrRuUfF]{0,2}[\"'`]$")
_GIVEN = re.compile(r"[^=!<>]=\s{0,8}$")
_LONGEST_PAIR = 80
_LONGEST_CODE = 500
_WORD_IN_QUOTES = re.compile(r"[\"']([^\"'\n]{1,200})[\"']")
_QUOTED = re.compile(r"[bBrRuUfF]{0,2}\"[^\"\n]{0,400}\"|[bBrRuUfF]{0,2}'[^'\n]{0,400}'")
_NAME_OUTSIDE_QUOTES = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]|\()")
"""An attribute or a call within brackets: they are code."""
_SENTENCE = re.compile(r": [a-z]{3,} [a-z]{2,20}(?:[ ,.]|$)")
"""`token: expected string, got null`."""
_FORMAT = re.compile(r"[!:][^\s\"'{}]{1,10}\}")


def merely_mentions(text: str, name: str, start: int, span: tuple[int, int], *, is_weak: bool) -> bool:
    """
    Whether what a name is given in a text only speaks of a secret.

    `is_weak` is for names that hold a secret only sometimes (`token.text`, `pass_fds`, `Second pass:`).
    """
    at, end = span
    value = text[at:end]
    if not any(map(str.isalnum, value)) and len(value) < LEAST_TOLD:
        return True
    if text[at - 1 : at] in _QUOTED_BEFORE:
        return (is_weak or _COMPARED.search(text, max(0, at - 16), at) is not None) and not is_told(value)
    if value[:1] in {"(", "[", "{"}:
        if value.startswith("{{") and value.endswith("}}"):
            return True
        is_given = _GIVEN.search(text, max(0, at - 12), at) is not None
        return _lists_no_secret(value, is_given=is_given, is_weak=is_weak)
    return len(value) <= _LONGEST_CODE and _is_no_value(text, name, start, span, is_weak=is_weak)


def _is_no_value(text: str, name: str, start: int, span: tuple[int, int], *, is_weak: bool) -> bool:
    """The same for a value without quotes or brackets; a long one is read again for every name in it."""
    at, end = span
    value = text[at:end]
    if text[start - 1 : start] == "{" and _FORMAT.match(text, start + len(name)):
        return True
    is_sentence = value.islower() and value.isalpha() and _SENTENCE.search(text, at - 2, end + 40) is not None
    return is_sentence or _reads_as_code(text, name, start, at, end) or (is_weak and not is_told(value))


def _lists_no_secret(brackets: str, *, is_given: bool, is_weak: bool) -> bool:
    """Whether brackets are code, or hold more than a login, and nothing in them looks like a secret."""
    is_code = _NAME_OUTSIDE_QUOTES.search(_QUOTED.sub("", brackets)) is not None
    if not (is_weak or is_code or (is_given and len(brackets) > _LONGEST_PAIR)):
        return False
    is_secret = looks_random if is_weak else is_told
    return not any(is_secret(word) for word in _WORD_IN_QUOTES.findall(brackets))


def _reads_as_code(text: str, name: str, start: int, value_start: int, value_end: int) -> bool:
    """Whether the value without quotes that a name is given is a call, a variable, a type or a small number."""
    value = text[value_start:value_end]
    if value.startswith(("$(", "${", "!")) or _SMALL_NUMBER.fullmatch(value):
        return True
    if _ENVIRONMENT.match(text, start):
        return False
    if call := _CALL.match(value):
        return not looks_random(call["called"])
    if _CHAIN.fullmatch(value):
        return not _is_odd(value)
    if not _NAME.fullmatch(value) or value == name.rpartition(".")[2]:
        return _NAME.fullmatch(value) is not None
    is_own = name.startswith(("self.", "cls.", "this."))
    is_made_of_words = (is_own or _HUMP.search(value) is not None) and not _is_odd(value)
    return is_made_of_words and _stands_in_code(text, start, value_start, value_end)


def _is_odd(value: str) -> bool:
    letters = sum(map(str.isalpha, value))
    return 3 * sum(letters_outside_words(part) for part in re.split(r"[._]", value)) > letters


def _stands_in_code(text: str, start: int, value_start: int, value_end: int) -> bool:
    """Something closes or goes on after the value, the name belongs to something, or the sign has spaces around it."""
    after = text[value_end : value_end + 1]
    return (
        (after != "" and after in ",)]};:")
        or text[start - 1 : start] in {"(", ".", "{"}
        or text[value_start - 3 : value_start] in {" = ", " : "}
        or text[value_start - 4 : value_start] in {" => ", " := "}
        or text[value_start - 2 : value_start] == ": "
    )
