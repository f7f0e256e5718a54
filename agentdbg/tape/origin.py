"""
Where a tape was made: its head ends in a MAC with a random key that never leaves the data folder.

Without a right one a tape is from elsewhere: its values may be looked at, but nothing that it names is run.
"""

from __future__ import annotations

import io
import os
import stat
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

from agentdbg.encoding import sha256
from agentdbg.faults import pass_on
from agentdbg.storage.layout import remove_quietly, replace_file, tape_key_path

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["data_folder_key", "is_proven", "proven"]

_KEY_BYTES = 32
_BLOCK = 64
_END = 31
"""How much `,"mac":"` and the 22 characters after it take."""


def data_folder_key(data_dir: Path, *, make: bool = True) -> bytes | None:
    """The key of a data folder, made when there is none; None when it can be neither read nor made."""
    path = tape_key_path(data_dir)
    try:
        return _read_key(path)
    except FileNotFoundError:
        if not make:
            return None
    except OSError as error:
        pass_on(error)
        return None
    made = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        os.makedirs(data_dir, 0o700, exist_ok=True)  # the first run of all is prepared before there is a folder
        replace_file(made, os.urandom(_KEY_BYTES))
        os.link(made, path)  # whole, and only for the first of several processes
    except FileExistsError:
        pass
    except OSError as error:
        pass_on(error)
        return None
    finally:
        remove_quietly(made)
    return data_folder_key(data_dir, make=False)


def _read_key(path: Path) -> bytes | None:
    if stat.S_ISLNK(os.lstat(path).st_mode):  # not `islink`, which swallows what a signal handler raises
        return None
    # An object that owns its descriptor from the first moment: an interruption cannot come between the two.
    with io.FileIO(path) as file:
        key = file.read(_KEY_BYTES + 1)
    return key if key is not None and len(key) == _KEY_BYTES else None


def proven(head: bytes, key: bytes | None) -> bytes:
    """A head, which is a JSON object, with the proof as its last entry."""
    if key is None:
        return head
    return b'%b,"mac":"%b"}' % (head[:-1], _mac(key, head))


def is_proven(line: bytes, key: bytes | None) -> bool:
    """Whether the head of a tape was made with this key."""
    line = line.rstrip(b"\r\n")
    head, told = line[: -_END - 1] + b"}", line[-_END - 1 : -1]
    if key is None or not told.startswith(b',"mac":"'):
        return False
    return _are_same(told[8:30], _mac(key, head))


def _are_same(one: bytes, other: bytes) -> bool:
    """Compared in a time that tells nothing."""
    differing = len(one) ^ len(other)
    for left, right in zip(one, other, strict=False):
        differing |= left ^ right
    return differing == 0


def _mac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256, as the standard library's, which would load OpenSSL."""
    block = key.ljust(_BLOCK, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    outer = sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()
    return urlsafe_b64encode(outer[:16])[:22]
