"""
Copilot CLI sessions (`~/.copilot/session-state/*/events.jsonl`): an event on each line, its facts in `data`.

An answer tells how much it put out and not what it was given; how much each model used in the whole session is said
at its end, and stands in the run's metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import EntryProblem, RunDraft, read_arguments
from agentdbg.interop.sessions import Session, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.interop.sources import Source

TITLE = "Copilot CLI session"

_BEGINS = ("session.", "user.", "assistant.", "tool.", "subagent.", "hook.", "system.", "skill.")
_NOTES = {
    "abort": ("aborted", "reason"),
    "session.compaction_complete": ("compaction", "summaryContent"),
    "session.info": ("info", "message"),
    "session.warning": ("warning", "message"),
    "skill.invoked": ("skill", "name"),
    "subagent.started": ("agent", "agentName"),
}
"""Events that say something beside the conversation: what the note is called, and where its words are."""
_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadTokens",
    "cache_creation_input_tokens": "cacheWriteTokens",
}


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    events = [item for _, item in source.documents[:20] if _is_event(item)]
    kinds = {item["type"] for item in events}
    return bool(kinds & {"session.start", "session.resume"}) or {"user.message", "assistant.message"} <= kinds


def _is_event(item: Any) -> bool:
    kind = as_word(as_dict(item).get("type"))
    return isinstance(as_dict(item).get("data"), dict) and (kind == "abort" or kind.startswith(_BEGINS))


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    told = _Told()
    for place, item in source.documents:
        if not _is_event(item):
            if not isinstance(item, dict) or not isinstance(item.get("data"), dict):
                yield EntryProblem(place, "no event of a Copilot CLI session")
            continue
        told.take(item)
    session = told.session
    yield RunDraft(
        identity=["copilot", told.facts.get("session_id") or source.stem, told.began_ms],
        name=short_name(session.first_request, source.stem),
        format="copilot",
        steps=in_order(session.close()),
        started_ms=told.began_ms,
        ended_ms=told.failed_ms if told.failed is not None else None,
        error=told.failed,
        result=session.last_answer or None,
        meta=told.facts,
        version=f"{len(source.documents):09d}",
        cwd=told.facts.get("project"),
    )


class _Told:
    """The events so far."""

    def __init__(self) -> None:
        self.session = Session()
        self.facts: dict[str, Any] = {"framework": "copilot-cli"}
        self.failed: dict[str, Any] | None = None
        self.failed_ms: float | None = None
        self._failed_id = ""
        self.began_ms: float | None = None
        self._model: str | None = None
        self._thoughts: list[str] = []
        self._answers = 0
        self._started: dict[str, float | None] = {}
        self._takers: dict[str, Callable[[dict[str, Any], float | None, str], None]] = {
            "assistant.message": self._answer,
            "assistant.reasoning": self._thought,
            "assistant.usage": self._used,
            "session.error": self._error,
            "session.shutdown": self._end,
            "system.message": self._system,
            "tool.execution_complete": self._result,
            "tool.execution_start": self._call,
            "user.message": self._request,
        }

    def take(self, event: dict[str, Any]) -> None:
        kind, data, at_ms = event["type"], event["data"], moment_ms(event.get("timestamp"))
        if kind.startswith("session.") and kind.endswith(("start", "resume", "model_change")):
            self._head(data)
        if self.began_ms is None:
            self.began_ms = moment_ms(data.get("startTime")) or at_ms
        if kind in self._takers:
            self._takers[kind](data, at_ms, as_word(event.get("id")))
        elif kind in _NOTES:
            role, name = _NOTES[kind]
            self.session.note(role, as_word(data.get(name)) or None, at_ms=at_ms, source_id=as_word(event.get("id")))

    def _head(self, data: dict[str, Any]) -> None:
        where = as_dict(data.get("context"))
        said = {
            "session_id": data.get("sessionId"),
            "version": data.get("copilotVersion"),
            "project": where.get("cwd"),
            "git_branch": where.get("branch"),
        }
        self.facts.update({key: value for key, value in said.items() if as_word(value)})
        self._model = as_word(data.get("newModel")) or as_word(data.get("selectedModel")) or self._model

    def _request(self, data: dict[str, Any], at_ms: float | None, source_id: str) -> None:
        self._go_on()
        content, attached = as_word(data.get("content")), as_list(data.get("attachments"))
        told = [{"type": "text", "text": content}, *({"type": "file", "file": one} for one in attached)]
        self.session.request(told if attached else content, at_ms=at_ms, source_id=source_id)

    def _system(self, data: dict[str, Any], at_ms: float | None, _: str) -> None:
        self.session.context(data.get("content"), role=as_word(data.get("role")) or "system", at_ms=at_ms)

    def _thought(self, data: dict[str, Any], *_: Any) -> None:
        self._thoughts.append(as_word(data.get("content")))

    def _answer(self, data: dict[str, Any], at_ms: float | None, source_id: str) -> None:
        self._go_on()
        self._answers += 1
        of = as_word(data.get("messageId")) or source_id or f"answer {self._answers}"
        self._model = as_word(data.get("model")) or self._model
        thoughts = [*self._thoughts, as_word(data.get("reasoningText"))]
        self._thoughts = []
        content: list[Any] = [{"type": "thinking", "thinking": text} for text in dict.fromkeys(filter(None, thoughts))]
        if as_word(data.get("content")):
            content.append({"type": "text", "text": data["content"]})
        message: dict[str, Any] = {"role": "assistant", "content": content}
        asked = [call for call in as_list(data.get("toolRequests")) if isinstance(call, dict)]
        if asked:
            message["tool_calls"] = [_shown(call) for call in asked]
        put_out = whole_number(data.get("outputTokens"))
        usage = None if put_out is None else {"output_tokens": put_out}
        self.session.answer(of, message, at_ms=at_ms, model=self._model, provider="copilot", usage=usage)
        for call in asked:
            args = read_arguments(call.get("arguments"))
            self.session.call(str(call.get("toolCallId")), call.get("name"), args, answer=of, at_ms=at_ms)

    def _used(self, data: dict[str, Any], *_: Any) -> None:
        step = self.session.latest
        counts = {name: whole_number(data.get(key)) for name, key in _COUNTS.items()}
        if step is not None and any(count is not None for count in counts.values()):
            step.fields["usage"] = _usage(counts)

    def _call(self, data: dict[str, Any], at_ms: float | None, _: str) -> None:
        of = as_word(data.get("toolCallId"))
        self._started[of] = at_ms
        self._learn_model(data)
        if of and not self.session.is_waiting(of) and self.session.latest is not None:
            answer = as_word(self.session.latest.key)
            self.session.call(
                of, data.get("toolName"), read_arguments(data.get("arguments")), answer=answer, at_ms=at_ms
            )

    def _learn_model(self, data: dict[str, Any]) -> None:
        """Older sessions name the model at the calls alone."""
        step = self.session.latest
        if as_word(data.get("model")) and step is not None and step.fields["model"] == "unknown":
            step.name = step.fields["model"] = data["model"]

    def _result(self, data: dict[str, Any], at_ms: float | None, source_id: str) -> None:
        told = data.get("result")
        result = as_dict(told).get("content", told)
        error = None
        if data.get("success") is False:
            said = as_dict(data.get("error"))
            words = as_word(said.get("message")) or as_word(data.get("error")) or text_of(result)
            error = {"error_type": as_word(said.get("code")) or "Error", "message": words}
        of = as_word(data.get("toolCallId")) or source_id
        diff = as_word(as_dict(told).get("detailedContent"))
        changed = diff if diff.startswith(("diff --git", "--- ")) else None
        began = self._started.pop(of, None)
        length = at_ms - began if at_ms is not None and began is not None else None
        said_too: dict[str, Any] = {"name": as_word(data.get("toolName")) or None, "diff": changed}
        self.session.result(of, result, at_ms=at_ms, error=error, duration_ms=length, **said_too)
        self._learn_model(data)

    def _error(self, data: dict[str, Any], at_ms: float | None, source_id: str) -> None:
        kind, words = as_word(data.get("errorType")) or "CopilotError", as_word(data.get("message"))
        self._go_on()
        self.failed = {"error_type": kind, "message": words, "stack": as_word(data.get("stack")) or None}
        self.failed_ms, self._failed_id = at_ms, source_id

    def _go_on(self) -> None:
        """What failed last did not end the session."""
        if self.failed is not None:
            self.session.failure(self.failed, at_ms=self.failed_ms, source_id=self._failed_id)
            self.failed = None

    def _end(self, data: dict[str, Any], *_: Any) -> None:
        used = as_dict(data.get("modelMetrics"))
        if used:
            self.facts["model_metrics"] = used


def _shown(call: dict[str, Any]) -> dict[str, Any]:
    args = read_arguments(call.get("arguments"))
    function = {"name": call.get("name"), "arguments": args}
    return {"id": call.get("toolCallId"), "type": "function", "function": function}


def _usage(counts: dict[str, int | None]) -> dict[str, Any]:
    """What one answer used; the input is told with what came from the cache."""
    given, put_out, cached = counts["input_tokens"], counts["output_tokens"], counts["cache_read_input_tokens"]
    usage: dict[str, Any] = {"prompt_tokens": given, "completion_tokens": put_out, "total_tokens": None}
    if given is not None and put_out is not None:
        usage["total_tokens"] = given + put_out
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return usage
