"""
The other ways to write a value: `1.049,50` for 1049.5, `12.5 %` for 0.125, `03.05.1990` for May 3, 1990, `7:40 am`.

One pattern finds all forms of a value in a text that `folded` has made plain, so a value that is looked for in every
step of a run is taken apart once. A date of another year, and a longer figure, are other values.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING

from agentdbg.analysis.text_facts import DATES, facts_in

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["folded", "is_figure", "is_rounded_from", "pattern_of"]

_LONGEST = 120
_SHORTEST_ID, _SHORTEST_PHONE = 4, 7
_LETTERS = str.maketrans({"ø": "o", "ß": "ss", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "\u0131": "i"})
_NUMBER = re.compile(
    r"""[^\w\s.,-]?\s* (?P<sign>-?)
        (?P<figure>\d{1,3}(?P<mark>[.,'_ ])\d{3}(?:(?P=mark)\d{3})*(?:[.,]\d+)?|\d+(?:[.,]\d+)?)
        \s*(?P<unit>%|[a-z]{3}|[^\w\s.,-])?""",
    re.IGNORECASE | re.VERBOSE,
)
_DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_YEAR_FIRST = re.compile(r"(\d{4})([./]?)(\d{2})\2(\d{2})")
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?(?:\s*([ap])\.?m\.?)?", re.IGNORECASE)
_PHONE = re.compile(r"\+?[\d\s()./-]{7,}")
_ID = re.compile(r"(?=.*\d)(?=.*[a-z])[a-z0-9]+(?:[-_ ./][a-z0-9]+)*", re.IGNORECASE)
_MONTHS = (
    "jan(?:uary|uar|vier|uari)?|enero|gennaio|janeiro",
    "feb(?:ruary|ruar|ruari)?|fevrier|febrero|febbraio|fevereiro",
    "mar(?:ch|s|zo|co)?|marz|maart",
    "apr(?:il|ile)?|avril|abril",
    "may|mai|mayo|maggio|maio|mei",
    "june?|juni|juin|junio|giugno|junho",
    "july?|juli|juillet|julio|luglio|julho",
    "aug(?:ust|ustus)?|aout|agosto",
    "sept?(?:ember)?|septembre|septiembre|settembre|setembro",
    "oct(?:ober|obre)?|okt(?:ober)?|octubre|ottobre|outubro",
    "nov(?:ember|embre)?|noviembre|novembro",
    "dec(?:ember|embre)?|dez(?:ember|embro)?|diciembre|dicembre",
)


@lru_cache(maxsize=2_048)
def folded(text: str) -> str:
    """A text in small letters without accents: `Østergård` as `ostergard`."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.lower())
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).translate(_LETTERS)


@lru_cache(maxsize=512)
def pattern_of(value: str) -> re.Pattern[str] | None:
    """What finds a value in a folded text, however it is written there; None for a value with one form only."""
    value = folded(value.strip())
    if not value or len(value) > _LONGEST:
        return None
    forms = [*_of_date(value), *_of_time(value), *_of_number(value), *_of_id(value)]
    if _number_in(value) is None:
        forms.append(rf"(?<!\w){re.escape(value)}(?!\w)")
    return re.compile("|".join(forms))


def is_figure(value: str) -> bool:
    """Whether a value is a figure, which is never a part of a longer one: `84` does not stand in `53.84`."""
    return _number_in(folded(value.strip())) is not None


def is_rounded_from(value: str, text: str) -> bool:
    """Whether a figure with decimals is one of a text's with fewer of them."""
    number = _number_in(folded(value.strip()))
    if number is None or (places := _decimals(number)) < 1:
        return False
    for fact in facts_in(text).hard:
        if "." in fact and (exact := _decimal(fact)) is not None and _decimals(exact) > places:
            step = Decimal(1).scaleb(-places)
            if number in (exact.quantize(step, ROUND_HALF_UP), exact.quantize(step, ROUND_HALF_EVEN)):
                return True
    return False


def _decimals(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _number_in(value: str) -> Decimal | None:
    found = _NUMBER.fullmatch(value)
    if found is None:
        return None
    figure = re.sub(r"['_ ]", "", found["figure"])
    last = max(figure.rfind("."), figure.rfind(","))
    if last >= 0:
        whole, part = figure[:last], figure[last + 1 :]
        is_thousands = len(part) == 3 and (figure[last] == "," or figure[last] in whole)
        figure = re.sub(r"[.,]", "", whole) + (part if is_thousands else f".{part}")
    return _decimal(f"{found['sign']}{figure}")


def _of_number(value: str) -> Iterator[str]:
    number = _number_in(value)
    if number is None:
        return
    is_share = value.endswith("%")
    if not is_share:
        yield _figure(number)
        if 0 < abs(number) < 1:
            yield _figure(number * 100, r"\s?%")
    else:
        yield _figure(number, r"\s?(?:%|percent)")
        yield _figure(number / 100)


def _figure(number: Decimal, after: str = "") -> str:
    whole, _, part = format(abs(number.normalize()), "f").partition(".")
    groups = f"{int(whole):,}".split(",")
    sign = "-" if number < 0 else ""
    english = "[,'_ \u00a0\u202f]?".join(groups) + (rf"\.{part}0*" if part else r"(?:\.0+)?")
    forms = [english if whole != "0" else f"(?:0)?{english[1:]}"]
    if part or len(groups) > 2:
        forms.append("[.'_ \u00a0\u202f]?".join(groups) + (f",{part}0*" if part else "(?:,0+)?"))
    return rf"(?<![\w.,]){sign}(?:{'|'.join(forms)}){after}(?!\w|[.,]\d)"


def _of_date(value: str) -> Iterator[str]:
    days: set[tuple[int, int, int]] = set()
    if found := _DAY_FIRST.fullmatch(value):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        days |= {(year, second, first), *([(year, first, second)] if found[2] != "." else [])}
    elif found := _YEAR_FIRST.fullmatch(value):
        days.add((int(found[1]), int(found[3]), int(found[4])))
    for pattern in DATES:
        if (found := pattern.fullmatch(value)) and found["year"]:
            month = found["month"]
            number = int(month) if month.isdigit() else _month_of(month)
            days.add((int(found["year"]), number, int(found["day"])))
    for year, month_, day in days:
        if 1 <= month_ <= 12 and 1 <= day <= 31:
            yield _any_date(year, month_, day)


def _month_of(word: str) -> int:
    return next((at for at, names in enumerate(_MONTHS, 1) if re.match(rf"(?:{names})", word)), 0)


def _any_date(year: int, month: int, day: int) -> str:
    short, name = f"(?:{year}|{year % 100:02d})", f"(?:{_MONTHS[month - 1]})\\.?"
    m, d = f"0?{month}", f"0?{day}"
    told = rf"(?:,? (?:de )?{year}\b|(?!,? (?:de )?(?:1[89]|20)\d\d))"
    forms = (
        *(rf"{year}-{m}-{d}", rf"{year}/{m}/{d}", f"{year}{month:02d}{day:02d}"),
        *(rf"{d}\.{m}\.{short}", rf"{d}[/-]{m}[/-]{short}", rf"{m}[/-]{d}[/-]{short}"),
        *(rf"{d}(?:st|nd|rd|th|\.|er)? (?:of |de )?{name}{told}", rf"{name} {d}(?:st|nd|rd|th)?{told}"),
    )
    return rf"(?<!\w)(?:{'|'.join(forms)})(?![\d])"


def _of_time(value: str) -> Iterator[str]:
    found = _TIME.fullmatch(value)
    if found is None:
        return
    hour, minute = int(found[1]), found[2]
    if found[3]:
        hour = hour % 12 + (12 if found[3] == "p" else 0)
    half = "a" if hour < 12 else "p"
    forms = [rf"{hour:02d}:{minute}", rf"0?{hour % 12 or 12}:{minute}(?::\d\d)?\s*{half}\.?m"]
    if hour < 10:
        forms.append(rf"{hour}:{minute}(?!(?::\d\d)?\s*p\.?m)")
    yield rf"(?<![\d:])(?:{'|'.join(forms)})(?!\d)"


def _of_id(value: str) -> Iterator[str]:
    signs = re.sub(r"[^a-z0-9]", "", value)
    if _PHONE.fullmatch(value) and len(signs) >= _SHORTEST_PHONE:
        yield r"(?<![\w.])" + r"[-_ ./()]*".join(signs) + r"(?![\w]|\.\d)"
    elif _ID.fullmatch(value) and len(signs) >= _SHORTEST_ID and len(re.sub(r"[^a-z]", "", value)) <= len(signs) // 2:
        yield r"(?<![a-z0-9])" + r"[-_ ./]?".join(signs) + r"(?![a-z0-9])"
