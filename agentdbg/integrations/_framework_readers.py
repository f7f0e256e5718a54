"""
What the agents and tools of each framework are called, given and answer, as they stand in its own objects.

A reader gives `Facts`: of the object that a method belongs to, and of the method's arguments. A result reader gives
what a call came to and its error. Both are rows of the table in `frameworks`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from typing import Any

from agentdbg.around import pass_on, text_of
from agentdbg.integrations._framework_seams import Facts, is_for_agents, spoken
from agentdbg.integrations._private_names import STRANDS_FUNCTION
from agentdbg.integrations._tool_seams import make_tool_call, make_tool_call_async

__all__ = [
    "adk_agent",
    "adk_tool",
    "agent",
    "agno_result",
    "agno_tool",
    "anthropic_tool",
    "autogen_tool",
    "by_keyword",
    "dspy_answer",
    "dspy_model",
    "genai_tool",
    "kernel_function",
    "kernel_made",
    "kernel_result",
    "llama_result",
    "llama_step",
    "llama_tool",
    "module",
    "smol_tool",
    "strands_result",
    "strands_stand_in",
    "strands_team",
    "strands_tool",
]


def agent(owner: Any, given: dict[str, Any]) -> Facts:
    name = getattr(owner, "name", None) or type(owner).__name__
    told = next((value for value in given.values() if value is not None), None)
    return Facts(str(name), spoken(told))


def module(owner: Any, given: dict[str, Any]) -> Facts:
    return Facts(type(owner).__name__, given.get("kwargs") or given.get("args"))


def by_keyword(owner: Any, given: dict[str, Any]) -> Facts:
    return Facts(str(getattr(owner, "name", "tool")), given.get("kwargs") or {})


def dspy_model(owner: Any, given: dict[str, Any]) -> Facts | None:
    """Models of the program's own, in this process; those that DSPy asks over HTTP are recorded there."""
    kind = sys.modules["dspy"].LM
    if isinstance(owner, kind) and type(owner).forward is kind.forward:
        return None
    given["model"] = owner
    prompt = given.get("messages") or given.get("prompt")
    return Facts(
        str(owner.model).rpartition("/")[2], [_dspy_message(one) for one in getattr(prompt, "messages", ())] or prompt
    )


def _dspy_message(message: Any) -> Any:
    words = "".join(str(getattr(part, "text", "") or "") for part in getattr(message, "parts", ()))
    return {"role": str(getattr(message, "role", "user")), "content": words} if words else message


def dspy_answer(result: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    kept = (getattr(given["model"], "history", None) or [{}])[-1]
    outputs = kept.get("outputs") or result
    answer = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
    return {
        "result": answer,
        "usage": kept.get("usage") or None,
        "provider": str(given["model"].model).partition("/")[0],
    }, None


def adk_tool(owner: Any, given: dict[str, Any]) -> Facts:
    return Facts(str(owner.name), given.get("args"), getattr(given.get("tool_context"), "function_call_id", None))


def adk_agent(owner: Any, given: dict[str, Any]) -> Facts:
    content = getattr(given.get("parent_context"), "user_content", None)
    return Facts(str(owner.name), spoken(content))


def autogen_tool(owner: Any, given: dict[str, Any]) -> Facts:
    return Facts(str(owner.name), dict(given.get("args") or {}), given.get("call_id"))


def agno_tool(owner: Any, given: dict[str, Any]) -> Facts:
    given["call"] = owner
    return Facts(str(owner.function.name), owner.arguments or {}, owner.call_id)


def agno_result(result: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    call = given["call"]
    if call.result is call.error is None and result is not None:  # a decider answered, and agno reads it here
        call.result, call.error = getattr(result, "result", None), getattr(result, "error", None)
    failed = getattr(result, "status", None) == "failure"
    return getattr(result, "result", result), {
        "error_type": "ToolError",
        "message": str(result.error),
    } if failed else None


def anthropic_tool(owner: Any, given: dict[str, Any]) -> Facts:
    return Facts(str(owner.name), given.get("input"))


def genai_tool(arguments: Any, given: dict[str, Any]) -> Facts:
    return Facts(str(getattr(given["function_to_invoke"], "__name__", "tool")), arguments)


def kernel_function(owner: Any, given: dict[str, Any]) -> Facts:
    context = given["context"]
    return Facts(str(owner.fully_qualified_name), {**context.arguments})


def kernel_made(original: Any) -> Any:
    """Semantic Kernel looks for a result in the context: `kernel_result` puts one that was served there."""

    @functools.wraps(original)
    async def made(owner: Any, context: Any) -> Any:
        await original(owner, context)
        return getattr(context.result, "value", context.result)

    return made


def kernel_result(value: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    context = given["context"]
    if context.result is None:
        held = {"arguments": context.arguments, "used_arguments": {**context.arguments}}
        results: Any = sys.modules["semantic_kernel.functions"]
        context.result = results.FunctionResult(function=context.function.metadata, value=value, metadata=held)
    return value, None


def llama_tool(owner: Any, given: dict[str, Any]) -> Facts:
    arguments = dict(given.get("kwargs") or {})
    arguments.pop(getattr(owner, "ctx_param_name", None) or "", None)  # which the workflow gives, not the model
    return Facts(str(owner.metadata.name), {**({"args": given["args"]} if given.get("args") else {}), **arguments})


def llama_result(output: Any, _: dict[str, Any]) -> tuple[Any, Any]:
    failed = getattr(output, "is_error", False)
    error = getattr(output, "exception", None) or {"error_type": "ToolError", "message": str(output)}
    return getattr(output, "raw_output", output), error if failed else None


def llama_step(owner: Any, given: dict[str, Any]) -> Facts:
    return Facts(str(owner.name), spoken((given.get("llm_input") or [None])[-1]))


def smol_tool(owner: Any, given: dict[str, Any]) -> Facts:
    arguments = {**dict(zip(owner.inputs or (), given.get("args") or (), strict=False)), **(given.get("kwargs") or {})}
    return Facts(str(owner.name), arguments)


def strands_tool(owner: Any, given: dict[str, Any]) -> Facts:
    use = given.get("tool_use") or {}
    return Facts(str(owner.tool_name), use.get("input"), use.get("toolUseId"))


def strands_stand_in(owner: Any, given: dict[str, Any]) -> Any:
    """A tool like this one, whose function is called unless a decider answers: its events are made of the result."""
    function = getattr(owner, STRANDS_FUNCTION, None)
    if not callable(function) or inspect.isasyncgenfunction(function) or is_for_agents("strands", owner):
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


def strands_team(event: Any, _: dict[str, Any]) -> tuple[Any, Any]:
    """The last event of several agents, with the result of each: what the last one of them said."""
    results = getattr(event.get("result") if isinstance(event, dict) else event, "results", None) or {}
    said = getattr(list(results.values())[-1], "result", None) if results else None
    return spoken(said), None


def strands_result(event: Any, _: dict[str, Any]) -> tuple[Any, Any]:
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
