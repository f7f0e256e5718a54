"""
Decide from its key whether a value is a secret.

A key is read the way a person would read it: look-alike letters, invisible characters, case and the characters between
words do not hide a name. Some keys say it all (`password`); some only say that a value which looks random is one
(`OPENAI_KEY`, `GITHUB_PAT`). Keys that count tokens are told apart, because their numbers are what people want to see,
and so are cursors, which say where a list goes on.

Tell what a machine has drawn from what a person has written.

Names, paths, dates, versions and sentences are made of words and numbers, and most pairs of letters in a word are
common ones. In a key that was drawn at random few pairs are. Nothing here looks at the name beside a value.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from math import log2
from typing import TYPE_CHECKING, Final

from agentdbg.redaction.key_words import (
    PASSWORD_ENDS,
    counts_tokens,
    describes,
    is_no_password,
    names_a_key,
    says_nothing,
    turns_a_page,
)
from agentdbg.redaction.rules import KEYS_OF_OTHER_LANGUAGES, WHOLE_WORD_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "COUNTER",
    "DESCRIBING",
    "LEAST_RANDOM",
    "LEAST_TOLD",
    "LONGEST_CACHED_KEY",
    "RANDOM",
    "SAFE",
    "SECRET",
    "USERS_OWN",
    "KeyJudge",
    "is_chosen",
    "is_drawn",
    "is_told",
    "is_uuid",
    "letters_outside_words",
    "looks_random",
    "plain_spelling",
    "words_of",
]

# ruff: noqa: RUF001 -- letters that look alike are the subject here


SAFE: Final = 0
SECRET: Final = 1
"""Its value goes, unless there is none: null, booleans and empty values are what a missing secret looks like."""
COUNTER: Final = 2
"""A key that counts tokens: numbers stay, containers are walked, text goes."""
RANDOM: Final = 3
"""A key that is secret when its value looks random, as `OPENAI_KEY`, `signature` and `GITHUB_PAT` are."""
USERS_OWN: Final = 4
"""A key from the user's own list: its value goes, whatever it is."""

DESCRIBING: Final = 5
"""A key that speaks of a secret, as `token_type` and `password_file` do: only what nobody writes as a word goes."""

_CACHE_LIMIT = 8192
_LARGEST_SHAPE = 50
_MOST_SHAPES = 1_000
LONGEST_CACHED_KEY = 128
_LONGEST_NAME = 250
_LONGEST_SEARCHED = 100_000


