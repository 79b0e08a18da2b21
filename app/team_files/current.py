"""A team's configuration as a team file would describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.agents.spec import AgentSpec
from app.collaborations.templates import TemplateSpec
from app.groups.spec import GroupSpec
from app.handoffs.spec import HandoffRuleSpec
from app.team_files.spec import BudgetsSpec


@dataclass(frozen=True, slots=True)
class CurrentTeam:
    """`settings` are the sections of the file that are columns of the team; `archived` are slugs that stay taken."""

    settings: Mapping[str, Any]
    default_agent: str | None
    feature_flags: Mapping[str, bool]
    budgets: BudgetsSpec
    agents: Mapping[str, AgentSpec]
    archived: frozenset[str]
    rules: tuple[HandoffRuleSpec, ...]
    groups: tuple[GroupSpec, ...] = ()
    templates: tuple[TemplateSpec, ...] = ()
