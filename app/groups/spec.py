"""What a group may look like, and whether a team's groups fit its agents and each other. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from app.agents.spec import Slug, Strict, problems_of, text
from app.errors import FieldProblem, InvalidInput
from app.groups.models import MAX_PURPOSE

MAX_GROUPS = 200
MAX_MEMBERS = 200
MAX_DEPTH = 5
MAX_SKILLS = 20


class GroupSpec(Strict):
    """Agents and the group around it are named by slug."""

    slug: Slug
    name: Annotated[str, text(120, 1)]
    purpose: Annotated[str, text(MAX_PURPOSE)] = ""
    coordinator: Slug | None = None
    parent: Slug | None = None
    agents: Annotated[tuple[Slug, ...], Field(max_length=MAX_MEMBERS)] = ()
    required_skills: Annotated[tuple[Annotated[str, text(120, 1)], ...], Field(max_length=MAX_SKILLS)] = ()

    @field_validator("agents")
    @classmethod
    def _each_once(cls, agents: tuple[str, ...]) -> tuple[str, ...]:
        """In one order, so that equal groups are equal."""
        return tuple(sorted(set(agents)))


def parse_group(fields: dict[str, Any]) -> GroupSpec:
    """Raises InvalidInput that names every wrong field."""
    try:
        return GroupSpec.model_validate(fields)
    except ValidationError as error:
        problems = problems_of(error)
        raise InvalidInput("; ".join(f"{one['path']}: {one['message']}" for one in problems), problems) from None


def problems_with(groups: Sequence[GroupSpec], *, slugs: Collection[str]) -> list[FieldProblem]:
    """Everything that keeps these groups from being a team's whole set of groups."""
    found: list[FieldProblem] = []
    seen: dict[str, int] = {}
    known = {group.slug: group for group in groups}
    for index, group in enumerate(groups):
        path = f"groups.{index}"
        if seen.setdefault(group.slug, index) != index:
            found.append(
                FieldProblem(f"{path}.slug", f"'{group.slug}' is already the slug of group {seen[group.slug] + 1}")
            )
        found += [FieldProblem(f"{path}.{field}", words) for field, words in _misfits(group, slugs, known)]
    return found


def circle(groups: Mapping[str, GroupSpec], start: str) -> list[str] | None:
    """The groups around this one when they lead back to it, itself at both ends."""
    chain = [start]
    while (above := groups[chain[-1]].parent) is not None and above in groups:
        if above == start:
            return [*chain, start]
        if above in chain:  # a circle further up: told of the groups that are in it
            return None
        chain.append(above)
    return None


def depth(groups: Mapping[str, GroupSpec], start: str) -> int:
    """How many groups lie around each other down to this one, from 1."""
    seen, at = [start], groups[start].parent
    while at is not None and at in groups and at not in seen:
        seen.append(at)
        at = groups[at].parent
    return len(seen)


def _misfits(group: GroupSpec, slugs: Collection[str], groups: Mapping[str, GroupSpec]) -> Iterator[tuple[str, str]]:
    if group.coordinator is not None and group.coordinator not in slugs:
        yield "coordinator", f"there is no agent '{group.coordinator}'{_hint(group.coordinator, slugs)}"
    for place, slug in enumerate(group.agents):
        if slug not in slugs:
            yield f"agents.{place}", f"there is no agent '{slug}'{_hint(slug, slugs)}"
    if group.parent is not None and group.parent not in groups:
        yield "parent", f"there is no group '{group.parent}'{_hint(group.parent, groups)}"
    if round_trip := circle(groups, group.slug):
        yield "parent", f"the groups would lie in each other: {' → '.join(round_trip)}"
    elif depth(groups, group.slug) > MAX_DEPTH:
        yield "parent", f"groups may lie in each other {MAX_DEPTH} deep"


def _hint(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, sorted(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
