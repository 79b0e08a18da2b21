"""A team's routing policies: numbered versions that never change, the newest of which counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict, check_text
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor, append
from app.ids import Prefix, new_id, to_global
from app.routing.models import RoutingPolicy
from app.routing.score import UNITS, Weights, units
from app.routing.select import Policy, Strategy
from app.teams import service as teams

MAX_NOTE = 500
WEIGHTS = tuple(field.name for field in fields(Weights))


async def ensure(session: AsyncSession, team_id: UUID) -> RoutingPolicy:
    """The policy that counts. A team without one gets the defaults as its first version, so that every decision can
    point to the version that it was made under."""
    found = await _newest(session, team_id)
    if found is None:
        values = {"id": new_id(), "team_id": team_id, "version": 1, "created_by": SYSTEM.name, **columns(Policy())}
        await session.execute(insert(RoutingPolicy).values(**values, note="The defaults.").on_conflict_do_nothing())
        found = await _newest(session, team_id)
        assert found is not None
    return found


async def change(
    session: AsyncSession,
    *,
    team_id: UUID,
    weights: Mapping[str, float],
    settings: Mapping[str, Any],
    note: str,
    actor: Actor,
    expected_version: int | None = None,
) -> RoutingPolicy:
    """A new version with what is given changed; the version that counts already when nothing differs.

    Raises InvalidInput, and Conflict when another version counts than the caller has seen.
    """
    note = check_text("note", note, most=MAX_NOTE)
    await teams.lock(session, team_id)
    before = await ensure(session, team_id)
    if expected_version is not None and before.version != expected_version:
        raise Conflict(
            f"The routing policy is at version {before.version}, not {expected_version}. Read it again and retry."
        )
    old = policy_of(before)
    new = replace(old, weights=Weights(**(vars(old.weights) | dict(weights))), **settings)
    if new == old:
        return before
    values = {"team_id": team_id, "version": before.version + 1, "created_by": actor.name, **columns(new)}
    after = RoutingPolicy(id=new_id(), note=note, **values)
    session.add(after)
    await session.flush()
    changed = {name: value for name, value in columns(new).items() if value != columns(old)[name]}
    append(
        session,
        EventKind.ROUTING_POLICY_CHANGED,
        team_id=team_id,
        actor=actor,
        changes={
            "policy_id": to_global(Prefix.ROUTING_POLICY, after.id),
            "version": after.version,
            "note": note,
            **{name: value / UNITS if name in _COUNTED else value for name, value in changed.items()},
        },
    )
    return after


def policy_of(row: Any, *, ensemble_allowed: bool = True) -> Policy:
    """`row` has the columns of RoutingPolicy as attributes."""
    return Policy(
        weights=Weights(*(getattr(row, f"{name}_weight") / UNITS for name in WEIGHTS)),
        threshold=row.threshold / UNITS,
        skill_floor=row.skill_floor / UNITS,
        strategy=Strategy(row.strategy),
        k=row.k,
        ensemble_allowed=ensemble_allowed,
    )


def columns(policy: Policy) -> dict[str, Any]:
    return {
        **{f"{name}_weight": units(getattr(policy.weights, name)) for name in WEIGHTS},
        "threshold": units(policy.threshold),
        "skill_floor": units(policy.skill_floor),
        "strategy": policy.strategy,
        "k": policy.k,
    }


_COUNTED = {*(f"{name}_weight" for name in WEIGHTS), "threshold", "skill_floor"}


async def _newest(session: AsyncSession, team_id: UUID) -> RoutingPolicy | None:
    mine = select(RoutingPolicy).where(RoutingPolicy.team_id == team_id)
    return await session.scalar(mine.order_by(RoutingPolicy.version.desc()).limit(1))
