"""
Tell whether a connection was opened by the user who runs this server.

Linux says who owns the other end of a connection within the machine. Other systems do not; there, and where the other
end is no socket of this machine (a container's or WSL's relay brought it), the user is unknown. An unknown user is
never taken for our own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentdbg.server.socket_owner import socket_owner

if TYPE_CHECKING:
    import asyncio

    from starlette.types import Scope

__all__ = ["Peer", "can_tell_users", "is_from_own_user", "peer_uid"]

_STATE_KEY = "agentdbg_peer"


class Peer:
    """The other end of one connection. Its user is looked up once, when the first request asks."""

    def __init__(self, transport: asyncio.BaseTransport | None, *, is_own_user: bool | None = None) -> None:
        self._transport = transport
        self._is_own_user = is_own_user

    @property
    def is_own_user(self) -> bool:
        """Whether the user who runs this server opened the connection."""
        if self._is_own_user is None:
            connection = self._transport.get_extra_info("socket") if self._transport is not None else None
            uid = peer_uid(connection) if connection is not None else None
            self._is_own_user = uid is not None and uid == os.geteuid()
        return self._is_own_user

    def as_state(self) -> dict[str, Peer]:
        """This peer as part of a request's `state`, where `is_from_own_user` finds it."""
        return {_STATE_KEY: self}


def is_from_own_user(scope: Scope) -> bool:
    """Whether a request comes from the user who runs this server; False when nobody can say."""
    peer = scope.get("state", {}).get(_STATE_KEY)
    return isinstance(peer, Peer) and peer.is_own_user


def peer_uid(connection: socket.socket) -> int | None:
    """The user who opened the other end of a TCP connection; None when the kernel does not tell."""
    with contextlib.suppress(OSError, ValueError):
        ends = connection.getpeername()[:2], connection.getsockname()[:2]
        uid = socket_owner(*ends)
        # A socket loses its owner when it is closed. If it is open now, it was open when its owner was read.
        if uid is not None and socket_owner(*ends) == uid and not _stands_for_many(uid):
            return uid
    return None


def can_tell_users() -> bool:
    """Whether this user's programs will be known as theirs: tried out. In WSL the browser runs on another system."""
    if sys.platform != "linux" or "microsoft" in os.uname().release.lower():
        return False
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.create_connection(listener.getsockname()),
            listener.accept()[0] as accepted,
        ):
            return peer_uid(accepted) == os.geteuid()
    except OSError:
        return False


def _stands_for_many(uid: int) -> bool:
    """Whether this number is shown for every user whom this namespace has no number for."""
    if uid != int(Path("/proc/sys/kernel/overflowuid").read_text()):
        return False
    return Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]
