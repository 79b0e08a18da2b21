"""Enums of API keys in the schema."""

from __future__ import annotations

from app.auth.roles import Role
from graphql_schema.publish_enum import publish_enum

publish_enum(
    Role,
    "What a key may do.",
    {
        Role.ADMIN: "Everything in the team.",
        Role.OPERATOR: "Reads everything and intervenes: pauses, cancels, answers.",
        Role.INTEGRATOR: "Reads and changes agents and their work, from programs.",
        Role.ANALYST: "Reads only.",
        Role.AGENT: "Acts as one agent, in its own name.",
    },
)
