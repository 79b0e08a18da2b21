"""Who waits for whom: tasks for those that they depend on, and running tasks for those that they delegated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy import insert, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.tasks.errors import CycleDetected
from app.tasks.models import Task, TaskDependency

_LOCK = 4_211_907  # any fixed number, beside a number made of the team
_SHOWN = 60  # characters of a title in a refusal

# Edges, not paths: there are never more rows than waits, however often these fork and join.
_REACHED = text("""
with recursive waits(id, via) as (
    select id, null::uuid from unnest(cast(:needs as uuid[])) as id
    union
    select next.id, waits.id
    from waits cross join lateral (
        select d.needs_id as id from task_dependency d join task n on n.id = d.needs_id
            where d.task_id = waits.id and n.status in ('pending', 'in_progress')
        union
        select id from task where team_id = :team_id and parent_id = waits.id and status in ('pending', 'in_progress')
    ) as next
    where waits.id <> :target
)
select waits.id, waits.via, left(task.title, :shown) as title from waits join task using (id)
""")
_DOOMED = text("""
with recursive doomed(id) as (
    select id from task where team_id = :team_id and parent_id = :task_id and status in ('pending', 'in_progress')
    union
    select d.task_id from task_dependency d join task t on t.id = d.task_id
        where :failing and d.needs_id = :task_id and t.status = 'pending'
    union
    select next.id from doomed cross join lateral (
        select id from task where team_id = :team_id and parent_id = doomed.id and status in ('pending', 'in_progress')
        union
        select d.task_id from task_dependency d join task t on t.id = d.task_id
            where d.needs_id = doomed.id and t.status = 'pending'
    ) as next
)
select id from doomed
""")
_DEPENDANTS = text("""
select t.id from task_dependency d join task t on t.id = d.task_id where d.needs_id = :task_id and t.status = 'pending'
""")


async def add(session: AsyncSession, task: Task, needs: Collection[UUID]) -> None:
    rows = [{"team_id": task.team_id, "task_id": task.id, "needs_id": one} for one in sorted(needs)]
    if rows:
        await session.execute(insert(TaskDependency), rows)


async def take_turns(session: AsyncSession, team_id: UUID) -> None:
    """Two new waits at once could close a cycle that neither sees: those of a team are checked one after the other."""
    await session.execute(
        text("select pg_advisory_xact_lock(:lock, hashtext(:team))"), {"lock": _LOCK, "team": str(team_id)}
    )


async def refuse_wait_cycle(
    session: AsyncSession, *, team_id: UUID, title: str, needs: Collection[UUID], parent_id: UUID
) -> None:
    """A task below `parent_id` that waits for `needs`: raises CycleDetected when one of these waits for the parent."""
    rows = (
        await session.execute(
            _REACHED, {"needs": list(needs), "target": parent_id, "team_id": team_id, "shown": _SHOWN}
        )
    ).all()
    titles = {row.id: row.title for row in rows}
    if parent_id in titles:
        path = path_to(parent_id, {row.id: row.via for row in reversed(rows)})
        chain = [title[:_SHOWN], *(titles[step] for step in path), title[:_SHOWN]]
        instead = "Leave out the dependency, or delegate without this parent."
        raise CycleDetected(chain, "These tasks would wait for each other for ever", instead)


def path_to(target: UUID, via: Mapping[UUID, UUID | None]) -> list[UUID]:
    """The steps from a start (a step that came from nowhere) to the target."""
    path, step = [target], via[target]
    while step is not None:
        path.append(step)
        step = via[step]
    return path[::-1]


async def doomed_by(session: AsyncSession, *, team_id: UUID, task_id: UUID, failing: bool) -> set[UUID]:
    """What cannot go on when a task ends: open work below it and, when it fails, whatever depends on any of these."""
    rows = await session.scalars(_DOOMED, {"team_id": team_id, "task_id": task_id, "failing": failing})
    return set(rows)


async def dependants_of(session: AsyncSession, task_id: UUID) -> set[UUID]:
    """The pending tasks that wait for this one."""
    return set(await session.scalars(_DEPENDANTS, {"task_id": task_id}))
