"""
Gemini CLI: sessions (`~/.gemini/tmp/*/chats/session-*.json` and `.jsonl`), saved chats (`checkpoint-*.json`), what is
kept before a tool changes files, the log of what was typed (`logs.json`), and what is printed (`gemini_stream`).

A session file is rewritten or appended to as messages grow, so the latest record of an id is the message. What was
taken back by a rewind did happen, and is kept; so is what the program later shortened. A subagent, whose file lies in
the folder named after the session, is a span under the call that started it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.importers import gemini_stream
from agentdbg.interop.sessions import Session, exit_code_error, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms, side_files
from agentdbg.interop.transcripts import plain_content, text_of
from agentdbg.storage.lines import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import Step
    from agentdbg.interop.sources import Source

TITLE = "Gemini CLI session"

_ANSWERS = frozenset({"gemini", "qwen", "model"})
_TYPES = _ANSWERS | {"user", "info", "error", "warning"}
_GREETINGS = ("This is the Gemini CLI", "This is the Qwen Code")
_FAILED = frozenset({"error", "cancelled"})
_SHELL = "run_shell_command"
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,6})$", re.MULTILINE)


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    first = source.documents[0][1]
    return _is_head(first) or _is_log(first) or _is_chat(_history(first)) or gemini_stream.is_first_line(first)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    first = source.documents[0][1]
    if _is_log(first):
        yield from _read_log(source, first)
    elif _is_head(first):
        yield from _read_session(source)
    elif gemini_stream.is_first_line(first):
        yield from gemini_stream.read_lines(source, "gemini-cli")
    else:
        session = Session()
        for item in _history(first):
            if isinstance(item, dict):
                take_content(session, item)
        yield _draft(source, session, {}, identity=first, version="")


def _is_head(item: Any) -> bool:
    return isinstance(item, dict) and "sessionId" in item and "projectHash" in item


def _is_log(item: Any) -> bool:
    entries = as_list(item)[:3]
    return bool(entries) and all({"sessionId", "messageId", "message"} <= set(as_dict(entry)) for entry in entries)


def _history(item: Any) -> list[Any]:
    return as_list(item) or as_list(as_dict(item).get("clientHistory")) or as_list(as_dict(item).get("history"))


def _is_chat(items: list[Any]) -> bool:
    """Whether these are contents as Google's API has them."""
    looked_at = [as_dict(item) for item in items[:3]]
    return bool(looked_at) and all(
        isinstance(item.get("parts"), list) and item.get("role") in ("user", "model") for item in looked_at
    )


def _read_session(source: Source) -> Iterator[RunDraft | EntryProblem]:
    told = _Records(source)
    yield from told.problems
    head, session = told.head, told.session()
    steps = [session.close()]
    version = told.count
    for path in side_files(source.path):
        if path.parent.name != head.get("sessionId"):
            continue
        side = source.beside(path)
        inner = _Records(side)
        yield from (EntryProblem(f"{path.name}, {each.entry}", each.message) for each in inner.problems)
        agent_id = as_word(inner.head.get("sessionId")) or path.stem
        key = f"agent {agent_id}"
        work = inner.session(lane=f"{key}: ", under=key)
        made = work.close()
        under, name = told.starts.get(agent_id) or told.starts.get(path.stem) or (None, "subagent")
        made.append(work.as_span(name, key, under, agent_id=agent_id))
        steps.append(made)
        version += inner.count
    identity = ["gemini", head.get("sessionId"), head.get("startTime"), head.get("kind")]
    yield _draft(source, session, head, identity=identity, version=f"{version:09d}", steps=in_order(*steps))


