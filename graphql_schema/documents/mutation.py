"""Mutations of trusted documents."""

from __future__ import annotations

import strawberry

from app.auth.roles import Permission, Role
from app.documents import service as documents
from app.errors import InvalidInput
from app.teams import service as teams
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.teams.mutation import TeamPayload


@strawberry.input(description="A GraphQL document and the hash that it is called by.")
class DocumentInput:
    id: str = strawberry.field(
        description="SHA-256 (64 hexadecimal digits, `sha256:` may stand before them) or MD5 (32) of the text."
    )
    body: str = strawberry.field(description="The document's text, up to 100,000 characters.")


@strawberry.input(description="Documents to trust.")
class RegisterDocumentsInput(MutationInput):
    documents: list[DocumentInput] = strawberry.field(description="1 to 1,000 documents.")


@strawberry.type(description="The documents that are now trusted.")
class RegisterDocumentsPayload(Payload):
    registered: list[str] = strawberry.field(description="Ids of those that were not trusted before.")


@strawberry.input(description="Which roles may run trusted documents only.")
class LimitRolesToTrustedDocumentsInput(MutationInput):
    roles: list[Role] = strawberry.field(
        description="All limited roles; an empty list lifts the limit. ADMIN cannot be limited."
    )


@mutation(
    "Registers trusted documents, which can be called by their hash. Registering again changes nothing.",
    needs=Permission.CONFIGURE_TEAM,
)
async def register_documents(work: Work, input: RegisterDocumentsInput) -> RegisterDocumentsPayload:
    bodies = {document.id: document.body for document in input.documents}
    added = await documents.register(work.session, team_id=work.team_id, documents=bodies, actor=work.actor)
    return RegisterDocumentsPayload(registered=added)


@mutation("Limits roles to trusted documents: their keys may run nothing else.", needs=Permission.CONFIGURE_TEAM)
async def limit_roles_to_trusted_documents(work: Work, input: LimitRolesToTrustedDocumentsInput) -> TeamPayload:
    if Role.ADMIN in input.roles:
        raise InvalidInput.of("roles", "ADMIN cannot be limited, or nobody could lift the limit")
    team = await teams.lock(work.session, work.team_id)
    roles = sorted({role.value for role in input.roles})
    await teams.change(work.session, team=team, fields={"trusted_only_roles": roles}, actor=work.actor)
    return TeamPayload(team=team.id)  # type: ignore[arg-type]
