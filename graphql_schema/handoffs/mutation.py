"""Mutations of handoff rules."""

from __future__ import annotations

from uuid import UUID

import strawberry

from app.auth.roles import Permission
from app.errors import InvalidInput
from app.handoffs import service
from app.handoffs.models import TargetKind
from app.handoffs.service import RuleDraft
from app.ids import Prefix, from_global
from graphql_schema.handoffs import enums  # noqa: F401 - publishes them
from graphql_schema.handoffs.types import HandoffRule
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import Conflict, InvalidCondition, NotFound


@strawberry.input(description="A handoff rule to save.")
class SaveHandoffRuleInput(MutationInput):
    rule_id: strawberry.ID | None = strawberry.field(
        default=None, description="The rule to change, by the id of any of its versions. Null: a new rule."
    )
    from_agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Whose replies the rule looks at. Null: any agent's."
    )
    target: TargetKind = strawberry.field(default=TargetKind.AGENT, description="Whom it hands over to.")
    to_agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="The agent that takes over: needed for the target AGENT, and only there."
    )
    to_group_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The group of which somebody takes over: needed for the target GROUP, and only there.",
    )
    condition: str = strawberry.field(
        description="When it fires: comparisons, `and`, `or`, `not`, parentheses, `{{ variables }}` and plain "
        "language, 1 to 2,000 characters, at most 50 clauses and 20 levels."
    )
    priority: int = strawberry.field(default=1, description="Higher fires first, 1 to 1,000.")
    trusts_text: bool = strawberry.field(
        default=False,
        description="Whether its comparisons may use values that were only read in the text of a reply, such as "
        "`word_count: 850`. A user can have an agent repeat such a line.",
    )


@strawberry.input(description="Which handoff rule to delete.")
class DeleteHandoffRuleInput(MutationInput):
    rule_id: strawberry.ID = strawberry.field(description="The rule, by the id of any of its versions.")


@strawberry.type(description="The rule after the change.")
class HandoffRulePayload(Payload):
    rule: HandoffRule = entity("The version that was saved or deleted.")


@mutation(
    "Saves a handoff rule, or a new version of it; replies that began before keep to the older one. Saving it again as "
    "it is changes nothing. A team has at most 1,000 rules.",
    needs=Permission.CONFIGURE_TEAM,
    refusals=(InvalidCondition, NotFound, Conflict),
)
async def save_handoff_rule(work: Work, input: SaveHandoffRuleInput) -> HandoffRulePayload:
    saved = await service.save(
        work.session,
        team_id=work.team_id,
        rule_id=_optional(Prefix.HANDOFF_RULE, input.rule_id, "ruleId"),
        draft=_draft(input),
        actor=work.actor,
    )
    return HandoffRulePayload(rule=saved.id)  # type: ignore[arg-type]


@mutation(
    "Deletes a handoff rule: it decides nothing any more, but for replies that had begun.",
    needs=Permission.CONFIGURE_TEAM,
    refusals=(NotFound,),
)
async def delete_handoff_rule(work: Work, input: DeleteHandoffRuleInput) -> HandoffRulePayload:
    rule_id = from_global(Prefix.HANDOFF_RULE, input.rule_id, path="ruleId")
    gone = await service.delete(work.session, team_id=work.team_id, rule_id=rule_id, actor=work.actor)
    return HandoffRulePayload(rule=gone.id)  # type: ignore[arg-type]


def _draft(input: SaveHandoffRuleInput) -> RuleDraft:
    for kind, path, given in (
        (TargetKind.AGENT, "toAgentId", input.to_agent_id),
        (TargetKind.GROUP, "toGroupId", input.to_group_id),
    ):
        if (input.target is kind) != (given is not None):
            words = f"is needed for the target {kind.name}" if given is None else "has no place beside this target"
            raise InvalidInput.of(path, words)
    return RuleDraft(
        from_agent_id=_optional(Prefix.AGENT, input.from_agent_id, "fromAgentId"),
        to_agent_id=_optional(Prefix.AGENT, input.to_agent_id, "toAgentId"),
        to_group_id=_optional(Prefix.GROUP, input.to_group_id, "toGroupId"),
        condition=input.condition,
        priority=input.priority,
        trusts_text=input.trusts_text,
    )


def _optional(prefix: Prefix, text: str | None, path: str) -> UUID | None:
    return None if text is None else from_global(prefix, text, path=path)
