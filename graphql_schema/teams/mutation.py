"""Mutations of the team's own settings."""

from __future__ import annotations

import strawberry

from app.auth.roles import Permission
from app.errors import InvalidInput
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.teams.types import Team


@strawberry.input(description="A feature flag and what it should be.")
class FeatureFlagInput:
    flag: FeatureFlag = strawberry.field(description="Which flag.")
    enabled: bool | None = strawberry.field(
        description="On or off for the team; null: the installation's value counts again."
    )


@strawberry.input(description="Feature flags to set for the team.")
class SetFeatureFlagsInput(MutationInput):
    flags: list[FeatureFlagInput] = strawberry.field(description="One or more flags, each once; others stay.")


@strawberry.type(description="The team after the change.")
class TeamPayload(Payload):
    team: Team = entity("The team, as it is now.")


@mutation("Sets feature flags for the team.", needs=Permission.CONFIGURE_TEAM)
async def set_feature_flags(work: Work, input: SetFeatureFlagsInput) -> TeamPayload:
    changes = {item.flag: item.enabled for item in input.flags}
    if len(changes) < len(input.flags):
        raise InvalidInput.of("flags", "names a flag twice")
    team = await teams.set_flags(work.session, team_id=work.team_id, changes=changes, actor=work.actor)
    return TeamPayload(team=team.id)  # type: ignore[arg-type]
