"""
The packages of models and agents that are known here, and what records them.

`agentdbg run` says when one of them was loaded and nothing was recorded; `agentdbg doctor SCRIPT` lists them. This
module knows names only and imports none of them.
"""

from __future__ import annotations

import sys

__all__ = ["KNOWN_PACKAGES", "loaded_packages"]


_HTTP = "by its requests"
_AGENTS = "agents and tools where it runs them, model calls by their requests"
_NOTHING = ""

KNOWN_PACKAGES: dict[str, str] = {
    "agents": "an integration",
    "agno": _AGENTS,
    "anthropic": "an integration",
    "autogen_agentchat": _AGENTS,
    "boto3": _HTTP,
    "claude_agent_sdk": "an integration",
    "cohere": _HTTP,
    "crewai": "an integration",
    "dspy": _AGENTS,
    "google.adk": _AGENTS,
    "google.genai": _HTTP,
    "google.generativeai": _NOTHING,
    "groq": _HTTP,
    "haystack": _AGENTS,
    "huggingface_hub": _HTTP,
    "instructor": "by the client it uses",
    "langchain_core": "an integration",
    "langgraph": "an integration",
    "litellm": "an integration",
    "llama_cpp": _NOTHING,
    "llama_index.core": _AGENTS,
    "mcp": "an integration",
    "mistralai": _HTTP,
    "mlx_lm": _NOTHING,
    "ollama": _HTTP,
    "openai": "an integration",
    "pydantic_ai": "an integration",
    "replicate": _NOTHING,
    "semantic_kernel": _AGENTS,
    "smolagents": _AGENTS,
    "strands": _AGENTS,
    "transformers": _NOTHING,
    "vertexai": _NOTHING,
    "vllm": _NOTHING,
    "voyageai": _HTTP,
}
"""The import name of a package, and what records it; empty where nothing does."""


def loaded_packages() -> list[str]:
    """Those of them that the program has loaded; who brings another along is named in its place."""
    loaded = [package for package in KNOWN_PACKAGES if package in sys.modules]
    return [package for package in loaded if not (package == "huggingface_hub" and len(loaded) > 1)]
