"""What `gemini --output-format stream-json` prints: pieces of answers, calls and results as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.sessions import Session, short_name
from agentdbg.interop.shapes import as_dict, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import text_of
from agentdbg.recorder.prices import normalise_usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

__all__ = ["is_first_line", "read_lines"]


def is_first_line(item: Any) -> bool:
    """Whether this is how such an output begins."""
    told = as_dict(item)
    return told.get("type") == "init" and as_word(told.get("session_id")) != "" and "model" in told


def read_lines(source: Source, framework: str) -> Iterator[RunDraft | EntryProblem]:
    """The run that the lines tell."""
    told = _Told()
    first = source.documents[0][1]
    for place, item in source.documents:
        if isinstance(item, dict) and as_word(item.get("type")):
            told.take(item)
        else:
            yield EntryProblem(place, "no line of a stream: it has no type")
    session = told.session
    yield RunDraft(
        identity=["gemini stream", first.get("session_id"), first.get("timestamp")],
        name=short_name(session.first_request, source.stem),
        format="gemini",
        steps=session.close(),
        started_ms=moment_ms(first.get("timestamp")),
        error=told.failed,
        result=session.last_answer or None,
        meta={"framework": framework, "session_id": first["session_id"]},
        version=f"{len(source.documents):09d}",
    )


class _Told:
    """The lines so far."""

    def __init__(self) -> None:
        self.session = Session()
        self.failed: dict[str, Any] | None = None
        self._model: Any = None
        self._answers = 0
        self._is_open = False

    def take(self, line: dict[str, Any]) -> None:
        kind, at_ms = line["type"], moment_ms(line.get("timestamp"))
        if kind == "init":
            self._model = line.get("model")
        elif kind == "message" and line.get("role") != "assistant":
            self._is_open = False
            self.session.request(line.get("content"), at_ms=at_ms)
        elif kind == "message":
            self._put_out(line, at_ms)
        elif kind == "tool_use":
            of, name, args = str(line.get("tool_id")), line.get("tool_name"), line.get("parameters")
            call = {"id": of, "type": "function", "function": {"name": name, "arguments": args}}
            answer = self._answer({"role": "assistant", "content": [], "tool_calls": [call]}, at_ms)
            self.session.call(of, name, args, answer=answer, at_ms=at_ms)
        elif kind == "tool_result":
            self._is_open = False
            said = as_dict(line.get("error"))
            words = as_word(said.get("message")) or text_of(line.get("output"))
            failed = {"error_type": as_word(said.get("type")) or "Error", "message": words}
            error = failed if line.get("status") == "error" else None
            self.session.result(str(line.get("tool_id")), line.get("output"), at_ms=at_ms, error=error)
        elif kind == "error":
            failure = {"error_type": "GeminiError", "message": as_word(line.get("message"))}
            self.session.failure(failure, at_ms=at_ms)
        elif kind == "result":
            self._end(line, at_ms)

    def _put_out(self, line: dict[str, Any], at_ms: float | None) -> None:
        """A piece of an answer; pieces of one text are joined."""
        content = line.get("content")
        known = self.session.latest
        parts = known.fields["response"]["content"] if known is not None and self._is_open else []
        if line.get("delta") is True and isinstance(content, str) and parts and parts[-1].get("type") == "text":
            parts[-1]["text"] += content
            self.session.last_answer, content = parts[-1]["text"], []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else []
        self._answer({"role": "assistant", "content": blocks}, at_ms)

    def _answer(self, message: dict[str, Any], at_ms: float | None) -> str:
        if not self._is_open:
            self._answers += 1
            self._is_open = True
        of = f"answer {self._answers}"
        self.session.answer(of, message, at_ms=at_ms, model=self._model, provider="google").meta.pop("source_id", None)
        return of

    def _end(self, line: dict[str, Any], at_ms: float | None) -> None:
        """How it ended; what all answers used is told once, and stands with the last."""
        self.session.seen(at_ms)
        used, step = as_dict(line.get("stats")), self.session.latest
        if step is not None and used:
            names = {
                "prompt_tokens": "input_tokens",
                "completion_tokens": "output_tokens",
                "total_tokens": "total_tokens",
            }
            usage: dict[str, Any] = {name: used.get(theirs) for name, theirs in names.items()}
            step.fields["usage"] = normalise_usage(
                {**usage, "prompt_tokens_details": {"cached_tokens": used.get("cached")}}
            )
        if line.get("status") == "error":
            said = as_dict(line.get("error"))
            self.failed = {
                "error_type": as_word(said.get("type")) or "GeminiError",
                "message": as_word(said.get("message")) or "the session failed",
            }
