"""What a team file may say."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator, StrictBool, StringConstraints

from app.agents.spec import AgentSpec, Strict, text
from app.collaborations.templates import MAX_TEMPLATES, TemplateSpec
from app.groups.spec import MAX_GROUPS, GroupSpec
from app.handoffs.spec import ANY_AGENT, MAX_RULES, PREVIOUS_AGENT, HandoffRuleSpec
from app.team_files.slugs import slug_from
from app.teams.flags import FeatureFlag
from app.teams.models import MAX_DESCRIPTION, MAX_NAME, MOST_BUDGET_USD, AfterWork, MessagePolicy
from app.teams.variables import MAX_VARIABLES, VARIABLE_PATTERN, VariableKind, checked

MAX_AGENTS = 1_000
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
    named = {name: agent_reference(fields[name]) for name in ("from_agent", "to_agent", "to_group") if name in fields}
    return {**fields, **named}


def _with_slugs_for_group(fields: Any) -> Any:
    fields = _with_slug(fields)
    if not isinstance(fields, dict):
        return fields
    named = {name: agent_reference(fields[name]) for name in ("coordinator", "parent") if name in fields}
    if isinstance(fields.get("agents"), list):
        named["agents"] = [agent_reference(one) for one in fields["agents"]]
    return {**fields, **named}


def _with_slugs_for_seats(fields: Any) -> Any:
    fields = _with_slug(fields)
    if not isinstance(fields, dict) or not isinstance(fields.get("participants"), list):
        return fields
    return {**fields, "participants": [_with_seat_slugs(seat) for seat in fields["participants"]]}


def _with_seat_slugs(seat: Any) -> Any:
    if not isinstance(seat, dict):
        return seat
    return {**seat, **{name: agent_reference(seat[name]) for name in ("agent", "group") if name in seat}}


Cap = Annotated[Decimal, Field(ge=0, le=MOST_BUDGET_USD, decimal_places=6)]
VariableName = Annotated[str, StringConstraints(max_length=63, pattern=VARIABLE_PATTERN)]
Variable = Annotated[bool | int | float | str, PlainValidator(checked)]
Kinds = Annotated[dict[VariableName, VariableKind], Field(default_factory=dict, max_length=MAX_VARIABLES)]
FileAgent = Annotated[AgentSpec, BeforeValidator(_with_slug)]
FileGroup = Annotated[GroupSpec, BeforeValidator(_with_slugs_for_group)]
FileRule = Annotated[HandoffRuleSpec, BeforeValidator(_with_slugs_for_agents)]


FileTemplate = Annotated[TemplateSpec, BeforeValidator(_with_slugs_for_seats)]


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
    message_policy: MessagePolicy = MessagePolicy.OPEN
    context_variables: Annotated[dict[VariableName, Variable], Field(default_factory=dict, max_length=MAX_VARIABLES)]
    runtime_variables: Kinds
    input_variables: Kinds
    feature_flags: Annotated[dict[FeatureFlag, StrictBool], Field(default_factory=dict)]
    budgets: BudgetsSpec = BudgetsSpec()
    agents: Annotated[tuple[FileAgent, ...], Field(max_length=MAX_AGENTS)] = ()
    groups: Annotated[tuple[FileGroup, ...], Field(max_length=MAX_GROUPS)] = ()
    handoffs: Annotated[tuple[FileRule, ...], Field(max_length=MAX_RULES)] = ()

    collaboration_templates: Annotated[tuple[FileTemplate, ...], Field(max_length=MAX_TEMPLATES)] = ()

    def mentions(self, section: str) -> bool:
        return section in self.model_fields_set
