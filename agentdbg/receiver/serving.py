"""
A receiver from its start to its end: its socket, its signals, and the runs it leaves in good order.

The receiver as an application: `POST /v1/traces` behind the viewer's guard.

A request is answered with 200 when its spans are on disk. What can never be taken is refused for good (400, 413, 415),
what can be taken later is answered so that exporters try again (429, 503). Metrics and logs are turned down in words
that exporters show.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from agentdbg.encoding import encode_json
from agentdbg.receiver.bodies import JSON, LARGEST_BODY, Refused, answer_of, media_type_of, read_batch, unpack
from agentdbg.receiver.grpc_clients import HINT, telling
from agentdbg.receiver.log_events import answer_to_logs, read_log_events
from agentdbg.receiver.trace_run import NotStored
from agentdbg.receiver.traces import IDLE_SECONDS, Traces
from agentdbg.receiver.unsupported_signals import turn_down_metrics
from agentdbg.server.guard import BodyTooLarge, Guard, Policy, on_this_machine, own_url
from agentdbg.server.http_answers import error_response, json_response
from agentdbg.server.lifecycle import listen
from agentdbg.server.slow_clients import MOST_CONNECTIONS, patient_protocol
from agentdbg.server.viewer_process import run_server
from agentdbg.storage.layout import make_private_folder, receiver_token_path, replace_file
from agentdbg.storage.lines import open_regular
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from agentdbg.config import Config
    from agentdbg.receiver.traces import RunNews

__all__ = ["DEFAULT_PORT", "Receiver", "create_app", "serve"]

DEFAULT_PORT = 4318
"""Where OTLP over HTTP is expected."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32}")


@dataclass(frozen=True)
class Receiver:
    """Where spans are received."""

    host: str
    port: int
    token: str
    """Needed by everyone but the receiver's own user, and by them too when the address is not loopback."""

    @property
    def url(self) -> str:
        """What an exporter is given as its endpoint."""
        # Bound to every address, it is reached by any of them; on this machine by this one.
        return own_url(on_this_machine(self.host), self.port).rstrip("/")


def serve(
    config: Config,
    *,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...] = (),
    idle_s: float = IDLE_SECONDS,
    max_disk: int | None = None,
    on_ready: Callable[[Receiver], None] | None = None,
    on_news: Callable[[list[RunNews]], None] | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> None:
    """Receive until Ctrl-C or SIGTERM; `on_ready` is called once the address answers, `on_notice` to tell a user."""
    told: list[str] = []

    def heard_grpc() -> None:
        if on_notice is not None and HINT not in told:  # exporters try again and again
            told.append(HINT)
            on_notice(HINT)

    with contextlib.closing(listen(host, port)) as listener:
        token = kept_token(config.data_dir)
        receiver = Receiver(host, listener.getsockname()[1], token)
        traces = Traces(config, idle_s=idle_s, max_disk=max_disk, on_news=on_news)
        settings = uvicorn.Config(
            create_app(traces, host=host, token=token, allowed_hosts=allowed_hosts),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            http=telling(patient_protocol(), heard_grpc),
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=5,
            ws="none",
        )

        def ready() -> None:
            _collect_less_often()
            if on_ready is not None:
                on_ready(receiver)

        run_server(settings, listener, ready)


def kept_token(data_dir: Path) -> str:
    """The token of this folder's receivers: made once, so that what an exporter was told stays true."""
    path = receiver_token_path(data_dir)
    with contextlib.suppress(OSError, UnicodeDecodeError), open_regular(path) as file:
        found = file.read(100).decode().strip()
        is_private = os.name != "posix" or not os.fstat(file.fileno()).st_mode & 0o077
        if is_private and _TOKEN.fullmatch(found):
            return found
    token = secrets.token_urlsafe(24)
    with contextlib.suppress(OSError):  # then it holds for this receiver alone
        make_private_folder(data_dir)
        replace_file(path, token.encode())
    return token


