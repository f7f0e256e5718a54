"""
LangChain and LangGraph: chains, agents and graph nodes as spans, models as LLM_CALL, tools as TOOL_CALL.

    from agentdbg.integrations import AgentDbgLangChainCallbackHandler
    graph.invoke(question, config={"callbacks": [AgentDbgLangChainCallbackHandler()]})

or, once for the whole process, `agentdbg.integrations.langchain.enable()`. Sync, async, streaming, batches, parallel
tools and interrupts. The tree is LangChain's own; a tool hangs under the model call that asked for it. A guardrail
that refuses a call stops the graph. Supported: langchain-core >= 1.2.1.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.around import Pairing, contained, mcp_failure, text_of
from agentdbg.integrations._private_names import LANGCHAIN_INJECTED, TOOL_METHODS
from agentdbg.integrations._tool_seams import follow_subclasses, make_tool_call, make_tool_call_async

if TYPE_CHECKING:
    from uuid import UUID

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool
    from langchain_core.tracers.context import register_configure_hook
except ImportError as error:
    raise ImportError(
        "agentdbg records LangChain and LangGraph through langchain-core, which is missing: pip install langchain-core"
    ) from error

__all__ = ["AgentDbgLangChainCallbackHandler", "disable", "enable"]

_HIDDEN = "langsmith:hidden"
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_MOST_LEVELS = 5
_ADDED = frozenset({"callbacks", "config", "run_manager", "runtime", "state", "store"})
_OF_THE_LIBRARY = ("ls_", "langgraph_", "lc_", "__", "checkpoint_", "revision_id")
# One for all handlers: two of them that see the same call see it under the same run_id.
_pairing = Pairing("langchain")


class AgentDbgLangChainCallbackHandler(BaseCallbackHandler):  # type: ignore[misc]  # Any where it is not installed
    """Records what LangChain reports. Any number of calls, threads and tasks may share one."""

    raise_error = True  # only a guardrail ever leaves the methods below, and that one must stop the graph
    run_inline = True  # in async code too: what runs inside a call must find itself inside it

    # Chains, agents, graph nodes.

    @contained
    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if parent_run_id is not None and _HIDDEN in (tags or ()):
            _pairing.skip(run_id, parent_run_id)
            return
        name = _name(serialized, kwargs)
        meta = {"chain_type": name, **_agent_meta(name, metadata), **_graph_meta(metadata)}
        if parent_run_id is None:
            meta = {**_given_meta(metadata, tags), **meta}
        _pairing.start(run_id, "span", name, _readable(inputs), parent_key=parent_run_id, meta=meta)

    @contained
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        _pairing.end(run_id, _readable(outputs))

    @contained
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        _end_with_error(run_id, error)

    # Models.

    @contained
    def on_chat_model_start(
        self, serialized: dict[str, Any] | None, messages: list[list[Any]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        prompt = [_message(message) for batch in messages for message in batch]
        _start_model(serialized, prompt, run_id, **kwargs)

    @contained
    def on_llm_start(
        self, serialized: dict[str, Any] | None, prompts: list[str], *, run_id: UUID, **kwargs: Any
    ) -> None:
        _start_model(serialized, prompts[0] if len(prompts) == 1 else prompts, run_id, **kwargs)

    @contained
    def on_llm_new_token(self, *_: Any, run_id: UUID, **__: Any) -> None:
        _pairing.answering(run_id)

    @contained
    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        _pairing.end(run_id, **_outcome(response))

    @contained
    def on_llm_error(self, error: BaseException, *, run_id: UUID, response: Any = None, **_: Any) -> None:
        _pairing.end(run_id, error=error, **_outcome(response))

    # Tools and retrievers.

    @contained
    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        _pairing.start(
            run_id,
            "tool",
            _name(serialized, kwargs),
            input_str if inputs is None else inputs,
            parent_key=parent_run_id,
            asked_by=tool_call_id,
            meta={**_graph_meta(metadata), **({"tool_call_id": tool_call_id} if tool_call_id else {})},
        )

    @contained
    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        if isinstance(output, BaseMessage):
            # A tool may have told the model of its failure by itself.
            failed = getattr(output, "status", None) == "error"
            message = text_of(output.content) or str(output.content)
            failure = {"error_type": "ToolError", "message": message} if failed else None
            _pairing.end(run_id, output.content, error=failure or mcp_failure(getattr(output, "artifact", None)))
        else:
            _pairing.end(run_id, _readable(output))

    @contained
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        _end_with_error(run_id, error)

    @contained
    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        meta = {"chain_type": "retriever", **_graph_meta(metadata)}
        name = _name(serialized, kwargs)
        _pairing.start(run_id, "tool", name, {"query": query}, parent_key=parent_run_id, meta=meta)

    @contained
    def on_retriever_end(self, documents: Any, *, run_id: UUID, **_: Any) -> None:
        _pairing.end(run_id, list(documents))

    @contained
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        _end_with_error(run_id, error)


# Tools: where their own code would run.


def _running(original: Any) -> Any:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        def call(given: dict[str, Any]) -> Any:
            return original(self, *given.get("args", ()), **{**kwargs, **_by_keyword(given)})

        return make_tool_call(self.name, _given(self, args, kwargs), call)

    return run


def _running_async(original: Any) -> Any:
    async def arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        async def call(given: dict[str, Any]) -> Any:
            return await original(self, *given.get("args", ()), **{**kwargs, **_by_keyword(given)})

        return await make_tool_call_async(self.name, _given(self, args, kwargs), call)

    return arun


def _given(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What the model gave; what the graph and the framework add is no input."""
    own = {key: value for key, value in kwargs.items() if key not in _ADDED}
    without = getattr(tool, LANGCHAIN_INJECTED, None)
    if without is not None:
        own = without(own)
    return {**own, **({"args": list(args)} if args else {})}


