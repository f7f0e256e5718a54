"""
Change what is stored: rename, delete and bring back, compress, prune.

Events are never changed. A new name lies beside the run, a deleted run waits a day in the trash, and a run is
compressed only when nobody writes it and the compressed copy has been read back whole. Everything made here is private
to the user, and appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from agentdbg.bounded.files import GzipReader, is_within_bounds
from agentdbg.config import load_config
from agentdbg.encoding import encode_json
from agentdbg.exceptions import AmbiguousRun, DeletedRunNotFound, RunNotFound, UsageError
from agentdbg.storage.dialects import timestamp_ms
from agentdbg.storage.layout import (
    EVENTS_FILE,
    EVENTS_GZIP_FILE,
    LABEL_FILE,
    RUN_FILE,
    TAPE_FILE,
    TAPE_GZIP_FILE,
    index_dir,
    is_run_id,
    make_private_folder,
    open_private,
    remove_quietly,
    replace_file,
    run_dir,
    tables_dir,
    trash_dir,
)
from agentdbg.storage.lines import open_regular
from agentdbg.storage.reader import default_data_dir, find_run, list_runs, load_run_meta, run_folder
from agentdbg.storage.runfile import is_being_written, read_label, read_object, read_run

if TYPE_CHECKING:
    from agentdbg.events import RunMeta

__all__ = [
    "DAY_SECONDS",
    "DeletedRun",
    "Pruned",
    "compress_run",
    "delete_run",
    "deleted_runs",
    "drop_tapes",
    "empty_trash",
    "mark_run",
    "prune",
    "rename_run",
    "restore_run",
]

DAY_SECONDS = 86_400.0
_LONGEST_NAME = 500
_LONGEST_REASON = 2_000
_CHUNK = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS


class StillWritten(UsageError):
    """The run's events are being written, so they stay as they are."""


def rename_run(run: str, run_name: str, data_dir: str | Path | None = None) -> RunMeta:
    """Give a run a name of the user's own; an empty one brings the recorded name back."""
    root = _data_dir(data_dir)
    run_id = find_run(run, root)
    name = run_name.strip()
    if len(name) > _LONGEST_NAME:
        raise UsageError(f"a run name has at most {_LONGEST_NAME} characters, and this one has {len(name)}")
    _check_text(name, "name")
    _relabel(run_id, root, "run_name", _without_secrets(name, _LONGEST_NAME) if name else None)
    return load_run_meta(run_id, root)


def mark_run(run: str, outcome: Literal["passed", "failed"] | None, why: str = "", data_dir: Any = None) -> RunMeta:
    """Say whether a run did its task, and why; None takes the mark away. What was recorded stays as it is."""
    root = _data_dir(data_dir)
    run_id = find_run(run, root)
    words = " ".join(why.split())
    if len(words) > _LONGEST_REASON:
        raise UsageError(f"the reason has at most {_LONGEST_REASON} characters, and this one has {len(words)}")
    _check_text(words, "reason")
    mark = None if outcome is None else {"outcome": outcome, "why": _without_secrets(words, _LONGEST_REASON)}
    _relabel(run_id, root, "mark", mark)
    return load_run_meta(run_id, root)


def _relabel(run_id: str, root: Path, key: str, value: Any) -> None:
    """Put one thing a user says of a run beside it; what else was said stays."""
    folder = run_folder(run_id, root)
    said = {**read_label(str(folder)), key: value}
    kept = {name: item for name, item in said.items() if item is not None}
    if kept:
        try:
            replace_file(folder / LABEL_FILE, encode_json(kept))
        except FileNotFoundError:  # somebody deletes it at this moment
            raise RunNotFound(run_id, root) from None
    else:
        (folder / LABEL_FILE).unlink(missing_ok=True)


def _check_text(text: str, what: str) -> None:
    try:
        text.encode()
    except ValueError:
        raise UsageError(f"the {what} is not valid Unicode text") from None


def _without_secrets(name: str, longest: int) -> str:
    """A name is text on disk like any other: a key that was pasted into it is taken out."""
    from agentdbg.redaction import RedactionRules, Redactor  # noqa: PLC0415 -- as above

    config = load_config()
    rules = RedactionRules(config.redact, config.redact_keys, config.redact_values, config.redact_patterns)
    return Redactor(rules).clean_text(name, longest)


def delete_run(run: str, data_dir: str | Path | None = None) -> str:
    """Move a run to the trash, where `restore_run` finds it for a day. Gives its id."""
    root = _data_dir(data_dir)
    run_id = find_run(run, root)
    _move_to_trash(run_folder(run_id, root), root)
    return run_id


