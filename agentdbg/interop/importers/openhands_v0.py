"""
Events of OpenHands before its agent SDK: `action` and `observation`, tied together by `cause` and by tool calls.

An action that carries the model's response is part of that answer; one without it (older versions, or a user's
command) is an answer of its own when the agent made it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import read_arguments
from agentdbg.interop.sessions import Session, exit_code_error
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms

if TYPE_CHECKING:
    from agentdbg.interop.importers.openhands_metrics import Metrics

__all__ = ["Told"]

_SILENT = frozenset({"change_agent_state", "recall", "system", "null", "pause", "resume", "stop"})
_NO_RESULTS = frozenset({"agent_state_changed", "null", "recall", "user_rejected"})
_ENDED = frozenset({"error", "rejected", "rate_limited"})


class Told:
    """The events so far."""

    def __init__(self, metrics: Metrics) -> None:
        self.session = Session()
        self.ending: dict[str, Any] | None = None
        self.result: str | None = None
        self.facts: dict[str, Any] = {}
        self._metrics = metrics
        self._calls: dict[str, str] = {}
        """The call that an action made, by the action's id."""

    def take(self, item: dict[str, Any]) -> None:
        at_ms = moment_ms(item.get("timestamp"))
        self.session.seen(at_ms)
        if as_dict(item.get("llm_metrics")):
            self._metrics.take_totals(item["llm_metrics"])
        if as_word(item.get("action")):
            self._action(item, item["action"], as_dict(item.get("args")), at_ms)
        elif as_word(item.get("observation")):
            self._observation(item, item["observation"], at_ms)

    def finish(self) -> None:
        """All events have been taken."""
        self._metrics.leave(self.session.latest)

    def _action(self, item: dict[str, Any], kind: str, args: dict[str, Any], at_ms: float | None) -> None:
        of = str(item.get("id", ""))
        if kind == "system":
            self.session.context(args.get("content"), role="system", at_ms=at_ms)
        elif kind == "message" and item.get("source") != "agent":
            self.session.request(args.get("content", item.get("content")), at_ms=at_ms, source_id=of)
        elif kind == "message":
            self._answer(item, args.get("content", item.get("content")), [], at_ms)
        elif kind == "condensation":
            self.session.note("condensation", args.get("summary"), at_ms=at_ms, source_id=of)
        elif kind not in _SILENT and item.get("source") != "environment":
            self._make(item, kind, args, at_ms)

    def _make(self, item: dict[str, Any], kind: str, args: dict[str, Any], at_ms: float | None) -> None:
        """An action of the agent: a call, and the answer that asked for it."""
        metadata = as_dict(item.get("tool_call_metadata"))
        name = as_word(metadata.get("function_name")) or kind
        call = as_word(metadata.get("tool_call_id")) or f"action {item.get('id', len(self.session.steps))}"
        given = {
            key: value for key, value in args.items() if key not in ("thought", "confirmation_state", "security_risk")
        }
        shown = {"id": call, "type": "function", "function": {"name": name, "arguments": given}}
        is_users = item.get("source") == "user"
        answer = "" if is_users else self._answer(item, args.get("thought"), [shown], at_ms)
        if kind == "finish":
            self.result = as_word(args.get("final_thought")) or as_word(as_dict(args.get("outputs")).get("content"))
            return
        self._calls[str(item.get("id"))] = call
        self.session.call(call, name, given, answer=answer, at_ms=at_ms)

    def _answer(self, item: dict[str, Any], content: Any, calls: list[Any], at_ms: float | None) -> str:
        """The answer an action belongs to, with all the calls it asked for."""
        response = as_dict(as_dict(item.get("tool_call_metadata")).get("model_response"))
        choice = as_dict(next(iter(as_list(response.get("choices"))), None))
        told = as_dict(choice.get("message"))
        answer_id = as_word(response.get("id")) or str(item.get("llm_response_id") or f"event {item.get('id')}")
        is_new = not self.session.has_answer(answer_id)
        message: dict[str, Any] = {"role": "assistant", "content": content or told.get("content") or ""}
        if told.get("reasoning_content"):
            message["reasoning_content"] = told["reasoning_content"]
        if told.get("tool_calls"):
            message["tool_calls"] = [_read(call) for call in as_list(told["tool_calls"])] if is_new else []
        elif calls:
            message["tool_calls"] = calls
        step = self.session.answer(
            answer_id,
            message,
            at_ms=at_ms,
            model=as_word(response.get("model")) or self._metrics.model or None,
            stop_reason=choice.get("finish_reason"),
        )
        if is_new:
            self._metrics.settle(step, answer_id, response.get("usage"))
        return answer_id

    def _observation(self, item: dict[str, Any], kind: str, at_ms: float | None) -> None:
        extras, content = as_dict(item.get("extras")), item.get("content")
        if kind == "agent_state_changed":
            self._ended(extras)
            return
        cause = item.get("cause")
        call = as_word(as_dict(item.get("tool_call_metadata")).get("tool_call_id")) or self._calls.get(str(cause), "")
        if kind in _NO_RESULTS and not call:
            return
        error = None
        code = extras.get("exit_code", as_dict(extras.get("metadata")).get("exit_code"))
        if kind == "error":
            error = {
                "error_type": as_word(extras.get("error_id")) or "Error",
                "message": content or item.get("message"),
            }
            if not call:
                self.session.failure(error, at_ms=at_ms, source_id=str(item.get("id", "")))
                return
        elif isinstance(code, int) and code not in (0, -1):
            error = exit_code_error(code, content)
        elif item.get("success") is False:
            error = {"error_type": "Error", "message": str(content)}
        call = call or self.session.first_waiting() or f"observation {item.get('id')}"
        self.session.result(call, content, at_ms=at_ms, error=error, diff=as_word(extras.get("diff")) or None)

    def _ended(self, extras: dict[str, Any]) -> None:
        state = as_word(extras.get("agent_state"))
        if state in _ENDED:
            reason = as_word(extras.get("reason"))
            self.ending = {"error_type": "OpenHands", "message": reason or f"the agent ended in state {state}"}
        elif state == "running":
            self.ending = None


def _read(call: Any) -> Any:
    function = as_dict(as_dict(call).get("function"))
    if not function:
        return call
    return {**call, "function": {**function, "arguments": read_arguments(function.get("arguments"))}}
