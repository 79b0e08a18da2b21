"""Saves and deletes a team's contracts, finds the one that a new task is to keep to, and sees whether it does."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app.clock import now
from app.contracts.built_in import BUILT_IN, BuiltIn
from app.contracts.check import check
from app.contracts.documents import invalid, require_document
from app.contracts.models import Contract
from app.contracts.spec import ContractSpec
from app.errors import Conflict, DocumentProblem, FieldProblem, InvalidInput, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, new_id, to_global
from app.teams import service as teams
from app.teams.models import Team
from app.teams.values import same

MAX_CONTRACTS = 200
MAX_VERSIONS = 1_000
MOST_INPUT_BYTES = 100_000
INPUT = "contractInput"
OUTPUT = "output"


async def save(session: AsyncSession, *, team_id: UUID, spec: ContractSpec, actor: Actor) -> Contract:
    """A new contract or a new version of it; what is saved again as it is stays the version that it was.

    Tasks keep the version that they were delegated with.
    """
    await teams.lock(session, team_id)
    latest = await _latest(session, team_id, spec.name)
    current = latest if latest is not None and latest.retired_at is None else None
    if current is not None and _says_the_same(current, spec):
        return current
    if current is None:
        await _refuse_one_more(session, team_id)
    version = 1 if latest is None else latest.version + 1
    if version > MAX_VERSIONS:
        raise Conflict(f"'{spec.name}' has {MAX_VERSIONS:,} versions, the most there may be. Choose another name.")
    if current is not None:
        current.retired_at = now()
        await session.flush()
    made = Contract(id=new_id(), team_id=team_id, version=version, built_in=False, **spec.model_dump())
    session.add(made)
    _tell(session, EventKind.CONTRACT_SAVED, made, actor)
    return made


async def delete(session: AsyncSession, *, team_id: UUID, name: str, actor: Actor) -> Contract:
    """No new task can name it; those that have it keep it. Raises NotFound, or Conflict for a built-in one."""
    if name in BUILT_IN:
        raise Conflict(f"'{name}' is built in and cannot be deleted.")
    _refuse_no_name(name)
    await teams.lock(session, team_id)
    contract = await _latest(session, team_id, name)
    if contract is None or contract.retired_at is not None:
        raise _missing(name)
    contract.retired_at = now()
    _tell(session, EventKind.CONTRACT_DELETED, contract, actor)
    return contract


async def find(session: AsyncSession, *, team_id: UUID, name: str) -> Contract:
    """The version that counts now; raises NotFound."""
    _refuse_no_name(name)
    current = select(Contract).where(Contract.team_id == team_id, Contract.name == name, Contract.retired_at.is_(None))
    found = await session.scalar(current)
    if found is None and name in BUILT_IN:
        await add_built_in(session, team_id=team_id)
        found = await session.scalar(current)
    if found is None:
        raise _missing(name)
    return found


async def by_id(session: AsyncSession, contract_id: UUID) -> Contract:
    return (await session.scalars(select(Contract).where(Contract.id == contract_id))).one()


async def require_input(contract: Contract, given: Any) -> None:
    """Raises InvalidInput that names every field that does not fit what a task of this contract is given."""
    if given is not None:
        require_document(INPUT, given, most_bytes=MOST_INPUT_BYTES)
    if contract.input_schema is None:
        return
    if given is None:
        raise invalid(INPUT, f"is needed: the contract '{contract.name}' says what a task is given")
    found = await asyncio.to_thread(check, contract.input_schema, given)
    if found:
        problems: list[FieldProblem] = [DocumentProblem(_below(INPUT, one["path"]), one["message"]) for one in found]
        raise InvalidInput("; ".join(f"{one['path']}: {one['message']}" for one in problems), problems)


async def output_problems(contract: Contract, output: dict[str, Any] | None) -> list[FieldProblem]:
    """What keeps an output from fitting what a task of this contract must answer."""
    return [] if contract.output_schema is None else await problems_with(contract.output_schema, output)


async def problems_with(schema: dict[str, Any], output: dict[str, Any] | None) -> list[FieldProblem]:
    """What keeps an output from fitting a schema."""
    if output is None:
        return [DocumentProblem(OUTPUT, "is missing")]
    found = await asyncio.to_thread(check, schema, output)
    return [DocumentProblem(one["path"] or OUTPUT, one["message"]) for one in found]


async def add_built_in(session: AsyncSession, *, team_id: UUID | None = None) -> None:
    """Give a team, or every team, the built-in contracts that it has in no version that counts, or only in an older
    one."""
    for contract in BUILT_IN.values():
        await _add(session, contract, team_id)


async def _add(session: AsyncSession, contract: BuiltIn, team_id: UUID | None) -> None:
    same_name = (Contract.name == contract.name) & Contract.built_in
    counts = same_name & (Contract.version >= contract.version) & Contract.retired_at.is_(None)
    has_it = select(Contract.id).where(counts, Contract.team_id == Team.id)
    lacking = select(Team.id).where(~has_it.exists())
    teams_without = list(await session.scalars(lacking if team_id is None else lacking.where(Team.id == team_id)))
    if not teams_without:
        return
    # Only what is older: another transaction may have added the present version since.
    older = same_name & (Contract.version < contract.version) & Contract.team_id.in_(teams_without)
    await session.execute(update(Contract).where(older, Contract.retired_at.is_(None)).values(retired_at=func.now()))
    await _restore(session, same_name & (Contract.version == contract.version) & Contract.team_id.in_(teams_without))
    fields = {
        "name": contract.name,
        "version": contract.version,
        "description": contract.description,
        "built_in": True,
        "input_schema": contract.input_schema,
        "output_schema": contract.output_schema,
    }
    rows = [{"id": new_id(), "team_id": one, **fields} for one in teams_without]
    await session.execute(insert(Contract).values(rows).on_conflict_do_nothing())


async def _restore(session: AsyncSession, present: ColumnElement[bool]) -> None:
    """What nobody may delete and nothing newer has replaced counts again, whatever retired it."""
    newer = aliased(Contract)
    same = (newer.team_id == Contract.team_id) & (newer.name == Contract.name)
    replaced = select(newer.id).where(same, newer.retired_at.is_(None)).exists()
    lost = update(Contract).where(present, Contract.retired_at.is_not(None), ~replaced)
    await session.execute(lost.values(retired_at=None))


async def _latest(session: AsyncSession, team_id: UUID, name: str) -> Contract | None:
    statement = select(Contract).where(Contract.team_id == team_id, Contract.name == name)
    latest = statement.order_by(Contract.version.desc()).limit(1)
    return await session.scalar(latest.execution_options(populate_existing=True))


async def _refuse_one_more(session: AsyncSession, team_id: UUID) -> None:
    own = (Contract.team_id == team_id) & Contract.retired_at.is_(None) & ~Contract.built_in
    if (await session.scalar(select(func.count()).where(own)) or 0) >= MAX_CONTRACTS:
        raise Conflict(f"The team has {MAX_CONTRACTS} contracts, the most there may be. Delete one first.")


def _says_the_same(contract: Contract, spec: ContractSpec) -> bool:
    return all(same(getattr(contract, name), value) for name, value in spec.model_dump().items())


def _tell(session: AsyncSession, kind: EventKind, contract: Contract, actor: Actor) -> None:
    told = {
        "contract_id": to_global(Prefix.CONTRACT, contract.id),
        "name": contract.name,
        "version": contract.version,
    }
    append(session, kind, team_id=contract.team_id, actor=actor, changes=told)


def _below(at: str, path: str) -> str:
    return f"{at}.{path}" if path else at


def _refuse_no_name(name: str) -> None:
    if "\0" in name:  # nothing that the database could look for
        raise _missing(name)


def _missing(name: str) -> NotFound:
    return NotFound(f"This team has no contract '{name[:80]}'.")
