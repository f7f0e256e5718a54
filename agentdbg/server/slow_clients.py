"""
Limits for slow clients: header and body timeouts, idle connections.

Whoever opens a connection and does not send, or sends half a request, holds a place. Such a connection is closed after
a while; and when there are too many, a new one takes the place of the one that has been silent the longest, so that
nobody is locked out by them. Connections that are kept open between two requests give way likewise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from agentdbg.server.peer_user import Peer

__all__ = ["BODY_SECONDS", "HEAD_SECONDS", "MOST_CONNECTIONS", "MOST_SILENT", "patient_protocol"]

if TYPE_CHECKING:
    import asyncio

    _Protocol = Any  # which of uvicorn's two it is depends on what is installed
else:
    _Protocol = AutoHTTPProtocol


HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
MOST_CONNECTIONS = 500
"""Beyond it requests are answered with 503."""
MOST_SILENT = 300
"""Connections without a whole request, of all; the others remain for those that have one."""
_LATE = f"the body did not come within {BODY_SECONDS:.0f} seconds".encode()
_TOO_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_LATE), _LATE)
)


def patient_protocol() -> type[asyncio.Protocol]:
    """The protocol of one server, to be given to uvicorn."""

    class Patient(_PatientProtocol):
        silent: dict[_PatientProtocol, None] = {}  # noqa: RUF012 -- shared by the connections of this server

    return Patient


class _PatientProtocol(_Protocol):  # type: ignore[misc]
    """uvicorn's protocol, and a clock."""

    silent: dict[_PatientProtocol, None]
    """Connections without a whole request, the one that has been silent longest first."""
    app_state: dict[str, Any]
    _clock: asyncio.TimerHandle | None = None
    _patience_s = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        # Requests and WebSockets of this connection get a copy of the state, and so one answer to who opened it.
        self.app_state = {**self.app_state, **Peer(transport).as_state()}
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # and perhaps goes on with the next request, if that is here already
        self.leave_silent()
        if not self._is_asked() and not self.transport.is_closing():
            self._fall_silent()  # until the next request, for as long as uvicorn waits for that

    def handle_websocket_upgrade(self, *event: Any) -> None:
        self.leave_silent()
        super().handle_websocket_upgrade(*event)

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave_silent()
        super().connection_lost(exc)

    def _look(self) -> None:
        """What is here of a request, and so what is waited for."""
        has_body_due = self._is_asked() and self.cycle.more_body
        is_served = self._is_asked() and not has_body_due
        if is_served or self.transport.is_closing() or self.transport.get_protocol() is not self:
            self.leave_silent()
            return
        self._fall_silent()
        patience_s = BODY_SECONDS if has_body_due else HEAD_SECONDS
        if self._clock is None or patience_s != self._patience_s:
            self._wait(patience_s)

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _fall_silent(self) -> None:
        self.silent.setdefault(self)
        if len(self.silent) > MOST_SILENT:
            oldest = next(iter(self.silent))
            oldest.leave_silent()
            oldest.transport.close()

    def leave_silent(self) -> None:
        """No longer among those that are waited for."""
        self.silent.pop(self, None)
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _wait(self, seconds: float) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._patience_s = seconds
        self._clock = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._clock = None
        has_body_due = self._is_asked() and self.cycle.more_body
        if has_body_due and self.flow.read_paused:  # it is we who do not read
            self._wait(BODY_SECONDS)
            return
        if has_body_due and not self.cycle.response_started:
            self.transport.write(_TOO_LATE)
        self.transport.close()