class KeyJudge:
    """Knows which keys hide secrets; remembers what it was asked, within bounds."""

    __slots__ = ("_found", "_known", "_substrings", "counter_shapes", "counters", "safe", "safe_shapes")

    def __init__(self, keys: Iterable[str], *, are_users_own: bool = False) -> None:
        self._found: Final = USERS_OWN if are_users_own else SECRET
        self._substrings = tuple(dict.fromkeys(filter(None, (_squeeze(plain_spelling(key)) for key in keys))))
        self._known: dict[str, int] = {}
        self.safe: set[str] = set()
        """Keys already judged SAFE, for callers that cannot afford a call per key."""
        self.counters: set[str] = set()
        """Keys already judged COUNTER, for the same reason."""
        self.safe_shapes: set[tuple[str, ...]] = set()
        """Whole lists of keys, all of them SAFE."""
        self.counter_shapes: set[tuple[str, ...]] = set()
        """Whole lists of keys, each SAFE or COUNTER: harmless over numbers."""

    def judge(self, key: str) -> int:
        """SAFE, SECRET, COUNTER, RANDOM, DESCRIBING or USERS_OWN; `key` is a real `str`, not a subclass."""
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._look_at(key)
            if len(key) <= LONGEST_CACHED_KEY:
                self._remember(key, verdict)
        return verdict

    def hides(self, key: str, text: str) -> bool:
        """Whether a key takes this text away."""
        verdict = self.judge(key)
        if verdict == RANDOM:
            return looks_random(text) and not (is_uuid(text) and _is_just_a_key(key))
        if verdict == DESCRIBING:
            return looks_random(text) or is_told(text, _LEAST_TOLD_OF)
        return verdict == USERS_OWN or (verdict == SECRET and not says_nothing(text))

    def remember_shape(self, keys: tuple[str, ...]) -> None:
        """Note that these keys come together; each of them has been judged."""
        if len(keys) > _LARGEST_SHAPE or len(self.safe_shapes) + len(self.counter_shapes) >= _MOST_SHAPES:
            return
        if self.safe.issuperset(keys):
            self.safe_shapes.add(keys)
        elif (self.safe | self.counters).issuperset(keys):
            self.counter_shapes.add(keys)

    def _remember(self, key: str, verdict: int) -> None:
        if len(self._known) >= _CACHE_LIMIT:
            self._known.clear()
            self.safe.clear()
            self.counters.clear()
        self._known[key] = verdict
        if verdict == SAFE:
            self.safe.add(key)
        elif verdict == COUNTER:
            self.counters.add(key)

    def _look_at(self, key: str) -> int:
        if len(key) > _LONGEST_NAME:
            return self._look_at_long(key)
        readable = key if key.isascii() else plain_spelling(key)
        squeezed = _squeeze(readable)
        words = words_of(readable)
        for wanted in self._substrings:
            if wanted in squeezed:
                return self._look_at_found(words, squeezed)
        written = "" if key.isascii() else _as_written(key)
        if _holds_phrase(words, _PHRASES) or any(phrase in written for phrase in _PHRASES.written):
            return DESCRIBING if describes(words) else SECRET
        if _holds_phrase(words, _KEYS_ELSEWHERE) or any(phrase in written for phrase in _KEYS_ELSEWHERE.written):
            return RANDOM
        if not names_a_key(words):
            return SAFE
        is_password = words[-1] != "pass" and words[-1].endswith(PASSWORD_ENDS)  # `FAIL_TO_PASS` is none
        return DESCRIBING if is_password else RANDOM

    def _look_at_found(self, words: list[str], squeezed: str) -> int:
        if "token" in squeezed and not self._other_secret(squeezed):
            if counts_tokens(words, squeezed):
                return COUNTER
            if self._found == SECRET and turns_a_page(words, squeezed):
                return SAFE
        if self._found == SECRET and words[-2:] == ["key", "id"]:  # which one; `access_key_id` is half of a login
            return SECRET if "access" in words else RANDOM
        return DESCRIBING if self._found == SECRET and describes(words) else self._found

    def _look_at_long(self, key: str) -> int:
        """A text used as a key: too long to be read word by word, so its beginning is, and the rest is searched."""
        if len(key) > _LONGEST_SEARCHED:
            return SECRET
        squeezed = key.lower().replace("_", "").replace("-", "").replace(" ", "")
        if any(wanted in squeezed for wanted in self._substrings):
            return self._found
        return self._look_at(key[:_LONGEST_NAME])

    def _other_secret(self, squeezed: str) -> bool:
        """Whether the key is secret for a reason beside the word token, as in `secret_tokens`."""
        without = squeezed.replace("tokens", "").replace("token", "")
        return any(wanted in without for wanted in self._substrings)


def _holds_phrase(words: list[str], phrases: _Phrases) -> bool:
    if any(word.endswith(phrases.endings) for word in words):
        return True
    if phrases.beginnings.isdisjoint(words):
        return False
    count = len(words)
    for start in range(count):
        if words[start] == "pass" and is_no_password(words, start):
            continue
        for length in range(1, phrases.longest + 1):
            if start + length <= count and tuple(words[start : start + length]) in phrases.whole:
                return True
        if words[start] in phrases.fused:
            return True
    return False


def _is_just_a_key(key: str) -> bool:
    return _squeeze(key[:20]) in {"key", "keys"}


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+[a-z]?(?![a-z])|[0-9]+|[^\W\d_]+")
_TRAILING_PLURAL_CAPS = re.compile(r"(?<=[A-Z])s(?![a-z])")


def words_of(name: str) -> list[str]:
    """The words of a name, lower case: `accessKeyId`, `ACCESS_KEY_ID` and `access-key-id` give the same three."""
    return [word.lower() for word in _WORD.findall(_TRAILING_PLURAL_CAPS.sub("S", name))]


_BETWEEN_LETTERS = re.compile(r"[\W_]+")


def _squeeze(name: str) -> str:
    """Lower case letters and digits only."""
    return _BETWEEN_LETTERS.sub("", name).lower()


# Letters of other scripts that look like a Latin one, beside what NFKC folds (full width, mathematical …).
_LOOK_ALIKES = {
    ord(twin): latin
    for latin, twins in {
        "a": "аαɑ", "b": "вЬьβ", "c": "сϲⅽ", "d": "ԁđ", "e": "еєε", "g": "ɡց", "h": "һհħ", "i": "іιıɩ", "j": "јϳ",
        "k": "кκ", "l": "ӏłⅼ", "m": "м", "n": "ոηп", "o": "оοօøσ", "p": "рρ", "q": "ԛ", "r": "гᴦ", "s": "ѕտſ",
        "t": "тτ", "u": "υսц", "v": "νѵ", "w": "ԝωѡ", "x": "хχ", "y": "уүγ", "z": "ᴢ",
        "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "G": "Ԍ", "H": "НΗ", "I": "ІΙ", "J": "Ј", "K": "КΚ", "M": "МΜ",
        "N": "Ν", "O": "ОΟՕ", "P": "РΡ", "Q": "Ԛ", "S": "ЅՏ", "T": "ТΤ", "U": "Ս", "V": "Ѵ", "W": "Ԝ", "X": "ХΧ",
        "Y": "УΥҮ", "Z": "Ζ",
    }.items()
    for twin in twins
}  # fmt: skip
_MARKS = frozenset({"Mn", "Me", "Cf", "Cc", "Mc"})


