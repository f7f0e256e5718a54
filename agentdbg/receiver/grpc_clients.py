"""
An exporter that speaks gRPC, told in its own language which variable to set.

Many SDKs send OTLP over gRPC unless told otherwise, and what they say of a server that answers with plain HTTP helps
nobody. Of HTTP/2 no more is spoken here than a refusal takes: settings, one answer of headers alone, and good-bye.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

__all__ = ["HINT", "telling"]

HINT = "agentdbg receive takes OTLP over HTTP, not gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_LARGEST_HELD = 1 << 17
_HEADERS, _SETTINGS, _GOAWAY = 1, 4, 7
_ACK = _END_STREAM = 1
_END_HEADERS = 4
_UNIMPLEMENTED = b"12"
_STATUS_200 = b"\x88"
"""As the static table of HPACK has it."""


def telling(protocol: type[Any], on_grpc: Callable[[], None]) -> type[Any]:
    """A protocol for uvicorn that answers gRPC itself; `on_grpc` is called for each connection that speaks it."""

    class Telling(protocol):  # type: ignore[misc] # a class that is only known here
        """Looks at the first bytes of each connection."""

        _begun: bytes | None = b""
        _refusal: _Refusal | None = None

        def data_received(self, data: bytes) -> None:
            if self._refusal is None and self._begun is not None:
                self._begun += data[: len(_PREFACE)]
                if self._begun.startswith(_PREFACE):
                    self._refusal = _Refusal()
                    on_grpc()
                self._begun = None
            if self._refusal is None:
                super().data_received(data)
            else:
                self._refusal.take(data, self.transport)

    return Telling


class _Refusal:
    """One connection of a gRPC client."""

    def __init__(self) -> None:
        self._held = b""
        self._is_greeted = False

    def take(self, data: bytes, transport: asyncio.Transport) -> None:
        """Read on until a call is asked for, answer that, and hang up."""
        self._held += data
        if not self._is_greeted:
            self._held = self._held[len(_PREFACE) :]
            self._is_greeted = True
            transport.write(_frame(_SETTINGS, 0, 0, b""))
        while len(self._held) >= 9:
            length = int.from_bytes(self._held[:3], "big")
            kind, flags, stream = self._held[3], self._held[4], int.from_bytes(self._held[5:9], "big") & 0x7FFFFFFF
            if len(self._held) < 9 + length:
                break
            self._held = self._held[9 + length :]
            if kind == _SETTINGS and not flags & _ACK:
                transport.write(_frame(_SETTINGS, _ACK, 0, b""))
            elif kind == _HEADERS:
                transport.write(_frame(_HEADERS, _END_STREAM | _END_HEADERS, stream, _answer()))
                transport.write(_frame(_GOAWAY, 0, 0, stream.to_bytes(4, "big") + bytes(4)))
                transport.close()
                return
        if len(self._held) > _LARGEST_HELD:
            transport.close()


def _answer() -> bytes:
    fields = {b"content-type": b"application/grpc", b"grpc-status": _UNIMPLEMENTED, b"grpc-message": HINT.encode()}
    return _STATUS_200 + b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields.items())


def _text(value: bytes) -> bytes:
    assert len(value) < 127  # a longer one would need a longer number before it
    return bytes([len(value)]) + value


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content
