"""Exports over HTTP at /export: the rows of one connection as NDJSON or CSV, without pages."""

from __future__ import annotations

import asyncio

from graphql import GraphQLSchema

from app.auth.principal import Principal
from app.config import Settings
from app.errors import AppError, Unauthenticated
from graphql_schema.answer import Operation
from graphql_schema.context import Services
from graphql_schema.exports.download import Download
from graphql_schema.exports.export import Export
from graphql_schema.exports.formats import Csv, Form, Format, Ndjson, chosen
from graphql_schema.planner.selection import Selection
from graphql_schema.transport.authentication import Authenticator
from graphql_schema.transport.connections import OpenConnections
from graphql_schema.transport.endpoint import Endpoint
from graphql_schema.transport.exchange import Exchange
from graphql_schema.transport.intake import REFUSED_POINTS, Intake
from graphql_schema.transport.negotiation import Media
from graphql_schema.transport.refusals import HttpRefusal
from graphql_schema.transport.request import GraphQLRequest
from graphql_schema.variables import coerced

READERS_SHARE = 4  # of the connections for reads, the part that exports may take together
_ALLOW = (b"allow", b"GET, POST, OPTIONS")


class ExportEndpoint(Endpoint):
    """`closing` breaks all exports off."""

    def __init__(
        self,
        core: GraphQLSchema,
        services: Services,
        intake: Intake,
        authenticator: Authenticator,
        settings: Settings,
        *,
        closing: asyncio.Event,
    ) -> None:
        super().__init__(intake, authenticator, services.limiter, settings)
        self._core = core
        self._services = services
        self._closing = closing
        self._open = OpenConnections(settings.max_exports_per_key, of="exports", setting="max_exports_per_key")
        self._turn = asyncio.Semaphore(max(1, settings.read_pool_size // READERS_SHARE))

    async def _serve(self, exchange: Exchange) -> None:
        exchange.media = Media.GRAPHQL  # refusals keep their status
        if exchange.method == "OPTIONS":
            await exchange.text(204, "", [_ALLOW])
            return
        wanted = chosen(exchange.scope["query_string"], exchange.accept)
        request = await self._request(exchange)
        principal = exchange.principal
        assert principal is not None
        exchange.operation = operation = await self._intake.operation(request, principal)
        export, form = await self._prepared(operation, principal, wanted)
        with self._open.hold(principal.key_id, "export"):
            await self._download(exchange, export, form, principal)

    async def _request(self, exchange: Exchange) -> GraphQLRequest:
        if exchange.method == "POST":
            return await self._posted(exchange)
        if exchange.method == "GET":
            return await self._named_by_url(exchange)
        raise HttpRefusal(405, "METHOD_NOT_ALLOWED", f"{exchange.method} is not supported. Use POST or GET.", [_ALLOW])

    async def _prepared(self, operation: Operation, principal: Principal, wanted: Format) -> tuple[Export, Form]:
        try:
            variables = coerced(self._core, operation)
            asked = self._services.planner.asked_rows(operation.document, operation.name, variables)
            export = Export(self._services, operation, principal, variables, asked, self._turn)
            await self._intake.planning.run(principal, export.check)
        except AppError:
            await self._intake.spend(principal, REFUSED_POINTS)
            raise
        if wanted is Format.NDJSON:
            return export, Ndjson()
        return export, Csv(Selection(self._core, operation.document.ast, variables), asked.node, asked.fields)

    async def _download(self, exchange: Exchange, export: Export, form: Form, principal: Principal) -> None:
        name = f"{export.asked.name}.{form.format.name.lower()}"
        disposition = (b"content-disposition", f'attachment; filename="{name}"'.encode())
        try:
            await Download(exchange, form, [disposition], self._closing).run(export.stretches())
        except Unauthenticated:
            self._authenticator.forget(principal)
            raise

    def _transport(self, exchange: Exchange) -> str:
        return "export"

    def _streamed(self, exchange: Exchange, kind: str) -> bool:
        return exchange.status == 200
