"""Reports over HTTP at /reports/{id}.md, .html and .json: with the same key and rights as in the graph."""

from __future__ import annotations

from app.auth.roles import Permission
from app.config import Settings
from app.errors import InvalidInput, NotFound
from app.ids import Prefix, from_global
from app.reports import queries
from app.reports.render import FORMS, POLICY
from graphql_schema.context import Services
from graphql_schema.transport.authentication import Authenticator
from graphql_schema.transport.endpoint import Endpoint
from graphql_schema.transport.exchange import Exchange
from graphql_schema.transport.intake import Intake
from graphql_schema.transport.negotiation import Media
from graphql_schema.transport.refusals import HttpRefusal

POINTS = 10  # that a download costs the key
_ALLOW = (b"allow", b"GET")
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class ReportEndpoint(Endpoint):
    def __init__(self, services: Services, intake: Intake, authenticator: Authenticator, settings: Settings) -> None:
        super().__init__(intake, authenticator, services.limiter, settings)
        self._services = services

    async def _serve(self, exchange: Exchange) -> None:
        exchange.media = Media.GRAPHQL  # refusals keep their status
        if exchange.method != "GET":
            raise HttpRefusal(405, "METHOD_NOT_ALLOWED", f"{exchange.method} is not supported. Use GET.", [_ALLOW])
        await self._authenticate(exchange)
        principal = exchange.principal
        assert principal is not None
        principal.require(Permission.READ_TEAM)
        await self._intake.require_unrestricted(principal)
        exchange.rate = await self._intake.spend(principal, POINTS)
        name, _, form = exchange.scope["path_params"]["file"].rpartition(".")
        if form not in FORMS:
            raise NotFound(f"A report has the forms {', '.join(FORMS)}: /reports/report_….md")
        try:
            report_id = from_global(Prefix.REPORT, name)
        except InvalidInput as error:
            raise NotFound(error.message) from None
        async with self._services.transaction() as session:
            written = await queries.read(
                session, team_id=principal.team_id, report_id=report_id, agent_id=principal.agent_id
            )
        kind, make = FORMS[form]
        await _send(exchange, f"{name}.{form}", kind, make(written).encode())

    def _transport(self, exchange: Exchange) -> str:
        return "report"


async def _send(exchange: Exchange, name: str, kind: str, body: bytes) -> None:
    exchange.status = 200
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", b"%d" % len(body)),
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
        *_HEADERS,
        *exchange.common_headers(),
    ]
    await exchange.send({"type": "http.response.start", "status": 200, "headers": headers})
    await exchange.send({"type": "http.response.body", "body": body})
