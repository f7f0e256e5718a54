"""
What `codex exec --json` prints: a line for each thing that begins, changes or ends. It tells no times.

What the model said and what it did until a turn ends stand in one list, so each stretch of words and calls is one
answer; the tokens of a turn are told once and belong to its last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.sessions import Session, exit_code_error, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.transcripts import text_of
from agentdbg.recorder.prices import normalise_usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

__all__ = ["is_line", "read_lines"]

_CALLS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "web_search": ("query",),
    "todo_list": ("items",),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
}
_RESULTS = ("aggregated_output", "result", "agents_states")
_BEGINS = ("thread.", "turn.", "item.")


def is_line(item: Any) -> bool:
    """Whether this is a line of what `codex exec --json` prints."""
    kind = as_word(as_dict(item).get("type"))
    return kind.startswith(_BEGINS) and bool({"thread_id", "item", "usage", "error"} & set(item))


def read_lines(source: Source) -> Iterator[RunDraft | EntryProblem]:
    """The run that the lines tell."""
    told = _Told()
    identity: list[Any] = []
    for place, item in source.documents:
        if isinstance(item, dict) and as_word(item.get("type")):
            told.take(item)
            identity.append(item.get("thread_id") or as_dict(item.get("item")).get("text"))
        else:
            yield EntryProblem(place, "no line of `codex exec --json`: it has no type")
    session = told.session
    yield RunDraft(
        identity=["codex exec", *filter(None, identity)],
        name=short_name(session.first_request, session.last_answer, source.stem),
        format="codex",
        steps=session.close(),
        error=told.failed,
        result=session.last_answer or None,
        meta={"framework": "codex", **({"session_id": told.thread} if told.thread else {})},
        version=f"{len(source.documents):09d}",
    )


class _Told:
    """The lines so far."""

    def __init__(self) -> None:
        self.session = Session()
        self.failed: dict[str, Any] | None = None
        self.thread = ""
        self._answers = 0
        self._is_open = False
        self._ended: set[str] = set()

    def take(self, line: dict[str, Any]) -> None:
        kind = line["type"]
        if kind == "thread.started":
            self.thread = as_word(line.get("thread_id"))
        elif kind == "turn.started":
            self.failed, self._is_open = None, False
        elif kind == "turn.completed":
            self._used(as_dict(line.get("usage")))
        elif kind in ("turn.failed", "error"):
            told = as_dict(line.get("error")) or line
            self.failed = {"error_type": "CodexError", "message": as_word(told.get("message")) or "the turn failed"}
        elif kind.startswith("item."):
            self._item(as_dict(line.get("item")), is_done=kind == "item.completed")

    def _item(self, item: dict[str, Any], *, is_done: bool) -> None:
        kind, of = as_word(item.get("type")) or as_word(item.get("item_type")), as_word(item.get("id"))
        if kind in _CALLS:
            self._call(item, kind, of, is_done=is_done)
        elif not is_done:
            return  # it is told again when it ends
        elif kind in ("agent_message", "assistant_message"):
            self._answer({"role": "assistant", "content": [{"type": "text", "text": as_word(item.get("text"))}]})
        elif kind == "reasoning":
            thought = {"type": "thinking", "thinking": as_word(item.get("text"))}
            self._answer({"role": "assistant", "content": [thought]})
        elif kind == "error":
            failure = {"error_type": "CodexError", "message": as_word(item.get("message"))}
            self.session.failure(failure, at_ms=None, source_id=of)
        else:
            self.session.note(kind or "item", item, at_ms=None, source_id=of)

    def _answer(self, message: dict[str, Any]) -> str:
        if not self._is_open:
            self._answers += 1
            self._is_open = True
        of = f"answer {self._answers}"
        self.session.answer(of, message, at_ms=None, provider="openai").meta.pop("source_id", None)
        return of

    def _call(self, item: dict[str, Any], kind: str, of: str, *, is_done: bool) -> None:
        if of in self._ended:
            return
        if not self.session.is_waiting(of):
            name = "__".join(["mcp", as_word(item.get("server")), as_word(item.get("tool"))])
            name = name if kind == "mcp_tool_call" else as_word(item.get("tool")) or kind
            args = {key: item[key] for key in _CALLS[kind] if key in item}
            args = as_dict(args.get("arguments")) or args
            call = {"id": of, "type": "function", "function": {"name": name, "arguments": args}}
            self.session.call(
                of,
                name,
                args,
                answer=self._answer({"role": "assistant", "content": [], "tool_calls": [call]}),
                at_ms=None,
            )
        if is_done:
            self._is_open = False
            self._ended.add(of)
            result = next((item[key] for key in _RESULTS if item.get(key) is not None), None)
            self.session.result(of, as_dict(result).get("content", result), at_ms=None, error=_error(item, result))

    def _used(self, usage: dict[str, Any]) -> None:
        self._is_open = False
        step = self.session.latest
        if step is not None and usage:
            prompt, completion = usage.get("input_tokens"), usage.get("output_tokens")
            details = {"cached_tokens": usage.get("cached_input_tokens")}
            told = {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}
            if usage.get("reasoning_output_tokens") is not None:
                told["completion_tokens_details"] = {"reasoning_tokens": usage["reasoning_output_tokens"]}
            step.fields["usage"] = normalise_usage(told)


def _error(item: dict[str, Any], result: Any) -> dict[str, Any] | None:
    """Why a call failed, if it did."""
    code, failure = item.get("exit_code"), item.get("error")
    if isinstance(code, int) and code != 0:
        return exit_code_error(code, result)
    if failure or item.get("status") in ("failed", "declined") or as_dict(result).get("isError") is True:
        words = as_word(as_dict(failure).get("message")) or text_of(as_list(as_dict(result).get("content")))
        return {"error_type": "Error", "message": words or f"the call ended as {item.get('status')}"}
    return None
