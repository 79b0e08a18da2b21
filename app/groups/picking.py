"""Picks the agent of a group that takes something up, and says why: its coordinator, else the best match, else whoever
has least to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict
from app.groups.models import AgentGroup
from app.memories.wording import any_word
from app.routing.skill_match import MATCHES
from app.tasks.availability import MAX_OPEN_TASKS
from app.tasks.errors import AgentUnavailable, UnavailableReason

# The group and the groups in it; who belongs to them; what each is doing, and how its skills' words match.
_MEMBERS = sql("""
with recursive inside as (
    select id, coordinator_id from agent_group where team_id = :team and id = :group
    union all
    select inner_group.id, inner_group.coordinator_id from agent_group as inner_group
    join inside on inner_group.parent_id = inside.id where inner_group.dissolved_at is null
)
select agent.id, agent.slug, agent.name, agent.status,
    (
        select count(*) from task
        where task.assignee_id = agent.id and purpose = 'delegation' and status in ('pending', 'in_progress')
    ) as open_tasks,
    case when :words = '' then 0 else coalesce((
        select ts_rank(to_tsvector('simple', string_agg(skill.name || ' ' || skill.description, ' ')),
            to_tsquery('simple', :words))
        from agent_skill as skill where skill.agent_id = agent.id
    ), 0) end as words
from agent where agent.team_id = :team and agent.id in (
    select agent_id from agent_group_member where group_id in (select id from inside)
    union select coordinator_id from inside
)
order by agent.slug
""")


class PickReason(StrEnum):
    COORDINATOR = "coordinator"
    SKILL_MATCH = "skill_match"
    LEAST_BUSY = "least_busy"


@dataclass(frozen=True, slots=True)
class Picked:
    """`why` is a sentence for people; `members` are all who belong to the group and to the groups in it."""

    agent_id: UUID
    slug: str
    reason: PickReason
    why: str
    members: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class Member:
    id: UUID
    slug: str
    name: str
    status: str
    open_tasks: int
    match: float  # 0 to 1
    matches: bool

    @property
    def is_free(self) -> bool:
        return self.status == "active" and self.open_tasks < MAX_OPEN_TASKS


async def pick(
    session: AsyncSession,
    group: AgentGroup,
    text: str,
    *,
    matches: Mapping[str, float] | None = None,
    exclude: Collection[UUID] = (),
) -> Picked:
    """`matches` are skill matches by slug, reckoned before the transaction; without them the words of skills decide.

    Raises Conflict for a dissolved or empty group, and AgentUnavailable when nobody of it is free.
    """
    if group.dissolved_at is not None:
        raise Conflict(f"The group '{group.slug}' is dissolved.")
    given = {"team": group.team_id, "group": group.id, "words": any_word(text)}
    rows = (await session.execute(_MEMBERS, given)).all()
    members = [
        Member(
            row.id, row.slug, row.name, row.status, row.open_tasks,
            match=row.words if matches is None else matches.get(row.slug, 0.0),
            matches=row.words > 0 if matches is None else matches.get(row.slug, 0.0) >= MATCHES,
        )
        for row in rows
    ]  # fmt: skip
    return choose(group.slug, group.coordinator_id, members, exclude)


def choose(group: str, coordinator_id: UUID | None, members: Sequence[Member], exclude: Collection[UUID]) -> Picked:
    """The rule by itself. Pure."""
    everybody = frozenset(member.id for member in members)
    others = [member for member in members if member.id not in exclude]
    free = [member for member in others if member.is_free]
    if not free:
        raise _nobody(group, others)
    coordinator = next((member for member in members if member.id == coordinator_id), None)
    if coordinator in free:
        assert coordinator is not None
        why = f"{coordinator.name} coordinates the group '{group}'."
        return Picked(coordinator.id, coordinator.slug, PickReason.COORDINATOR, why, everybody)
    because = f" Its coordinator {coordinator.name} {_absence(coordinator)}." if coordinator else ""
    best = min(free, key=lambda one: (not one.matches, -one.match if one.matches else 0.0, one.open_tasks, one.slug))
    among = f"of {len(free)} free member{'s' if len(free) > 1 else ''} of the group '{group}'"
    if best.matches:
        why = f"{best.name}'s skills match best {among} ({best.match:.2f}).{because}"
        return Picked(best.id, best.slug, PickReason.SKILL_MATCH, why, everybody)
    why = f"Nobody's skills match, and {best.name} has least to do {among}.{because}"
    return Picked(best.id, best.slug, PickReason.LEAST_BUSY, why, everybody)


def _absence(coordinator: Member) -> str:
    if coordinator.status != "active":
        return f"is {coordinator.status}"
    return "asks or is waiting for it" if coordinator.is_free else "has as many open tasks as it may"


def _nobody(group: str, others: Sequence[Member]) -> Exception:
    if not others:
        return Conflict(f"The group '{group}' has nobody who could take it up.")
    busy = any(member.status == "active" for member in others)
    reason = UnavailableReason.AT_CAPACITY if busy else UnavailableReason.PAUSED
    return AgentUnavailable(f"Nobody in the group '{group}' is free to take it up.", reason)
