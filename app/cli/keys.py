"""`parley keys`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.auth import service
from app.auth.models import ApiKey
from app.auth.roles import Role
from app.auth.tokens import new_secret
from app.cli.work import OPERATOR, TeamOption, find_team, run_in_transaction
from app.clock import now
from app.errors import Conflict, NotFound
from app.ids import Prefix, to_global

app = typer.Typer(help="Create, list and revoke API keys.")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for; shown in lists and in the audit trail.")],
    role: Annotated[Role, typer.Option(help="What the key may do.")] = Role.INTEGRATOR,
    agent: Annotated[str | None, typer.Option(help="The agent's slug, for the role agent.")] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="Days until it expires; never by default.")
    ] = None,
    team: TeamOption = None,
) -> None:
    """Create a key and print it. It is shown this once: only its hash is kept."""
    secret = new_secret()

    async def work(session: AsyncSession) -> str:
        found = await find_team(session, team)
        agent_id = await _agent_id(session, found.id, agent) if agent else None
        expires_at = now() + timedelta(days=days) if days else None
        key = await service.issue(
            session,
            team_id=found.id,
            name=name,
            role=role,
            secret=secret,
            actor=OPERATOR,
            agent_id=agent_id,
            expires_at=expires_at,
        )
        return f"Key '{key.name}' of team '{found.slug}' ({role}). Keep it safe: it is not shown again."

    typer.echo(run_in_transaction(work), err=True)
    typer.echo(secret)


@app.command("list")
def list_keys(
    team: TeamOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one array.")] = False,
) -> None:
    """List a team's keys, newest first. The keys themselves are not kept and cannot be shown."""

    async def work(session: AsyncSession) -> list[dict[str, Any]]:
        found = await find_team(session, team)
        statement = select(ApiKey).where(ApiKey.team_id == found.id)
        newest_first = statement.order_by(ApiKey.created_at.desc(), ApiKey.id.desc())
        return [_described(key) for key in await session.scalars(newest_first)]

    keys = run_in_transaction(work)
    if as_json:
        typer.echo(json.dumps(keys, indent=2))
        return
    table = Table(
        "Begins with", "Name", "Role", "Created", "State", Column("Id", overflow="fold"), box=None, pad_edge=False
    )
    for key in keys:
        table.add_row(
            key["prefix"] + "…", escape(key["name"]), key["role"], key["createdAt"][:10], key["state"], key["id"]
        )
    Console().print(table)


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(help="The key's id, or what it begins with, as `parley keys list` shows it.")],
    team: TeamOption = None,
) -> None:
    """Revoke a key. Takes effect at once; open connections that use it are closed within seconds."""

    async def work(session: AsyncSession) -> str:
        found = await find_team(session, team)
        keys = await session.scalars(select(ApiKey).where(ApiKey.team_id == found.id))
        meant = [row for row in keys if key in (to_global(Prefix.API_KEY, row.id), row.prefix, row.prefix + "…")]
        if not meant:
            raise NotFound(f"Team '{found.slug}' has no key '{key}'. See: parley keys list --team {found.slug}")
        if len(meant) > 1:
            raise Conflict(f"{len(meant)} keys begin with '{key}'. Give the id instead.")
        revoked = await service.revoke(session, team_id=found.id, key_id=meant[0].id, actor=OPERATOR)
        return f"Key '{revoked.name}' ({revoked.prefix}…) is revoked."

    typer.echo(run_in_transaction(work))


async def _agent_id(session: AsyncSession, team_id: Any, slug: str) -> Any:
    found = await session.scalar(select(Agent.id).where(Agent.team_id == team_id, Agent.slug == slug))
    if found is None:
        raise NotFound(f"The team has no agent '{slug}'.")
    return found


def _described(key: ApiKey) -> dict[str, Any]:
    return {
        "id": to_global(Prefix.API_KEY, key.id),
        "prefix": key.prefix,
        "name": key.name,
        "role": key.role.value,
        "createdAt": key.created_at.astimezone(UTC).isoformat(),
        "expiresAt": key.expires_at.astimezone(UTC).isoformat() if key.expires_at else None,
        "state": _state(key, now()),
    }


def _state(key: ApiKey, at: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "live"
    return "expired" if key.expires_at <= at else f"live until {key.expires_at.date()}"
