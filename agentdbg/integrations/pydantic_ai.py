"""
Pydantic AI: agents as spans, model requests as LLM_CALL, tools as TOOL_CALL with their real exceptions.

    from agentdbg.integrations import pydantic_ai
    pydantic_ai.enable()                               # every agent of the process
    agent = Agent(…, capabilities=[pydantic_ai.recorder()])   # or this one alone

It stands around the agent's own steps as a capability (`pydantic_ai.capabilities`), passes every value on
unchanged and raises every error again. Supported: pydantic-ai >= 2.
"""

from __future__ import annotations

import contextlib
import functools
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

from agentdbg.around import Pairing, at_place, contained, current_place
from agentdbg.integrations._private_names import (
    PYDANTIC_AI_BILLED,
    PYDANTIC_AI_CAPABILITIES,
    PYDANTIC_AI_SAFE_AT_RUNTIME,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

__all__ = ["disable", "enable", "recorder"]

_ID = "agentdbg"
_pairing = Pairing("pydantic_ai")
_originals: dict[Any, Any] = {}


def enable() -> None:
    """Record every agent run of this process, also those of agents made before."""
    capability = recorder()
    from pydantic_ai import Agent  # noqa: PLC0415

    if Agent in _originals:
        return
    _originals[Agent] = original = Agent.iter

    @functools.wraps(original)
    def iter(self: Any, *args: Any, capabilities: Any = None, **kwargs: Any) -> Any:  # noqa: A001 -- its name there
        return original(self, *args, capabilities=_added(self, capability, capabilities), **kwargs)

    changed: Any = Agent
    changed.iter = iter


def disable() -> None:
    """Record no more of them."""
    while _originals:
        agent, original = _originals.popitem()
        agent.iter = original


def recorder() -> Any:
    """The capability that records an agent, for `Agent(capabilities=[…])`."""
    try:
        from pydantic_ai.capabilities import AbstractCapability  # noqa: PLC0415 -- only when it is wanted
        from pydantic_ai.models.wrapper import WrapperModel  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("agentdbg records pydantic-ai >= 2, which is missing: pip install pydantic-ai") from error
    return _capability(AbstractCapability, WrapperModel)


@functools.cache
def _capability(capability_base: Any, model_base: Any) -> Any:
    class ServedModel(model_base):  # type: ignore[misc] # a class the type checker cannot see
        """
        The model, opening its streams as part of the call that is being recorded.

        The framework opens a stream in its consumer's task, where our scope is not known.
        """

        def __init__(self, model: Any) -> None:
            super().__init__(model)
            self._place_of_call = current_place()

        @contextlib.asynccontextmanager
        async def request_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            async with contextlib.AsyncExitStack() as stack:
                with at_place(self._place_of_call):
                    stream = await stack.enter_async_context(super().request_stream(*args, **kwargs))
                yield stream

    class Recorder(capability_base):  # type: ignore[misc] # a class the type checker cannot see
        """Stands around an agent's run, its model requests and its tools."""

        id = _ID
        wrap_run = staticmethod(_run)
        wrap_model_request = staticmethod(functools.partial(_model_request, ServedModel))
        wrap_tool_execute = staticmethod(_tool_execute)

    setattr(Recorder, PYDANTIC_AI_SAFE_AT_RUNTIME, True)
    return Recorder()


def _added(agent: Any, capability: Any, given: Iterable[Any] | None) -> list[Any]:
    """The capabilities of a run and ours, unless the agent has been given ours already."""
    chosen = list(given or ())
    root = getattr(agent, PYDANTIC_AI_CAPABILITIES, None)
    known = [*chosen, *getattr(root, "capabilities", ())]
    return chosen if any(getattr(one, "id", None) == _ID for one in known) else [*chosen, capability]


# Standing around the three steps.


async def _run(ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:
    key = ("run", ctx.run_id)
    name = getattr(ctx.agent, "name", None) or "agent"
    _pairing.start(key, "span", name, ctx.prompt, meta={"agent_name": name})
    try:
        result = await handler()
    except BaseException as error:
        _pairing.end(key, error=error)
        raise
    _pairing.end(key, getattr(result, "output", None))
    return result


async def _model_request(
    served: Any, ctx: Any, *, request_context: Any, handler: Callable[[Any], Awaitable[Any]]
) -> Any:
    key = _model_key(ctx)
    _start_model_request(key, ctx, request_context)

    async def request(given: Any) -> Any:
        if getattr(given, "streaming", False):
            given.model = served(given.model)
        return await handler(given)

    try:
        response = await _pairing.make_async(key, request, request_context)
    except (CancelledError, GeneratorExit):  # whoever read the stream had enough
        _end_model_request(key, _so_far(request_context), cancelled=True)
        raise
    except BaseException as error:
        _pairing.end(key, error=error)
        raise
    _end_model_request(key, response)
    return response


async def _tool_execute(
    ctx: Any,
    *,
    call: Any,
    args: Any,
    handler: Callable[[Any], Awaitable[Any]],
    **_: Any,
) -> Any:
    key, model_key = object(), _model_key(ctx)
    is_streaming = _pairing.is_open(model_key)  # then the tool is asked for before the answer has ended
    _pairing.start(
        key,
        "tool",
        call.tool_name,
        args,
        parent_key=model_key if is_streaming else ("run", ctx.run_id),
        asked_by=None if is_streaming else call.tool_call_id,
        meta=_agent_meta(ctx),
        can=("answer",),
    )
    try:
        result = await _pairing.make_async(key, handler, args)
    except BaseException as error:
        _end_tool(key, error)
        raise
    _pairing.end(key, getattr(result, "return_value", result))
    return result


@contained
def _end_tool(key: Any, error: BaseException) -> None:
    kind = type(error).__name__
    if kind in ("CallDeferred", "ApprovalRequired"):  # the tool waits for somebody outside the run
        _pairing.end(key, None, meta={"deferred": kind})
    elif kind in ("ToolRetryError", "ToolFailedError"):  # the framework's own wrapping of what the tool raised
        _pairing.end(key, error=error.__cause__ or error)
    else:
        _pairing.end(key, error=error)


# What is said to a model, and what it says.


@contained
def _start_model_request(key: Any, ctx: Any, request: Any) -> None:
    settings = request.model_settings or {}
    parameters = request.model_request_parameters
    _pairing.start(
        key,
        "llm",
        request.model.model_name or "unknown",
        [message for given in request.messages for message in _messages(given)],
        parent_key=("run", ctx.run_id),
        meta=_agent_meta(ctx),
        # A stream is answered piece by piece, where it is read: at the transport.
        can=() if getattr(request, "streaming", False) else ("answer",),
        provider=request.model.system,
        temperature=settings.get("temperature"),
        tools=[_tool(tool) for tool in (*parameters.function_tools, *parameters.output_tools)],
    )


@contained
def _end_model_request(key: Any, response: Any, *, cancelled: bool = False) -> None:
    # A reader that leaves a stream quietly leaves an answer that is not complete.
    meta = {"cancelled": True} if cancelled or getattr(response, "state", None) == "incomplete" else {}
    if response is None:
        _pairing.end(key, meta=meta)
        return
    details = response.provider_details or {}
    message = _answer(response)
    _pairing.end(
        key,
        message["content"] if message.keys() == {"role", "content"} else message,
        name=response.model_name,
        usage=_usage(response.usage),
        stop_reason=details.get("finish_reason") or response.finish_reason,
        asks_for=[part.tool_call_id for part in response.parts if part.part_kind == "tool-call"],
        meta={**meta, "generation_id": response.provider_response_id},
        **({"provider": response.provider_name} if response.provider_name else {}),
    )


def _so_far(request: Any) -> Any:
    """What came of an answer whose reader went away: the framework keeps it, because it has to be paid."""
    billed = getattr(getattr(request, PYDANTIC_AI_BILLED, None), "responses", None)
    return billed[-1] if billed else None


def _model_key(ctx: Any) -> tuple[str, Any]:
    """Where the request to the model is found that an agent is making: it makes one at a time."""
    return "model", ctx.run_id


def _agent_meta(ctx: Any) -> dict[str, Any]:
    return {"agent_name": getattr(ctx.agent, "name", None), "run_step": ctx.run_step}


def _tool(tool: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}


def _messages(message: Any) -> list[dict[str, Any]]:
    """One of the framework's messages in the words all chat APIs share."""
    if message.kind == "response":
        return [_answer(message)]
    told = [{"role": "system", "content": message.instructions}] if message.instructions else []
    return [*told, *(_told(part) for part in message.parts)]


def _told(part: Any) -> dict[str, Any]:
    if part.part_kind == "system-prompt":
        return {"role": "system", "content": part.content}
    if part.part_kind == "tool-return" or (part.part_kind == "retry-prompt" and part.tool_name):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "name": part.tool_name, "content": part.content}
    return {"role": "user", "content": getattr(part, "content", part)}


def _answer(response: Any) -> dict[str, Any]:
    texts = [part.content for part in response.parts if part.part_kind == "text"]
    thoughts = [part.content for part in response.parts if part.part_kind == "thinking"]
    calls = [
        {"id": part.tool_call_id, "type": "function", "function": {"name": part.tool_name, "arguments": part.args}}
        for part in response.parts
        if part.part_kind == "tool-call"
    ]
    return {
        "role": "assistant",
        "content": "".join(texts),
        **({"tool_calls": calls} if calls else {}),
        **({"thinking": "\n".join(thoughts)} if thoughts else {}),
    }


def _usage(usage: Any) -> dict[str, Any] | None:
    """Here cached tokens are part of the input already; a provider that said nothing gives zeros, which is unknown."""
    if not (usage.input_tokens or usage.output_tokens):
        return None
    counts = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }
    cached = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return {**counts, "prompt_tokens_details": cached, "completion_tokens_details": dict(usage.details)}
