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
from agentdbg.interruptions import is_not_ours
from agentdbg.redaction.kept import RememberedTexts
from agentdbg.redaction.keys import SAFE, KeyJudge
from agentdbg.redaction.message_items import MessageItems
from agentdbg.redaction.patterns import compile_patterns
from agentdbg.redaction.picking import Limits, pick, without_gaps
from agentdbg.redaction.plain import Walk, readable_text
from agentdbg.redaction.proof import (
    MOST_NODES,
    NO_LIMIT,
    TooLong,
    Unproved,
    holds_messages,
    prove,
    prove_types,
    prove_values,
)
from agentdbg.redaction.sealed_items import (
    ItemMemory,
    SealedItem,
    SealedList,
    SealedValue,
    texts_in,
    unsealed,
)
from agentdbg.redaction.sizes import (
    MAX_ENCODED_BYTES,
    all_fit,
    cut_string,
    cut_value,
    ends_in,
    fit_fields,
    limits_of,
    sealed_fit,
)
from agentdbg.redaction.suspicion import IN_ONE_TEXT, Suspicion
from agentdbg.redaction.text import TextCleaner, clean_arguments, marked, replace_spans, telling_words
from agentdbg.redaction.whole import MAY_NAME, Unnumbered, WholeWalk, clean_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from agentdbg.redaction.rules import RedactionRules
    from agentdbg.redaction.whole import SecretNumbers

    _Made = TypeVar("_Made")

__all__ = ["UNREADABLE", "Redactor", "Sealed"]

UNREADABLE = f"{REDACTED} (could not be read)"
_HOLDERS = frozenset({dict, list})
_DONE_WITH = frozenset({SealedList, SealedValue, type(None)})
_LEAST_SHAPED = 20
"""No text that is shorter holds a secret which is found in one text alone."""
_DEEPEST_MESSAGE = 5
"""The depth in which each message is proved, so that what is harmless in one place is so in the others."""
_MOST_NODES_OF_A_WHOLE = 200_000

