"""`agentdbg view`: the viewer in the browser."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Annotated

from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.config import load_config
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import RunNotFound, UsageError
from agentdbg.server.guard import is_loopback
from agentdbg.server.lifecycle import DEFAULT_HOST, DEFAULT_PORT, find_viewer
from agentdbg.storage.housekeeping import drop_tapes, prune
from agentdbg.storage.layout import check_data_dir

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.config import Config
    from agentdbg.server.lifecycle import Viewer

__all__ = ["open_viewer"]

EXAMPLES = """
agentdbg view                        # the latest run
agentdbg view a41f --no-browser
agentdbg view --port 9000            # a second viewer, on another port
agentdbg view --control              # the page may replay and fork recorded programs
agentdbg view --allow-host my-box    # through an SSH forward or a container
"""


def command(
    run: Annotated[str | None, Argument("[RUN]", "The run to open; the latest when left out.", "runs")] = None,
    host: Annotated[str, Option("--host", metavar="HOST", help="The address to listen on.")] = DEFAULT_HOST,
    port: Annotated[int | None, Option("--port", "-p", metavar="PORT", help="8712 when left out.", at_least=0)] = None,
    no_browser: Annotated[bool, Option("--no-browser", help="Do not open the browser.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print where it serves as one line of JSON.")] = False,
    allow_host: Annotated[
        list[str] | None, Option("--allow-host", metavar="HOST", help="Another name the page may be reached by.")
    ] = None,
    control: Annotated[bool, Option("--control", help="Let the page replay and fork recorded programs.")] = False,
) -> None:
    """Open the viewer in the browser. A viewer that serves this folder already is reused; Ctrl-C ends it."""
    if control and not is_loopback(host):
        raise UsageError(f"--control runs programs, so it serves this machine only; --host {host} is not it")
    config = load_config()
    check_data_dir(config.data_dir)
    run_id = _wanted_run(run, config.data_dir)
    names = tuple(allow_host or ())
    open_viewer(
        config, run_id, host, port, browser=not no_browser, as_json=as_json, allow_hosts=names, may_control=control
    )


def _wanted_run(run: str | None, data_dir: Path) -> str | None:
    """The run to open. A folder without runs is no error unless one was named: the page says what to do."""
    if run is not None:
        return find(run, data_dir)
    with contextlib.suppress(RunNotFound):
        return find("latest", data_dir)
    return None


def open_viewer(
    config: Config,
    run_id: str | None,
    host: str = DEFAULT_HOST,
    port: int | None = None,
    *,
    browser: bool = True,
    as_json: bool = False,
    allow_hosts: tuple[str, ...] = (),
    may_control: bool = False,
) -> None:
    """Serve until Ctrl-C, or point at the viewer that serves already."""
    out = Terminal()

    def ready(viewer: Viewer, *, is_ours: bool = True) -> None:
        url = viewer.url(run_id)
        if as_json:
            out.json({"spec_version": SPEC_VERSION, "run_id": run_id, "url": url, "status": "serving"})
        else:
            out.line("Viewer at ", Styled(url, "accent"), cut=False)
            out.line(Styled("Ctrl-C ends it." if is_ours else "It is running already.", "muted"))
        out.flush()
        if browser and _has_browser():
            threading.Thread(target=_open_browser, args=(viewer.url_for_browser(run_id),), daemon=True).start()

    # Where another address, port or name was asked for, that is what has to be served.
    running = None if allow_hosts or may_control else find_viewer(config.data_dir)
    if running is not None and host in (DEFAULT_HOST, running.host) and port in (None, running.port):
        ready(running, is_ours=False)
        return
    from agentdbg.server.viewer_process import serve  # noqa: PLC0415 -- a viewer that is reused needs no server

    threading.Thread(target=_tidy_up, args=(config,), daemon=True).start()
    if port is None:  # a viewer without control may hold the usual one
        port = 0 if may_control and find_viewer(config.data_dir) is not None else DEFAULT_PORT
    serve(config.data_dir, host=host, port=port, allowed_hosts=allow_hosts, on_ready=ready, may_control=may_control)


def _has_browser() -> bool:
    """Whether a browser would open where the user sits; on a machine without a screen a text browser is no help."""
    if os.environ.get("SSH_CONNECTION"):
        return False
    has_own_way = os.name == "nt" or os.uname().sysname == "Darwin"
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
    return has_own_way or any(os.environ.get(name) for name in screens)


def _open_browser(url: str) -> None:
    import webbrowser  # noqa: PLC0415 -- many viewers open none

    with contextlib.suppress(Exception):
        webbrowser.open(url)


def _tidy_up(config: Config) -> None:
    """What the settings `tape_days` and `compress_after_days` ask for."""
    with contextlib.suppress(Exception):
        drop_tapes(config.tape_days * 86_400, data_dir=config.data_dir)
    if config.compress_after_days is not None:
        with contextlib.suppress(Exception):
            prune(config.compress_after_days * 86_400, compress=True, data_dir=config.data_dir)