def _by_keyword(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != "args"}


follow_subclasses(BaseTool, dict(zip(TOOL_METHODS, (_running, _running_async), strict=True)))


class _Switch:
    """Stands where LangChain expects a ContextVar, because this one must be the same in every thread."""

    def __init__(self) -> None:
        self.handler: AgentDbgLangChainCallbackHandler | None = None
        self.is_registered = False

    def get(self) -> AgentDbgLangChainCallbackHandler | None:
        return self.handler


_switch = _Switch()


def enable() -> None:
    """Record everything LangChain and LangGraph do in this process, without a handler in any config."""
    from langchain_core.callbacks import BaseCallbackHandler as Current  # noqa: PLC0415

    if Current is not BaseCallbackHandler:  # the program has imported LangChain anew, with classes of its own
        importlib.reload(sys.modules[__name__]).enable()
        return
    if not _switch.is_registered:
        register_configure_hook(_switch, inheritable=True, handle_class=AgentDbgLangChainCallbackHandler)
        _switch.is_registered = True
    _switch.handler = _switch.handler or AgentDbgLangChainCallbackHandler()


def disable() -> None:
    """Record only where a handler is given."""
    _switch.handler = None


def _start_model(
    serialized: dict[str, Any] | None,
    prompt: Any,
    run_id: UUID,
    *,
    parent_run_id: UUID | None = None,
    metadata: dict[str, Any] | None = None,
    invocation_params: dict[str, Any] | None = None,
    **_: Any,
) -> None:
    given, known = invocation_params or {}, metadata or {}
    named = given.get("model") or given.get("model_name") or known.get("ls_model_name")
    model = named or _class_name(serialized)  # what the program calls this run, or this object, is no model
    fields: dict[str, Any] = {"provider": known.get("ls_provider") or "unknown"}
    fields["temperature"] = given.get("temperature", known.get("ls_temperature"))
    if given.get("tools"):
        fields["tools"] = given["tools"]
    _pairing.start(run_id, "llm", model, prompt, parent_key=parent_run_id, meta=_graph_meta(metadata), **fields)


def _end_with_error(run_id: UUID, error: BaseException) -> None:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "GraphBubbleUp" in kinds:  # LangGraph's way to pause for a person, or to go elsewhere: no failure
        _pairing.end(run_id, meta={"interrupted": True} if "GraphInterrupt" in kinds else None)
    else:
        _pairing.end(run_id, error=error)


def _name(serialized: dict[str, Any] | None, kwargs: dict[str, Any]) -> str:
    return str(kwargs.get("name") or (serialized or {}).get("name") or _class_name(serialized))


def _class_name(serialized: dict[str, Any] | None) -> str:
    return str(((serialized or {}).get("id") or ["unknown"])[-1])


