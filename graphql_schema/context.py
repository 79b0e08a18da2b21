"""What a resolver may use: who asks, what was asked, and the services. Never an open session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import strawberry
from strawberry.dataloader import DataLoader

from app.auth.principal import Principal
from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.embedder import Embedder
from app.memories.library import Library
from app.routing.service import Routing
from app.routing.simulation import Simulator
from app.routing.team_indexes import TeamIndexes
from graphql_schema.answer import Document
from graphql_schema.pacing import Pacer
from graphql_schema.planner.limits import AnswerSize, PlanLimits
from graphql_schema.planner.plan import Planner

if TYPE_CHECKING:
    from graphql_schema.transport.rate_limit import RateLimiter


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    database: Database
    transaction: Transactions
    planner: Planner
    limiter: RateLimiter
    embedder: Embedder
    team_indexes: TeamIndexes
    routing: Routing
    simulator: Simulator
    library: Library
    closing: asyncio.Event = field(default_factory=asyncio.Event)  # set when the process is about to end
    pacer: Pacer = field(default_factory=Pacer)


Left = Callable[[], Awaitable[None]]


async def never() -> None:
    await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Context:
    """`left` ends when the client has: what waits for long asks. Over a WebSocket it is cancelled without asking."""

    principal: Principal
    document: Document
    variables: dict[str, Any]
    services: Services
    left: Left = never
    loaders: dict[tuple[Hashable, ...], DataLoader[UUID, Any]] = field(default_factory=dict)
    size: AnswerSize = field(default_factory=lambda: AnswerSize(PlanLimits()))

    async def take_in(self, *bodies: bytes) -> None:
        """Returns when what a statement gave may be put into the answer; raises LimitExceeded when it is too large."""
        values = sum(self.size.add(body) for body in bodies)
        await self.services.pacer.wait(self.principal.team_id, self.principal.key_id, values)


Info = strawberry.Info[Context, None]