def plain_spelling(name: str) -> str:
    """`name` as a person reads it: look-alikes turned Latin, accents and invisible characters gone."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name)).translate(_LOOK_ALIKES)
    return "".join(letter for letter in folded if unicodedata.category(letter) not in _MARKS)


def _as_written(name: str) -> str:
    """The words of a name, spaces around them, accents gone and look-alikes left: `парольАдмина`, `clé-api`."""
    folded = "".join(letter for letter in unicodedata.normalize("NFKD", name) if unicodedata.category(letter) != "Mn")
    apart = "".join(
        f" {letter}" if letter.isupper() and before.islower() else letter if letter.isalnum() else " "
        for before, letter in zip(" " + folded, folded, strict=False)
    )
    return f" {' '.join(apart.lower().split())} "


class _Phrases:
    """
    Names of one word or more, as they stand in a key: each in its words, or all of it in one.

    Many languages write several words as one, of which the last says what it is: `Zugangsschluessel`.
    """

    __slots__ = ("beginnings", "endings", "fused", "longest", "whole", "written")

    def __init__(self, names: Iterable[str]) -> None:
        names = tuple(names)
        self.whole = frozenset(tuple(words_of(plain_spelling(name))) for name in names)
        self.fused = frozenset(map("".join, self.whole))
        self.beginnings = self.fused.union(words[0] for words in self.whole)
        self.written = tuple(_as_written(name) for name in names)
        self.longest = max(map(len, self.whole))
        self.endings = tuple(word for word in self.fused if len(word) >= _LEAST_ENDING or word[0] > _LAST_OF_ALPHABETS)


_LEAST_ENDING = 6
_LAST_OF_ALPHABETS = "\u0e00"
"""Behind it come scripts that put no spaces between words."""
_PHRASES = _Phrases(WHOLE_WORD_KEYS)
_KEYS_ELSEWHERE = _Phrases(KEYS_OF_OTHER_LANGUAGES)

LEAST_RANDOM = 16
"""Shorter values are never taken for random ones."""

_LONGEST_LOOKED_AT = 200
_TOKEN = re.compile(r"[+/_\-.~:%!@#$^&*]{0,3}[A-Za-z0-9][A-Za-z0-9+/_\-.~:%!@#$^&*]{12,}={0,3}")
_HAS_ITS_OWN_SHAPE = re.compile(
    r"[a-z][a-z0-9+.\-]*://|arn:|urn:|data:|(?:~|\.{1,2})?/[a-z]+[/.]|[A-Za-z]:\\|\$[A-Za-z_{(]"
)
"""Addresses, names of cloud resources, paths, variables: what is secret in them is found in another way."""
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})")
_CACHE_TAG = "8a477f597d28d172789f06886806bc55"
"""The signature in every CACHEDIR.TAG."""
_SEGMENT = re.compile(r"[^\-_./:]+")
_RUN_OF_LETTERS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SHORT_WORD = 5
_LEAST_BITS = 2.7


def looks_random(value: str) -> bool:
    """Whether `value` has 16 characters or more, no spaces, and is not made of words and numbers."""
    shown = value.strip()[:_LONGEST_LOOKED_AT]
    if len(shown) < LEAST_RANDOM or not _TOKEN.fullmatch(shown) or _HAS_ITS_OWN_SHAPE.match(shown):
        return False
    if _UUID.fullmatch(shown):
        return True
    if shown == _CACHE_TAG:
        return False
    if _HEX.fullmatch(shown):
        return not shown.isdigit() and not shown.isalpha() and _bits_a_character(shown) >= _LEAST_BITS
    odd_letters = sum(letters_outside_words(segment) for segment in _SEGMENT.findall(shown))
    digits = sum(map(str.isdigit, shown))
    all_of_them = digits + sum(map(str.isalpha, shown))
    return (
        odd_letters >= max(5, all_of_them / 4)
        and 2 * (odd_letters + digits) >= all_of_them
        and _bits_a_character(shown) >= _LEAST_BITS
    )


LEAST_TOLD = 6
"""Shorter values are taken for words."""
_LEAST_TOLD_OF = 7
_CASE_CHANGE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_OWN_SHAPE = re.compile(
    r"[a-z][a-z0-9+.\-]*://|(?:~|\.{1,2})?/|[A-Za-z]:\\|arn:|urn:"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{5,15}(?:Z|[+-][0-9:]{4,5})?$"
)


def is_told(value: str, least: int = LEAST_TOLD) -> bool:
    """Whether a value is one that nobody would write as a word, a path or an address."""
    value = value[:_LONGEST_LOOKED_AT]  # a long one is asked about for every name in it
    if len(value) < least or " " in value or _OWN_SHAPE.match(value):
        return False
    has_letter = any(letter.isalpha() for letter in value)
    return has_letter and (
        any(letter.isdigit() for letter in value)
        or any(letter in "!@#$%^&*" for letter in value)
        or (_CASE_CHANGE.search(value) is not None and 3 * letters_outside_words(value) > len(value))
    )


_TWO_WORDS = re.compile(r"[a-z]{3,20}[\-_.+][a-z]{3,20}[\-_.+]?[0-9]{2,8}[!?]?|[a-z]{10,30}[0-9]{3,8}[!?]?")
_SCHEME = re.compile(
    r"[A-Za-z]{0,12}(?:SHA|sha|MD|md|HS|RS|ES|PS|AES|aes|RSA|UTF|utf|Argon|PBKDF|OAuth|RFC)[\w\-/]{0,16}"
    r"|[\w.+\-]{1,64}@[\w\-]{1,40}\.[\w.\-]{2,40}"
)
"""`Argon2id`, `me@example.com`."""


def is_chosen(value: str) -> bool:
    """Whether a person has made this as a password: digits beside capitals or signs, or behind two words."""
    if not is_told(value) or not any(map(str.isdigit, value)) or _SCHEME.fullmatch(value):
        return False
    has_sign = any(letter.isupper() or letter in "!@#$%^&*" for letter in value)
    return has_sign or _TWO_WORDS.fullmatch(value) is not None


_LEAST_DRAWN = 10


def is_drawn(word: str) -> bool:
    """Whether nobody would write this, nor name a thing by it."""
    if looks_random(word):
        return is_told(word) and not is_uuid(word)
    if len(word) < _LEAST_DRAWN or not word.isalnum():
        return False
    kinds = {letter.isdigit() * 2 + letter.isupper() for letter in word}
    if len(kinds) == 3:
        return 2 * sum(map(str.isdigit, word)) < len(word)
    return word.isalpha() and is_told(word)


def is_uuid(value: str) -> bool:
    """Whether a value is a UUID, which names a thing more often than it guards one."""
    return _UUID.fullmatch(value) is not None


def letters_outside_words(segment: str) -> int:
    """How many letters between two separators belong to no word."""
    if len(segment) <= _SHORT_WORD and segment.isalpha():
        return 0
    return sum(len(run) for run in _RUN_OF_LETTERS.findall(segment) if not _is_word(run.lower()))


def _is_word(letters: str) -> bool:
    pairs = len(letters) - 1
    if pairs < 2:
        return False
    common = sum(letters[place : place + 2] in _COMMON_PAIRS for place in range(pairs))
    return common * 10 >= pairs * 7


def _bits_a_character(text: str) -> float:
    """The entropy of a text's characters."""
    length = len(text)
    return -sum(count / length * log2(count / length) for count in Counter(text).values())


# The pairs of letters that make up nineteen of twenty in the words and names of programs.
_COMMON_PAIRS = frozenset(
    first + second
    for first, seconds in {
        "a": "bcdgijklmnprstuvwxy", "b": "aeijlorsuy", "c": "acehiklmorstu", "d": "adeilorstu",
        "e": "abcdefgilmnopqrstvwxy", "f": "aefilorstu", "g": "aehilnorsu", "h": "aeiort", "i": "abcdefglmnoprstvxz",
        "j": "aeou", "k": "eis", "l": "adeilopstuy", "m": "abeimopsu", "n": "acdefgijklnopstuv",
        "o": "abcdfgijklmnoprstuvw",
        "p": "aeiloprstuy", "q": "u", "r": "acdefgiklmnoprstuy", "s": "acehiklopstuy", "t": "acdefhilmnoprstuy",
        "u": "abcefilmnprst", "v": "aei", "w": "aeinors", "x": "eipt", "y": "npst", "z": "e",
    }.items()
    for second in seconds
)  # fmt: skip
