"""
One guard over every request and every WebSocket: who may ask, from where, for what, and how much they may send.

A page on the web can make a browser talk to a port of this machine. So the Host has to be ours (else the name was
rebound), an Origin has to be ours (else the page is not), and a write has to prove that it is meant (our own Origin, or
the viewer's token). Any user of this machine can talk to its ports. So everything needs the token, except what comes
over loopback from the user who started the server. What is refused here has touched nothing.

Host names and addresses as they stand in urls and headers.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import re
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from agentdbg.server.http_answers import error_response
from agentdbg.server.peer_user import is_from_own_user

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "Policy", "bracketed", "is_address", "is_loopback", "on_this_machine", "own_url"]

LARGEST_BODY = 65_536
LARGEST_ANSWER = 4_000_000
HEADER = "x-agentdbg-token"

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_METHODS = _SAFE_METHODS | {"POST", "DELETE"}
_ANSWER = re.compile(r"/api/runs/[0-9a-f-]{36}/control", re.ASCII)
_ORIGIN = re.compile(r"(https?)://(.+)", re.ASCII)

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; "
    "connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS = [
    (b"content-security-policy", _CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


@dataclass(frozen=True)
class Policy:
    """Whom this server answers."""

    token: str
    allowed_hosts: frozenset[str] = frozenset()
    """Further host names, in lower case: SSH forwards, containers, Codespaces."""
    bound_host: str = "127.0.0.1"
    is_loopback: bool = field(init=False)
    service: str = "viewer"
    """What the server calls itself when it refuses."""
    entry_hint: str = "open the address that `agentdbg view` printed; it holds the token"
    largest_body: int = LARGEST_BODY
    takes_posts: bool = False
    """Whether programs of this machine may send without a token, as exporters do. A page of a browser may not."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_loopback", is_loopback(self.bound_host))

    def most_bytes(self, scope: Scope) -> int:
        """How much a request may send. The answer to a paused run holds a call's whole input or outcome."""
        is_answer = scope["type"] == "http" and _ANSWER.fullmatch(scope["path"]) is not None
        return LARGEST_ANSWER if is_answer else self.largest_body

    def refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Why this request is refused: status, code and sentence; None when it may pass."""
        headers = _Headers(scope)
        host = headers.only("host")
        parsed = parse_host(host)
        if parsed is None or not self._is_our_host(parsed[0]):
            message = (
                f"this {self.service} does not answer to that Host; start it with --allow-host if the name is yours"
            )
            return 403, "foreign_host", message
        origin = headers.only("origin")
        if origin is not None and not self._is_our_origin(origin, parsed):
            return 403, "foreign_origin", f"this {self.service} answers only its own page"
        if headers.count("origin") > 1 or _is_from_elsewhere(headers, scope):
            return 403, "foreign_origin", f"this {self.service} answers only its own page"
        needs_token = not (self.is_loopback and is_from_own_user(scope))
        if needs_token and not self._has_token(headers, scope):
            return 401, "token_needed", self.entry_hint
        return self._refusal_of_method(scope, origin, headers)

    def is_token(self, text: str | None) -> bool:
        """Whether `text` is the viewer's token."""
        return text is not None and hmac.compare_digest(text.encode(), self.token.encode())

    def cookie_name(self, scope: Scope) -> str:
        """The cookie that holds the token. Browsers share cookies between ports, so the port is part of its name."""
        host = parse_host(_Headers(scope).only("host"))
        return f"agentdbg_token_{host[1] or 80}" if host is not None else "agentdbg_token"

    def _refusal_of_method(self, scope: Scope, origin: str | None, headers: _Headers) -> tuple[int, str, str] | None:
        if scope["type"] == "websocket":
            return None
        method = scope["method"]
        if method not in _METHODS:
            return 405, "method_not_allowed", f"{method} is not answered here"
        is_meant = origin is not None or self.takes_posts or self.is_token(headers.only(HEADER))
        if method not in _SAFE_METHODS and not is_meant:
            return 403, "not_meant", "a change needs the viewer's own page, or its token in X-AgentDbg-Token"
        length = headers.only("content-length")
        if length is not None and (not length.isdigit() or int(length) > self.most_bytes(scope)):
            return 413, "body_too_large", f"a request has at most {self.most_bytes(scope)} bytes"
        return None

    def _is_our_host(self, name: str) -> bool:
        if name in self.allowed_hosts or name in _LOOPBACK_NAMES:
            return True
        # Bound beyond loopback everything needs the token, and an address cannot be rebound as a name can.
        return name == bracketed(self.bound_host) or (not self.is_loopback and is_address(name))

    def _is_our_origin(self, origin: str, host: tuple[str, str | None]) -> bool:
        found = _ORIGIN.fullmatch(origin.lower())
        parsed = parse_host(found.group(2)) if found else None
        if found is None or parsed is None:
            return False
        if parsed[0] in self.allowed_hosts:
            return True
        port = "443" if found.group(1) == "https" else "80"
        return parsed[0] == host[0] and (parsed[1] or port) == (host[1] or port)

    def _has_token(self, headers: _Headers, scope: Scope) -> bool:
        given = [headers.only(HEADER), *_query(scope).get("token", []), _cookie(headers, self.cookie_name(scope))]
        return any(self.is_token(text) for text in given)


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._policy.refusal(scope)
        if scope["type"] == "websocket":
            if refusal is not None:
                await receive()
                await send({"type": "websocket.close", "code": 1008})  # before accept: the server answers 403
                return
            await self._app(scope, receive, send)
            return
        send = _with_headers(send, is_api=scope["path"].startswith(("/api", "/ws")))
        if refusal is not None:
            await error_response(*refusal)(scope, receive, send)
            return
        entering = self._enter(scope)
        if entering is not None:
            await send({"type": "http.response.start", "status": 303, "headers": entering})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._serve(scope, _Bounded(receive, self._policy.most_bytes(scope)), send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; what nobody expected is told to the terminal and not to whoever asked."""
        has_started = False

        async def watched_send(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, watched_send)
        except Exception:
            if has_started:
                raise
            logging.getLogger("agentdbg.server").exception("%s %a failed", scope["method"], scope["path"])
            message = f"something went wrong; the {self._policy.service}'s terminal says what"
            answer = error_response(500, "internal_error", message)
            await answer(scope, receive, send)

    def _enter(self, scope: Scope) -> list[tuple[bytes, bytes]] | None:
        """A page opened with the token in its address gets it as a cookie, and an address without it."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        query = _query(scope)
        if "token" not in query:
            return None
        rest = urlencode([(key, value) for key, values in query.items() if key != "token" for value in values])
        headers = [(b"location", f"/?{rest}".encode() if rest else b"/"), (b"cache-control", b"no-store")]
        if any(self._policy.is_token(text) for text in query["token"]):  # our own user gets this far with a wrong one
            name = self._policy.cookie_name(scope)
            cookie = f"{name}={self._policy.token}; Path=/; HttpOnly; SameSite=Strict"
            headers.append((b"set-cookie", cookie.encode()))
        return headers


class BodyTooLarge(Exception):
    """More was sent than any request of ours needs."""


class _Bounded:
    """What a request without a Content-Length may send."""

    def __init__(self, receive: Receive, largest_body: int) -> None:
        self._receive = receive
        self._left = largest_body

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise BodyTooLarge
        return message


def _with_headers(send: Send, *, is_api: bool) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: list[tuple[bytes, bytes]] = [*message.get("headers", []), *_HEADERS]
            if is_api or message["status"] >= 400:
                headers = [(name, value) for name, value in headers if name != b"cache-control"]
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": headers}
        await send(message)

    return send_with_headers


class _Headers:
    """A request's headers by lower-case name; a header sent twice is no single value."""

    def __init__(self, scope: Scope) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def only(self, name: str) -> str | None:
        values = self._values.get(name, [])
        return values[0] if len(values) == 1 else None

    def count(self, name: str) -> int:
        return len(self._values.get(name, []))


def _is_from_elsewhere(headers: _Headers, scope: Scope) -> bool:
    """What browsers say of themselves; following a link to the page is fine, loading anything into another is not."""
    if headers.only("sec-fetch-site") not in ("cross-site", "same-site"):
        return False
    is_visit = headers.only("sec-fetch-mode") == "navigate" and headers.only("sec-fetch-dest") == "document"
    return not (is_visit and scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "GET")


def _query(scope: Scope) -> dict[str, list[str]]:
    try:
        return parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return {}


def _cookie(headers: _Headers, name: str) -> str | None:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.only("cookie") or "")
    except CookieError:
        return None
    return jar[name].value if name in jar else None


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


def on_this_machine(host: str) -> str:
    """Where this machine reaches a server that is bound to every address, or to `host`."""
    name = host.strip("[]")
    if not is_address(name) or not ipaddress.ip_address(name).is_unspecified:
        return host
    return "::1" if ":" in name else "127.0.0.1"


def own_url(host: str, port: int, **query: str | None) -> str:
    """Where a viewer is reached."""
    wanted = urlencode({key: value for key, value in query.items() if value})
    return f"http://{bracketed(host)}:{port}/" + (f"?{wanted}" if wanted else "")
