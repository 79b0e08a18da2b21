"""What a handoff rule may look like, and whether a team's rules fit its agents and variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from app.agents.spec import Strict, text
from app.errors import FieldProblem

ANY_AGENT = "any_agent"
PREVIOUS_AGENT = "previous_agent"
MAX_CONDITION = 2_000
MAX_PRIORITY = 1_000
MAX_RULES = 1_000

Reference = Annotated[str, StringConstraints(min_length=1, max_length=63)]
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"[a-z_][a-z0-9_]*")


class HandoffRuleSpec(Strict):
    """Agents are named by slug; `any_agent` may be the source, `previous_agent` the target."""

    from_agent: Reference
    to_agent: Reference
    condition: Annotated[str, text(MAX_CONDITION, 1)]
    priority: Annotated[int, Field(ge=1, le=MAX_PRIORITY, strict=True)] = 1

    @model_validator(mode="after")
    def _two_agents(self) -> Self:
        if self.from_agent == self.to_agent:
            raise ValueError("to_agent: must be another agent than from_agent")
        return self

    @property
    def identity(self) -> tuple[str, str, str]:
        """What makes it this rule; its priority may change."""
        return self.from_agent, self.to_agent, self.condition


def problems_with(
    rules: Sequence[HandoffRuleSpec], *, slugs: Collection[str], variables: Collection[str] | None
) -> list[FieldProblem]:
    """Everything that keeps these rules from being saved; variables are not looked at when None."""
    found: list[FieldProblem] = []
    seen: dict[tuple[str, str, str], int] = {}
    for index, rule in enumerate(rules):
        path = f"handoffs.{index}"
        if seen.setdefault(rule.identity, index) != index:
            found.append(FieldProblem(path, f"repeats rule {seen[rule.identity] + 1}"))
        found += _reference_problems(path, rule, slugs)
        found += [FieldProblem(f"{path}.condition", words) for words in _condition_problems(rule.condition, variables)]
    return found


def variables_in(condition: str) -> list[str]:
    return [inner.strip() for inner in _PLACEHOLDER.findall(condition)]


def _reference_problems(path: str, rule: HandoffRuleSpec, slugs: Collection[str]) -> Iterator[FieldProblem]:
    for field, slug, special, other in (
        ("from_agent", rule.from_agent, ANY_AGENT, PREVIOUS_AGENT),
        ("to_agent", rule.to_agent, PREVIOUS_AGENT, ANY_AGENT),
    ):
        if slug == other:
            yield FieldProblem(f"{path}.{field}", f"cannot be {other}; name an agent or {special}")
        elif slug != special and slug not in slugs:
            yield FieldProblem(f"{path}.{field}", f"there is no agent '{slug}'{_hint(slug, slugs)}")


def _condition_problems(condition: str, variables: Collection[str] | None) -> Iterator[str]:
    if re.search(r"\{\{|\}\}", _PLACEHOLDER.sub("", condition)):
        yield "has a {{ without its }}, or the other way round"
    for name in dict.fromkeys(variables_in(condition)):
        if not _NAME.fullmatch(name):
            yield f"'{{{{ {name} }}}}' does not name a context variable"
        elif variables is not None and name not in variables:
            yield f"there is no context variable '{name}'{_hint(name, variables)}"


def _hint(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, sorted(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
