"""
The packages of models and agents that are known here, and what records them.

`agentdbg run` says when one of them was loaded and nothing was recorded, or nothing records it, and `agentdbg doctor
SCRIPT` lists them. This module knows names only and imports none of them.
"""

from __future__ import annotations

import sys

__all__ = ["KNOWN_PACKAGES", "loaded_packages", "unrecorded_packages"]


_HTTP = "by its requests"
_CLIENTS = "model calls by the client or the requests it makes them with, tools by their results"
_AGENTS = "agents and tools where it runs them, model calls by their requests"
_NOTHING = ""

KNOWN_PACKAGES: dict[str, str] = {
    "ag2": _CLIENTS,
    "agents": "an integration",
    "agno": _AGENTS,
    "ai21": _HTTP,
    "aisuite": _CLIENTS,
    "anthropic": "an integration",
    "atomic_agents": _CLIENTS,
    "autogen": _CLIENTS,
    "autogen_agentchat": _AGENTS,
    "azure.ai.inference": _HTTP,
    "baml_py": _NOTHING,
    "boto3": _HTTP,
    "burr": _CLIENTS,
    "camel": _CLIENTS,
    "cerebras.cloud.sdk": _HTTP,
    "claude_agent_sdk": "an integration",
    "cohere": _HTTP,
    "controlflow": "LangChain's integration",
    "crewai": "an integration",
    "ctransformers": _NOTHING,
    "dspy": _AGENTS,
    "fastmcp": "the integration of mcp",
    "fireworks": _HTTP,
    "google.adk": _AGENTS,
    "google.genai": _HTTP,
    "google.generativeai": _NOTHING,
    "gpt4all": _NOTHING,
    "groq": _HTTP,
    "guidance": _CLIENTS,
    "haystack": _AGENTS,
    "huggingface_hub": _HTTP,
    "instructor": "by the client it uses",
    "langchain_core": "an integration",
    "langgraph": "an integration",
    "letta_client": _NOTHING,
    "litellm": "an integration",
    "llama_cpp": _NOTHING,
    "llama_index.core": _AGENTS,
    "magentic": _CLIENTS,
    "marvin": "pydantic_ai's integration",
    "mcp": "an integration",
    "mirascope": _CLIENTS,
    "mistralai": _HTTP,
    "mlx_lm": _NOTHING,
    "ollama": _HTTP,
    "onnxruntime_genai": _NOTHING,
    "openai": "an integration",
    "outlines": _CLIENTS,
    "phi": _CLIENTS,
    "portkey_ai": _HTTP,
    "pydantic_ai": "an integration",
    "replicate": _NOTHING,
    "semantic_kernel": _AGENTS,
    "sentence_transformers": _NOTHING,
    "smolagents": _AGENTS,
    "strands": _AGENTS,
    "together": _HTTP,
    "transformers": _NOTHING,
    "txtai": _CLIENTS,
    "upsonic": _CLIENTS,
    "vertexai": _NOTHING,
    "vllm": _NOTHING,
    "voyageai": _HTTP,
    "xai_sdk": _NOTHING,
}
"""The import name of a package, and what records it; empty where nothing does."""

_AT_WORK = {"transformers": "transformers.generation.utils"}
"""Packages that others bring along for something else, and what is loaded with their models."""


def loaded_packages() -> list[str]:
    """Those of them that the program has loaded; who brings another along is named in its place."""
    loaded = [package for package in KNOWN_PACKAGES if package in sys.modules]
    return [package for package in loaded if not (package == "huggingface_hub" and len(loaded) > 1)]


def unrecorded_packages() -> list[str]:
    """Those that the program has loaded, and that nothing records."""
    silent = [package for package, by in KNOWN_PACKAGES.items() if not by]
    return [package for package in silent if _AT_WORK.get(package, package) in sys.modules]
