"""Mutations of API keys."""

from __future__ import annotations

import os
from typing import Any

import strawberry

from app.auth import service as auth
from app.auth.principal import Principal
from app.auth.roles import Permission, Role
from app.auth.tokens import derived_secret
from app.ids import Prefix, from_global
from graphql_schema.auth.types import ApiKey
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import Conflict, NotFound
from graphql_schema.scalars import DateTime


@strawberry.input(description="A new API key.")
class CreateApiKeyInput(MutationInput):
    name: str = strawberry.field(description="What the key is for, 1 to 120 characters.")
    role: Role = strawberry.field(description="What the key may do.")
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="The agent that the key acts as; with role AGENT, and only then."
    )
    expires_at: DateTime | None = strawberry.field(default=None, description="When the key stops working; null: never.")


@strawberry.input(description="Which API key to revoke.")
class RevokeApiKeyInput(MutationInput):
    api_key_id: strawberry.ID = strawberry.field(description="Which key.")


@strawberry.type(description="The API key after the change.")
class ApiKeyPayload(Payload):
    api_key: ApiKey = entity("The key, without its secret.")


@strawberry.type(description="A new API key and its secret.")
class CreateApiKeyPayload(Payload):
    api_key: ApiKey = entity("The key.")
    secret: str = strawberry.field(
        description="What to send as `Authorization: Bearer …`. Shown here and never again; only a hash is kept."
    )
    salt: strawberry.Private[str] = ""

    def to_outcome(self) -> dict[str, Any]:
        """The secret is not kept; a retry by the same caller derives it anew from the salt."""
        return super().to_outcome() | {"secret": ""}

    @classmethod
    def from_outcome(cls, outcome: dict[str, Any], principal: Principal) -> Payload:
        secret = derived_secret(principal.secret, bytes.fromhex(outcome["salt"]))
        return cls(**(outcome | {"secret": secret}))


@mutation("Creates an API key and shows its secret, once.", needs=Permission.MANAGE_KEYS, refusals=(NotFound,))
async def create_api_key(work: Work, input: CreateApiKeyInput) -> CreateApiKeyPayload:
    salt = os.urandom(16)
    secret = derived_secret(work.principal.secret, salt)
    key = await auth.issue(
        work.session,
        team_id=work.team_id,
        name=input.name,
        role=input.role,
        agent_id=from_global(Prefix.AGENT, input.agent_id, path="agentId") if input.agent_id else None,
        expires_at=input.expires_at,
        secret=secret,
        actor=work.actor,
    )
    return CreateApiKeyPayload(api_key=key.id, secret=secret, salt=salt.hex())  # type: ignore[arg-type]


@mutation(
    "Revokes an API key. It stops working at once and its open sockets are closed.",
    needs=Permission.MANAGE_KEYS,
    refusals=(NotFound, Conflict),
)
async def revoke_api_key(work: Work, input: RevokeApiKeyInput) -> ApiKeyPayload:
    key = await auth.revoke(
        work.session,
        team_id=work.team_id,
        key_id=from_global(Prefix.API_KEY, input.api_key_id, path="apiKeyId"),
        actor=work.actor,
    )
    return ApiKeyPayload(api_key=key.id)  # type: ignore[arg-type]
