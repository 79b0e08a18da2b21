"""The WebSocket below the protocol: uvicorn's own, with a door to its transport.

ASGI's `send` waits while a client does not read, and gives no way to abort. Fan-out needs neither: frames are written
straight to the transport while it takes them, and a client that takes nothing is aborted.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

EXTENSION = "parley.socket"


class DirectSocket:
    """Writes frames without waiting."""

    __slots__ = ("_protocol", "_transport")

    def __init__(self, protocol: WebSocketsSansIOProtocol) -> None:
        self._protocol = protocol
        self._transport = protocol.transport

    @property
    def open(self) -> bool:
        protocol = self._protocol
        return not (protocol.close_sent or protocol.disconnected or self._transport.is_closing())

    @property
    def ready(self) -> bool:
        return self._protocol.writable.is_set() and self.open

    def write(self, payload: bytes) -> None:
        """One text frame, unfragmented and unmasked, as servers send them."""
        self._transport.write(frame_header(len(payload)) + payload)

    async def until_ready(self) -> None:
        await self._protocol.writable.wait()

    def abort(self) -> None:
        self._transport.abort()


def frame_header(length: int) -> bytes:
    if length < 126:
        return bytes((0x81, length))
    if length < 65_536:
        return b"\x81\x7e" + length.to_bytes(2)
    return b"\x81\x7f" + length.to_bytes(8)


class SocketProtocol(WebSocketsSansIOProtocol):
    """Given to uvicorn as its `ws` class."""

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # the application starts in the loop's next turn
            self.scope["extensions"][EXTENSION] = DirectSocket(self)  # type: ignore[index]


def socket_of(scope: Any) -> DirectSocket:
    found: DirectSocket | None = (scope.get("extensions") or {}).get(EXTENSION)
    if found is None:
        raise RuntimeError("Parley's WebSockets need uvicorn with ws=SocketProtocol; start it with `parley serve`.")
    return found


__all__ = ["DirectSocket", "SocketProtocol", "frame_header", "socket_of"]
