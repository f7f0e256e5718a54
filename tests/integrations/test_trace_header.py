"""The mark that links the runs of services goes to one's own network alone, and leaves requests as they were."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agentdbg import tool_call, traced_run
from agentdbg.integrations._aiohttp_transport import _host
from agentdbg.integrations._http_exchange import is_near
from agentdbg.integrations._httpx_transport import _marking, _marking_async
from agentdbg.integrations._urllib3_transport import _marked


def _request(host: str, **headers: str) -> Any:
    return SimpleNamespace(url=SimpleNamespace(host=host), headers=dict(headers))


def test_httpx_sends_the_mark_and_takes_it_off_again() -> None:
    """A redirect to a stranger is made from the request, with all of its headers."""
    sent: list[dict[str, str]] = []

    async def handle(_transport: Any, request: Any) -> None:
        sent.append(dict(request.headers))

    request = _request("127.0.0.1")
    with traced_run("asking"), tool_call("ask"):
        _marking(lambda _, request: sent.append(dict(request.headers)))(None, request)
        asyncio.run(_marking_async(handle)(None, request))
        _marking(lambda _, request: sent.append(dict(request.headers)))(None, _request("api.example.com"))
        _marking(lambda _, request: sent.append(dict(request.headers)))(None, _request("127.0.0.1", traceparent="own"))

    assert [bool(one.get("traceparent")) for one in sent] == [True, True, False, True]
    assert sent[3] == {"traceparent": "own"}
    assert request.headers == {}


def test_headers_of_urllib3_keep_their_kind_and_their_own_mark() -> None:
    """A header that was given twice arrives twice, and one's own mark in any spelling stays the only one."""

    class Kind(dict[str, str]):
        def copy(self) -> Kind:
            return Kind(self)

    given = Kind(a="1")

    assert type(_marked(given, "m")) is Kind
    assert given == {"a": "1"}
    assert _marked({"Traceparent": "own"}, "m") == {"Traceparent": "own"}
    assert _marked(None, "m") == {"traceparent": "m"}


@pytest.mark.parametrize(
    "address",
    ["http://user:pw@api.example.com/x", "http://[2606:4700::1111]/", "https://api.example.com:8443/y?z=http://a"],
)
def test_the_host_of_an_address_is_read_as_a_browser_reads_it(address: str) -> None:
    """A name or half of an address would have no dot, and so look near."""
    assert not is_near(_host(address))
