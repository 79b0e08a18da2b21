"""Applies a team file."""

from __future__ import annotations

import strawberry

from app.auth.roles import Permission
from app.team_files import service as team_files
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import Conflict
from graphql_schema.teams.types import Team


@strawberry.input(description="A team file to apply.")
class ApplyTeamInput(MutationInput):
    file: str = strawberry.field(description="The file's text in YAML, up to 1 MB.")
    prune: bool = strawberry.field(default=False, description="Archive the agents that the file does not name.")
    dry_run: bool = strawberry.field(default=False, description="Say what would change, and change nothing.")


@strawberry.type(description="What applying the file changed, or with dryRun would change. Agents are named by slug.")
class ApplyTeamPayload(Payload):
    changed: bool = strawberry.field(description="False: the team was already as the file says.")
    created: list[str] = strawberry.field(description="Agents that are new.")
    updated: list[str] = strawberry.field(description="Agents that differed.")
    archived: list[str] = strawberry.field(description="Agents that the file does not name, with prune.")
    unchanged: list[str] = strawberry.field(description="Agents that were already as the file says.")
    changed_team_fields: list[str] = strawberry.field(description="Fields of the team itself that differed.")
    handoff_rules_changed: int = strawberry.field(
        description="How many handoff rules were added, removed or given another priority."
    )
    team: Team = entity("The team, as it is now.")


@mutation(
    "Brings the team to what a file says: only what differs, all or nothing. Applying it again changes nothing.",
    needs=Permission.CONFIGURE_TEAM,
    refusals=(Conflict,),
    prepare=lambda context, input: team_files.read(input.file),
)
async def apply_team(work: Work, input: ApplyTeamInput) -> ApplyTeamPayload:
    result = await team_files.apply_parsed(
        work.session,
        team_id=work.team_id,
        parsed=work.prepared,
        actor=work.actor,
        prune=input.prune,
        dry_run=input.dry_run,
        settings=work.context.services.settings,
    )
    return ApplyTeamPayload(
        changed=result.changed,
        created=list(result.created),
        updated=list(result.updated),
        archived=list(result.archived),
        unchanged=list(result.unchanged),
        changed_team_fields=list(result.changed_team_fields),
        handoff_rules_changed=result.rule_changes.count,
        team=work.team_id,  # type: ignore[arg-type]
    )
