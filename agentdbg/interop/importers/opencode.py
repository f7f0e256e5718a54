"""
opencode sessions, as `opencode export` writes them: what is known of each message in `info`, what it holds in `parts`.

A message of the model may hold several answers, one after each `step-start`; what each used is told at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.sessions import Session, exit_code_error, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "opencode session"

_TOOLS = ("tool", "tool-invocation")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    (_, document), *rest = source.documents
    messages = as_list(as_dict(document).get("messages"))
    return not rest and isinstance(as_dict(document).get("info"), dict) and any(map(_is_message, messages[:5]))


def _is_message(item: Any) -> bool:
    return isinstance(as_dict(as_dict(item).get("info")).get("role"), str) and isinstance(item.get("parts"), list)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    document = source.documents[0][1]
    info, session = as_dict(document.get("info")), Session()
    failed: dict[str, Any] | None = None
    failed_ms: float | None = None
    for number, message in enumerate(document["messages"], 1):
        if _is_message(message):
            if failed is not None:  # and the session went on
                session.failure(failed, at_ms=failed_ms)
            _take(session, message["info"], message["parts"], f"message {number}")
            failed = _failure(message["info"])
            failed_ms = _moment(message["info"], "completed") or _moment(message["info"], "created")
        else:
            yield EntryProblem(f"message {number}", "no message of an opencode session: it has no role and parts")
    said = {
        "session_id": info.get("id"),
        "project": info.get("directory"),
        "version": info.get("version"),
        "parent_session_id": info.get("parentID"),
    }
    yield RunDraft(
        identity=["opencode", info.get("id") or source.stem, as_dict(info.get("time")).get("created")],
        name=short_name(as_word(info.get("title")), session.first_request, source.stem),
        format="opencode",
        steps=in_order(session.close()),
        started_ms=_moment(info, "created"),
        ended_ms=failed_ms if failed is not None else None,
        error=failed,
        result=session.last_answer or None,
        meta={"framework": "opencode", **{key: value for key, value in said.items() if as_word(value)}},
        version=f"{len(document['messages']):09d}",
        cwd=as_word(info.get("directory")) or None,
    )


def _moment(told: Any, name: str) -> float | None:
    return moment_ms(as_dict(as_dict(told).get("time")).get(name))


def _failure(info: dict[str, Any]) -> dict[str, Any] | None:
    """The error that a message ended with."""
    error = as_dict(info.get("error"))
    if not error:
        return None
    words = as_word(as_dict(error.get("data")).get("message")) or as_word(error.get("message"))
    return {"error_type": as_word(error.get("name")) or "Error", "message": words}


def _take(session: Session, info: dict[str, Any], parts: list[Any], place: str) -> None:
    of, at_ms = as_word(info.get("id")) or place, _moment(info, "created")
    known = [part for part in parts if isinstance(part, dict)]
    if info.get("role") != "assistant":
        _asked(session, known, at_ms, of)
        return
    answers = _answers(known)
    for number, answer in enumerate(answers):
        last = number == len(answers) - 1
        used = next((part for part in answer if part.get("type") == "step-finish"), info if len(answers) == 1 else {})
        ended = (_moment(info, "completed") if last else None) or at_ms
        _answered(session, answer, info, used, of if number == 0 else f"{of} {number + 1}", ended)


def _asked(session: Session, parts: list[dict[str, Any]], at_ms: float | None, of: str) -> None:
    """What a person said, and what the program put beside it."""
    own = [_shown(part) for part in parts if part.get("type") in ("text", "file") and not part.get("synthetic")]
    added = [part.get("text") for part in parts if part.get("synthetic") and as_word(part.get("text"))]
    content = own[0]["text"] if len(own) == 1 and own[0].get("type") == "text" else own
    if content:
        session.request(content, at_ms=at_ms, source_id=of)
    for text in added:
        session.context(text, at_ms=at_ms)
    for part in parts:
        if part.get("type") in ("compaction", "subtask"):
            words = as_word(part.get("prompt")) or as_word(part.get("description")) or None
            session.note(str(part["type"]), words, at_ms=at_ms, source_id=of)


def _shown(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "text", "text": as_word(part.get("text"))}
    url = as_word(part.get("url"))
    if as_word(part.get("mime")).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": part.get("filename"), "url": url}}


def _answers(parts: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The parts of each answer in a message."""
    found: list[list[dict[str, Any]]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and any(one.get("type") == "step-finish" for one in found[-1]):
            found.append([])
        found[-1].append(part)
    return found


def _answered(
    session: Session,
    parts: list[dict[str, Any]],
    info: dict[str, Any],
    used: dict[str, Any],
    of: str,
    at_ms: float | None,
) -> None:
    calls = [part for part in parts if part.get("type") in _TOOLS]
    content: list[Any] = [
        {"type": "thinking", "thinking": part["text"]}
        if part["type"] == "reasoning"
        else {"type": "text", "text": part["text"]}
        for part in parts
        if part.get("type") in ("text", "reasoning") and as_word(part.get("text"))
    ]
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {
                "id": _id_of(part),
                "type": "function",
                "function": {"name": part.get("tool"), "arguments": as_dict(part.get("state")).get("input")},
            }
            for part in calls
        ]
    # The answer was there when its first call began.
    began = [_moment(part.get("state"), "start") for part in calls]
    first = min((moment for moment in began if moment is not None), default=at_ms)
    step = session.answer(
        of,
        message,
        at_ms=first,
        model=info.get("modelID"),
        provider=info.get("providerID"),
        usage=_usage(as_dict(used.get("tokens"))),
        cost_usd=used.get("cost"),
        stop_reason=as_word(used.get("reason")) or None,
    )
    asked_ms = _moment(info, "created")
    if step.duration_ms is None and first is not None and asked_ms is not None and of == info.get("id"):
        step.duration_ms = max(first - asked_ms, 0.0)
    for part in calls:
        session.call(_id_of(part), part.get("tool"), as_dict(part.get("state")).get("input"), answer=of, at_ms=first)
        _result(session, part)


