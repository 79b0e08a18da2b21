"""Who takes the seats of a session: agents that are named, and one of each group that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.collaborations.models import ParticipantRole
from app.collaborations.spec import CollaborationSpec, ParticipantSpec
from app.groups import service as groups
from app.groups.picking import pick


@dataclass(frozen=True, slots=True)
class Seating:
    """A seat and who has it; `because` says why it is this one of the group that was named."""

    spec: ParticipantSpec
    agent: UUID
    because: str | None = None

    @property
    def role(self) -> ParticipantRole:
        return self.spec.role

    @property
    def stage(self) -> str | None:
        return self.spec.stage


async def seated(
    session: AsyncSession, team_id: UUID, spec: CollaborationSpec, matches: Mapping[str, float] | None
) -> list[Seating]:
    """Whoever sits already is not picked again. The team's row is held; groups are held in the order of their ids, then
    come agents. Raises NotFound, Conflict or AgentUnavailable, as `pick` does."""
    taken = {one.agent_id for one in spec.participants if one.agent_id is not None}
    found = {one: await groups.find(session, team_id, one) for one in sorted(_groups(spec))}
    seats = []
    for one in spec.participants:
        if one.group_id is None:
            assert one.agent_id is not None
            seats.append(Seating(one, one.agent_id))
            continue
        said = "\n".join((spec.goal, one.stage or "", one.instructions))
        picked = await pick(session, found[one.group_id], said, matches=matches, exclude=taken)
        taken.add(picked.agent_id)
        seats.append(Seating(one, picked.agent_id, picked.why[:500]))
    return seats


def _groups(spec: CollaborationSpec) -> set[UUID]:
    return {one.group_id for one in spec.participants if one.group_id is not None}
