"""
Where a viewer is: the socket that it is to listen at, and the one that serves a folder already.

`viewer.lock` lets a second `agentdbg view` of the same folder find the first, which `viewer_process` has written.
"""

from __future__ import annotations

import http.client
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentdbg.encoding import decode_json
from agentdbg.exceptions import UsageError, ViewerUnavailable
from agentdbg.server.guard import bracketed, is_address, is_loopback, on_this_machine, own_url
from agentdbg.server.peer_user import can_tell_users, peer_uid
from agentdbg.storage.layout import viewer_lock_path
from agentdbg.storage.lines import open_regular
from agentdbg.version import __version__

__all__ = ["DEFAULT_HOST", "DEFAULT_PORT", "Viewer", "find_viewer", "listen"]

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8712
_ANSWER_SECONDS = 1.0


@dataclass(frozen=True)
class Viewer:
    """Where a viewer serves a data folder."""

    host: str
    port: int
    token: str | None = None
    """Needed by everyone but the viewer's own user, and by them too when the address is not loopback."""

    def url(self, run_id: str | None = None) -> str:
        """The address of the page, on a run if one is named. It holds the token."""
        return own_url(on_this_machine(self.host), self.port, run_id=run_id, token=self.token)

    def url_for_browser(self, run_id: str | None = None) -> str:
        """The address to open a browser with: without the token where none is needed, since `ps` shows it to others."""
        is_known = is_loopback(self.host) and can_tell_users()
        return own_url(on_this_machine(self.host), self.port, run_id=run_id, token=None if is_known else self.token)


def find_viewer(data_dir: str | Path) -> Viewer | None:
    """The viewer that serves this folder already; None when its lock is missing or stale, or nobody answers."""
    root = Path(data_dir)
    try:
        with open_regular(viewer_lock_path(root)) as file:
            said = decode_json(file.read(65_536))
            owner = os.fstat(file.fileno()).st_uid
        viewer = Viewer(str(said["host"]), int(said["port"]), said.get("token"))
        if not _is_here(viewer.host):  # a folder that came from elsewhere may name any address
            return None
        info = _ask(viewer, owner)
        # Another version may speak another way to its page, and another folder may have taken the port.
        is_ours = info.get("version") == __version__ and os.path.samefile(info["data_dir"], root)
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None
    return viewer if is_ours else None


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; ViewerUnavailable says why there is none, UsageError that there can be none."""
    name = host.strip("[]")
    if not 0 <= port < 65_536:  # some systems would quietly take another
        raise UsageError(f"{port} is not a port; choose one from 1 to 65535, or 0 for any that is free")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError, OverflowError) as error:
        raise ViewerUnavailable(f"{host} is not an address of this machine ({error}); try --host 127.0.0.1") from None
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
        listener.setblocking(False)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ViewerUnavailable(
            f"cannot listen on {bracketed(name)}:{port} ({getattr(error, 'strerror', None) or error}); "
            "end whatever uses that port, or choose another with --port"
        ) from None
    return listener


def _is_here(host: str) -> bool:
    """Whether a host is this machine, found out without asking anybody."""
    name = on_this_machine(host).strip("[]")
    if not is_address(name):
        return name.lower() in ("localhost", socket.gethostname().lower())
    with socket.socket(socket.AF_INET6 if ":" in name else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((name, 0))
        except OSError:
            return False
    return True


def _ask(viewer: Viewer, owner: int) -> dict[str, Any]:
    """What a viewer says of itself; nothing when another user than the lock's owner has taken its port."""
    connection = http.client.HTTPConnection(
        on_this_machine(viewer.host).strip("[]"), viewer.port, timeout=_ANSWER_SECONDS
    )
    try:
        headers = {"X-AgentDbg-Token": viewer.token} if viewer.token else {}
        connection.request("GET", "/api/info", headers=headers)
        answer = decode_json(connection.getresponse().read(65_536))
        is_theirs = can_tell_users() and peer_uid(connection.sock) != owner
    finally:
        connection.close()
    return answer if isinstance(answer, dict) and not is_theirs else {}
