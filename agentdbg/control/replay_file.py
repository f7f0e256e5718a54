"""
`.agentdbg/replay.yaml` of a project: parts of inputs that differ from run to run, and what a replay may do.

    volatile:
      - {call: "tool:search", path: args.request_id}
      - {call: llm, path: "messages[0].content", kinds: [time, uuid]}
    allow: ["net:localhost:5432"]
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from agentdbg.control.effects_guard import parse_allow
from agentdbg.control.volatile_inputs import VolatileRule, rules_of
from agentdbg.exceptions import UsageError
from agentdbg.strict_yaml import read_strictly

__all__ = ["ReplayFile", "find_replay_file", "read_replay_file"]

_FILE = Path(".agentdbg") / "replay.yaml"
_KEYS = {"volatile", "allow"}


class ReplayFile(NamedTuple):
    """What the file says."""

    volatile: list[VolatileRule]
    allow: list[tuple[str, str]]


def find_replay_file(start: Path | None = None) -> Path | None:
    """The nearest file from a folder upwards; None when there is none."""
    folder = Path.cwd() if start is None else start
    return next((one / _FILE for one in (folder, *folder.parents) if os.path.lexists(one / _FILE)), None)


def read_replay_file(start: Path | None = None) -> ReplayFile:
    """Read the nearest file from a folder upwards; an empty one when there is none. Raises UsageError."""
    path = find_replay_file(start)
    if path is None:
        return ReplayFile([], [])
    return _read(path)


def _read(path: Path) -> ReplayFile:
    try:
        content = read_strictly(path) or {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict) or not content.keys() <= _KEYS:
        raise UsageError(f"{path} has other keys than volatile and allow; docs/replay.md shows what it may hold")
    allow = content.get("allow") or []
    if not isinstance(allow, list):
        raise UsageError(f"allow in {path} is not a list of rules like net:localhost:5432")
    return ReplayFile(rules_of(content, str(path)), [parse_allow(str(rule)) for rule in allow])
