"""
OpenHands events, one JSON object on each line: an action and the observation that answers it make a tool call.

One model call is drafted for each answer of the model (`llm_response_id`), however many actions it asked for. Its
prompt is the conversation as the events tell it, its usage what the running totals grew by. An action that is missing
from the file does not hide its observation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import EntryProblem, RunDraft, Step, error_step, model_call, state_update, tool_call
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import Conversation, error_in_text, plain_content, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "OpenHands events"

_KINDS = ("ActionEvent", "ObservationEvent", "MessageEvent", "ConversationStateUpdateEvent", "SystemPromptEvent")
_FAILURES = ("AgentErrorEvent", "UserRejectObservation")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(isinstance(item, dict) and item.get("kind") in _KINDS for _, item in _events(source)[:20])


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    told = _Told()
    for place, item in _events(source):
        if isinstance(item, dict) and isinstance(item.get("kind"), str):
            told.take(item)
        else:
            yield EntryProblem(place, "no OpenHands event: it has no kind")
    yield RunDraft(
        identity=[item.get("id") for _, item in _events(source) if isinstance(item, dict)],
        name=source.stem if source.stem != "events" else f"{source.path.resolve().parent.name} events",
        format="openhands",
        steps=told.steps,
        error=told.ending,
        result=told.result,
        meta={"framework": "openhands"},
    )


def _events(source: Source) -> list[tuple[str, Any]]:
    documents = source.documents
    if len(documents) == 1 and isinstance(documents[0][1], list):
        return [(f"entry {number}", item) for number, item in enumerate(documents[0][1], 1)]
    return documents


class _Told:
    """The events so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.ending: dict[str, Any] | None = None
        self.result: str | None = None
        self._conversation = Conversation()
        self._actions: dict[str, dict[str, Any]] = {}
        self._answers: dict[str, Step] = {}
        self._tools: Any = None
        self._model = "unknown"
        self._totals: dict[str, int] = {}
        self._grown: dict[str, int] | None = None

    def take(self, item: dict[str, Any]) -> None:
        kind = item["kind"]
        if kind == "ActionEvent":
            self._action(item)
        elif "tool_call_id" in item and (kind == "ObservationEvent" or kind in _FAILURES):
            self._observation(item)
        elif kind == "MessageEvent":
            self._message(item)
        elif kind == "SystemPromptEvent":
            self._tools = item.get("tools")
            self._conversation.remember({"role": "system", "content": text_of([item.get("system_prompt")])})
        elif kind == "ConversationStateUpdateEvent":
            self._state(item)
        elif kind.startswith("Condensation") and "summary" in item:
            state = {"summary": item["summary"], "forgotten_events": len(as_list(item.get("forgotten_event_ids")))}
            self.steps.append(state_update("condensation", state, at_ms=_at(item)))
        elif kind in ("ConversationErrorEvent", *_FAILURES):
            failure = {"error_type": item.get("code") or kind, "message": item.get("detail") or item.get("error") or ""}
            self.steps.append(error_step(failure, at_ms=_at(item)))
            self.ending = failure if kind == "ConversationErrorEvent" else self.ending

    def _action(self, item: dict[str, Any]) -> None:
        if isinstance(item.get("tool_call_id"), str):
            self._actions[item["tool_call_id"]] = item
        answer_id = str(item.get("llm_response_id") or item.get("id"))
        call = _as_call(item)
        known = self._answers.get(answer_id)
        if known is not None:
            known.fields["response"].setdefault("tool_calls", []).append(call)
            return
        answer = {"role": "assistant", "content": text_of(item.get("thought")), "tool_calls": [call]}
        if item.get("reasoning_content"):
            answer["reasoning_content"] = item["reasoning_content"]
        self._answer(answer_id, answer, _at(item))
        action = item.get("action")
        if isinstance(action, dict) and action.get("kind") == "FinishAction":
            self.result = action.get("message") if isinstance(action.get("message"), str) else self.result

    def _answer(self, answer_id: str, answer: dict[str, Any], at_ms: float | None) -> None:
        usage, self._grown = self._grown, None
        step = model_call(
            self._model,
            self._conversation.prompt(),
            answer,
            usage=usage,
            tools=self._tools,
            key=answer_id,
            at_ms=at_ms,
        )
        self._answers[answer_id] = step
        self.steps.append(step)
        self._conversation.remember(answer)

    def _observation(self, item: dict[str, Any]) -> None:
        action = self._actions.get(str(item["tool_call_id"]), {})
        observation = item.get("observation")
        observation = observation if isinstance(observation, dict) else {"content": item.get("error", observation)}
        content = observation.get("content")
        failed = observation.get("is_error") is True or item["kind"] in _FAILURES
        error = (error_in_text(content) or {"error_type": "Error", "message": text_of(content)}) if failed else None
        ended, began = _at(item), _at(action)
        args = as_dict(action.get("tool_call")).get("arguments")
        if args is None:
            args = action.get("action") or _echoed(observation)
        self.steps.append(
            tool_call(
                item.get("tool_name") or action.get("tool_name"),
                args,
                None if failed else _result_of(observation),
                error=error,
                parent=str(action["llm_response_id"]) if action.get("llm_response_id") else None,
                at_ms=ended,
                duration_ms=ended - began if ended is not None and began is not None else None,
            )
        )
        self._conversation.remember({"role": "tool", "content": text_of(content)})

    def _message(self, item: dict[str, Any]) -> None:
        message = as_dict(item.get("llm_message"))
        said = {"role": message.get("role", "user"), "content": text_of(message.get("content"))}
        if item.get("source") == "agent":
            self._answer(str(item.get("llm_response_id") or item.get("id")), {**said, "role": "assistant"}, _at(item))
            self.result = said["content"]
        else:
            self._conversation.remember(said)

    def _state(self, item: dict[str, Any]) -> None:
        key, value = item.get("key"), item.get("value")
        if key == "stats":
            self._note_usage(value)
        elif isinstance(key, str) and key != "full_state":
            self.steps.append(state_update(key, {key: value}, at_ms=_at(item)))
            if key == "execution_status" and value in ("error", "stuck"):
                failure = {"error_type": "OpenHands", "message": f"the conversation ended as {value}"}
                self.ending = self.ending or failure

    def _note_usage(self, value: Any) -> None:
        """Running totals: what one update adds is what one answer used."""
        metrics = as_dict(as_dict(value).get("usage_to_metrics"))
        mine = as_dict(metrics.get("default") or metrics.get("agent"))
        total = as_dict(mine.get("accumulated_token_usage"))
        if not total:
            return
        self._model = as_word(mine.get("model_name")) or self._model
        told = {key: whole_number(total.get(key)) for key in ("prompt_tokens", "completion_tokens")}
        counts = {key: count for key, count in told.items() if count is not None}
        self._grown = {key: count - self._totals.get(key, 0) for key, count in counts.items()}
        self._totals = counts


def _at(item: dict[str, Any]) -> float | None:
    return moment_ms(item.get("timestamp"))


def _as_call(item: dict[str, Any]) -> dict[str, Any]:
    call = as_dict(item.get("tool_call"))
    function = {"name": call.get("name") or item.get("tool_name"), "arguments": call.get("arguments")}
    return {"id": item.get("tool_call_id"), "type": "function", "function": function}


def _echoed(observation: dict[str, Any]) -> dict[str, Any] | None:
    """What an observation repeats of the action it answers."""
    return {"command": observation["command"]} if isinstance(observation.get("command"), str) else None


def _result_of(observation: dict[str, Any]) -> Any:
    content = plain_content(observation.get("content"))
    code = observation.get("exit_code")
    return content if code in (None, 0) else {"content": content, "exit_code": code}
