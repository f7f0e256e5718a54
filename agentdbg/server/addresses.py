"""
Host names and addresses as they stand in urls and headers.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlencode

__all__ = ["bracketed", "is_address", "is_loopback", "own_url", "parse_host"]

# Strict on purpose: userinfo, spaces, zone ids and odd spellings of an address are nobody's honest Host.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([0-9]{1,5}))?", re.ASCII)


def parse_host(host: str | None) -> tuple[str, str | None] | None:
    """Name and port of a Host header, in lower case; None when it is not one."""
    found = _HOST.fullmatch(host.lower()) if host is not None else None
    if found is None or (found.group(2) is not None and not 0 < int(found.group(2)) < 65_536):
        return None
    return found.group(1), found.group(2)


def bracketed(host: str) -> str:
    """A host as it stands in a url: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def is_address(name: str) -> bool:
    """Whether a name is an address, which cannot be pointed elsewhere as a name can."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    name = host.strip("[]").lower()
    return name == "localhost" or (is_address(name) and ipaddress.ip_address(name).is_loopback)


def own_url(host: str, port: int, **query: str | None) -> str:
    """Where a viewer is reached."""
    wanted = urlencode({key: value for key, value in query.items() if value})
    return f"http://{bracketed(host)}:{port}/" + (f"?{wanted}" if wanted else "")
