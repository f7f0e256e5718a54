"""
Requests that frameworks make for themselves, not for the agent: traces, usage counts, crash reports, lists of names.

They come from threads in the background, in batches that timing makes, or once a day, so a replay neither expects nor
compares them. It answers reports as if they had arrived, and questions as a server does that is out of order; nothing
is sent.
"""

from __future__ import annotations

import re
from typing import Any

from agentdbg.recorder.deciders import Answer

__all__ = ["accepted", "is_telemetry", "may_be_telemetry"]

_HOSTS = re.compile(
    r"://[^/]*(?:smith\.langchain\.com|telemetry\.|posthog\.com|sentry\.io|logfire[\w-]*\.pydantic\.dev"
    r"|cloud\.langfuse\.com|segment\.io|mixpanel\.com)"
)
_PATHS = re.compile(r"/v1/traces/ingest$|/(?:v1/)?(?:traces|metrics|logs)$|/runs/(?:batch|multipart)$")
_LISTS = re.compile(r"://[^/]+/api/agent-harnesses$|://raw\.githubusercontent\.com/BerriAI/litellm/")
_NAMES = re.compile(
    r"agent-harnesses|/litellm/|traces?\b|/runs/|/batch|/capture|/envelope|/track|telemetry|/ingest|/metrics|/logs",
    re.IGNORECASE,
)


def may_be_telemetry(name: str) -> bool:
    """Whether a request with this name is worth a look at its address."""
    return bool(_NAMES.search(name))


def is_telemetry(given: Any) -> bool:
    """Whether the input of an HTTP exchange is a framework's own report."""
    url = given.get("url") if isinstance(given, dict) else None
    if not isinstance(url, str):
        return False
    return bool(_HOSTS.search(url) or _PATHS.search(url.partition("?")[0]) or _LISTS.search(url))


def accepted(given: Any) -> Answer:
    """What such a request gets."""
    status = 503 if _LISTS.search(given["url"]) else 202
    outcome = {
        "status": status,
        "headers": {"content-type": "application/json"},
        "chunks": [b"{}"],
        "at": [],
        "cut": None,
    }
    return Answer(outcome, served="recorded")
