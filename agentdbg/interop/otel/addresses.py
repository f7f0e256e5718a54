"""
Where spans go and which headers they get: what a person typed, checked, and never repeated where it may be secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Collector", "collector_at", "read_headers"]

_PATH = "/v1/traces"
_AS_IT_IS = "/%?:@!$&'()*+,;=~"
"""What may stand in an address; other characters go as their codes, as in a browser."""
_OURS = frozenset({"content-type", "content-encoding", "content-length", "host", "transfer-encoding", "user-agent"})


class Collector(NamedTuple):
    """Where spans go. `shown` is the address without what may be secret in it."""

    scheme: str
    host: str
    port: int
    path: str
    shown: str

    @property
    def secrets(self) -> list[str]:
        """What may be secret in the address: the values after its question mark."""
        return [value for _, value in parse_qsl(self.path.partition("?")[2])]


def collector_at(url: str) -> Collector:
    """The collector at an address; `/v1/traces` is added where it is missing, as OpenTelemetry does."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")
    except ValueError:
        raise UsageError("the address after --otlp cannot be read; it looks like http://localhost:4318") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("--otlp takes an http or https address, like http://localhost:4318")
    if parts.username is not None or parts.password is not None:
        raise UsageError("--otlp takes no name and password; give them as --header 'authorization=Basic …'")
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    if port == 0:
        raise UsageError("--otlp names port 0, where nobody can listen; it looks like http://localhost:4318")
    if any(ord(character) <= 32 or ord(character) == 127 for character in url.strip()):
        raise UsageError(
            "the address after --otlp has a space or a control character in it; it looks like http://localhost:4318"
        )
    path = quote(parts.path.rstrip("/"), safe=_AS_IT_IS)
    path = path if path.endswith(_PATH) else path + _PATH
    query = f"?{quote(parts.query, safe=_AS_IT_IS)}" if parts.query else ""
    shown_host = f"[{host}]" if ":" in host else host
    return Collector(parts.scheme, host, port, path + query, f"{parts.scheme}://{shown_host}:{port}{path}")


def read_headers(given: Sequence[str]) -> dict[str, str]:
    """`name=value` or `name: value` as headers; what is wrong is said without the value."""
    headers: dict[str, str] = {}
    for number, text in enumerate(given, 1):
        at = min((place for place in (text.find("="), text.find(":")) if place > 0), default=-1)
        name, value = text[:at].strip().lower(), text[at + 1 :].strip()
        if at < 0 or not name.isascii() or not all(character.isalnum() or character in "-_." for character in name):
            raise UsageError(f"header {number} is not name=value, like --header 'authorization=Bearer …'")
        if not value.isprintable() or not value.isascii():
            raise UsageError(f"the value of the header {name} has characters in it that no header may have")
        if name in _OURS:
            raise UsageError(f"the header {name} is set by the push itself")
        headers[name] = value
    return headers
