"""
Two sequences and two texts: which elements are the same, which words went and came, whether only the wording differs.

Patience first: elements that occur once on each side, in the longest run that keeps their order, are anchors. Between
two anchors the same is tried again. Where there are none, both sides are walked to where they meet again, within a
window, so the work grows with the length and not with its square.

Models never say a thing twice in the same words, so other words alone mean little. Figures, dates and codes in a text
are facts; where each text has some that the other lacks, they say different things.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import filterfalse, pairwise
from operator import lt
from typing import TYPE_CHECKING, Literal

from agentdbg.events import TRUNCATED
from agentdbg.loops.volatile import strip_volatile

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterator, Sequence

__all__ = [
    "Gap",
    "Pair",
    "Segment",
    "between",
    "common_pairs",
    "has_digit",
    "is_prose",
    "longest_increasing",
    "other_wording",
    "same_but_for_cuts",
    "word_segments",
]

Pair = tuple[int, int]
Gap = tuple[int, int, int, int]
"""A stretch of both sequences: where it begins and ends in the first, and in the second."""

_WINDOW = 40
"""How far apart the sides may be when a long stretch without anchors meets again."""


def common_pairs(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[Pair]:
    """Positions of equal elements, increasing on both sides."""
    pairs: list[Pair] = []
    waiting = [(0, len(left), 0, len(right))]
    while waiting:
        begin, end, begin_right, end_right = waiting.pop()
        while begin < end and begin_right < end_right and left[begin] == right[begin_right]:
            pairs.append((begin, begin_right))
            begin, begin_right = begin + 1, begin_right + 1
        while begin < end and begin_right < end_right and left[end - 1] == right[end_right - 1]:
            end, end_right = end - 1, end_right - 1
            pairs.append((end, end_right))
        # Most of what is left has nothing in common, which is quickly seen.
        common = set(left[begin:end]).intersection(right[begin_right:end_right])
        if not common:
            continue
        places = _places_of_single(left, common, begin, end)
        anchors = _anchors(places, _places_of_single(right, places, begin_right, end_right))
        if not anchors:
            pairs += _meetings(left, right, begin, end, begin_right, end_right)
            continue
        pairs += anchors
        waiting += between(anchors, begin, end, begin_right, end_right)
    pairs.sort()
    return pairs


def between(pairs: Sequence[Pair], begin: int, end: int, begin_right: int, end_right: int) -> list[Gap]:
    """The stretches between pairs in which both sides have something."""
    edges = [(begin - 1, begin_right - 1), *pairs, (end, end_right)]
    return [
        (before[0] + 1, after[0], before[1] + 1, after[1])
        for before, after in pairwise(edges)
        if after[0] - before[0] > 1 and after[1] - before[1] > 1
    ]


def _places_of_single(
    elements: Sequence[Hashable], wanted: Container[Hashable], begin: int, end: int
) -> dict[Hashable, int]:
    """Where those of the wanted elements are that occur once, in their order."""
    places: dict[Hashable, int] = {}
    repeated: set[Hashable] = set()
    for place in range(begin, end):
        element = elements[place]
        if element in wanted:
            if element in places:
                repeated.add(element)
            places[element] = place
    for element in repeated:
        del places[element]
    return places


def _anchors(places: dict[Hashable, int], places_right: dict[Hashable, int]) -> list[Pair]:
    """Elements that occur once on each side, as many as keep their order."""
    both = [(place, places_right[element]) for element, place in places.items() if element in places_right]
    kept = longest_increasing([place_right for _, place_right in both])
    return both if len(kept) == len(both) else [both[position] for position in kept]


def _meetings(
    left: Sequence[Hashable], right: Sequence[Hashable], begin: int, end: int, begin_right: int, end_right: int
) -> list[Pair]:
    """Without anchors: walk both sides, and after a difference go on where they meet again soonest."""
    pairs: list[Pair] = []
    while begin < end and begin_right < end_right:
        if left[begin] == right[begin_right]:
            pairs.append((begin, begin_right))
            begin, begin_right = begin + 1, begin_right + 1
            continue
        meeting = _next_meeting(left, right, begin, end, begin_right, end_right)
        if meeting is None:
            begin, begin_right = begin + _WINDOW, begin_right + _WINDOW
        else:
            begin, begin_right = meeting
    return pairs


def _next_meeting(
    left: Sequence[Hashable], right: Sequence[Hashable], begin: int, end: int, begin_right: int, end_right: int
) -> Pair | None:
    seen: dict[Hashable, int] = {}
    for place_right in range(min(begin_right + _WINDOW, end_right) - 1, begin_right - 1, -1):
        seen[right[place_right]] = place_right
    best: Pair | None = None
    for place in range(begin, min(begin + _WINDOW, end)):
        place_right = seen.get(left[place], -1)
        if place_right >= 0 and (best is None or place + place_right < sum(best)):
            best = (place, place_right)
    return best


def longest_increasing(numbers: Sequence[int]) -> list[int]:
    """The positions of a longest run of growing numbers."""
    if all(map(lt, numbers, numbers[1:])):  # as nearly always
        return list(range(len(numbers)))
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for position, number in enumerate(numbers):
        length = bisect_left(tails, number)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [position]
    run: list[int] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        run.append(at)
        at = before[at]
    return run[::-1]


Segment = tuple[Literal["same", "was", "now"], str]
"""A stretch of text, and whether both texts have it."""

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SENTENCE = re.compile(r" [A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2}")
"""Three words in a row, which is all that prose needs; a pattern that begins with a plain sign is quicker."""
_LETTERS = bytes(code if chr(code).isalpha() else ord(" ") for code in range(128)).ljust(256)
"""The signs of an ASCII text, with a space for all but letters."""
_SIGNS = bytes(ord(" " if chr(code).isspace() else "0" if chr(code).isdigit() else "x") for code in range(256))
"""The signs of an ASCII text: white space, a digit, or another."""
_DIGIT = re.compile(r"\d")
_FACT = re.compile(r"(?!\d{1,2}[.)]\Z)\D*\d")
"""A word with a digit in it, but not the number of a list."""
_AROUND = ".,;:!?()[]{}<>\"'`*_$€£%#=~“”‘’-"  # noqa: RUF001
_PROSE_WORDS = 3
_MOST_TOKENS = 4_000
_LOOKED_AT = 4_000
_LONGEST = 100_000
_LONGEST_LIST_NUMBER = 3
_SHORTEST_ID = 10
_SHORT = 256
"""It takes no longer to look for ids and clocks in a text of this length than to find out that there is no need to."""
_BEFORE, _AFTER = 20, 12
"""How much is looked at around a place: any word that stands in a sentence."""


def other_wording(was: str, now: str) -> bool | None:
    """
    Whether two different texts are prose and contradict each other in no fact; None if they say the same.

    They say the same if they differ only in clocks and ids, or only because one was cut when it was stored.
    """
    if not was or not now:
        return False
    # Looking for one sign is much quicker than for a word, and most texts have none.
    if ("_" in was and TRUNCATED in was) or ("_" in now and TRUNCATED in now):
        if same_but_for_cuts(was, now):
            return None
    # Without a digit there is neither an id nor a clock nor a fact in a text, as in most.
    elif not has_digit(was) or not has_digit(now):
        return is_prose(was) and is_prose(now)
    elif _are_same_but_for_ids(was, now):
        return None
    return is_prose(was) and is_prose(now) and not _contradict(was, now)


def same_but_for_cuts(was: str, now: str) -> bool:
    """Whether two texts of which not all was stored are the same as far as can be seen."""
    head, _, tail = was.partition(TRUNCATED)
    head_now, _, tail_now = now.partition(TRUNCATED)
    head, head_now = head.rstrip(), head_now.rstrip()
    if not head.startswith(head_now) and not head_now.startswith(head):
        return False
    # Of a text that is whole, the end is its own; one that was cut at its end says nothing about it.
    tail = tail.rstrip() if TRUNCATED in was else head
    tail_now = tail_now.rstrip() if TRUNCATED in now else head_now
    return tail.endswith(tail_now) or tail_now.endswith(tail)


def has_digit(text: str) -> bool:
    """Whether there is a digit anywhere; asking for each of ten is much quicker than a pattern, or a loop."""
    if "1" in text or "2" in text or "0" in text or "3" in text or "5" in text:
        return True
    if "4" in text or "6" in text or "7" in text or "8" in text or "9" in text:
        return True
    return not text.isascii() and _DIGIT.search(text) is not None


def is_prose(text: str) -> bool:
    """Whether a text is a sentence rather than a value: at least three words."""
    if _SENTENCE.search(text, 0, 60):  # as most have it; a value is looked at for longer
        return True
    head = text[:400]
    return " " in head and _count_words(head) >= _PROSE_WORDS


def _count_words(text: str) -> int:
    if not text.isascii():
        return len(_WORD.findall(text))
    # The same, and several times quicker than a pattern.
    lengths = [*map(len, text.encode().translate(_LETTERS).split())]
    return len(lengths) - lengths.count(1)


def _are_same_but_for_ids(was: str, now: str) -> bool:
    """Whether only clocks and ids differ; that they do not is most often seen without looking for any."""
    if _begin_otherwise(was, now) or len(was) > _LONGEST or len(now) > _LONGEST:
        return False
    # A `<>` stands for each that was stripped, so both must have some; but fields of a table go without a trace.
    leaves_trace = was[0] != "{" and not _has_trace(was) and not _has_trace(now)
    if leaves_trace and len(was) > _SHORT and _part_in_lasting_words(was, now):
        return False
    was_bytes, now_bytes = was.encode("utf-8", "replace"), now.encode("utf-8", "replace")
    stripped = strip_volatile(was_bytes)
    if leaves_trace and stripped == was_bytes:
        return False
    return stripped == strip_volatile(now_bytes)


def _begin_otherwise(was: str, now: str) -> bool:
    """Whether both begin with another word or code, each too short to be an id or a clock, or only one is a table."""
    word, word_now = was[:_SHORTEST_ID].partition(" ")[0], now[:_SHORTEST_ID].partition(" ")[0]
    are_short = len(word) < _SHORTEST_ID and len(word_now) < _SHORTEST_ID
    if are_short and word != word_now and word.isalnum() and word_now.isalnum():
        return True
    return (was[0] == "{") is not (now[0] == "{")


def _has_trace(text: str) -> bool:
    return "<" in text and "<>" in text


def _part_in_lasting_words(was: str, now: str) -> bool:
    """
    Whether there is surely no id and no clock where two texts part, which is far less to look at than both texts.

    If ids and clocks were all that differs, the first difference would be in one of them or right behind it.
    """
    at = _first_difference(was, now)
    return _is_lasting_at(was, at) and _is_lasting_at(now, at)


def _is_lasting_at(text: str, at: int) -> bool:
    before = text[at - _BEFORE : at] if at > _BEFORE else text[:at]
    after = text[at : at + _AFTER]
    left, space, begun = before.rpartition(" ")
    rest, space_after, _ = after.partition(" ")
    word = begun + rest
    is_whole = (space or at <= _BEFORE) and (space_after or len(after) < _AFTER)
    # Behind a digit it may be a unit: `1.5 s`. Half of a pair of surrogates is taken for any other.
    if not is_whole or left[-1:].isdigit() or not word.isascii():
        return False
    if len(word) < _SHORTEST_ID and word.isalnum():
        return "0x" not in word
    return "-" not in word and not has_digit(word)


def _first_difference(was: str, now: str) -> int:
    """Where two texts part, of which the shorter may be how the other begins."""
    begin, end = 0, 16
    while end < len(was) and was[begin:end] == now[begin:end]:
        begin, end = end, 4 * end
    while end - begin > 1:
        middle = (begin + end) // 2
        if was[begin:middle] == now[begin:middle]:
            begin = middle
        else:
            end = middle
    return begin


def _contradict(was: str, now: str) -> bool:
    """Whether each text has a fact that the other lacks."""
    if len(was) > _LOOKED_AT or len(now) > _LOOKED_AT:
        was, now = was[:_LOOKED_AT], now[:_LOOKED_AT]
        if not has_digit(was) or not has_digit(now):
            return False
    facts, facts_now = _facts(was), _facts(now)
    found: set[str] = set()
    found_now: set[str] = set()
    if _has_own(facts, found, now) and _has_own(facts_now, found_now, was):
        return True
    found.update(facts)
    found_now.update(facts_now)
    return not (found <= found_now or found_now <= found)


def _has_own(facts: Iterator[str], found: set[str], other: str) -> bool:
    """Whether a fact is found that is nowhere in the other text, as most often the first; the rest is left."""
    other = other.replace(",", "")
    for fact in facts:
        found.add(fact)
        if fact not in other:
            return True
    return False


def _facts(text: str) -> Iterator[str]:
    """Numbers, dates, codes like HAT172 or M05KNL; not the numbers of a numbered list."""
    if not text.isascii():
        yield from map(_plain, filter(_FACT.match, filterfalse(str.isalpha, text.split())))
        return
    # The words are found around their digits: cutting a text into all its words takes far longer.
    signs = text.encode().translate(_SIGNS)
    at = signs.find(b"0")
    while at >= 0:
        end = signs.find(b" ", at)
        if end < 0:
            end = len(signs)
        word = text[signs.rfind(b" ", 0, at) + 1 : end]
        if end - at > _LONGEST_LIST_NUMBER or _FACT.match(word):
            yield _plain(word)
        at = signs.find(b"0", end)


def _plain(word: str) -> str:
    """A fact without what may stand around it, and without commas."""
    if not word.isalnum():
        if "'" in word:
            word = word.partition("'")[0]
        word = word.strip(_AROUND).replace(",", "")
    return word.lstrip("0")


def word_segments(was: str, now: str) -> list[Segment]:
    """Both texts as one: what they share, what went, what came. Joining `same` and `was` gives the first text."""
    left, right = _TOKEN.findall(was), _TOKEN.findall(now)
    if len(left) + len(right) > 2 * _MOST_TOKENS:
        return [("was", was), ("now", now)]
    segments: list[Segment] = []
    at_left = at_right = 0
    for match_left, match_right in [*common_pairs(left, right), (len(left), len(right))]:
        _put(segments, "was", left[at_left:match_left])
        _put(segments, "now", right[at_right:match_right])
        if match_left < len(left):
            _put(segments, "same", [left[match_left]])
        at_left, at_right = match_left + 1, match_right + 1
    return segments


def _put(segments: list[Segment], kind: Literal["same", "was", "now"], tokens: list[str]) -> None:
    text = "".join(tokens)
    if not text:
        return
    if segments and segments[-1][0] == kind:
        segments[-1] = (kind, segments[-1][1] + text)
    else:
        segments.append((kind, text))
