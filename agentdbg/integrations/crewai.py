"""
CrewAI: crews, tasks, agents and flows as spans, model calls as LLM_CALL, tools as TOOL_CALL with their exceptions.

    from agentdbg.integrations import crewai
    crewai.enable()

Listeners of CrewAI's event bus are called later, on other threads, and cannot stop anything. So this one stands where
events are emitted: in the thread and at the moment they happen. Nothing arrives late, order and times are true, and a
limit stops the crew before the model is asked. Supported: crewai >= 1.15.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any

from agentdbg import AgentDbgGuardrailExceeded
from agentdbg.around import Pairing, contained
from agentdbg.integrations._private_names import CREWAI_PASSED_THROUGH, TOOL_METHODS
from agentdbg.integrations._tool_seams import follow_subclasses, make_tool_call, make_tool_call_async

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["disable", "enable"]

_MOST_REMEMBERED = 10_000
_pairing = Pairing("crewai")
_streamed: dict[str, list[str]] = {}
_begun: dict[str, tuple[str, str | None]] = {}


def enable() -> None:
    """Record every crew, flow and agent of this process."""
    bus, core, base_tool = _crewai()
    if "emit" in vars(bus):
        return
    emit = bus.emit

    @functools.wraps(emit)
    def emit_recorded(source: Any, event: Any) -> Any:
        future = emit(source, event)
        _record(source, event)
        return future

    bus.emit = emit_recorded
    # CrewAI tries an agent again after an exception, except after those that are meant to stop it; ours is.
    setattr(core, CREWAI_PASSED_THROUGH, (*_passed_through(core), AgentDbgGuardrailExceeded))
    _follow_tools(base_tool)


def disable() -> None:
    """Record no more of them."""
    bus, core, _ = _crewai()
    if "emit" in vars(bus):
        del bus.emit
        theirs = tuple(kind for kind in _passed_through(core) if kind is not AgentDbgGuardrailExceeded)
        setattr(core, CREWAI_PASSED_THROUGH, theirs)


def _crewai() -> tuple[Any, Any, Any]:
    try:
        from crewai.agent import core  # noqa: PLC0415 -- it takes seconds to import, so only when it is wanted
        from crewai.events import crewai_event_bus  # noqa: PLC0415
        from crewai.tools import base_tool  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("agentdbg records crewai >= 1.15, which is missing: pip install crewai") from error
    return crewai_event_bus, core, base_tool


def _passed_through(core: Any) -> tuple[type[Exception], ...]:
    return tuple(getattr(core, CREWAI_PASSED_THROUGH, ()))


@contained
def _record(source: Any, event: Any) -> None:
    """One event of the bus: something began, something goes on, or what `started_event_id` names has ended."""
    if event.type.endswith("_started"):
        _remember(event)
    begin = _BEGINNINGS.get(event.type)
    if begin is not None:
        begin(source, event)
    elif event.type == "llm_stream_chunk":
        _note_piece(event)
    elif event.started_event_id is not None:
        _end(event)
    elif event.type.endswith("_started"):
        _pairing.skip(event.event_id, event.parent_event_id)


# Beginnings.


def _begin_crew(_: Any, event: Any) -> None:
    name = event.crew_name or "crew"
    _begin_span(event, name, event.inputs, {"crew_name": name})


def _begin_task(_: Any, event: Any) -> None:
    description = getattr(event.task, "description", None)
    name = event.task_name or getattr(event.task, "name", None) or description or "task"
    _begin_span(event, _first_line(name), description, {"task_name": _first_line(name)})


def _begin_agent(_: Any, event: Any) -> None:
    role = event.agent.role
    _begin_span(event, _first_line(role), event.task_prompt, {"agent_name": role, "agent_type": "agent"})


def _begin_lite_agent(_: Any, event: Any) -> None:
    role = str(event.agent_info.get("role") or "agent")
    _begin_span(event, _first_line(role), event.messages, {"agent_name": role, "agent_type": "lite_agent"})


def _begin_flow(source: Any, event: Any) -> None:
    if type(source).__module__.startswith("crewai."):  # CrewAI runs its own agents as flows; nobody wrote those
        _pairing.skip(event.event_id, event.parent_event_id)
    else:
        _begin_span(event, event.flow_name, event.inputs, {"flow_name": event.flow_name})


def _begin_method(source: Any, event: Any) -> None:
    if type(source).__module__.startswith("crewai."):
        _pairing.skip(event.event_id, event.parent_event_id)
    else:
        _begin_span(event, event.method_name, event.params, {"flow_name": event.flow_name})


def _begin_model_call(source: Any, event: Any) -> None:
    fields: dict[str, Any] = {"provider": getattr(source, "provider", None) or "unknown"}
    fields["temperature"] = event.temperature
    if event.tools:
        fields["tools"] = event.tools
    wanted = ("top_p", "max_tokens", "seed", "stop_sequences", "frequency_penalty", "presence_penalty", "n")
    parameters = {name: value for name in wanted if (value := getattr(event, name, None)) is not None}
    if parameters:
        fields["parameters"] = parameters
    _pairing.start(
        event.event_id,
        "llm",
        event.model or "unknown",
        [_without_marks(message) for message in event.messages] if isinstance(event.messages, list) else event.messages,
        parent_key=event.parent_event_id,
        meta=_place(event),
        **fields,
    )


def _begin_tool(_: Any, event: Any) -> None:
    _pairing.start(
        event.event_id, "tool", event.tool_name, event.tool_args, parent_key=event.parent_event_id, meta=_place(event)
    )


_BEGINNINGS: dict[str, Callable[[Any, Any], None]] = {
    "agent_execution_started": _begin_agent,
    "crew_kickoff_started": _begin_crew,
    "flow_started": _begin_flow,
    "lite_agent_execution_started": _begin_lite_agent,
    "llm_call_started": _begin_model_call,
    "method_execution_started": _begin_method,
    "task_started": _begin_task,
    "tool_usage_started": _begin_tool,
}


def _begin_span(event: Any, name: str, given: Any, meta: dict[str, Any]) -> None:
    _pairing.start(event.event_id, "span", name, given, parent_key=event.parent_event_id, meta=meta)


def _place(event: Any) -> dict[str, Any]:
    known = {"agent_name": event.agent_role, "task_name": event.task_name and _first_line(event.task_name)}
    return {key: value for key, value in known.items() if value}


def _first_line(text: str) -> str:
    return str(text).strip().partition("\n")[0][:200]


def _without_marks(message: Any) -> Any:
    """CrewAI marks messages for its own caching; the model never sees that."""
    if isinstance(message, dict):
        return {key: value for key, value in message.items() if key != "cache_breakpoint"}
    return message


# Tools: where their own code would run.


@functools.cache
def _follow_tools(base_tool: Any) -> None:
    follow_subclasses(base_tool.BaseTool, dict.fromkeys(TOOL_METHODS, _around_tool))
    # A tool made of a function calls it past its own method; it does otherwise what every tool does.
    base_tool.Tool.run = base_tool.BaseTool.run


def _around_tool(original: Any) -> Any:
    def given_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**kwargs, **({"args": list(args)} if args else {})}

    def call(tool: Any, given: dict[str, Any]) -> Any:
        named = {key: value for key, value in given.items() if key != "args"}
        return original(tool, *given.get("args", ()), **named)

    async def run_async(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await make_tool_call_async(self.name, given_of(args, kwargs), functools.partial(call, self))

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if inspect.iscoroutinefunction(getattr(self, "func", None)):
            return run_async(self, *args, **kwargs)  # the one who asked awaits it
        return make_tool_call(self.name, given_of(args, kwargs), functools.partial(call, self))

    return run_async if inspect.iscoroutinefunction(original) else run


# In between, and endings.


def _note_piece(event: Any) -> None:
    """A piece of a streamed answer, which comes between the start and the end of its call."""
    key = event.parent_event_id
    if key is None or not _pairing.is_open(key):
        return
    pieces = _streamed.setdefault(key, [])
    pieces.append(event.chunk or "")
    if len(pieces) == 1:
        _pairing.answering(key, lambda: {"result": "".join(_streamed.pop(key, [])), "meta": {"cancelled": True}})


def _end(event: Any) -> None:
    *inside, key = _ended_by(event)
    error = getattr(event, "error", None)
    _streamed.pop(key, None)
    for left_open in inside:
        _pairing.end(left_open, error=sys.exc_info()[1] or error)
    if event.type == "llm_call_completed":
        _end_model_call(key, event)
    elif error is not None:
        # The event has the words of the exception; the exception itself is just being handled here.
        _pairing.end(key, error=error if isinstance(error, BaseException) else sys.exc_info()[1] or error)
    elif event.type == "tool_usage_finished":
        failure = event.failure
        _pairing.end(
            key,
            event.output,
            error=None if failure is None else {"error_type": "ToolFailure", "message": failure.message},
            meta={"from_cache": True} if event.from_cache else None,
        )
    else:
        result = getattr(event, "output", getattr(event, "result", None))
        _pairing.end(key, getattr(result, "raw", result))


def _remember(event: Any) -> None:
    if len(_begun) >= _MOST_REMEMBERED:
        _begun.pop(next(iter(_begun)))
    _begun[event.event_id] = (_subject(event), event.parent_event_id)


def _ended_by(event: Any) -> list[str]:
    """
    What this event ends, inside first.

    An exception that passes straight through leaves CrewAI's own steps unreported, and from then on its bus takes
    the innermost open one for the one that ended. What began is looked for by what it is, outwards from there.
    """
    ended: list[str] = []
    key = event.started_event_id
    while key in _begun:
        ended.append(key)
        subject, key = _begun[key]
        if subject == _subject(event):
            return ended
    return [event.started_event_id]


def _subject(event: Any) -> str:
    """`task` of `task_started` and `task_failed`."""
    return str(event.type).rpartition("_")[0]


def _end_model_call(key: str, event: Any) -> None:
    response = event.response
    calls = response if isinstance(response, list) else []
    asked = [call.get("id") if isinstance(call, dict) else getattr(call, "id", None) for call in calls]
    _pairing.end(
        key,
        {"role": "assistant", "content": None, "tool_calls": calls} if calls else response,
        usage=_usage(event.usage),
        stop_reason=event.finish_reason,
        asks_for=[identity for identity in asked if isinstance(identity, str)],
        meta={"generation_id": event.response_id} if event.response_id else None,
    )


def _usage(usage: dict[str, Any] | None) -> dict[str, Any] | None:
    if not usage:
        return None
    rest = dict(usage)
    details = {"cached_tokens": rest.pop("cached_prompt_tokens", None)}
    reasoning = {"reasoning_tokens": rest.pop("reasoning_tokens", None)}
    return {**rest, "prompt_tokens_details": details, "completion_tokens_details": reasoning}
