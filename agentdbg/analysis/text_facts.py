"""
The facts in a text: figures, dates, times, ids, addresses and names, however it is worded.

Models never write a letter twice in the same words. What has to stay the same is what it says: `$40` is `40.00 USD`,
`May 20, 2024` is `2024-05-20`, and `40` is never `400`.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

__all__ = ["DATES", "TextFacts", "facts_in", "is_message"]

_LONGEST = 20_000
_STEM = 5
"""So many letters of a word tell it from others: `refund`, `refunded`."""
_FEW_WORDS = 2
"""So few words in a text, and each of them counts."""


@dataclass(frozen=True)
class TextFacts:
    """
    What a text says: `hard` has to be the same; `soft`, names and years, may be left out, but not exchanged.

    `spelled` are numbers in words, `two` and `twice`, which may be left out too: `2` says the same. `words` is what is
    left where a text has few hard facts: a note that says where to put a parcel. `pairs` are names side by side.
    `kinds` are currencies and days of the week, as soft as names; nobody looks for them in what was known.
    """

    hard: frozenset[str]
    soft: frozenset[str]
    words: frozenset[str]
    spelled: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()
    kinds: frozenset[str] = frozenset()

    def _names_not_in(self, other: TextFacts) -> frozenset[str]:
        """The names that the other text lacks; `Petra Lindqvist` is who `Ms Lindqvist` is."""
        alone = other.soft - {name for pair in other.pairs for name in pair}
        same = {name for pair in self.pairs if not alone.isdisjoint(pair) for name in pair}
        return self.soft - other.soft - same

    @property
    def numbers_and_ids(self) -> frozenset[str]:
        """All hard facts, also the numbers in words."""
        return self.hard | self.spelled

    @property
    def key(self) -> frozenset[str]:
        """What two texts that agree have in common for sure: the hard facts without those that words can spell."""
        return self.hard - _CAN_BE_SPELLED

    def agrees_with(self, other: TextFacts) -> bool:
        """Whether two texts say the same, in whatever words."""
        ours, theirs = self.numbers_and_ids, other.numbers_and_ids
        if not (self.hard <= theirs and other.hard <= ours and (ours <= theirs or theirs <= ours)):
            return False
        if self._names_not_in(other) and other._names_not_in(self):
            return False
        if self.kinds - other.kinds and other.kinds - self.kinds:
            return False
        fewer, more = sorted((self.words, other.words), key=len)
        if not self.hard:
            return not fewer or 2 * len(fewer & more) >= len(fewer)
        return len(more) > _FEW_WORDS or fewer <= more  # `Order A-17 confirmed` and `Order A-17 cancelled`


@lru_cache(maxsize=512)
def facts_in(text: str) -> TextFacts:
    """The facts of a text, each in one form."""
    rest = _LIST_NUMBER.sub(" ", _without_tags(text[:_LONGEST]))
    hard = {"no"} if _DECIDES_NO.search(rest) else set()
    years = {found["year"] for date in DATES for found in date.finditer(rest)} - {None}
    kinds = frozenset(name for name, pattern in _KINDS.items() if pattern.search(rest))
    for pattern, form in _FORMS:
        hard.update(form(found) for found in pattern.finditer(rest))
        rest = pattern.sub(" ", rest)
    words = list(_WORD.finditer(rest))
    spelled = frozenset(_NUMBER_WORDS[low] for word in words if (low := word[0].lower()) in _NUMBER_WORDS)
    stems = frozenset(low[:_STEM] for word in words if (low := word[0].lower()) not in _COMMON and len(low) > 2)
    names = _names(rest, words)
    pairs = frozenset((a[1], b[1]) for a, b in pairwise(names) if rest[a[0].end() : b[0].start()] == " ")
    soft = frozenset(years | {name for _, name in names})
    return TextFacts(frozenset(hard), soft, stems, spelled, pairs, kinds)


def is_message(text: str, key: str = "") -> bool:
    """Whether a text is written to somebody, so that its words may be others: a few sentences, and no code."""
    if len(text) > _LONGEST or _CODE.search(text := _without_tags(_TABLE_ROW.sub(_cells, text))):
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    if key.lower() in _MESSAGE_KEYS and (len(words) >= 4 or (len(words) >= 2 and facts_in(text).hard)):
        return True
    return len(words) >= 6 and sum(word in _COMMON for word in words) >= 2


def _without_tags(text: str) -> str:
    """A letter written in HTML as its text, with the addresses its links lead to."""
    if "</" not in text and "<br" not in text.lower():
        return text
    return html.unescape(_TAG.sub(lambda found: f" {found[1] or ''} ", text))


def _cells(row: re.Match[str]) -> str:
    """What a row of a Markdown table says; the line below its head says nothing."""
    return "" if _BELOW_THE_HEAD.fullmatch(row[0]) else row[0].replace("|", " ")


def _date(found: re.Match[str]) -> str:
    month = found["month"].lower()
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
    return f"{number:02d}-{int(found['day']):02d}"


def _time(found: re.Match[str]) -> str:
    hour, minute = int(found[1] or found[4]), int(found[2] or 0)
    half = (found[3] or found[5] or "").lower()[:1]
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return f"{hour:02d}:{minute:02d}"


def _address(found: re.Match[str]) -> str:
    return found[0].rstrip(".,;:!?").lower()


def _whole(found: re.Match[str]) -> str:
    return found[0]


def _id(found: re.Match[str]) -> str:
    text = found[0].lstrip("#").upper()
    return _plain(text.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) if _WITH_UNIT.fullmatch(text) else text


def _version(found: re.Match[str]) -> str:
    return found[1].lower()


def _figure(found: re.Match[str]) -> str:
    return _plain(found[0])


def _plain(text: str) -> str:
    """`1,234.50` as `1234.5`, `007` as `7`."""
    return format(Decimal(text.replace(",", "")).normalize(), "f")


def _names(text: str, words: list[re.Match[str]]) -> list[tuple[re.Match[str], str]]:
    """Words with a capital letter that do not begin a sentence, in small letters."""
    found: list[tuple[re.Match[str], str]] = []
    for word in words:
        low = _POSSESSIVE.sub("", word[0]).lower()
        if word[0][0].isupper() and len(low) > 1 and low not in _NO_NAMES and low not in _COMMON:
            before = text[max(word.start() - 6, 0) : word.start()]
            is_code = word[0].isupper() and before.endswith("(")  # `Newark (EWR)`
            if is_code or _TITLE.search(before) or (before.strip() and not _BEGINS_SENTENCE.search(before)):
                found.append((word, low))
    return found


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?"
DATES = (
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)"),
    re.compile(rf"\b{_MONTH}\s+{_DAY}\b{_YEAR}", re.IGNORECASE),
    re.compile(rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\b{_YEAR}", re.IGNORECASE),
)
_HALF = r"([ap]\.?m\.?)"
_TIME = re.compile(
    rf"\b(\d{{1,2}}):(\d\d)(?::\d\d(?:\.\d+)?)?\s*{_HALF}?(?![\w:])|\b(\d{{1,2}})\s*{_HALF}(?!\w)", re.IGNORECASE
)
_ADDRESS = re.compile(r"https?://[^\s<>\"')\]]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w@.])@[A-Za-z][\w.-]{1,38}")
"""Links, addresses of e-mail, and who is mentioned: `@dana`."""
_ID = re.compile(
    r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?![\w-])|#\d+|\d+(?:-\d+)+"
)
_WITH_UNIT = re.compile(r"\d+(?:ST|ND|RD|TH|S|X|KG|CM|MM|KM|GB|MB|H|HR|HRS|MIN|D)")
_EARLY = r"(?:-(?:alpha|beta|dev|pre|rc)[.\d]*\d)?"
_VERSION = re.compile(rf"(?<![\w.])(?:v(?=\d+\.\d)|(?=\d+\.\d+\.\d))(\d+(?:\.\d+)+{_EARLY})(?!\w|\.\d)", re.IGNORECASE)
"""`4.2.0`, `v4.2`, `4.2.0-rc1`, and addresses of machines; none is a figure with something behind it."""
_FIGURE = re.compile(r"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.,])-?\d+(?:\.\d+)?(?!\w)")
_ORIGIN = re.compile(r"\[\w+ of [^\[\]\n]{1,100}\]")
"""An id told by where it comes from, as `made_ids` writes it."""
_FORMS = (
    (_ORIGIN, _whole),
    *((date, _date) for date in DATES),
    (_TIME, _time),
    (_ADDRESS, _address),
    (_VERSION, _version),
    (_ID, _id),
    (_FIGURE, _figure),
)
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 2)
} | {"twice": "2", "thrice": "3"}
_CAN_BE_SPELLED = frozenset(_NUMBER_WORDS.values())
_KINDS = {
    "usd": re.compile(r"(?:(?<![A-Za-z])|(?<=\bUS))\$(?=\s?\d)|\bUSD\b|\b(?i:dollars?)\b"),
    "eur": re.compile(r"\u20ac|\bEUR\b|\b(?i:euros?)\b"),
    "gbp": re.compile(r"\u00a3(?=\s?\d)|\bGBP\b"),
    "jpy": re.compile(r"\u00a5(?=\s?\d)|\bJPY\b|\b(?i:yen)\b"),
} | {
    day: re.compile(rf"\b{day}s?\b", re.IGNORECASE)
    for day in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
}
"""Currencies and days of the week, which may be left out too, but not exchanged."""
_LIST_NUMBER = re.compile(r"^\s*\d{1,2}[.)]\s", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_BEGINS_SENTENCE = re.compile(r"[.!?:;\u2022\n*\u2013\u2014(\"\u201c-]\s*$")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mx)\.\s$")
_DECIDES_NO = re.compile(
    r"\b(?:cannot|can't|can not|could not|couldn't|was not|wasn't|were not|unable to|won't|will not|not able to"
    r"|not eligible|not possible|not approved|ineligible|denied|declined?|rejected|refused)\b",
    re.IGNORECASE,
)
"""A letter that says no says the opposite, in whatever words."""
_TAG = re.compile(
    r"<(?:style|script)\b.*?</(?:style|script)>|</?[A-Za-z](?:[^<>]*?\b(?:href|src)=[\"']?([^\"'\s>]+))?[^<>]*>",
    re.DOTALL,
)
_TABLE_ROW = re.compile(r"^[ \t]*\|[^\n]+\|[ \t]*$", re.MULTILINE)
_BELOW_THE_HEAD = re.compile(r"[\s|:-]+")
_CODE = re.compile(r"[{}=<>|\\]|;\s*\n|\w\(\w*\)|\$[A-Za-z_{(]|^\s*(?:#!|//|/\*)|&&|(?:^|\s)--?[A-Za-z]")
_MESSAGE_KEYS = frozenset(
    {"answer", "body", "caption", "comment", "content", "description", "details", "explanation", "feedback", "greeting"}
    | {"html", "html_body", "message", "note", "notes", "reason", "reply", "subject", "summary", "text", "title"}
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON = _words("""
    a an and are as at be been by can do for from has have i if in is it me my no not of on or our please so thank that
    the this to us was we were will with you your
""")
_NO_NAMES = _words("""
    account agent am april assistant august best care customer dear december desk email eur faq february flight
    friday gbp hello hey hi january july june kind manager march may monday mr mrs ms november october ok order
    orders pm re regards saturday september service sincerely sunday support team thanks thursday tuesday usd
    wednesday yours
""")
