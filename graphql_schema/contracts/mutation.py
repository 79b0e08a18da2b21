"""Mutations of contracts."""

from __future__ import annotations

import asyncio

import strawberry

from app.auth.roles import Permission
from app.contracts import service as contracts
from app.contracts.spec import ContractSpec, parse_contract
from graphql_schema.context import Context
from graphql_schema.contracts.types import Contract
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import Conflict, NotFound
from graphql_schema.scalars import JSON

_SCHEMA_TEXT = (
    'as JSON Schema draft 2020-12 with `"type": "object"` at the top: at most 64,000 bytes, 20 deep, 500 subschemas; '
    "references only to #/$defs/…; patterns without look-around and back-references, up to 200 characters."
)


@strawberry.input(description="A contract to save. One of the two schemas is needed.")
class SaveContractInput(MutationInput):
    name: str = strawberry.field(
        description="Lower-case letters, digits and inner hyphens, 1 to 63. Names of built-in contracts are taken."
    )
    description: str = strawberry.field(default="", description="What it is for, up to 2,000 characters.")
    input_schema: JSON | None = strawberry.field(
        default=None, description=f"What a task is given, {_SCHEMA_TEXT} Null: anything."
    )
    output_schema: JSON | None = strawberry.field(
        default=None, description=f"What a task must answer, {_SCHEMA_TEXT} Null: anything."
    )


@strawberry.input(description="Which contract to delete.")
class DeleteContractInput(MutationInput):
    name: str = strawberry.field(description="The contract's name.")


@strawberry.type(description="The contract after the change.")
class ContractPayload(Payload):
    contract: Contract = entity("The version that was saved or deleted.")


async def _parse(_: Context, input: SaveContractInput) -> ContractSpec:
    names = ("name", "description", "input_schema", "output_schema")
    return await asyncio.to_thread(parse_contract, {name: getattr(input, name) for name in names})


@mutation(
    "Saves a contract, or a new version of it: tasks that have an older one keep it. Saving it again as it is changes "
    "nothing. A team has at most 200, each in at most 1,000 versions.",
    needs=Permission.WRITE_CONTRACTS,
    refusals=(Conflict,),
    prepare=_parse,
)
async def save_contract(work: Work, input: SaveContractInput) -> ContractPayload:
    saved = await contracts.save(work.session, team_id=work.team_id, spec=work.prepared, actor=work.actor)
    return ContractPayload(contract=saved.id)  # type: ignore[arg-type]


@mutation(
    "Deletes a contract: no new task can name it, and those that have it keep it.",
    needs=Permission.WRITE_CONTRACTS,
    refusals=(NotFound, Conflict),
)
async def delete_contract(work: Work, input: DeleteContractInput) -> ContractPayload:
    gone = await contracts.delete(work.session, team_id=work.team_id, name=input.name, actor=work.actor)
    return ContractPayload(contract=gone.id)  # type: ignore[arg-type]