def _collect_less_often() -> None:
    """
    A request makes some ten thousand objects that go when it is answered, hardly one of them in a circle.

    By default all of them, and all that was loaded, would be searched for circles many times on the way.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


_LOOK_SECONDS = 0.5
_MOST_BYTES_HELD = 2 * LARGEST_BODY
_MOST_AT_ONCE = 2
"""Requests that are unpacked and read at a time: a small body may become a large one, and more threads only queue."""
_RETRY = {"Retry-After": "2"}
# google.rpc.Code, which OTLP puts into the body of a refusal.
_INVALID, _EXHAUSTED, _UNAVAILABLE = 3, 8, 14


def create_app(
    traces: Traces, *, host: str = "127.0.0.1", token: str | None = None, allowed_hosts: tuple[str, ...] = ()
) -> Starlette:
    """The application that takes spans for `traces` from whoever the guard lets in."""
    policy = Policy(
        token=token or secrets.token_urlsafe(24),
        allowed_hosts=frozenset(name.strip().lower() for name in allowed_hosts),
        bound_host=host,
        service="receiver",
        entry_hint="send the token that `agentdbg receive` printed, in the header X-AgentDbg-Token",
        largest_body=LARGEST_BODY,
        takes_posts=True,
    )
    intake = _Intake(traces)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(_look_around(traces))
        try:
            yield
        finally:
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking
            intake.close()
            traces.close()

    return Starlette(
        routes=[
            Route("/", _about, methods=["GET"]),
            Route("/v1/traces", intake.take_traces, methods=["POST"]),
            Route("/v1/metrics", intake.turn_down_metrics, methods=["POST"]),
            Route("/v1/logs", intake.take_logs, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, policy=policy)],
        exception_handlers={HTTPException: _http_error, BodyTooLarge: _too_large},
        lifespan=lifespan,
    )


async def _look_around(traces: Traces) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            await run_in_threadpool(traces.look_around)
        except Exception:
            # Whatever one run did, the others still have to be ended.
            logging.getLogger("agentdbg.receiver").exception("looking after the open runs failed")


class _Intake:
    """Takes requests, and no more of them at once than there is memory for."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._held = 0
        self._workers = ThreadPoolExecutor(_MOST_AT_ONCE, "agentdbg-receive")

    async def take_traces(self, request: Request) -> Response:
        return await self._answer(request, self._store)

    async def turn_down_metrics(self, request: Request) -> Response:
        return await self._answer(request, turn_down_metrics)

    async def take_logs(self, request: Request) -> Response:
        return await self._answer(request, self._note)

    def close(self) -> None:
        """Wait for what is being stored."""
        self._workers.shutdown()

    def _store(self, body: bytes, media_type: str) -> bytes:
        batch = read_batch(body, media_type)
        return answer_of(batch.rejected + self._traces.take(batch.spans), media_type)

    def _note(self, body: bytes, media_type: str) -> bytes:
        found, others = read_log_events(body, media_type)
        return answer_to_logs(others + self._traces.note(found), media_type)

    async def _answer(self, request: Request, handle: Callable[[bytes, str], bytes]) -> Response:
        media_type, body = JSON, bytearray()
        try:
            media_type = media_type_of(request.headers.get("content-type", ""))
            await self._read(request, body)
            encoding = request.headers.get("content-encoding", "")
            answer = await asyncio.get_running_loop().run_in_executor(
                self._workers, lambda: handle(unpack(bytes(body), encoding), media_type)
            )
        except Refused as refused:
            return _refusal(refused.status, str(refused), media_type)
        except NotStored as error:
            return _refusal(503, f"not stored: {error}", media_type)
        except ClientDisconnect:
            return Response(status_code=400)
        finally:
            self._held -= len(body)
        return Response(answer, media_type=media_type)

    async def _read(self, request: Request, into: bytearray) -> None:
        async for chunk in request.stream():
            others = self._held - len(into)
            if others and self._held + len(chunk) > _MOST_BYTES_HELD:
                raise Refused(429, "too much is being received at once; try again in a moment")
            into += chunk
            self._held += len(chunk)


def _refusal(status: int, message: str, media_type: str) -> Response:
    """A google.rpc.Status in the encoding that was sent, as OTLP wants it; exporters try again after 429 and 503."""
    code = {429: _EXHAUSTED, 503: _UNAVAILABLE}.get(status, _INVALID)
    if media_type == JSON:
        body = encode_json({"code": code, "message": message})
    else:
        text = message.encode(errors="replace")[:2000]
        body = b"\x08%c\x12%b%b" % (code, _varint(len(text)), text)
    return Response(body, status, headers=_RETRY if status in (429, 503) else None, media_type=media_type)


def _varint(number: int) -> bytes:
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


async def _about(_: Request) -> Response:
    return json_response({"service": "agentdbg receive", "version": __version__, "send_to": "POST /v1/traces"})


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return error_response(404, "not_found", "spans are sent to /v1/traces")
    return error_response(error.status_code, "http_error", str(error.detail))


async def _too_large(_: Request, __: Exception) -> Response:
    return error_response(413, "body_too_large", f"a request has at most {LARGEST_BODY} bytes")
