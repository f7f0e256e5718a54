"""
Each value of a run once: what a value is called, what of it is new, and the lines that say so.

A value is encoded (`codec`), cleaned (`Redactor.whole`) and named by the hash of the bytes that are stored. A list is a
chain: the longest list before it that begins alike, and what is added. So a conversation of n turns costs n messages.
What was seen before is found by its own bytes, quickly, and is neither encoded nor searched again.

`ValueStore.take` gives a `Taken`: the reference to write into a call's line, the digest to match by, and the pieces
that may still have to be written. Nothing here writes; `TapeWriter` does.

The digest is of the cleaned value with its keys sorted and its secrets unnumbered, so that equal inputs have equal
digests on any machine and with any key: `input_hash`.
"""

from __future__ import annotations

import enum
import marshal
import re
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.events import REDACTED
from agentdbg.faults import pass_on
from agentdbg.redaction.sealed_items import characters_left, own_copy
from agentdbg.redaction.whole import SecretNumbers, TooSlow
from agentdbg.tape.codec import KIND, MOST_CHARACTERS, MOST_NODES, TooLarge, ValueEncoder
from agentdbg.tape.value_names import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.redaction import Redactor
    from agentdbg.redaction.sealed_items import SealedValue

__all__ = [
    "_LONGEST_VALUE",
    "Lost",
    "Piece",
    "Taken",
    "ValueStore",
    "input_hash",
    "marshalled",
    "pieces_in_order",
    "raw_bytes",
]

_LONGEST_VALUE = 16_000_000
"""Bytes of one value."""
_INLINE = 64
"""A value that takes no more than this stands where it is referred to."""
_SPLIT_FROM = 256
"""A dict with a longer text than this, or with lists or dicts in it, is stored value by value."""
_DEEPEST_SPLIT = 3
_MOST_SPLIT = 64
_LONGEST_CHAIN = 5_000
_WORTH_A_CHAIN = 256
"""What the items of a result must take on average to be stored one by one."""
_MOST_REMEMBERED = 32_000_000
_MOST_RECENT = 24
_SCALARS = frozenset({int, float, bool, type(None)})
_MARSHALLED = frozenset({str, int, float, bool, type(None), dict, list, tuple, set, frozenset, bytes, complex})
_HOLDERS = frozenset({dict, list})
_MAY_NAME = (str, bytes, bytearray, tuple, enum.Enum)
_EXCHANGE = {"method", "url", "body"}
_NAMING = frozenset({"name", "key", "header", "Name", "Key", "Header", "field", "parameter", "variable"})
_OLD_MARSHAL = 2
"""The version of marshal's format that writes equal values alike, whichever objects they are made of."""
_NINES = b"9" * 19
_AS_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_REDACTED = REDACTED.encode()
_NUMBER = re.compile(_REDACTED + rb":[0-9]+")


class Lost(Exception):
    """A value cannot be stored; the text says why."""


class Piece:
    """One line of a tape, and what has to stand before it."""

    __slots__ = ("digest", "line", "name", "needs", "reference", "unknown")

    def __init__(self, reference: bytes, digest: bytes, name: bytes = b"", line: bytes = b"") -> None:
        self.reference = reference
        """What stands in another line for this value: itself when it is small, else `"@name"`."""
        self.digest = digest
        self.name = name
        self.line = line
        self.needs: tuple[Piece, ...] = ()
        self.unknown: str | None = None
        """The type in it that could not be recorded."""


class Taken:
    """A value that is ready to be written: `reference` and `digest` are known, `pieces` may be new."""

    __slots__ = ("digest", "pieces", "reference", "unknown")

    def __init__(self, reference: bytes, digest: bytes, pieces: tuple[Piece, ...], unknown: str | None) -> None:
        self.reference = reference
        self.digest = digest
        self.pieces = pieces
        self.unknown = unknown


class _Chain:
    """A list that was seen: the references of its items, and the piece that names it."""

    __slots__ = ("piece", "references")

    def __init__(self, references: list[bytes], piece: Piece) -> None:
        self.references = references
        self.piece = piece


