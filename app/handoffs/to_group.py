"""Who of a group would take a conversation over, where a rule names the group."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict
from app.groups.models import AgentGroup
from app.groups.picking import pick
from app.handoffs.decision import GroupPick
from app.tasks.errors import AgentUnavailable


async def picks(
    session: AsyncSession, team_id: UUID, slugs: Collection[str], *, text: str, exclude: Collection[UUID]
) -> dict[str, GroupPick]:
    """By the group's slug. The groups are only read: whoever calls may hold a conversation, which others lock after a
    group. Words of skills decide, because nothing may be embedded here."""
    if not slugs:
        return {}
    named = (AgentGroup.team_id == team_id) & AgentGroup.slug.in_(slugs)
    found = await session.scalars(select(AgentGroup).where(named, AgentGroup.dissolved_at.is_(None)))
    return {group.slug: await _pick(session, group, text, exclude) for group in found}


async def _pick(session: AsyncSession, group: AgentGroup, text: str, exclude: Collection[UUID]) -> GroupPick:
    try:
        picked = await pick(session, group, text, exclude=exclude)
    except (AgentUnavailable, Conflict):
        return GroupPick(None, f"nobody in the group '{group.slug}' is free to take over")
    return GroupPick(picked.slug, picked.why)
