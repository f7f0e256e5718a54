"""
Sums in words: equations that do not come out, and figures that follow from others.

An equation counts only where it is plainly one: two or more figures with signs between them, an equals sign and one
figure, the same unit on both sides, and no parentheses, powers or percent. What rounding can explain is right.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Figures", "WrongSum", "follows_from", "wrong_sums"]

_LONGEST = 12_000
_MOST_FIGURES = 120
_LONGEST_LIST = 12
_HUNDRED = 100
_CENT = 0.006
_SLIP = 10
"""A zero too many is how amounts are mistyped; a hundred makes cents of them."""
_YEARS = range(1500, 2101)
_FEW = (*range(2, 13), 24, 60, 365)
_FIGURE = r"[$\u20ac\u00a3]?\s?(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?:\.\d{1,8})?"
_NO_UNIT = r"(?!(?:and|as|but|for|from|if|in|is|of|on|or|per|so|that|the|then|to|which|with|x)\b)"
_WITH_UNIT = rf"{_FIGURE}(?:\s?{_NO_UNIT}[a-z\u00b2\u00b3]{{1,12}}(?![\w^]))?"
_OPERATOR = r"\s*(?:\s[-\u2212\u2013]\s|[+*/\u00d7\u00f7\u00b7]|\sx\s)\s*"
_EQUATION = re.compile(
    rf"(?P<left>{_WITH_UNIT}(?:{_OPERATOR}{_WITH_UNIT}){{1,12}})"
    rf"\s*=(?!=)\s*(?P<right>{_FIGURE})(?:\s?(?P<unit>{_NO_UNIT}[a-z\u00b2\u00b3]{{1,12}})\b)?",
    re.IGNORECASE,
)
_TERM = re.compile(
    rf"(?P<sign>^|[-\u2212\u2013+*/\u00d7\u00f7\u00b7x])\s*(?P<figure>{_FIGURE})(?:\s?(?P<unit>{_NO_UNIT}[a-z\u00b2\u00b3]+))?",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:[\w.,#(\\:]|(?:[)\]}^*/+\u00d7\u00f7\u00b7%\u2212\u2013-]|\d\s?x|\b(?:of|by|sqrt|log|mod|percent))\s*)$"
)
_AFTER = re.compile(r"\s*(?:[(^%*/+\u00d7\u00f7\u00b7:\\]|[-\u2212\u2013]\s?\d|x\s?\d|[.,]\d|\.{3}|\u2026)|\w")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_DOUBTS = re.compile(
    r"\?|\b(?:not|never|wrong|incorrect\w*|mistake\w*|wait|instead|actually|false|correction|if|mod|remainder|base"
    r"|hex|binary|about|approximately|roughly|puzzle|suppose)\b|n['\u2019]t\b|\u2260|\u2248",
    re.IGNORECASE,
)
_OTHER_ARITHMETIC = re.compile(
    r"\b(?:boolean|bitwise|clock|congruen\w*|field of|javascript|mod(?:ulo|ular)?|o['\u2019]clock|puzzle|string"
    r"|typescript|xor)\b",
    re.IGNORECASE,
)
"""Where `1 + 1 = 1` and `10 + 5 = 3` are right."""
_DECIMAL_COMMA = re.compile(r"\d+,\d\d?")
_THOUSANDS = re.compile(r"\d{1,3}\.\d{3}(?!\d)")
"""`1.200` may be a thousand and two hundred."""
_SHARE = re.compile(r"(?<![\w.,])(\d[\d,]{0,14}(?:\.\d{1,8})?)\s?(?:%|percent)")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]{0,14}(?:\.\d{1,8})?(?!\w|\.\d)")


class WrongSum(NamedTuple):
    """An equation as it was written, and what it comes to."""

    said: str
    right: str


def wrong_sums(text: str, asked: str = "") -> Iterator[WrongSum]:
    """The equations of a text that do not come out; none where something else than plain arithmetic was asked for."""
    if "=" not in text or _OTHER_ARITHMETIC.search(asked) or _OTHER_ARITHMETIC.search(text[:_LONGEST]):
        return
    plain = _CODE.sub(" ", text[:_LONGEST]).replace(r"\times", "\u00d7").replace(r"\$", "$").replace("**", "")
    for found in _EQUATION.finditer(plain):
        begin = found.start() + len(found[0]) - len(found[0].lstrip())
        before, after = plain[:begin], plain[found.end() :]
        around = before.rpartition("\n")[2][-120:] + after.partition("\n")[0][:120]
        if _BEFORE.search(before[-12:]) or _AFTER.match(after[:12]) or _DOUBTS.search(around):
            continue
        if _THOUSANDS.search(found[0]):
            continue
        terms = list(_TERM.finditer(found["left"]))
        comes_to = _comes_to(terms, found["right"], found["unit"])
        if comes_to is not None:
            yield WrongSum(" ".join(found[0].split()), comes_to)


def _comes_to(terms: list[re.Match[str]], right: str, unit: str | None) -> str | None:
    """What a left side comes to, where that is not what stands on the right; None where it is, or nobody can say."""
    units = {term["unit"].lower() for term in terms if term["unit"]}
    is_sum = all(term["sign"] in ("", "+", *_MINUS) for term in terms)
    if is_sum and len(units | ({unit.lower()} if unit else set())) > 1:
        return None
    if (unit is None) != (not units) or (unit and unit.lower() not in units):
        return None
    figures = [_value(term["figure"]) for term in terms]
    value = _evaluated([term["sign"].lower() for term in terms], figures)
    if value is None:
        return None
    said = _value(right)
    if is_sum and all(figure in _YEARS for figure in figures) and abs(value - said) <= 1:
        return None  # years may be counted with both ends
    if abs(value - said) <= _tolerance([term["figure"] for term in terms], right, value, is_sum=is_sum):
        return None
    return f"{value:,.4f}".rstrip("0").rstrip(".")


_MINUS = ("-", "\u2212", "\u2013")


def _value(figure: str) -> float:
    return float(_in_english(figure.strip("$\u20ac\u00a3 ")).replace(",", ""))


def _in_english(figure: str) -> str:
    """`14,30` as `14.30`: a comma before one or two digits parts no thousands."""
    return figure.replace(",", ".") if _DECIMAL_COMMA.fullmatch(figure) else figure


def _evaluated(signs: list[str], figures: list[float]) -> float | None:
    parts: list[float] = []
    for sign, figure in zip(signs, figures, strict=True):
        if sign in ("", "+"):
            parts.append(figure)
        elif sign in _MINUS:
            parts.append(-figure)
        elif sign in ("/", "\u00f7"):
            if not figure:
                return None
            parts[-1] /= figure
        else:
            parts[-1] *= figure
    return sum(parts)


def _tolerance(figures: list[str], right: str, value: float, *, is_sum: bool) -> float:
    """How far off rounding may be: a whole last digit of what was stated, and half of one for each figure."""
    is_exact = not any("." in one for one in (*figures, right)) and value == int(value)
    allowed = _last_digit(right) if not is_exact or right.endswith("00") else 0.0
    if is_sum:
        return 1.01 * (allowed + sum(_last_digit(one) / 2 for one in figures if "." in one))
    share = sum(_last_digit(one) / 2 / max(_value(one), 1e-9) for one in figures if "." in one)
    return 1.01 * allowed + abs(value) * share


def _last_digit(figure: str) -> float:
    """The worth of the last digit that was given; `3,500` may be rounded to hundreds."""
    whole, _, part = _in_english(figure).partition(".")
    zeros = len(whole) - len(whole.rstrip("0"))
    return float(10 ** -len(part)) if part else 10**zeros / 2 if zeros > 1 else 1.0


class Figures:
    """The figures of what was given so far, and those of them that are shares of something."""

    def __init__(self) -> None:
        self._known: dict[float, None] = {}
        self._shares: dict[float, None] = {}

    def add(self, text: str) -> None:
        """Take another text."""
        if len(self._known) > _MOST_FIGURES:
            return
        plain = text[:_LONGEST]
        self._known |= dict.fromkeys(_value(one) for one in _NUMBER.findall(plain))
        shares = {_value(one) for one in _SHARE.findall(plain)} | {one for one in self._known if 0 < one < 1}
        self._shares |= dict.fromkeys(one / _HUNDRED if one > 1 else one for one in shares)

    def give(self, said: str, *, exactly: bool = False) -> bool:
        """
        Whether a figure is known or follows from what is; of very many figures nobody can tell.

        `exactly` is for what a program was given, which nobody rounds or tells in percent.
        """
        known = list(self._known)
        if len(known) > _MOST_FIGURES or follows_from(said, known, exactly=exactly):
            return True
        value, room = _value(said), _CENT if exactly else 0.51 * _last_digit(said)
        factors = [factor for share in self._shares for factor in (share, 1 + share, 1 - share) if factor > 0]
        in_order = sorted(known)
        return any(_is_between(in_order, (value - room) / one, (value + room) / one) for one in factors)


def follows_from(said: str, known: list[float], *, exactly: bool = False) -> bool:
    """Whether a figure is known, or comes of two that are, of one and a small number, or of a list of them."""
    value, room = _value(said), _CENT if exactly else 0.51 * _last_digit(said)
    low, high = value - room, value + room
    in_order = sorted(known)
    for few in (1, _HUNDRED, *(one for one in _FEW if one != _SLIP or not exactly)):
        if _is_between(in_order, low / few, high / few) or _is_between(in_order, low * few, high * few):
            return True
    pairs = (pair for one in known if one for pair in _others(one, low, high, exactly=exactly))
    return any(_is_between(in_order, *pair) for pair in pairs) or any(low <= total <= high for total in _runs_of(known))


def _is_between(in_order: list[float], low: float, high: float) -> bool:
    """Whether a sorted list has a figure within two bounds."""
    place = bisect_left(in_order, low)
    return place < len(in_order) and in_order[place] <= high


def _others(one: float, low: float, high: float, *, exactly: bool) -> Iterator[tuple[float, float]]:
    """Between which bounds another figure makes one between `low` and `high` together with this one."""
    yield low - one, high - one
    yield one - high, one - low
    yield one + low, one + high
    yield low / one, high / one
    if exactly:
        return
    yield low * one, high * one
    yield low * one / _HUNDRED, high * one / _HUNDRED
    if low > 0:
        yield one / high, one / low
        yield _HUNDRED * one / high, _HUNDRED * one / low
        yield _HUNDRED * one / (_HUNDRED + high), _HUNDRED * one / (_HUNDRED + low)
        if high < _HUNDRED:
            yield _HUNDRED * one / (_HUNDRED - low), _HUNDRED * one / (_HUNDRED - high)


def _runs_of(known: list[float]) -> Iterator[float]:
    """Sums and averages of figures that stand one after another."""
    begins = [0.0, *accumulate(known)]
    for first in range(len(known)):
        for last in range(first + 2, min(first + _LONGEST_LIST, len(known)) + 1):
            total = begins[last] - begins[first]
            yield total
            yield total / (last - first)
