"""
The files a user wants to import: found in folders, read once, and as JSON whatever the writer made of it.

A file is one JSON document, one document on each line, or several documents one after the other. A document that cannot
be read does not hide the others; where it stands and why is kept in `problems`. A file is held in memory while it is
imported, so one that would take too much of it is refused unless the user says otherwise.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from agentdbg.bounded import TooMuch
from agentdbg.bounded.archives import read_member
from agentdbg.bounded.files import MOST_RATIO, is_within_bounds, open_plain, read_all, read_start
from agentdbg.bounded.json_size import MOST_MEMORY, check_json_size
from agentdbg.encoding import decode_json
from agentdbg.exceptions import UsageError
from agentdbg.interop.drafts import EntryProblem
from agentdbg.interop.seeming import seems_in_text
from agentdbg.storage.dialects import parse_timestamp, timestamp_ms
from agentdbg.storage.reader import run_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["NotReadable", "Source", "event_files", "find_sources", "moment_ms", "session_of", "side_files"]

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".traj", ".eval", ".json.gz", ".jsonl.gz", ".aider.chat.history.md")
_LONGEST_FILE = 32 << 20
_ANY_SIZE = 1 << 50
_EVENT_FILE = re.compile(r"(?:event-)?(\d{1,9})(?:-[0-9a-fA-F-]{8,40})?\.json")
_MOST_OTHERS = 3
_HEAD = 4096
_EVENT_HEAD = 1 << 20
_FIRST_LINE = 1 << 20
_LAST_MS = 253_402_300_800_000
"""The end of the year 9999."""


class NotReadable(UsageError):
    """A file that is not what any importer reads."""


class Source:
    """One file, or the folder of an earlier data folder."""

    def __init__(self, path: Path, shown: str | None = None, *, any_size: bool = False) -> None:
        self.path = path
        self.shown = shown or str(path)
        self._most_bytes, self._most_memory = (_ANY_SIZE, _ANY_SIZE) if any_size else (_LONGEST_FILE, MOST_MEMORY)
        self._unpacked = 0
        self.problems: list[EntryProblem] = []
        self.expected = 1
        """How many runs the file seems to hold, for telling how far an import is."""

    def forget(self) -> None:
        """Let go of what was read; it is read again when it is asked for."""
        for name in ("content", "documents", "head"):
            self.__dict__.pop(name, None)

    @property
    def is_any_size(self) -> bool:
        """Whether the user said that size does not matter."""
        return self._most_bytes == _ANY_SIZE

    @property
    def size(self) -> int:
        """About how many bytes it holds."""
        files = event_files(self.path) if self.is_folder else [self.path]
        return sum(file.stat().st_size for file in files)

    @cached_property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    @cached_property
    def head(self) -> bytes:
        """The first bytes as they lie there; none of a folder, or of what cannot be read."""
        try:
            return read_start(self.path, _HEAD)
        except OSError:
            return b""

    @property
    def stem(self) -> str:
        """The file's name without its endings."""
        name = self.path.name
        for suffix in (".gz", *_SUFFIXES):
            name = name.removesuffix(suffix)
        return name or self.path.name

    @property
    def changed_ms(self) -> float:
        """When the file was last changed, for runs that know no times."""
        return self.path.stat().st_mtime * 1000

    @cached_property
    def is_zip(self) -> bool:
        try:
            with open_plain(self.path) as file:
                return zipfile.is_zipfile(file)
        except OSError:  # a folder, a pipe, or nothing that may be read
            return False

    def beside(self, path: Path) -> Source:
        """Another file that belongs to this one, read within the same bounds."""
        return Source(path, any_size=self.is_any_size)

    def open(self) -> BinaryIO:
        """The file as it lies there."""
        if self.is_folder:
            raise NotReadable(f"{self.shown} is a folder, and this format is a file")
        try:
            return open_plain(self.path)
        except OSError as error:
            raise NotReadable(f"{self.shown} cannot be read ({error.strerror})") from None

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file, unpacked if it is gzip."""
        try:
            with self.open() as file:
                content = read_all(file, self._most_bytes)
        except TooMuch as error:
            raise self._too_much(error) from None
        except (OSError, EOFError, zlib.error) as error:
            raise NotReadable(f"{self.shown} is a damaged gzip file ({error})") from None
        return content.removeprefix(b"\xef\xbb\xbf")

    def member(self, archive: zipfile.ZipFile, name: str) -> Any:
        """One JSON document of a zip archive; ValueError when it is none, or too large."""
        content = read_member(archive, name, self._most_bytes)
        self._unpacked += len(content)
        # Archives may name the same bytes a thousand times.
        if not is_within_bounds(self.path.stat().st_size, self._unpacked):
            raise self._too_much(TooMuch(f"it unpacks to more than {MOST_RATIO} times its size"))
        check_json_size(content, self._most_memory)
        return read_json(content)

    def _too_much(self, error: TooMuch) -> NotReadable:
        return NotReadable(
            f"{self.shown} is too large to be read at once ({error}); split it, or import it with --any-size"
        )

    @cached_property
    def documents(self) -> list[tuple[str, Any]]:
        """Every document of the file with where it stands (empty when the file is one document)."""
        content = self.content.strip()
        if not content:
            raise NotReadable(f"{self.shown} is empty")
        try:
            check_json_size(content, self._most_memory)
        except TooMuch as error:
            raise self._too_much(error) from None
        if found := self._by_line(content, only_if_first_fits=True):
            return found
        try:
            return [("", read_json(content))]
        except ValueError as error:
            found = self._by_line(content) or list(_one_after_the_other(content))
            if not found:
                raise NotReadable(f"{self.shown} {seems_in_text(content, error)}") from None
            return found

    def _by_line(self, content: bytes, *, only_if_first_fits: bool = False) -> list[tuple[str, Any]]:
        """A document from each line; with `only_if_first_fits`, none unless the first line is an object by itself."""
        if only_if_first_fits and not _is_object(content[: content.find(b"\n") + 1]):
            return []
        lines = content.split(b"\n")
        if len(lines) < 2:
            return []
        found: list[tuple[str, Any]] = []
        problems: list[EntryProblem] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                document = read_json(line)
            except ValueError as error:
                problems.append(EntryProblem(f"line {number}", f"not JSON: {error}"))
                continue
            if isinstance(document, (dict, list)):
                found.append((f"line {number}", document))
        # A pretty-printed document has a line here and there that is JSON by accident; a file of lines few that fail.
        if not only_if_first_fits and (len(found) < 2 * len(problems) or not found):
            return []
        self.problems += problems
        return found


def _is_object(line: bytes) -> bool:
    try:
        return line[:1] == b"{" and isinstance(read_json(line), dict)
    except ValueError:
        return False


def read_json(text: bytes | str) -> Any:
    """The value of one document; other tools' NaN is read as null. ValueError when it is not JSON."""
    try:
        return decode_json(text)
    except ValueError:
        try:
            if isinstance(text, bytes):
                text = text.decode("utf-8", "replace")
            return json.loads(text, parse_constant=lambda _: None, strict=False)
        except RecursionError:
            raise ValueError("nested too deeply to be read") from None


