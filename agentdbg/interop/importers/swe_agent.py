"""
SWE-agent trajectories (`.traj`): each step is an answer of the model and the command it led to.

A tool is named by the first word of its command, as the model means it (`edit`, `submit`, `ls`). A trajectory that has
nothing but its history is read as a conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft, Step, model_call, read_arguments, tool_call
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.transcripts import Conversation, error_in_text, is_transcript, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "SWE-agent trajectory"

_MORE = ("tool_calls", "thinking_blocks")
"""What only the history knows of an answer."""


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    (_, document), *rest = source.documents
    if rest or not isinstance(document, dict):
        return False
    steps = document.get("trajectory")
    if isinstance(steps, list) and any(isinstance(step, dict) and "observation" in step for step in steps[:2]):
        return True
    return source.path.suffix == ".traj" and is_transcript(document.get("history"))


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    document = source.documents[0][1]
    steps = as_list(document.get("trajectory"))
    history = [item for item in as_list(document.get("history")) if isinstance(item, dict)]
    model = _model_of(document)
    drafted: list[Step] = []
    if not steps:
        if not history:
            yield EntryProblem("", "neither a trajectory nor a history in it")
            return
        drafted = steps_of(_without_demonstrations(history), model=model)
    else:
        conversation = Conversation(model=model)
        for message in _opening(history):
            conversation.remember(message)
        answers = [message for message in _without_demonstrations(history) if message.get("role") == "assistant"]
        for number, step in enumerate(steps, 1):
            if isinstance(step, dict):
                told = answers[number - 1] if number <= len(answers) else {}
                drafted += _steps(step, told, conversation, model, f"step {number}")
            else:
                yield EntryProblem(f"step {number}", "not an object, left out")
    yield RunDraft(
        identity=document,
        name=source.stem,
        format="swe-agent",
        steps=drafted,
        error=_ending(document),
        result=_info(document).get("submission"),
        meta=_facts(document),
    )


def _steps(step: dict[str, Any], told: dict[str, Any], conversation: Conversation, model: str, key: str) -> list[Step]:
    """A step of the trajectory; `told` is how the history has its answer."""
    response, action = step.get("response"), step.get("action")
    seen = step.get("query")
    prompt = seen if is_transcript(seen) else conversation.prompt()
    more = {name: told[name] for name in _MORE if told.get(name) and told.get("action") == action}
    answer = {"role": "assistant", "content": response, **more} if more else response
    answered = model_call(model, prompt, answer, key=key)
    conversation.remember({"role": "assistant", "content": response})
    observation = step.get("observation")
    conversation.remember({"role": "user", "content": observation})
    command = as_word(action).strip()
    if not command and not observation:
        return [answered]
    seconds = step.get("execution_time")
    used = tool_call(
        command.split(None, 1)[0] if command else "none",
        {"command": command},
        observation,
        error=error_in_text(observation),
        parent=key,
        duration_ms=seconds * 1000 if isinstance(seconds, (int, float)) else None,
    )
    return [answered, used]


def _opening(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the model was told before its first answer."""
    opening: list[dict[str, Any]] = []
    for message in _without_demonstrations(history):
        if message.get("role") == "assistant":
            break
        opening.append({key: message[key] for key in ("role", "content") if key in message})
    return opening


def _without_demonstrations(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in history if not message.get("is_demo")]


def _model_of(document: dict[str, Any]) -> str:
    config = read_arguments(document.get("replay_config"))
    for path in (("agent", "model", "name"), ("agent", "model", "model_name")):
        found: Any = config
        for key in path:
            found = as_dict(found).get(key)
        if isinstance(found, str) and found:
            return found
    return "unknown"


def _info(document: dict[str, Any]) -> dict[str, Any]:
    return as_dict(document.get("info"))


def _ending(document: dict[str, Any]) -> dict[str, Any] | None:
    """How the run failed; what was submitted counts as done, whatever made the agent stop."""
    status = _info(document).get("exit_status")
    if not isinstance(status, str) or not status or status.startswith("submitted") or status == "skipped":
        return None
    return {"error_type": "SWEAgentExit", "message": f"the agent ended with exit_status {status}"}


def _facts(document: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {"framework": "swe-agent"}
    if isinstance(document.get("environment"), str):
        facts["environment"] = document["environment"]
    info = _info(document)
    if info.get("exit_status"):
        facts["exit_status"] = info["exit_status"]
    statistics = info.get("model_stats")
    if isinstance(statistics, dict) and any(statistics.values()):
        facts["model_stats"] = statistics
    return facts
