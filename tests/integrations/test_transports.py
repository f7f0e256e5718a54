"""Every HTTP library's exchanges can be noted as plain data and given back so that its clients see no difference."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import around, traced_run
from agentdbg.integrations import http

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Recorded

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

NOBODY = "http://127.0.0.1:9/v1/chat/completions"
QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]}


@pytest.fixture(autouse=True)
def _installed() -> None:
    http.install()


class Notes(around.Decider):
    """Notes each exchange, as a recording does."""

    asks_http = True

    def __init__(self) -> None:
        self.exchanges: list[tuple[str, str, Any]] = []

    def ended(self, call: around.AnnouncedCall, outcome: around.Outcome) -> None:
        if call.kind == "http":
            key = json.dumps([call.input["method"], call.input["url"], call.input["body"]], default=str)
            self.exchanges.append((call.name, key, outcome.value))


class Plays(around.Decider):
    """Answers each exchange with what was noted, in order, through JSON and back but for the bytes."""

    asks_http = True

    def __init__(self, notes: Notes) -> None:
        self.left = list(notes.exchanges)

    def decide(self, call: around.AnnouncedCall) -> around.Answer | None:
        if call.kind != "http":
            return None
        name, key, outcome = self.left.pop(0)
        assert name == call.name
        assert key == json.dumps([call.input["method"], call.input["url"], call.input["body"]], default=str)
        chunks = outcome["chunks"]
        return around.Answer({**json.loads(json.dumps({**outcome, "chunks": []})), "chunks": chunks})


class Server:
    """Answers by path: whole, streamed, chunked, compressed, broken off, too late, or with an error."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.requests.append(self.path)
                outer.answer(self, self.path.strip("/"), body)

            def do_GET(self) -> None:
                outer.requests.append(self.path)
                outer.answer(self, self.path.strip("/"), b"")

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, handler: Any, kind: str, body: bytes) -> None:
        text = json.dumps({"kind": kind, "number": len(self.requests), "you": body.decode("latin-1")}).encode()
        if kind in ("stream", "cut"):
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            for number in range(5):
                piece = f"data: {number} {text.decode()}\n\n".encode()
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                handler.wfile.flush()
            if kind == "cut":
                handler.connection.shutdown(socket.SHUT_RDWR)
                handler.close_connection = True
            else:
                handler.wfile.write(b"0\r\n\r\n")
            return
        if kind == "late":
            time.sleep(0.5)
        data = gzip.compress(text) if kind == "gzip" else text
        handler.send_response(503 if kind == "busy" else 200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("Set-Cookie", "seen=yes")
        handler.send_header("X-Twice", "one")
        handler.send_header("X-Twice", "two")
        if kind == "gzip":
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        with suppress(OSError):
            handler.wfile.write(data)

    def __enter__(self) -> Server:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def _noting(error: list[Any]) -> Iterator[None]:
    try:
        yield
    except Exception as raised:
        error.append((type(raised).__name__, str(raised).partition(" object at ")[0]))


async def _collect(pieces: Any, note: Callable[[Any], None]) -> None:
    async for piece in pieces:
        note(piece)


def _httpx_story(package: str) -> Callable[[str], list[Any]]:
    def story(url: str) -> list[Any]:
        library = pytest.importorskip(package)
        seen: list[Any] = []

        def all_of(response: Any) -> None:
            cookies = dict(response.cookies)
            seen.append((response.status_code, response.reason_phrase, response.http_version, cookies))
            seen.append((dict(response.headers), response.content))

        with library.Client() as client:
            for kind in ("whole", "gzip", "busy", "stream"):
                all_of(client.post(f"{url}/{kind}", json=QUESTION))
            all_of(client.get(f"{url}/whole?a=1"))
            all_of(client.post(f"{url}/whole", files={"file": b"\x00\xff"}))
            with client.stream("POST", f"{url}/stream", json=QUESTION) as response:
                seen.append(list(response.iter_lines()))
            with client.stream("POST", f"{url}/stream", json=QUESTION) as response:
                seen.append(next(response.iter_raw()))
            with _noting(seen):
                client.post(NOBODY, json=QUESTION)
            with _noting(seen):
                client.post(f"{url}/late", json=QUESTION, timeout=0.1)
            with _noting(seen), client.stream("POST", f"{url}/cut", json=QUESTION) as response:
                seen.extend(response.iter_bytes())

        async def awaited() -> None:
            async with library.AsyncClient() as client:
                for kind in ("whole", "gzip", "busy", "stream"):
                    all_of(await client.post(f"{url}/{kind}", json=QUESTION))
                async with client.stream("POST", f"{url}/stream", json=QUESTION) as response:
                    seen.append([line async for line in response.aiter_lines()])
                async with client.stream("POST", f"{url}/stream", json=QUESTION) as response:
                    async for chunk in response.aiter_raw():
                        seen.append(chunk)
                        break
                with _noting(seen):
                    await client.post(NOBODY, json=QUESTION)
                with _noting(seen):
                    await client.post(f"{url}/late", json=QUESTION, timeout=0.1)
                with _noting(seen):
                    async with client.stream("POST", f"{url}/cut", json=QUESTION) as response:
                        await _collect(response.aiter_bytes(), seen.append)

        asyncio.run(awaited())
        return seen

    return story


def _requests_story(url: str) -> list[Any]:
    library = pytest.importorskip("requests")
    seen: list[Any] = []
    for kind in ("whole", "gzip", "busy", "stream"):
        response = library.post(f"{url}/{kind}", json=QUESTION)
        seen.append((response.status_code, response.reason, dict(response.headers), response.content))
        seen.append(dict(response.cookies))
    with library.post(f"{url}/stream", json=QUESTION, stream=True) as response:
        seen.append(list(response.iter_lines()))
    with library.post(f"{url}/stream", json=QUESTION, stream=True) as response:
        seen.append(next(response.iter_content(10)))
    with _noting(seen):
        library.post(NOBODY, json=QUESTION)
    with _noting(seen):
        library.post(f"{url}/late", json=QUESTION, timeout=0.1)
    with _noting(seen), library.post(f"{url}/cut", json=QUESTION, stream=True) as response:
        seen.extend(response.iter_content(None))
    return seen


def _urllib3_story(url: str) -> list[Any]:
    library = pytest.importorskip("urllib3")
    seen: list[Any] = []
    with library.PoolManager() as pool:
        for kind in ("whole", "gzip", "busy", "stream"):
            response = pool.request("POST", f"{url}/{kind}", body=json.dumps(QUESTION))
            seen.append((response.status, response.reason, dict(response.headers), response.data))
        response = pool.request("GET", f"{url}/whole", preload_content=False)
        seen.append((response.read(3), response.read()))
        response.release_conn()
        with _noting(seen):
            pool.request("POST", NOBODY, body="{}", retries=False)
        with _noting(seen):
            pool.request("POST", f"{url}/late", body="{}", timeout=0.1, retries=False)
    return seen


def _aiohttp_story(url: str) -> list[Any]:
    library = pytest.importorskip("aiohttp")
    seen: list[Any] = []

    async def awaited() -> None:
        async with library.ClientSession() as session:
            for kind in ("whole", "gzip", "busy", "stream"):
                async with session.post(f"{url}/{kind}", json=QUESTION) as response:
                    seen.append((response.status, response.reason, response.ok, await response.read()))
                    seen.append((_joined(response.headers), response.method, str(response.url)))
                    assert isinstance(response.content, library.StreamReader)
                    assert isinstance(response, library.ClientResponse)
            async with session.get(f"{url}/whole") as response:
                seen.append(await response.json())
            async with session.post(f"{url}/stream", json=QUESTION) as response:
                seen.append([line async for line in response.content])
            async with session.post(f"{url}/stream", json=QUESTION) as response:
                seen.append(b"".join([chunk async for chunk in response.content.iter_any()]))
            async with session.post(f"{url}/stream", json=QUESTION) as response:
                seen.append(await response.content.readline())
            with _noting(seen):
                await session.post(f"{url}/busy", json=QUESTION, raise_for_status=True)
            with _noting(seen):
                await session.post(NOBODY, json=QUESTION)
            with _noting(seen):
                await session.post(f"{url}/late", json=QUESTION, timeout=library.ClientTimeout(total=0.1))
            with _noting(seen):
                async with session.post(f"{url}/cut", json=QUESTION) as response:
                    await _collect(response.content, seen.append)

    asyncio.run(awaited())
    return seen


STORIES: dict[str, Callable[[str], list[Any]]] = {
    "httpx": _httpx_story("httpx"),
    "httpx2": _httpx_story("httpx2"),
    "requests": _requests_story,
    "urllib3": _urllib3_story,
    "aiohttp": _aiohttp_story,
}


@pytest.mark.parametrize("library", list(STORIES))
def test_what_was_noted_can_be_given_back(library: str, recorded: Recorded) -> None:
    """A replay answers for the server; clients above must see the same bytes, heads, errors and ends."""
    story, notes = STORIES[library], Notes()
    with Server() as server:
        plain = story(server.url)
        asked = len(server.requests)
        server.requests.clear()
        with traced_run("live"), around.deciding(notes):
            live = story(server.url)
        assert len(server.requests) == asked
    plays = Plays(notes)
    with traced_run("served"), around.deciding(plays):
        served = story(server.url)

    assert _timeless(live) == _timeless(plain)
    assert _timeless(served) == _timeless(live)
    assert plays.left == []
    assert len(notes.exchanges) > asked  # those that reached nobody are exchanges too
    for run in recorded.all():
        assert run.types() == ["RUN_START", "RUN_END"]  # an exchange is no event


def _joined(headers: Any) -> dict[str, str]:
    """As all clients but this one show them; decompressing is done, and not told again in what is given back."""
    return {name: ", ".join(headers.getall(name)) for name in headers if name != "Content-Encoding"}


def _timeless(seen: list[Any]) -> str:
    """Without what is drawn or counted anew each time."""
    return re.sub(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|--[0-9a-f]{32}|\\?\"number\\?\": \d+", "", repr(seen))


@pytest.mark.parametrize("library", ["httpx", "requests", "aiohttp"])
def test_a_decider_may_send_another_body(library: str) -> None:
    """A fork with another prompt is made live, and what is really sent has to be the new one."""
    new = {"model": "other", "messages": []}

    class Edits(around.Decider):
        asks_http = True

        def decide(self, call: around.AnnouncedCall) -> around.Proceed:
            return around.Proceed({**call.input, "body": new})

    with Server() as server, traced_run("edited"), around.deciding(Edits()):
        told = _post(library, f"{server.url}/whole")

    assert json.loads(told["you"]) == new


@pytest.mark.parametrize("library", ["httpx", "requests", "aiohttp"])
def test_a_refused_exchange_is_not_made(library: str) -> None:
    """Strict replay sends nothing; the reason has to reach the program."""

    class Refuses(around.Decider):
        asks_http = True

        def decide(self, call: around.AnnouncedCall) -> around.Refuse:
            return around.Refuse(LookupError(f"no {call.name}"))

    with Server() as server:
        with pytest.raises(LookupError, match="no POST /whole"), traced_run("r"), around.deciding(Refuses()):
            _post(library, f"{server.url}/whole")
        assert server.requests == []


@pytest.mark.parametrize("library", ["httpx", "requests", "aiohttp"])
def test_only_who_asks_for_exchanges_is_told_of_them(library: str) -> None:
    """Somebody who counts model calls does not want to hear of the same call twice."""
    told = []

    class Listens(around.Decider):
        def decide(self, call: around.AnnouncedCall) -> None:
            told.append(call.kind)

    with Server() as server, traced_run("quiet"), around.deciding(Listens()):
        _post(library, f"{server.url}/whole")

    assert told == []


def _post(library: str, url: str) -> Any:
    module = pytest.importorskip(library)
    if library != "aiohttp":
        return module.post(url, json=QUESTION).json()

    async def post() -> Any:
        async with module.ClientSession() as session, session.post(url, json=QUESTION) as response:
            return await response.json()

    return asyncio.run(post())
