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

import functools

from agentdbg.around import when_imported
from agentdbg.integrations import _framework_readers as reading
from agentdbg.integrations import http
from agentdbg.integrations._framework_seams import Seam, Switch, stand_around
from agentdbg.integrations._private_names import GENAI_TOOLS, SEMANTIC_KERNEL_INVOKE

__all__ = ["SEAMS", "disable", "enable"]

_TOOL = ("answer",)
SEAMS = (
    Seam(
        "agno",
        "agno.tools.function",
        "FunctionCall",
        "execute",
        "tool",
        reading.agno_tool,
        reading.agno_result,
        can=_TOOL,
    ),
    Seam(
        "agno",
        "agno.tools.function",
        "FunctionCall",
        "aexecute",
        "tool",
        reading.agno_tool,
        reading.agno_result,
        can=_TOOL,
    ),
    Seam("agno", "agno.agent", "Agent", "run", "span", reading.agent),
    Seam("agno", "agno.agent", "Agent", "arun", "span", reading.agent),
    Seam("agno", "agno.team", "Team", "run", "span", reading.agent),
    Seam("agno", "agno.team", "Team", "arun", "span", reading.agent),
    Seam("agno", "agno.workflow", "Workflow", "run", "span", reading.agent),
    Seam("agno", "agno.workflow", "Workflow", "arun", "span", reading.agent),
    Seam("anthropic", "anthropic.lib.tools", "BetaFunctionTool", "call", "tool", reading.anthropic_tool, can=_TOOL),
    Seam(
        "anthropic", "anthropic.lib.tools", "BetaAsyncFunctionTool", "call", "tool", reading.anthropic_tool, can=_TOOL
    ),
    Seam("autogen", "autogen_core.tools", "BaseTool", "run_json", "tool", reading.autogen_tool, can=_TOOL),
    Seam("autogen", "autogen_agentchat.agents", "BaseChatAgent", "run", "span", reading.agent),
    Seam("autogen", "autogen_agentchat.agents", "BaseChatAgent", "run_stream", "span", reading.agent),
    Seam(
        "autogen",
        "autogen_agentchat.agents",
        "BaseChatAgent",
        "on_messages_stream",
        "span",
        reading.agent,
        with_subclasses=True,
        is_inner=True,
    ),
    Seam("autogen", "autogen_agentchat.teams", "BaseGroupChat", "run_stream", "span", reading.agent),
    Seam("dspy", "dspy", "Tool", "__call__", "tool", reading.by_keyword, can=_TOOL),
    Seam("dspy", "dspy", "Tool", "acall", "tool", reading.by_keyword, can=_TOOL),
    Seam("dspy", "dspy", "LM", "__call__", "llm", reading.dspy_model, reading.dspy_answer, can=_TOOL),
    Seam("dspy", "dspy", "LM", "acall", "llm", reading.dspy_model, reading.dspy_answer, can=_TOOL),
    Seam("dspy", "dspy", "BaseLM", "__call__", "llm", reading.dspy_model, reading.dspy_answer, can=_TOOL),
    Seam("dspy", "dspy", "BaseLM", "acall", "llm", reading.dspy_model, reading.dspy_answer, can=_TOOL),
    Seam("dspy", "dspy", "Module", "__call__", "span", reading.module),
    Seam("dspy", "dspy", "Module", "acall", "span", reading.module),
    Seam(
        "google_adk",
        "google.adk.tools.base_tool",
        "BaseTool",
        "run_async",
        "tool",
        reading.adk_tool,
        can=_TOOL,
        with_subclasses=True,
    ),
    Seam("google_adk", "google.adk.agents.base_agent", "BaseAgent", "run_async", "span", reading.adk_agent),
    Seam("google_genai", GENAI_TOOLS, "", "invoke_function_from_dict_args", "tool", reading.genai_tool, can=_TOOL),
    Seam(
        "google_genai", GENAI_TOOLS, "", "invoke_function_from_dict_args_async", "tool", reading.genai_tool, can=_TOOL
    ),
    Seam("haystack", "haystack.tools", "Tool", "invoke", "tool", reading.by_keyword, can=_TOOL),
    Seam("haystack", "haystack.tools", "Tool", "invoke_async", "tool", reading.by_keyword, can=_TOOL),
    Seam("haystack", "haystack.components.agents", "Agent", "run", "span", reading.agent),
    Seam("haystack", "haystack.components.agents", "Agent", "run_async", "span", reading.agent),
    Seam("haystack", "haystack", "Pipeline", "run", "span", reading.agent),
    Seam(
        "llama_index",
        "llama_index.core.tools",
        "FunctionTool",
        "call",
        "tool",
        reading.llama_tool,
        reading.llama_result,
        can=_TOOL,
    ),
    Seam(
        "llama_index",
        "llama_index.core.tools",
        "FunctionTool",
        "acall",
        "tool",
        reading.llama_tool,
        reading.llama_result,
        can=_TOOL,
    ),
    Seam(
        "llama_index",
        "llama_index.core.agent.workflow",
        "AgentWorkflow",
        "run",
        "span",
        reading.agent,
        is_background=True,
    ),
    Seam(
        "llama_index",
        "llama_index.core.agent.workflow",
        "BaseWorkflowAgent",
        "run",
        "span",
        reading.agent,
        with_subclasses=True,
        is_background=True,
    ),
    Seam(
        "llama_index",
        "llama_index.core.agent.workflow",
        "BaseWorkflowAgent",
        "take_step",
        "span",
        reading.llama_step,
        with_subclasses=True,
        is_inner=True,
    ),
    Seam(
        "semantic_kernel",
        "semantic_kernel.functions.kernel_function_from_method",
        "KernelFunctionFromMethod",
        SEMANTIC_KERNEL_INVOKE,
        "tool",
        reading.kernel_function,
        reading.kernel_result,
        can=_TOOL,
        made=reading.kernel_made,
    ),
    Seam("semantic_kernel", "semantic_kernel.agents", "ChatCompletionAgent", "invoke", "span", reading.agent),
    Seam("semantic_kernel", "semantic_kernel.agents", "ChatCompletionAgent", "get_response", "span", reading.agent),
    Seam("semantic_kernel", "semantic_kernel.agents", "ChatCompletionAgent", "invoke_stream", "span", reading.agent),
    Seam("smolagents", "smolagents", "Tool", "__call__", "tool", reading.smol_tool, can=_TOOL),
    Seam("smolagents", "smolagents", "MultiStepAgent", "run", "span", reading.agent),
    Seam(
        "strands",
        "strands.types.tools",
        "AgentTool",
        "stream",
        "tool",
        reading.strands_tool,
        reading.strands_result,
        stand_in=reading.strands_stand_in,
        with_subclasses=True,
    ),
    Seam("strands", "strands.agent.agent", "Agent", "stream_async", "span", reading.agent),
    Seam("strands", "strands.multiagent.graph", "Graph", "stream_async", "span", reading.agent, reading.strands_team),
    Seam("strands", "strands.multiagent.swarm", "Swarm", "stream_async", "span", reading.agent, reading.strands_team),
)
"""Where each framework runs its agents and its tools."""


def enable() -> None:
    """Record the agents and tools of every framework in the table that is imported, now or later."""
    Switch.records = True
    http.enable()
    _install()


@functools.cache
def _install() -> None:  # what stands there stays
    when_imported({seam.module for seam in SEAMS}, _stand_around, each_time=True)


def disable() -> None:
    """Record no more of them."""
    Switch.records = False


def _stand_around(module: str) -> None:
    for seam in SEAMS:
        if seam.module == module:
            stand_around(seam)
