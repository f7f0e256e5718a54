"""
What is known of one run, and how to tell that it is still true.
"""

from __future__ import annotations

import json
import os
import stat
import time
from typing import TYPE_CHECKING

from agentdbg.storage.layout import EVENTS_FILE, EVENTS_GZIP_FILE, LABEL_FILE, RUN_FILE

if TYPE_CHECKING:
    from agentdbg.events import RunMeta

__all__ = ["RunEntry", "files_stamp"]

_FILES = (RUN_FILE, LABEL_FILE, EVENTS_FILE, EVENTS_GZIP_FILE)
_FRESH_NS = 100_000_000


class RunEntry:
    """What is known of one run; the JSON of a run nobody asks for is never parsed."""

    __slots__ = ("_headed", "_headline", "_meta", "_text", "encoded", "sort_key", "stamp", "status")

    def __init__(
        self, stamp: str, encoded: str, headline: str | None, started_at: str, status: str, run_id: str
    ) -> None:
        self.stamp = stamp
        self.encoded = encoded
        self.status = status
        self.sort_key = (started_at, run_id)
        self._meta: RunMeta | None = None
        self.headline = headline

    @property
    def headline(self) -> str | None:
        return self._headline

    @headline.setter
    def headline(self, headline: str | None) -> None:
        self._headline = headline
        self._headed: bytes | None = None
        self._text: str | None = None

    @property
    def meta(self) -> RunMeta:
        if self._meta is None:
            self._meta = json.loads(self.encoded)
        return self._meta

    @property
    def headed(self) -> bytes:
        """The run with its headline, as JSON."""
        if self._headed is None:
            headline = json.dumps(self.headline or None, ensure_ascii=False)
            self._headed = f'{self.encoded[:-1]},"headline":{headline}}}'.encode(errors="replace")
        return self._headed

    @property
    def text(self) -> str:
        """Everything a search looks at, in lower case."""
        if self._text is None:
            parts = [self.meta.get("run_name"), self.meta["run_id"], self.headline]
            metadata = self.meta.get("metadata")
            if metadata:
                parts.append(json.dumps(metadata, ensure_ascii=False))
            self._text = "\n".join(str(part) for part in parts if part).casefold()
        return self._text


def files_stamp(folder: str) -> str:
    """What changes when one of a run's files does; the folder's own time comes first. Empty for what is no folder."""
    try:
        found = os.lstat(folder)
    except OSError:
        return ""
    if not stat.S_ISDIR(found.st_mode):  # a link is no run, whatever it points at
        return ""
    # File times tick a few milliseconds apart, so a folder touched just now may change again unseen.
    is_fresh = time.time_ns() - found.st_mtime_ns < _FRESH_NS
    return ",".join(
        ["" if is_fresh else f"{found.st_mtime_ns:x}", *[_time_and_size(f"{folder}{os.sep}{name}") for name in _FILES]]
    )


def _time_and_size(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_mtime_ns:x}.{found.st_size:x}"
