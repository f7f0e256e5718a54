"""Who answers at an address, where it is known: the hosts of model providers, and what a model is called in a path."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from agentdbg.around import pass_on

__all__ = ["model_in_path", "provider_at", "provider_of"]

_PROVIDERS = {
    "aiplatform.googleapis.com": "google_vertex",
    "api.ai21.com": "ai21",
    "api.anthropic.com": "anthropic",
    "api.cerebras.ai": "cerebras",
    "api.cohere.ai": "cohere",
    "api.cohere.com": "cohere",
    "api.deepinfra.com": "deepinfra",
    "api.deepseek.com": "deepseek",
    "api.fireworks.ai": "fireworks",
    "api.groq.com": "groq",
    "api.hyperbolic.xyz": "hyperbolic",
    "api.jina.ai": "jina",
    "api.minimax.io": "minimax",
    "api.mistral.ai": "mistral",
    "api.moonshot.ai": "moonshot",
    "api.novita.ai": "novita",
    "api.openai.com": "openai",
    "api.perplexity.ai": "perplexity",
    "api.replicate.com": "replicate",
    "api.sambanova.ai": "sambanova",
    "api.studio.nebius.com": "nebius",
    "api.together.ai": "together",
    "api.together.xyz": "together",
    "api.voyageai.com": "voyage",
    "api.x.ai": "xai",
    "api.z.ai": "zai",
    "api-inference.huggingface.co": "huggingface",
    "cognitiveservices.azure.com": "azure",
    "dashscope.aliyuncs.com": "alibaba",
    "generativelanguage.googleapis.com": "google",
    "integrate.api.nvidia.com": "nvidia",
    "models.github.ai": "github",
    "models.inference.ai.azure.com": "azure",
    "ollama.com": "ollama",
    "openai.azure.com": "azure",
    "openrouter.ai": "openrouter",
    "router.huggingface.co": "huggingface",
    "services.ai.azure.com": "azure",
}
_OLLAMA_PORT = 11434
_BEFORE_MODEL = ("models", "model", "deployments", "engines")


def provider_at(address: Any) -> str | None:
    """Who answers at this address, where it is known; many speak OpenAI's language."""
    try:
        parts = urlsplit(str(address))
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        pass_on(error)
        return None
    return "ollama" if port == _OLLAMA_PORT else provider_of(host)


@lru_cache(maxsize=1_000)
def provider_of(host: str) -> str | None:
    """Who answers at this host, where it is known."""
    if host.startswith(("bedrock-runtime", "bedrock-agent-runtime")) and ".amazonaws." in host:
        return "aws_bedrock"
    if host.endswith("-aiplatform.googleapis.com"):
        return "google_vertex"
    labels = host.split(".")
    hosts = (".".join(labels[place:]) for place in range(len(labels) - 1))
    return next((_PROVIDERS[known] for known in hosts if known in _PROVIDERS), None)


def model_in_path(path: str) -> str | None:
    """The model that an address names: `…/models/gemini-2.5-pro:generateContent`, `…/model/amazon.nova/converse`."""
    for before, word in pairwise(path.split("/")):
        if before in _BEFORE_MODEL and word:
            name, _, verb = word.rpartition(":")
            return unquote(name if name and verb.isalpha() else word)
    return None
