"""Who answers at an address, where it is known: the hosts of model providers, and what a model is called in a path."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

from agentdbg.around import pass_on

__all__ = ["model_in_path", "provider_at", "provider_of", "unread_address"]

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
_UNREAD = (
    "/images/generations",
    "/images/edits",
    "/images/variations",
    "/audio/speech",
    "/audio/transcriptions",
    "/audio/translations",
    "/moderations",
    "/predictions",
    "/videos",
)
"""What is asked of models under these addresses, wherever they answer, has no event."""
_NO_MODEL = {
    "cachedContents",
    "cancel",
    "complete",
    "computeTokens",
    "conversations",
    "count_tokens",
    "count-tokens",
    "countTokens",
    "detokenize",
    "files",
    "ingest",
    "input_tokens",
    "items",
    "models",
    "parts",
    "pull",
    "search",
    "show",
    "token",
    "tokenize",
    "uploads",
    "vector_stores",
}
"""How addresses at a provider end that ask no model anything."""
_LONGEST_ADDRESS = 80
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


def unread_address(host: str, address: str) -> str | None:
    """Say where a model is asked something that no event is made of; None for all other addresses."""
    path = address.partition("?")[0]
    is_asked = path.endswith(_UNREAD)
    if not is_asked and (provider_of(host) is None or path.rpartition("/")[2].rpartition(":")[2] in _NO_MODEL):
        return None
    if "://" in path:  # as a proxy is told
        path = "/" + path.partition("://")[2].partition("/")[2]
    return f"{host}{path}"[:_LONGEST_ADDRESS]


def model_in_path(path: str) -> str | None:
    """The model that an address names: `…/models/gemini-2.5-pro:generateContent`, `…/model/amazon.nova/converse`."""
    for before, word in pairwise(path.split("/")):
        if before in _BEFORE_MODEL and word:
            name, _, verb = word.rpartition(":")
            return unquote(name if name and verb.isalpha() else word)
    return None
