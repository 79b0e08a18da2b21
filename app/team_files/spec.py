"""What a team file may say."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator, StrictBool, StringConstraints

from app.agents.spec import AgentSpec, Strict, text
from app.handoffs.spec import ANY_AGENT, MAX_RULES, PREVIOUS_AGENT, HandoffRuleSpec
from app.team_files.slugs import slug_from
from app.teams.flags import FeatureFlag
from app.teams.models import MAX_DESCRIPTION, MAX_NAME, MOST_BUDGET_USD, AfterWork

MAX_AGENTS = 1_000
MAX_VARIABLES = 200
MAX_VARIABLE_TEXT = 2_000
LARGEST_NUMBER = 2**53 - 1  # beyond it a whole number does not survive JSON in every client
VARIABLE_PATTERN = r"^[a-z_][a-z0-9_]*$"
SPECIAL_AGENTS = {slug_from(name): name for name in (ANY_AGENT, PREVIOUS_AGENT)}


def agent_reference(value: Any) -> Any:
    """An agent is named by its slug, or in the words from which its slug was made."""
    if not isinstance(value, str):
        return value
    slug = slug_from(value)
    return SPECIAL_AGENTS.get(slug, slug or value)


def _with_slug(fields: Any) -> Any:
    if not isinstance(fields, dict) or "slug" in fields or not isinstance(fields.get("name"), str):
        return fields
    slug = slug_from(fields["name"])
    return {**fields, "slug": slug} if slug else fields


def _with_slugs_for_agents(fields: Any) -> Any:
    if not isinstance(fields, dict):
        return fields
    named = {name: agent_reference(fields[name]) for name in ("from_agent", "to_agent") if name in fields}
    return {**fields, **named}


def _variable(value: Any) -> bool | int | float | str:
    match value:
        case bool():
            return value
        case int() | float() if abs(value) <= LARGEST_NUMBER:
            return value + 0  # no negative zero: the database does not keep its sign
        case int() | float():
            raise ValueError(f"must lie between -{LARGEST_NUMBER} and {LARGEST_NUMBER}")
        case str() if len(value) > MAX_VARIABLE_TEXT:
            raise ValueError(f"must be at most {MAX_VARIABLE_TEXT} characters long")
        case str():
            return value
    raise ValueError("must be a number, text, true or false")


Cap = Annotated[Decimal, Field(ge=0, le=MOST_BUDGET_USD, decimal_places=6)]
VariableName = Annotated[str, StringConstraints(max_length=63, pattern=VARIABLE_PATTERN)]
Variable = Annotated[bool | int | float | str, PlainValidator(_variable)]
FileAgent = Annotated[AgentSpec, BeforeValidator(_with_slug)]
FileRule = Annotated[HandoffRuleSpec, BeforeValidator(_with_slugs_for_agents)]


class BudgetsSpec(Strict):
    """What the team may spend in US dollars; without a value the installation's setting counts."""

    day_usd: Cap | None = None
    month_usd: Cap | None = None


class TeamFile(Strict):
    """Sections that a file does not mention stay as they are in the team; a mentioned one is taken whole."""

    version: Literal[1] = 1
    name: Annotated[str, text(MAX_NAME, 1)]
    description: Annotated[str, text(MAX_DESCRIPTION)] = ""
    default_agent: Annotated[str | None, BeforeValidator(agent_reference)] = None
    after_work_behavior: AfterWork = AfterWork.RETURN_TO_USER
    context_variables: Annotated[dict[VariableName, Variable], Field(default_factory=dict, max_length=MAX_VARIABLES)]
    feature_flags: Annotated[dict[FeatureFlag, StrictBool], Field(default_factory=dict)]
    budgets: BudgetsSpec = BudgetsSpec()
    agents: Annotated[tuple[FileAgent, ...], Field(max_length=MAX_AGENTS)] = ()
    handoffs: Annotated[tuple[FileRule, ...], Field(max_length=MAX_RULES)] = ()

    def mentions(self, section: str) -> bool:
        return section in self.model_fields_set
