"""Delegates to a group: one of its agents is picked, and below the task only the group may be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncSession

from app.config import Settings
from app.events.log import Actor
from app.groups import service as groups
from app.groups.picking import pick
from app.tasks import service as tasks
from app.tasks.models import Task
from app.tasks.service import Delegation

NOBODY = UUID(int=0)  # the assignee until the group has picked one
_CHAIN = sql("""
with recursive above as (
    select creator_id, assignee_id, parent_id, origin_id from task where team_id = :team and id = :task
    union all
    select task.creator_id, task.assignee_id, task.parent_id, task.origin_id
    from task join above on task.id = coalesce(above.parent_id, above.origin_id)
)
select creator_id from above where creator_id is not null union select assignee_id from above
""")


async def delegate(
    session: AsyncSession,
    *,
    team_id: UUID,
    group_id: UUID,
    wanted: Delegation,
    settings: Settings,
    actor: Actor,
    matches: Mapping[str, float] | None = None,
) -> Task:
    """Raises what `tasks.delegate` and `pick` raise. `wanted.assignee_id` does not count.

    Who waits for the task is not picked. Whoever is picked may ask only members of the group, unless `agents` say
    otherwise.
    """
    await tasks.permitted_caps(session, team_id, settings)  # the team's row comes first
    group = await groups.find(session, team_id, group_id)
    waiting = {wanted.creator_id} if wanted.creator_id else set()
    if wanted.parent_id is not None:
        waiting |= set(await session.scalars(_CHAIN, {"team": team_id, "task": wanted.parent_id}))
    said = "\n".join((wanted.spec.title, wanted.spec.instructions))
    picked = await pick(session, group, said, matches=matches, exclude=waiting)
    chosen = replace(
        wanted,
        assignee_id=picked.agent_id,
        group_id=group.id,
        picked_because=picked.why,
        agents=wanted.agents if wanted.agents is not None else picked.members if wanted.parent_id is None else None,
    )
    return await tasks.delegate(session, team_id=team_id, wanted=chosen, settings=settings, actor=actor)
