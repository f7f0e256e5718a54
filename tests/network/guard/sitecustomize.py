"""
Watches a Python process and all its children: who asks for anything but loopback is written down, and refused.

The file to write to is named by NETWORK_GUARD_LOG.
"""

import os
import sys

_LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")
_LOG = os.environ.get("NETWORK_GUARD_LOG")


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    host: object = None
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        # Anything but a tuple is the path of a socket on this machine, or no address at all.
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = arguments[0]
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if host and not str(host).startswith(_LOOPBACK) and _LOG:
        with open(_LOG, "a") as log:
            log.write(f"{event} {host} by {sys.argv}\n")
        raise OSError(f"the network is closed: {event} {host}")


sys.addaudithook(_watch)
