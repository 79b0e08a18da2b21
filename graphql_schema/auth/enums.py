"""Enums of API keys in the schema."""

from __future__ import annotations

from app.auth.roles import Permission, Role
from graphql_schema.publish_enum import publish_enum

publish_enum(
    Role,
    "What an API key may do.",
    {
        Role.ADMIN: "Everything in the team.",
        Role.OPERATOR: "Reads everything and intervenes: pauses, cancels, answers.",
        Role.INTEGRATOR: "Reads and changes agents and their work, from programs.",
        Role.ANALYST: "Reads only.",
        Role.AGENT: "Acts as one agent, in its own name.",
    },
    name="KeyRole",
)
publish_enum(
    Permission,
    "What a role may be allowed to do.",
    {permission: f"To {permission.value}." for permission in Permission},
)