def _one_after_the_other(content: bytes) -> Iterator[tuple[str, Any]]:
    """Pretty-printed documents that follow each other, as some tools print them; what is not JSON ends it."""
    text = content.decode("utf-8", "replace")
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    place, number = 0, 0
    while place < len(text):
        try:
            document, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        number += 1
        if isinstance(document, (dict, list)):
            yield f"document {number}", document
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1


def find_sources(paths: Iterable[str], *, any_size: bool = False) -> list[Source]:
    """What was asked for, in order: files as they are, folders by what is in them."""
    found: list[Source] = []
    for given in paths:
        path = Path(given).expanduser()
        if not path.exists():
            raise NotReadable(f"there is no file or folder {given}")
        if not path.is_dir() and not path.is_file():
            raise NotReadable(f"{given} is not a plain file; write what it gives to one first")
        if not path.is_dir() or _is_data_folder(path) or event_files(path):
            found.append(Source(path, given, any_size=any_size))
        else:
            inside = [Source(file, any_size=any_size) for file in _sources_in(path)]
            if not inside:
                endings = ", ".join(_SUFFIXES[:5])
                raise NotReadable(f"the folder {given} holds no run of AgentDbg and no file that ends in {endings}")
            found += inside
    return found


def event_files(folder: Path) -> list[Path]:
    """
    The files of a folder that hold one event each, in their order; those of its `events` folder where it has one.

    They are called `0.json`, `1.json` … or `event-00000-<id>.json` … as OpenHands does.
    """
    inside = folder / "events"
    try:
        names = os.listdir(inside if inside.is_dir() else folder)
    except OSError:
        return []
    numbered = [(int(found[1]), name) for name in names if (found := _EVENT_FILE.fullmatch(name))]
    at = inside if inside.is_dir() else folder
    # Other JSON files beside them, and more than one or two, would be somebody's numbered files.
    others = sum(name.endswith(".json") for name in names) - len(numbered)
    if not numbered or others > _MOST_OTHERS:
        return []
    files = [at / name for _, name in sorted(numbered)]
    return files if _begins_like_event(files[0]) else []


