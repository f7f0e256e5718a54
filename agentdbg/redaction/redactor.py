"""
One payload in, one payload out that is safe to write.

Most payloads need nothing done. `Redactor.seal` proves that first, cheaply, and then hands back the caller's own dict
with its encoding: plain types, known keys, sizes, and one pass over the encoded bytes for anything that could be a
secret. Whatever is not proved takes the careful walk. If that fails too, the value is dropped, not stored.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.events import REDACTED, TRUNCATED
from agentdbg.faults import pass_on
from agentdbg.redaction.kept import RememberedTexts
from agentdbg.redaction.keys import SAFE, KeyJudge
from agentdbg.redaction.patterns import compile_patterns
from agentdbg.redaction.picking import pick, without_gaps
from agentdbg.redaction.plain import Walk, readable_text
from agentdbg.redaction.proof import MOST_NODES, NO_LIMIT, TooLong, Unproved, prove, prove_types, prove_values
from agentdbg.redaction.sizes import MAX_ENCODED_BYTES, cut_string, cut_value, fit_fields, limits_of
from agentdbg.redaction.suspicion import Suspicion
from agentdbg.redaction.text import TextCleaner, clean_arguments, telling_words
from agentdbg.redaction.whole import MAY_NAME, WholeWalk, clean_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from agentdbg.redaction.rules import RedactionRules
    from agentdbg.redaction.whole import SecretNumbers

    _Made = TypeVar("_Made")

__all__ = ["UNREADABLE", "Redactor", "Sealed"]

UNREADABLE = f"{REDACTED} (could not be read)"
_LONGEST_REMEMBERED = 16_384
_MOST_REMEMBERED = 64
_MOST_NODES_OF_A_WHOLE = 200_000


class Sealed:
    """A payload that may be written: the plain value and its JSON."""

    __slots__ = ("encoded", "value")

    def __init__(self, value: dict[str, Any], encoded: bytes) -> None:
        self.value = value
        self.encoded = encoded


class Redactor:
    """What one run's rules mean, compiled once."""

    __slots__ = (
        "_clean_names",
        "_cleaner",
        "_harmless",
        "_judge",
        "_max_field_bytes",
        "_patterns",
        "_remembered",
        "_suspicion",
        "problems",
    )

    def __init__(self, rules: RedactionRules, *, use_re2: bool = True) -> None:
        self._max_field_bytes = max(rules.max_field_bytes, 2 * len(TRUNCATED))
        self._judge = KeyJudge(rules.keys, are_users_own=rules.keys_are_users_own) if rules.enabled else None
        self._patterns, self.problems = compile_patterns(rules.patterns, use_re2=use_re2)
        self._clean_names: set[str] = set()
        self._harmless: dict[int, bytes] = {}
        """The last encoded payload of each length in which there was nothing to suspect."""
        self._remembered = RememberedTexts()
        self._suspicion: Suspicion | None = None
        self._cleaner: TextCleaner | None = None
        if self._judge is not None:
            self._suspicion = Suspicion(*telling_words(rules.keys), use_re2=use_re2)
            if rules.values:
                self._cleaner = TextCleaner(self._judge, rules.keys, self._suspicion, self._patterns)

    def with_limit(self, max_field_bytes: int) -> Redactor:
        """The same rules with another limit, and what was compiled and learnt for them shared."""
        other = copy.copy(self)
        other._max_field_bytes = max(max_field_bytes, 2 * len(TRUNCATED))  # noqa: SLF001 -- a copy of our own
        return other

    def seal(self, fields: dict[str, Any], given: tuple[Any, ...] | None = None) -> Sealed:
        """
        `fields` redacted, JSON-safe and bounded in their size when encoded. Never raises.

        `given` are the values among them that came from outside, where the caller made all the rest and all the keys.
        """
        return Sealed(*self.seal_parts(fields, given))

    def seal_parts(self, fields: dict[str, Any], given: tuple[Any, ...] | None = None) -> tuple[dict[str, Any], bytes]:
        """The same as a bare pair, for the path that every event takes: making an object would add to it."""
        limit, judge = self._max_field_bytes, self._judge
        try:
            # Prove that nothing needs redacting, and encode the original.
            if judge is None:
                prove_types(fields, limit, 1, MOST_NODES)
            elif given is None:
                prove(fields, judge, limit, 1, MOST_NODES)
            else:
                prove_values(given, judge, limit, 1, MOST_NODES)
            encoded = encoding.encode(fields)
            size = len(encoded)
            fits = size <= limit or _all_fit(fields, limit)
            if size > (MAX_ENCODED_BYTES if fits else 2 * limit):
                raise TooLong
            # What goes round in a loop is looked at once. By its length, since hashing it would take longer.
            if self._suspicion is not None and self._harmless.get(size) != encoded:
                self._search(encoded)
                if size <= _LONGEST_REMEMBERED:
                    self._remember_harmless(size, encoded)
            if not fits:
                fields = self._fitted(dict(fields))
                encoded = encoding.encode(fields)
        except TooLong:
            return self._seal_large(fields)
        except Unproved:
            return self._seal_carefully(fields)
        except Exception as error:  # noqa: BLE001 -- every reason leads to the careful walk
            pass_on(error)
            return self._seal_carefully(fields)
        return fields, encoded

    def whole(
        self, plain: Any, encoded: bytes, numbers: SecretNumbers, *, key: str | None = None, seconds: float = 2.0
    ) -> Any:
        """
        Plain JSON without its secrets and never cut; the same object when there are none.

        `encoded` is the same as bytes, `key` what it stands under. Raises TooSlow when it takes longer than `seconds`
        of this thread's time; secrets get their numbers from `numbers`.
        """
        if self._judge is None:
            return plain
        if key is not None and self._judge.judge(key) != SAFE:
            return self._whole_walk(numbers, seconds).value_under(key, plain)
        try:
            if MAY_NAME.search(encoded):
                raise Unproved
            prove_values((plain,), self._judge, NO_LIMIT, 1, _MOST_NODES_OF_A_WHOLE)
            self._search(encoded)
        except Unproved:
            return self._whole_walk(numbers, seconds).value(plain)
        return plain

    def is_telling(self, key: str) -> bool:
        """Whether a key may say that what stands under it is secret."""
        return self._judge is not None and self._judge.judge(key) != SAFE

    def whole_pieces(self, docs: list[Any], numbers: SecretNumbers) -> list[Any]:
        """Plain JSON that came in pieces, without the secrets that are cut up between the pieces."""
        return docs if self._cleaner is None else clean_pieces(docs, self._cleaner, numbers)

    def _whole_walk(self, numbers: SecretNumbers, seconds: float) -> WholeWalk:
        return WholeWalk(self._judge, self._cleaner, numbers, seconds)

    def clean_text(self, text: Any, limit: int = 500) -> str:
        """Any value as redacted text of at most `limit` characters: for the names of runs, tools and models."""
        cleaned = _or_else(lambda: self._walk().text(text), lambda: UNREADABLE[:limit])
        return cleaned if len(cleaned) <= limit else cleaned[: max(0, limit - 1)] + "…"

    def clean_argv(self, argv: Sequence[Any]) -> list[str]:
        """The program's arguments, redacted in all the forms that arguments take."""
        return _or_else(lambda: self._cleaned_argv(argv), lambda: [UNREADABLE])

    def _cleaned_argv(self, argv: Sequence[Any]) -> list[str]:
        texts = [self.clean_text(argument, self._max_field_bytes) for argument in argv]
        if self._judge is None or (len(texts) == 1 and not _could_be_option(texts[0])):
            return texts
        return clean_arguments(texts, self._judge)

    def _walk(self) -> Walk:
        return Walk(
            self._judge,
            self._clean_remembered if self._cleaner else None,
            self._max_field_bytes,
            self._clean_names,
        )

    def _clean_remembered(self, text: str) -> str:
        assert self._cleaner is not None
        cleaned = self._remembered.find(text)
        if cleaned is None:
            cleaned = self._cleaner.clean(text)
            self._remembered.add(text, cleaned)
        return cleaned

    def _seal_large(self, fields: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The same where only a part can be kept, as of the history of a long talk: nothing but that part is read."""
        return _or_else(lambda: self._seal_picked(fields), lambda: self._seal_carefully(fields))

    def _seal_picked(self, fields: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        limit = self._max_field_bytes
        long: list[str] = []
        picked = {key: pick(value, limits_of(key, limit), long) for key, value in fields.items()}
        if self._judge is None:
            prove_types(picked, NO_LIMIT, 1, MOST_NODES)
        else:
            prove(picked, self._judge, NO_LIMIT, 1, MOST_NODES)
        if self._suspicion is not None:
            new = [text for text in long if self._remembered.find(text) is not text]
            is_mostly_known = sum(map(len, long)) - sum(map(len, new)) > limit
            self._search(encoding.encode(self._remembered.without_clean(picked) if is_mostly_known else picked))
            for text in new:
                self._remembered.add(text, text)
        return _encoded(self._fitted(picked))

    def _search(self, encoded: bytes) -> None:
        assert self._suspicion is not None
        # The user's patterns are written for text, not for its encoding, so with any of them every text is read.
        if self._patterns or self._suspicion.either.search(encoded):
            raise Unproved

    def _remember_harmless(self, size: int, encoded: bytes) -> None:
        self._harmless[size] = encoded
        if len(self._harmless) > _MOST_REMEMBERED:
            self._harmless.clear()

    def _seal_carefully(self, fields: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """By the careful walk; if that fails, one bad value costs only itself, and if that fails too, everything."""
        return _or_else(
            lambda: _encoded(self._fitted(self._walked(fields))),
            lambda: _or_else(
                lambda: _encoded(self._fitted(self._what_can_be_read(fields))),
                lambda: _encoded({REDACTED: UNREADABLE}),
            ),
        )

    def _walked(self, fields: dict[Any, Any]) -> dict[str, Any]:
        walk = self._walk()
        plain = walk.fields(fields)
        return (
            {key: without_gaps(value, self._max_field_bytes) for key, value in plain.items()} if walk.ran_out else plain
        )

    def _fitted(self, plain: dict[str, Any]) -> dict[str, Any]:
        limit = self._max_field_bytes
        for key, value in plain.items():
            limits = limits_of(key, limit)
            if isinstance(value, str):
                plain[key] = cut_string(value, limit, both_ends=limits.both_ends)
            elif isinstance(value, (dict, list)):
                plain[key] = cut_value(value, limit, limits)
        return plain if len(encoding.encode(plain)) <= MAX_ENCODED_BYTES else fit_fields(plain, MAX_ENCODED_BYTES)

    def _what_can_be_read(self, fields: Any) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key in list(dict.keys(fields))[:200]:
            kept.update(_or_else(partial(self._one_field, fields, key), partial(self._unread, key)))
        return kept

    def _one_field(self, fields: Any, key: Any) -> dict[str, Any]:
        return self._fitted(self._walked({key: dict.get(fields, key)}))

    def _unread(self, key: Any) -> dict[str, Any]:
        return {self.clean_text(readable_text(key) if type(key) is str else "?"): UNREADABLE}


def _or_else(make: Callable[[], _Made], otherwise: Callable[[], _Made]) -> _Made:
    """What `make` makes; what `otherwise` does where that fails, whatever the reason: nothing is stored unread."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 -- fail closed
        pass_on(error)
        return otherwise()


def _encoded(value: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    return value, encoding.encode(value)


def _could_be_option(argument: str) -> bool:
    return argument.startswith("-") or "=" in argument or ":" in argument


def _all_fit(fields: dict[str, Any], limit: int) -> bool:
    return all(_fits(value, limit) for value in fields.values())


def _fits(value: Any, limit: int) -> bool:
    if type(value) is str:
        return value.isascii() or len(value) * 4 <= limit or len(value.encode()) <= limit
    if not isinstance(value, (dict, list)):
        return True
    size = 2
    for child in value if isinstance(value, list) else value.items():  # a long history need not be encoded to its end
        size += len(encoding.encode(child))
        if size > limit:
            return len(encoding.encode(value)) <= limit
    return True
