"""
Serve the viewer of a data folder until a signal ends it.

`serve` claims nothing before it listens: a taken port is an error, and only then the address is told. Ctrl-C and
SIGTERM end it, also with pages open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from agentdbg.encoding import encode_json
from agentdbg.server.lifecycle import DEFAULT_HOST, DEFAULT_PORT, Viewer, listen
from agentdbg.server.slow_clients import MOST_CONNECTIONS, patient_protocol
from agentdbg.server.viewer import create_app
from agentdbg.storage.layout import make_private_folder, replace_file, viewer_lock_path
from agentdbg.storage.lines import open_regular
from agentdbg.version import __version__

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

__all__ = ["ended_by_signals", "run_server", "serve"]

_STOP_SECONDS = 2


def serve(
    data_dir: str | Path,
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    allowed_hosts: tuple[str, ...] = (),
    on_ready: Callable[[Viewer], None] | None = None,
    may_control: bool = False,
) -> None:
    """Serve a data folder until Ctrl-C or SIGTERM; `on_ready` is called once the address answers."""
    root = Path(data_dir)
    listener = listen(host, port)
    with contextlib.closing(listener):
        viewer = Viewer(host, listener.getsockname()[1], secrets.token_urlsafe(24))
        app = create_app(root, host=host, token=viewer.token, allowed_hosts=allowed_hosts, may_control=may_control)
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            http=patient_protocol(),
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_STOP_SECONDS,
            ws_max_size=65_536,
            ws_per_message_deflate=False,
        )

        def stopping() -> None:
            app.state.viewer.is_stopping = True

        def ready() -> None:
            if on_ready is not None:
                on_ready(viewer)

        with _lock_file(root, viewer):
            run_server(config, listener, ready, stopping)


def run_server(
    config: uvicorn.Config,
    listener: socket.socket,
    on_ready: Callable[[], None],
    on_stopping: Callable[[], None] | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM: tells when it answers, and ends on a signal without passing the signal on."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                on_ready()

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            with ended_by_signals(self, on_stopping):
                yield

    asyncio.run(Server(config).serve(sockets=[listener]))


@contextlib.contextmanager
def _lock_file(root: Path, viewer: Viewer) -> Iterator[None]:
    """Tell others where this viewer is, and take that back at the end unless another viewer has taken over."""
    content = encode_json(
        {
            "pid": os.getpid(),
            "host": viewer.host,
            "port": viewer.port,
            "version": __version__,
            "token": viewer.token,
        }
    )
    path = viewer_lock_path(root)
    with contextlib.suppress(OSError):
        make_private_folder(root)
        replace_file(path, content)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            with open_regular(path) as file:
                is_ours = file.read(65_536) == content
            if is_ours:
                path.unlink()


@contextlib.contextmanager
def ended_by_signals(server: uvicorn.Server, stopping: Callable[[], None] | None = None) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the server and nothing more: the process goes on and exits as it likes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        if stopping is not None:
            stopping()
        server.handle_exit(number, frame)

    names = [signal.SIGINT, signal.SIGTERM]
    before = [signal.signal(name, stop) for name in names]
    try:
        yield
    finally:
        for name, handler in zip(names, before, strict=True):
            signal.signal(name, handler)