class _Records:
    """The records of one session file, as they stand at its end."""

    def __init__(self, source: Source) -> None:
        self.head: dict[str, Any] = {}
        self.problems: list[EntryProblem] = []
        self.count = 0
        self.starts: dict[str, tuple[str, str]] = {}
        """The call that started each subagent, and its name."""
        self._messages: dict[str, dict[str, Any]] = {}
        self._only_history: set[str] = set()
        """Messages that no record of their own tells: the program put them into the history."""
        for place, record in source.documents:
            self._take(place, as_dict(record))

    def _take(self, place: str, record: dict[str, Any]) -> None:
        told = as_dict(record.get("$set")) or record
        if "$rewindTo" in told:
            return
        if not told:
            self.problems.append(EntryProblem(place, "no record of a Gemini CLI session"))
            return
        listed = as_list(told.get("messages"))
        for message in listed if listed or "id" not in told else [told]:
            if isinstance(message, dict) and as_word(message.get("type")) in _TYPES:
                self._add(message, is_history="$set" in record)
            else:
                self.problems.append(EntryProblem(place, "a message without a type that is known"))
        if "id" not in told:
            self.head.update({key: value for key, value in told.items() if key != "messages"})
        self.count += 1 + len(listed)

    def _add(self, message: dict[str, Any], *, is_history: bool) -> None:
        of = str(message.get("id", len(self._messages)))
        known = self._messages.get(of)
        if known is None and is_history:
            self._only_history.add(of)
        elif known is not None:
            # Results are shortened later on, to save room in the history; what came first is what was seen.
            seen = {call.get("id"): call.get("result") for call in map(as_dict, as_list(known.get("toolCalls")))}
            calls = [
                {**call, "result": seen[call.get("id")]} if seen.get(call.get("id")) is not None else call
                for call in as_list(message.get("toolCalls"))
                if isinstance(call, dict)
            ]
            message = {**known, **message, **({"toolCalls": calls} if calls else {})}
            if is_history:
                message["content"] = known.get("content")
        self._messages[of] = message

    def session(self, **place: Any) -> Session:
        """What the messages amount to."""
        session = Session(**place)
        for of, message in self._messages.items():
            if of in self._only_history:
                _put_in(session, message)
            else:
                _take(session, message)
            for call in map(as_dict, as_list(message.get("toolCalls"))):
                if as_word(call.get("agentId")):
                    name = as_word(call.get("displayName")) or as_word(call.get("name"))
                    self.starts[call["agentId"]] = (session.key(str(call.get("id"))), name)
        return session


def _put_in(session: Session, message: dict[str, Any]) -> None:
    """What the program put into the history by itself: a summary of what was there, results it had told already."""
    given = message.get("content")
    if any("functionResponse" in as_dict(part) for part in as_list(given)):
        return
    content, at_ms = _content(given), moment_ms(message.get("timestamp"))
    if text_of(content).lstrip().startswith("<state_snapshot>"):
        session.note("compaction", content, at_ms=at_ms, source_id=str(message.get("id", "")))
    session.context(content, role="user" if message.get("type") == "user" else "assistant", at_ms=at_ms)


def _draft(
    source: Source,
    session: Session,
    head: dict[str, Any],
    *,
    identity: Any,
    version: str,
    steps: list[Step] | None = None,
) -> RunDraft:
    project = _project(source) or as_word(head.get("projectHash"))
    facts = {
        "framework": "gemini-cli",
        "session_id": head.get("sessionId"),
        "project": project,
        "summary": head.get("summary"),
        "kind": head.get("kind"),
        "parent_session_id": source.path.parent.name if head.get("kind") == "subagent" else None,
    }
    return RunDraft(
        identity=identity,
        name=short_name(session.first_request, as_word(head.get("summary")), source.stem),
        format="gemini",
        steps=in_order(session.close()) if steps is None else steps,
        started_ms=moment_ms(head.get("startTime")),
        result=session.last_answer or None,
        meta={key: value for key, value in facts.items() if isinstance(value, str) and value},
        version=version,
        cwd=project if project.startswith("/") else None,
    )


def _project(source: Source) -> str:
    """The folder a session worked in; newer versions write it into a file above the sessions."""
    for folder in list(source.path.parents)[:4]:
        try:
            root = read_regular(folder / ".project_root", 4096).decode("utf-8", "ignore").strip()
        except (OSError, ValueError):
            continue
        return root
    return ""


