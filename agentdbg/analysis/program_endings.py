"""
How programs end that failed: with an exit code, with how many of their tests or items did, with an exception.

Only whole lines count, the first or the last ones of an output: a figure inside a text, and what a log quotes, say
nothing of the program that printed them.
"""

from __future__ import annotations

import re

__all__ = ["ends_failed", "last_words"]

_LOOKED_AT = 200
_LAST_LINES = 3
_EXIT = re.compile(
    r"""[\[(<]? \s* (?:the\ )? (?:(?:command|process|program|script|task|job|step|shell|child)\ )?
        (?: (?:has\ )?(?:exited|finished|terminated|completed|failed|returned|ended|died)\ (?:with|on)\ (?:an?\ )?
            (?:non-?zero\ )?(?:(?:exit|return)[ _-]?)?(?:code|status|signal)
          | (?:exit|return)[ _-]?(?:code|status) )
        \W{0,3} (?:-?[1-9]\d*|SIG[A-Z]+)\b (?=\s*(?:[\])>.,;(<-]|$))""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_NOT_ZERO = re.compile(r"[^\n]{0,120}\bnon-?zero exit (?:status|code)\b", re.IGNORECASE)
_FAILED = r"(?:failed|failing|failures?|errors?|errored)"
_COUNTED = re.compile(
    rf"""(?: (?=.*\b(?:passed|passing|succeeded|ok|total|tests?|examples?|skipped|ignored|in\ [\d.]+\ ?m?s)\b)
             [^%]{{0,100}}?(?<![\d.])[1-9]\d*\ {_FAILED}(?![\w(]|\ (?:and\ fixed|attempts?))[^%]*
           | (?:found\ )?[1-9]\d*\ (?:\w+\ )?{_FAILED}(?:\ (?:generated|found|emitted))?(?:\ in\ \d+\ .*)?\.?
           | [^%]{{0,60}}?\b\d+\ (?:of|/|out\ of)\ \d+\b
             [^%]{{0,40}}?(?:(?<!\ 0)(?<!\ no)(?<!\ none)\ failed|could\ not\ be)\b[^%]*
           | (?-i:[A-Z]+\ (?:FAILED|FAILURE)) | [\w ]*(?-i:FAILED|FAILURE)\ (?:\([\w ]+=[1-9]|\S+::|in\ \d).*
           | test\ result:\ FAILED\b.*
           | =*\ ?(?-i:FAILURES|ERRORS)(?:!|\ =+)
           | \W*\d+\ problems?\ \([1-9]\d*\ errors?\b.*
           | tests?(?:\ run)?:.*\b(?:failures|errors):\ [1-9].* | ---\ (?-i:FAIL):.*
           | (?-i:FAIL)(?:\t.*|\ +\S+\.(?:test|spec)\..*)? )\s*""",
    re.VERBOSE | re.IGNORECASE,
)
"""`1 failed, 3 passed in 0.1s`, `Found 2 errors in 1 file`, `Imported 44 of 50 rows; 6 rows failed`."""
_TELLING = ("nonzero", "non-zero", "cod", "err", "fail", "sig", "stat", "could not")
"""What a line must hold to be looked at: searched for one by one, which is quicker than a pattern ignoring case."""
_COMPLAINS = re.compile(r"[a-z_./][\w./+-]*: (?:fatal )?error: \S")
_RAISED = re.compile(r"[\w.]*(?:Error|Exception)\b(?::|\s*$)")


def ends_failed(line: str) -> bool:
    """Whether a line says how a program ended, and it failed."""
    folded = line.casefold()
    if not any(word in folded for word in _TELLING):
        return False
    return any(sign.match(line) for sign in (_EXIT, _NOT_ZERO)) or _COUNTED.fullmatch(line) is not None


def last_words(text: str) -> str | None:
    """The line at the end of an output that says that the program failed; None where none does."""
    lines = [line for line in text[-_LOOKED_AT:].splitlines() if line.strip()][-_LAST_LINES:]
    if lines and (_COMPLAINS.match(lines[-1]) or (_RAISED.match(lines[-1]) and "\nTraceback (most" in text)):
        return lines[-1]
    return next((line for line in lines if ends_failed(line)), None)
