"""
What agents end a talk with, which is no answer: `TERMINATE`, `###STOP###`, `<END>`, and "You're welcome! Safe travels."

A team agrees on such a word so that its program knows when to stop. What a person would call the answer is the text
before it. A word is taken for one only by its form: set in marks that no prose has, or one of a few that nobody answers
with. `STOP` or `APPROVE` by itself may be the label a model was asked for, and stays. A farewell is a text each
sentence of which is a courtesy; one sentence that says something makes it an answer.
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

_REACH = (
    r"(?:feel free|do(?:n't| not) hesitate|(?:just )?(?:let me|let us) know|reach out|get in touch|(?:just )?ask"
    r"|i(?:'m| am) here)"
)
_DAYS = r"(?:day|evening|night|week|weekend|trip|flight|time|stay|journey|afternoon|morning|one|rest)"
# Each is a whole sentence; what it may hold beside its beginning is of no consequence.
_FAREWELLS = (
    r"you(?:'re| are) (?:very |most |always |so )*welcome",
    r"(?:it(?:'s| was) )?(?:my|our) pleasure|any ?time|no (?:problem|worries)(?: at all)?|do(?:n't| not) mention it",
    (
        r"(?:i(?:'m| am| was) |it was )?(?:so |very |always )?(?:glad|happy|pleased|nice|good) (?:(?:that )?i could|to)"
        r" (?:be of (?:help|assistance)|help(?:ing)?|assist|chat|hear that)(?: you)?"
        r"(?: (?:in|with|today)\b[^.!?:]{0,60})?"
    ),
    r"(?:i(?:'m| am) )?(?:so |very )?glad (?:that|everything|it|this)\b[^.!?:]{0,60}",
    (
        r"(?:have|enjoy|wishing you|i wish you|hope you have) (?:an?|your|the rest of your)"
        rf" (?:\w+ (?:and \w+ )?)?{_DAYS}(?: of your \w+)?(?: ahead| to \w+)?"
        r"(?: and (?:safe|enjoy|take|have)[^.!?:]{0,40})?"
    ),
    r"(?:(?:have a )?safe|happy) (?:travels|travelling|traveling|trip|journey)[^.!?]*",
    r"(?:talk|speak)(?: to you)? soon|(?:i(?:'m| am) )?looking forward to [^.!?:]{0,60}",
    r"(?:take care(?! of)[^.!?:]{0,70}|stay safe|good ?bye|bye(?: for now)?|see you(?: soon| later)?|farewell)",
    r"(?:good luck(?: with [^.!?:,]{0,40})?|best wishes|cheers)",
    (
        r"(?:thank you|thanks|thank you (?:so|very) much|many thanks)"
        r"(?: for (?:contacting|reaching out|your|choosing|calling|being|using|letting|chatting)[^.!?]*"
        r"| (?:for|and) (?:chatting|talking) [^.!?]*)?"
    ),
)
# These may stand beside a farewell, and make none alone.
_FILLERS = (
    r"(?:of course|certainly|sure(?: thing)?|absolutely|great|perfect|sounds good|all right|alright)",
    r"(?:i|we) hope (?:you|your|it|that|everything|this|the)\b[^.!?:]{0,90}",
    (
        r"(?:so |and |but |please |in the meantime,? )*(?:if|should|whenever|when|once) (?:you|there|anything)"
        rf"[^.!?]{{0,120}}\b{_REACH}\b[^.!?]*"
    ),
    (
        rf"(?:please |just )?{_REACH}(?: to (?:us|me|reach out|ask|contact))?[^.!?:]{{0,30}}"
        r"\b(?:if|when|whenever|again|anytime|any time|for (?:more|further|any))\b[^.!?:]{0,90}"
    ),
    r"(?:i(?:'m| am)|we(?:'re| are)|i'll) (?:always |be )*here (?:to|if|for|whenever)[^.!?]*",
    (
        r"(?:is there|was there|do you have|do you need|can i help(?: you)? with) (?:any ?thing|any)"
        r" (?:else|other|more|further)[^.!?]*"
    ),
)
_NAMED = r"(?:,? (?:and|then|too|again|there|now|soon|everyone|all|(?-i:[A-Z]\w+))){0,3}"
_FAREWELL = re.compile(rf"(?:{'|'.join(_FAREWELLS)}){_NAMED}", re.IGNORECASE)
_FILLER = re.compile(rf"(?:{'|'.join(_FILLERS)}){_NAMED}", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"[.!?…]+[\s\W]*|\s*[;\n—–]\s*|, (?=bye|good|have|take|and (?:have|safe|enjoy|take))")
_LONGEST_FAREWELL = 500


def without_closing_word(text: str) -> str:
    """A text without the word that closes a talk; empty where it is nothing else, or a farewell."""
    head, end = text[:-_LONGEST], text[-_LONGEST:]
    if (not head and _ALONE.fullmatch(end)) or _is_farewell(text):
        return ""
    return (head + _AT_THE_END.sub("", end)).strip()


def _is_farewell(text: str) -> bool:
    """Whether a short text is nothing but courtesies, one of them a farewell."""
    if len(text) > _LONGEST_FAREWELL or any(sign.isdigit() for sign in text):
        return False
    sentences = [
        one.strip(" ,\"'*_") for one in _SENTENCE_ENDS.split(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    ]
    said = [one.removeprefix("and ") for one in sentences if one]
    ends = [_FAREWELL.fullmatch(one) is not None for one in said]
    return any(ends) and all(is_end or _FILLER.fullmatch(one) for one, is_end in zip(said, ends, strict=True))
