"""What the commands that work on a team share: a transaction for one piece of work, the team meant, who acts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.cli.connection import reachable_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import NotFound
from app.events.log import Actor
from app.teams.models import Team

T = TypeVar("T")
OPERATOR = Actor("parley CLI")
TeamOption = Annotated[str | None, typer.Option("--team", help="The team's slug; needed when there are several.")]


def run_in_transaction(work: Callable[[AsyncSession], Awaitable[T]]) -> T:
    return asyncio.run(_run(work))


async def _run(work: Callable[[AsyncSession], Awaitable[T]]) -> T:
    database = Database(reachable_settings())
    try:
        async with Transactions(database, _no_bell)() as session:
            return await work(session)
    finally:
        await database.close()


async def _no_bell(bells: list[Any]) -> None:
    """Servers find the change by polling, within seconds."""


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