class ValueStore:
    """
    The values of one run. Threads may use it at once: a value that two of them bring is only encoded twice.

    `numbers` knows the secrets that were taken out, by number.
    """

    __slots__ = ("_chains", "_left", "_recent", "_remembered", "numbers", "redactor", "seconds")

    def __init__(self, redactor: Redactor, seconds: float = 2.0) -> None:
        self.redactor = redactor
        self._remembered: dict[bytes | str, Piece] = {}
        """By the bytes of each value; a text is known by itself."""
        self._left = _MOST_REMEMBERED
        self._recent: dict[tuple[int, bytes], _Chain] = {}
        """The lists of late, by their length and their last item; the one that came last stands last."""
        self._chains: dict[bytes, Piece] = {}
        self.numbers = SecretNumbers()
        self.seconds = seconds

    def take(
        self, value: Any, *, is_shared: bool = True, raw: bytes | None = None, sealed: SealedValue | None = None
    ) -> Taken:
        """
        A value, ready to be written. Raises Lost when it cannot be stored.

        `is_shared` says that it may well come again, as the messages of a conversation do; `raw` is what `raw_bytes`
        gives for it, where that is known, and `sealed` what its event stores: what was found harmless for that is not
        searched again.
        """
        pieces: list[Piece] = []
        if sealed is not None and sealed.is_harmless and not _has_other_form(sealed.encoded):
            reference, digest = self._take_harmless(sealed.value, pieces, 0, is_shared=is_shared)
        else:
            raws = {} if sealed is None else sealed.raws
            reference, digest = self._take(value, pieces, 0, is_shared=is_shared, raw=raw, raws=raws)
        unknown = next((piece.unknown for piece in pieces if piece.unknown), None)
        return Taken(reference, digest, tuple(pieces), unknown)

    def take_items(self, items: list[Any]) -> Taken:
        """What a generator yielded, one by one; a secret that is cut up between the items is found."""
        encoder = ValueEncoder()
        plain = _encoded(items, encoder)
        clean = self.redactor.whole_pieces(plain, self.numbers)
        piece = self._stored(clean, encoder.unknown, None)
        return Taken(piece.reference, piece.digest, (piece,), piece.unknown)

    def _take(
        self,
        value: Any,
        pieces: list[Piece],
        depth: int,
        *,
        is_shared: bool,
        raw: bytes | None = None,
        raws: dict[int, list[bytes]],
    ) -> tuple[bytes, bytes]:
        if type(value) is dict and depth < _DEEPEST_SPLIT and _can_be_split(value):
            parts, digests = [], []
            for key, child in value.items():
                name = encoding.encode(key)
                if self.redactor.is_telling(key):
                    piece = self._piece(child, key)
                    pieces.append(piece)
                    reference, digest = piece.reference, piece.digest
                else:
                    reference, digest = self._take(child, pieces, depth + 1, is_shared=is_shared, raws=raws)
                parts.append(b"%b:%b" % (name, reference))
                digests.append(b"%b:%b" % (name, digest))
            return b"{%b}" % b",".join(parts), _digest(b"{" + b",".join(sorted(digests)))
        is_chain = type(value) is list and _is_chain(value, is_shared=is_shared)
        if is_chain:
            taken = self._chain(value, raws.get(id(value)))
        else:
            taken = self._piece(value) if raw is None else self._known_or_stored(value, raw, None)
        pieces.append(taken)
        return taken.reference, taken.digest

    def _take_harmless(self, value: Any, pieces: list[Piece], depth: int, *, is_shared: bool) -> tuple[bytes, bytes]:
        """The same for plain JSON that was searched as a whole; our own copy, so that it is still what was searched."""
        if type(value) is dict and depth < _DEEPEST_SPLIT and _can_be_split(value):
            parts, digests = [], []
            for key, child in value.items():
                name = encoding.encode(key)
                if self.redactor.is_telling(key):
                    pieces.append(piece := self._harmless(child))
                    reference, digest = piece.reference, piece.digest
                else:
                    reference, digest = self._take_harmless(child, pieces, depth + 1, is_shared=is_shared)
                parts.append(b"%b:%b" % (name, reference))
                digests.append(b"%b:%b" % (name, digest))
            return b"{%b}" % b",".join(parts), _digest(b"{" + b",".join(sorted(digests)))
        is_chain = type(value) is list and _is_chain(value, is_shared=is_shared)
        pieces.append(piece := self._chain(value) if is_chain else self._harmless(value))
        return piece.reference, piece.digest

    def _harmless(self, value: Any) -> Piece:
        encoded = encoding.encode(value)
        by_bytes = b"json:" + encoded
        piece = self._remembered.get(by_bytes)
        if piece is None:
            piece = _piece_of(value, encoded)
            if piece.name:
                self._remember(by_bytes, piece)
        return piece

    def _piece(self, value: Any, key: str | None = None) -> Piece:
        """A value by itself; `key` is what it stands under when that says something."""
        raw = None if key is not None else value if type(value) is str else raw_bytes(value)
        return self._known_or_stored(value, raw, key)

    def _known_or_stored(self, value: Any, raw: bytes | str | None, key: str | None) -> Piece:
        known = None if raw is None else self._remembered.get(raw)
        if known is not None:
            return known
        sealed = self.redactor.harmless(raw) if type(raw) is bytes else None
        if raw is not None and sealed is not None and not _has_other_form(sealed.encoded):
            piece = _piece_of(sealed.value, sealed.encoded)
            self._remember(raw, piece)
            return piece
        if value is None and type(raw) is bytes:
            value = own_copy(raw)
        encoder = ValueEncoder()
        plain = _encoded(value, encoder)
        piece = self._stored(plain, encoder.unknown, key)
        if raw is not None and not encoder.holds_bytes and encoder.unknown is None:
            self._remember(raw, piece)
        return piece

    def _stored(self, plain: Any, unknown: str | None, key: str | None) -> Piece:
        encoded = encoding.encode(plain)
        if len(encoded) > _LONGEST_VALUE:
            raise Lost("it is larger than 16 MB")
        by_bytes = None
        if key is None and len(encoded) > _INLINE:
            by_bytes = b"json:" + encoded  # marshal writes no such beginning
            known = self._remembered.get(by_bytes)
            if known is not None:
                return known
        try:
            clean = self.redactor.whole(plain, encoded, self.numbers, key=key, seconds=self.seconds)
        except TooSlow:
            raise Lost("it takes too long to search for secrets") from None
        if clean is not plain:
            encoded = encoding.encode(clean)
        piece = _piece_of(clean, encoded)
        piece.unknown = unknown
        if by_bytes is not None:
            self._remember(by_bytes, piece)
        return piece

    def _remember(self, raw: bytes | str, piece: Piece) -> None:
        if self._left < len(raw):
            self._remembered.clear()
            self._left = _MOST_REMEMBERED
        self._left -= len(raw)
        self._remembered[raw] = piece

    def _chain(self, items: list[Any], raws: Sequence[bytes | None] | None = None) -> Piece:
        """A list as the one before it and what is added; `raws` are the bytes of its items where they are known."""
        if raws is None:
            items = items[:]  # another thread may be changing it
            read = marshalled if _is_bounded(items) else raw_bytes  # all together are asked about more quickly
            raws = list(map(read, items))
        else:
            items = [None] * len(raws)  # it may have been changed since they were made
        known: Iterator[Piece | None] = map(self._remembered.get, raws)  # type: ignore[arg-type]
        parts = [
            part or self._known_or_stored(item, raw, None) for part, item, raw in zip(known, items, raws, strict=True)
        ]
        references = [part.reference for part in parts]
        base = self._longest_beginning(references)
        start = 0 if base is None else len(base.references)
        if base is not None and start == len(references):
            return base.piece
        last = None if base is None else base.piece
        name, digest = (b"", b"[") if last is None else (last.name, last.digest)
        for at in range(start, len(references)):
            name, digest = name_of(name + references[at]), _digest(digest + parts[at].digest)
            if base is None and name in self._chains:
                start, last = at + 1, self._chains[name]
        piece = self._chains.get(name)
        if piece is None:
            begins = b"" if last is None else b'"b":"%b",' % last.name
            line = b'{"l":"%b",%b"a":[%b]}\n' % (name, begins, b",".join(references[start:]))
            piece = Piece(b'"@%b"' % name, digest, name, line)
            piece.needs = (*(() if last is None else (last,)), *parts[start:])
            piece.unknown = next((part.unknown for part in parts if part.unknown), None)
            self._chains[name] = piece
        recent = self._recent.copy()  # another thread may be looking
        if base is not None:
            recent.pop((start, references[start - 1]), None)
        recent[len(references), references[-1]] = _Chain(references, piece)
        if len(recent) > _MOST_RECENT:
            del recent[next(iter(recent))]
        self._recent = recent
        return piece

    def _longest_beginning(self, references: list[bytes]) -> _Chain | None:
        recent = self._recent
        for length in range(len(references), 0, -1):
            chain = recent.get((length, references[length - 1]))
            if chain is not None and chain.references == references[:length]:
                return chain
        return None


