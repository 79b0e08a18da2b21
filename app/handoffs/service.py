"""Saves, deletes and replaces a team's handoff rules, in versions. Deciding by them comes after an agent's reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app.agents.models import Agent, AgentStatus
from app.agents.spec import problems_of
from app.clock import now
from app.errors import Conflict, FieldProblem, InvalidInput, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.groups.models import AgentGroup
from app.groups.service import ids_by_slug
from app.handoffs.changes import RuleChanges, compare
from app.handoffs.condition.check import read
from app.handoffs.errors import InvalidCondition
from app.handoffs.models import HandoffRule
from app.handoffs.spec import ANY_AGENT, MAX_RULES, PREVIOUS_AGENT, HandoffRuleSpec, problems_with
from app.handoffs.variables import known
from app.ids import Prefix, new_id, to_global
from app.teams import service as teams
from app.teams.models import Team
from app.teams.variables import VariableKind


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule to be saved; no `from_agent_id` means any agent, neither target the previous one."""

    from_agent_id: UUID | None
    to_agent_id: UUID | None
    condition: str
    priority: int
    to_group_id: UUID | None = None
    trusts_text: bool = False


async def rules_of(session: AsyncSession, team_id: UUID, *, at: datetime | None = None) -> dict[UUID, HandoffRuleSpec]:
    """By id, in the order in which they are tried, as they are now or were at a time; without those that name an
    archived agent or a dissolved group and so can never fire."""
    source, target = aliased(Agent), aliased(Agent)
    present: ColumnElement[bool] = HandoffRule.retired_at.is_(None)
    if at is not None:
        present = and_(HandoffRule.created_at <= at, or_(present, HandoffRule.retired_at > at))
    statement = (
        select(HandoffRule, source.slug, target.slug, AgentGroup.slug)
        .outerjoin(source, source.id == HandoffRule.from_agent_id)
        .outerjoin(target, target.id == HandoffRule.to_agent_id)
        .outerjoin(AgentGroup, AgentGroup.id == HandoffRule.to_group_id)
        .where(HandoffRule.team_id == team_id, present, AgentGroup.dissolved_at.is_(None))
        .where(*(or_(agent.id.is_(None), agent.status != AgentStatus.ARCHIVED) for agent in (source, target)))
        .order_by(HandoffRule.priority.desc(), func.coalesce(HandoffRule.first_id, HandoffRule.id))
    )
    rows = await session.execute(statement.execution_options(populate_existing=True))
    return {rule.id: _spec(rule, *slugs) for rule, *slugs in rows}


async def save(
    session: AsyncSession, *, team_id: UUID, rule_id: UUID | None, draft: RuleDraft, actor: Actor
) -> HandoffRule:
    """A new rule, or with `rule_id` (of any version) a new version of one; saved again as it is it stays the version
    that it was. Raises InvalidCondition, InvalidInput, NotFound or Conflict."""
    team = await teams.lock(session, team_id)
    agents, groups = await _living_agents(session, team_id), await ids_by_slug(session, team_id)
    spec = _spec_of(draft, agents, groups)
    _, problems = read(spec.condition, variables_of(team, agents))
    if problems:
        raise InvalidCondition(problems)
    current = await _current(session, team_id, rule_id) if rule_id is not None else None
    rules = await rules_of(session, team_id)
    if any(one.identity == spec.identity and key != (current and current.id) for key, one in rules.items()):
        raise Conflict("The team has a rule with these agents and this condition already.")
    wanted = _row(team_id, spec, agents, groups)
    if current is not None and _says(current, wanted):
        return current
    if current is None and len(rules) >= MAX_RULES:
        raise Conflict(f"The team has {MAX_RULES:,} rules, the most there may be. Delete one first.")
    made = await _write(session, wanted, current)
    _tell(session, team_id, actor, rule=made, saved=1)
    return made


async def delete(session: AsyncSession, *, team_id: UUID, rule_id: UUID, actor: Actor) -> HandoffRule:
    """It decides no more; replies that began before still follow it. Raises NotFound."""
    await teams.lock(session, team_id)
    rule = await _current(session, team_id, rule_id)
    rule.retired_at = now()
    _tell(session, team_id, actor, rule=rule, removed=1)
    return rule


async def replace(session: AsyncSession, *, team: Team, rules: Sequence[HandoffRuleSpec], actor: Actor) -> RuleChanges:
    """Bring a locked team to these rules, touching only what differs; raises InvalidInput that names every problem."""
    agents, groups = await _living_agents(session, team.id), await ids_by_slug(session, team.id)
    if problems := problems_with(rules, slugs=agents, variables=variables_of(team, agents), groups=groups):
        raise InvalidInput("These handoff rules do not fit the team.", problems)
    current = await rules_of(session, team.id)
    changes = compare(list(current.values()), rules)
    if changes:
        await _carry_out(session, team.id, current, changes, agents, groups)
        append(session, EventKind.TEAM_HANDOFF_RULES_CHANGED, team_id=team.id, actor=actor, changes=_told(changes))
    return changes


def variables_of(team: Team, slugs: Mapping[str, UUID]) -> dict[str, VariableKind]:
    """What a condition of this team may name."""
    return known(
        context=team.context_variables, runtime=team.runtime_variables, input=team.input_variables, slugs=slugs
    )


