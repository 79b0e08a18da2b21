"""What differs between the rules that a team has and those that it should have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.handoffs.spec import HandoffRuleSpec


@dataclass(frozen=True, slots=True)
class RuleChanges:
    added: tuple[HandoffRuleSpec, ...] = ()
    removed: tuple[HandoffRuleSpec, ...] = ()
    reprioritised: tuple[HandoffRuleSpec, ...] = ()

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def count(self) -> int:
        return len(self.added) + len(self.removed) + len(self.reprioritised)


def compare(current: Sequence[HandoffRuleSpec], wanted: Sequence[HandoffRuleSpec]) -> RuleChanges:
    """A rule is known by its agents and condition, so another priority or trust in texts makes a new version of it."""
    before = {rule.identity: rule for rule in current}
    after = {rule.identity: rule for rule in wanted}
    return RuleChanges(
        added=tuple(rule for rule in after.values() if rule.identity not in before),
        removed=tuple(rule for rule in current if rule.identity not in after),
        reprioritised=tuple(rule for key, rule in after.items() if key in before and before[key] != rule),
    )
