"""Applies a team file to a team: all of it or nothing, and only what differs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent, AgentStatus
from app.budgets.caps import set_team_caps
from app.budgets.models import AccountKind
from app.collaborations.templates import SECTION, as_stored
from app.config import Settings
from app.events.log import Actor
from app.groups import service as groups
from app.handoffs import service as handoffs
from app.team_files.parse import ParsedFile, parse
from app.team_files.plan import Plan, make_plan
from app.team_files.queries import agents_by_slug, current
from app.team_files.result import TeamFileResult, result_of
from app.teams import service as teams
from app.teams.models import Team

_COLUMNS = {"after_work_behavior": "after_work"}  # where the file's word is not the column's


async def apply(
    session: AsyncSession, *, team_id: UUID, text: str, actor: Actor, prune: bool = False, dry_run: bool = False
) -> TeamFileResult:
    """Answers what was done, or with `dry_run` would be. Raises InvalidInput that names every problem with its line.

    Agents that the file does not name stay as they are, unless `prune` archives them.
    """
    parsed = await read(text)
    return await apply_parsed(session, team_id=team_id, parsed=parsed, actor=actor, prune=prune, dry_run=dry_run)


async def read(text: str) -> ParsedFile:
    """Raises InvalidInput. Takes its time with a large file: call it before the transaction where that can be."""
    return await asyncio.to_thread(parse, text)


async def apply_parsed(
    session: AsyncSession,
    *,
    team_id: UUID,
    parsed: ParsedFile,
    actor: Actor,
    prune: bool = False,
    dry_run: bool = False,
    settings: Settings | None = None,
) -> TeamFileResult:
    team = await teams.lock(session, team_id)
    rows = await agents_by_slug(session, team_id, lock=True)
    plan = make_plan(await current(session, team, rows), parsed.file, prune=prune)
    parsed.refuse(plan.problems)
    result = result_of(plan)
    if result.changed and not dry_run:
        await _carry_out(session, team, rows, plan, actor, settings)
    return result


async def _carry_out(
    session: AsyncSession, team: Team, rows: Mapping[str, Agent], plan: Plan, actor: Actor, settings: Settings | None
) -> None:
    ids = {slug: agent.id for slug, agent in rows.items()}
    for spec in plan.created:
        ids[spec.slug] = (await agents.create(session, team_id=team.id, spec=spec, actor=actor)).id
    for change in plan.updated:
        row = rows[change.slug]
        await agents.apply(session, agent=row, before=change.before, after=change.after, actor=actor)
    await teams.change(session, team=team, fields=_team_fields(plan, ids), actor=actor)
    if plan.flags:
        await teams.set_flags(session, team_id=team.id, changes=dict(plan.flags), actor=actor)
    if plan.budgets:
        own = {AccountKind.TEAM_DAY: plan.budgets.day_usd, AccountKind.TEAM_MONTH: plan.budgets.month_usd}
        await set_team_caps(session, team_id=team.id, own=own, actor=actor, settings=settings)
    if plan.groups is not None:  # before the rules, which may name them
        await groups.replace(session, team_id=team.id, groups=plan.groups, actor=actor)
    if plan.rule_changes:
        await handoffs.replace(session, team=team, rules=plan.rules, actor=actor)
    for slug in plan.archived:  # last: by now neither the default nor a rule names them
        await agents.change_status(
            session, team_id=team.id, agent_id=ids[slug], wanted=AgentStatus.ARCHIVED, actor=actor, reason="team file"
        )


def _team_fields(plan: Plan, ids: Mapping[str, UUID]) -> dict[str, Any]:
    fields = {_COLUMNS.get(name, name): value for name, value in plan.settings.items()}
    if plan.templates is not None:
        fields[SECTION] = as_stored(plan.templates)
    return fields if plan.default_agent is None else {**fields, "default_agent_id": ids[plan.default_agent]}
