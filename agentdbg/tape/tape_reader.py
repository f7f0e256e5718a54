"""
Reads a tape: where each value lies, and what each call was. Values are read when they are asked for.

`TapeReader(path)` makes one pass. It keeps where each value lies and the few small fields of each call, so its memory
grows with the number of calls and values, not with their bytes. `calls` are in the order in which they ended. `value`
gives the plain JSON that a reference stands for (`decoder` makes Python values of it, or readable ones). A torn or
damaged line is left out and counted. A tape from a stranger is read within bounds, beyond which is TapeDamaged.

    with TapeReader(path) as tape:
        call = tape.find(event_id)
        tape.value(call.input), tape.value(call.out["ok"]), tape.head["argv"]
"""

from __future__ import annotations

import os
import tempfile
import threading
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.bounded import TooMuch
from agentdbg.bounded.files import GzipReader, open_plain
from agentdbg.bounded.json_size import check_json_size
from agentdbg.encoding import decode_json
from agentdbg.exceptions import AgentDbgError
from agentdbg.storage.layout import TAPE_FILE, TAPE_GZIP_FILE, open_private
from agentdbg.tape.origin import data_folder_key, is_proven

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

__all__ = ["TapeCall", "TapeDamaged", "TapeReader", "find_tape", "tape_lines"]

_LONGEST_LINE = 40_000_000
_UNREADABLE = (OSError, EOFError, TooMuch, zlib.error)
_MOST_BYTES = 256_000_000
"""What one value may take together, as often as it refers to others."""
_MOST_LINKS = 200_000
_DEEPEST = 100
_BLOCK = 1 << 20


class TapeDamaged(AgentDbgError):
    """A tape cannot be read, or not this value of it."""

    exit_code = 2
    http_status = 404


class TapeCall(NamedTuple):
    """One call as the tape has it; the values are references for `TapeReader.value`."""

    event_id: str | None
    """The event it belongs to; of an http exchange, the event of the call that made it, or None."""
    stands_behind: str | None
    """`of`: the event of the call that it stands behind, as a function behind a framework's tool."""
    kind: str
    name: str
    lane: str
    place: int
    first_digest: str | None
    """`g`: a digest of the plain arguments of what runs in the lane, on the lane's first call."""
    input_hash: str
    """`h`: the hash of the redacted input."""
    input: Any
    out: dict[str, Any]
    """One of {"ok"}, {"err"}, {"items", "ret" or "err", "closed"}, {"http"}, {"cancelled"}, {"lost"}."""
    after: Any
    """What the call made of its arguments, where it changed them; MISSING where it did not."""
    servable: bool
    why: str | None
    """Why it cannot be served."""
    started_ms: int
    ended_ms: int
    source: str | None
    late: bool
    scrubbed: bool
    begun: int
    """`o`: its number among the calls of the run, in the order in which they began."""
    had_begun: int
    """`b`: how many calls had begun when it ended."""
    round: tuple[int, int] | None
    """`i`: the event loop that it ended in, and how many rounds that had made."""


MISSING: Any = type("Missing", (), {"__repr__": lambda _: "MISSING", "__bool__": lambda _: False})()


def find_tape(folder: Path) -> Path | None:
    """The tape in a run's folder, packed or not; None when there is none."""
    return next((path for name in (TAPE_FILE, TAPE_GZIP_FILE) if (path := folder / name).is_file()), None)


