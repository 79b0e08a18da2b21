"""Server-sent events in graphql-sse's mode of distinct connections: one stream for one operation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any

import structlog

from app.errors import AppError, Unavailable
from graphql_schema.transport.refusals import from_app_error

log = structlog.get_logger(__name__)
KEEP_ALIVE_S = 15.0
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would hold events back
]
_COMMENT = b":\n\n"
_COMPLETE = b"event: complete\ndata:\n\n"
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]


def event(payload: bytes) -> bytes:
    """One result. JSON holds no raw line break, so that one `data:` line is enough."""
    return b"event: next\ndata: %b\n\n" % payload


async def once(send: Send, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """The stream of a query, a mutation or a refusal: one result and the end."""
    await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})
    await send({"type": "http.response.body", "body": event(body) + _COMPLETE})


class EventStream:
    """Sends a subscription's payloads until it completes, the client leaves or the server closes."""

    def __init__(
        self, send: Send, receive: Receive, closing: asyncio.Event, *, keep_alive_s: float = KEEP_ALIVE_S
    ) -> None:
        self._send = send
        self._receive = receive
        self._closing = closing
        self._keep_alive_s = keep_alive_s
        self._sent_at = 0.0

    async def run(self, headers: list[tuple[bytes, bytes]], payloads: AsyncIterator[bytes]) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]})
        await self._write(_COMMENT)  # so that the client knows at once that the stream is open
        pump = asyncio.create_task(self._pump(payloads))
        ends: list[asyncio.Task[Any]] = [
            pump,
            asyncio.create_task(disconnected(self._receive)),
            asyncio.create_task(self._closing.wait()),
        ]
        try:
            while not (await asyncio.wait(ends, timeout=self._keep_alive_s, return_when=asyncio.FIRST_COMPLETED))[0]:
                if time.monotonic() - self._sent_at >= self._keep_alive_s:
                    await self._write(_COMMENT)
        finally:
            await stop(ends)
        await self._end(completed=not pump.cancelled() and pump.result())

    async def _pump(self, payloads: AsyncIterator[bytes]) -> bool:
        """Whether the stream came to its end; False when the client had better come back."""
        try:
            async with aclosing(payloads):  # type: ignore[type-var]
                async for payload in payloads:
                    await self._write(event(payload))
        except Unavailable:
            return False
        except AppError as error:
            await self._write(event(from_app_error(error).body))
        except Exception:
            log.exception("event stream failed")
            return False
        return True

    async def _write(self, chunk: bytes) -> None:
        self._sent_at = time.monotonic()
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _end(self, *, completed: bool) -> None:
        # Without `complete` a client takes the end for a broken connection and comes back: right after a deploy or a
        # failure, wrong when there is nothing more to come.
        await self._send({"type": "http.response.body", "body": _COMPLETE if completed else b""})


async def disconnected(receive: Receive) -> None:
    """Returns when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def stop(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
