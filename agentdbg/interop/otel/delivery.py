"""
Where spans go and which headers they get: what a person typed, checked, and never repeated where it may be secret.

Bring batches of spans to a collector over HTTP, patiently.

A collector that is busy is asked again, after the time it names or after ever longer pauses; one that was there and is
gone for a moment too. One that cannot be reached at all, or that refuses, is an error with its reason. Redirects are
not followed: the headers are for one address. Headers are never part of a message, even where a collector repeats them.
"""

from __future__ import annotations

import gzip
import http.client
import random
import socket
import ssl
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from agentdbg.events import REDACTED
from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Collector", "Delivery", "TooLarge", "collector_at", "read_headers"]

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


_TRY_AGAIN = frozenset({429, 502, 503, 504})
_ATTEMPTS = 7
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
_TIMEOUT_S = 30.0
_LARGEST_ANSWER = 1 << 20
_SHORTEST_SECRET = 4
_IS_IT_OTLP = "is this the address that takes OTLP over HTTP? Port 4317 is for gRPC, 4318 for HTTP"
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (ConnectionRefusedError, "nobody listens there"),
    (socket.gaierror, "there is no such host"),
    (ssl.SSLError, "its certificate or its encryption was not accepted"),
    (TimeoutError, f"it did not answer within {_TIMEOUT_S:.0f} s"),
    (ConnectionError, "it closed the connection without an answer"),
    (http.client.HTTPException, "what answers there is not HTTP; port 4317 is for gRPC, 4318 for HTTP"),
)


class Undelivered(AgentDbgError):
    """The collector could not be reached, or did not take the spans."""

    code = "undelivered"


class TooLarge(Undelivered):
    """The collector takes smaller requests only."""


class Delivery:
    """One connection to a collector, opened when the first batch goes."""

    def __init__(
        self, collector: Collector, headers: Mapping[str, str], *, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._collector = collector
        self._headers = {
            **headers,
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "gzip",
            "User-Agent": f"agentdbg/{__version__}",
        }
        # The whole value, and the part of it after a word like Bearer.
        values = [part for value in headers.values() for part in (value, value.rpartition(" ")[2])]
        self._secrets = [value for value in (*values, *collector.secrets) if len(value) >= _SHORTEST_SECRET]
        self._pause = pause
        self._connection: http.client.HTTPConnection | None = None
        self._was_reached = False

    def send(self, body: bytes) -> bytes:
        """Deliver one request and give the collector's answer; raises when all patience was in vain."""
        packed = gzip.compress(body, 5, mtime=0)
        attempt = 0
        while True:
            attempt += 1
            try:
                status, answer, wait_s, is_page = self._post(packed)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, ssl.SSLError) or not self._was_reached or attempt >= _ATTEMPTS:
                    raise Undelivered(self._unreachable(error)) from error
                wait_s = None
            else:
                self._was_reached = True
                if 200 <= status < 300 and not is_page:
                    return answer
                if is_page and status < 300:
                    raise Undelivered(f"{self._collector.shown} is a web page and not a collector; {_IS_IT_OTLP}")
                if status not in _TRY_AGAIN or attempt >= _ATTEMPTS:
                    raise self._refusal(status, answer)
            self._pause(_pause_s(attempt) if wait_s is None else min(wait_s, _LONGEST_PAUSE_S))

    def without_secrets(self, said: str) -> str:
        """What a collector said, without the headers it may have repeated."""
        for secret in self._secrets:
            said = said.replace(secret, REDACTED)
        return said

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, packed: bytes) -> tuple[int, bytes, float | None, bool]:
        """The status, the answer, how long to wait before asking again, and whether the answer is a page for people."""
        connection = self._connection or self._connect()
        self._connection = connection
        try:
            connection.request("POST", self._collector.path, packed, self._headers)
            response = connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # A collector may close a connection that was idle; that is no failure of it.
            if not self._was_reached:
                raise
            connection.close()
            self._connection = connection = self._connect()
            connection.request("POST", self._collector.path, packed, self._headers)
            response = connection.getresponse()
        answer = response.read(_LARGEST_ANSWER)
        if response.will_close or not response.isclosed():
            self.close()
        is_page = response.headers.get_content_type() == "text/html"
        return response.status, answer, _retry_after_s(response.headers.get("Retry-After")), is_page

    def _connect(self) -> http.client.HTTPConnection:
        to = self._collector
        if to.scheme == "https":
            return http.client.HTTPSConnection(to.host, to.port, timeout=_TIMEOUT_S)
        return http.client.HTTPConnection(to.host, to.port, timeout=_TIMEOUT_S)

    def _unreachable(self, error: Exception) -> str:
        why = next((said for kind, said in _REASONS if isinstance(error, kind)), None)
        if why is None:
            why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        return (
            f"no collector at {self._collector.shown}: {why}; "
            "nothing is lost, the same command goes on where this one stopped"
        )

    def _refusal(self, status: int, answer: bytes) -> Undelivered:
        shown = self._collector.shown
        if status == 413:
            return TooLarge(f"{shown} takes only smaller requests (413)")
        hint = {
            401: "; it wants to know who asks: give --header",
            403: "; the headers do not open it",
            404: f"; {_IS_IT_OTLP}",
            405: f"; {_IS_IT_OTLP}",
            415: "; it does not take protobuf",
        }.get(status, "; it names another address, which is not followed" if 300 <= status < 400 else "")
        said = _words(self.without_secrets(answer.decode("utf-8", "replace")))
        return Undelivered(f"{shown} answered {status}{f' ({said})' if said else ''}{hint}")


def _pause_s(attempt: int) -> float:
    """Ever longer, and never the same for everybody."""
    longest: float = min(_FIRST_PAUSE_S * 2 ** (attempt - 1), _LONGEST_PAUSE_S)
    return longest * (0.5 + random.SystemRandom().random() / 2)  # spreads load


def _retry_after_s(value: Any) -> float | None:
    """Seconds, or a date."""
    if not isinstance(value, str):
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _words(answer: str) -> str:
    """What a collector says in its answer, as far as it is words."""
    text = "".join(found if found.isprintable() else " " for found in answer[:400])
    words = " ".join(text.replace("\ufffd", " ").split())
    return words[:200] if any(found.isalpha() for found in words) and not words.startswith("<") else ""
