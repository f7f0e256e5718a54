"""
Claude Code sessions (`~/.claude/projects/*/*.jsonl`) and what `claude -p --output-format stream-json` prints.

An answer of the model is written as several lines with one message id, each with a part of it; together they are one
model call. A subagent is a span under the call that started it, whether its lines stand in the same file, in a file
beside it, or in the folder named after the session. What a file edit changed is kept as a diff.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import amount
from agentdbg.interop.drafts import EntryProblem, RunDraft, Step
from agentdbg.interop.importers.claude_agents import AgentLines, agents_in, lines_in_progress, side_files
from agentdbg.interop.importers.claude_surroundings import take_attachment, take_system, typed
from agentdbg.interop.sessions import Session, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_number, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import error_in_text, plain_content, text_of
from agentdbg.recorder.prices import normalise_usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "Claude Code session"

_TOOL_ERROR = re.compile(r"</?tool_use_error>")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "agent-name": "agentName"}
_COMMAND_OUTPUT = ("<local-command-std", "<bash-std")
_ONLY_HERE = ("attachment", "progress")
_HIDDEN = ("signature", "citations", "caller")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_entry(item) for _, item in _entries(source)[:50])


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    lines: list[tuple[str, dict[str, Any]]] = []
    for place, item in _entries(source):
        if isinstance(item, dict) and isinstance(item.get("type"), str):
            lines.append((place, item))
        else:
            yield EntryProblem(place, "no entry of a Claude Code session: it has no type")
    for path in side_files(source.path, _session_id(lines)):
        side = source.beside(path)
        lines += [
            (place, {**item, "agentId": item.get("agentId") or path.stem.removeprefix("agent-"), "isSidechain": True})
            for place, item in side.documents
            if isinstance(item, dict) and isinstance(item.get("type"), str)
        ]
        source.problems += side.problems
    told = _Told(agents_in(lines_in_progress([item for _, item in lines])))
    yield told.draft(source)


def _entries(source: Source) -> list[tuple[str, Any]]:
    documents = source.documents
    if len(documents) == 1 and isinstance(documents[0][1], list):
        return [(f"entry {number}", item) for number, item in enumerate(documents[0][1], 1)]
    return documents


def _is_entry(item: Any) -> bool:
    if not isinstance(item, dict) or as_word(item.get("type")) not in ("user", "assistant", *_ONLY_HERE):
        return False
    if item["type"] in _ONLY_HERE:  # a session may begin with very many of them
        return isinstance(item.get("sessionId"), str) and isinstance(item.get(item["type"], item.get("data")), dict)
    message = as_dict(item.get("message"))
    has_session = any(isinstance(item.get(key), str) for key in ("sessionId", "session_id", "uuid", "parentUuid"))
    return has_session and "content" in message


def _session_id(lines: list[tuple[str, dict[str, Any]]]) -> str:
    found = Counter(as_word(item.get("sessionId")) or as_word(item.get("session_id")) for _, item in lines)
    found.pop("", None)
    return found.most_common(1)[0][0] if found else ""


class _Told:
    """What the lines of a session say."""

    def __init__(self, agents: list[AgentLines]) -> None:
        self._agents = agents
        self._main = agents[0].lines
        self._facts: dict[str, Any] = {}
        self._titles: dict[str, str] = {}
        self._failed: dict[str, Any] | None = None

    def draft(self, source: Source) -> RunDraft:
        sessions = [self._session(agent) for agent in self._agents]
        main = sessions[0]
        lists = [session.close() for session in sessions]
        for agent, session, steps in zip(self._agents, sessions, lists, strict=True):
            if agent.key:
                said = {"agent_id": agent.agent_id} if agent.agent_id else {}
                steps.append(session.as_span(agent.name, agent.key, agent.under, **said))
        lines = [line for agent in self._agents for line in agent.lines]
        session_id = _session_id([("", line) for line in lines])
        first = next((line for line in self._main if line.get("uuid") or line.get("session_id")), {})
        facts = {"framework": "claude-code", "session_id": session_id, **self._facts}
        titles = self._titles
        return RunDraft(
            identity=["claude", session_id, first.get("uuid"), first.get("timestamp"), first.get("agentId")],
            name=short_name(titles.get("custom-title", ""), main.first_request, *titles.values(), source.stem),
            format="claude",
            steps=in_order(*lists),
            error=self._failed,
            result=main.last_answer or None,
            meta={key: value for key, value in facts.items() if value},
            version=f"{len(lines):09d}",
            cwd=self._facts.get("project"),
        )

    def _session(self, agent: AgentLines) -> Session:
        session = Session(lane=agent.lane, under=agent.key or None)
        seen: set[str] = set()
        for line in agent.lines:
            uuid = as_word(line.get("uuid"))
            if uuid in seen:
                continue  # a session that was taken up again may repeat what was said before
            if uuid:
                seen.add(uuid)
            self._take(session, line, is_main=not agent.key)
        return session

    def _take(self, session: Session, line: dict[str, Any], *, is_main: bool) -> None:
        kind, at_ms = line["type"], moment_ms(line.get("timestamp"))
        if is_main:
            self._learn(line)
        if kind == "assistant":
            self._answer(session, line, at_ms, is_main=is_main)
        elif kind == "user":
            _user(session, line, at_ms)
        elif kind == "system":
            take_system(session, line, at_ms)
        elif kind == "result" and line.get("is_error") is True:
            message = as_word(line.get("result")) or as_word(line.get("subtype"))
            self._failed = {"error_type": as_word(line.get("subtype")) or "Error", "message": message}
        elif kind == "attachment":
            take_attachment(session, line, at_ms)
        elif kind == "queue-operation" and line.get("operation") == "enqueue" and line.get("content"):
            session.note("queued", line["content"], at_ms=at_ms)

    def _learn(self, line: dict[str, Any]) -> None:
        """What a line says of its session rather than of what happened."""
        cwd = as_word(line.get("cwd"))
        if cwd and "project" not in self._facts:
            self._facts["project"] = cwd
        branch, version = as_word(line.get("gitBranch")), as_word(line.get("version"))
        self._facts.update({name: said for name, said in (("git_branch", branch), ("version", version)) if said})
        kind = line["type"]
        if kind in _TITLES and as_word(line.get(_TITLES[kind])):
            self._titles[kind] = line[_TITLES[kind]]
        elif kind == "summary" and as_word(line.get("summary")):
            self._titles[kind] = line["summary"]
            self._facts["summary"] = line["summary"]
        elif kind == "result":
            cost = line.get("total_cost_usd")
            self._facts.update({"total_cost_usd": cost} if isinstance(cost, (int, float)) else {})

    def _answer(self, session: Session, line: dict[str, Any], at_ms: float | None, *, is_main: bool) -> None:
        message = as_dict(line.get("message"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
        shown = {"role": "assistant", "content": [_shown(block) for block in blocks]}
        of = as_word(message.get("id")) or as_word(line.get("uuid")) or f"answer {len(session.steps)}"
        failed = line.get("isApiErrorMessage") is True
        told = {"error_type": as_word(line.get("error")) or "APIError", "message": text_of(blocks)}
        error = told if failed else None
        step = session.answer(of, shown, at_ms=at_ms, model=message.get("model"), provider="anthropic", error=error)
        _refine(step, message, line)
        if is_main:
            self._failed = error
        for block in blocks:
            if isinstance(block, dict) and block.get("type") in ("tool_use", "server_tool_use"):
                session.call(str(block.get("id")), block.get("name"), block.get("input"), answer=of, at_ms=at_ms)
            elif isinstance(block, dict) and as_word(block.get("type")).endswith("_tool_result"):
                _result(session, block, {}, at_ms)


def _refine(step: Step, message: dict[str, Any], line: dict[str, Any]) -> None:
    """Take over what only the latest line of an answer knows: how it stopped, what it used and cost in the end."""
    reason, usage = message.get("stop_reason"), message.get("usage")
    if isinstance(reason, str):
        step.fields["stop_reason"] = reason
    if isinstance(usage, dict):
        step.fields["usage"] = normalise_usage(usage)
    if amount(line.get("costUSD")) is not None:  # versions of before June 2025
        step.fields["cost_usd"], step.duration_ms = amount(line["costUSD"]), as_number(line.get("durationMs"))


def _user(session: Session, line: dict[str, Any], at_ms: float | None) -> None:
    content = as_dict(line.get("message")).get("content")
    blocks = as_list(content)
    results = [block for block in blocks if as_dict(block).get("type") == "tool_result"]
    detail = line.get("toolUseResult", line.get("tool_use_result"))
    for block in results:
        _result(session, block, detail if len(results) == 1 else {}, at_ms)
    said = [block for block in blocks if as_dict(block).get("type") != "tool_result"] if results else content
    if not said:
        return
    said = plain_content(said)
    uuid = as_word(line.get("uuid"))
    if line.get("isCompactSummary") is True:
        session.note("compaction", said, at_ms=at_ms, source_id=uuid)
        session.context(said, at_ms=at_ms)
    elif line.get("isMeta") is True:
        session.context(said, at_ms=at_ms)
    elif isinstance(said, str) and said.lstrip().startswith(_COMMAND_OUTPUT):
        session.note("command", said, at_ms=at_ms, source_id=uuid)
        session.context(said, at_ms=at_ms)
    elif as_dict(line.get("origin")).get("kind") == "task-notification":
        session.note("notification", said, at_ms=at_ms, source_id=uuid)
        session.context(said, at_ms=at_ms)
    else:
        session.request(typed(said), at_ms=at_ms, source_id=uuid)


def _result(session: Session, block: dict[str, Any], detail: Any, at_ms: float | None) -> None:
    content = plain_content(block.get("content"))
    told = as_dict(detail)
    failed = block.get("is_error") is True
    error = None
    if failed:
        words = _TOOL_ERROR.sub("", text_of(content)).strip()
        error = error_in_text(words) or {"error_type": _kind_of_failure(words), "message": words}
    lasted = told.get("totalDurationMs") or told.get("durationMs")
    session.result(
        str(block.get("tool_use_id")),
        None if failed else content,
        at_ms=at_ms,
        error=error,
        message=content,
        diff=_diff(told),
        duration_ms=lasted if isinstance(lasted, (int, float)) and not isinstance(lasted, bool) else None,
    )


def _kind_of_failure(words: str) -> str:
    if words.startswith("Exit code "):
        return "ExitCode"
    if words.startswith(("The user doesn't want", "[Request interrupted", "User rejected")):
        return "Rejected"
    return "Error"


def _diff(told: dict[str, Any]) -> str | None:
    """What an edit changed, as `diff -u` shows it."""
    hunks = [hunk for hunk in as_list(told.get("structuredPatch")) if isinstance(hunk, dict)]
    if not hunks:
        return None
    path = as_word(told.get("filePath")) or "file"
    lines = [f"--- {path}", f"+++ {path}"]
    for hunk in hunks:
        old, new = (f"{hunk.get(f'{side}Start', 0)},{hunk.get(f'{side}Lines', 0)}" for side in ("old", "new"))
        lines.append(f"@@ -{old} +{new} @@")
        lines += [line for line in as_list(hunk.get("lines")) if isinstance(line, str)]
    return "\n".join(lines) + "\n"


def _shown(block: Any) -> Any:
    """A part of an answer without what says nothing to a person."""
    if not isinstance(block, dict):
        return block
    return {key: value for key, value in block.items() if key not in _HIDDEN}
