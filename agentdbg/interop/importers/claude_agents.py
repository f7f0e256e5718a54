"""
Which lines of a Claude Code session belong to which agent, and which call started each of them.

A subagent's lines are marked as a side chain. Newer versions give its id to each line and to the result of the call
that started it; older ones only repeat the prompt it was started with.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import session_of
from agentdbg.interop.transcripts import text_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["AgentLines", "agents_in", "lines_in_progress", "side_files"]


@dataclass
class AgentLines:
    """The lines of one agent; the main one has no key."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    agent_id: str = ""
    name: str = ""
    key: str = ""
    """Of the span that the agent's work is."""
    under: str | None = None
    """The key of the call that started it."""

    @property
    def lane(self) -> str:
        return f"{self.key}: " if self.key else ""


def agents_in(lines: list[dict[str, Any]]) -> list[AgentLines]:
    """The agents of a session, the main one first. A file that holds nothing but one side chain is that agent's."""
    if all(_is_side(line) for line in lines if line.get("type") in ("user", "assistant")):
        return [AgentLines(lines)]
    main = AgentLines()
    found: dict[str, AgentLines] = {}
    roots: dict[str, str] = {}
    for line in lines:
        if not _is_side(line):
            main.lines.append(line)
            continue
        group = as_word(line.get("agentId")) or as_word(line.get("parent_tool_use_id"))
        group = group or _root(line, roots)
        agent = found.setdefault(group, AgentLines(agent_id=as_word(line.get("agentId")), key=f"agent {group}"))
        agent.lines.append(line)
    calls = _Calls(lines)
    lanes = {call: other.lane for other in found.values() for line in other.lines for call in _calls_of(line)}
    for group, agent in found.items():
        call = calls.that_started(group, agent)
        agent.under = None if call is None else lanes.get(call, "") + call
        agent.name = calls.name_of(call) or "subagent"
    return [main, *found.values()]


def lines_in_progress(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines, with those of subagents that are told of only while they work, inside of others."""
    written = {as_word(line.get("agentId")) for line in lines if _is_side(line)}
    written.add("")  # nobody can tell whose it is
    found: list[dict[str, Any]] = []
    for line in lines:
        found.append(line)
        data = as_dict(line.get("data")) if line.get("type") == "progress" else {}
        inner = as_dict(data.get("message"))
        agent_id = as_word(data.get("agentId"))
        if data.get("type") == "agent_progress" and as_word(inner.get("type")) and agent_id not in written:
            place = {"isSidechain": True, "agentId": agent_id, "sessionId": line.get("sessionId")}
            found.append({"timestamp": line.get("timestamp"), **inner, **place})
    return found


def _is_side(line: dict[str, Any]) -> bool:
    return line.get("isSidechain") is True or bool(as_word(line.get("parent_tool_use_id")))


def _root(line: dict[str, Any], roots: dict[str, str]) -> str:
    """The first line of the chain a line stands in; a parent stands before its children."""
    uuid = as_word(line.get("uuid"))
    roots[uuid] = roots.get(as_word(line.get("parentUuid"))) or uuid
    return roots[uuid]


def _calls_of(line: dict[str, Any]) -> list[str]:
    content = as_list(as_dict(line.get("message")).get("content"))
    return [str(block.get("id")) for block in content if as_dict(block).get("type") == "tool_use"]


class _Calls:
    """The calls of a session that start agents."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._inputs: dict[str, dict[str, Any]] = {}
        self._by_agent: dict[str, str] = {}
        self._by_prompt: dict[str, list[str]] = {}
        for line in lines:
            if line.get("type") == "assistant":
                self._take_calls(line)
            elif line.get("type") == "user":
                self._take_results(line)
            elif line.get("type") == "progress" and as_word(as_dict(line.get("data")).get("agentId")):
                self._by_agent.setdefault(line["data"]["agentId"], as_word(line.get("parentToolUseID")))

    def that_started(self, group: str, agent: AgentLines) -> str | None:
        """The call whose work this agent did, as far as the lines tell."""
        if group in self._inputs:
            return group
        if group in self._by_agent:
            return self._by_agent[group]
        first = next((line for line in agent.lines if line.get("type") == "user"), {})
        calls = self._by_prompt.get(text_of(as_dict(first.get("message")).get("content")).strip())
        return calls.pop(0) if calls else None

    def name_of(self, call: str | None) -> str:
        """What kind of agent it is."""
        given = self._inputs.get(call or "", {})
        return as_word(given.get("subagent_type")) or as_word(given.get("description"))

    def _take_calls(self, line: dict[str, Any]) -> None:
        for block in as_list(as_dict(line.get("message")).get("content")):
            given = as_dict(as_dict(block).get("input"))
            if as_word(given.get("prompt")):
                self._inputs[str(block.get("id"))] = given
                self._by_prompt.setdefault(given["prompt"].strip(), []).append(str(block.get("id")))

    def _take_results(self, line: dict[str, Any]) -> None:
        told = as_dict(line.get("toolUseResult"))
        agent_id = as_word(told.get("agentId")) or ("" if _is_side(line) else as_word(line.get("agentId")))
        for block in as_list(as_dict(line.get("message")).get("content")):
            if agent_id and as_dict(block).get("type") == "tool_result":
                self._by_agent.setdefault(agent_id, str(block.get("tool_use_id")))


def side_files(path: Path, session_id: str) -> list[Path]:
    """The files of a session's subagents: in the folder named after it, or beside it."""
    if path.name.startswith("agent-"):
        return []
    inside = path.with_suffix("") / "subagents"
    found = sorted(inside.rglob("agent-*.jsonl")) if inside.is_dir() else []
    return [*found, *_beside(path.parent).get(session_id, [])]


@lru_cache(maxsize=64)
def _beside(folder: Path) -> dict[str, list[Path]]:
    """The subagents' files of a folder by the session they belong to."""
    found: dict[str, list[Path]] = {}
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name.startswith("agent-"))
    for name in names:
        if name.endswith(".jsonl"):
            session_id = session_of(folder / name)
            if session_id:
                found.setdefault(session_id, []).append(folder / name)
    return found
