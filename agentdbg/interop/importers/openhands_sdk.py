"""
Events of the OpenHands agent SDK: an action and the observation that answers it make a tool call.

One model call is drafted for each answer of the model (`llm_response_id`), however many actions it asked for. An action
that is missing from the file does not hide its observation.
"""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import Step, model_call, state_update
from agentdbg.interop.sessions import Session, exit_code_error
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import error_in_text, plain_content, text_of

if TYPE_CHECKING:
    from agentdbg.interop.importers.openhands_metrics import Metrics

__all__ = ["Told"]

_LONGEST_COMPARED = 200_000
_FAILURES = ("AgentErrorEvent", "UserRejectObservation")


class Told:
    """The events so far."""

    def __init__(self, metrics: Metrics) -> None:
        self.session = Session()
        self.ending: dict[str, Any] | None = None
        self.result: str | None = None
        self.facts: dict[str, Any] = {}
        self._metrics = metrics
        self._tools: Any = None

    def take(self, item: dict[str, Any]) -> None:
        kind, at_ms = as_word(item.get("kind")), moment_ms(item.get("timestamp"))
        self.session.seen(at_ms)
        if kind == "ActionEvent":
            self._action(item, at_ms)
        elif "tool_call_id" in item and (kind == "ObservationEvent" or kind in _FAILURES):
            self._observation(item, at_ms)
        elif kind == "MessageEvent":
            self._message(item, at_ms)
        elif kind == "SystemPromptEvent":
            self._tools = item.get("tools")
            self.session.context(text_of([item.get("system_prompt")]), role="system", at_ms=at_ms)
        elif kind == "ConversationStateUpdateEvent":
            self._state(item, at_ms)
        elif kind.startswith("Condensation") and "summary" in item:
            self._condensed(item, at_ms)
        elif kind == "HookExecutionEvent":
            self._hook(item, at_ms)
        elif kind in ("ConversationErrorEvent", *_FAILURES):
            failure = {"error_type": item.get("code") or kind, "message": item.get("detail") or item.get("error") or ""}
            if kind == "ConversationErrorEvent":
                self.ending = failure
            else:
                self.session.failure(failure, at_ms=at_ms, source_id=as_word(item.get("id")))

    def finish(self) -> None:
        """All events have been taken."""
        self._metrics.leave(self.session.latest)

    def _condensed(self, item: dict[str, Any], at_ms: float | None) -> None:
        """A conversation that was made shorter, by a model of its own where its use is told."""
        of, answer_id = as_word(item.get("id")), as_word(item.get("llm_response_id"))
        forgotten = len(as_list(item.get("forgotten_event_ids")))
        if self._metrics.knows(answer_id):
            answer = {"role": "assistant", "content": item["summary"]}
            asked = model_call(self._metrics.model_of(answer_id), None, answer, at_ms=at_ms, meta={"source_id": of})
            self._metrics.settle(asked, answer_id, in_totals=False)
            self.session.steps.append(asked)
        self.session.note("condensation", item["summary"], at_ms=at_ms, source_id=of, forgotten_events=forgotten)

    def _hook(self, item: dict[str, Any], at_ms: float | None) -> None:
        """A hook that failed or held a call back is an error; one that said something is a note."""
        of = as_word(item.get("id"))
        said = next((item[name] for name in ("reason", "error", "stderr", "stdout") if as_word(item.get(name))), "")
        about = {"hook": item.get("hook_event_type"), "command": item.get("hook_command")}
        if item.get("blocked") is True or item.get("success") is False:
            failure = {"error_type": "HookError", "message": said or "the hook failed", "details": about}
            self.session.failure(failure, at_ms=at_ms, source_id=of)
        elif said:
            self.session.note("hook", said, at_ms=at_ms, source_id=of, **about)

    def _action(self, item: dict[str, Any], at_ms: float | None) -> None:
        answer_id = str(item.get("llm_response_id") or item.get("id"))
        call = as_dict(item.get("tool_call"))
        name, args = call.get("name") or item.get("tool_name"), call.get("arguments")
        call_id = as_word(item.get("tool_call_id"))
        shown = {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}
        answer: dict[str, Any] = {"role": "assistant", "content": text_of(item.get("thought")), "tool_calls": [shown]}
        answer.update({key: item[key] for key in ("reasoning_content", "thinking_blocks", "summary") if item.get(key)})
        step = self._answer(answer_id, answer, at_ms)
        if as_dict(item.get("critic_result")):
            step.meta["scores"] = {"critic": item["critic_result"]}
        if call_id:
            given = item.get("action") if args is None else args
            self.session.call(call_id, item.get("tool_name") or name, given, answer=answer_id, at_ms=at_ms)
        action = as_dict(item.get("action"))
        if action.get("kind") == "FinishAction":
            self.result = as_word(action.get("message")) or self.result

    def _answer(self, answer_id: str, answer: dict[str, Any], at_ms: float | None) -> Step:
        said = {"model": self._metrics.model or None, "tools": self._tools}
        step = self.session.answer(answer_id, answer, at_ms=at_ms, **said)
        self._metrics.settle(step, answer_id)
        return step

    def _observation(self, item: dict[str, Any], at_ms: float | None) -> None:
        told = item.get("observation")
        said = item.get("error", item.get("rejection_reason", told))
        observation = told if isinstance(told, dict) else {"content": said}
        content = observation.get("content")
        if content is None:
            content = observation.get("output", observation.get("error"))
        code = observation.get("exit_code", as_dict(observation.get("metadata")).get("exit_code"))
        error = None
        if observation.get("is_error") is True or item["kind"] in _FAILURES:
            error = error_in_text(content) or {"error_type": "Error", "message": text_of(content)}
        elif isinstance(code, int) and code not in (0, -1):  # -1: it still runs
            error = exit_code_error(code, content)
        command = as_word(observation.get("command"))
        self.session.result(
            str(item["tool_call_id"]),
            plain_content(content),
            at_ms=at_ms,
            error=error,
            name=item.get("tool_name"),
            args=None if self.session.is_waiting(str(item["tool_call_id"])) or not command else {"command": command},
            diff=as_word(observation.get("diff")) or _diff(observation),
        )

    def _message(self, item: dict[str, Any], at_ms: float | None) -> None:
        message = as_dict(item.get("llm_message"))
        content, of = plain_content(message.get("content")), as_word(item.get("id"))
        if item.get("source") == "agent":
            answer_id = str(item.get("llm_response_id") or of)
            thought = {key: message[key] for key in ("reasoning_content", "thinking_blocks") if message.get(key)}
            self._answer(answer_id, {"role": "assistant", "content": content, **thought}, at_ms)
            self.result = text_of(content) or self.result
        else:
            said = {"name": item["sender"]} if as_word(item.get("sender")) else {}
            self.session.request(content, at_ms=at_ms, source_id=of, **said)
            if as_list(item.get("extended_content")):
                self.session.context(plain_content(item["extended_content"]), at_ms=at_ms)

    def _state(self, item: dict[str, Any], at_ms: float | None) -> None:
        key, value = item.get("key"), item.get("value")
        if key == "stats":
            for name, told in as_dict(as_dict(value).get("usage_to_metrics")).items():
                if name != "condenser":
                    self._metrics.take_totals(as_dict(told), name)
        elif isinstance(key, str) and key != "full_state":
            self.session.steps.append(state_update(key, {key: value}, at_ms=at_ms))
            if key == "execution_status" and value in ("error", "stuck"):
                failure = {"error_type": "OpenHands", "message": f"the conversation ended as {value}"}
                self.ending = self.ending or failure


def _diff(observation: dict[str, Any]) -> str | None:
    """What an edit changed, as `diff -u` shows it; nothing for very long files, whose comparison takes long."""
    old, new = observation.get("old_content"), observation.get("new_content")
    if not isinstance(new, str) or not isinstance(old, str | None) or old == new:
        return None
    if len(new) + len(old or "") > _LONGEST_COMPARED:
        return None
    path = as_word(observation.get("path")) or "file"
    before = path if old is not None else "/dev/null"
    lines = unified_diff((old or "").splitlines(), new.splitlines(), before, path, lineterm="")
    return "\n".join(lines) + "\n"
