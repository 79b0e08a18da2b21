"""Which rule would fire on a reply that nobody has given: the same decision as after a real one, without effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.db.transaction import Transactions
from app.errors import FieldProblem, InvalidInput, NotFound, check_text
from app.handoffs import service
from app.handoffs.condition.problem import hint
from app.handoffs.decision import Decision, Rule, Situation, Values, asked, decide, groups_asked, in_play
from app.handoffs.judging.judge import Judge
from app.handoffs.state import loads
from app.handoffs.to_group import picks
from app.handoffs.variables import reported
from app.teams.models import Team
from app.teams.variables import Value, VariableKind, checked, kind_of

MAX_REPLY = 100_000  # characters


@dataclass(frozen=True, slots=True)
class Trial:
    decision: Decision
    judge: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class _Stage:
    team: Team
    agent: str
    previous: str | None
    active: frozenset[str]
    known: Mapping[str, VariableKind]
    rules: list[Rule]
    loads: Mapping[str, int]


async def try_rules(
    transaction: Transactions,
    judge: Judge,
    *,
    team_id: UUID,
    text: str,
    from_agent: UUID,
    previous_agent: UUID | None,
    variables: Any,
) -> Trial:
    """Raises InvalidInput and NotFound. Loads are live; of other system state only what is given is known."""
    text = check_text("text", text, most=MAX_REPLY, least=1)
    async with transaction() as session:
        stage = await _stage(session, team_id, from_agent, previous_agent)
    given = _given(variables, stage.known)
    said = reported(text, stage.team.runtime_variables)
    own = {**stage.loads, "reply_words": len(text.split())}
    values = Values(
        trusted={**own, **stage.team.context_variables, **given},
        with_text={**own, **stage.team.context_variables, **said, **given},
    )
    verdicts = await judge.judge(text, asked(stage.rules, values, everything=True))
    async with transaction() as session:
        wanted = groups_asked(stage.rules, values, verdicts)
        found = await picks(session, team_id, wanted, text=text, exclude={from_agent})
    situation = Situation(stage.agent, stage.previous, stage.active, values, verdicts, picks=found)
    return Trial(decide(stage.rules, situation, after_work=stage.team.after_work), judge.name, values.with_text)


async def _stage(session: AsyncSession, team_id: UUID, from_agent: UUID, previous_agent: UUID | None) -> _Stage:
    team = await session.get_one(Team, team_id)
    found = await session.execute(select(Agent.id, Agent.slug, Agent.status).where(Agent.team_id == team_id))
    living = {row.id: row for row in found if row.status is not AgentStatus.ARCHIVED}
    for agent_id in (from_agent, previous_agent):
        if agent_id is not None and agent_id not in living:
            raise NotFound("There is no such agent in this team, or it is archived.")
    slugs = {row.slug: row.id for row in living.values()}
    known = service.variables_of(team, slugs)
    agent = living[from_agent].slug
    return _Stage(
        team=team,
        agent=agent,
        previous=living[previous_agent].slug if previous_agent else None,
        active=frozenset(row.slug for row in living.values() if row.status is AgentStatus.ACTIVE),
        known=known,
        rules=in_play(await service.rules_of(session, team_id), known, agent),
        loads=await loads(session, team_id),
    )


def _given(variables: Any, known: Mapping[str, VariableKind]) -> dict[str, Value]:
    """The caller's values, checked against the kinds that the rules were saved with; raises InvalidInput."""
    if not isinstance(variables, dict):
        raise InvalidInput.of("variables", 'must be an object such as {"word_count": 850}')
    found: dict[str, Value] = {}
    problems: list[FieldProblem] = []
    for name, value in variables.items():
        try:
            found[name] = checked(value)
        except ValueError as error:
            problems.append(FieldProblem(f"variables.{name[:80]}", str(error)))
            continue
        kind = known.get(name) or (VariableKind.BOOLEAN if name.endswith("_complete") else None)
        if kind is None:
            problems.append(FieldProblem(f"variables.{name[:80]}", f"there is no such variable{hint(name, known)}"))
        elif kind is not kind_of(found[name]):
            problems.append(FieldProblem(f"variables.{name[:80]}", f"must be {kind.value}"))
    if problems:
        raise InvalidInput("These variables do not fit the team.", problems)
    return found
