"""
Short names for JSON values: equal values have equal ones, and others do not.

A `fingerprint` is quick and good in this process alone; its order is chance. A `digest` is the same everywhere, for
where an order has to be decided.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from typing import Any

from agentdbg.encoding import encode_json

__all__ = ["NOT_JSON", "combined", "digest", "encoded", "fingerprint"]

_WIDE = sys.hash_info.width >= 64
NOT_JSON = (TypeError, ValueError, OverflowError, RecursionError)
"""What encoding raises: events given by hand may hold anything."""


def fingerprint(value: Any) -> int:
    """Python's own hash of the value's JSON, which is many times quicker than a digest."""
    if not _WIDE:
        return int.from_bytes(digest(value), "big")
    try:
        return hash(encode_json(value))
    except NOT_JSON:
        return hash(encoded(value))


def combined(*parts: Any) -> int:
    """A fingerprint of fingerprints, texts and None."""
    if not _WIDE:
        return fingerprint(parts)
    try:
        return hash(parts)
    except TypeError:
        return fingerprint(parts)


def digest(value: Any) -> bytes:
    return blake2b(encoded(value), digest_size=10).digest()


def encoded(value: Any) -> bytes:
    """The value as JSON: 1, 1.0 and true are three values."""
    try:
        return encode_json(value)
    except NOT_JSON:
        return repr(value).encode("utf-8", "replace")
