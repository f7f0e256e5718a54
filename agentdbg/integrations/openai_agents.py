"""
The OpenAI Agents SDK: agents, handoffs and guardrails as spans, models as LLM_CALL, tools as TOOL_CALL.

    from agentdbg.integrations import openai_agents      # importing it registers everything

    openai_agents.local_only()      # besides: keep the SDK's own tracing from uploading anything

Every model, the program's own ones too, streaming, parallel tools with their real exceptions, MCP servers, agents as
tools. It does not need the SDK's tracing: that may be switched off, and its processors replaced. The SDK's own
uploader stays as it is unless `local_only` is called. Supported: openai-agents >= 0.20.

Calls begin in run hooks, which can stop a run, and end where the model or the tool does.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.around import contained, enclosing_call, mcp_failure, pass_on
from agentdbg.integrations import openai as client
from agentdbg.integrations._client_recording import as_plain
from agentdbg.integrations._private_names import AGENTS_INVOKE, AGENTS_INVOKED
from agentdbg.integrations._tool_seams import follow_subclasses, make_tool_call_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

try:
    from agents import Model, RunHooks, get_current_span, set_trace_processors
    from agents import tool as agents_tool
    from agents.lifecycle import RunHooksBase
    from agents.run import AgentRunner

    from agentdbg.integrations._openai_agents_steps import Steps, end_of, kind_of, pairing
except ImportError as error:
    raise ImportError("agentdbg records the OpenAI Agents SDK, which is missing: pip install openai-agents") from error

__all__ = ["disable", "enable", "local_only"]

_steps = Steps()


def enable() -> None:
    """Record every agent of this process from now on."""
    from agents import RunHooks as Current  # noqa: PLC0415

    if Current is not RunHooks:  # the program has imported the SDK anew, with classes of its own
        importlib.reload(sys.modules["agentdbg.integrations._openai_agents_steps"])
        importlib.reload(sys.modules[__name__])
        return
    _install()
    _steps.enabled = True
    client.complete_others()


@functools.cache
def _install() -> None:
    """Stand around what the SDK does. What is installed stays; `disable` only switches it off."""
    _steps.install()
    for method in ("run", "run_streamed"):
        setattr(AgentRunner, method, _with_hooks(getattr(AgentRunner, method)))
    follow_subclasses(Model, {"get_response": _asked_at_once, "stream_response": _asked_in_a_stream})
    _catch_tool_errors()
    _stand_around_tools()
    _follow_mcp_servers()


def disable() -> None:
    """Record no more agents."""
    _steps.enabled = False


def local_only() -> None:
    """Keep the SDK's own tracing from uploading: nobody else hears of its traces any more."""
    enable()
    set_trace_processors([])


# Run hooks: where calls begin, and can be refused.


class _Hooks(RunHooks):  # type: ignore[misc]  # Any where it is not installed
    """The program's own run hooks, if any, with ours before them. Ours may raise: that is how a guardrail stops."""

    def __init__(self, hooks: Any) -> None:
        self._hooks = hooks


def _hook(name: str, ours: Callable[..., None] | None) -> Any:
    async def hook(self: _Hooks, *args: Any, **kwargs: Any) -> None:
        if ours is not None and _steps.enabled:
            ours(*args, **kwargs)
        if self._hooks is not None:
            await getattr(self._hooks, name)(*args, **kwargs)

    hook.__name__ = name
    return hook


@contained
def _model_is_asked(_context: Any, agent: Any, system_prompt: str | None, input_items: list[Any]) -> None:
    if enclosing_call("llm") is not None:
        return
    step = _steps.here()
    fields: dict[str, Any] = {"temperature": getattr(agent.model_settings, "temperature", None)}
    meta = {"agent_name": agent.name}
    prompt = _prompt(system_prompt, input_items)
    if pairing.start(
        ("asked", step), "llm", _model_name(agent.model) or "unknown", prompt, parent_key=step, meta=meta, **fields
    ):
        _steps.expects(("asked", step), step)


@contained
def _model_has_answered(_context: Any, _agent: Any, response: Any) -> None:
    """A model of whatever class, which nobody stood around."""
    key = ("asked", _steps.here())
    if pairing.is_open(key):
        pairing.end(key, **_outcome(response))


