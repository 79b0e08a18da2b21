"""Sets a team's handoff rules. Deciding by them comes after an agent's reply, elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app.agents.models import Agent, AgentStatus
from app.errors import InvalidInput
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.handoffs.changes import RuleChanges, compare
from app.handoffs.models import HandoffRule
from app.handoffs.spec import ANY_AGENT, PREVIOUS_AGENT, HandoffRuleSpec, problems_with
from app.teams.models import Team


async def rules_of(session: AsyncSession, team_id: UUID) -> dict[UUID, HandoffRuleSpec]:
    """By id, in the order in which they are tried; without those that name an archived agent and so can never fire."""
    source, target = aliased(Agent), aliased(Agent)
    statement = (
        select(HandoffRule, source.slug, target.slug)
        .outerjoin(source, source.id == HandoffRule.from_agent_id)
        .outerjoin(target, target.id == HandoffRule.to_agent_id)
        .where(HandoffRule.team_id == team_id)
        .where(*(or_(agent.id.is_(None), agent.status != AgentStatus.ARCHIVED) for agent in (source, target)))
        .order_by(HandoffRule.priority.desc(), HandoffRule.id)
    )
    rows = await session.execute(statement.execution_options(populate_existing=True))
    return {rule.id: _spec(rule, from_slug, to_slug) for rule, from_slug, to_slug in rows}


async def replace(session: AsyncSession, *, team: Team, rules: Sequence[HandoffRuleSpec], actor: Actor) -> RuleChanges:
    """Bring a locked team to these rules, touching only what differs; raises InvalidInput that names every problem."""
    agents = await _living_agents(session, team.id)
    if problems := problems_with(rules, slugs=agents, variables=team.context_variables):
        raise InvalidInput("These handoff rules do not fit the team.", problems)
    current = await rules_of(session, team.id)
    changes = compare(list(current.values()), rules)
    if changes:
        await _write(session, team.id, current, changes, agents)
        append(session, EventKind.TEAM_HANDOFF_RULES_CHANGED, team_id=team.id, actor=actor, changes=_told(changes))
    return changes


async def _write(
    session: AsyncSession,
    team_id: UUID,
    current: Mapping[UUID, HandoffRuleSpec],
    changes: RuleChanges,
    agents: Mapping[str, UUID],
) -> None:
    ids = {rule.identity: rule_id for rule_id, rule in current.items()}
    gone = [rule_id for rule_id, rule in current.items() if rule in changes.removed]
    if gone:
        await session.execute(delete(HandoffRule).where(HandoffRule.id.in_(gone)))
    for rule in changes.reprioritised:
        mine = HandoffRule.id == ids[rule.identity]
        await session.execute(update(HandoffRule).where(mine).values(priority=rule.priority))
    session.add_all(_row(team_id, rule, agents) for rule in changes.added)
    await session.flush()


async def _living_agents(session: AsyncSession, team_id: UUID) -> dict[str, UUID]:
    living = (Agent.team_id == team_id) & (Agent.status != AgentStatus.ARCHIVED)
    rows = await session.execute(select(Agent.slug, Agent.id).where(living))
    return {slug: agent_id for slug, agent_id in rows}


def _spec(rule: HandoffRule, from_slug: str | None, to_slug: str | None) -> HandoffRuleSpec:
    return HandoffRuleSpec(
        from_agent=from_slug or ANY_AGENT,
        to_agent=to_slug or PREVIOUS_AGENT,
        condition=rule.condition,
        priority=rule.priority,
    )


def _row(team_id: UUID, rule: HandoffRuleSpec, agents: Mapping[str, UUID]) -> HandoffRule:
    return HandoffRule(
        team_id=team_id,
        from_agent_id=agents.get(rule.from_agent),
        to_agent_id=agents.get(rule.to_agent),
        condition=rule.condition,
        priority=rule.priority,
    )


def _told(changes: RuleChanges) -> dict[str, int]:
    return {
        "added": len(changes.added),
        "removed": len(changes.removed),
        "reprioritised": len(changes.reprioritised),
    }
