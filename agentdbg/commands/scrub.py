"""
`agentdbg scrub`: a secret out of stored runs.

Replace what matches a pattern in stored files, keeping every line that was JSON valid JSON.

Texts are matched as they read, not as they are escaped in the file, and also where they stand escaped inside other
texts (JSON in a string, a URL). A file is replaced whole or not at all. Caches are dropped: they rebuild themselves.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import sys
import urllib.parse
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from agentdbg.bounded import TooMuch
from agentdbg.bounded.json_size import check_json_size
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.streams import confirmed, need_somebody
from agentdbg.commands.terminal import Progress, Terminal, problem
from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import REDACTED, TRUNCATED
from agentdbg.exceptions import UsageError
from agentdbg.storage.layout import (
    EVENTS_FILE,
    EVENTS_GZIP_FILE,
    LABEL_FILE,
    RUN_FILE,
    TAPE_FILE,
    TAPE_GZIP_FILE,
    index_dir,
    is_run_id,
    open_private,
    runs_dir,
    trash_dir,
)
from agentdbg.storage.lines import LONGEST_LINE, PackedLines, open_regular
from agentdbg.storage.reader import default_data_dir
from agentdbg.storage.runfile import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["Scrubber", "make_matcher"]

EXAMPLES = """
agentdbg scrub sk-live-1a2b3c --dry-run
agentdbg scrub 'sk-live-[A-Za-z0-9]+'          # a regular expression
agentdbg scrub --fixed 'a+b/c==' --yes         # exactly this text
pass show my/token | agentdbg scrub - --yes    # keeps it out of the shell's history
"""


def command(
    pattern: Annotated[str, Argument("PATTERN", "The secret, or a regular expression; `-` reads it from stdin.")],
    fixed: Annotated[bool, Option("--fixed", "-F", help="The pattern is text, never a regular expression.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say where it is found.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """
    Replace a secret by __REDACTED__ in every stored run, the deleted ones too.

    Names, labels, events, tapes and caches are rewritten, each file whole or not at all. A run that is still running
    is left alone and named; scrub again when it has ended. This cannot be undone.
    """
    matcher = make_matcher(_secret(pattern), fixed=fixed or pattern == "-")
    data_dir = default_data_dir()
    out = Terminal()
    # Looked for first and changed after, so that the question can say how much there is.
    found = _go_through(Scrubber(data_dir, matcher, dry_run=True), data_dir)
    done = found
    if found.matches and not dry_run:
        if not yes and not _confirmed(found):
            out.line("Nothing was changed.")
            return
        done = _go_through(Scrubber(data_dir, matcher, dry_run=False), data_dir)
    if as_json:
        out.json(
            {
                "matches": done.matches,
                "runs": done.runs,
                "skipped": [*done.running, *done.too_large],
                "dry_run": dry_run,
            }
        )
    else:
        _say(out, done, dry_run=dry_run)
    if done.too_large:
        names = ", ".join(run_id[:8] for run_id in done.too_large)
        problem(f"not looked through, because they hold more than can be read: {names}; delete them if in doubt")
    if done.running:
        names = ", ".join(run_id[:8] for run_id in done.running)
        raise UsageError(f"left alone, because still running: {names}; scrub again when they have ended")


def _secret(pattern: str) -> str:
    secret = sys.stdin.read().strip("\r\n") if pattern == "-" else pattern
    if not secret.strip():
        raise UsageError("there is nothing to look for; give the secret, or a pattern that matches it")
    return secret


def _go_through(scrubber: Scrubber, data_dir: Path) -> Scrubbed:
    folders = stored_folders(data_dir)
    with Progress("Looking through the runs" if scrubber.dry_run else "Scrubbing") as progress:
        for position, folder in enumerate(folders):
            scrubber.scrub_folder(folder)
            progress.at((position + 1) / len(folders))
    scrubber.drop_caches()
    return scrubber.done


def _confirmed(found: Scrubbed) -> bool:
    need_somebody("scrub asks before it changes stored runs")
    return confirmed(f"{_amount(found)}. Replace them for good?")


def _amount(found: Scrubbed) -> str:
    places = f"{found.matches:,} {'place' if found.matches == 1 else 'places'}"
    return f"Found in {places} of {len(found.runs):,} {'run' if len(found.runs) == 1 else 'runs'}"


def _say(out: Terminal, done: Scrubbed, *, dry_run: bool) -> None:
    if not done.matches:
        out.line("Not found in any stored run.")
        return
    out.line(f"{_amount(done)}{'.' if dry_run else ', and replaced.'}")
    for run_id in done.runs:
        out.line(run_id, indent=2)
    if not dry_run:
        problem("an open viewer may still show the old text, so restart it; and renew the secret, it was on disk")


# Facts about an event rather than content: a pattern that matches an id would cut the event loose from its run.
_KEPT_KEYS = frozenset(
    {"spec_version", "event_id", "run_id", "parent_id", "event_type", "ts", "started_at", "ended_at"}
)
# Names of values on a tape, and what they are found by.
_KEPT_ON_TAPE = frozenset({"tape", "run_id", "process", "mac", "rules", "v", "l", "b", "c", "k", "h"})
_REFERENCE = re.compile(r"@[A-Za-z0-9_-]{22}")
_LONGEST_TAPE_LINE = 40_000_000
_CHUNK = 1 << 18
_PARTIAL = 8
"""So many first characters of the secret before a cut are taken for the secret itself."""


class _Readable(Protocol):
    """A file, plain or packed."""

    def read(self, size: int, /) -> bytes: ...


@dataclass
class Scrubbed:
    """What was found, or replaced."""

    matches: int = 0
    runs: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    """Runs with a line, or a file, longer than any reader takes; they are left as they are."""


def make_matcher(pattern: str, *, fixed: bool) -> Callable[[str], tuple[str, int]]:
    """
    A function that gives a text without the secret, and how often it was there.

    The pattern is always looked for as the text it is, and as a regular expression too unless it is `fixed`, so that a
    secret with a `+` in it is found whichever way it was meant.
    """
    variants = dict.fromkeys([pattern, *_escaped_forms(pattern)])
    expression = "|".join(re.escape(variant) for variant in sorted(variants, key=len, reverse=True))
    if not fixed:
        with contextlib.suppress(re.error):
            if re.compile(pattern).match(""):
                raise UsageError(f"{pattern!r} matches an empty text, so it would match everywhere; be more precise")
            expression = f"(?:{expression})|(?:{pattern})"
    matching = re.compile(expression)
    before_cut = re.compile(_beginnings(pattern) + re.escape(TRUNCATED)) if len(pattern) > _PARTIAL else None
    after_cut = re.compile(re.escape(TRUNCATED) + _endings(pattern)) if len(pattern) > _PARTIAL else None

    def replace(text: str) -> tuple[str, int]:
        text, count = matching.subn(REDACTED, text)
        if before_cut is not None and after_cut is not None and TRUNCATED in text:
            text, before = before_cut.subn(REDACTED + TRUNCATED, text)
            text, after = after_cut.subn(TRUNCATED + REDACTED, text)
            count += before + after
        return text, count

    return replace


def _escaped_forms(secret: str) -> list[str]:
    once = json.dumps(secret)[1:-1]
    plain = json.dumps(secret, ensure_ascii=False)[1:-1]
    forms = [once, plain, json.dumps(once)[1:-1], once.replace("/", "\\/")]
    return [*forms, urllib.parse.quote(secret), urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret)]


def _beginnings(secret: str) -> str:
    """An expression for the first eight characters or more of a text."""
    expression = ""
    for character in reversed(secret[_PARTIAL:]):
        expression = f"(?:{re.escape(character)}{expression})?"
    return re.escape(secret[:_PARTIAL]) + expression


def _endings(secret: str) -> str:
    """An expression for the last eight characters or more of a text."""
    expression = ""
    for character in secret[:-_PARTIAL]:
        expression = f"(?:{expression}{re.escape(character)})?"
    return expression + re.escape(secret[-_PARTIAL:])


def stored_folders(data_dir: Path) -> list[Path]:
    """The folders of all runs, also of deleted ones."""
    found = []
    for root in (runs_dir(data_dir), trash_dir(data_dir)):
        with contextlib.suppress(OSError):
            found += [
                entry for entry in root.iterdir() if is_run_id(entry.name) and not entry.is_symlink() and entry.is_dir()
            ]
    return sorted(found)


class Scrubber:
    """Goes through run folders and adds up what it found or replaced in `done`."""

    def __init__(self, data_dir: Path, replace: Callable[[str], tuple[str, int]], *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self.done = Scrubbed()
        self._data_dir = data_dir
        self._replace = replace
        self._count = 0
        self._is_tape = False

    def scrub_folder(self, folder: Path) -> None:
        """All files of one run; one that is being written, or that holds more than is read, is only named."""
        meta = read_run(str(folder), folder.name)
        if meta is not None and meta["status"] == "running":
            self.done.running.append(folder.name)
            return
        before = self.done.matches
        for name in (EVENTS_FILE, EVENTS_GZIP_FILE, TAPE_FILE, TAPE_GZIP_FILE, RUN_FILE, LABEL_FILE):
            path = folder / name
            if path.is_file() and not path.is_symlink():
                try:
                    self._scrub_file(path)
                except TooMuch:
                    if folder.name not in self.done.too_large:
                        self.done.too_large.append(folder.name)
        if self.done.matches > before:
            self.done.runs.append(folder.name)

    def drop_caches(self) -> None:
        """Remove the caches, which may hold what was replaced; they are rebuilt from the runs."""
        if not self.dry_run and self.done.matches:
            shutil.rmtree(index_dir(self._data_dir), ignore_errors=True)

    def _scrub_file(self, path: Path) -> None:
        # A name nobody can have taken or linked beforehand, and that is only ever made anew.
        temporary = path.with_name(f"{path.name}.{os.urandom(8).hex()}.scrub.tmp")
        try:
            with _opened(path) as source:
                # Events and values are a line each; the other files are one document, however it is laid out.
                self._is_tape = path.name.startswith(TAPE_FILE)
                if self._is_tape:
                    lines: Iterable[bytes] = _lines(source, _LONGEST_TAPE_LINE)
                else:
                    lines = _lines(source) if path.name.startswith(EVENTS_FILE) else [_whole(source)]
                count = self._write_scrubbed(lines, None if self.dry_run else temporary, is_packed=path.suffix == ".gz")
            if count and not self.dry_run:
                _make_durable(temporary)
                os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        self.done.matches += count

    def _write_scrubbed(self, lines: Iterable[bytes], path: Path | None, *, is_packed: bool) -> int:
        """Write the lines without the secret to a new file, if one is named; how often it was found."""
        count = 0
        with contextlib.ExitStack() as files:
            write: Callable[[bytes], object] = len  # looked at and let go
            if path is not None:
                descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                plain = files.enter_context(os.fdopen(descriptor, "wb"))
                packed = gzip.GzipFile(fileobj=plain, mode="wb", mtime=0) if is_packed else None
                write = files.enter_context(packed).write if packed is not None else plain.write
            for line in lines:
                scrubbed, found = self.scrub_line(line)
                count += found
                write(scrubbed)
        return count

    def scrub_line(self, line: bytes) -> tuple[bytes, int]:
        """A line without the secret. One that is not JSON is treated as text; one without a match stays as it is."""
        body = line.rstrip(b"\r\n")
        self._count = 0
        try:
            check_json_size(body)
            value = self._scrubbed(decode_json(body), at_top=True)
            if self._count and self._is_tape and isinstance(value, dict):
                value["scrubbed"] = True
            clean = encode_json(value) if self._count else body
        except (ValueError, TypeError, RecursionError):
            text, self._count = self._replace(body.decode("utf-8", "surrogateescape"))
            clean = text.encode("utf-8", "surrogateescape")
        return (clean + line[len(body) :] if self._count else line), self._count

    def _scrubbed(self, value: Any, *, at_top: bool = False) -> Any:
        if isinstance(value, str):
            return value if self._is_tape and _REFERENCE.fullmatch(value) else self._text(value)
        if isinstance(value, list):
            return [self._scrubbed(item) for item in value]
        if isinstance(value, dict):
            result: dict[str, Any] = {}
            for key, item in value.items():
                name = self._text(key)
                while name in result:
                    name += "_"  # two secrets as keys of one object must not become one key
                kept = _KEPT_ON_TAPE if self._is_tape else _KEPT_KEYS
                result[name] = item if at_top and key in kept else self._scrubbed(item)
            return result
        return value

    def _text(self, text: str) -> str:
        text, count = self._replace(text)
        self._count += count
        return text


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[_Readable]:
    with open_regular(path) as plain:
        yield PackedLines(plain) if path.suffix == ".gz" else plain


def _whole(source: _Readable) -> bytes:
    content = b""
    while chunk := source.read(_CHUNK):
        content += chunk
        if len(content) > LONGEST_LINE:
            raise TooMuch("it is too long")
    return content


def _lines(source: _Readable, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Every line that can be read: where a compressed file is damaged, nobody can read what follows."""
    rest = b""
    while True:
        try:
            chunk = source.read(_CHUNK)
        except (EOFError, zlib.error):
            break
        if not chunk:
            break
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in whole)
        if len(rest) > longest:
            raise TooMuch("a line is too long")
    if rest:
        yield rest


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
