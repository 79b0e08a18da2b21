"""Reads a request's body, never more of it than is allowed, and notices when there is nobody left to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from app.config import environment_name
from graphql_schema.transport.refusals import HttpRefusal
from graphql_schema.transport.sse import Message, Receive, disconnected

TIMEOUT_S = 30.0
T = TypeVar("T")


class ClientGone(Exception):
    """The client left before it had sent its request, or had its answer."""


async def read_body(receive: Receive, announced: bytes | None, most: int) -> bytes:
    """Raises HttpRefusal when the body is too large or too slow, ClientGone when it never comes."""
    if announced is not None and announced.isdigit() and int(announced[:20]) > most:
        raise _too_large(most)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > most:
            raise _too_large(most)
        return body
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await _read_rest(receive, message, most)
    except TimeoutError:
        raise HttpRefusal(408, "REQUEST_TIMEOUT", f"The body did not arrive within {TIMEOUT_S:.0f} seconds.") from None


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What the work answers; when the client leaves first the work is cancelled and ClientGone raised."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(disconnected(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait((working, leaving))


async def _read_rest(receive: Receive, message: Message, most: int) -> bytes:
    chunks, size = [], 0
    while message["type"] == "http.request":
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)
        message = await receive()
    raise ClientGone


def _too_large(most: int) -> HttpRefusal:
    message = f"The body is larger than the {most} bytes that are allowed ({environment_name('max_body_bytes')})."
    return HttpRefusal(413, "BODY_TOO_LARGE", message)
