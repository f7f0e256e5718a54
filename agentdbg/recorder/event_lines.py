"""
One event as one line of JSON, put together from parts that are JSON already.

Encoding the ten keys anew for each event would cost more than writing it; all but the payload and the meta are known
to be plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import MAX_LINE_BYTES, SPEC_VERSION, TRUNCATED
from agentdbg.redaction.sizes import MAX_ENCODED_BYTES, fit_fields

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NO_META", "LineMaker", "fit_payload", "join_objects"]

NO_META = b"{}"
_BEFORE_ID = f'{{"spec_version":"{SPEC_VERSION}","event_id":"'
_CUT_META = f'{{"{TRUNCATED}":"{TRUNCATED}"}}'.encode()
_MOST_SOURCES = 10_000
_LONGEST_SOURCE = 4_000
_SURELY_FITS = MAX_LINE_BYTES // 2
_NO_SOURCE = b'},"meta":'


class LineMaker:
    """Makes the lines of one run."""

    __slots__ = ("_after_id", "_clean_text", "_endings")

    def __init__(self, run_id: str, clean_text: Callable[[str, int], str]) -> None:
        self._after_id = f'","run_id":"{run_id}","parent_id":"'
        self._clean_text = clean_text
        self._endings: dict[str, bytes] = {}

    def line(
        self,
        event_type: str,
        event_id: str,
        parent_id: str | None,
        ts: str,
        duration_ms: int | None,
        name_json: str,
        payload: bytes,
        meta: bytes = NO_META,
        source: str | None = None,
    ) -> bytes:
        """
        The line of one event, newline included; `name_json`, `payload` and `meta` are JSON.

        `source` is the place in the user's code it was recorded at, and goes into the payload.
        """
        duration: Any = "null" if duration_ms is None else duration_ms
        head = (
            f'{_BEFORE_ID}{event_id}{self._after_id}{parent_id}","event_type":"{event_type}",'
            f'"ts":"{ts}","duration_ms":{duration},"name":{name_json},"payload":'
        ).encode()
        if parent_id is None:  # once in a run
            head = head.replace(b'"parent_id":"None"', b'"parent_id":null', 1)
        ending = _NO_SOURCE if source is None else self._endings.get(source) or self._make_ending(source)
        size = len(payload)
        if size == 2 and source is not None:  # {}
            ending = ending[1:]
        if size + len(meta) > _SURELY_FITS and len(head) + size + len(ending) + len(meta) > MAX_LINE_BYTES - 20:
            meta = _CUT_META  # the others are bounded
        return b"".join((head, payload[:-1], ending, meta, b"}\n"))

    def _make_ending(self, source: str) -> bytes:
        """What ends a payload, up to the meta; the few places of a program come up again and again."""
        path, colon, line = source.rpartition(":")  # `reset_password.py` is no secret's name, and 42 not its value
        place = self._clean_text(path, _LONGEST_SOURCE) + colon + line
        ending = b',"source":%b},"meta":' % encode_json(place)
        if len(self._endings) < _MOST_SOURCES:
            self._endings[source] = ending
        return ending


def fit_payload(payload: bytes) -> bytes:
    """A payload joined from two sealed ones: each fits a line, both together may not."""
    if len(payload) <= MAX_ENCODED_BYTES:
        return payload
    return encode_json(fit_fields(decode_json(payload), MAX_ENCODED_BYTES))


def join_objects(first: bytes, second: bytes) -> bytes:
    """Two JSON objects as one, the keys of the second after those of the first."""
    if second == b"{}":
        return first
    if first == b"{}":
        return second
    return b"".join((first[:-1], b",", second[1:]))
