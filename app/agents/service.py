"""Creates and changes agents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus, Skill
from app.agents.spec import AgentSpec, SkillSpec, TraitsSpec, parse_agent
from app.agents.status import ALLOWED_FROM, refusal
from app.auth import service as auth
from app.errors import Conflict, NotFound, check_text
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.ids import Prefix, new_id, to_global
from app.teams import service as teams

_STATUS_EVENT = {
    AgentStatus.ACTIVE: EventKind.AGENT_RESUMED,
    AgentStatus.PAUSED: EventKind.AGENT_PAUSED,
    AgentStatus.ARCHIVED: EventKind.AGENT_ARCHIVED,
}


async def create(session: AsyncSession, *, team_id: UUID, spec: AgentSpec, actor: Actor) -> Agent:
    """Raises Conflict when the slug is taken. A team's first agent becomes its default."""
    values = {"id": new_id(), "team_id": team_id, **_columns(spec)}
    # Before the insert: whoever holds the team's row may be waiting for this very slug, so wait for the row first.
    await teams.default_to(session, team_id=team_id, agent_id=values["id"])
    statement = upsert(Agent).values(values).on_conflict_do_nothing(index_elements=["team_id", "slug"])
    agent: Agent | None = await session.scalar(statement.returning(Agent))
    if agent is None:
        raise Conflict(f"This team already has an agent '{spec.slug}'. Choose another slug, or update that agent.")
    await _replace_skills(session, agent, spec)
    append(
        session,
        EventKind.AGENT_CREATED,
        team_id=team_id,
        actor=actor,
        agent_id=agent.id,
        changes={"slug": spec.slug, "name": spec.name},
    )
    return agent


async def update_fields(
    session: AsyncSession,
    *,
    team_id: UUID,
    agent_id: UUID,
    fields: dict[str, Any],
    actor: Actor,
    expected_version: int | None = None,
) -> Agent:
    """Change the given fields, checked together with those that stay; raises Conflict when the version moved on."""
    agent = await lock(session, team_id, agent_id)
    if expected_version is not None and agent.version != expected_version:
        raise Conflict(f"{agent.name} is at version {agent.version}, not {expected_version}. Read it again and retry.")
    before = await spec_of(session, agent)
    traits = {"traits": before.traits.model_dump() | fields["traits"]} if "traits" in fields else {}
    after = parse_agent(before.model_dump() | fields | traits)
    return await apply(session, agent=agent, before=before, after=after, actor=actor)


async def apply(session: AsyncSession, *, agent: Agent, before: AgentSpec, after: AgentSpec, actor: Actor) -> Agent:
    """Bring a locked agent to a spec; does nothing when nothing differs."""
    if agent.status is AgentStatus.ARCHIVED:
        raise Conflict(f"{agent.name} is archived and cannot be changed.")
    changed = [name for name in AgentSpec.model_fields if getattr(before, name) != getattr(after, name)]
    if not changed:
        return agent
    for column, value in _columns(after).items():
        setattr(agent, column, value)
    agent.version += 1
    if before.skills != after.skills:
        await _replace_skills(session, agent, after)
    await session.flush()
    await session.refresh(agent, ["updated_at"])
    changes = {name: getattr(after, name) for name in changed}
    append(session, EventKind.AGENT_UPDATED, team_id=agent.team_id, actor=actor, agent_id=agent.id, changes=changes)
    return agent


async def change_status(
    session: AsyncSession, *, team_id: UUID, agent_id: UUID, wanted: AgentStatus, actor: Actor, reason: str = ""
) -> Agent:
    """One conditional update decides, so that of two callers at once one wins and the other is told."""
    reason = check_text("reason", reason, most=500)
    values: dict[str, Any] = {"status": wanted, "version": Agent.version + 1, "updated_at": func.now()}
    if wanted is AgentStatus.ARCHIVED:
        await _refuse_to_archive_default(session, team_id, agent_id)
        values["archived_at"] = func.now()
    mine = (Agent.team_id == team_id) & (Agent.id == agent_id)
    statement = update(Agent).where(mine, Agent.status.in_(ALLOWED_FROM[wanted])).values(values).returning(Agent)
    agent = await session.scalar(statement)
    if agent is None:
        current = await session.scalar(select(Agent).where(mine))
        if current is None:
            raise _missing(agent_id)
        raise Conflict(refusal(current.name, current.status, wanted))
    if wanted is AgentStatus.ARCHIVED:
        await auth.revoke_keys_of_agent(session, team_id=team_id, agent_id=agent_id, actor=actor)
    if wanted is not AgentStatus.ACTIVE:
        follow_ups.schedule(session, FollowUpKind.AGENT_STOPPED, team_id=team_id, subject_id=agent_id)
    append(
        session,
        _STATUS_EVENT[wanted],
        team_id=team_id,
        actor=actor,
        agent_id=agent_id,
        changes={"status": wanted, "reason": reason},
    )
    return agent


async def spec_of(session: AsyncSession, agent: Agent) -> AgentSpec:
    skills = await session.scalars(select(Skill).where(Skill.agent_id == agent.id).order_by(Skill.position))
    return spec_from(agent, [SkillSpec(name=skill.name, description=skill.description) for skill in skills])


def spec_from(agent: Agent, skills: list[SkillSpec]) -> AgentSpec:
    return AgentSpec(
        traits=TraitsSpec(formality=agent.formality, humor=agent.humor, technical_depth=agent.technical_depth),
        skills=tuple(skills),
        **{name: getattr(agent, name) for name in AgentSpec.model_fields if name not in {"traits", "skills", "tools"}},
        tools=tuple(agent.tools),
    )


async def lock(session: AsyncSession, team_id: UUID, agent_id: UUID) -> Agent:
    """The agent's row, held until the transaction ends; raises NotFound."""
    # Without the key: rows that name the agent may be written meanwhile. Read anew: the session may hold old values.
    statement = select(Agent).where(Agent.team_id == team_id, Agent.id == agent_id).with_for_update(key_share=True)
    agent = await session.scalar(statement.execution_options(populate_existing=True))
    if agent is None:
        raise _missing(agent_id)
    return agent


async def _refuse_to_archive_default(session: AsyncSession, team_id: UUID, agent_id: UUID) -> None:
    team = await teams.lock(session, team_id)
    if team.default_agent_id == agent_id:
        raise Conflict("This is the team's default agent. Name another default_agent in the team file first.")


async def _replace_skills(session: AsyncSession, agent: Agent, spec: AgentSpec) -> None:
    await session.execute(delete(Skill).where(Skill.agent_id == agent.id))
    rows = [
        {"team_id": agent.team_id, "agent_id": agent.id, "position": position, **skill.model_dump()}
        for position, skill in enumerate(spec.skills)
    ]
    if rows:
        await session.execute(insert(Skill), rows)


def _columns(spec: AgentSpec) -> dict[str, Any]:
    plain = {name: getattr(spec, name) for name in AgentSpec.model_fields if name not in {"traits", "skills", "tools"}}
    return {**plain, **spec.traits.model_dump(), "tools": list(spec.tools)}


def _missing(agent_id: UUID) -> NotFound:
    return NotFound(f"There is no agent {to_global(Prefix.AGENT, agent_id)} in this team.")