async def _carry_out(
    session: AsyncSession,
    team_id: UUID,
    current: Mapping[UUID, HandoffRuleSpec],
    changes: RuleChanges,
    agents: Mapping[str, UUID],
    groups: Mapping[str, UUID],
) -> None:
    ids = {rule.identity: rule_id for rule_id, rule in current.items()}
    gone = [rule_id for rule_id, rule in current.items() if rule in changes.removed]
    if gone:
        await session.execute(update(HandoffRule).where(HandoffRule.id.in_(gone)).values(retired_at=now()))
    for rule in changes.reprioritised:
        current_one = await _current(session, team_id, ids[rule.identity])
        await _write(session, _row(team_id, rule, agents, groups), current_one)
    session.add_all(_row(team_id, rule, agents, groups) for rule in changes.added)
    await session.flush()


async def _write(session: AsyncSession, made: HandoffRule, current: HandoffRule | None) -> HandoffRule:
    if current is not None:
        made.first_id, made.version = current.root_id, current.version + 1
        current.retired_at = made.created_at = now()
    session.add(made)
    await session.flush()
    return made


async def _current(session: AsyncSession, team_id: UUID, rule_id: UUID) -> HandoffRule:
    """The version that counts of the rule that this is a version of; raises NotFound."""
    root = select(func.coalesce(HandoffRule.first_id, HandoffRule.id)).where(
        HandoffRule.team_id == team_id, HandoffRule.id == rule_id
    )
    same_rule = func.coalesce(HandoffRule.first_id, HandoffRule.id) == root.scalar_subquery()
    statement = select(HandoffRule).where(HandoffRule.team_id == team_id, same_rule, HandoffRule.retired_at.is_(None))
    found = await session.scalar(statement.execution_options(populate_existing=True))
    if found is None:
        raise NotFound("There is no such handoff rule in this team, or it was deleted.")
    return found


async def _living_agents(session: AsyncSession, team_id: UUID) -> dict[str, UUID]:
    living = (Agent.team_id == team_id) & (Agent.status != AgentStatus.ARCHIVED)
    rows = await session.execute(select(Agent.slug, Agent.id).where(living))
    return {slug: agent_id for slug, agent_id in rows}


def _spec_of(draft: RuleDraft, agents: Mapping[str, UUID], groups: Mapping[str, UUID]) -> HandoffRuleSpec:
    slugs = {one: slug for slug, one in agents.items()}
    group_slugs = {one: slug for slug, one in groups.items()}
    named = (
        ("from_agent_id", draft.from_agent_id, slugs, "there is no such agent in this team, or it is archived"),
        ("to_agent_id", draft.to_agent_id, slugs, "there is no such agent in this team, or it is archived"),
        ("to_group_id", draft.to_group_id, group_slugs, "there is no such group in this team, or it is dissolved"),
    )
    missing = [FieldProblem(path, words) for path, one, known, words in named if one is not None and one not in known]
    if missing:
        raise InvalidInput("The rule names an agent or a group that the team does not have.", missing)
    try:
        return HandoffRuleSpec(
            from_agent=ANY_AGENT if draft.from_agent_id is None else slugs[draft.from_agent_id],
            to_agent=_target(draft, slugs),
            to_group=group_slugs[draft.to_group_id] if draft.to_group_id else None,
            condition=draft.condition,
            priority=draft.priority,
            trusts_text=draft.trusts_text,
        )
    except ValidationError as error:
        raise InvalidInput("The rule cannot be taken.", problems_of(error)) from None


def _target(draft: RuleDraft, slugs: Mapping[UUID, str]) -> str | None:
    if draft.to_group_id is not None:
        return slugs[draft.to_agent_id] if draft.to_agent_id else None
    return slugs[draft.to_agent_id] if draft.to_agent_id else PREVIOUS_AGENT


def _says(rule: HandoffRule, wanted: HandoffRule) -> bool:
    names = ("from_agent_id", "to_agent_id", "to_group_id", "condition", "priority", "trusts_text")
    return all(getattr(rule, name) == getattr(wanted, name) for name in names)


def _spec(rule: HandoffRule, from_slug: str | None, to_slug: str | None, group: str | None) -> HandoffRuleSpec:
    return HandoffRuleSpec(
        from_agent=from_slug or ANY_AGENT,
        to_agent=to_slug or (None if group else PREVIOUS_AGENT),
        to_group=group,
        condition=rule.condition,
        priority=rule.priority,
        trusts_text=rule.trusts_text,
    )


def _row(team_id: UUID, rule: HandoffRuleSpec, agents: Mapping[str, UUID], groups: Mapping[str, UUID]) -> HandoffRule:
    return HandoffRule(
        id=new_id(),
        team_id=team_id,
        from_agent_id=agents.get(rule.from_agent),
        to_agent_id=agents.get(rule.to_agent or ""),
        to_group_id=groups[rule.to_group] if rule.to_group else None,
        condition=rule.condition,
        priority=rule.priority,
        trusts_text=rule.trusts_text,
        version=1,
        created_at=now(),
    )


def _tell(session: AsyncSession, team_id: UUID, actor: Actor, *, rule: HandoffRule, **counts: int) -> None:
    told = {"rule_id": to_global(Prefix.HANDOFF_RULE, rule.id), "version": rule.version, **counts}
    append(session, EventKind.TEAM_HANDOFF_RULES_CHANGED, team_id=team_id, actor=actor, changes=told)


def _told(changes: RuleChanges) -> dict[str, int]:
    return {
        "added": len(changes.added),
        "removed": len(changes.removed),
        "reprioritised": len(changes.reprioritised),
    }
