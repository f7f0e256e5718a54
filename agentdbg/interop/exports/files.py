"""Files that appear whole or not at all, for this user alone."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentdbg.exceptions import UsageError
from agentdbg.storage.layout import open_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentdbg.interop.exports.stored import Put

__all__ = ["appearing", "write_whole"]


def write_whole(path: Path, write: Callable[[Put], None]) -> None:
    """Make the file whole or not at all; a device or a pipe is written as it comes."""
    if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        with open(path, "wb") as device:
            write(device.write)
        return
    with appearing(path) as temporary, os.fdopen(os.open(temporary, os.O_WRONLY), "wb") as file:
        write(file.write)


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """An empty private file to be filled, which takes its place at `path` when all went well."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, like {path / 'run.json'}")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}; make it first, or name another place")
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    os.close(open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
