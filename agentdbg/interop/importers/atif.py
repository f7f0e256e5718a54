"""
ATIF, the agent trajectory interchange format of Harbor (`trajectory.json`): steps of a user, a system and an agent.

An agent's step is a model call, its tool calls and their results. A copy of earlier steps that a summarised
trajectory begins with is what the model was told, and is not counted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.sessions import Session, in_order, short_name
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import error_in_text, plain_content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import Step
    from agentdbg.interop.sources import Source

TITLE = "ATIF trajectory"


def recognises(source: Source) -> bool:
    return not source.is_folder and not source.is_zip and any(_is_trajectory(item) for _, item in source.documents[:3])


def _is_trajectory(item: Any) -> bool:
    told = as_dict(item)
    return as_word(told.get("schema_version")).upper().startswith("ATIF") and isinstance(told.get("steps"), list)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    source.expected = len(source.documents)
    for place, document in source.documents:
        if not _is_trajectory(document):
            yield EntryProblem(place, "no ATIF trajectory: it has no steps")
            continue
        yield from _read(source, place, document)


def _read(source: Source, place: str, document: dict[str, Any]) -> Iterator[RunDraft | EntryProblem]:
    told = _Told(place)
    session = told.take(document)
    yield from told.problems
    agent, totals = as_dict(document.get("agent")), as_dict(document.get("final_metrics"))
    facts = {
        "framework": agent.get("name"),
        "session_id": document.get("session_id"),
        "version": agent.get("version"),
        "notes": document.get("notes"),
        "total_cost_usd": totals.get("total_cost_usd"),
        "continued_in": document.get("continued_trajectory_ref"),
    }
    yield RunDraft(
        identity=["atif", document.get("session_id"), document.get("trajectory_id"), document["steps"]],
        name=short_name(session.first_request, source.stem),
        format="atif",
        steps=in_order(*told.lists),
        entry=place,
        result=session.last_answer or None,
        meta={key: value for key, value in facts.items() if value not in (None, "")},
    )


class _Told:
    """What a trajectory says, with those of its subagents that stand inside it."""

    def __init__(self, place: str) -> None:
        self.lists: list[list[Step]] = []
        self.problems: list[EntryProblem] = []
        self._place = place

    def take(self, document: dict[str, Any], name: str = "", under: str | None = None) -> Session:
        """One trajectory; a subagent's is a span, `name` is its key and `under` the call that started it."""
        session = Session(lane=f"{name}: " if name else "", under=name or None)
        agent = as_dict(document.get("agent"))
        for number, step in enumerate(as_list(document.get("steps")), 1):
            if isinstance(step, dict):
                _take(session, step, agent, number)
            else:
                where = f"{self._place}, {name}, step {number}".replace(", ,", ",").removeprefix(", ")
                self.problems.append(EntryProblem(where, "not an object, left out"))
        steps = session.close()
        self.lists.append(steps)
        inner = [one for one in as_list(document.get("subagent_trajectories")) if isinstance(one, dict)]
        for number, one in enumerate(inner, 1):
            of = as_word(one.get("trajectory_id")) or as_word(one.get("session_id")) or str(number)
            self.take(one, f"{name}/{of}" if name else f"subagent {of}", _started_by(steps, of))
        if name:
            steps.append(session.as_span(as_word(agent.get("name")) or "subagent", name, under))
        return session


def _started_by(steps: list[Step], trajectory_id: str) -> str | None:
    """The call whose result names this trajectory."""
    for step in steps:
        named = step.meta.get("subagents")
        for told in named if isinstance(named, list) else [named]:
            if trajectory_id in (as_dict(told).get("trajectory_id"), as_dict(told).get("session_id")):
                return step.key
    return None


