"""The connections below the protocols: uvicorn's own, with a door to their transport.

ASGI's `send` waits while a client does not read, and gives no way to abort. Fan-out needs neither: frames are written
straight to the transport while it takes them, and whoever takes nothing for too long is aborted, WebSocket or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import structlog
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.config import Settings
from app.observability import metrics
from graphql_schema.transport.cork import CorkedProtocol
from graphql_schema.transport.doorway import Doorway

log = structlog.get_logger(__name__)
EXTENSION = "parley.socket"
PORTION_BYTES = 16_384
PORTION_PAUSE_S = 0.001
MAX_WAITING_MESSAGES = 100
MAX_UNREAD_BYTES = 1_048_576
MAX_HEAD_BYTES = 65_536
TOO_LARGE_HEAD = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
GOODBYE_S = 1.0  # how long a client may take to answer our close when the server stops


class DirectSocket:
    """Writes frames without waiting."""

    __slots__ = ("_protocol", "_transport")

    def __init__(self, protocol: SocketProtocol) -> None:
        self._protocol = protocol
        self._transport = protocol.transport

    @property
    def open(self) -> bool:
        protocol = self._protocol
        return not (protocol.close_sent or protocol.disconnected or self._transport.is_closing())

    @property
    def ready(self) -> bool:
        return self._protocol.writable.is_set() and self.open

    def write(self, *payloads: bytes) -> None:
        """A text frame each, unfragmented and unmasked, as servers send them, all in one write."""
        self._transport.write(
            b"".join([part for payload in payloads for part in (frame_header(len(payload)), payload)])
        )

    async def until_ready(self) -> None:
        """Returns when there is room, or when the connection is gone."""
        await self._protocol.writable.wait()

    def abort(self) -> None:
        self._transport.abort()

    def authenticated(self) -> None:
        """The client has shown a valid key."""
        self._protocol.doorway.authenticated(self._transport)

    def at_shutdown(self, leave: Callable[[], None]) -> None:
        """`leave` ends the connection when the server stops, in its own time."""
        self._protocol.leave = leave


def frame_header(length: int) -> bytes:
    if length < 126:
        return bytes((0x81, length))
    if length < 65_536:
        return b"\x81\x7e" + length.to_bytes(2)
    return b"\x81\x7f" + length.to_bytes(8)


if TYPE_CHECKING:
    _Watchable = asyncio.Protocol
else:
    _Watchable = object


class Watched(_Watchable):
    """Aborts a connection whose client takes nothing. A polite close would wait for ever behind the full buffer."""

    stalled_s = 30.0
    transport: asyncio.Transport
    _watch: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_watching()

    def connection_lost(self, error: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(error)

    def _look_again(self, waiting: int) -> None:
        self._watch = asyncio.get_running_loop().call_later(self.stalled_s, self._look, waiting)

    def _look(self, waited: int) -> None:
        waiting = self.transport.get_write_buffer_size()
        if waiting < waited:
            self._look_again(waiting)
            return
        metrics.SOCKETS_ABORTED.inc()
        log.info("connection aborted: its client takes nothing", after_s=self.stalled_s, waiting_bytes=waiting)
        self.transport.abort()

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None


class SocketProtocol(Watched, WebSocketsSansIOProtocol):
    """Given to uvicorn as its `ws` class. Takes over the transport that HttpProtocol brought through the doorway."""

    doorway: Doorway
    leave: Callable[[], None] | None = None
    _unread = b""

    def connection_lost(self, error: Exception | None) -> None:
        self.doorway.leave(self.transport)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """A read may bring thousands of small frames: they are taken in portions, between which others have a turn."""
        if self._unread or len(data) > PORTION_BYTES:
            waits = bool(self._unread)
            self._unread += data
            if len(self._unread) > MAX_UNREAD_BYTES:
                self.transport.pause_reading()
            if not waits:
                self._take_portion()
        else:
            super().data_received(data)

    def _take_portion(self) -> None:
        if self.transport.is_closing():
            self._unread = b""
            return
        if self.queue.qsize() < MAX_WAITING_MESSAGES:
            portion, self._unread = self._unread[:PORTION_BYTES], self._unread[PORTION_BYTES:]
            super().data_received(portion)
        if self._unread:
            self.loop.call_later(PORTION_PAUSE_S, self._take_portion)
        elif not self.read_paused:
            self.transport.resume_reading()

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # the application starts in the loop's next turn
            self.scope["extensions"][EXTENSION] = DirectSocket(self)  # type: ignore[assignment]

    def shutdown(self) -> None:
        if self.leave is None or self.close_sent or self.disconnected:
            super().shutdown()
            return
        self.stop_keepalive()
        self.close_timeout = GOODBYE_S
        self.leave()


class HttpProtocol(Watched, CorkedProtocol):
    """Given to uvicorn as its `http` class. `due`: until when the next part of a request must arrive."""

    doorway: Doorway
    due: float | None = None
    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._expect()
        self.doorway.enter(self, self.client[0] if self.client else None)

    def connection_lost(self, error: Exception | None) -> None:
        self.doorway.leave(self.transport)
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(TOO_LARGE_HEAD)
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._expect()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._in_head = False
        self.scope["extensions"] = {EXTENSION: self}  # type: ignore[dict-item]
        # A pipelined request is not read before the one in front of it is answered.
        if self.pipeline:
            self.due = None
        else:
            self._expect()

    def on_body(self, body: bytes) -> None:
        self.due = None
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.due = None
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self.due = None
        super().handle_websocket_upgrade()

    def authenticated(self) -> None:
        """A request on this connection has shown a valid key."""
        self.doorway.authenticated(self.transport)

    def _expect(self) -> None:
        self.due = self.loop.time() + self.doorway.deadline_s


def protocols(settings: Settings) -> tuple[type[HttpProtocol], type[SocketProtocol]]:
    """uvicorn's `http` and `ws` classes for these settings."""
    members = {"stalled_s": settings.stalled_socket_s, "doorway": Doorway(settings)}
    return type("HttpProtocol", (HttpProtocol,), members), type("SocketProtocol", (SocketProtocol,), members)


def socket_of(scope: Any) -> DirectSocket:
    found: DirectSocket | None = (scope.get("extensions") or {}).get(EXTENSION)
    if found is None:
        raise RuntimeError("Parley's WebSockets need uvicorn with ws=SocketProtocol; start it with `parley serve`.")
    return found


__all__ = ["DirectSocket", "HttpProtocol", "SocketProtocol", "frame_header", "protocols", "socket_of"]
