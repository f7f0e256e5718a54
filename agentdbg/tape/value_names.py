"""
What a stored value is called: a name that follows from its bytes alone.

Who reads a tape needs the names and none of what makes values, which loads the whole of redaction.
"""

from __future__ import annotations

import sys
from binascii import b2a_base64
from typing import Any

from agentdbg import encoding

__all__ = ["name_of"]

# OpenSSL's is nine times as quick, but loading it would take 4 ms of a program that does not use it.
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_hashlib: Any = sys.modules.get("hashlib")
_sha256: Any = encoding.sha256 if _hashlib is None else _hashlib.sha256


def name_of(stored: bytes) -> bytes:
    """What a value is called: the first 128 bits of the SHA-256 of its bytes, as 22 characters."""
    return b2a_base64(_sha256(stored).digest()[:16])[:22].translate(_URL_SAFE)