def _take(session: Session, message: dict[str, Any]) -> None:
    kind, at_ms, of = message.get("type"), moment_ms(message.get("timestamp")), str(message.get("id", ""))
    given = message.get("content")
    if isinstance(given, list):  # calls and their results stand in the list of calls, too
        given = [part for part in given if not {"functionCall", "functionResponse"} & set(as_dict(part))]
    content = _content(given)
    if kind == "user" and isinstance(given, list) and not given:
        return
    if kind == "user":
        session.request(content, at_ms=at_ms, source_id=of)
    elif kind == "error":
        session.failure({"error_type": "GeminiError", "message": text_of(content)}, at_ms=at_ms, source_id=of)
    elif kind not in _ANSWERS:
        session.note(str(kind), content, at_ms=at_ms, source_id=of)
    else:
        _answer(session, message, content, at_ms, of)


def _answer(session: Session, message: dict[str, Any], content: Any, at_ms: float | None, of: str) -> None:
    calls = [call for call in as_list(message.get("toolCalls")) if isinstance(call, dict)]
    thoughts = [
        ": ".join(filter(None, (as_word(thought.get("subject")), as_word(thought.get("description")))))
        for thought in as_list(message.get("thoughts"))
        if isinstance(thought, dict)
    ]
    blocks: list[Any] = [{"type": "thinking", "thinking": thought} for thought in thoughts]
    blocks += [{"type": "text", "text": content}] if isinstance(content, str) and content else as_list(content)
    shown: dict[str, Any] = {"role": "assistant", "content": blocks}
    if calls:
        shown["tool_calls"] = [_as_call(call.get("id"), call.get("name"), call.get("args")) for call in calls]
    usage = _usage(message.get("tokens"))
    said = {"model": message.get("model"), "usage": usage, "provider": "google"}
    session.answer(of, shown, at_ms=at_ms, **said)
    for call in calls:
        of_call = str(call.get("id"))
        session.call(of_call, call.get("name"), call.get("args"), answer=of, at_ms=at_ms)
        _result(session, call, of_call)


def _result(session: Session, call: dict[str, Any], of: str) -> None:
    status, given = as_word(call.get("status")), call.get("result")
    if given is None and status not in (*_FAILED, "success"):
        return  # it was still at work, or waited to be allowed
    result, error = answered(as_list(given))
    display = call.get("resultDisplay")
    if status in _FAILED and (error is None or status == "cancelled"):
        said = as_dict(error).get("message") or text_of(result) or as_word(display) or "the call was not made"
        error = {"error_type": "Cancelled" if status == "cancelled" else "Error", "message": said}
    at_ms = moment_ms(call.get("timestamp"))
    session.result(of, result, at_ms=at_ms, error=error, diff=as_word(as_dict(display).get("fileDiff")) or None)


def answered(parts: list[Any]) -> tuple[Any, dict[str, Any] | None]:
    """What the parts of a function's response give, and its error if it failed."""
    found: list[Any] = []
    error = None
    for part in parts:
        response = as_dict(as_dict(part).get("functionResponse"))
        told = response.get("response", part) if response else part
        if isinstance(told, dict) and set(told) & {"output", "error"}:
            if told.get("error"):
                failure = told["error"]
                message = failure if isinstance(failure, str) else as_word(as_dict(failure).get("message"))
                error = {"error_type": "Error", "message": message or str(failure)}
            told = told.get("output")
        found.append(told["text"] if isinstance(told, dict) and set(told) == {"text"} else told)
        found += map(_block, as_list(response.get("parts")))
        code = _EXIT_CODE.search(told) if response.get("name") == _SHELL and isinstance(told, str) else None
        if error is None and code is not None and int(code[1]) != 0:
            error = exit_code_error(int(code[1]), told)
    found = [item for item in found if item is not None]
    if all(isinstance(item, str) for item in found):
        return "\n".join(found) if found else None, error
    return found[0] if len(found) == 1 else found, error


