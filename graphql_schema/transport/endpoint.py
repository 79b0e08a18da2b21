"""What every endpoint over HTTP does around its own work: who asks, refusals as answers, bugs masked, one record."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

from app.config import Settings
from app.errors import AppError
from app.observability import metrics
from app.observability.access_log import AccessLog
from graphql_schema.answer import refusal
from graphql_schema.errors import masked
from graphql_schema.transport.authentication import Authenticator, public_part
from graphql_schema.transport.body import ClientGone, read_body
from graphql_schema.transport.exchange import Exchange
from graphql_schema.transport.intake import Intake
from graphql_schema.transport.negotiation import Media, is_json
from graphql_schema.transport.rate_limit import RateLimiter
from graphql_schema.transport.refusals import HttpRefusal, Refused, from_app_error
from graphql_schema.transport.request import GraphQLRequest, from_body, from_query_string
from graphql_schema.transport.socket import EXTENSION
from graphql_schema.transport.sse import Message, Receive, Send

_NO_EXTENSIONS: dict[str, Any] = {}


class Endpoint(ABC):
    """Plain ASGI."""

    def __init__(self, intake: Intake, authenticator: Authenticator, limiter: RateLimiter, settings: Settings) -> None:
        self._intake = intake
        self._authenticator = authenticator
        self._limiter = limiter
        self._most_bytes = settings.max_body_bytes
        self._access_log = AccessLog(settings)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, self._limiter)
        try:
            await self._serve(exchange)
        except Refused as refused:
            await exchange.answer(refused.answer)
        except HttpRefusal as error:
            await exchange.answer(from_app_error(error), status=error.status, headers=error.headers)
        except AppError as error:
            await exchange.answer(from_app_error(error))
        except ClientGone:
            return
        except Exception as error:
            await self._failed(exchange, error)
        self._record(exchange)

    @abstractmethod
    async def _serve(self, exchange: Exchange) -> None:
        """Answers the exchange, or raises before it has begun to."""

    async def _posted(self, exchange: Exchange) -> GraphQLRequest:
        if not is_json(exchange.content_type):
            raise HttpRefusal(
                415, "UNSUPPORTED_MEDIA_TYPE", "Send the body as `Content-Type: application/json`, in UTF-8."
            )
        await self._authenticate(exchange)
        return from_body(await read_body(exchange.receive, exchange.content_length, self._most_bytes))

    async def _named_by_url(self, exchange: Exchange) -> GraphQLRequest:
        await self._authenticate(exchange)
        return from_query_string(exchange.scope["query_string"])

    async def _authenticate(self, exchange: Exchange) -> None:
        header = exchange.authorization.decode("latin-1") if exchange.authorization is not None else None
        known = self._authenticator.known(header) if header is not None else None
        exchange.principal = known or await self._authenticator.principal(header, exchange.address)
        if connection := exchange.scope.get("extensions", _NO_EXTENSIONS).get(EXTENSION):
            connection.authenticated()

    async def _failed(self, exchange: Exchange, error: Exception) -> None:
        message, extensions = masked(error)
        if exchange.status == 0:
            await exchange.answer(refusal(message, status=500, **extensions))

    def _transport(self, exchange: Exchange) -> str:
        return "sse" if exchange.media is Media.EVENTS else "http"

    def _streamed(self, exchange: Exchange, kind: str) -> bool:
        """How long a stream was watched says nothing of how fast we are."""
        return kind == "subscription" and exchange.status == 200

    def _record(self, exchange: Exchange) -> None:
        seconds = time.perf_counter() - exchange.started
        operation, principal = exchange.operation, exchange.principal
        kind = operation.type.value if operation else "none"
        measured = None if self._streamed(exchange, kind) else seconds
        metrics.record(self._transport(exchange), kind, _outcome(exchange.status), measured)
        if self._access_log.on:
            self._access_log.write(
                exchange.request_id.decode(),
                exchange.status,
                seconds,
                method=exchange.method,
                path=exchange.scope["path"],
                operation=operation.name if operation else None,
                kind=kind,
                role=principal.role if principal else None,
                key=public_part(principal.secret) if principal else None,
            )


def _outcome(status: int) -> str:
    return "ok" if status < 400 else "refused" if status < 500 else "failed"
