"""What the commands that work on a team share: a transaction for one piece of work, the team meant, who acts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Annotated, TypeVar

import typer
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.cli.connection import reachable_settings
from app.config import LogFormat, Settings
from app.db.engine import Database
from app.db.transaction import AfterCommit, Dispatch, Transactions
from app.dispatch import Dispatcher
from app.errors import NotFound
from app.events.log import Actor
from app.observability.logging import configure_logging
from app.redis import Redis
from app.teams.models import Team

T = TypeVar("T")
OPERATOR = Actor("parley CLI")
TeamOption = Annotated[str | None, typer.Option("--team", help="The team's slug; needed when there are several.")]


def run_in_transaction(work: Callable[[AsyncSession], Awaitable[T]]) -> T:
    return asyncio.run(_run(work))


async def _run(work: Callable[[AsyncSession], Awaitable[T]]) -> T:
    settings = reachable_settings()
    configure_logging(settings.model_copy(update={"log_level": "error", "log_format": LogFormat.CONSOLE}))
    async with AsyncExitStack() as opened:
        database = Database(settings)
        opened.push_async_callback(database.close)
        async with Transactions(database, _dispatch(settings, database, opened))() as session:
            return await work(session)
    raise AssertionError


def _dispatch(settings: Settings, database: Database, opened: AsyncExitStack) -> Dispatch:
    if settings.redis_url is None:
        return _leave_to_pollers
    redis = Redis(settings)
    opened.push_async_callback(redis.close)
    dispatcher = Dispatcher(settings, database, redis)
    opened.push_async_callback(dispatcher.close)
    return dispatcher


async def _leave_to_pollers(pending: AfterCommit) -> None:
    """Without Redis, servers and workers find the change by polling, within seconds."""


async def find_team(session: AsyncSession, slug: str | None) -> Team:
    teams = list(await session.scalars(select(Team).order_by(Team.slug)))
    found = [team for team in teams if slug in (None, team.slug)]
    if len(found) == 1:
        return found[0]
    if not teams:
        raise NotFound("There is no team yet. Make one from a file: parley team apply FILE --team SLUG --create")
    known = ", ".join(team.slug for team in teams)
    if slug is None:
        raise NotFound(f"Which team? --team is one of: {known}")
    raise NotFound(f"No team '{slug}'; there are: {known}")