@contained
def _tool_is_called(context: Any, agent: Any, tool: Any) -> None:
    call_id = getattr(context, "tool_call_id", None)
    meta = {"agent_name": agent.name, **({"tool_call_id": call_id} if call_id else {})}
    step, key = _steps.here(), _tool_key(tool)
    began = pairing.start(key, "tool", tool.name, _arguments(context), parent_key=step, asked_by=call_id, meta=meta)
    if began and key != step:
        _steps.expects(key, step)


@contained
def _tool_has_returned(_context: Any, _agent: Any, tool: Any, result: Any) -> None:
    step, key = _steps.here(), _tool_key(tool)
    if key == step:
        _steps.tool_returned(step, result)
    else:
        pairing.end(key, result)


def _tool_key(tool: Any) -> Any:
    """The span around a tool; some of the SDK's own tools have none."""
    span = get_current_span()
    return _steps.here() if span is not None and kind_of(span) == "function" else (_steps.here(), id(tool))


_OURS: dict[str, Callable[..., None]] = {
    "on_llm_start": _model_is_asked,
    "on_llm_end": _model_has_answered,
    "on_tool_start": _tool_is_called,
    "on_tool_end": _tool_has_returned,
}
for _name in dir(RunHooks):
    if _name.startswith("on_"):
        setattr(_Hooks, _name, _hook(_name, _OURS.get(_name)))


def _with_hooks(run: Any) -> Any:
    @functools.wraps(run)
    def run_with_hooks(self: Any, *args: Any, **kwargs: Any) -> Any:
        _add_hooks(kwargs)
        return run(self, *args, **kwargs)

    return run_with_hooks


@contained
def _add_hooks(kwargs: dict[str, Any]) -> None:
    hooks = kwargs.get("hooks")
    # What is not a set of run hooks is left to the SDK to complain about.
    if _steps.enabled and (hooks is None or isinstance(hooks, RunHooksBase)) and not isinstance(hooks, _Hooks):
        kwargs["hooks"] = _Hooks(hooks)


# Models: standing around each, whoever wrote it.


