"""One HTTP request and its response: what was sent, what became known of it, and how it is answered."""

from __future__ import annotations

import time
from typing import Any

from app.auth.principal import Principal
from app.observability.request_id import request_id
from graphql_schema.answer import Answer, Operation
from graphql_schema.transport import sse
from graphql_schema.transport.negotiation import Media
from graphql_schema.transport.rate_limit import RateLimiter, RateState
from graphql_schema.transport.rate_limit import header as rate_header
from graphql_schema.transport.refusals import DOCUMENT_STATUS, LIMIT_STATUS

Header = tuple[bytes, bytes]
_CONTENT_TYPES = {
    Media.JSON: (b"content-type", b"application/json; charset=utf-8"),
    Media.GRAPHQL: (b"content-type", b"application/graphql-response+json; charset=utf-8"),
}
_NOT_KEPT = (b"cache-control", b"no-store")
_CHALLENGE = (b"www-authenticate", b'Bearer realm="parley"')


class Exchange:
    __slots__ = (
        "accept", "authorization", "content_length", "content_type", "limiter", "media", "method", "operation",
        "principal", "rate", "receive", "request_id", "scope", "send", "started", "status",
    )  # fmt: skip

    def __init__(self, scope: Any, receive: sse.Receive, send: sse.Send, limiter: RateLimiter) -> None:
        self.started = time.perf_counter()
        self.scope, self.receive, self.send, self.limiter = scope, receive, send, limiter
        self.method: str = scope["method"]
        self.media = Media.JSON
        self.principal: Principal | None = None
        self.operation: Operation | None = None
        self.rate: RateState | None = None
        self.status = 0
        self.accept: bytes | None = None
        self.authorization: bytes | None = None
        self.content_type: bytes | None = None
        self.content_length: bytes | None = None
        self._read_headers()

    def _read_headers(self) -> None:
        offered = None
        for name, value in self.scope["headers"]:
            if name == b"accept":
                # A header sent twice means its values in a row.
                self.accept = value if self.accept is None else self.accept + b"," + value
            elif name == b"authorization":
                self.authorization = value
            elif name == b"content-type":
                self.content_type = value
            elif name == b"content-length":
                self.content_length = value
            elif name == b"x-request-id":
                offered = value
        self.request_id = request_id(offered)

    @property
    def address(self) -> str:
        client = self.scope.get("client")
        return client[0] if client else "unknown"

    async def answer(self, answer: Answer, *, status: int | None = None, headers: list[Header] | None = None) -> None:
        """Send an answer. `status` overrides what the answer and the accepted media type would make of it."""
        self.status = status or self._status(answer)
        more = [*(headers or ()), *self._headers(answer)]
        if self.media is Media.EVENTS and self.status in (200, DOCUMENT_STATUS, LIMIT_STATUS):
            self.status = 200
            await sse.once(self.send, more, answer.body)
            return
        kind = _CONTENT_TYPES.get(self.media) or _CONTENT_TYPES[Media.JSON]
        length = (b"content-length", b"%d" % len(answer.body))
        start = {"type": "http.response.start", "status": self.status, "headers": [kind, length, _NOT_KEPT, *more]}
        await self.send(start)
        await self.send({"type": "http.response.body", "body": answer.body})

    def _status(self, answer: Answer) -> int:
        if not answer.refused:
            return answer.status or 200
        if answer.status == DOCUMENT_STATUS and self.media is Media.JSON:
            return 200  # the specification's concession to clients that know only application/json
        return answer.status or DOCUMENT_STATUS

    def _headers(self, answer: Answer) -> list[Header]:
        headers = self.common_headers()
        if answer.retry_after_s is not None:
            headers.append((b"retry-after", b"%d" % answer.retry_after_s))
        if self.status == 401:
            headers.append(_CHALLENGE)
        return headers

    def common_headers(self) -> list[Header]:
        headers = [(b"x-request-id", self.request_id)]
        if self.principal is not None:
            rate = self.rate or self.limiter.state(self.principal.key_id)
            headers += ((b"ratelimit-policy", self.limiter.policy), (b"ratelimit", rate_header(rate)))
        return headers

    async def text(self, status: int, message: str, headers: list[Header] | None = None) -> None:
        """A plain answer to a person or to a client that speaks HTTP but not GraphQL."""
        self.status = status
        body = message.encode()
        kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
        start = {
            "type": "http.response.start",
            "status": status,
            "headers": [*kind, *(headers or ()), *self.common_headers()],
        }
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})
