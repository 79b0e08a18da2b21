"""Creates and configures teams."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.attributes import flag_modified

from app.errors import InvalidInput, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, new_id, to_global
from app.teams.flags import FeatureFlag
from app.teams.models import Team
from app.teams.values import same


async def find_by_slug(session: AsyncSession, slug: str) -> Team | None:
    return await session.scalar(select(Team).where(Team.slug == slug))


async def create(session: AsyncSession, *, slug: str, name: str, actor: Actor) -> Team:
    """A new team, or the one that has this slug already."""
    made = await session.scalar(
        insert(Team).values(id=new_id(), slug=slug, name=name).on_conflict_do_nothing().returning(Team.id)
    )
    team = await find_by_slug(session, slug)
    assert team is not None
    if made is not None:
        append(session, EventKind.TEAM_CREATED, team_id=team.id, actor=actor, changes={"slug": slug, "name": name})
    return team


async def lock(session: AsyncSession, team_id: UUID) -> Team:
    """The team's row, held until the transaction ends: changes of a team's configuration take turns."""
    # Without the key: agents may be added meanwhile. Read anew: the session may hold values from before the wait.
    statement = select(Team).where(Team.id == team_id).with_for_update(key_share=True)
    team = await session.scalar(statement.execution_options(populate_existing=True))
    if team is None:
        raise NotFound("This team no longer exists.")
    return team


async def share(session: AsyncSession, team_id: UUID) -> Team:
    """The team's row, read anew and shared until the transaction ends: who changes it waits for what is made now."""
    mine = select(Team).where(Team.id == team_id).with_for_update(read=True)
    return (await session.scalars(mine.execution_options(populate_existing=True))).one()


async def set_flags(
    session: AsyncSession, *, team_id: UUID, changes: dict[FeatureFlag, bool | None], actor: Actor
) -> Team:
    """Override flags for a team; None goes back to the installation's value."""
    if not changes:
        raise InvalidInput.of("flags", "name at least one flag")
    team = await lock(session, team_id)
    flags = {**team.flags}
    for flag, enabled in changes.items():
        if enabled is None:
            flags.pop(flag.value, None)
        else:
            flags[flag.value] = enabled
    if flags != team.flags:
        team.flags = flags
        told = [{"flag": flag, "enabled": enabled} for flag, enabled in changes.items()]
        append(session, EventKind.TEAM_FLAGS_CHANGED, team_id=team_id, actor=actor, changes={"flags": told})
    return team


async def set_budgets(
    session: AsyncSession, *, team: Team, changes: Mapping[str, Decimal | None], actor: Actor
) -> bool:
    """Set the caps that differ on a locked team; says whether any did. What is open under the old ones is not told."""
    changed = {name: value for name, value in changes.items() if getattr(team, name) != value}
    for name, value in changed.items():
        setattr(team, name, value)
    if changed:
        told = {name: None if value is None else float(value) for name, value in changed.items()}
        append(session, EventKind.TEAM_BUDGETS_CHANGED, team_id=team.id, actor=actor, changes=told)
    return bool(changed)


async def change(session: AsyncSession, *, team: Team, fields: dict[str, Any], actor: Actor) -> dict[str, Any]:
    """Set what differs on a locked team; returns it."""
    changed = {name: value for name, value in fields.items() if not same(getattr(team, name), value)}
    for name, value in changed.items():
        setattr(team, name, value)
        flag_modified(team, name)  # SQLAlchemy, too, takes 1 and true for equal and would write nothing
    if changed:
        told = {name: _told(name, value) for name, value in changed.items()}
        append(session, EventKind.TEAM_UPDATED, team_id=team.id, actor=actor, changes=told)
    return changed


def _told(name: str, value: Any) -> Any:
    """Templates only by their slugs: they are long."""
    if name == "collaboration_templates":
        return [template["slug"] for template in value]
    return to_global(Prefix.AGENT, value) if name == "default_agent_id" else value


async def default_to(session: AsyncSession, *, team_id: UUID, agent_id: UUID) -> None:
    """Make this the team's default agent if it has none yet."""
    await session.execute(
        update(Team).where(Team.id == team_id, Team.default_agent_id.is_(None)).values(default_agent_id=agent_id)
    )
