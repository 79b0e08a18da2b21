"""What an agent may look like: the one definition of its fields and limits, for mutations and team files alike."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from app.agents.models import AgentRuntime, AgentType
from app.errors import FieldProblem, InvalidInput

SLUG_PATTERN = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
RESERVED_SLUGS = frozenset({"any-agent", "previous-agent", "user", "team", "system"})
MAX_SKILLS = 50
MAX_TOOLS = 50

Slug = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=SLUG_PATTERN)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=63, pattern=r"^[^\x00]*$")]
Trait = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def text(most: int, least: int = 0) -> Any:
    return StringConstraints(strip_whitespace=True, min_length=least, max_length=most, pattern=r"^[^\x00]*$")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SkillSpec(Strict):
    name: Annotated[str, text(120, 1)]
    description: Annotated[str, text(1_000)] = ""


class TraitsSpec(Strict):
    formality: Trait = 0.5
    humor: Trait = 0.5
    technical_depth: Trait = 0.5


class AgentSpec(Strict):
    slug: Slug
    name: Annotated[str, text(120, 1)]
    tagline: Annotated[str, text(200)] = ""
    role: Annotated[str, text(500)] = ""
    personality: Annotated[str, text(8_000)] = ""
    traits: TraitsSpec = TraitsSpec()
    skills: Annotated[tuple[SkillSpec, ...], Field(max_length=MAX_SKILLS)] = ()
    type: AgentType = AgentType.GENERAL
    custom_type: Word | None = None
    tools: Annotated[tuple[Word, ...], Field(max_length=MAX_TOOLS)] = ()
    model_tier: Annotated[int, Field(ge=0, le=2)] = 1
    runtime: AgentRuntime = AgentRuntime.MANAGED

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.slug in RESERVED_SLUGS:
            raise ValueError(f"slug: '{self.slug}' is reserved")
        if (self.type is AgentType.CUSTOM) != (self.custom_type is not None):
            raise ValueError("custom_type: is needed for the type custom and only for it")
        names = [skill.name.casefold() for skill in self.skills]
        if len(set(names)) < len(names):
            raise ValueError("skills: two skills have the same name")
        return self


_WORDING = {
    "missing": "is needed",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have {min_length} or more items",
    "too_long": "must have at most {max_length} items",
    "finite_number": "must be a finite number",
    "decimal_max_places": "must have at most {decimal_places} decimals",
}


def told(error: ValidationError) -> list[ErrorDetails]:
    """Pydantic's findings without lists that are too short only because items of theirs are wrong."""
    found = error.errors(include_url=False)
    short = [one["loc"] for one in found if one["type"] == "too_short"]
    broken = {loc for loc in short if any(_inside(loc, item["loc"]) for item in found)}
    return [one for one in found if one["type"] != "too_short" or one["loc"] not in broken]


def problems_of(error: ValidationError) -> list[FieldProblem]:
    """Pydantic's findings as our field problems, paths in the words of the input."""
    found = []
    for detail in told(error):
        path, message = ".".join(map(str, detail["loc"])), detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "value_error" and ": " in message:
            inner, message = message.split(": ", 1)
            path = ".".join(filter(None, (path, inner)))
        if detail["type"] == "extra_forbidden":
            message = "is not a known field"
        if detail["type"] == "string_pattern_mismatch" and SLUG_PATTERN in message:
            message = "may hold only lower-case letters, digits and inner hyphens"
        wording = _WORDING.get(detail["type"])
        if wording is not None:
            message = wording.format(**detail.get("ctx", {}))
        found.append(FieldProblem(path or "input", message))
    return found


def _inside(outer: tuple[int | str, ...], inner: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def parse_agent(fields: dict[str, Any]) -> AgentSpec:
    """Raises InvalidInput that names every wrong field."""
    try:
        return AgentSpec.model_validate(fields)
    except ValidationError as error:
        problems = problems_of(error)
        raise InvalidInput(
            "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems), problems
        ) from None