def _asked_at_once(original: Any) -> Any:
    async def get_response(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin(self, args, kwargs)
        try:
            response = original(self, *args, **kwargs)
            if inspect.isawaitable(response):
                response = await response
        except BaseException as raised:
            _end(call, **end_of(raised))
            raise
        _end(call, **_outcome(response))
        return response

    return get_response


def _asked_in_a_stream(original: Any) -> Any:
    async def stream_response(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        call = _begin(self, args, kwargs)
        fold = client.ResponseFold()
        events: Any = None
        try:
            events = original(self, *args, **kwargs)
            async for event in events:
                _add(call, fold, event)
                yield event
        except BaseException as raised:
            _end(call, **_so_far(fold, raised))
            raise
        finally:
            if hasattr(events, "aclose"):
                await events.aclose()
        _end(call, **_read(fold.response()))

    return stream_response


@contained
def _begin(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object | None:
    """What the run hook announced, else a call that it has not seen: a retry of the SDK, a runner of somebody's own."""
    if not _steps.enabled or enclosing_call("llm") is not None:
        return None
    call, step, name = object(), _steps.here(), _model_name(model)
    if not pairing.adopt(("asked", step), call):
        given = {**dict(zip(("system_instructions", "input"), args, strict=False)), **kwargs}
        prompt = _prompt(given.get("system_instructions"), given.get("input"))
        if not pairing.start(call, "llm", name or "unknown", prompt, parent_key=step):
            return None
    pairing.learn(call, name)
    return call


@contained
def _add(call: object | None, fold: Any, event: Any) -> None:
    if call is not None:
        fold.add(as_plain(event))
        pairing.answering(call, lambda: _so_far(fold, None))


@contained
def _end(call: object | None, **outcome: Any) -> None:
    if call is not None:
        pairing.end(call, **outcome)


# Tools: what went wrong in them.


def _catch_tool_errors() -> None:
    """The SDK turns a tool's exception into words for the model; here it still has the exception in its hand."""
    name = "maybe_invoke_function_tool_failure_error_function"
    original = getattr(agents_tool, name, None)
    if original is None:
        return  # then the event has the SDK's own words

    @functools.wraps(original)
    async def tell_the_model(*args: Any, **kwargs: Any) -> Any:
        _note_tool_error(kwargs.get("error"))
        return await original(*args, **kwargs)

    setattr(agents_tool, name, tell_the_model)


def _stand_around_tools() -> None:
    """Where the SDK calls the function behind a tool."""
    for module in (agents_tool, sys.modules.get("agents.run_internal.tool_execution")):
        for name in AGENTS_INVOKE:
            original = getattr(module, name, None)
            if original is not None and not hasattr(original, "agentdbg_original"):
                setattr(module, name, _invoking(original))


def _invoking(original: Any) -> Any:
    """Make the call through the door; what the tool gave goes through it without what the SDK wraps around it."""

    @functools.wraps(original)
    async def invoke(*args: Any, **kwargs: Any) -> Any:
        tool, given = kwargs.get("function_tool"), kwargs.get("arguments")
        if tool is None or not _steps.enabled:
            return await original(*args, **kwargs)

        async def call(arguments: Any) -> Any:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            made = await original(*args, **(kwargs if arguments is known else {**kwargs, "arguments": text}))
            rest = {**vars(made), "output": None} if type(made) is wrapper else {"": True}
            return made if any(rest.values()) else made.output

        known = _as_arguments(given)
        wrapper = getattr(agents_tool, AGENTS_INVOKED, None) if original.__name__ == AGENTS_INVOKE[0] else None
        result = await make_tool_call_async(tool.name, known, call)
        return result if wrapper is None or isinstance(result, wrapper) else wrapper(output=result)

    replacement: Any = invoke
    replacement.agentdbg_original = original
    return replacement


def _as_arguments(given: Any) -> Any:
    """What the model gave, as data where it is JSON."""
    try:
        return json.loads(given) if isinstance(given, str) and given else given
    except ValueError as error:
        pass_on(error)
        return given


def _follow_mcp_servers() -> None:
    """A server says in its result that a tool failed, which the SDK passes on to the model as any other."""

    def called(original: Any) -> Any:
        async def call_tool(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = await original(self, *args, **kwargs)
            _note_tool_error(mcp_failure(result))
            return result

        return call_tool

    # The SDK loads its own part for MCP where the package for it is there.
    if "agents.mcp" in sys.modules:
        follow_subclasses(sys.modules["agents.mcp"].MCPServer, {"call_tool": called})


@contained
def _note_tool_error(raised: Any) -> None:
    if raised is not None:
        _steps.tool_failed(_steps.here(), raised)


# What the SDK's objects say.


def _model_name(model: Any) -> str | None:
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return name if isinstance(name, str) and name else None


def _prompt(system: Any, items: Any) -> list[Any]:
    told = [{"role": "system", "content": system}] if system else []
    return [*told, *([{"role": "user", "content": items}] if isinstance(items, str) else items or [])]


def _outcome(response: Any) -> dict[str, Any]:
    """What a model's response says, as arguments of `Pairing.end`."""
    items = [as_plain(item) for item in getattr(response, "output", None) or ()]
    return _read({"output": items, "usage": _usage(response), "id": getattr(response, "response_id", None)})


def _read(response: dict[str, Any]) -> dict[str, Any]:
    outcome = client.read_response(response) if response.get("output") or response.get("id") else {}
    usage = outcome.get("usage")
    if isinstance(usage, dict) and not (usage.get("input_tokens") or usage.get("output_tokens")):
        outcome["usage"] = None  # the SDK says 0 where nobody counted; what is not known stays unknown
    return {key: value for key, value in outcome.items() if value is not None}


def _so_far(fold: Any, raised: BaseException | None) -> dict[str, Any]:
    """What a stream that was broken off, or left by its reader, has said until then."""
    said, ended = _read(fold.response()), end_of(raised)
    return {**said, **ended, "meta": {**said.get("meta", {}), **ended.get("meta", {})}}


def _usage(response: Any) -> dict[str, Any] | None:
    usage = getattr(response, "usage", None)
    if usage is None:
        return None
    known = {key: getattr(usage, key, None) for key in ("input_tokens", "output_tokens", "total_tokens")}
    details = {key: as_plain(getattr(usage, key, None)) for key in ("input_tokens_details", "output_tokens_details")}
    return {**known, **details}


def _arguments(context: Any) -> Any:
    text = getattr(context, "tool_arguments", None)
    try:
        return json.loads(text) if text else {}
    except (TypeError, ValueError) as error:
        pass_on(error)
        return text


enable()
