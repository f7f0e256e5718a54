"""
Tell whether a connection was opened by the user who runs this server.

Linux says who owns the other end of a connection within the machine. Other systems do not; there, and where the other
end is no socket of this machine (a container's or WSL's relay brought it), the user is unknown. An unknown user is
never taken for our own.

The kernel answers for one connection over netlink (sock_diag) in microseconds. Where that is closed, as in some
sandboxes, the same stands in /proc/net/tcp and tcp6, which take milliseconds to read. Other systems have neither.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from starlette.types import Scope

__all__ = ["Peer", "can_tell_users", "is_from_own_user", "peer_uid", "socket_owner"]

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


Address = tuple[str, int]

_SOCK_DIAG, _BY_FAMILY, _IS_REQUEST, _IS_ERROR = 4, 20, 1, 2
_HEADER = struct.Struct("=IHHII")
_DIAG_REQUEST = struct.Struct("=BBBBI")
_ENDS = struct.Struct("!HH16s16s")
_UID_AND_INODE = struct.Struct("=II")
_ANY_STATE = _ANY_COOKIE = 0xFFFFFFFF
_MESSAGE_ENDS, _MESSAGE_UID = 4, 64
"""Where in an inet_diag_msg the two ends stand, and the user."""
_TABLE_UID, _TABLE_INODE = 7, 9
"""Columns of /proc/net/tcp."""
_SECONDS = 1.0


def socket_owner(local: Address, remote: Address) -> int | None:
    """The user who owns the open socket with these two ends; None when there is none, or nobody tells."""
    try:
        found = _ask_netlink(local, remote)
    except OSError:
        found = _look_into_tables(local, remote)
    # A closed socket has no inode any more, and is shown as root's.
    return found[0] if found is not None and found[1] else None


def _ask_netlink(local: Address, remote: Address) -> tuple[int, int] | None:
    """User and inode of one socket; OSError where netlink cannot be asked."""
    own, other = _unmapped(local[0]), _unmapped(remote[0])
    family = socket.AF_INET if own.version == 4 else socket.AF_INET6
    ends = _ENDS.pack(local[1], remote[1], own.packed.ljust(16, b"\0"), other.packed.ljust(16, b"\0"))
    question = _DIAG_REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE) + ends
    question += struct.pack("=III", 0, _ANY_COOKIE, _ANY_COOKIE)
    netlink = getattr(socket, "AF_NETLINK", None)
    if netlink is None:
        raise OSError(errno.EAFNOSUPPORT, "this system has no netlink")
    with socket.socket(netlink, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(_SECONDS)
        kernel.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _IS_REQUEST, 1, 0) + question)
        answer = kernel.recv(4096)
    if _HEADER.unpack_from(answer)[1] == _IS_ERROR:
        code = -struct.unpack_from("=i", answer, _HEADER.size)[0]
        if code == errno.ENOENT:
            return None
        raise OSError(code, "netlink does not tell")
    message = answer[_HEADER.size :]
    ports = message[_MESSAGE_ENDS : _MESSAGE_ENDS + 4]
    if ports != ends[:4]:  # a socket that listens there answers for one that is not
        return None
    uid, inode = _UID_AND_INODE.unpack_from(message, _MESSAGE_UID)
    return uid, inode


def _look_into_tables(local: Address, remote: Address) -> tuple[int, int] | None:
    """User and inode of one socket, from the list of all; OSError where there is no such list."""
    own, other = _unmapped(local[0]), _unmapped(remote[0])
    names = [("tcp", False), ("tcp6", True)] if own.version == 4 else [("tcp6", False)]
    for name, is_mapped in names:  # IPv4 is also spoken by sockets of IPv6, which are listed with a mapped address
        wanted = [_as_listed(own, local[1], is_mapped).encode(), _as_listed(other, remote[1], is_mapped).encode()]
        for line in Path("/proc/self/net", name).read_bytes().splitlines():
            fields = line.split()
            if fields[1:3] == wanted and int(fields[_TABLE_INODE]):
                return int(fields[_TABLE_UID]), int(fields[_TABLE_INODE])
    return None


def _unmapped(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _as_listed(host: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int, is_mapped: bool) -> str:
    """An address as the kernel prints it: words of 32 bits, in the byte order of the machine."""
    packed = ipaddress.IPv6Address(f"::ffff:{host}").packed if is_mapped else host.packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"
