"""
The file of a gate's baseline, and the run that a gate judges.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.run_baseline import parse_baseline
from agentdbg.analysis.checks.run_facts import RunFacts, gather
from agentdbg.bounded.files import read_small
from agentdbg.bounded.json_size import check_json_size
from agentdbg.exceptions import UsageError
from agentdbg.storage.layout import replace_file
from agentdbg.storage.lines import iter_lines, open_events
from agentdbg.storage.reader import load_events, load_run_meta, run_folder

if TYPE_CHECKING:
    from agentdbg.analysis.checks.run_baseline import Baseline
    from agentdbg.analysis.effects import EffectRules

__all__ = [
    "baseline_bytes",
    "count_damaged_lines",
    "facts_of",
    "facts_of_named",
    "file_of",
    "read_baseline",
    "write_baseline",
]

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
        raise UsageError(f"the baseline {path} is not JSON that can be used: {error}") from None
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
    from agentdbg.commands.finding import find  # noqa: PLC0415
    from agentdbg.commands.run_files import is_path, read_run_file  # noqa: PLC0415

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