def _id_of(part: dict[str, Any]) -> str:
    return as_word(part.get("callID")) or str(part.get("id"))


def _result(session: Session, part: dict[str, Any]) -> None:
    state = as_dict(part.get("state"))
    if state.get("status") not in ("completed", "error"):
        return  # it never came to an end
    more = as_dict(state.get("metadata"))
    output, code = state.get("output", more.get("output")), more.get("exit")
    error = None
    if state["status"] == "error":
        error = {"error_type": "Error", "message": as_word(state.get("error"))}
    elif isinstance(code, int) and not isinstance(code, bool) and code != 0:
        error = exit_code_error(code, output)
    began, ended = _moment(state, "start"), _moment(state, "end")
    length = ended - began if began is not None and ended is not None else None
    diff = as_word(more.get("diff")) or None
    session.result(_id_of(part), output, at_ms=ended, error=error, duration_ms=length, diff=diff)


def _usage(tokens: dict[str, Any]) -> dict[str, Any] | None:
    """Its counts, where what came from the cache and what went there stand beside the input."""
    given, put_out = whole_number(tokens.get("input")), whole_number(tokens.get("output"))
    if given is None and put_out is None:
        return None
    cache = as_dict(tokens.get("cache"))
    cached, kept = whole_number(cache.get("read")) or 0, whole_number(cache.get("write")) or 0
    prompt = None if given is None else given + cached + kept
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": put_out, "total_tokens": None}
    if prompt is not None and put_out is not None:
        usage["total_tokens"] = prompt + put_out
    if cached:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    thought = whole_number(tokens.get("reasoning"))
    if thought:
        usage["completion_tokens_details"] = {"reasoning_tokens": thought}
    return usage
