"""Compares a team with its file: what to create, change, archive. Only says it; the service does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.agents.spec import AgentSpec
from app.collaborations.templates import SECTION, TemplateSpec
from app.collaborations.templates import problems_with as template_problems
from app.errors import FieldProblem
from app.groups.spec import GroupSpec
from app.groups.spec import problems_with as group_problems
from app.handoffs.changes import RuleChanges, compare
from app.handoffs.spec import HandoffRuleSpec, problems_with
from app.handoffs.variables import declaration_problems, known
from app.team_files.current import CurrentTeam
from app.team_files.spec import BudgetsSpec, TeamFile
from app.teams.flags import FeatureFlag
from app.teams.values import same

VARIABLES = ("context_variables", "runtime_variables", "input_variables")
SETTINGS = ("name", "description", "after_work_behavior", "message_policy", *VARIABLES)


@dataclass(frozen=True, slots=True)
class AgentChange:
    before: AgentSpec
    after: AgentSpec

    @property
    def slug(self) -> str:
        return self.after.slug

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for name in AgentSpec.model_fields if getattr(self.before, name) != getattr(self.after, name))


@dataclass(frozen=True, slots=True)
class Plan:
    created: tuple[AgentSpec, ...]
    updated: tuple[AgentChange, ...]
    unchanged: tuple[str, ...]
    archived: tuple[str, ...]
    settings: Mapping[str, Any]
    default_agent: str | None
    flags: Mapping[FeatureFlag, bool | None]
    budgets: BudgetsSpec | None
    rules: Sequence[HandoffRuleSpec]
    rule_changes: RuleChanges
    groups: Sequence[GroupSpec] | None = None  # None: they stay
    templates: Sequence[TemplateSpec] | None = None  # likewise
    problems: list[FieldProblem] = field(default_factory=list)

    @property
    def changed_team_fields(self) -> tuple[str, ...]:
        """Sections of the file by which the team itself differs."""
        default = ("default_agent",) if self.default_agent is not None else ()
        flags = ("feature_flags",) if self.flags else ()
        budgets = ("budgets",) if self.budgets else ()
        return (*self.settings, *default, *flags, *budgets, *self._whole_sections)

    @property
    def _whole_sections(self) -> tuple[str, ...]:
        sections = (("groups", self.groups), (SECTION, self.templates))
        return tuple(name for name, wanted in sections if wanted is not None)


def make_plan(current: CurrentTeam, file: TeamFile, *, prune: bool) -> Plan:
    """Never raises: what forbids the plan stands in its problems."""
    named = {agent.slug: agent for agent in file.agents}
    archived = tuple(slug for slug in current.agents if slug not in named) if prune else ()
    changes = {slug: AgentChange(current.agents[slug], named[slug]) for slug in named if slug in current.agents}
    rules = _rules(current, file, archived)
    return Plan(
        created=tuple(agent for slug, agent in named.items() if slug not in current.agents),
        updated=tuple(change for change in changes.values() if change.fields),
        unchanged=tuple(slug for slug, change in changes.items() if not change.fields),
        archived=archived,
        settings=_settings(current, file),
        default_agent=_new_default(current, file),
        flags=_flags(current, file),
        budgets=file.budgets if file.mentions("budgets") and file.budgets != current.budgets else None,
        rules=rules,
        rule_changes=compare(current.rules, rules),
        groups=file.groups if file.mentions("groups") and not _same_groups(current, file) else None,
        templates=file.collaboration_templates if _other_templates(current, file) else None,
        problems=_problems(current, file, rules, archived),
    )


def _rules(current: CurrentTeam, file: TeamFile, archived: tuple[str, ...]) -> tuple[HandoffRuleSpec, ...]:
    if file.mentions("handoffs"):
        return file.handoffs
    return tuple(rule for rule in current.rules if not {rule.from_agent, rule.to_agent} & set(archived))


def _same_groups(current: CurrentTeam, file: TeamFile) -> bool:
    """In whichever order: it means nothing."""
    return {group.slug: group for group in current.groups} == {group.slug: group for group in file.groups}


def _other_templates(current: CurrentTeam, file: TeamFile) -> bool:
    return file.mentions(SECTION) and current.templates != file.collaboration_templates


def _settings(current: CurrentTeam, file: TeamFile) -> dict[str, Any]:
    mentioned = {name: getattr(file, name) for name in SETTINGS if file.mentions(name)}
    return {name: value for name, value in mentioned.items() if not same(current.settings[name], value)}


def _new_default(current: CurrentTeam, file: TeamFile) -> str | None:
    # A team's first agent becomes its default by itself; the plan says so, to be complete.
    first = file.agents[0].slug if file.agents and current.default_agent is None else None
    wanted = file.default_agent or first
    return wanted if wanted != current.default_agent else None


def _flags(current: CurrentTeam, file: TeamFile) -> dict[FeatureFlag, bool | None]:
    if not file.mentions("feature_flags"):
        return {}
    wanted = {flag: file.feature_flags.get(flag) for flag in FeatureFlag}
    return {flag: value for flag, value in wanted.items() if current.feature_flags.get(flag.value) is not value}


def _problems(
    current: CurrentTeam, file: TeamFile, rules: Sequence[HandoffRuleSpec], archived: tuple[str, ...]
) -> list[FieldProblem]:
    found = [
        FieldProblem(f"agents.{index}.slug", f"'{agent.slug}' is an archived agent of this team; choose another slug")
        for index, agent in enumerate(file.agents)
        if agent.slug in current.archived
    ]
    if current.default_agent in archived and file.default_agent is None:
        words = f"is needed, because the team's default agent '{current.default_agent}' is not in the file to stay"
        found.append(FieldProblem("default_agent", words))
    slugs = ({agent.slug for agent in file.agents} | current.agents.keys()) - set(archived)
    found += group_problems(file.groups, slugs=slugs)
    found += template_problems(file.collaboration_templates, slugs=slugs, groups=_groups(current, file))
    return [*found, *_rule_problems(current, file, rules, archived)]


def _groups(current: CurrentTeam, file: TeamFile) -> set[str]:
    return {group.slug for group in (file.groups if file.mentions("groups") else current.groups)}


def _rule_problems(
    current: CurrentTeam, file: TeamFile, rules: Sequence[HandoffRuleSpec], archived: tuple[str, ...]
) -> list[FieldProblem]:
    context, runtime, input = (
        getattr(file, name) if file.mentions(name) else current.settings[name] for name in VARIABLES
    )
    slugs = ({agent.slug for agent in file.agents} | current.agents.keys()) - set(archived)
    declared = declaration_problems(context=context, runtime=runtime, input=input)
    variables = known(context=context, runtime=runtime, input=input, slugs=slugs)
    problems = [FieldProblem(path, words) for path, words in declared]
    found = problems_with(rules, slugs=slugs, variables=variables, groups=_groups(current, file))
    if file.mentions("handoffs"):
        return problems + found
    # The rules that stay are not in the file, so the section that breaks them is what there is to point at.
    section = next((name for name in (*VARIABLES, "groups") if file.mentions(name)), "agents")
    return problems + [FieldProblem(section, f"a rule that stays breaks: {problem['message']}") for problem in found]
