"""
Agents and tools of frameworks, at the one place where each framework runs them.

    from agentdbg.integrations import frameworks
    frameworks.enable()

agno, autogen, google-adk, haystack, llama-index, semantic-kernel, smolagents, strands and dspy, and the tools that
google-genai and anthropic's tool runner call: an agent's run is a span, a tool is a TOOL_CALL with its arguments, its
result or its real exception. Models are recorded by their clients or their HTTP. Where each framework does it is one
row of a table.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from asyncio import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentdbg.around import Pairing, at_place, contained, current_place, enclosing_call, pass_on, text_of, when_imported
from agentdbg.integrations import http
from agentdbg.integrations._client_recording import Working, request_name
from agentdbg.integrations._private_names import (
    GENAI_TOOLS,
    LLAMA_INDEX_FUTURE,
    SEMANTIC_KERNEL_INVOKE,
    STRANDS_FUNCTION,
)
from agentdbg.integrations._tool_seams import make_tool_call, make_tool_call_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

__all__ = ["disable", "enable"]


@dataclass(frozen=True)
class _Facts:
    """What a call is: its name, what it was given, and the id that the model asked for it with."""

    name: str
    given: Any
    asked_by: str | None = None


@dataclass(frozen=True)
class _Seam:
    """
    One method of a framework: a tool's, or an agent's. `read` tells what is called, `result` what came back.

    Without an `owner` it is a function of the module, whose first argument stands in the owner's place.
    """

    framework: str
    module: str
    owner: str
    method: str
    kind: str
    read: Callable[[Any, dict[str, Any]], _Facts]
    result: Callable[[Any, dict[str, Any]], tuple[Any, Any]] = lambda result, _: (result, None)
    """From what the method gave, and was given, to a result and an error."""
    can: tuple[str, ...] = ()
    made: Callable[[Any], Any] = lambda original: original
    """The method as a function that gives the result: what a decider answers with, and a tape keeps."""
    stand_in: Callable[[Any, dict[str, Any]], Any] = lambda owner, _: owner
    """What to call a stream's method on: a tool whose function can be answered, where its events cannot."""
    with_subclasses: bool = False
    is_background: bool = False
    """Whether the method only starts the work, and gives a future of its end."""
    is_inner: bool = False
    """Whether another method of the same agent's may be around it already: then it is no step of its own."""


def _agent(owner: Any, given: dict[str, Any]) -> _Facts:
    name = getattr(owner, "name", None) or type(owner).__name__
    told = next((value for value in given.values() if value is not None), None)
    return _Facts(str(name), _spoken(told))


def _module(owner: Any, given: dict[str, Any]) -> _Facts:
    return _Facts(type(owner).__name__, given.get("kwargs") or given.get("args"))


def _by_keyword(owner: Any, given: dict[str, Any]) -> _Facts:
    return _Facts(str(getattr(owner, "name", "tool")), given.get("kwargs") or {})


def _dspy_model(owner: Any, given: dict[str, Any]) -> _Facts:
    """DSPy has an HTTP client of its own, so its models are asked here."""
    given["model"] = owner
    prompt = given.get("messages") or given.get("prompt")
    return _Facts(
        str(owner.model).rpartition("/")[2], [_dspy_message(one) for one in getattr(prompt, "messages", ())] or prompt
    )


def _dspy_message(message: Any) -> Any:
    words = "".join(str(getattr(part, "text", "") or "") for part in getattr(message, "parts", ()))
    return {"role": str(getattr(message, "role", "user")), "content": words} if words else message