def _move_to_trash(folder: Path, root: Path) -> None:
    if trash_dir(root).is_symlink():
        raise UsageError(f"{trash_dir(root)} is a link, and deleted runs stay in the data folder; remove the link")
    make_private_folder(trash_dir(root))
    target = trash_dir(root) / folder.name
    _remove(target)
    os.rename(folder, target)
    os.utime(target)  # from now on the day counts
    for kept in index_dir(root).glob(f"{folder.name}.*"):  # what was found in it says what stood in it
        remove_quietly(kept)


def restore_run(run: str, data_dir: str | Path | None = None) -> str:
    """Bring a deleted run back. Gives its id."""
    root = _data_dir(data_dir)
    prefix = run.strip().lower()
    found = [name for name in _trashed(root) if prefix and name.startswith(prefix)]
    if not found:
        raise DeletedRunNotFound(run, trash_dir(root))
    if len(found) > 1:
        raise AmbiguousRun(run, found)
    target = root / "runs" / found[0]
    if os.path.lexists(target):
        raise UsageError(f"a run {found[0]} exists already; delete or keep that one")
    make_private_folder(target.parent)
    os.rename(trash_dir(root) / found[0], target)
    return found[0]


@dataclass(frozen=True)
class DeletedRun:
    """A run in the trash, and when it was deleted, in seconds since 1970."""

    meta: RunMeta
    deleted_at: float


def deleted_runs(data_dir: str | Path | None = None) -> list[DeletedRun]:
    """What `restore_run` can bring back, the last deleted first."""
    root = _data_dir(data_dir)
    found = []
    for name in _trashed(root):
        path = trash_dir(root) / name
        meta = read_run(str(path), name)
        with contextlib.suppress(OSError):
            deleted_at = os.lstat(path).st_mtime
            if meta is not None:
                found.append(DeletedRun(meta, deleted_at))
    return sorted(found, key=lambda deleted: deleted.deleted_at, reverse=True)


def empty_trash(
    data_dir: str | Path | None = None, older_than_s: float = DAY_SECONDS, now: float | None = None
) -> list[str]:
    """Remove for good what was deleted longer ago than a day. Gives the ids."""
    root = _data_dir(data_dir)
    limit = (time.time() if now is None else now) - older_than_s
    gone = []
    for name in _trashed(root):
        path = trash_dir(root) / name
        with contextlib.suppress(OSError):
            if os.lstat(path).st_mtime <= limit:
                _remove(path)
                gone.append(name)
    if gone:  # what is gone for good must not live on in tables made from it
        shutil.rmtree(tables_dir(root), ignore_errors=True)
    return gone


def compress_run(run: str, data_dir: str | Path | None = None) -> int:
    """
    Gzip a finished run's events and its tape; gives the bytes saved, 0 when there was nothing to do.

    The original goes only after the copy was read back and found equal.
    """
    root = _data_dir(data_dir)
    run_id = find_run(run, root)
    return _compress(run_folder(run_id, root), load_run_meta(run_id, root))


def _compress(folder: Path, meta: RunMeta) -> int:
    if _is_in_use(meta, folder):
        raise StillWritten(f"run {meta['run_id']} is still being written; it can be compressed when it has ended")
    saved = _compress_file(folder / EVENTS_FILE, folder / EVENTS_GZIP_FILE, meta["run_id"])
    return saved + _compress_file(folder / TAPE_FILE, folder / TAPE_GZIP_FILE, meta["run_id"])


