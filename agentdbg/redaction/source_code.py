"""
Tell what programs say about secrets from the secrets themselves.

`cookies=cookies`, `token: TokenType`, `auth = self.make(request)` and a docstring below `class Cookie:` stand where a
secret could stand and are none. A line of an environment file is never taken for code.
"""

from __future__ import annotations

import re

from agentdbg.redaction.keys import LEAST_TOLD, is_told, letters_outside_words, looks_random

__all__ = ["OF_A_PERSON", "closes_quotes", "is_docstring", "is_written_out", "merely_mentions"]

_DOCSTRING = re.compile(r"[rRuUbB]{0,2}(?:\"\"\"|''')")


def is_docstring(text: str, at: int) -> bool:
    """Whether a value on the next line is the text that describes a class or a function."""
    return _DOCSTRING.match(text, at) is not None


_QUOTES = "\"'`"


_GOES_ON = re.compile(r"[ \t]{0,8}[+%,).;:\]}>|_\n]")
_LONGEST_LINE = 300


def closes_quotes(text: str, name_start: int, at: int) -> bool:
    """Whether the quote at `at` closes the text a name stands in: `header="Cookie:"`, `print("my token=" + x)`."""
    mark = text[at : at + 1]
    if mark not in set(_QUOTES):
        return False
    if text[name_start - 1 : name_start] == mark:
        return True
    reach = max(0, name_start - _LONGEST_LINE)
    line = max(text.rfind("\n", reach, name_start), reach)
    return text.count(mark, line, name_start) % 2 == 1 and _GOES_ON.match(text, at + 1) is not None


def is_written_out(text: str, span: tuple[int, int]) -> bool:
    """Whether a value is several lines in three quotes, none of them drawn: a help text, not a secret."""
    start, end = span
    if text[start - 3 : start] not in {'"""', "'''"}:
        return False
    words = text[start:end].strip().split()
    return "\n" in text[start:end].strip() and not any(looks_random(word) or is_told(word) for word in words)


_CALL = re.compile(
    r"(?:await |new |not |\*{1,2}|!)?"
    r"(?P<called>[A-Za-z_$][\w$]*(?:\(\)|\[\w{1,30}\])?(?:\??\.[A-Za-z_$][\w$]*(?:\(\)|\[\w{1,30}\])?)*)\("
)
_GENERIC = re.compile(r"[A-Z][A-Za-z]{1,30}<[A-Za-z0-9_&', :|<\[\]]{1,60}>")
"""`token: Option<String>`, `secret: Promise<string>`."""
_CHAIN = re.compile(r"[A-Za-z_$]+[0-9]?(?:\(\))?(?:\.[A-Za-z_]+[0-9]?(?:\(\))?)+")
_NAME = re.compile(r"[A-Za-z_]{2,80}")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]")
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]*=")
_SMALL_NUMBER = re.compile(r"(?:[-+]?[0-9]{1,3}|0x[0-9A-Fa-f]{1,8})[,;)]?")


