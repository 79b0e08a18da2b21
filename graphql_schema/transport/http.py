"""GraphQL over HTTP at /graphql: plain ASGI, because every object that is not made on the way is time saved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog
from graphql import OperationType

from app.auth.principal import Principal
from app.config import Settings, environment_name
from app.observability import metrics
from graphql_schema.answer import Answer, Operation, refusal
from graphql_schema.context import Left, never
from graphql_schema.transport.authentication import Authenticator
from graphql_schema.transport.body import unless_gone
from graphql_schema.transport.connections import OpenConnections
from graphql_schema.transport.deadlines import Deadlines
from graphql_schema.transport.endpoint import Endpoint
from graphql_schema.transport.exchange import Exchange
from graphql_schema.transport.intake import Executor, Intake
from graphql_schema.transport.negotiation import NOT_ACCEPTABLE, Media, negotiate
from graphql_schema.transport.rate_limit import RateLimiter
from graphql_schema.transport.refusals import HttpRefusal
from graphql_schema.transport.request import GraphQLRequest, names_operation
from graphql_schema.transport.sse import EventStream, Receive, Send, disconnected

log = structlog.get_logger(__name__)
WATCHED_POINTS = 1_000  # for less, waiting for a client to leave costs more than it can save
ASGIApp = Callable[[Any, Receive, Send], Awaitable[None]]
_TIMEOUT_SETTING = environment_name("operation_timeout_s")
_ALLOW = (b"allow", b"GET, HEAD, POST, OPTIONS")
_POST_ONLY = (b"allow", b"POST")
_NO_PAGE = (
    "This is Parley's GraphQL endpoint. Send it a POST with a JSON body and `Authorization: Bearer parley_…`.\n"
    "GraphiQL is off here; PARLEY_GRAPHIQL=true turns it on.\n"
)
_NO_STREAM = (
    "A subscription cannot be answered by one JSON document. Use a WebSocket (graphql-transport-ws) at this address, "
    "or accept text/event-stream."
)


class GraphQLEndpoint(Endpoint):
    """The endpoint without its WebSocket. `closing` ends all streams; without `graphiql` browsers are refused."""

    def __init__(
        self,
        executor: Executor,
        intake: Intake,
        authenticator: Authenticator,
        limiter: RateLimiter,
        connections: OpenConnections,
        settings: Settings,
        *,
        closing: asyncio.Event,
        graphiql: ASGIApp | None = None,
    ) -> None:
        super().__init__(intake, authenticator, limiter, settings)
        self._executor = executor
        self._connections = connections
        self._closing = closing
        self._graphiql = graphiql
        self._timeout_s = settings.operation_timeout_s
        self._deadlines = Deadlines(settings.operation_timeout_s)

    async def _serve(self, exchange: Exchange) -> None:
        request = await _READERS.get(exchange.method, GraphQLEndpoint._unknown_method)(self, exchange)
        if request is None:
            return
        assert exchange.principal is not None
        exchange.operation = operation = await self._intake.operation(request, exchange.principal)
        _refuse_misplaced(operation, exchange)
        exchange.rate = await self._intake.charge(operation, exchange.principal)
        if operation.type is OperationType.SUBSCRIPTION:
            await self._stream(exchange, operation, exchange.principal)
        else:
            await exchange.answer(await self._executed(exchange, operation, exchange.principal))

    async def _post(self, exchange: Exchange) -> GraphQLRequest | None:
        self._negotiate(exchange)
        return await self._posted(exchange)

    async def _get(self, exchange: Exchange) -> GraphQLRequest | None:
        if not names_operation(exchange.scope["query_string"]) and negotiate(exchange.accept, page=True) is Media.HTML:
            await self._page(exchange)
            return None
        self._negotiate(exchange)
        return await self._named_by_url(exchange)

    async def _options(self, exchange: Exchange) -> GraphQLRequest | None:
        await exchange.text(204, "", [_ALLOW])
        return None

    async def _unknown_method(self, exchange: Exchange) -> GraphQLRequest | None:
        raise HttpRefusal(
            405, "METHOD_NOT_ALLOWED", f"{exchange.method} is not supported. Use POST, or GET for queries.", [_ALLOW]
        )

    async def _page(self, exchange: Exchange) -> None:
        if self._graphiql is None:
            await exchange.text(406, _NO_PAGE)
        else:
            exchange.status = 200
            await self._graphiql(exchange.scope, exchange.receive, exchange.send)

    def _negotiate(self, exchange: Exchange) -> None:
        media = negotiate(exchange.accept)
        if media is None:
            raise HttpRefusal(406, "NOT_ACCEPTABLE", NOT_ACCEPTABLE)
        exchange.media = media

    async def _executed(self, exchange: Exchange, operation: Operation, principal: Principal) -> Answer:
        """What costs much and changes nothing is stopped when the client leaves; raises ClientGone then. A mutation
        asks by itself."""
        if operation.type is OperationType.MUTATION:
            return await self._execute(operation, principal, partial(disconnected, exchange.receive))
        work = self._execute(operation, principal)
        if self._executor.cost(operation, principal) < WATCHED_POINTS:
            return await work
        return await unless_gone(exchange.receive, work)

    async def _execute(self, operation: Operation, principal: Principal, left: Left = never) -> Answer:
        try:
            answer = await self._deadlines.keep(self._executor.execute(operation, principal, left))
        except TimeoutError:
            return self._timed_out(operation)
        if answer.status == 401:
            self._authenticator.forget(principal)
        return answer

    def _timed_out(self, operation: Operation) -> Answer:
        metrics.REFUSALS.labels("TIMEOUT").inc()
        log.warning("operation timed out", operation=operation.name, after_s=self._timeout_s)
        advice = "Ask for less at a time."
        if operation.type is OperationType.MUTATION:
            advice = "It may or may not have taken effect: send it again with the same idempotency key to learn which."
        message = f"The operation took longer than the {self._timeout_s:g} seconds that it may. {advice}"
        return refusal(message, "TIMEOUT", status=504, maximum=self._timeout_s, setting=_TIMEOUT_SETTING)

    async def _stream(self, exchange: Exchange, operation: Operation, principal: Principal) -> None:
        with self._connections.hold(principal.key_id, "sse"):
            payloads = await self._executor.stream(operation, principal)
            exchange.status = 200
            await EventStream(exchange.send, exchange.receive, self._closing).run(exchange.common_headers(), payloads)


_READERS = {
    "POST": GraphQLEndpoint._post,
    "GET": GraphQLEndpoint._get,
    "HEAD": GraphQLEndpoint._get,
    "OPTIONS": GraphQLEndpoint._options,
}


def _refuse_misplaced(operation: Operation, exchange: Exchange) -> None:
    if operation.type is OperationType.QUERY:
        return
    if operation.type is OperationType.MUTATION and exchange.method != "POST":
        raise HttpRefusal(
            405, "METHOD_NOT_ALLOWED", "A mutation changes state, so it must be sent by POST.", [_POST_ONLY]
        )
    if operation.type is OperationType.SUBSCRIPTION and exchange.media is not Media.EVENTS:
        raise HttpRefusal(400, "SUBSCRIPTION_NEEDS_STREAM", _NO_STREAM)