def _agent_meta(name: str, metadata: dict[str, Any] | None) -> dict[str, Any]:
    if name == "AgentExecutor":
        return {"agent_type": name}
    built_by = (metadata or {}).get("ls_integration")
    return {"agent_type": built_by} if isinstance(built_by, str) and "agent" in built_by else {}


def _given_meta(metadata: dict[str, Any] | None, tags: list[str] | None) -> dict[str, Any]:
    """What the program gave in its `config`: a user, a session, tags, whatever it wants to find the run by."""
    given = {key: value for key, value in (metadata or {}).items() if not key.startswith(_OF_THE_LIBRARY)}
    named = [tag for tag in tags or () if not tag.startswith(("seq:", "map:", "graph:", "langsmith:"))]
    return {**given, **({"tags": named} if named else {})}


def _graph_meta(metadata: dict[str, Any] | None) -> dict[str, Any]:
    known = metadata or {}
    return {key: known[key] for key in ("langgraph_node", "langgraph_step", "thread_id") if key in known}


# What LangChain's objects say, as plain data.


def _message(message: Any) -> Any:
    """A message the way every reader knows it; words alone stay words in an answer, see `_answer`."""
    if not isinstance(message, BaseMessage):
        return message
    role = message.type if message.type != "chat" else getattr(message, "role", "chat")
    plain: dict[str, Any] = {"role": _ROLES.get(role, role), "content": message.content}
    for key in ("tool_calls", "invalid_tool_calls", "tool_call_id", "name"):
        if getattr(message, key, None):
            plain[key] = getattr(message, key)
    return plain


def _answer(message: Any) -> Any:
    plain = _message(message)
    return plain["content"] if plain.keys() == {"role", "content"} and isinstance(plain["content"], str) else plain


def _readable(value: Any, levels: int = _MOST_LEVELS) -> Any:
    """A chain's input or output with its messages made plain, some levels deep."""
    if isinstance(value, BaseMessage):
        return _message(value)
    if levels:
        if isinstance(value, dict):
            return {key: _readable(item, levels - 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [_readable(item, levels - 1) for item in value]
        if type(value).__name__ in ("Command", "Send"):
            fields = ("update", "goto", "resume", "node", "arg")
            return {key: _readable(item, levels - 1) for key in fields if (item := getattr(value, key, None))}
    return value


def _outcome(result: Any) -> dict[str, Any]:
    """What a model's result says, as arguments of `Pairing.end`."""
    generations = [generation for batch in getattr(result, "generations", None) or [] for generation in batch]
    if not generations:
        return {}
    messages = [getattr(generation, "message", None) for generation in generations]
    answers = [
        generation.text if message is None else _answer(message)
        for generation, message in zip(generations, messages, strict=True)
    ]
    facts = {**(generations[0].generation_info or {}), **(getattr(messages[0], "response_metadata", None) or {})}
    totals = getattr(result, "llm_output", None) or {}
    calls = [call for message in messages for call in getattr(message, "tool_calls", None) or ()]
    outcome: dict[str, Any] = {
        "result": answers[0] if len(answers) == 1 else answers,
        "name": facts.get("model_name") or facts.get("model") or totals.get("model_name"),
        "usage": _usage(getattr(messages[0], "usage_metadata", None)) or totals.get("token_usage"),
        "stop_reason": facts.get("finish_reason") or facts.get("stop_reason") or facts.get("done_reason"),
        "asks_for": [call["id"] for call in calls if call.get("id")],
        "meta": {"generation_id": facts["id"]} if facts.get("id") else {},
    }
    if facts.get("model_provider"):
        outcome["provider"] = facts["model_provider"]
    return outcome


def _usage(given: Any) -> dict[str, Any] | None:
    """LangChain's own words for usage, in the words of the rest."""
    if not given:
        return None
    usage = {
        "prompt_tokens": given.get("input_tokens"),
        "completion_tokens": given.get("output_tokens"),
        "total_tokens": given.get("total_tokens"),
    }
    details_in, details_out = given.get("input_token_details") or {}, given.get("output_token_details") or {}
    if details_in:
        usage["prompt_tokens_details"] = {"cached_tokens": details_in.get("cache_read"), **details_in}
    if details_out:
        usage["completion_tokens_details"] = {"reasoning_tokens": details_out.get("reasoning"), **details_out}
    return usage