class TapeReader:
    """One tape, open. Threads may read values at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head: dict[str, Any] = {}
        self.calls: Sequence[TapeCall] = []
        self.damaged_lines = 0
        self._head_line = b""
        self._values: dict[bytes, tuple[int, int]] = {}
        self._by_event: dict[str, int] = {}
        self._lock = threading.Lock()
        self._unpacked: str | None = None
        self._descriptor = -1
        try:
            self._open()
            self._index()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> TapeReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._unpacked is not None:
            os.unlink(self._unpacked)
            self._unpacked = None

    def find(self, event_id: str) -> TapeCall | None:
        """The call whose event has this id; not an http exchange inside it."""
        at = self._by_event.get(event_id)
        return None if at is None else self.calls[at]

    def is_from(self, data_dir: Path) -> bool:
        """Whether this tape was made in that data folder, by its proof."""
        return is_proven(self._head_line, data_folder_key(data_dir, make=False))

    def names(self) -> Sequence[bytes]:
        """The names of all values and lists."""
        return list(self._values)

    def value(self, reference: Any) -> Any:
        """The plain JSON that a reference stands for; raises TapeDamaged when the tape does not have it."""
        return _Resolving(self).value(reference, 0)

    def has(self, name: str) -> bool:
        """Whether a value or a list of this name is on the tape."""
        return name.encode() in self._values

    def size_of(self, name: str) -> int:
        """How many bytes the line of this name has; 0 when the tape does not have it."""
        return self._values.get(name.encode(), (0, 0))[1]

    def raw_line(self, name: str) -> bytes:
        """The line that has this name, as it stands in the file."""
        place = self._values.get(name.encode())
        if place is None:
            raise TapeDamaged(f"the value {name:.40} is not on the tape {self.path}")
        return self._read(*place)

    def line(self, name: str) -> dict[str, Any]:
        """The line that has this name."""
        raw = self.raw_line(name)
        try:
            check_json_size(raw)
            found = decode_json(raw)
        except ValueError:
            raise TapeDamaged(f"the value {name:.40} on the tape {self.path} is damaged") from None
        return found if isinstance(found, dict) else {}

    def _open(self) -> None:
        try:
            if self.path.name.endswith(".gz"):
                self._unpacked = _unpack(self.path)
            self._descriptor = open_private(self._unpacked or self.path, os.O_RDONLY)
        except _UNREADABLE as error:
            raise TapeDamaged(f"the tape {self.path} cannot be read: {error}") from None

    def _read(self, start: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._descriptor, length, start)
        with self._lock:
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, length)

    def _index(self) -> None:
        calls: list[TapeCall] = []
        at = 0
        with os.fdopen(os.dup(self._descriptor), "rb", buffering=_BLOCK) as file:
            file.seek(0)
            for line, length in _lines(file):
                if line is None:
                    self.damaged_lines += 1
                else:
                    self._take_line(line, at, calls)
                at += length
        self.calls = calls

    def _take_line(self, line: bytes, at: int, calls: list[TapeCall]) -> None:
        first = line[:6]
        if first in (b'{"v":"', b'{"l":"') and line[28:30] == b'",':
            self._values.setdefault(line[6:28], (at, len(line)))
            return
        try:
            check_json_size(line)
            fields = decode_json(line)
            if "tape" in fields:
                if not self.head:
                    self.head, self._head_line = fields, line
                return
            call = _call_of(fields)
        except (ValueError, TypeError, KeyError, AttributeError):
            self.damaged_lines += 1
            return
        if call.kind != "http" and call.event_id is not None:
            if call.event_id in self._by_event:
                return  # written twice, because an interruption came in between
            self._by_event[call.event_id] = len(calls)
        calls.append(call)


def _call_of(fields: dict[str, Any]) -> TapeCall:
    times = fields.get("t") or [0, 0]
    out = fields["out"]
    if not isinstance(out, dict) or not isinstance(fields["lane"], str):
        raise TypeError
    return TapeCall(
        event_id=fields["c"],
        stands_behind=fields.get("of"),
        kind=str(fields["k"]),
        name=str(fields["n"]),
        lane=fields["lane"],
        place=int(fields["p"]),
        first_digest=fields.get("g"),
        input_hash=str(fields["h"]),
        input=fields["in"],
        out=out,
        after=fields.get("after", MISSING),
        servable=fields.get("s") == 1,
        why=fields.get("why"),
        started_ms=int(times[0]),
        ended_ms=int(times[1]),
        source=fields.get("src"),
        late=fields.get("late") is True,
        scrubbed=fields.get("scrubbed") is True,
        begun=int(fields.get("o", 0)),
        had_begun=int(fields.get("b", 0)),
        round=None if "i" not in fields else (int(fields["i"][0]), int(fields["i"][1])),
    )


def tape_lines(path: Path) -> Iterator[bytes]:
    """The lines of a tape, without their newlines, as they are; a torn one, and one far too long, are left out."""
    unpacked: str | None = None
    try:
        if path.name.endswith(".gz"):
            unpacked = _unpack(path)
        with os.fdopen(open_private(unpacked or path, os.O_RDONLY), "rb", buffering=_BLOCK) as file:
            yield from (line[:-1] for line, _ in _lines(file) if line is not None)
    except _UNREADABLE as error:
        raise TapeDamaged(f"the tape {path} cannot be read: {error}") from None
    finally:
        if unpacked is not None:
            os.unlink(unpacked)


def _lines(file: Any) -> Iterator[tuple[bytes | None, int]]:
    """Each line and its length; None for one that is torn, or far too long."""
    while line := file.readline(_LONGEST_LINE + 1):
        length = len(line)
        if line.endswith(b"\n"):
            yield line, length
        else:
            del line
            yield None, length + (_skip_line(file) if length > _LONGEST_LINE else 0)


def _skip_line(file: Any) -> int:
    skipped = 0
    while block := file.readline(_BLOCK):
        skipped += len(block)
        if block.endswith(b"\n"):
            break
    return skipped


def _unpack(path: Path) -> str:
    """The tape of a packed one, in a private temporary file."""
    descriptor, name = tempfile.mkstemp(prefix="agentdbg-tape-")
    try:
        with os.fdopen(descriptor, "wb") as target, open_plain(path) as packed:
            source = GzipReader(packed)
            while block := source.read(_BLOCK):
                target.write(block)
    except BaseException:
        os.unlink(name)
        raise
    return name


class _Resolving:
    """One value being put together, within bounds: a tape may refer to itself, or to one value a million times."""

    def __init__(self, tape: TapeReader) -> None:
        self._tape = tape
        self._bytes_left = _MOST_BYTES
        self._links_left = _MOST_LINKS

    def value(self, reference: Any, depth: int) -> Any:
        kind = type(reference)
        if depth > _DEEPEST:
            raise TapeDamaged("a value of this tape is nested too deeply")
        if kind is str:
            if not reference.startswith("@"):
                return reference
            return reference[1:] if reference.startswith("@@") else self._named(reference[1:], depth)
        if kind is not dict and kind is not list:
            return reference
        if kind is list:
            return [self.value(item, depth + 1) for item in reference]
        return {key: self.value(child, depth + 1) for key, child in reference.items()}

    def _named(self, name: str, depth: int) -> Any:
        added: list[list[Any]] = []
        while True:
            line = self._line(name)
            if "v" in line:
                if added:
                    raise TapeDamaged(f"the list {name:.40} on this tape does not begin with a list")
                return line.get("d")
            more = line.get("a")
            added.append(more if isinstance(more, list) else [])
            before = line.get("b")
            if before is None:
                break
            name = str(before)
        return [self.value(item, depth + 1) for part in reversed(added) for item in part]

    def _line(self, name: str) -> dict[str, Any]:
        self._links_left -= 1
        self._bytes_left -= self._tape.size_of(name)
        if self._links_left < 0 or self._bytes_left < 0:
            raise TapeDamaged("a value of this tape is larger than it may be")
        return self._tape.line(name)
