"""
What Claude Code itself writes into a session: hooks, errors, commands, and what it hands to the model unasked.

A hook that failed is an error, one that said something a note. What else is attached to a request (files, diagnostics,
reminders) was told to the model, so it stands in the prompt of the next call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.transcripts import plain_content, text_of

if TYPE_CHECKING:
    from agentdbg.interop.sessions import Session

__all__ = ["take_attachment", "take_system", "typed"]

_WRAPPED = re.compile(
    r"<(system-reminder|local-command-caveat|command-message|local-command-std\w+)>.*?</\1>", re.DOTALL
)
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>.*?(?:<command-args>(.*?)</command-args>)?\s*$", re.DOTALL)
_SHELL = re.compile(r"\s*<bash-input>(.*)</bash-input>\s*", re.DOTALL)
_LONGEST_WRAPPED = 20_000
_TYPED = ("human", "prompt", "bash")


def typed(said: Any) -> Any:
    """What the user typed, without what the program wrapped around it."""
    if not isinstance(said, str) or "<" not in said or len(said) > _LONGEST_WRAPPED:
        return said
    command = _COMMAND.search(said)
    if command is not None:
        return f"{command[1]} {command[2] or ''}".strip()
    shell = _SHELL.fullmatch(said)
    if shell is not None:
        return f"! {shell[1].strip()}"
    return _WRAPPED.sub("", said).strip() or said


def take_attachment(session: Session, line: dict[str, Any], at_ms: float | None) -> None:
    """What goes to the model beside a request; a request typed while the model worked comes in no other line."""
    attached, uuid = as_dict(line.get("attachment")), as_word(line.get("uuid"))
    kind = as_word(attached.get("type"))
    if kind == "queued_command" and attached.get("prompt"):
        said = plain_content(attached["prompt"])
        if (as_dict(attached.get("origin")).get("kind") or attached.get("commandMode") or "prompt") in _TYPED:
            session.request(typed(said), at_ms=at_ms, source_id=uuid)
        else:  # a task in the background that ended
            session.note("notification", said, at_ms=at_ms, source_id=uuid)
            session.context(said, at_ms=at_ms)
    elif kind.startswith("hook_"):
        _hook(session, kind, attached, at_ms, uuid)
    elif len(attached) > 1:
        session.context(attached, at_ms=at_ms)


def _hook(session: Session, kind: str, attached: dict[str, Any], at_ms: float | None, uuid: str) -> None:
    told = attached.get("blockingError")
    said = as_word(as_dict(told).get("blockingError")) or _words(
        told, *(attached.get(name) for name in ("content", "stderr", "stdout", "message", "systemMessage"))
    )
    hook = as_word(attached.get("hookName")) or as_word(attached.get("hookEvent"))
    if "error" in kind:
        _failed(session, said or f"the hook {hook} failed", hook, at_ms, uuid)
    elif said:
        session.note("hook", said, at_ms=at_ms, source_id=uuid, **({"hook": hook} if hook else {}))
    if said:
        session.context(said, at_ms=at_ms)


def _failed(session: Session, said: str, hook: str, at_ms: float | None, uuid: str = "") -> None:
    failure = {"error_type": "HookError", "message": said, "details": {"hook": hook} if hook else None}
    session.failure(failure, at_ms=at_ms, source_id=uuid)


def _words(*candidates: Any) -> str:
    return next((words for given in candidates if (words := _text(given).strip())), "")


def _text(given: Any) -> str:
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        return "\n".join(given)
    return text_of(given) if given else ""


def take_system(session: Session, line: dict[str, Any], at_ms: float | None) -> None:
    """A line that the program wrote about itself."""
    kind, uuid = as_word(line.get("subtype")), as_word(line.get("uuid"))
    content = as_word(line.get("content"))
    if kind == "api_error":
        session.failure(_api_error(line), at_ms=at_ms, source_id=uuid)
    elif kind in ("compact_boundary", "microcompact_boundary"):
        facts = as_dict(line.get("compactMetadata")) or as_dict(line.get("compact_metadata"))
        before = facts.get("preTokens", facts.get("pre_tokens"))
        said = {"trigger": facts.get("trigger"), "prompt_tokens": before}
        session.note("compaction", line.get("content"), at_ms=at_ms, source_id=uuid, **said)
    elif kind == "stop_hook_summary":
        told = {step.fields.get("message") for step in session.steps[-20:] if step.event_type == "ERROR"}
        for failure in as_list(line.get("hookErrors")):
            if as_word(failure) and failure not in told:  # a hook that held the agent back has said so itself
                _failed(session, failure, "Stop", at_ms, uuid)
    elif kind == "local_command" and content:
        session.note("command", typed(content), at_ms=at_ms, source_id=uuid)
    elif content and line.get("level") == "error":
        session.failure({"error_type": "ClaudeCodeError", "message": content}, at_ms=at_ms, source_id=uuid)
    elif content:
        session.note("system", content, at_ms=at_ms, source_id=uuid)


def _api_error(line: dict[str, Any]) -> dict[str, Any]:
    told = as_dict(line.get("error"))
    inner = as_dict(as_dict(told.get("error")).get("error")) or as_dict(told.get("error"))
    cause = as_dict(line.get("cause"))
    kind = as_word(inner.get("type")) or as_word(cause.get("code")) or "APIError"
    said = as_word(inner.get("message")) or as_word(told.get("message")) or as_word(line.get("content"))
    status = told.get("status")
    return {
        "error_type": kind,
        "message": said or f"the request failed{f' with status {status}' if status else ''}",
        "details": {key: line[key] for key in ("retryAttempt", "maxRetries", "retryInMs") if key in line} or None,
    }