def input_hash(redactor: Redactor, value: Any, store: ValueStore | None = None) -> str:
    """The `h` of a call with this input: of its redacted form, so that it needs no secret and tells none."""
    try:
        return (store or ValueStore(redactor)).take(read_body(value)).digest.decode()
    except Lost as error:
        pass_on(error)
        return name_of(str(error).encode()).decode()


def read_body(given: Any) -> Any:
    """The input of an HTTP exchange with its body as the JSON that it is; any other input as it is."""
    if type(given) is not dict or given.keys() != _EXCHANGE or type(given["body"]) not in (bytes, str):
        return given
    try:
        body = encoding.decode_json(given["body"])
    except ValueError as error:
        pass_on(error)
        return given
    return {**given, "body": body} if isinstance(body, (dict, list)) else given


def _piece_of(clean: Any, encoded: bytes) -> Piece:
    in_order = encoded if type(clean) is str else encoding.encode_sorted(clean)
    if _REDACTED in in_order:
        in_order = _NUMBER.sub(_REDACTED, in_order)
    digest = _digest(in_order)
    if len(encoded) <= _INLINE and b'"@' not in encoded:
        return Piece(encoded, digest)
    name = digest if in_order == encoded else name_of(encoded)
    return Piece(b'"@%b"' % name, digest, name, b'{"v":"%b","d":%b}\n' % (name, encoded))


