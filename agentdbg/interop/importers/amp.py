"""
Amp threads (`~/.local/share/amp/threads/T-*.json`): messages in Anthropic's blocks, with how each tool ran.

A result stands in a message of the user's, `run: {status, result}`; what an answer used stands beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.sessions import Session, exit_code_error, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import plain_content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "Amp thread"

_DONE = frozenset({"done", "success"})
_GOES_ON = frozenset({"", "in-progress", "running", "queued", "blocked-on-user"})


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    (_, document), *rest = source.documents
    told = as_dict(document)
    is_threads = as_word(told.get("id")).startswith("T-") and "created" in told
    return not rest and is_threads and any(map(_is_message, as_list(told.get("messages"))[:5]))


def _is_message(item: Any) -> bool:
    return as_dict(item).get("role") in ("user", "assistant") and isinstance(item.get("content"), list)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    thread = source.documents[0][1]
    session = Session()
    for number, message in enumerate(thread["messages"], 1):
        if not _is_message(message):
            yield EntryProblem(f"message {number}", "no message of an Amp thread: it has no role and content")
        elif message["role"] == "assistant":
            _answer(session, message, f"message {number}")
        else:
            _asked(session, message, f"message {number}")
    tree = as_dict(next(iter(as_list(as_dict(as_dict(thread.get("env")).get("initial")).get("trees"))), None))
    folder = as_word(tree.get("uri")).removeprefix("file://")
    said = {
        "session_id": thread["id"],
        "project": folder or as_word(tree.get("displayName")),
        "mode": thread.get("agentMode"),
        "parent_session_id": as_dict(thread.get("mainThread")).get("id") or thread.get("mainThreadID"),
    }
    yield RunDraft(
        identity=["amp", thread["id"]],
        name=short_name(as_word(thread.get("title")), session.first_request, source.stem),
        format="amp",
        steps=in_order(session.close()),
        started_ms=moment_ms(thread["created"]),
        result=session.last_answer or None,
        meta={"framework": "amp", **{key: value for key, value in said.items() if as_word(value)}},
        version=f"{len(thread['messages']):09d}",
        cwd=folder or None,
    )


def _asked(session: Session, message: dict[str, Any], place: str) -> None:
    """What a person said, and the results of tools."""
    at_ms = moment_ms(as_dict(message.get("meta")).get("sentAt"))
    blocks = [block for block in message["content"] if isinstance(block, dict)]
    said = [block for block in blocks if block.get("type") != "tool_result"]
    for block in blocks:
        if block.get("type") == "tool_result":
            _result(session, block, at_ms)
    if said:
        only = said[0].get("text") if len(said) == 1 and said[0].get("type") == "text" else said
        session.request(only, at_ms=at_ms, source_id=_id_of(message, place))


def _answer(session: Session, message: dict[str, Any], place: str) -> None:
    used, state, of = as_dict(message.get("usage")), as_dict(message.get("state")), _id_of(message, place)
    blocks = [_shown(block) for block in message["content"] if isinstance(block, dict)]
    at_ms = moment_ms(used.get("timestamp"))
    session.answer(
        of,
        {"role": "assistant", "content": blocks},
        at_ms=at_ms,
        model=used.get("model"),
        usage=_usage(used),
        cost_usd=used.get("cost"),
        stop_reason=as_word(state.get("stopReason")) or None,
    )
    for block in blocks:
        if block.get("type") == "tool_use":
            session.call(str(block.get("id")), block.get("name"), block.get("input"), answer=of, at_ms=at_ms)
    if state.get("type") == "error":
        failed = as_dict(state.get("error"))
        words = as_word(failed.get("message")) or "the answer failed"
        session.failure({"error_type": as_word(failed.get("type")) or "Error", "message": words}, at_ms=at_ms)
    elif state.get("type") == "cancelled":
        session.note("cancelled", "the answer was cancelled", at_ms=at_ms, source_id=of)


def _shown(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in ("signature", "complete", "provider")}


def _id_of(message: dict[str, Any], place: str) -> str:
    known = message.get("messageId")
    return place if known is None else f"message {known}"


def _result(session: Session, block: dict[str, Any], at_ms: float | None) -> None:
    run = as_dict(block.get("run"))
    status, output = as_word(run.get("status")), run.get("result")
    if run and status in _GOES_ON:
        return
    told, error = as_dict(output), None
    code = told.get("exitCode")
    if run and status not in _DONE:
        words = as_word(as_dict(run.get("error")).get("message")) or as_word(run.get("reason")) or status
        error = {"error_type": "Error" if status == "error" else status, "message": words}
    elif isinstance(code, int) and not isinstance(code, bool) and code != 0:
        error = exit_code_error(code, told.get("output"))
    of = as_word(block.get("toolUseID")) or as_word(block.get("tool_use_id"))
    diff = as_word(told.get("diff")).removeprefix("```diff\n").removesuffix("\n```") or None
    session.result(of, output if run else plain_content(block.get("content")), at_ms=at_ms, error=error, diff=diff)


def _usage(used: dict[str, Any]) -> dict[str, Any] | None:
    """Its counts, where what came from the cache and what went there stand beside the input."""
    given, put_out = whole_number(used.get("inputTokens")), whole_number(used.get("outputTokens"))
    if given is None or put_out is None:
        return None
    cached, kept = (whole_number(used.get(name)) or 0 for name in ("cacheReadInputTokens", "cacheCreationInputTokens"))
    prompt = given + cached + kept
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": put_out, "total_tokens": prompt + put_out}
    return {**usage, "prompt_tokens_details": {"cached_tokens": cached}} if cached else usage
