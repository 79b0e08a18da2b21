"""Mutations of the team's own settings."""

from __future__ import annotations

from decimal import Decimal

import strawberry

from app.auth.roles import Permission
from app.budgets.caps import set_team_caps
from app.budgets.models import AccountKind
from app.errors import InvalidInput
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from app.teams.models import MOST_BUDGET_USD, MessagePolicy
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.scalars import Usd
from graphql_schema.teams.types import Team

UNSET = strawberry.UNSET
_CAP_TEXT = f"0 to {MOST_BUDGET_USD:,} US dollars; null: the installation's setting counts again."


@strawberry.input(description="A feature flag and what it should be.")
class FeatureFlagInput:
    flag: FeatureFlag = strawberry.field(description="Which flag.")
    enabled: bool | None = strawberry.field(
        description="On or off for the team; null: the installation's value counts again."
    )


@strawberry.input(description="Feature flags to set for the team.")
class SetFeatureFlagsInput(MutationInput):
    flags: list[FeatureFlagInput] = strawberry.field(description="One or more flags, each once; others stay.")


@strawberry.input(description="What the team may spend. What is absent stays as it was; one of the two is needed.")
class SetTeamBudgetsInput(MutationInput):
    day_usd: Usd | None = strawberry.field(default=UNSET, description=f"For a UTC day, {_CAP_TEXT}")
    month_usd: Usd | None = strawberry.field(default=UNSET, description=f"For a UTC month, {_CAP_TEXT}")


@strawberry.input(description="Whether the team's agents may write to each other.")
class SetMessagePolicyInput(MutationInput):
    policy: MessagePolicy = strawberry.field(description="What is to count from now on.")


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


@mutation(
    "Sets what the team may spend in a day and in a month; it counts at once. Below what is spent or reserved already, "
    "work under way goes on and new work is refused.",
    needs=Permission.CONFIGURE_TEAM,
)
async def set_team_budgets(work: Work, input: SetTeamBudgetsInput) -> TeamPayload:
    given = {AccountKind.TEAM_DAY: ("dayUsd", input.day_usd), AccountKind.TEAM_MONTH: ("monthUsd", input.month_usd)}
    own = {kind: _cap(path, cap) for kind, (path, cap) in given.items() if cap is not UNSET}
    if not own:
        raise InvalidInput.of("dayUsd", "is needed, or monthUsd, or both")
    team = await set_team_caps(
        work.session, team_id=work.team_id, own=own, settings=work.context.services.settings, actor=work.actor
    )
    return TeamPayload(team=team.id)  # type: ignore[arg-type]


@mutation(
    "Sets whether the team's agents may write to each other; it counts at once. What was sent before stays.",
    needs=Permission.CONFIGURE_TEAM,
)
async def set_message_policy(work: Work, input: SetMessagePolicyInput) -> TeamPayload:
    team = await teams.lock(work.session, work.team_id)
    await teams.change(work.session, team=team, fields={"message_policy": input.policy}, actor=work.actor)
    return TeamPayload(team=team.id)  # type: ignore[arg-type]


def _cap(path: str, cap: Decimal | None) -> Decimal | None:
    if cap is not None and not 0 <= cap <= MOST_BUDGET_USD:
        raise InvalidInput.of(path, f"must be 0 to {MOST_BUDGET_USD:,}")
    return cap
