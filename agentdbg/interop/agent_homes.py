"""
Where coding agents keep their sessions on this machine, and which are there, newest first.

Only names and times are looked at; of a session that is offered to a person, also the first request.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.bounded.files import read_start
from agentdbg.encoding import decode_json
from agentdbg.interop.importers.message_forms import request_in
from agentdbg.interop.sessions import short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import event_files

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AGENTS", "FoundSession", "find_sessions", "first_request", "places_of"]

_AGENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    # The variables that name the home, the homes where none is set, and what lies in it.
    "claude": (("CLAUDE_CONFIG_DIR",), ("~/.claude", "~/.config/claude"), ("projects/*/*.jsonl",)),
    "codex": (("CODEX_HOME",), ("~/.codex",), ("sessions/**/rollout-*.json*", "archived_sessions/**/rollout-*.json*")),
    "gemini": (("GEMINI_CLI_HOME",), ("~/.gemini",), ("tmp/*/chats/session-*.json*", "tmp/*/checkpoint-*.json")),
    "qwen": (("QWEN_HOME",), ("~/.qwen",), ("projects/*/chats/*.jsonl", "tmp/*/chats/session-*.json*")),
    "copilot": (("COPILOT_CONFIG_DIR",), ("~/.copilot",), ("session-state/*/events.jsonl", "session-state/*.jsonl")),
    "amp": (("AMP_DATA_HOME",), ("~/.local/share/amp",), ("threads/T-*.json",)),
    "openhands": ((), ("~/.openhands",), ("conversations/*", "sessions/*")),
    "mini": (
        ("MSWEA_GLOBAL_CONFIG_DIR",),
        ("~/.config/mini-swe-agent", "~/Library/Application Support/mini-swe-agent"),
        ("**/*.traj.json",),
    ),
    "aider": ((), (".", "~"), (".aider.chat.history.md",)),
}
AGENTS = tuple(_AGENTS)
"""The names `--from` takes."""
_LOOKED_AT = 256 << 10
_MOST_LINES = 60
_FIRST_WORDS = re.compile(rb'"type":\s*"(?:user",\s*"content|text",\s*"text)":\s*"((?:[^"\\]|\\.){1,400})')


@dataclass(frozen=True)
class FoundSession:
    """A session that lies on this machine."""

    path: Path
    changed_s: float
    bytes: int


def places_of(agent: str) -> list[Path]:
    """The folders where an agent keeps its sessions, whether they exist or not."""
    variables, homes, _ = _AGENTS[agent]
    set_here = [os.environ[name] for name in variables if os.environ.get(name)]
    return [Path(home).expanduser() for home in (set_here or homes)]


def find_sessions(agent: str) -> list[FoundSession]:
    """An agent's sessions, newest first."""
    found: dict[Path, FoundSession] = {}
    for home in places_of(agent):
        for pattern in _AGENTS[agent][2]:
            for path in home.glob(pattern):
                session = _session(path)
                if session is not None:
                    found[path] = session
    return sorted(found.values(), key=lambda session: (-session.changed_s, str(session.path)))


def _session(path: Path) -> FoundSession | None:
    if path.name.startswith("agent-"):
        return None  # a subagent's, which comes in with its session
    files = event_files(path) if path.is_dir() else [path]
    try:
        facts = [file.stat() for file in files]
    except OSError:
        return None
    if not facts or not sum(fact.st_size for fact in facts):
        return None
    return FoundSession(path, max(fact.st_mtime for fact in facts), sum(fact.st_size for fact in facts))


def first_request(session: FoundSession) -> str:
    """What a session is about, from its first lines; empty where they do not say."""
    files = event_files(session.path)[:5] if session.path.is_dir() else [session.path]
    for path in files:
        try:
            content = read_start(path, _LOOKED_AT)
        except OSError:
            continue
        said = next(_requests(content), "")
        if said:
            return short_name(said)
    return ""


def _requests(content: bytes) -> Iterator[str]:
    """What people said in the lines of a file, as far as they can be read."""
    for line in content.splitlines()[:_MOST_LINES]:
        if line.startswith(b"####"):
            yield line[4:].decode("utf-8", "replace").strip()
        if not line.startswith(b"{"):
            continue
        try:
            entry = as_dict(decode_json(line))
        except ValueError:
            continue
        said = _said_in(entry)
        if said and not said.lstrip().startswith(("<", "# AGENTS.md", "Caveat:")):
            yield said
    found = _FIRST_WORDS.search(content)
    if found is not None:
        yield found[1].decode("utf-8", "replace").replace("\\n", " ")


def _said_in(entry: dict[str, Any]) -> str:
    if entry.get("type") == "user.message":
        return as_word(as_dict(entry.get("data")).get("content"))
    told = as_dict(entry.get("payload")) or entry
    message = as_dict(told.get("message")) or as_dict(told.get("llm_message")) or told
    is_users = "user" in (message.get("role"), entry.get("type"), told.get("source")) and not entry.get("isMeta")
    if not is_users or entry.get("isSidechain") is True:
        return ""
    parts = as_list(message.get("parts"))
    if parts:
        return " ".join(part["text"] for part in parts if isinstance(as_dict(part).get("text"), str))
    content = message.get("content") or as_dict(told.get("args")).get("content")
    if isinstance(content, list):
        words = [as_dict(part).get("text") for part in content]
        return " ".join(word for word in words if isinstance(word, str))
    return request_in(content) if isinstance(content, str) else ""
