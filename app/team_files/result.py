"""What applying a team file did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.handoffs.changes import RuleChanges
from app.team_files.plan import Plan


@dataclass(frozen=True, slots=True)
class TeamFileResult:
    """Agents are told by slug; `changed_fields` has those of each updated agent."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    archived: tuple[str, ...]
    unchanged: tuple[str, ...]
    changed_fields: Mapping[str, tuple[str, ...]]
    changed_team_fields: tuple[str, ...]
    rule_changes: RuleChanges

    @property
    def changed(self) -> bool:
        agents = self.created or self.updated or self.archived
        return bool(agents or self.changed_team_fields or self.rule_changes)


def result_of(plan: Plan) -> TeamFileResult:
    return TeamFileResult(
        created=tuple(agent.slug for agent in plan.created),
        updated=tuple(change.slug for change in plan.updated),
        archived=plan.archived,
        unchanged=plan.unchanged,
        changed_fields={change.slug: change.fields for change in plan.updated},
        changed_team_fields=plan.changed_team_fields,
        rule_changes=plan.rule_changes,
    )
