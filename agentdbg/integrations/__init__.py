"""
Recorders for agent frameworks and model clients, one module each, loaded when asked for.

    from agentdbg.integrations import AgentDbgLangChainCallbackHandler      # LangChain and LangGraph
    from agentdbg.integrations import openai_agents                         # importing it is enough
    from agentdbg.integrations import openai; openai.enable()               # the raw client

Every module has `enable()` and `disable()`. Inside a run everything joins it; outside, a framework's outermost call
becomes a run of its own. A framework that is not installed gives an ImportError that says what to install.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["INTEGRATIONS", "AgentDbgLangChainCallbackHandler"]

INTEGRATIONS = {
    "agents": "agentdbg.integrations.openai_agents",
    "agno": "agentdbg.integrations.frameworks",
    "aiohttp": "agentdbg.integrations.http",
    "anthropic": "agentdbg.integrations.anthropic",
    "anthropic.lib.tools": "agentdbg.integrations.frameworks",
    "autogen_core": "agentdbg.integrations.frameworks",
    "claude_agent_sdk": "agentdbg.integrations.claude_agent",
    "crewai": "agentdbg.integrations.crewai",
    "django": "agentdbg.integrations.web",
    "dspy": "agentdbg.integrations.frameworks",
    "flask": "agentdbg.integrations.web",
    "google.adk": "agentdbg.integrations.frameworks",
    "google.genai": "agentdbg.integrations.frameworks",
    "gunicorn": "agentdbg.integrations.web",
    "haystack": "agentdbg.integrations.frameworks",
    "httpx": "agentdbg.integrations.http",
    "httpx2": "agentdbg.integrations.http",
    "langchain_core": "agentdbg.integrations.langchain",
    "litellm": "agentdbg.integrations.litellm",
    "llama_index.core": "agentdbg.integrations.frameworks",
    "mcp": "agentdbg.integrations.mcp_client",
    "openai": "agentdbg.integrations.openai",
    "pydantic_ai": "agentdbg.integrations.pydantic_ai",
    "semantic_kernel": "agentdbg.integrations.frameworks",
    "smolagents": "agentdbg.integrations.frameworks",
    "starlette": "agentdbg.integrations.web",
    "strands": "agentdbg.integrations.frameworks",
    "urllib3": "agentdbg.integrations.http",
    "uvicorn": "agentdbg.integrations.web",
    "wsgiref": "agentdbg.integrations.web",
}
"""Which module of ours records what a package does: the package's import name, and a module with `enable()`."""

_MODULES = {module.rpartition(".")[2] for module in INTEGRATIONS.values()}


def __getattr__(name: str) -> Any:
    if name == "AgentDbgLangChainCallbackHandler":
        return importlib.import_module("agentdbg.integrations.langchain").AgentDbgLangChainCallbackHandler
    if name in _MODULES:
        return importlib.import_module(f"agentdbg.integrations.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
