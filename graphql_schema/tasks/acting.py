"""In whose name, and on what authority, a key may delegate and work: an agent's key only in that agent's own."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

import strawberry
from pydantic import BaseModel, ValidationError

from app.agents.spec import problems_of
from app.auth.principal import Principal
from app.auth.roles import Permission, Role, roles_with
from app.errors import Forbidden, InvalidInput
from app.ids import Prefix, from_global
from app.tasks.starts import BY_OTHERS, Start, find_start
from graphql_schema.mutations import Work

LEFT_OUT = "Left out by an agent's key: the task that its agent works on; without one its daily allowance pays."
T = TypeVar("T", bound=BaseModel)


def acting_as(principal: Principal, agent_id: UUID | None, permission: Permission) -> UUID | None:
    """The agent that the caller acts as: the one named, or for an agent's key its own; raises Forbidden."""
    if principal.role is not Role.AGENT:
        return agent_id
    if agent_id is not None and agent_id != principal.agent_id:
        roles = [role.name for role in roles_with(permission) if role is not Role.AGENT]
        raise Forbidden(
            "This key acts as one agent and may do this only in that agent's name.",
            permission=permission.name,
            roles=roles,
        )
    return principal.agent_id


def uuid_of(text: str, *, path: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput.of(path, "is not a claim token as claimTask gave it") from None


async def start_of(work: Work, task_id: str | None, claim_token: str | None = None, *, path: str) -> Start:
    """On what authority the caller starts work. An agent's key that names no task starts it below the one that its
    agent works on, else on its allowance."""
    token = uuid_of(claim_token, path="claimToken") if claim_token else None
    if task_id:
        return Start(task_id=from_global(Prefix.TASK, task_id, path=path), claim_token=token)
    if work.principal.agent_id is None:
        return BY_OTHERS
    return await find_start(work.session, team_id=work.team_id, agent_id=work.principal.agent_id, path=path)


def require_token(principal: Principal, task_id: str | None, claim_token: str | None) -> None:
    """An agent's key shows the claim under which it works on the task that it names."""
    if principal.role is Role.AGENT and task_id and not claim_token:
        raise InvalidInput.of("claimToken", "is needed to start work below a task")


def may_direct(principal: Principal) -> bool:
    """Whether the offline model obeys directives in what this key writes."""
    return principal.role in (Role.ADMIN, Role.INTEGRATOR)


def given(input: Any, *names: str) -> dict[str, Any]:
    """The fields that the caller gave; null counts as absent."""
    found = {name: getattr(input, name) for name in names}
    return {name: value for name, value in found.items() if value is not strawberry.UNSET and value is not None}


def parsed(kind: type[T], fields: dict[str, Any]) -> T:
    """Raises InvalidInput that names every wrong field."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        problems = problems_of(error)
        message = "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems)
        raise InvalidInput(message, problems) from None