def _compress_file(plain: Path, packed: Path, run_id: str) -> int:
    try:
        source = open_regular(plain)
    except OSError:
        return 0
    temporary = packed.with_name(f"{packed.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with source:
            before = os.fstat(source.fileno())
            digest = _pack(source, temporary)
            if not is_within_bounds(temporary.stat().st_size, before.st_size):
                return 0  # one thing repeated for ever: readers would take the packed file for a trap
            with open_regular(temporary) as copy:
                if _unpacked_digest(copy) != digest:
                    raise UsageError(f"the compressed copy of run {run_id} could not be read back; nothing was changed")
            after = os.fstat(source.fileno())
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise StillWritten(f"run {run_id} changed while it was being compressed; nothing was changed")
        os.utime(temporary, ns=(before.st_atime_ns, before.st_mtime_ns))
        saved = before.st_size - temporary.stat().st_size
        os.replace(temporary, packed)
        plain.unlink()
    finally:
        temporary.unlink(missing_ok=True)
    return saved


def drop_tapes(
    older_than_s: float,
    keep: int | None = None,
    *,
    dry_run: bool = False,
    data_dir: str | Path | None = None,
    now: float | None = None,
) -> Pruned:
    """
    Remove the tapes of finished runs older than a time, sparing the `keep` newest runs; the runs themselves stay.

    run.json says why the tape is gone.
    """
    root = _data_dir(data_dir)
    limit_s = (time.time() if now is None else now) - older_than_s
    result = Pruned()
    for meta in list_runs(data_dir=root)[max(0, keep or 0) :]:
        folder = run_dir(root, meta["run_id"])
        tapes = [path for name in (TAPE_FILE, TAPE_GZIP_FILE) if (path := folder / name).is_file()]
        is_new = any(path.stat().st_mtime > limit_s for path in tapes)  # an old run may have been imported today
        if not tapes or is_new or timestamp_ms(meta["started_at"]) > limit_s * 1000 or _is_in_use(meta, folder):
            continue
        result.without_tape.append(meta)
        result.freed_bytes += sum(path.stat().st_size for path in tapes)
        if not dry_run:
            for path in tapes:
                path.unlink()
            _note_dropped_tape(folder, older_than_s / DAY_SECONDS)
    return result


def _note_dropped_tape(folder: Path, days: float) -> None:
    """Let run.json say that there was a tape; it is a cache, so that one that cannot be read is left alone."""
    meta = read_object(str(folder / RUN_FILE))
    if meta is None:
        return
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        why = f"dropped after {days:g} days"
        replace_file(
            folder / RUN_FILE,
            encode_json({**meta, "replay": {**(meta.get("replay") or {}), "state": "none", "why": why}}) + b"\n",
        )


@dataclass
class Pruned:
    """What `prune` did, or would do."""

    deleted: list[RunMeta] = field(default_factory=list)
    compressed: list[RunMeta] = field(default_factory=list)
    without_tape: list[RunMeta] = field(default_factory=list)
    """Runs that lost their tapes alone."""
    freed_bytes: int = 0


def prune(
    older_than_s: float | None = None,
    keep: int | None = None,
    *,
    compress: bool = False,
    dry_run: bool = False,
    data_dir: str | Path | None = None,
    now: float | None = None,
) -> Pruned:
    """
    Delete (or with `compress`, gzip) finished runs older than a time, always sparing the `keep` newest.

    With only `keep`, everything beyond the newest goes. Runs still running are never touched, and none is compressed
    under its writer. Deleted runs go to the trash, and what has been there for a day goes for good.
    """
    if older_than_s is None and keep is None:
        raise UsageError("say which runs: those older than a time, all but the newest, or both")
    root = _data_dir(data_dir)
    limit_ms = None if older_than_s is None else ((time.time() if now is None else now) - older_than_s) * 1000
    result = Pruned()
    for meta in list_runs(data_dir=root)[max(0, keep or 0) :]:
        if meta["status"] == "running" or (limit_ms is not None and timestamp_ms(meta["started_at"]) > limit_ms):
            continue
        folder = run_dir(root, meta["run_id"])
        if not compress:
            result.deleted.append(meta)
            result.freed_bytes += sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder))
            if not dry_run:
                _move_to_trash(folder, root)
        elif (folder / EVENTS_FILE).is_file() and not _is_in_use(meta, folder):
            if not dry_run:
                try:
                    result.freed_bytes += _compress(folder, meta)
                except StillWritten:  # somebody began to write again
                    continue
            result.compressed.append(meta)
    if not dry_run:
        empty_trash(root, now=now)
    return result


def _is_in_use(meta: RunMeta, folder: Path) -> bool:
    """Whether a process may still write this run: it can hold the file for a moment after the run has ended."""
    return meta["status"] == "running" or is_being_written(str(folder / EVENTS_FILE), meta.get("owner"))


def _data_dir(given: str | Path | None) -> Path:
    return default_data_dir() if given is None else Path(given)


def _trashed(root: Path) -> list[str]:
    if trash_dir(root).is_symlink():
        return []
    try:
        with os.scandir(trash_dir(root)) as entries:
            return [entry.name for entry in entries if is_run_id(entry.name) and entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def _pack(source: BinaryIO, target: Path) -> bytes:
    """Write `source` gzipped to `target`; the digest of what was read."""
    digest = hashlib.sha256()
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    with os.fdopen(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            file.write(packer.compress(chunk))
        file.write(packer.flush())
        file.flush()
        os.fsync(file.fileno())
    return digest.digest()


def _unpacked_digest(file: BinaryIO) -> bytes:
    digest = hashlib.sha256()
    unpacked = GzipReader(file)
    try:
        while chunk := unpacked.read(_CHUNK):
            digest.update(chunk)
    except (EOFError, zlib.error):
        return b""
    return digest.digest()
