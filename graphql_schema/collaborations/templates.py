"""The root field that lists a team's own templates for sessions."""

from __future__ import annotations

from typing import Any

import strawberry

from app.collaborations import models, templates
from app.collaborations.templates import MAX_TEMPLATES
from app.teams.models import Team
from graphql_schema.collaborations import enums  # noqa: F401 - publishes them
from graphql_schema.context import Info
from graphql_schema.planner.mapping import python
from graphql_schema.scalars import Usd


@strawberry.type(description="A seat of a team's template: an agent's, or one that somebody of a group gets.")
class TeamTemplateSeat:
    role: models.ParticipantRole = strawberry.field(description="What it is there for.")
    agent_slug: str | None = strawberry.field(description="Slug of the agent; null: a group is named.")
    group_slug: str | None = strawberry.field(description="Slug of the group; null: an agent is named.")
    stage: str | None = strawberry.field(description="The name of its stage; null: the pattern's.")
    instructions: str = strawberry.field(description="What only this participant is told; up to 4,000 characters.")


@strawberry.type(
    description="A template for collaboration sessions that the team keeps in its team file: start one with "
    "startCollaboration, its slug and a goal."
)
class TeamTemplate:
    slug: str = strawberry.field(description="Names it in startCollaboration; unique in the team.")
    name: str = strawberry.field(description="The name to show, 1 to 120 characters.")
    description: str = strawberry.field(description="What it is for, up to 2,000 characters; may be empty.")
    pattern: models.CollaborationPattern = strawberry.field(description="How they work together.")
    template: models.CollaborationTemplate | None = strawberry.field(
        description="The workflow that lays the stages down; null: the pattern alone."
    )
    participants: list[TeamTemplateSeat] = strawberry.field(description="Who takes part, in their order; 1 to 20.")
    max_duration_seconds: int = strawberry.field(description="How long a session may take, 1 to 86,400.")
    max_cost_usd: Usd = strawberry.field(description="What it may cost in all.")
    max_rounds: int = strawberry.field(description="How many rounds it may take, 1 to 20.")
    on_failure: models.OnFailure = strawberry.field(description="What happens when a stage fails for good.")


@python(
    f"The team's own templates for collaboration sessions, in the order of its team file; at most {MAX_TEMPLATES}.",
    most=MAX_TEMPLATES,
)
async def team_templates(self: Any, info: Info) -> list[TeamTemplate] | None:
    async with info.context.services.transaction() as session:
        team = await session.get_one(Team, info.context.principal.team_id)
    return [_shown(one) for one in templates.templates_of(team)]


def _shown(spec: templates.TemplateSpec) -> TeamTemplate:
    return TeamTemplate(
        slug=spec.slug,
        name=spec.name,
        description=spec.description,
        pattern=spec.pattern,
        template=spec.template,
        participants=[
            TeamTemplateSeat(
                role=seat.role,
                agent_slug=seat.agent,
                group_slug=seat.group,
                stage=seat.stage,
                instructions=seat.instructions,
            )
            for seat in spec.participants
        ],
        max_duration_seconds=spec.duration_s,
        max_cost_usd=Usd(spec.max_cost_usd),
        max_rounds=spec.rounds,
        on_failure=spec.on_failure,
    )