def _begins_like_event(path: Path) -> bool:
    """Whether a file holds an event of OpenHands, and not, say, one of many numbered transcripts."""
    try:
        head = read_start(path, _EVENT_HEAD)
    except OSError:
        return False
    return b'"source"' in head and any(name in head for name in (b'"action"', b'"observation"', b'"kind"'))


def _is_data_folder(path: Path) -> bool:
    """A data folder, its `runs` folder, or the folder of one run."""
    return bool(run_ids(path)) or (path.name == "runs" and bool(run_ids(path.parent))) or (path / "run.json").is_file()


def _sources_in(folder: Path) -> list[Path]:
    """The files in a folder and its folders, and the folders that are one run."""
    found: list[Path] = []
    for parent, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        if event_files(Path(parent)):
            found.append(Path(parent))
            names[:] = []
            continue
        inside = [Path(parent, name) for name in sorted(files) if _is_wanted(name)]
        found += [path for path in inside if not _is_part_of_another(path)]
    return found


def _is_wanted(name: str) -> bool:
    return name.endswith(_SUFFIXES) and (not name.startswith(".") or name.startswith(".aider"))


def _is_part_of_another(path: Path) -> bool:
    """Whether a file is a subagent's of a session that lies here too, and comes in with it."""
    for folder in path.parents:
        if folder.name == "subagents":
            return folder.parent.with_suffix(".jsonl").is_file()
    if not path.name.startswith("agent-"):
        around = path.parent.parent
        if around.name != "chats" or path.suffix != ".jsonl":
            return False
        return any(path in side_files(session) for session in around.glob(f"session-*-{path.parent.name[:8]}.jsonl"))
    session_id = session_of(path)
    return bool(session_id) and (path.parent / f"{session_id}.jsonl").is_file()


def side_files(path: Path) -> list[Path]:
    """
    The files of a session's subagents, in the folder named after it: Claude Code's, and Gemini CLI's, which names its
    sessions by the first letters of their id.
    """
    if path.suffix != ".jsonl":
        return []
    inside = path.with_suffix("")
    if inside.is_dir():
        return sorted(inside.rglob("*.jsonl"))
    short = path.stem.rpartition("-")[2]
    if path.parent.name != "chats" or not path.name.startswith("session-") or not short.isalnum():
        return []
    return sorted(path.parent.glob(f"{short}*/*.jsonl"))


def session_of(path: Path) -> str:
    """The session that the first line of a Claude Code file names."""
    try:
        first = decode_json(read_start(path, _FIRST_LINE).partition(b"\n")[0])
    except (OSError, ValueError):
        return ""
    told = first.get("sessionId") if isinstance(first, dict) else None
    return told if isinstance(told, str) else ""


def moment_ms(value: Any) -> float | None:
    """A moment as other tools write it (text, Unix time in s, ms, µs or ns), in milliseconds of Unix time."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 30:
        value = int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Nanoseconds, microseconds and milliseconds since 1973 are told apart by their size.
        unit = next((unit for unit in (1e17, 1e14, 1e11) if value > unit), 1e8)
        milliseconds = value / (unit / 1e11) if abs(value) < 1e300 else 0.0
        return milliseconds if 0 < milliseconds < _LAST_MS else None
    text = parse_timestamp(value)
    return None if text is None else float(timestamp_ms(text))
