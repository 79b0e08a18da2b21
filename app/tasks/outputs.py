"""Whether an output fits what its task asks for.

A check may take a second, and a transaction that stays open holds every team's events back: so it comes before the one
that holds the task. What a task asks for never changes, nor does a version of a contract; whoever completes the task
sees under its lock that it was this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.contracts import service as contracts
from app.contracts.models import Contract
from app.tasks.failures import Failure, contract_violated, output_unfit
from app.tasks.models import Task


@dataclass(frozen=True, slots=True)
class Required:
    """What an output must fit: a schema of the task's own, a version of a contract, or nothing."""

    schema: dict[str, Any] | None
    contract: Contract | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, and of which output against what."""

    schema: dict[str, Any] | None
    contract_id: UUID | None
    output: dict[str, Any] | None
    violation: Failure | None

    def counts_for(self, task: Task, output: dict[str, Any] | None) -> bool:
        same = self.contract_id == task.contract_id and self.schema == task.output_schema
        return same and self.output is output


async def required_by(session: AsyncSession, *, team_id: UUID, task_id: UUID, claim_token: UUID) -> Required | None:
    """Without holding the task. None: the claim does not count, and no check is due."""
    statement = (
        select(Task.output_schema, Contract)
        .outerjoin(Contract, Contract.id == Task.contract_id)
        .where(Task.team_id == team_id, Task.id == task_id, Task.claim_token == claim_token)
    )
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else Required(*row)


async def check(required: Required, output: dict[str, Any] | None) -> Checked:
    """Not to be waited for inside a transaction, unless it was not known before what is required."""
    schema, contract = required.schema, required.contract
    return Checked(schema, contract.id if contract else None, output, await _violation(schema, contract, output))


async def checked_now(session: AsyncSession, task: Task, output: dict[str, Any] | None) -> Checked:
    """Of a held task."""
    contract = await contracts.by_id(session, task.contract_id) if task.contract_id else None
    return await check(Required(task.output_schema, contract), output)


async def _violation(
    schema: dict[str, Any] | None, contract: Contract | None, output: dict[str, Any] | None
) -> Failure | None:
    if schema is not None:
        problems = await contracts.problems_with(schema, output)
        return output_unfit(problems) if problems else None
    if contract is None:
        return None
    problems = await contracts.output_problems(contract, output)
    return contract_violated(contract.name, contract.version, problems) if problems else None