_MOST_OF_ITEMS = 1_000_000
"""Bytes of what a generator yielded that are read for secrets cut up between its items."""


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
        "_items",
        "_judge",
        "_patterns",
        "_remembered",
        "_suspicion",
        "max_field_bytes",
        "problems",
    )

    def __init__(self, rules: RedactionRules, *, use_re2: bool = True) -> None:
        self.max_field_bytes = max(rules.max_field_bytes, 2 * len(TRUNCATED))
        self._judge = KeyJudge(rules.keys, are_users_own=rules.keys_are_users_own) if rules.enabled else None
        self._patterns, self.problems = compile_patterns(rules.patterns, use_re2=use_re2)
        self._clean_names: set[str] = set()
        self._items: dict[Any, ItemMemory] = {}
        """What became of each message: in each place that it may stand in, and under None what is harmless anywhere."""
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
        other.max_field_bytes = max(max_field_bytes, 2 * len(TRUNCATED))
        return other

    def seal(self, fields: dict[str, Any], given: tuple[Any, ...] | None = None) -> Sealed:
        """
        `fields` redacted, JSON-safe and bounded in their size when encoded. Never raises.

        `given` are the values among them that came from outside, where the caller made all the rest and all the keys.
        """
        return Sealed(*self.seal_parts(fields, given))

    def seal_parts(self, fields: dict[str, Any], given: tuple[Any, ...] | None = None) -> tuple[dict[str, Any], bytes]:
        """The same as a bare pair, for the path that every event takes: making an object would add to it."""
        is_spliced = False
        for value in given if given is not None else fields.values() if type(fields) is dict else ():
            if type(value) is SealedValue:
                is_spliced = True
            elif holds_messages(value):
                return _or_else(
                    partial(self._seal_history, fields, given),
                    partial(self._seal_plainly, fields, given, is_spliced=True),
                )
        return self._seal_plainly(fields, given, is_spliced=is_spliced)

    def seal_input(self, field: str, value: Any, short: Redactor) -> tuple[SealedValue, bytes] | None:
        """
        What a call is made with, sealed once: for its event, and cut shorter as the JSON that tells of its start.

        None when that fails; then each of the two is sealed by itself.
        """
        return _or_else(lambda: self._seal_field(field, value, short), _nothing)

    def seal_output(self, field: str, value: Any) -> SealedValue | None:
        """What came of a call, sealed once for its event and its tape; None when that fails."""
        return _or_else(lambda: self._seal_output(field, value), _nothing)

    def _seal_output(self, field: str, value: Any) -> SealedValue:
        items = MessageItems(self, self._items)
        known = items.alone(value, limits_of(field, self.max_field_bytes)) if type(value) is dict else None
        return known or self._seal_field(field, value, self)[0]

    def _seal_field(self, field: str, value: Any, short: Redactor) -> tuple[SealedValue, bytes]:
        is_history, items = holds_messages(value), MessageItems(self, self._items)
        if is_history:
            value = items.sealed_in(value, 1, limits_of(field, self.max_field_bytes))
        cleaned: dict[str, Any] = {field: value}
        if type(value) is SealedList:
            encoded = b'{"%b":%b}' % (field.encode(), value.encoded) if value.size <= self.max_field_bytes else None
        else:
            cleaned, encoded = self._cleaned(cleaned, (value,), is_spliced=is_history)
        plain, is_harmless = cleaned, encoded is not None and not is_history
        if encoded is None:
            plain, encoded = self._fitted(cleaned.copy())
        before = len(field) + 4  # `{"…":`
        shown = kept = encoded[before:-1]
        if len(kept) > short.max_field_bytes:
            ends = ends_in(cleaned[field], limits_of(field, short.max_field_bytes))
            shown = short._fitted({field: ends})[1][before:-1]
        stored = unsealed(plain[field])
        if type(stored) is not str and type(plain[field]) is not SealedList:  # its owner may change it meanwhile
            stored = encoding.decode_json(kept)
        return SealedValue(stored, kept, is_harmless=is_harmless, raws=items.raws), shown

    def _seal_history(self, fields: dict[str, Any], given: tuple[Any, ...] | None) -> tuple[dict[str, Any], bytes]:
        """The same with each message of a conversation sealed by itself, and only once however often it comes."""
        items = MessageItems(self, self._items)
        sealed = fields.copy()
        given_ids = frozenset(map(id, given or ()))
        for key, value in fields.items():
            if type(value) not in _HOLDERS:
                continue
            if holds_messages(value):
                sealed[key] = items.sealed_in(value, 1, limits_of(key, self.max_field_bytes))
            elif type(value) is dict and id(value) in given_ids:  # an answer, which is a message of the next call
                sealed[key] = items.alone(value, limits_of(key, self.max_field_bytes)) or value
        if given is not None:
            changed = {id(fields[key]): value for key, value in sealed.items() if value is not fields[key]}
            given = tuple([changed.get(id(value), value) for value in given])
        return self._seal_plainly(sealed, given, is_spliced=True)

    def _seal_plainly(
        self, fields: dict[str, Any], given: tuple[Any, ...] | None, *, is_spliced: bool = False
    ) -> tuple[dict[str, Any], bytes]:
        try:
            cleaned, encoded = self._cleaned(fields, given, is_spliced=is_spliced)
            if encoded is None:
                cleaned, encoded = self._fitted(cleaned.copy())
        except Exception as error:  # every reason leads to the careful walk
            if is_not_ours(error):
                raise
            cleaned, encoded = self._seal_carefully(fields)
        return ({key: unsealed(value) for key, value in cleaned.items()} if is_spliced else cleaned), encoded

    def _cleaned(
        self, fields: dict[str, Any], given: tuple[Any, ...] | None, *, is_spliced: bool
    ) -> tuple[dict[str, Any], bytes | None]:
        """`fields` without their secrets, and their JSON where nothing has to be cut."""
        limit, judge = self.max_field_bytes, self._judge
        if is_spliced and given is not None and _DONE_WITH.issuperset(map(type, given)):  # the rest was made here
            encoded = encoding.encode(fields)
            fits = len(encoded) <= limit or (len(encoded) <= MAX_ENCODED_BYTES and sealed_fit(fields, limit))
            return fields, encoded if fits else None
        try:
            # Prove that nothing needs redacting, and encode the original.
            if judge is None:
                prove_types(fields, limit, 1, MOST_NODES)
            elif given is None:
                prove(fields, judge, limit, 1, MOST_NODES)
            else:
                prove_values(given, judge, limit, 1, MOST_NODES)
            encoded = encoding.encode_without_spliced(fields) if is_spliced else encoding.encode(fields)
            size = len(encoded)
            fits = size <= limit or all_fit(fields, limit)
            if size > (MAX_ENCODED_BYTES if fits else 2 * limit):
                raise TooLong
            self._search(encoded, fields)
        except TooLong:
            return _or_else(partial(self._picked, fields), partial(self._walked, fields)), None
        except Unproved:
            return self._walked(fields), None
        except Exception as error:  # every reason leads to the careful walk
            if is_not_ours(error):
                raise
            return self._walked(fields), None
        if not fits:
            return fields, None
        if is_spliced:
            encoded = encoding.encode(fields)
            fits = len(encoded) <= limit or (len(encoded) <= MAX_ENCODED_BYTES and sealed_fit(fields, limit))
        return fields, encoded if fits else None

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
            self._search(encoded, plain)
        except Unproved:
            return self._whole_walk(numbers, seconds).value(plain)
        return plain

    def harmless(self, raw: bytes) -> SealedItem | None:
        """What is known of a message by these bytes, if it was sealed before and nothing had to be done to it."""
        memory = self._items.get(None)
        return None if memory is None else memory.find(raw)

    def is_telling(self, key: str) -> bool:
        """Whether a key may say that what stands under it is secret."""
        return self._judge is not None and self._judge.judge(key) != SAFE

    def clean_items(self, items: list[Any]) -> list[Any]:
        """What a generator yielded, as plain JSON and without the secrets that are cut up between its items."""
        cleaner = self._cleaner
        if cleaner is None:
            return items

        def cleaned() -> list[Any]:
            plain = Walk(None, None, _MOST_OF_ITEMS, set()).fields({"items": items})["items"]
            return clean_pieces(plain, cleaner, Unnumbered()) if type(plain) is list else [plain]

        return _or_else(cleaned, lambda: [UNREADABLE])

    def whole_pieces(self, docs: list[Any], numbers: SecretNumbers) -> list[Any]:
        """Plain JSON that came in pieces, without the secrets that are cut up between the pieces."""
        return docs if self._cleaner is None else clean_pieces(docs, self._cleaner, numbers)

    def _whole_walk(self, numbers: SecretNumbers, seconds: float) -> WholeWalk:
        return WholeWalk(self._judge, self._cleaner, numbers, seconds, self._remembered)

    def clean_text(self, text: Any, limit: int = 500) -> str:
        """Any value as redacted text of at most `limit` characters: for the names of runs, tools and models."""
        cleaned = _or_else(lambda: self.walk().text(text), lambda: UNREADABLE[:limit])
        return cleaned if len(cleaned) <= limit else cleaned[: max(0, limit - 1)] + "…"

    def clean_argv(self, argv: Sequence[Any]) -> list[str]:
        """The program's arguments, redacted in all the forms that arguments take."""
        return _or_else(lambda: self._cleaned_argv(argv), lambda: [UNREADABLE])

    def _cleaned_argv(self, argv: Sequence[Any]) -> list[str]:
        texts = [self.clean_text(argument, self.max_field_bytes) for argument in argv]
        if self._judge is None or (len(texts) == 1 and not _could_be_option(texts[0])):
            return texts
        return clean_arguments(texts, self._judge)

    def prove_item(self, item: Any, limits: Limits) -> SealedItem | None:
        """A message that needs nothing done, or of which only a part is worth looking at; None: it must be walked."""
        is_long = False
        try:
            encoded = self._proved(item, limits.max_bytes)
            if len(encoded) <= 2 * limits.max_bytes:
                return SealedItem(item, encoded, is_harmless=True)
            is_long = True
        except TooLong:
            is_long = True
        except Unproved:
            is_long = False
        except Exception as error:  # every reason leads to the careful walk
            if is_not_ours(error):
                raise
        return _or_else(partial(self._picked_item, item, limits), _nothing) if is_long else None

    def _picked_item(self, item: Any, limits: Limits) -> SealedItem:
        picked = pick(item, limits, [])
        return SealedItem(picked, self._proved(picked, NO_LIMIT))

    def _proved(self, item: Any, limit: int) -> bytes:
        if self._judge is None:
            prove_types(item, limit, _DEEPEST_MESSAGE, MOST_NODES)
        else:
            prove(item, self._judge, limit, _DEEPEST_MESSAGE, MOST_NODES)
        encoded = encoding.encode(item)
        self._search(encoded, item)
        return encoded

    def is_unchanged(self, item: Any, encoded: bytes, limit: int) -> bool:
        """Whether a message came out of the careful walk as it was, and would so wherever it may stand."""
        try:
            prove_types(item, limit, _DEEPEST_MESSAGE, MOST_NODES)
            return encoding.encode(item) == encoded
        except Exception as error:  # then it is something to walk through again
            if is_not_ours(error):
                raise
            return False

    def walk(self) -> Walk:
        """The careful walk over one payload."""
        return Walk(
            self._judge,
            self._clean_remembered if self._cleaner else None,
            self.max_field_bytes,
            self._clean_names,
        )

    def _clean_remembered(self, text: str) -> str:
        assert self._cleaner is not None
        spans = self._remembered.find(text)
        if spans is None:
            spans = self._cleaner.spans(text)
            self._remembered.add(text, spans)
        return replace_spans(text, spans, marked)

    def _picked(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The same where only a part can be kept, as of the history of a long talk: nothing but that part is read."""
        limit = self.max_field_bytes
        long: list[str] = []
        picked = {key: pick(value, limits_of(key, limit), long) for key, value in fields.items()}
        if self._judge is None:
            prove_types(picked, NO_LIMIT, 1, MOST_NODES)
        else:
            prove(picked, self._judge, NO_LIMIT, 1, MOST_NODES)
        if self._suspicion is not None:
            new = [text for text in long if self._remembered.find(text) != []]
            is_mostly_known = sum(map(len, long)) - sum(map(len, new)) > limit
            rest = self._remembered.without_clean(picked) if is_mostly_known else picked
            self._search(encoding.encode_without_spliced(rest), rest)
            for text in new:
                self._remembered.add(text, [])
        return picked

    def _search(self, encoded: bytes, value: Any) -> None:
        """Raise Unproved when a value, whose keys are harmless, may hold a secret; `encoded` is the same as JSON."""
        if self._suspicion is None:
            return
        is_shaped = False
        for kind, pattern in self._suspicion.searches:
            if pattern.search(encoded) is not None:
                if kind not in IN_ONE_TEXT:
                    raise Unproved
                is_shaped = True
        # The user's patterns are written for text, not for its encoding, so with any of them every text is read.
        if not is_shaped and not self._patterns:
            return
        # Some kinds are found in one text alone, whatever stands around it; most such alarms are false.
        if self._cleaner is None or self._patterns:
            raise Unproved
        for text in texts_in(value):
            if len(text) >= _LEAST_SHAPED and self._clean_remembered(text) != text:
                raise Unproved

    def _seal_carefully(self, fields: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """By the careful walk; if that fails, one bad value costs only itself, and if that fails too, everything."""
        return _or_else(
            lambda: self._fitted(self._walked(fields)),
            lambda: _or_else(
                lambda: self._fitted(self._what_can_be_read(fields)),
                lambda: _encoded({REDACTED: UNREADABLE}),
            ),
        )

    def _walked(self, fields: dict[Any, Any]) -> dict[str, Any]:
        walk = self.walk()
        plain = walk.fields(fields)
        return (
            {key: without_gaps(value, self.max_field_bytes) for key, value in plain.items()} if walk.ran_out else plain
        )

    def _fitted(self, plain: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        limit = self.max_field_bytes
        for key, value in plain.items():
            kind = type(value)
            if kind is str:
                if len(value) * 4 > limit:
                    plain[key] = cut_string(value, limit, both_ends=limits_of(key, limit).both_ends)
            elif kind is dict or kind is list or kind is SealedList:
                plain[key] = cut_value(value, limit, limits_of(key, limit))
        encoded = encoding.encode(plain)
        if len(encoded) <= MAX_ENCODED_BYTES:
            return plain, encoded
        return _encoded(fit_fields({key: unsealed(value) for key, value in plain.items()}, MAX_ENCODED_BYTES))

    def _what_can_be_read(self, fields: Any) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key in list(dict.keys(fields))[:200]:
            kept.update(_or_else(partial(self._one_field, fields, key), partial(self._unread, key)))
        return kept

    def _one_field(self, fields: Any, key: Any) -> dict[str, Any]:
        return self._fitted(self._walked({key: dict.get(fields, key)}))[0]

    def _unread(self, key: Any) -> dict[str, Any]:
        return {self.clean_text(readable_text(key) if type(key) is str else "?"): UNREADABLE}


def _or_else(make: Callable[[], _Made], otherwise: Callable[[], _Made]) -> _Made:
    """What `make` makes; what `otherwise` does where that fails, whatever the reason: nothing is stored unread."""
    try:
        return make()
    except Exception as error:  # fail closed
        if is_not_ours(error):
            raise
        return otherwise()


def _nothing() -> None:
    """For what is tried and may fail."""


def _encoded(value: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    return value, encoding.encode(value)


def _could_be_option(argument: str) -> bool:
    return argument.startswith("-") or "=" in argument or ":" in argument
