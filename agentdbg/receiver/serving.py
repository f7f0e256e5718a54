"""
A receiver from its start to its end: its socket, its signals, and the runs it leaves in good order.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from agentdbg.receiver.app import create_app
from agentdbg.receiver.traces import IDLE_SECONDS, Traces
from agentdbg.server.addresses import own_url
from agentdbg.server.lifecycle import listen, run_server
from agentdbg.server.patience import MOST_CONNECTIONS, patient_protocol
from agentdbg.storage.layout import make_private_folder, receiver_token_path, replace_file
from agentdbg.storage.lines import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentdbg.config import Config
    from agentdbg.receiver.traces import RunNews

__all__ = ["DEFAULT_PORT", "Receiver", "kept_token", "serve"]

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
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host.strip("[]"), self.host)  # noqa: S104 -- not bound
        return own_url(host, self.port).rstrip("/")


def serve(
    config: Config,
    *,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...] = (),
    idle_s: float = IDLE_SECONDS,
    on_ready: Callable[[Receiver], None] | None = None,
    on_news: Callable[[list[RunNews]], None] | None = None,
) -> None:
    """Receive until Ctrl-C or SIGTERM; `on_ready` is called once the address answers."""
    with contextlib.closing(listen(host, port)) as listener:
        token = kept_token(config.data_dir)
        receiver = Receiver(host, listener.getsockname()[1], token)
        traces = Traces(config, idle_s=idle_s, on_news=on_news)
        settings = uvicorn.Config(
            create_app(traces, host=host, token=token, allowed_hosts=allowed_hosts),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            http=patient_protocol(),
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