def _dspy_answer(result: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    kept = (getattr(given["model"], "history", None) or [{}])[-1]
    outputs = kept.get("outputs") or result
    answer = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
    return {
        "result": answer,
        "usage": kept.get("usage") or None,
        "provider": str(given["model"].model).partition("/")[0],
    }, None


def _adk_tool(owner: Any, given: dict[str, Any]) -> _Facts:
    return _Facts(str(owner.name), given.get("args"), getattr(given.get("tool_context"), "function_call_id", None))


def _adk_agent(owner: Any, given: dict[str, Any]) -> _Facts:
    content = getattr(given.get("parent_context"), "user_content", None)
    return _Facts(str(owner.name), _spoken(content))


def _autogen_tool(owner: Any, given: dict[str, Any]) -> _Facts:
    return _Facts(str(owner.name), dict(given.get("args") or {}), given.get("call_id"))


def _agno_tool(owner: Any, given: dict[str, Any]) -> _Facts:
    given["call"] = owner
    return _Facts(str(owner.function.name), owner.arguments or {}, owner.call_id)


def _agno_result(result: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    call = given["call"]
    if call.result is call.error is None and result is not None:  # a decider answered, and agno reads it here
        call.result, call.error = getattr(result, "result", None), getattr(result, "error", None)
    failed = getattr(result, "status", None) == "failure"
    return getattr(result, "result", result), {
        "error_type": "ToolError",
        "message": str(result.error),
    } if failed else None


def _anthropic_tool(owner: Any, given: dict[str, Any]) -> _Facts:
    return _Facts(str(owner.name), given.get("input"))


def _genai_tool(arguments: Any, given: dict[str, Any]) -> _Facts:
    return _Facts(str(getattr(given["function_to_invoke"], "__name__", "tool")), arguments)


def _kernel_function(owner: Any, given: dict[str, Any]) -> _Facts:
    context = given["context"]
    return _Facts(str(owner.fully_qualified_name), {**context.arguments})


def _kernel_made(original: Any) -> Any:
    """Semantic Kernel looks for a result in the context: `_kernel_result` puts one that was served there."""

    @functools.wraps(original)
    async def made(owner: Any, context: Any) -> Any:
        await original(owner, context)
        return getattr(context.result, "value", context.result)

    return made


def _kernel_result(value: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    context = given["context"]
    if context.result is None:
        held = {"arguments": context.arguments, "used_arguments": {**context.arguments}}
        results: Any = sys.modules["semantic_kernel.functions"]
        context.result = results.FunctionResult(function=context.function.metadata, value=value, metadata=held)
    return value, None


def _llama_tool(owner: Any, given: dict[str, Any]) -> _Facts:
    arguments = dict(given.get("kwargs") or {})
    arguments.pop(getattr(owner, "ctx_param_name", None) or "", None)  # which the workflow gives, not the model
    return _Facts(str(owner.metadata.name), {**({"args": given["args"]} if given.get("args") else {}), **arguments})


def _llama_result(output: Any, _: dict[str, Any]) -> tuple[Any, Any]:
    failed = getattr(output, "is_error", False)
    error = getattr(output, "exception", None) or {"error_type": "ToolError", "message": str(output)}
    return getattr(output, "raw_output", output), error if failed else None


def _llama_step(owner: Any, given: dict[str, Any]) -> _Facts:
    return _Facts(str(owner.name), _spoken((given.get("llm_input") or [None])[-1]))


def _smol_tool(owner: Any, given: dict[str, Any]) -> _Facts:
    arguments = {**dict(zip(owner.inputs or (), given.get("args") or (), strict=False)), **(given.get("kwargs") or {})}
    return _Facts(str(owner.name), arguments)


def _strands_tool(owner: Any, given: dict[str, Any]) -> _Facts:
    use = given.get("tool_use") or {}
    return _Facts(str(owner.tool_name), use.get("input"), use.get("toolUseId"))


def _strands_stand_in(owner: Any, given: dict[str, Any]) -> Any:
    """A tool like this one, whose function is called unless a decider answers: its events are made of the result."""
    function = getattr(owner, STRANDS_FUNCTION, None)
    if not callable(function) or inspect.isasyncgenfunction(function) or _is_for_agents("strands", owner):
        return owner
    use = given.get("tool_use") or {}
    asked = use.get("input")

    def call(args: tuple[Any, ...], kwargs: dict[str, Any], wanted: Any) -> Any:
        if wanted is not asked and args:
            args = ({**use, "input": wanted}, *args[1:])
        elif wanted is not asked:
            kwargs = {**kwargs, **wanted}
        return function(*args, **kwargs)

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return make_tool_call(owner.tool_name, asked, functools.partial(call, args, kwargs))

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await make_tool_call_async(owner.tool_name, asked, functools.partial(call, args, kwargs))

    copied = copy.copy(owner)
    setattr(copied, STRANDS_FUNCTION, awaited if inspect.iscoroutinefunction(function) else plain)
    return copied


def _strands_result(event: Any, _: dict[str, Any]) -> tuple[Any, Any]:
    """The last event of a tool; it is, or has, the result."""
    try:
        told = event["tool_result"]
    except (KeyError, TypeError) as error:
        pass_on(error)
        told = event
    content = told.get("content") if isinstance(told, dict) else None
    raised = getattr(event, "exception", None)
    if not isinstance(content, list):
        return told, raised
    said = text_of(content) if all("text" in block for block in content) else content
    if told.get("status") != "error":
        return said, None
    return said, raised or {"error_type": "ToolError", "message": text_of(content)}


_TOOL = ("answer",)
_SEAMS = (
    _Seam("agno", "agno.tools.function", "FunctionCall", "execute", "tool", _agno_tool, _agno_result, can=_TOOL),
    _Seam("agno", "agno.tools.function", "FunctionCall", "aexecute", "tool", _agno_tool, _agno_result, can=_TOOL),
    _Seam("agno", "agno.agent", "Agent", "run", "span", _agent),
    _Seam("agno", "agno.agent", "Agent", "arun", "span", _agent),
    _Seam("agno", "agno.team", "Team", "run", "span", _agent),
    _Seam("agno", "agno.team", "Team", "arun", "span", _agent),
    _Seam("anthropic", "anthropic.lib.tools", "BetaFunctionTool", "call", "tool", _anthropic_tool, can=_TOOL),
    _Seam("anthropic", "anthropic.lib.tools", "BetaAsyncFunctionTool", "call", "tool", _anthropic_tool, can=_TOOL),
    _Seam("autogen", "autogen_core.tools", "BaseTool", "run_json", "tool", _autogen_tool, can=_TOOL),
    _Seam("autogen", "autogen_agentchat.agents", "BaseChatAgent", "run", "span", _agent),
    _Seam("autogen", "autogen_agentchat.agents", "BaseChatAgent", "run_stream", "span", _agent),
    _Seam(
        "autogen",
        "autogen_agentchat.agents",
        "BaseChatAgent",
        "on_messages_stream",
        "span",
        _agent,
        with_subclasses=True,
        is_inner=True,
    ),
    _Seam("autogen", "autogen_agentchat.teams", "BaseGroupChat", "run_stream", "span", _agent),
    _Seam("dspy", "dspy", "Tool", "__call__", "tool", _by_keyword, can=_TOOL),
    _Seam("dspy", "dspy", "Tool", "acall", "tool", _by_keyword, can=_TOOL),
    _Seam("dspy", "dspy", "LM", "__call__", "llm", _dspy_model, _dspy_answer, can=_TOOL),
    _Seam("dspy", "dspy", "LM", "acall", "llm", _dspy_model, _dspy_answer, can=_TOOL),
    _Seam("dspy", "dspy", "BaseLM", "__call__", "llm", _dspy_model, _dspy_answer, can=_TOOL),
    _Seam("dspy", "dspy", "BaseLM", "acall", "llm", _dspy_model, _dspy_answer, can=_TOOL),
    _Seam("dspy", "dspy", "Module", "__call__", "span", _module),
    _Seam("dspy", "dspy", "Module", "acall", "span", _module),
    _Seam(
        "google_adk",
        "google.adk.tools.base_tool",
        "BaseTool",
        "run_async",
        "tool",
        _adk_tool,
        can=_TOOL,
        with_subclasses=True,
    ),
    _Seam("google_adk", "google.adk.agents.base_agent", "BaseAgent", "run_async", "span", _adk_agent),
    _Seam("google_genai", GENAI_TOOLS, "", "invoke_function_from_dict_args", "tool", _genai_tool, can=_TOOL),
    _Seam("google_genai", GENAI_TOOLS, "", "invoke_function_from_dict_args_async", "tool", _genai_tool, can=_TOOL),
    _Seam("haystack", "haystack.tools", "Tool", "invoke", "tool", _by_keyword, can=_TOOL),
    _Seam("haystack", "haystack.tools", "Tool", "invoke_async", "tool", _by_keyword, can=_TOOL),
    _Seam("haystack", "haystack.components.agents", "Agent", "run", "span", _agent),
    _Seam("haystack", "haystack.components.agents", "Agent", "run_async", "span", _agent),
    _Seam("haystack", "haystack", "Pipeline", "run", "span", _agent),
    _Seam(
        "llama_index", "llama_index.core.tools", "FunctionTool", "call", "tool", _llama_tool, _llama_result, can=_TOOL
    ),
    _Seam(
        "llama_index", "llama_index.core.tools", "FunctionTool", "acall", "tool", _llama_tool, _llama_result, can=_TOOL
    ),
    _Seam("llama_index", "llama_index.core.agent.workflow", "AgentWorkflow", "run", "span", _agent, is_background=True),
    _Seam(
        "llama_index",
        "llama_index.core.agent.workflow",
        "BaseWorkflowAgent",
        "run",
        "span",
        _agent,
        with_subclasses=True,
        is_background=True,
    ),
    _Seam(
        "llama_index",
        "llama_index.core.agent.workflow",
        "BaseWorkflowAgent",
        "take_step",
        "span",
        _llama_step,
        with_subclasses=True,
        is_inner=True,
    ),
    _Seam(
        "semantic_kernel",
        "semantic_kernel.functions.kernel_function_from_method",
        "KernelFunctionFromMethod",
        SEMANTIC_KERNEL_INVOKE,
        "tool",
        _kernel_function,
        _kernel_result,
        can=_TOOL,
        made=_kernel_made,
    ),
    _Seam("semantic_kernel", "semantic_kernel.agents", "ChatCompletionAgent", "invoke", "span", _agent),
    _Seam("semantic_kernel", "semantic_kernel.agents", "ChatCompletionAgent", "get_response", "span", _agent),
    _Seam("semantic_kernel", "semantic_kernel.agents", "ChatCompletionAgent", "invoke_stream", "span", _agent),
    _Seam("smolagents", "smolagents", "Tool", "__call__", "tool", _smol_tool, can=_TOOL),
    _Seam("smolagents", "smolagents", "MultiStepAgent", "run", "span", _agent),
    _Seam(
        "strands",
        "strands.types.tools",
        "AgentTool",
        "stream",
        "tool",
        _strands_tool,
        _strands_result,
        stand_in=_strands_stand_in,
        with_subclasses=True,
    ),
    _Seam("strands", "strands.agent.agent", "Agent", "stream_async", "span", _agent),
)
_running: WeakKeyDictionary[_Step, Any] = WeakKeyDictionary()
"""The agents that are at work, by the step that each of them takes."""

_pairings = {seam.framework: Pairing(seam.framework) for seam in _SEAMS}


class _Switch:
    records = False
    is_installed = False


def enable() -> None:
    """Record the agents and tools of every framework in the table that is imported, now or later."""
    _Switch.records = True
    http.enable()
    if not _Switch.is_installed:
        _Switch.is_installed = True
        when_imported({seam.module for seam in _SEAMS}, _stand_around, each_time=True)


def disable() -> None:
    """Record no more of them."""
    _Switch.records = False


def _stand_around(module: str) -> None:
    for seam in _SEAMS:
        loaded = sys.modules[module] if seam.module == module else None
        owner = getattr(loaded, seam.owner, None) if seam.owner else loaded
        if owner is not None:
            _replace(owner, seam)
            if seam.with_subclasses:
                _follow_subclasses(owner, seam)


def _replace(owner: Any, seam: _Seam) -> None:
    original = vars(owner).get(seam.method)
    if not inspect.isfunction(original) or hasattr(original, "agentdbg_original"):
        return
    is_awaited, is_stream = inspect.iscoroutinefunction(original), inspect.isasyncgenfunction(original)
    around = (
        _coroutine if is_awaited else _async_generator if is_stream else _background if seam.is_background else _plain
    )
    replacement: Any = functools.wraps(original)(around(original, seam))
    replacement.agentdbg_original = original
    setattr(owner, seam.method, replacement)


def _follow_subclasses(base: Any, seam: _Seam) -> None:
    before = vars(base).get("__init_subclass__")

    def init_subclass(kind: Any, /, **kwargs: Any) -> None:
        if before is None:
            super(base, kind).__init_subclass__(**kwargs)
        else:
            before.__func__(kind, **kwargs)
        _replace(kind, seam)

    base.__init_subclass__ = classmethod(init_subclass)
    left = list(base.__subclasses__())
    while left:
        kind = left.pop()
        _replace(kind, seam)
        left += kind.__subclasses__()


# Standing around a method, of whatever kind it is.


def _plain(original: Any, seam: _Seam) -> Any:
    """A function; what it gives may be something that is awaited or read later."""

    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        step = _begin(seam, original, owner, args, kwargs)
        if step is None:
            return original(owner, *args, **kwargs)
        try:
            result = step.pairing.make(step, original, owner, *args, **kwargs)
        except BaseException as error:
            step.end(error=error)
            raise
        if inspect.iscoroutine(result):  # nothing is done yet, and others may be begun before
            step.at_work.leave()
            return _awaited(result, step)
        return step.taken(result)

    return call


def _background(original: Any, seam: _Seam) -> Any:
    """A function that starts tasks and gives a future: what follows it is the caller's own."""

    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        with at_place(current_place()):
            step = _begin(seam, original, owner, args, kwargs)
            try:
                result = original(owner, *args, **kwargs)
            except BaseException as error:
                if step is not None:
                    step.end(error=error)
                raise
        future = getattr(result, LLAMA_INDEX_FUTURE, result)
        if step is not None and hasattr(future, "add_done_callback"):
            future.add_done_callback(step.settle)
        return result

    return call


def _coroutine(original: Any, seam: _Seam) -> Any:
    async def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        step = _begin(seam, original, owner, args, kwargs)
        if step is None:
            return await original(owner, *args, **kwargs)
        try:
            value = await step.pairing.make_async(step, seam.made(original), owner, *args, **kwargs)
        except BaseException as error:
            step.end(error=error)
            raise
        return step.taken(value)

    return call


def _async_generator(original: Any, seam: _Seam) -> Any:
    async def stream(owner: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        step = _begin(seam, original, owner, args, kwargs)
        items = original(owner if step is None else step.stand_in(owner), *args, **kwargs)
        if step is not None:
            step.at_work.leave()
        try:
            async for item in items if step is None else _read_async(items, step):
                yield item
        except Exception as error:
            if step is not None:
                step.end(error=error)
            raise
        finally:
            await items.aclose()

    return stream


async def _awaited(result: Any, step: _Step) -> Any:
    try:
        with step.at_work:
            value = await result
    except BaseException as error:
        step.end(error=error)
        raise
    return step.taken(value)


async def _read_async(items: Any, step: _Step, held_by: Any = None) -> AsyncIterator[Any]:
    last = held_by
    try:
        while True:
            with step.at_work:
                item = await anext(items, _NOTHING)
            if item is _NOTHING:
                break
            last = item if held_by is None else step.heard(item, held_by)
            yield item
    except BaseException as error:
        step.end(last, error=error)
        raise
    step.end(last)


def _read(items: Any, step: _Step, held_by: Any = None) -> Iterator[Any]:
    last = held_by
    try:
        while True:
            with step.at_work:
                item = next(items, _NOTHING)
            if item is _NOTHING:
                break
            last = item if held_by is None else step.heard(item, held_by)
            yield item
    except BaseException as error:
        step.end(last, error=error)
        raise
    step.end(last)


_NOTHING = object()


class _Step:
    """One call of a tool or an agent while it lasts. Also the key it is paired by."""

    def __init__(self, seam: _Seam, given: dict[str, Any]) -> None:
        self.pairing = _pairings[seam.framework]
        self._seam = seam
        self._given = given
        self._words = ""
        self.at_work: Any = None

    def stand_in(self, owner: Any) -> Any:
        """What the method is called on."""
        return self._seam.stand_in(owner, self._given)

    def heard(self, item: Any, held_by: Any) -> Any:
        """One more piece of a result that is told in pieces, of which only words are kept."""
        self._words += item if isinstance(item, str) else ""
        return self._words or held_by

    def taken(self, value: Any) -> Any:
        """It gave this: what is read later is its result only then. Gives what its caller gets."""
        around = _read_async if inspect.isasyncgen(value) else _read if inspect.isgenerator(value) else None
        if around is not None:
            self.at_work.leave()
            return around(value, self)
        inner = getattr(value, "result", None) if self._seam.framework == "agno" else None
        if inspect.isasyncgen(inner) or inspect.isgenerator(inner):  # a tool of agno's may tell its result in pieces
            self.at_work.leave()
            value.result = (_read_async if inspect.isasyncgen(inner) else _read)(inner, self, value)
        else:
            self.end(value)
        return value

    @contained
    def end(self, result: Any = None, *, error: BaseException | None = None) -> None:
        """It is over; a reader who had enough of its events is no failure."""
        seam = self._seam
        _running.pop(self, None)
        if error is not None and not isinstance(error, GeneratorExit):
            self.pairing.end(self, error=error)
            return
        value, failure = seam.result(result, self._given)
        if seam.kind == "llm":
            self.pairing.end(self, **value)
            return
        is_left = error is not None and (seam.kind == "span" or result is None)
        meta = {"cancelled": True} if is_left else None
        self.pairing.end(self, value if seam.kind == "tool" else _spoken(value), error=failure, meta=meta)

    def settle(self, future: Any) -> None:
        """What was started in the background is done."""
        error = CancelledError() if future.cancelled() else future.exception()
        self.end(None if error is not None else future.result(), error=error)


@contained
def _begin(seam: _Seam, original: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Step | None:
    if not _Switch.records:
        return None
    given = _bound(original, owner, args, kwargs)
    facts, step = seam.read(owner, given), _Step(seam, given)
    step.at_work = Working()
    if seam.kind == "span":
        if seam.is_inner and any(running is owner for running in _running.values()):
            return None
        _running[step] = owner
        started = step.pairing.start(step, "span", facts.name, facts.given, meta={"agent_name": facts.name})
        return step if started else None
    around = enclosing_call(seam.kind)
    if around is not None and (around.name == facts.name or seam.kind == "llm"):
        return None  # one method of the tool calls another
    meta = {"tool_call_id": facts.asked_by} if facts.asked_by else None
    names = [facts.asked_by] if facts.asked_by else []
    if seam.kind == "tool":  # not every framework tells a tool who asked for it
        names.append(request_name(facts.name, facts.given))
    started = step.pairing.start(
        step, seam.kind, facts.name, facts.given, asked_by=tuple(names), meta=meta, can=_can(seam, owner)
    )
    return step if started else None


def _can(seam: _Seam, owner: Any) -> tuple[str, ...]:
    """What deciders may do. Nobody else can give the pieces in which a tool of agno's tells its result."""
    if _is_for_agents(seam.framework, owner):
        return ()
    function = inspect.unwrap(owner.function.entrypoint) if seam.framework == "agno" else None
    return () if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function) else seam.can


_FOR_AGENTS = {
    "google_adk": "google.adk.",
    "llama_index": "llama_index.core.agent.",
    "semantic_kernel": "semantic_kernel.agents.",
    "strands": "strands.multiagent.",
}
"""Where the frameworks themselves define tools for their agents."""


def _is_for_agents(framework: str, owner: Any) -> bool:
    """
    Whether a framework gave its agents this tool: to hand over to another, to ask one, to end a loop.

    It changes what the framework keeps of the agents, which an answer in its place would not do.
    """
    names = ("func", "async_fn", "method", STRANDS_FUNCTION)
    function = next((found for name in names if callable(found := getattr(owner, name, None))), type(owner))
    while isinstance(function, functools.partial):
        function = function.func
    home = _FOR_AGENTS.get(framework)
    return home is not None and str(getattr(inspect.unwrap(function), "__module__", "")).startswith(home)


def _bound(original: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    given = dict(_signature(original).bind_partial(owner, *args, **kwargs).arguments)
    given.pop(next(iter(given), ""), None)
    return given


_signature = functools.lru_cache(maxsize=200)(inspect.signature)


def _spoken(value: Any) -> Any:
    """What an agent was told, or said: words where it is that, else as it is."""
    value = value.get("result", value) if isinstance(value, dict) else value
    value = getattr(value, "message", value)
    for name in ("content", "text", "output", "result"):
        told = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if isinstance(told, str):
            return told
        if name == "content" and isinstance(told, list) and text_of(told):
            return text_of(told)
    messages = getattr(value, "messages", None)
    if isinstance(messages, list) and messages and isinstance(getattr(messages[-1], "content", None), str):
        return messages[-1].content
    parts = getattr(value, "parts", None)
    if isinstance(parts, list):
        return "".join(getattr(part, "text", None) or "" for part in parts) or None
    return value
