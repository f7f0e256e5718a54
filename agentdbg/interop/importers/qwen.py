"""
Qwen Code sessions (`~/.qwen/projects/*/chats/*.jsonl`): a record on each line, with contents as Google's API has them.

A result is found again by the id of its call, or by the tool's name where calls have none. How long the model took is
in the records of its telemetry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.importers.gemini import answered, take_content
from agentdbg.interop.sessions import Session, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_number, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "Qwen Code session"

_TYPES = frozenset({"user", "assistant", "tool_result", "system"})
_NOTES = {"chat_compression": "compaction", "slash_command": "command", "rewind": "rewind"}


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_is_record(item) and "parts" in as_dict(item.get("message")) for _, item in source.documents[:50])


def _is_record(item: Any) -> bool:
    return isinstance(item, dict) and as_word(item.get("type")) in _TYPES and isinstance(item.get("sessionId"), str)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    session = Session()
    facts: dict[str, Any] = {"framework": "qwen-code"}
    records: list[dict[str, Any]] = []
    title = ""
    for place, item in source.documents:
        if not _is_record(item):
            if not isinstance(item, dict) or "type" in item:
                yield EntryProblem(place, "no record of a Qwen Code session")
            continue
        records.append(item)
        said = {"session_id": item["sessionId"], "git_branch": item.get("gitBranch"), "version": item.get("version")}
        facts.update({key: value for key, value in said.items() if as_word(value)})
        if as_word(item.get("cwd")):
            facts.setdefault("project", item["cwd"])
        payload = as_dict(item.get("systemPayload"))
        title = as_word(payload.get("customTitle")) if payload.get("titleSource") == "manual" else title
        _take(session, item)
    first = records[0] if records else {}
    yield RunDraft(
        identity=["qwen", first.get("sessionId"), first.get("uuid"), first.get("timestamp")],
        name=short_name(title, session.first_request, source.stem),
        format="qwen",
        steps=in_order(session.close()),
        result=session.last_answer or None,
        meta=facts,
        version=f"{len(records):09d}",
        cwd=facts.get("project"),
    )


def _take(session: Session, record: dict[str, Any]) -> None:
    kind, at_ms, uuid = record["type"], moment_ms(record.get("timestamp")), as_word(record.get("uuid"))
    message = as_dict(record.get("message"))
    if kind == "assistant":
        said = {"model": record.get("model"), "usage": record.get("usageMetadata"), "provider": "qwen"}
        take_content(session, {**message, "role": "model"}, at_ms=at_ms, source_id=uuid, **said)
    elif kind == "tool_result":
        _result(session, record, message, at_ms)
    elif kind == "system":
        _system(session, record, at_ms, uuid)
    elif as_word(record.get("subtype")):
        words = text_of(answered(as_list(message.get("parts")))[0])
        session.note(record["subtype"], words, at_ms=at_ms, source_id=uuid)
        session.context(words, at_ms=at_ms)
    else:
        take_content(session, {**message, "role": "user"}, at_ms=at_ms, uuid=uuid)


def _result(session: Session, record: dict[str, Any], message: dict[str, Any], at_ms: float | None) -> None:
    told = as_dict(record.get("toolCallResult"))
    parts = [part for part in as_list(message.get("parts")) if isinstance(part, dict)]
    responses = [part for part in parts if "functionResponse" in part]
    if len(responses) > 1:
        take_content(session, {"role": "user", "parts": responses}, at_ms=at_ms)
        return
    response = as_dict(responses[0].get("functionResponse")) if responses else {}
    result, error = answered(parts)
    if result is None and not parts:
        result = told.get("result")
    name = as_word(response.get("name")) or as_word(told.get("name"))
    of = as_word(response.get("id")) or as_word(told.get("callId"))
    call = session.waiting_for(of, name) or of or as_word(record.get("uuid"))
    display = told.get("resultDisplay")
    if told.get("status") in ("error", "cancelled") and error is None:
        failure = told.get("error")
        said = as_word(failure) or as_word(as_dict(failure).get("message")) or text_of(result) or as_word(display)
        error = {"error_type": as_word(told.get("errorType")) or "Error", "message": said}
    session.result(
        call,
        result,
        at_ms=at_ms,
        error=error,
        name=name or None,
        args=told.get("args"),
        diff=as_word(as_dict(display).get("fileDiff")) or None,
    )


def _system(session: Session, record: dict[str, Any], at_ms: float | None, uuid: str) -> None:
    kind, payload = as_word(record.get("subtype")), as_dict(record.get("systemPayload"))
    event = as_dict(payload.get("uiEvent"))
    named = as_word(event.get("event.name"))
    if kind in _NOTES:
        before = as_dict(payload.get("info")).get("originalTokenCount")
        said = {} if before is None else {"prompt_tokens": before}
        session.note(_NOTES[kind], _noted(payload), at_ms=at_ms, source_id=uuid, **said)
    elif named.endswith("api_error"):
        failure = {
            "error_type": as_word(event.get("error_type")) or "APIError",
            "message": as_word(event.get("error_message")) or as_word(event.get("error")),
        }
        session.failure(failure, at_ms=at_ms, source_id=uuid)
    elif named.endswith("api_response") and session.latest is not None and not event.get("subagent_name"):
        lasted = as_number(event.get("duration_ms"))
        if lasted and session.latest.duration_ms is None:
            session.latest.duration_ms = lasted


def _noted(payload: dict[str, Any]) -> str | None:
    """What a note says: the command and what it put out, or what is left of a conversation that was made shorter."""
    lines = [as_word(payload.get("rawCommand"))]
    lines += [as_word(as_dict(item).get("text")) for item in as_list(payload.get("outputHistoryItems"))]
    for content in as_list(payload.get("compressedHistory")):
        lines += [as_word(as_dict(part).get("text")) for part in as_list(as_dict(content).get("parts"))]
    return "\n".join(filter(None, lines)) or None
