"""
What the file holds of a run: everything the page would ask the viewer's server for.
"""

from __future__ import annotations

import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings import add_to_verdict, find, headline_lines
from agentdbg.analysis.report import build_report, summarise
from agentdbg.analysis.rows import RowBuilder
from agentdbg.analysis.stats import Tally
from agentdbg.encoding import encode_json
from agentdbg.index.events import NOT_STRICT, EventIndex
from agentdbg.index.skeleton import pack_skeleton
from agentdbg.interop.html_file.blocks import Packer, data_block
from agentdbg.interop.html_file.receipt import Receipt
from agentdbg.storage.layout import index_dir, is_run_id, run_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.config import Config
    from agentdbg.events import RunMeta

__all__ = ["Contents"]

_STRETCH = 200
# As many as the viewer looks at, so that both say the same.
_MOST_EVENTS_LOOKED_AT = 3_000
_HASHED_AT_ONCE = 1 << 20
# The packer gives these a meaning of its own; a reader may have let one pass inside a string.
_CONTROL = bytes(range(0x20))
_STILL_RUNNING = "Still running when this file was made. What came later is not in it."


class Contents:
    """The blocks of one run, as it was when this was made."""

    def __init__(self, run: RunMeta, config: Config) -> None:
        # Who ran it on which machine is needed to tell whether it still runs, and by nobody who is given the file.
        self._run: RunMeta = {**run}
        self._run.pop("owner", None)
        self._config = config
        self._index = EventIndex(run_dir(config.data_dir, run["run_id"]), run["run_id"], index_dir(config.data_dir))
        self._index.extend()
        self._rows = RowBuilder(self._index)
        self._packer = Packer()
        self._receipt = Receipt(self._run, config)
        self._now_ms = time.time_ns() // 1_000_000

    def opening(self) -> Iterator[bytes]:
        """What the first screen shows, and the report, for which the same is counted."""
        index = self._index
        tally = Tally(index)
        summary = summarise(
            tally,
            self._run,
            now_ms=self._now_ms,
            damaged_lines=index.damaged_lines,
            damaged_total=index.damaged_total,
        )
        if self._run["status"] == "running":
            summary["notes"].append(_STILL_RUNNING)
        elif index.total <= _MOST_EVENTS_LOOKED_AT:
            events = (index.event(number) for number in range(1, index.total + 1))
            add_to_verdict(summary["verdict"], headline_lines(find(events, self._run)))
        columns, types = pack_skeleton(index)
        yield data_block("summary", encode_json(summary))
        yield data_block("types", encode_json(types))
        yield data_block("skeleton", columns)
        yield data_block("report", build_report(tally, self._run, self._now_ms).encode())
        yield from self._stretch(1)

    def rest(self, progress: Callable[[float], object]) -> Iterator[bytes]:
        """All that follows the first screen, and the receipt."""
        total = self._index.total
        for first in range(1 + _STRETCH, total + 1, _STRETCH):
            yield from self._stretch(first)
            progress(min(1.0, (first + _STRETCH) / total))
        yield self._receipt.block(self._source(), self._now_ms)

    def _stretch(self, first: int) -> Iterator[bytes]:
        """Some events one after the other: their rows, and themselves."""
        last = min(first + _STRETCH - 1, self._index.total)
        if last < first:
            return
        rows = []
        for number in range(first, last + 1):
            line = self._line(number)
            rows.append(self._row(number, line))
            self._receipt.count(line)
            if blocks := self._packer.add(line):
                yield blocks
        yield self._packer.flush() + data_block("rows", b"\n".join(rows), first, last)

    def _row(self, number: int, line: bytes) -> bytes:
        """A row, without the event's id where the page can take that from the event: no other part packs so badly."""
        row: dict[str, Any] = {**self._rows.row(number, running=self._run["status"] == "running")}
        event_id: str = row["event_id"]
        # Of a long one the packer would leave a number in the event.
        if is_run_id(event_id) and line.startswith(b'{"spec_version":"0.1","event_id":"%s",' % event_id.encode()):
            del row["event_id"]
        return encode_json(row)

    def close(self) -> None:
        """Let go of the file."""
        self._index.close()

    def _line(self, number: int) -> bytes:
        """One event in the strict form, on one line."""
        line = self._index.line(number).strip()
        if self._index.strictness[number - 1] == NOT_STRICT or len(line.translate(None, _CONTROL)) < len(line):
            return encode_json(self._index.event(number))
        return line

    def _source(self) -> dict[str, object]:
        """What the file was made from, so that anyone who has the log can tell whether it is the same."""
        index = self._index
        digest = sha256()
        for start in range(0, index.indexed_bytes, _HASHED_AT_ONCE):
            digest.update(index.read(start, min(_HASHED_AT_ONCE, index.indexed_bytes - start)))
        return {
            "file": "events.jsonl",
            "sha256": digest.hexdigest(),
            "bytes": index.indexed_bytes,
            "events": index.total,
            "damaged_lines": index.damaged_total,
        }
