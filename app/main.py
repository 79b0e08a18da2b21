"""The API process: everything it holds, put together and taken apart. Composition root."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from app.clock import now
from app.config import Settings
from app.conversations import partials
from app.dashboard import routes as dashboard
from app.db.engine import Database
from app.db.transaction import Transactions
from app.dispatch import Dispatcher
from app.embeddings.choice import embedder_of
from app.errors import Unavailable
from app.events import partitions
from app.events.tailer import Tailer
from app.garbage import calm_collector, collect_regularly
from app.health import Health
from app.memories.library import Library
from app.observability import metrics
from app.observability.logging import configure_logging
from app.redis import Redis
from app.routing.lexicon import lexicon
from app.routing.service import Routing
from app.routing.simulation import Simulator
from app.routing.team_indexes import TeamIndexes
from app.wakeups import Listener
from graphql_schema.context import Services
from graphql_schema.execution import Executor
from graphql_schema.exports.endpoint import ExportEndpoint
from graphql_schema.graphiql import routes as graphiql
from graphql_schema.planner.limits import PlanLimits
from graphql_schema.planner.plan import Planner
from graphql_schema.planning import Planning
from graphql_schema.reports.endpoint import ReportEndpoint
from graphql_schema.schema import schema
from graphql_schema.streams.hub import Hub
from graphql_schema.streams.key_watch import KeyWatch
from graphql_schema.transport.authentication import Authenticator
from graphql_schema.transport.connections import OpenConnections
from graphql_schema.transport.documents import Documents
from graphql_schema.transport.http import GraphQLEndpoint
from graphql_schema.transport.intake import Intake
from graphql_schema.transport.persisted import PersistedDocuments
from graphql_schema.transport.rate_limit import RateLimiter
from graphql_schema.transport.websocket import WebSocketEndpoint

log = structlog.get_logger(__name__)
GRAPHQL_PATH = "/graphql"
EXPORT_PATH = "/export"
REPORT_PATH = "/reports/{file}"
_HOUSEKEEPING_S = 24 * 3600
_AWAY_PAUSE_S = 2.0


class Process:
    """What one API process holds. Nothing of it matters to correctness: it can be killed at any moment."""

    def __init__(self, settings: Settings) -> None:
        core = schema._schema
        self.settings, self.closing = settings, asyncio.Event()
        self.database, self.redis = Database(settings), Redis(settings)
        self.tailer = Tailer(self.database, settings)
        self.dispatcher = Dispatcher(settings, self.database, self.redis, self.tailer.wake)
        self.transaction = Transactions(self.database, self.dispatcher)
        self.limiter = RateLimiter(self.redis, settings)
        self.keys = KeyWatch(self.database, self.tailer)
        planner = Planner(core, self.database, limits=PlanLimits.of(settings))
        embedder = embedder_of(settings.embedder)
        indexes = TeamIndexes(self.database, embedder)
        routing = Routing(self.database, self.transaction, settings, embedder, indexes)
        self.services = services = Services(
            settings,
            self.database,
            self.transaction,
            planner,
            self.limiter,
            embedder,
            indexes,
            routing,
            Simulator(self.database),
            Library(self.database, self.transaction, embedder, self.redis),
            self.closing,
        )
        hub = Hub(core, services, self.tailer)
        self.executor = Executor(core, services, hub, self.keys)
        self.partials = Listener(settings, partials.CHANNEL, receive=hub.hear)
        persisted = PersistedDocuments(self.database, self.redis, settings)
        self.planning = Planning(settings)
        self.intake = Intake(self.executor, Documents(core, settings), persisted, self.limiter, self.planning, settings)
        self.authenticator = Authenticator(self.database, self.redis, settings)
        self.connections = OpenConnections(settings.max_sockets_per_key)
        self.health = Health(self.database, self.redis, {"events": self.tailer.check})

    def endpoint(self) -> GraphQLEndpoint:
        page = graphiql.page() if self.settings.graphiql else None
        return GraphQLEndpoint(
            self.executor,
            self.intake,
            self.authenticator,
            self.limiter,
            self.connections,
            self.settings,
            closing=self.closing,
            graphiql=page,
        )

    def routes(self, http: GraphQLEndpoint) -> list[BaseRoute]:
        socket = WebSocketEndpoint(
            self.executor, self.intake, self.authenticator, self.connections, self.keys, self.settings
        )
        exports = ExportEndpoint(
            self.executor.core, self.services, self.intake, self.authenticator, self.settings, closing=self.closing
        )
        pages = graphiql.routes() if self.settings.graphiql else []
        if self.settings.dashboard:
            pages += dashboard.routes()
        return [
            Route(GRAPHQL_PATH, http),
            WebSocketRoute(GRAPHQL_PATH, socket),
            Route(EXPORT_PATH, exports),
            Route(REPORT_PATH, ReportEndpoint(self.services, self.intake, self.authenticator, self.settings)),
            *self.health.routes,
            *metrics.routes(),
            *pages,
        ]

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.tailer.start()
        self.keys.start()
        keeping = asyncio.create_task(self._keep_house())
        hearing = asyncio.create_task(self.partials.run())
        reading = asyncio.create_task(asyncio.to_thread(lexicon))  # the first query need not wait for it
        collecting = asyncio.create_task(collect_regularly())
        calm_collector()
        log.info("api starts", port=self.settings.port)
        try:
            yield
        finally:
            self.begin_closing()
            running = (keeping, hearing, reading, collecting)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self.planning.close()
            await self.keys.stop()
            await self.tailer.stop()
            await self.dispatcher.close()
            await self.redis.close()
            await self.database.close()
            log.info("api stopped")

    def begin_closing(self) -> None:
        """End the event streams and the waits, and say that this process takes no more work."""
        self.health.closing = True
        self.closing.set()

    async def _keep_house(self) -> None:
        """The event log has its partitions and its clock also where no worker runs."""
        while True:
            try:
                async with self.transaction() as session:
                    await partitions.mend_clock(session)
                    await partitions.ensure(session, now())
            except Unavailable:
                await asyncio.sleep(_AWAY_PAUSE_S)
            except Exception:
                log.exception("housekeeping failed")
                await asyncio.sleep(_AWAY_PAUSE_S)
            else:
                await asyncio.sleep(_HOUSEKEEPING_S)


def _cross_origin(settings: Settings) -> list[Middleware]:
    """Pages of other origins may call only where that is set. Keys travel in a header, so no cookie can be abused."""
    if not settings.cors_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=[origin.strip() for origin in settings.cors_origins.split(",")],
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-Request-Id"],
            expose_headers=["RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"],
            max_age=600,
        )
    ]


class Application(Starlette):
    """GraphQL over HTTP goes past routing and error pages, which it does not need, where no middleware is asked for."""

    direct: GraphQLEndpoint | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.direct is not None and scope["type"] == "http" and scope["path"] == GRAPHQL_PATH:
            await self.direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def create_app(settings: Settings) -> Starlette:
    configure_logging(settings)
    process = Process(settings)
    http = process.endpoint()
    middleware = _cross_origin(settings)
    app = Application(routes=process.routes(http), lifespan=process.lifespan, middleware=middleware)
    app.direct = None if middleware else http
    app.state.begin_closing = process.begin_closing
    return app
