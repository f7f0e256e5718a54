"""
What was found in a run, looked for once: kept beside its index for as long as the run and the rules are the same.

What is kept is used only for the very bytes that it was found in, with what else was known of the run then, by the
sources that look for it now. Never the truth: a file that is missing, torn or made up by somebody else is as good as
none. How a run differs from others that passed is not kept, since it changes with them.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, cast, get_args

from agentdbg.analysis.findings import Examination, Finding, examine
from agentdbg.analysis.findings.evidence import Evidence, severity_rank
from agentdbg.analysis.known_outcome import KnownOutcome
from agentdbg.analysis.suspects import Suspect
from agentdbg.analysis.verdict import RunState
from agentdbg.index.run_cache import rules_version
from agentdbg.storage.layout import index_dir, make_private_folder, replace_file
from agentdbg.storage.lines import open_events, read_regular
from agentdbg.storage.reader import events_in, run_folder

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.analysis.wording import Line
    from agentdbg.events import RunMeta

__all__ = ["MOST_EVENTS_LOOKED_AT", "examined", "examined_if_short", "known_findings"]

MOST_EVENTS_LOOKED_AT = 3_000
"""A run of so many events is looked through while somebody waits for something else."""
_LARGEST = 16 << 20
_WORTH_KEEPING = 1 << 18
"""A shorter log is looked through sooner than a file is made for it."""
_CHUNK = 1 << 20
_MOST_UNWRITTEN = 8
_unwritten: dict[Path, bytes] = {}
"""What a process remembers that may not write."""


def examined(data_dir: Path, run: RunMeta, *, keep: bool = True) -> Examination:
    """Everything found in a run, by the last look at it if nothing has changed; without `keep` nothing is written."""
    known = known_findings(data_dir, run)
    if known is not None:
        return known
    file = open_events(run_folder(run["run_id"], data_dir))
    if file is None:
        return examine((), run)
    with file:
        read = _Digested(file)
        found = examine(events_in(cast("BinaryIO", read), run["run_id"]), run)
    if read.size >= _WORTH_KEEPING:
        path, content = _path(data_dir, run), _packed(found, _about(run), read.digest.hexdigest())
        if keep:
            _write(path, content)
        else:
            _unwritten[path] = content
            if len(_unwritten) > _MOST_UNWRITTEN:
                del _unwritten[next(iter(_unwritten))]
    return found


def examined_if_short(data_dir: Path, run: RunMeta, length: int, *, keep: bool = True) -> Examination | None:
    """What is found in a run of so many events if that takes a blink, else if somebody found it before."""
    if length <= MOST_EVENTS_LOOKED_AT:
        return examined(data_dir, run, keep=keep)
    return known_findings(data_dir, run)


def known_findings(data_dir: Path, run: RunMeta) -> Examination | None:
    """What an earlier look at a run found; None where nobody looked, or something has changed since."""
    try:
        path = _path(data_dir, run)
        kept = json.loads(_unwritten[path] if path in _unwritten else read_regular(path, _LARGEST))
        if kept["about"] != _about(run) or kept["events"] != _digest_of(run_folder(run["run_id"], data_dir)):
            return None
        return _unpacked(kept)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


class _Digested:
    """A file that is read from its beginning, with a digest of what was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = sha256()
        self.size = 0

    def read(self, size: int) -> bytes:
        chunk = self._file.read(size)
        self.digest.update(chunk)
        self.size += len(chunk)
        return chunk


def _digest_of(folder: Path) -> str | None:
    file = open_events(folder)
    if file is None:
        return None
    with file:
        read = _Digested(file)
        while read.read(_CHUNK):
            pass
    return read.digest.hexdigest()


def _path(data_dir: Path, run: RunMeta) -> Path:
    return index_dir(data_dir) / f"{run['run_id']}.findings"


def _about(run: RunMeta) -> str:
    """The rules, and all that is known of the run besides its events: how it ended, its mark, its metadata."""
    known: Any = {key: value for key, value in run.items() if key != "owner"}
    return f"{rules_version()} {sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()}"


def _packed(found: Examination, about: str, events: str) -> bytes:
    suspects = [(one.rank, one.kind, one.line, one.numbers, one.event_ids, one.weight) for one in found.suspects]
    findings = []
    for one in found.findings:
        evidence = (one.evidence.numbers, one.evidence.event_ids, one.evidence.count)
        findings.append((one.kind, one.severity, one.line, *evidence, one.figures))
    outcome = None if found.outcome is None else list(found.outcome)
    told = {"state": found.state, "outcome": outcome, "suspects": suspects, "findings": findings}
    return json.dumps({"about": about, "events": events, **told}).encode()


def _unpacked(kept: dict[str, Any]) -> Examination:
    """What a file holds; an error of the kinds that `known_findings` expects when it is none of ours."""
    findings, suspects = [], []
    if kept["state"] not in get_args(RunState):
        raise ValueError(f"{kept['state']!r} is no state")
    for kind, severity, said, numbers, ids, count, figures in kept["findings"]:
        severity_rank(severity)
        evidence = Evidence(list(map(int, numbers)), list(map(str, ids)), int(count))
        findings.append(Finding(str(kind), severity, _line(said), evidence, dict(figures)))
    for place, kind, said, numbers, ids, weight in kept["suspects"]:
        shown = (tuple(map(int, numbers)), tuple(map(str, ids)))
        suspects.append(Suspect(int(place), str(kind), _line(said), *shown, float(weight)))
    outcome = None
    if kept["outcome"] is not None:
        passed, source, why = kept["outcome"]
        outcome = KnownOutcome(bool(passed), source, str(why))
    return Examination(findings, suspects, outcome, kept["state"])


def _line(said: dict[str, Any]) -> Line:
    number = None if said["n"] is None else int(said["n"])
    return {"n": number, "parts": [{"text": str(part["text"]), "style": part["style"]} for part in said["parts"]]}


def _write(path: Path, content: bytes) -> None:
    try:
        make_private_folder(path.parent)
        replace_file(path, content)
    except OSError:
        pass  # it is looked for again