def _take(session: Session, step: dict[str, Any], agent: dict[str, Any], number: int) -> None:
    who, at_ms = step.get("source"), moment_ms(step.get("timestamp"))
    content = (
        plain_content([_part(part) for part in step["message"]])
        if isinstance(step.get("message"), list)
        else step.get("message")
    )
    of = f"step {step.get('step_id', number)}"
    if step.get("is_copied_context") is True:
        session.context(content, role="assistant" if who == "agent" else "user", at_ms=at_ms)
    elif who == "agent":
        _answer(session, step, content, agent, at_ms, of)
    elif who == "user":
        session.request(content, at_ms=at_ms, source_id=of)
    else:
        session.context(content, role="system", at_ms=at_ms)
        _observed(session, step, at_ms, of)


def _answer(
    session: Session, step: dict[str, Any], content: Any, agent: dict[str, Any], at_ms: float | None, of: str
) -> None:
    calls = [call for call in as_list(step.get("tool_calls")) if isinstance(call, dict)]
    shown: dict[str, Any] = {"role": "assistant", "content": content}
    if step.get("reasoning_content"):
        shown["reasoning_content"] = step["reasoning_content"]
    if calls:
        shown["tool_calls"] = [
            {
                "id": call.get("tool_call_id"),
                "type": "function",
                "function": {"name": call.get("function_name"), "arguments": call.get("arguments")},
            }
            for call in calls
        ]
    metrics = as_dict(step.get("metrics"))
    if step.get("llm_call_count") == 0:  # the program did this by itself
        if content:
            session.note("agent", content, at_ms=at_ms, source_id=of)
        for call in calls:
            args = call.get("arguments")
            session.call(str(call.get("tool_call_id")), call.get("function_name"), args, answer="", at_ms=at_ms)
        _observed(session, step, at_ms, of)
        return
    session.answer(
        of,
        shown,
        at_ms=at_ms,
        model=step.get("model_name") or agent.get("model_name"),
        usage=_usage(metrics),
        cost_usd=metrics.get("cost_usd"),
        tools=agent.get("tool_definitions"),
    )
    for call in calls:
        session.call(
            str(call.get("tool_call_id")), call.get("function_name"), call.get("arguments"), answer=of, at_ms=at_ms
        )
    _observed(session, step, at_ms, of)


def _observed(session: Session, step: dict[str, Any], at_ms: float | None, of: str) -> None:
    results = as_list(as_dict(step.get("observation")).get("results"))
    # Results that name no call are those of the step's calls, where there is one for each.
    calls = [as_word(as_dict(call).get("tool_call_id")) for call in as_list(step.get("tool_calls"))]
    unnamed = not any(as_word(as_dict(result).get("source_call_id")) for result in results)
    by_place = calls if unnamed and len(calls) == len(results) else []
    for number, result in enumerate(results, 1):
        if not isinstance(result, dict):
            continue
        content = result.get("content")
        content = plain_content([_part(part) for part in content]) if isinstance(content, list) else content
        failed = result.get("is_error") is True or as_dict(result.get("extra")).get("is_error") is True
        error = error_in_text(content) or ({"error_type": "Error", "message": str(content)} if failed else None)
        call = as_word(result.get("source_call_id")) or (by_place[number - 1] if by_place else "")
        # The time of a step is when it began; how long its calls took is not told.
        made = session.result(call or f"{of}, result {number}", content, at_ms=at_ms, error=error, duration_ms=None)
        made.duration_ms = None
        if not call:
            made.meta.clear()
        elsewhere = result.get("subagent_trajectory_ref")
        if elsewhere:
            made.meta["subagents"] = elsewhere


def _part(part: Any) -> Any:
    told = as_dict(part)
    if told.get("type") == "image":
        return {"type": "image", "source": told.get("source")}
    return part


def _usage(metrics: dict[str, Any]) -> dict[str, Any] | None:
    usage = {key: metrics.get(key) for key in ("prompt_tokens", "completion_tokens")}
    if all(count is None for count in usage.values()):
        return None
    if metrics.get("cached_tokens") is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": metrics["cached_tokens"]}
    return usage
