"""A team's own templates: how a session goes and who takes part, under a slug. Starting one takes only a goal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field, model_validator
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.agents.spec import Slug, text
from app.collaborations.errors import ParticipantsUnsuitable
from app.collaborations.roster import check_roster
from app.collaborations.spec import MOST_PARTICIPANTS, CollaborationSpec, SeatSpec, ShapeSpec, parse_collaboration
from app.errors import FieldProblem, InvalidInput, NotFound
from app.groups.service import ids_by_slug
from app.handoffs.condition.problem import hint
from app.teams.models import Team

MAX_TEMPLATES = 50
MOST_OWN = 4_000
SECTION = "collaboration_templates"


class TemplateSeat(SeatSpec):
    """A seat that is an agent's, or that one of a group gets; both by slug."""

    agent: Slug | None = None
    group: Slug | None = None
    instructions: Annotated[str, text(MOST_OWN)] = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.agent is None) == (self.group is None):
            raise ValueError("agent: is needed, or group; and only one of them")
        return self


class TemplateSpec(ShapeSpec):
    slug: Slug
    name: Annotated[str, text(120, 1)]
    description: Annotated[str, text(2_000)] = ""
    participants: Annotated[tuple[TemplateSeat, ...], Field(min_length=1, max_length=MOST_PARTICIPANTS)]

    def named(self, kind: str) -> set[str]:
        """The slugs of its agents, or of its groups."""
        return {slug for seat in self.participants if (slug := getattr(seat, kind)) is not None}


def templates_of(team: Team, *, without: Collection[str] = ()) -> list[TemplateSpec]:
    """In their order; `without` those that name one of these agents and so cannot be started."""
    found = [TemplateSpec.model_validate(one) for one in team.collaboration_templates]
    return [one for one in found if not one.named("agent") & set(without)]


def as_stored(templates: Iterable[TemplateSpec]) -> list[dict[str, Any]]:
    return [one.model_dump(mode="json", exclude_defaults=True) for one in templates]


def problems_with(
    templates: Sequence[TemplateSpec], *, slugs: Collection[str], groups: Collection[str]
) -> list[FieldProblem]:
    """Everything that keeps these templates from being a team's."""
    found: list[FieldProblem] = []
    seen: dict[str, int] = {}
    for index, one in enumerate(templates):
        path = f"{SECTION}.{index}"
        if seen.setdefault(one.slug, index) != index:
            words = f"'{one.slug}' is already the slug of template {seen[one.slug] + 1}"
            found.append(FieldProblem(f"{path}.slug", words))
        found += [FieldProblem(f"{path}.{at}", words) for at, words in _misfits(one, slugs, groups)]
    return found


def _misfits(template: TemplateSpec, slugs: Collection[str], groups: Collection[str]) -> list[tuple[str, str]]:
    found = [
        (f"participants.{place}.{kind}", f"there is no {kind} '{slug}'{hint(slug, known)}")
        for place, seat in enumerate(template.participants)
        for kind, slug, known in (("agent", seat.agent, slugs), ("group", seat.group, groups))
        if slug is not None and slug not in known
    ]
    try:
        check_roster(template.pattern, template.template, template.participants)
    except ParticipantsUnsuitable as error:
        found.append(("participants", str(error)))
    except InvalidInput as error:
        found += [(one["path"].replace("agent_id", "agent"), one["message"]) for one in error.problems]
    return found


async def fill(session: AsyncSession, *, team_id: UUID, slug: str, given: Mapping[str, Any]) -> CollaborationSpec:
    """A session by one of the team's templates; what is given besides wins over it. Raises NotFound or InvalidInput."""
    for name in ("pattern", "template", "participants"):
        if given.get(name):
            raise InvalidInput.of(name, "is the template's to say: leave it out, or leave teamTemplate out")
    team = await session.get_one(Team, team_id)
    known = {one.slug: one for one in templates_of(team)}
    if slug not in known:
        raise NotFound(f"The team has no template '{slug[:63]}'{hint(slug[:63], known)}")
    template = known[slug]
    shape = template.model_dump(include=set(ShapeSpec.model_fields), exclude_defaults=True)
    seats = await _participants(session, team_id, template)
    return parse_collaboration({**shape, **given, "participants": seats, "team_template": slug})


async def _participants(session: AsyncSession, team_id: UUID, template: TemplateSpec) -> list[dict[str, Any]]:
    mine = (Agent.team_id == team_id) & Agent.slug.in_(template.named("agent"))
    agents = {slug: one for slug, one in await session.execute(select(Agent.slug, Agent.id).where(mine))}
    groups = await ids_by_slug(session, team_id)
    seats = []
    for seat in template.participants:
        where, ids, slug = ("agent", agents, seat.agent) if seat.agent else ("group", groups, seat.group)
        if slug not in ids:
            raise NotFound(f"The template '{template.slug}' names a {where} '{slug}' that the team no longer has.")
        seats.append({f"{where}_id": ids[slug], **seat.model_dump(include={"role", "stage", "instructions"})})
    return seats
