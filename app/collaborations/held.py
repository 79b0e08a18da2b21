"""A session held by one transaction: its row, its seats, its stages, and the agents that sit there.

Locks are taken in one order: the team's row, the agents by id, the session's row; then tasks by id, then accounts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.collaborations.models import (
    OPEN,
    Collaboration,
    CollaborationParticipant,
    CollaborationStage,
    StageKind,
    StageStatus,
)
from app.collaborations.patterns.state import Key, Seat, Stage, State
from app.collaborations.steps import Failed
from app.errors import Conflict, NotFound
from app.teams import service as teams
from app.teams.models import Team


@dataclass(slots=True)
class Held:
    team: Team
    row: Collaboration
    at: datetime
    seats: list[CollaborationParticipant]
    agents: dict[UUID, Agent]
    stages: list[CollaborationStage] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.row.status in OPEN

    def current(self) -> list[CollaborationStage]:
        """Without those that were given up for another attempt."""
        return [stage for stage in self.stages if not stage.superseded]

    def working(self) -> list[CollaborationStage]:
        return [stage for stage in self.stages if stage.status is StageStatus.WORKING]

    def failed(self) -> list[CollaborationStage]:
        """Those that somebody has to decide on. A decision that failed is left to people."""
        fine = {StageStatus.WORKING, StageStatus.COMPLETED}
        found = [stage for stage in self.current() if stage.status not in fine]
        return [stage for stage in found if stage.kind is not StageKind.DECISION]

    def seat(self, slot: int) -> CollaborationParticipant:
        return next(seat for seat in self.seats if seat.slot == slot)

    def find(self, key: Key) -> CollaborationStage | None:
        return next((stage for stage in self.current() if (stage.kind, stage.round, stage.part) == key), None)

    def state(self) -> State:
        return State(
            seats=tuple(Seat(seat.slot, seat.role, seat.stage) for seat in self.seats),
            rounds=self.row.max_rounds,
            stages=tuple(
                Stage(one.kind, one.round, one.part, one.slot, one.status, one.output, one.data)
                for one in self.current()
            ),
            options=tuple(self.row.options),
            threshold=self.row.threshold,
        )

    def failures(self) -> list[Failed]:
        return [Failed(one.name, one.error_message or one.status.value, one.attempt) for one in self.failed()]


async def lock_agents(session: AsyncSession, team_id: UUID, ids: Collection[UUID]) -> dict[UUID, Agent]:
    """In one order; raises NotFound."""
    return {one: await agents.lock(session, team_id, one) for one in sorted(set(ids))}


async def hold(session: AsyncSession, team_id: UUID, collaboration_id: UUID, *, also: Collection[UUID] = ()) -> Held:
    """Raises NotFound. `also` are agents that are to be locked besides those that take part."""
    team = await teams.share(session, team_id)
    of_session = CollaborationParticipant.collaboration_id == collaboration_id
    found = await lock_agents(session, team_id, {*await _involved(session, team_id, collaboration_id), *also})
    row = (
        await session.execute(
            select(Collaboration, func.clock_timestamp())
            .where(Collaboration.team_id == team_id, Collaboration.id == collaboration_id)
            .with_for_update(key_share=True)
            .execution_options(populate_existing=True)
        )
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such collaboration session in this team.")
    seats = select(CollaborationParticipant).where(of_session).order_by(CollaborationParticipant.slot)
    stages = select(CollaborationStage).where(CollaborationStage.collaboration_id == collaboration_id)
    fresh = {"populate_existing": True}
    return Held(
        team=team,
        row=row[0],
        at=row[1],
        seats=list(await session.scalars(seats.execution_options(**fresh))),
        agents=found,
        stages=list(await session.scalars(stages.order_by(CollaborationStage.position).execution_options(**fresh))),
    )


async def _involved(session: AsyncSession, team_id: UUID, collaboration_id: UUID) -> set[UUID]:
    """Those who sit there, and those who did before their seat went to another."""
    seat, stage = CollaborationParticipant, CollaborationStage
    sitting = select(seat.agent_id).where(seat.team_id == team_id, seat.collaboration_id == collaboration_id)
    worked = select(stage.agent_id).where(stage.team_id == team_id, stage.collaboration_id == collaboration_id)
    return set(await session.scalars(sitting.union(worked)))


def require_open(held: Held) -> None:
    if not held.is_open:
        raise Conflict(f"This collaboration session has ended ({held.row.status.name}). Start another one.")