def _has_other_form(encoded: bytes) -> bool:
    """Whether the codec may write plain JSON otherwise: a dict that looks like a form of its own, a large number."""
    return b'"$t"' in encoded or _NINES in encoded.translate(_AS_NINES)


def _digest(data: bytes) -> bytes:
    return name_of(data)


def _encoded(value: Any, encoder: ValueEncoder) -> Any:
    try:
        return encoder.encode(value)
    except TooLarge:
        raise Lost("it is larger than 16 MB") from None


def raw_bytes(value: Any) -> bytes | None:
    """The bytes of a value made of Python's own types, by which it is known again; None for any other."""
    return marshalled(value) if _is_bounded(value) else None


def marshalled(value: Any) -> bytes | None:
    """The same for a value that is known to be bounded."""
    try:
        return marshal.dumps(value, _OLD_MARSHAL)
    except (ValueError, TypeError) as error:  # a type of somebody else, or nested without end
        pass_on(error)
        return None


def _is_bounded(value: Any) -> bool:
    """Whether a value is made of Python's own types, and can be written out: one with a text a million times cannot."""
    return characters_left([value], _MARSHALLED, MOST_NODES, MOST_CHARACTERS) >= 0


def _can_be_split(value: dict[Any, Any]) -> bool:
    """Whether a dict is worth storing value by value, and none of the values says what another is."""
    if not 0 < len(value) <= _MOST_SPLIT or KIND in value or not all(type(key) is str for key in value):
        return False
    if ("value" in value or "values" in value or "Value" in value) and not _NAMING.isdisjoint(value):
        return False
    if any("logprob" in key.lower() or not key.isascii() for key in value):
        return False
    return any(_is_long(child) for child in value.values())


def _is_long(child: Any) -> bool:
    kind = type(child)
    if kind is str:
        return len(child) > _SPLIT_FROM
    return bool(child) if kind is list or kind is dict else kind not in _SCALARS


def _is_chain(items: list[Any], *, is_shared: bool) -> bool:
    if not 0 < len(items) <= _LONGEST_CHAIN or _SCALARS.issuperset(map(type, items)):
        return False
    if not _HOLDERS.issuperset(map(type, items)) and any(isinstance(item, _MAY_NAME) for item in items):
        return False  # one may say what the next one is: a name, `--password`
    if is_shared:
        return True
    raw = raw_bytes(items)
    return raw is not None and len(raw) > _WORTH_A_CHAIN * len(items)


def pieces_in_order(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    """The pieces and all they need, each after what it needs."""
    for piece in pieces:
        if not piece.needs:
            yield piece
            continue
        waiting = [(piece, False)]
        while waiting:
            current, is_ready = waiting.pop()
            if is_ready or not current.needs:
                yield current
            else:
                waiting.append((current, True))
                waiting += [(need, False) for need in reversed(current.needs)]
