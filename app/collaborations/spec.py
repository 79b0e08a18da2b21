"""What a session may look like: its fields and their limits."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field, StringConstraints, ValidationError, model_validator

from app.agents.spec import Slug, Strict, problems_of, text
from app.collaborations.models import CollaborationPattern, CollaborationTemplate, OnFailure, ParticipantRole
from app.errors import InvalidInput

MOST_PARTICIPANTS = 20
MOST_DURATION_S = 86_400
MOST_ROUNDS = 20
MOST_OPTIONS = 10
MOST_COST_USD = 10_000
MOST_GOAL, MOST_CONTEXT, MOST_OWN = 20_000, 50_000, 20_000
DURATION_S, COST_USD, ROUNDS = 600, Decimal("0.50"), 5
TEMPLATE_DURATION_S, TEMPLATE_ROUNDS = 3_600, 3  # a developer alone has 600 seconds there
THRESHOLD = 2 / 3
OPTIONS = ("yes", "no")
Option = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f|]*$")
]
Usd = Annotated[Decimal, Field(gt=0, le=MOST_COST_USD, decimal_places=6)]
Seconds = Annotated[int, Field(ge=1, le=MOST_DURATION_S)]


class SeatSpec(Strict):
    """What somebody is in a session for."""

    role: ParticipantRole
    stage: Annotated[str, text(120, 1)] | None = None
    instructions: Annotated[str, text(MOST_OWN)] = ""


class ParticipantSpec(SeatSpec):
    """An agent, or a group of which one is picked when the session starts."""

    agent_id: UUID | None = None
    group_id: UUID | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.agent_id is None) == (self.group_id is None):
            raise ValueError("agent_id: or a group is needed, and only one of both")
        return self

    @property
    def agent(self) -> UUID | None:
        return self.agent_id


class ShapeSpec(Strict):
    """How a session goes, whatever its goal is."""

    pattern: CollaborationPattern
    template: CollaborationTemplate | None = None
    max_duration_seconds: Seconds | None = None
    max_cost_usd: Usd = COST_USD
    max_rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] | None = None
    work_timeout_seconds: Seconds | None = None
    review_timeout_seconds: Seconds | None = None
    on_failure: OnFailure = OnFailure.ASK
    options: Annotated[tuple[Option, ...], Field(min_length=2, max_length=MOST_OPTIONS)] | None = None
    threshold: Annotated[float, Field(gt=0.5, le=1, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        voting = self.pattern is CollaborationPattern.CONSENSUS
        if not voting and (self.options is not None or self.threshold is not None):
            raise ValueError("options: and the threshold are for the pattern consensus only")
        if self.options is not None and len({one.casefold() for one in self.options}) < len(self.options):
            raise ValueError("options: must differ from each other")
        if self.template is not None and self.pattern is not CollaborationPattern.SUPERVISOR_WORKER:
            raise ValueError("template: this one is for the pattern supervisor_worker")
        return self

    @property
    def rounds(self) -> int:
        return self.max_rounds or (TEMPLATE_ROUNDS if self.template else ROUNDS)

    @property
    def duration_s(self) -> int:
        return self.max_duration_seconds or (TEMPLATE_DURATION_S if self.template else DURATION_S)


class CollaborationSpec(ShapeSpec):
    """`team_template` is the slug of the team's template that the shape came from."""

    goal: Annotated[str, text(MOST_GOAL, 1)]
    context: Annotated[str, text(MOST_CONTEXT)] = ""
    participants: Annotated[tuple[ParticipantSpec, ...], Field(min_length=1, max_length=MOST_PARTICIPANTS)]
    team_template: Slug | None = None


class Extension(Strict):
    """What is added to a session's caps."""

    seconds: Seconds | None = None
    cost_usd: Usd | None = None


def parse_collaboration(fields: dict[str, Any]) -> CollaborationSpec:
    """Raises InvalidInput that names every wrong field."""
    try:
        return CollaborationSpec.model_validate(fields)
    except ValidationError as error:
        problems = problems_of(error)
        raise InvalidInput("; ".join(f"{found['path']}: {found['message']}" for found in problems), problems) from None
