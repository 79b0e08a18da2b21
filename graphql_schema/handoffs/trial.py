"""`testHandoffRule`: which rule would fire on a reply, as the graph shows it."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.handoffs import decision as decisions
from app.handoffs.condition.evaluation import ClauseKind, ClauseOutcome
from app.handoffs.judging.embedding import EmbeddingJudge
from app.handoffs.trial import MAX_REPLY, Trial, try_rules
from app.ids import Prefix, from_global, to_global
from app.teams.models import AfterWork
from graphql_schema.context import Info
from graphql_schema.handoffs import enums  # noqa: F401 - publishes them
from graphql_schema.planner.mapping import python
from graphql_schema.scalars import JSON


@strawberry.type(description="One clause of a condition, and whether it holds.")
class HandoffClause:
    clause: str = strawberry.field(description="The clause as it is understood.")
    kind: ClauseKind = strawberry.field(description="What sort of clause it is.")
    holds: bool | None = strawberry.field(description="Whether it holds; null when a variable has no value yet.")
    confidence: float | None = strawberry.field(
        description="How sure the judge is that the reply says it, 0 to 1; it holds from 0.5. Null: nothing was judged."
    )
    reason: str = strawberry.field(description="The values compared, or the words of the reply.")

    @classmethod
    def of(cls, outcome: ClauseOutcome) -> HandoffClause:
        return cls(
            clause=outcome.clause,
            kind=outcome.kind,
            holds=outcome.holds,
            confidence=outcome.confidence,
            reason=outcome.reason,
        )


@strawberry.type(description="What became of one rule.")
class HandoffRuleOutcome:
    rule_id: strawberry.ID = strawberry.field(description="The version that was tried; read it with `node`.")
    condition: str = strawberry.field(description="Its condition.")
    priority: int = strawberry.field(description="Its priority; higher is tried first.")
    holds: bool | None = strawberry.field(description="Whether the condition holds; null when it cannot be known yet.")
    fired: bool = strawberry.field(description="Whether it decides: the first that holds and whose target is active.")
    to_agent_slug: str | None = strawberry.field(
        description="Slug of the agent that it names; null: nobody was before."
    )
    reason: str = strawberry.field(description="Why.")
    clauses: list[HandoffClause] = strawberry.field(description="Its clauses from left to right, at most 50.")

    @classmethod
    def of(cls, outcome: decisions.RuleOutcome) -> HandoffRuleOutcome:
        return cls(
            rule_id=strawberry.ID(to_global(Prefix.HANDOFF_RULE, outcome.rule.id)),
            condition=outcome.rule.spec.condition,
            priority=outcome.rule.spec.priority,
            holds=outcome.holds,
            fired=outcome.fired,
            to_agent_slug=outcome.target,
            reason=outcome.reason,
            clauses=[HandoffClause.of(one) for one in outcome.clauses],
        )


@strawberry.type(description="Who would go on after a reply, and why.")
class HandoffTrial:
    decided_by: decisions.DecidedBy = strawberry.field(description="What settles it.")
    to_agent_slug: str | None = strawberry.field(description="Slug of the agent that would take over; null: nobody.")
    after_work: AfterWork | None = strawberry.field(description="What happens instead; null when somebody takes over.")
    reason: str = strawberry.field(description="Why, in words.")
    judge: str = strawberry.field(description="Who judged the plain language, with its version.")
    values: JSON = strawberry.field(description="Every variable that had a value, by name.")
    rules: list[HandoffRuleOutcome] = strawberry.field(
        description="Every rule that looks at the agent's replies, in the order in which they are tried; at most 1,000."
    )

    @classmethod
    def of(cls, trial: Trial) -> HandoffTrial:
        made = trial.decision
        return cls(
            decided_by=made.by,
            to_agent_slug=made.to_agent,
            after_work=made.after_work,
            reason=made.reason,
            judge=trial.judge,
            values=JSON(dict(trial.values)),
            rules=[HandoffRuleOutcome.of(one) for one in made.outcomes],
        )


@python(
    "Which handoff rule would fire if this agent replied this now, and why: every clause with its value or confidence. "
    "Plain language is judged by embedding. Nothing is changed.",
    cost=50,
)
async def try_handoff_rules(
    self: Any,
    info: Info,
    text: Annotated[str, strawberry.argument(description=f"The reply, 1 to {MAX_REPLY:,} characters.")],
    from_agent_id: Annotated[strawberry.ID, strawberry.argument(description="Who would reply.")],
    previous_agent_id: Annotated[
        strawberry.ID | None, strawberry.argument(description="Who had the conversation before; null: nobody.")
    ] = None,
    variables: Annotated[
        JSON | None,
        strawberry.argument(
            description="Values by name, as an object; they win over the team's. Lines of the text such as "
            "`word_count: 850` set run-time variables as in a real reply."
        ),
    ] = None,
) -> HandoffTrial | None:
    services = info.context.services
    trial = await try_rules(
        services.transaction,
        EmbeddingJudge(services.embedder),
        team_id=info.context.principal.team_id,
        text=text,
        from_agent=from_global(Prefix.AGENT, from_agent_id, path="fromAgentId"),
        previous_agent=None
        if previous_agent_id is None
        else from_global(Prefix.AGENT, previous_agent_id, path="previousAgentId"),
        variables={} if variables is None else variables,
    )
    return HandoffTrial.of(trial)
