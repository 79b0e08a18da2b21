"""In whose name a key may delegate and work: an agent's key only in that agent's own."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

import strawberry
from pydantic import BaseModel, ValidationError

from app.agents.spec import problems_of
from app.auth.principal import Principal
from app.auth.roles import Permission, Role, roles_with
from app.errors import Forbidden, InvalidInput

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
