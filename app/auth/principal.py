"""Who is calling: the facts of an API key. They never change and may be cached; its validity is always asked anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from app.auth.roles import Permission, Role, allowed, roles_with
from app.errors import Forbidden
from app.events.log import Actor


@dataclass(frozen=True, slots=True)
class Principal:
    key_id: UUID
    team_id: UUID
    role: Role
    name: str
    agent_id: UUID | None
    secret: str = field(repr=False)

    @property
    def actor(self) -> Actor:
        return Actor(self.name, self.key_id)

    def require(self, permission: Permission) -> None:
        if not allowed(self.role, permission):
            needed = ", ".join(role.value for role in roles_with(permission))
            raise Forbidden(
                f"A key with role {self.role.value} may not {permission.value}. "
                f"Use a key with one of these roles: {needed}.",
                permission=permission.name,
                roles=[role.name for role in roles_with(permission)],
            )
