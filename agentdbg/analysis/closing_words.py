"""
The words with which agents end a talk, which are no answer: `TERMINATE`, `###STOP###`, `<END>`, `TASK_COMPLETE`.

A team agrees on such a word so that its program knows when to stop. What a person would call the answer is the text
before it. A word is taken for one only by its form: set in marks that no prose has, or one of a few that nobody answers
with. `STOP` or `APPROVE` by itself may be the label a model was asked for, and stays.
"""

from __future__ import annotations

import re

__all__ = ["without_closing_word"]

_SAID = (
    r"(?:TERMINAT(?:E|ED|ION)|[Tt]erminate"
    r"|(?:[A-Z]+_)?(?:TASK|CHAT|CONVERSATION)[_ -]?(?:IS[_ -])?(?:DONE|COMPLETED?|FINISHED|OVER))"
)
_BARE = r"(?:DONE|END|EXIT|QUIT|FINISHED|exit|quit)"
# What stands only between marks: of programs, and of models (`<|im_end|>`).
_BETWEEN = (
    rf"(?:{_BARE}|STOP|FINISH|COMPLETED?|EO[FST]|EOM|OVER|TRANSFER|OUT[_-]OF[_-]SCOPE"
    r"|(?:im_)?end(?:oftext|_of_(?:text|turn|sentence))?|eo[stm](?:_id)?|done|stop)"
)
_OPENS = r"(?:#{2,}|<\w+>|<{1,2}\|?|\[{1,2}|[*=-]{3,})"
_CLOSES = r"(?:#{2,}|</\w+>|\|?>{1,2}|\]{1,2}|[*=-]{3,})"
_AROUND = r"[*_`\"'“”]*"
_WORD = rf"{_AROUND}(?:{_SAID}|{_OPENS}\s*(?:{_SAID}|{_BETWEEN})\s*{_CLOSES}|/(?:exit|quit|bye)){_AROUND}[.!]*"
_LINE = rf"(?:{_WORD}|{_AROUND}{_BARE}{_AROUND}[.!]*)"
_ALONE = re.compile(rf"\s*{_LINE}\s*")
# Behind a colon it is what was asked for; inside a sentence it is a word of it.
_AT_THE_END = re.compile(rf"(?<![:\s])(?:(?<=[.!?)\]\"'”…])[ \t]+{_WORD}|\s*\n\s*{_LINE})\s*\Z")
_LONGEST = 80


def without_closing_word(text: str) -> str:
    """A text without the word that closes a talk; empty where it is nothing else."""
    head, end = text[:-_LONGEST], text[-_LONGEST:]
    if not head and _ALONE.fullmatch(end):
        return ""
    return (head + _AT_THE_END.sub("", end)).strip()
