"""Which agents wait for which: for consultations, for work that their running tasks delegated, started or depend on,
and for handoffs that are to come back. A wait that would close a circle is found before anybody is asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

_CONSULTED = """
    select requester_id as waiter, specialist_id as awaited from consultation
    where team_id = :team_id and status in ('pending', 'in_progress')
"""
_WORK = """
    select above.assignee_id, below.assignee_id from task as below join task as above on above.id = below.parent_id
    where below.team_id = :team_id and below.status in ('pending', 'in_progress')
        and above.status in ('pending', 'in_progress')
    union
    select origin.assignee_id, started.assignee_id from task as started
    join task as origin on origin.id = started.origin_id
    where started.team_id = :team_id and started.status in ('pending', 'in_progress')
        and origin.status in ('pending', 'in_progress')
    union
    select waiting.assignee_id, needed.assignee_id from task_dependency as link
    join task as waiting on waiting.id = link.task_id join task as needed on needed.id = link.needs_id
    where waiting.team_id = :team_id and waiting.status = 'pending' and needed.status in ('pending', 'in_progress')
    union
    select from_agent_id, to_agent_id from conversation_handoff
    where team_id = :team_id and ended_at is null and return_policy <> 'none'
"""


def _reached(edges: str) -> str:
    """Edges, not paths: there are never more rows than waits."""
    return f"""
with recursive edge(waiter, awaited) as ({edges}),
reached(id, via) as (
    select cast(:start as uuid), cast(null as uuid)
    union
    select edge.awaited, edge.waiter from reached join edge on edge.waiter = reached.id
    where reached.id <> :target and edge.awaited <> edge.waiter
)
select reached.id, reached.via, agent.slug from reached join agent on agent.id = reached.id
"""


_OF_ALL, _OF_CONSULTATIONS = text(_reached(f"{_CONSULTED} union {_WORK}")), text(_reached(_CONSULTED))


async def circle_of(
    session: AsyncSession, *, team_id: UUID, waiter_id: UUID, awaited_id: UUID, consultations_only: bool = False
) -> list[str]:
    """The slugs of the agents that would wait for each other if `waiter_id` waited for `awaited_id`, too; none: no
    circle would close. Only for checks that take turns, by `dependencies.take_turns`."""
    given = {"team_id": team_id, "start": awaited_id, "target": waiter_id}
    rows = (await session.execute(_OF_CONSULTATIONS if consultations_only else _OF_ALL, given)).all()
    slugs = {row.id: row.slug for row in rows}
    if waiter_id not in slugs:
        return []
    path = _path([(row.via, row.id) for row in rows if row.via is not None], awaited_id, waiter_id)
    return [slugs[waiter_id], *(slugs[step] for step in path)]


_ASKED = text("""
select requester.slug, consultation.asking_task_id, asking.root_id from consultation
join agent as requester on requester.id = consultation.requester_id
left join task as asking on asking.id = consultation.asking_task_id
where consultation.team_id = :team_id and consultation.task_id = :root_id
    and consultation.status in ('pending', 'in_progress')
""")


async def askers_of(session: AsyncSession, *, team_id: UUID, root_id: UUID) -> list[str]:
    """The slugs of the agents that wait for what is done in this tree of tasks because they asked for it, or asked who
    asked; the first one first."""
    slugs: list[str] = []
    next_root: UUID | None = root_id
    while next_root is not None:
        row = (await session.execute(_ASKED, {"team_id": team_id, "root_id": next_root})).one_or_none()
        if row is None:
            break
        slugs.insert(0, row.slug)
        next_root = row.root_id
    return slugs


def _path(edges: Sequence[tuple[UUID, UUID]], start: UUID, target: UUID) -> list[UUID]:
    """The shortest way from the start to the target, both included; there is one."""
    paths, seen = deque([[start]]), {start}
    while paths[0][-1] != target:
        path = paths.popleft()
        ahead = [awaited for waiter, awaited in edges if waiter == path[-1] and awaited not in seen]
        seen.update(ahead)
        paths.extend([*path, one] for one in ahead)
    return paths[0]
