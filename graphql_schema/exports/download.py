"""Sends an export as it is read, never faster than the client takes it, and stops when there is nobody to send to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import structlog

from app.errors import AppError, Unavailable
from app.observability import metrics
from graphql_schema.exports.export import Row
from graphql_schema.exports.formats import Form
from graphql_schema.transport.body import ClientGone
from graphql_schema.transport.exchange import Exchange, Header
from graphql_schema.transport.sse import disconnected, stop

log = structlog.get_logger(__name__)
PIECE_ROWS = 250  # encoded at a stretch; other requests have their turn between two
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would gather the whole of it
]
_STOPPING = "The server stops. Go on elsewhere."


class Download:
    """The answer to one exchange. Nothing is sent before the first rows are there: until then it may be refused."""

    def __init__(self, exchange: Exchange, form: Form, headers: list[Header], closing: asyncio.Event) -> None:
        self._exchange = exchange
        self._form = form
        self._headers = [(b"content-type", form.content_type), *_HEADERS, *headers]
        self._closing = closing
        self._sent_to: str | None = None
        self._rows = metrics.EXPORTED_ROWS.labels(form.format.name.lower())

    async def run(self, stretches: AsyncIterator[list[Row]]) -> None:
        """Raises what stops the export before its first byte, ClientGone among it."""
        pump, gone = (
            asyncio.create_task(self._pump(stretches)),
            asyncio.create_task(disconnected(self._exchange.receive)),
        )
        ends: list[asyncio.Task[Any]] = [pump, gone, asyncio.create_task(self._closing.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            left = gone.done()
        finally:
            await stop(ends)
        error = Unavailable(_STOPPING) if pump.cancelled() else pump.exception()
        if left and self._exchange.status == 0:
            raise ClientGone
        if left:
            log.info("export left by its client", request_id=self._exchange.request_id.decode())
        elif error is None:
            await self._exchange.send({"type": "http.response.body", "body": b""})
        elif self._exchange.status == 0:
            raise error
        else:
            await self._break_off(error)

    async def _pump(self, stretches: AsyncIterator[list[Row]]) -> None:
        async with aclosing(stretches):  # type: ignore[type-var]
            async for rows in stretches:
                for at in range(0, len(rows), PIECE_ROWS):
                    await self._send(rows[at : at + PIECE_ROWS])
        if self._exchange.status == 0:
            await self._start()

    async def _send(self, rows: list[Row]) -> None:
        if self._exchange.status == 0:
            await self._start()
        await self._write(self._form.rows([body for _, body in rows]))
        self._sent_to = rows[-1][0]
        self._rows.inc(len(rows))
        await asyncio.sleep(0)

    async def _start(self) -> None:
        exchange = self._exchange
        exchange.status = 200
        headers = [*self._headers, *exchange.common_headers()]
        await exchange.send({"type": "http.response.start", "status": 200, "headers": headers})
        if self._form.head:
            await self._write(self._form.head)

    async def _write(self, chunk: bytes) -> None:
        await self._exchange.send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _break_off(self, error: BaseException) -> None:
        code = error.code if isinstance(error, AppError) else "INTERNAL"
        log.warning("export broken off", code=code, request_id=self._exchange.request_id.decode())
        last = self._form.failure(error, self._sent_to)
        if last is not None:
            await self._exchange.send({"type": "http.response.body", "body": last})
        # Else the response stays unfinished: the server cuts it, and no client can take it for the whole.