def take_content(session: Session, item: dict[str, Any], **said: Any) -> None:
    """One content of Google's API, as saved chats have them: what was said, asked for and answered."""
    parts = [part for part in as_list(item.get("parts")) if isinstance(part, dict)]
    responses = [part for part in parts if "functionResponse" in part]
    at_ms = said.pop("at_ms", None)
    of = said.pop("source_id", "") or f"{item.get('role')} {len(session.steps)}"
    for part in responses:
        response = as_dict(part["functionResponse"])
        result, error = answered([part])
        name = as_word(response.get("name"))
        call = session.waiting_for(as_word(response.get("id")), name)
        session.result(call or as_word(response.get("id")) or of, result, at_ms=at_ms, error=error, name=name or None)
    rest = [part for part in parts if "functionResponse" not in part]
    if item.get("role") != "model":
        content = _content(rest)
        if text_of(content).startswith(_GREETINGS):
            session.context(content, at_ms=at_ms)
        elif rest:
            session.request(content, at_ms=at_ms, source_id=said.get("uuid", ""))
        return
    calls = [as_dict(part["functionCall"]) for part in rest if "functionCall" in part]
    ids = [str(call.get("id") or f"{of}, call {number}") for number, call in enumerate(calls, 1)]
    shown: dict[str, Any] = {
        "role": "assistant",
        "content": [_block(part) for part in rest if "functionCall" not in part],
    }
    if calls:
        shown["tool_calls"] = [
            _as_call(name, call.get("name"), call.get("args")) for name, call in zip(ids, calls, strict=True)
        ]
    session.answer(of, shown, at_ms=at_ms, **said)
    for call_id, asked in zip(ids, calls, strict=True):
        session.call(call_id, asked.get("name"), asked.get("args"), answer=of, at_ms=at_ms)


def _as_call(call_id: Any, name: Any, args: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return plain_content([_block(part) for part in content])


def _block(part: Any) -> Any:
    """A part of a content, in the form that chat messages have."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    told = as_dict(part)
    if "text" in told:
        return (
            {"type": "thinking", "thinking": told["text"]}
            if told.get("thought")
            else {"type": "text", "text": told["text"]}
        )
    data = as_dict(told.get("inlineData"))
    if as_word(data.get("data")):
        return {"type": "image", "source": {"type": "base64", "media_type": data.get("mimeType"), "data": data["data"]}}
    return part


def _usage(tokens: Any) -> dict[str, Any] | None:
    told = {name: whole_number(count) for name, count in as_dict(tokens).items()}
    if told.get("input") is None and told.get("output") is None:
        return None
    prompt = (told.get("input") or 0) + (told.get("tool") or 0)
    written = (told.get("output") or 0) + (told.get("thoughts") or 0)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": told.get("total") or prompt + written,
        "prompt_tokens_details": {"cached_tokens": told.get("cached") or 0},
        "completion_tokens_details": {"reasoning_tokens": told.get("thoughts") or 0},
    }


def _read_log(source: Source, entries: list[Any]) -> Iterator[RunDraft | EntryProblem]:
    by_session: dict[str, list[dict[str, Any]]] = {}
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str):
            by_session.setdefault(entry["sessionId"], []).append(entry)
        else:
            yield EntryProblem(f"entry {number}", "no entry of a log: it names no session")
    source.expected = len(by_session)
    for session_id, told in by_session.items():
        session = Session()
        for entry in told:
            of = str(entry.get("messageId", ""))
            session.request(entry.get("message"), at_ms=moment_ms(entry.get("timestamp")), source_id=of)
        identity = ["gemini log", session_id, told[0].get("timestamp")]
        draft = _draft(source, session, {"sessionId": session_id}, identity=identity, version=f"{len(told):09d}")
        draft.entry = f"session {session_id}"
        draft.meta["only"] = "what was typed"
        yield draft
