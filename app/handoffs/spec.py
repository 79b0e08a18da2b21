"""What a handoff rule may look like, and whether a team's rules fit its agents and variables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from app.agents.spec import Strict, text
from app.errors import FieldProblem
from app.handoffs.condition.check import read
from app.handoffs.condition.parser import MAX_LENGTH as MAX_CONDITION
from app.handoffs.condition.problem import hint
from app.teams.variables import VariableKind

ANY_AGENT = "any_agent"
PREVIOUS_AGENT = "previous_agent"
MAX_PRIORITY = 1_000
MAX_RULES = 1_000

Reference = Annotated[str, StringConstraints(min_length=1, max_length=63)]


class HandoffRuleSpec(Strict):
    """Agents and groups are named by slug; `any_agent` may be the source, `previous_agent` the target."""

    from_agent: Reference
    to_agent: Reference | None = None
    to_group: Reference | None = None
    condition: Annotated[str, text(MAX_CONDITION, 1)]
    priority: Annotated[int, Field(ge=1, le=MAX_PRIORITY, strict=True)] = 1
    trusts_text: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.to_agent is None) == (self.to_group is None):
            raise ValueError("to_agent: is needed, or to_group; and only one of them")
        if self.from_agent == self.to_agent:
            raise ValueError("to_agent: must be another agent than from_agent")
        return self

    @property
    def identity(self) -> tuple[str, str, str]:
        """What makes it this rule; its priority, and whether it trusts texts, may change."""
        return self.from_agent, self.target, self.condition

    @property
    def target(self) -> str:
        """In words: an agent's slug, `previous_agent`, or which group."""
        return self.to_agent or f"group '{self.to_group}'"


def problems_with(
    rules: Sequence[HandoffRuleSpec],
    *,
    slugs: Collection[str],
    variables: Mapping[str, VariableKind] | None,
    groups: Collection[str] | None,
) -> list[FieldProblem]:
    """Everything that keeps these rules from being saved; variables and groups are not looked at when None."""
    found: list[FieldProblem] = []
    seen: dict[tuple[str, str, str], int] = {}
    for index, rule in enumerate(rules):
        path = f"handoffs.{index}"
        if seen.setdefault(rule.identity, index) != index:
            found.append(FieldProblem(path, f"repeats rule {seen[rule.identity] + 1}"))
        found += _reference_problems(path, rule, slugs)
        if rule.to_group is not None and groups is not None and rule.to_group not in groups:
            words = f"there is no group '{rule.to_group}'{hint(rule.to_group, groups)}"
            found.append(FieldProblem(f"{path}.to_group", words))
        _, problems = read(rule.condition, variables)
        found += [FieldProblem(f"{path}.condition", problem.inside) for problem in problems]
    return found


def _reference_problems(path: str, rule: HandoffRuleSpec, slugs: Collection[str]) -> Iterator[FieldProblem]:
    for field, slug, special, other in (
        ("from_agent", rule.from_agent, ANY_AGENT, PREVIOUS_AGENT),
        ("to_agent", rule.to_agent, PREVIOUS_AGENT, ANY_AGENT),
    ):
        if slug == other:
            yield FieldProblem(f"{path}.{field}", f"cannot be {other}; name an agent or {special}")
        elif slug is not None and slug != special and slug not in slugs:
            yield FieldProblem(f"{path}.{field}", f"there is no agent '{slug}'{hint(slug, slugs)}")
