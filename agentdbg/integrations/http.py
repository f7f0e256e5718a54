"""
Any model call, by its HTTP: what asks a known model API is one LLM_CALL, whatever library it is asked with.

    from agentdbg.integrations import http
    http.enable()

Requests of httpx, httpx2, urllib3 (and so requests and botocore), aiohttp and DSPy, streamed or not. Where another
integration stands around a call it steps aside. `install` alone records no event: it lets deciders be asked about
exchanges, and those with models be on the tape. `disable()` records no more.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from agentdbg.around import when_imported
from agentdbg.integrations._private_names import DSPY_TRANSPORTS

__all__ = ["disable", "enable", "install"]

_TRANSPORTS = {
    DSPY_TRANSPORTS: "agentdbg.integrations._dspy_transport",
    "aiohttp": "agentdbg.integrations._aiohttp_transport",
    "httpx": "agentdbg.integrations._httpx_transport",
    "httpx2": "agentdbg.integrations._httpx_transport",
    "urllib3": "agentdbg.integrations._urllib3_transport",
}


@functools.cache
def install() -> None:
    """Stand around the requests of every HTTP library that is imported, now or later. What stands there stays."""
    when_imported(_TRANSPORTS, _stand_around, each_time=True)


def enable() -> None:
    """Record every model call that is made over HTTP, where nobody else records it."""
    install()
    _recogniser().records = True


def disable() -> None:
    """Record no more of them."""
    _recogniser().records = False


def _recogniser() -> Any:
    from agentdbg.integrations import _http_exchange, _model_calls  # noqa: PLC0415 -- only when it is wanted

    if not _http_exchange.recognisers:
        _http_exchange.recognisers.append(_model_calls.ModelRequests())
    return _http_exchange.recognisers[0]


def _stand_around(package: str) -> None:
    _recogniser()
    importlib.import_module(_TRANSPORTS[package]).install(package)