_QUOTED_BEFORE = frozenset("\"'`")
_COMPARED = re.compile(r"[!=]==?\s{0,8}[bBrRuUfF]{0,2}[\"'`]$")
_GIVEN = re.compile(r"[^=!<>]=\s{0,8}$")
_LONGEST_PAIR = 80
_LONGEST_CODE = 500
_WORD_IN_QUOTES = re.compile(r"[\"']([^\"'\n]{1,200})[\"']")
_QUOTED = re.compile(r"[bBrRuUfF]{0,2}\"[^\"\n]{0,400}\"|[bBrRuUfF]{0,2}'[^'\n]{0,400}'")
_NAME_OUTSIDE_QUOTES = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]|\()")
"""An attribute or a call within brackets: they are code."""
_SENTENCE = re.compile(r": [A-Z]?[a-z]{2,} [a-z]{2,20}(?:[ ,.]|$)")
"""`token: expected string, got null`."""
_NAME_OF_SECRET = re.compile(
    r"(?:[a-z]{2,20}[_.]){1,6}(?:auth|authorization|cookies?|keys?|passwords?|secrets?|tokens?)"
    r"|(?:[A-Z]{2,20}_){1,6}(?:AUTH|COOKIES?|ID|KEYS?|PASSWORDS?|REQUIRED|SECRETS?|TOKENS?)"
)
"""`ENV_VAR = "AWS_SESSION_TOKEN"`: what a secret is called, in the spelling of programs."""
_SCHEMA = re.compile(r"\{\s{0,80}\\*[\"']type\\*[\"']\s?:\s?\\*[\"'](?:string|object|array|integer|number|boolean)")
_SAMPLE = re.compile(r"\b(?:default|const|examples?)\b")
_STYLE = re.compile(r"[a-z\-]{2,40}\{")
"""`.password-field:focus{…}`."""
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
    if text[start - 1 : start] == "/" and value[:1] == "/":
        return True  # `-v /run/secrets:/run/secrets`
    if text[at - 1 : at] in _QUOTED_BEFORE:
        return _is_name_in_quotes(name, value) or (
            (is_weak or _COMPARED.search(text, max(0, at - 16), at) is not None)
            and not any(is_told(word) or looks_random(word) for word in value.split()[:3])
        )
    if value[:1] in {"(", "[", "{"}:
        if (value.startswith("{{") and value.endswith("}}")) or (_SCHEMA.match(value) and not _SAMPLE.search(value)):
            return True
        is_given = _GIVEN.search(text, max(0, at - 12), at) is not None
        return _lists_no_secret(value, is_given=is_given, is_weak=is_weak)
    return len(value) <= _LONGEST_CODE and _is_no_value(text, name, start, span, is_weak=is_weak)


OF_A_PERSON = re.compile(r"(?:pass(?:word|wd|phrase|code)?|pwd|pw)s?$", re.IGNORECASE)
"""What people choose themselves, in words: `super_secret`, `Swordfish`."""


def _is_name_in_quotes(name: str, value: str) -> bool:
    if len(value) <= len(name) and value.lower() == name.rpartition(".")[2].lower():
        return not OF_A_PERSON.search(name)  # `token: 'Token'`
    if not _NAME_OF_SECRET.fullmatch(value) or value.startswith(_OF_ONE):
        return False
    return value.isupper() or not OF_A_PERSON.search(name)


_OF_ONE = ("my", "your", "the", "prod", "live", "dev", "stag", "sandbox")
"""A value that says which one it is, as `prod_api_key` does, is more than a name."""


def _is_no_value(text: str, name: str, start: int, span: tuple[int, int], *, is_weak: bool) -> bool:
    """The same for a value without quotes or brackets; a long one is read again for every name in it."""
    at, end = span
    value = text[at:end]
    if text[start - 1 : start] == "{" and _FORMAT.match(text, start + len(name)):
        return True
    is_word = value.isalpha() and (value.islower() or (value[1:].islower() and not OF_A_PERSON.search(name)))
    is_sentence = is_word and _SENTENCE.search(text, at - 2, end + 40) is not None
    return (
        is_sentence
        or _STYLE.match(value) is not None
        or _GENERIC.match(text, at) is not None
        or _reads_as_code(text, name, start, at, end)
        or (is_weak and not is_told(value))
    )


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
    if not _NAME.fullmatch(value) or value.lower().endswith(name.rpartition(".")[2].lower()):
        return _NAME.fullmatch(value) is not None
    is_own = name.startswith(("self.", "cls.", "this."))
    is_made_of_words = (is_own or _HUMP.search(value) is not None) and not _is_odd(value)
    return _is_variable(text, start, value) or (
        is_made_of_words and _stands_in_code(text, start, value_start, value_end)
    )


_NAMED_TO = re.compile(r" ?=(?!=)|[,)\[]|: | in ")
_BEFORE_NAMED = ("\n", "\t", "(", ", ", "for ", "as ", "    ")
_LONGEST_FUNCTION = 2000
_MOST_MENTIONS = 20


def _is_variable(text: str, start: int, value: str) -> bool:
    """Whether the program above has given this name to something: `for result in …`, `def f(result):`."""
    reach = max(0, start - _LONGEST_FUNCTION)
    at = start
    for _ in range(_MOST_MENTIONS):
        at = text.rfind(value, reach, at)
        if at < 0:
            return False
        before = text[max(0, at - 4) : at]
        if (not before or before.endswith(_BEFORE_NAMED)) and _NAMED_TO.match(text, at + len(value)):
            return True
    return False


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
