"""
A run in a file of its own: what `agentdbg export` wrote, or the log or the whole folder of a run from elsewhere.

The file of a gate's baseline, and the run that a gate judges.
"""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.checks.run_baseline import parse_baseline
from agentdbg.analysis.checks.run_facts import RunFacts, gather
from agentdbg.bounded import TooMuch
from agentdbg.bounded.files import open_plain, read_all, read_small
from agentdbg.bounded.json_size import check_json_size
from agentdbg.commands.find_runs import find
from agentdbg.encoding import decode_json, encode_json
from agentdbg.exceptions import UsageError
from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.layout import replace_file
from agentdbg.storage.lines import events_path, iter_lines, open_events
from agentdbg.storage.reader import load_events, load_run_meta, run_folder
from agentdbg.storage.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.analysis.checks.run_baseline import Baseline
    from agentdbg.analysis.effects import EffectRules
    from agentdbg.events import Event, RunMeta

__all__ = [
    "baseline_bytes",
    "count_damaged_lines",
    "facts_of",
    "facts_of_named",
    "file_of",
    "is_path",
    "read_baseline",
    "read_run_file",
    "write_baseline",
]

_LOGS = (".jsonl", ".jsonl.gz")
_LONGEST_FILE = 32 << 20


class RunFile(NamedTuple):
    """A run as a file holds it; damaged lines of a log are left out and counted."""

    run_id: str
    name: str
    events: list[Event]
    damaged_lines: int

    def meta(self) -> RunMeta:
        """What run.json would say of it, counted from its events."""
        tally = Tally(self.run_id)
        for number, event in enumerate(self.events):
            tally.add(encode_json(event), number)
        return {**tally.result(is_live=False, folder_time=""), "run_name": self.name}


def is_path(wanted: str) -> bool:
    """Whether a person means a file or a folder; the id of a run has neither a dot nor a slash."""
    return "." in wanted or os.sep in wanted or "/" in wanted


def read_run_file(path: Path) -> RunFile:
    """The run in a file or a folder; UsageError for one that is not there, or holds no run."""
    try:
        found = _read(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    if not found.events:
        raise UsageError(f"{path} holds no events")
    return found


def _read(path: Path) -> RunFile:
    if path.is_dir():
        log = events_path(path)
        if log is None:
            raise UsageError(f"the folder {path} has no events.jsonl, so it is none of a run")
        path = Path(log)
    content = _content(path)
    if path.name.endswith(_LOGS):
        return _run_of(path, {}, content.splitlines())
    document = _document(path, content)
    meta = document["run"] if isinstance(document.get("run"), dict) else {}
    return _run_of(path, meta, map(encode_json, document["events"]))


def _content(path: Path) -> bytes:
    """The whole file, unpacked. All of it is held in memory, so there is a limit to it."""
    try:
        with open_plain(path) as file:
            content = read_all(file, _LONGEST_FILE)
        check_json_size(content)
    except (EOFError, zlib.error):
        raise UsageError(f"{path} is damaged and cannot be unpacked") from None
    except TooMuch as error:
        raise UsageError(f"{path} is too large to be read at once ({error}); `agentdbg import` it first") from None
    return content


def _document(path: Path, content: bytes) -> dict[str, Any]:
    try:
        document = decode_json(content)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("events"), list):
        raise UsageError(f"{path} is no run; `agentdbg export RUN --out {path.stem}.json` writes one")
    return document


def _run_of(path: Path, meta: dict[str, Any], lines: Iterable[bytes]) -> RunFile:
    events: list[Event] = []
    damaged_lines = 0
    for number, text in enumerate(lines):
        if text.strip():
            try:
                events.append(parse_event(text, "", number))
            except DamagedLine:
                damaged_lines += 1
    start = next((event for event in events if event["event_type"] == "RUN_START"), None)
    name = meta.get("run_name") or (path.name if start is None else start["name"])
    run_id = meta.get("run_id") or (events[0]["run_id"] if events else "") or path.stem
    return RunFile(str(run_id), str(name), events, damaged_lines)


_LONGEST_BASELINE = 16 << 20


def file_of(option: str, given: str) -> Path:
    """The file an option names; UsageError for no name, which is a variable that nobody has set."""
    if not given.strip():
        raise UsageError(f"{option} is empty; name a file, or leave the option out")
    return Path(given)


def read_baseline(path: Path) -> Baseline:
    """A stored baseline; UsageError for a file that is missing or none."""
    try:
        text = read_small(path, _LONGEST_BASELINE)
        check_json_size(text)
        content = json.loads(text, object_pairs_hook=_told_once)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(
            f"the baseline {path} cannot be read: {reason}; `agentdbg baseline RUN --out {path}` makes one"
        ) from None
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"the baseline {path} is not JSON that can be used: {why}") from None
    return parse_baseline(content, str(path))


def _told_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of a baseline. Of a key that a merge has left in twice the last would win without a word."""
    table = dict(pairs)
    if len(table) < len(pairs):
        count = Counter(name for name, _ in pairs)
        raise ValueError(f"{count.most_common(1)[0][0]!r} stands twice in one table")
    return table


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Store a baseline, its folder too if need be; whole or not at all. Through a link, what it names is written."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, like {path / 'baseline.json'}")
    target = path.resolve()
    try:
        os.makedirs(target.parent, exist_ok=True)
        replace_file(target, baseline_bytes(baseline))
    except OSError as error:
        raise UsageError(f"the baseline {path} cannot be written: {error.strerror}") from None


def baseline_bytes(baseline: Baseline) -> bytes:
    """The baseline as its file holds it: a few lines that a review can read."""
    return (_layout(baseline.as_json()) + "\n").encode()


def _layout(content: dict[str, Any]) -> str:
    """JSON with one line for each list of numbers, so that twenty runs make no twenty lines of each."""
    parts = []
    for key, value in content.items():
        if key in ("tools", "totals"):
            rows = [f"    {_json(name)}: {_json(numbers)}" for name, numbers in value.items()]
            text = "{\n" + ",\n".join(rows) + "\n  }" if rows else "{}"
        else:
            text = _json(value, indent=2).replace("\n", "\n  ")
        parts.append(f"  {_json(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}"


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def facts_of_named(wanted: str, data_dir: Path, rules: EffectRules) -> RunFacts:
    """The facts of the run that a person names: by its id, a unique prefix, `latest`, or a file or folder."""
    # Whoever tests an agent has its run at hand, and looks for none.
    if not is_path(wanted):
        return facts_of(find(wanted, data_dir), data_dir, rules)
    file = read_run_file(Path(wanted))
    return replace(gather(lambda: file.events, file.meta(), rules), damaged_lines=file.damaged_lines)


def facts_of(run_id: str, data_dir: Path, rules: EffectRules) -> RunFacts:
    """The facts of a stored run."""
    facts = gather(lambda: load_events(run_id, data_dir), load_run_meta(run_id, data_dir), rules)
    if facts.status == "running":
        return facts  # its last line may be half written, which is no damage
    events = facts.last_event.number if facts.last_event else 0
    return replace(facts, damaged_lines=count_damaged_lines(run_folder(run_id, data_dir), events))


def count_damaged_lines(folder: Path, events: int) -> int:
    """How many lines of a run's log are not among the events that were read from it."""
    file = open_events(folder)
    if file is None:
        return 0
    with file:
        lines = sum(line is None or bool(line.strip()) for _, line in iter_lines(file))
    return max(lines - events, 0)
