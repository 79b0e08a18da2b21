"""Mutations of those who answer for the money: corrections and allowances."""

from __future__ import annotations

import strawberry

from app.agents import allowances
from app.agents.allowances import MAX_ALLOWANCE_USD
from app.auth.roles import Permission
from app.ids import Prefix, from_global
from app.interventions import corrections
from app.interventions.corrections import MAX_COST_USD, MAX_REASON
from graphql_schema.agents.mutation import AgentPayload
from graphql_schema.mutations import MutationInput, Work, mutation
from graphql_schema.refusals import NotFound
from graphql_schema.scalars import Usd
from graphql_schema.tasks.mutation import TaskPayload


@strawberry.input(description="Which task, what it cost, and why that is known.")
class CorrectTaskCostInput(MutationInput):
    task_id: strawberry.ID = strawberry.field(description="Which task.")
    cost_usd: Usd = strawberry.field(
        description=f"What its own attempts cost in all, without the tasks below it: 0 to {MAX_COST_USD:,} US dollars."
    )
    reason: str = strawberry.field(description=f"Why, for the event log; 1 to {MAX_REASON} characters.")


@strawberry.input(description="Which agent, and what its key may spend outside any task.")
class SetAgentAllowanceInput(MutationInput):
    agent_id: strawberry.ID = strawberry.field(description="Which agent.")
    day_usd: Usd | None = strawberry.field(
        description=f"For a UTC day, 0 to {MAX_ALLOWANCE_USD:,} US dollars; null: the installation's setting counts."
    )


@mutation(
    "Sets what a task cost, in its own budget and in every budget above it, up to the team's day and month. A cost "
    "that its agent claimed beyond the budget is decided with it. Attempts keep what was reported.",
    needs=Permission.CONFIGURE_TEAM,
    refusals=(NotFound,),
)
async def correct_task_cost(work: Work, input: CorrectTaskCostInput) -> TaskPayload:
    task = await corrections.correct_task_cost(
        work.session,
        team_id=work.team_id,
        task_id=from_global(Prefix.TASK, input.task_id, path="taskId"),
        cost=input.cost_usd,
        reason=input.reason,
        actor=work.actor,
    )
    return TaskPayload(task=task.id)  # type: ignore[arg-type]


@mutation(
    "Sets what an agent's key may spend in a UTC day on work that it starts while its agent works on no task: "
    "delegations, sessions, reports and consultations. It counts at once.",
    needs=Permission.CONFIGURE_TEAM,
    refusals=(NotFound,),
)
async def set_agent_allowance(work: Work, input: SetAgentAllowanceInput) -> AgentPayload:
    agent = await allowances.set_allowance(
        work.session,
        team_id=work.team_id,
        agent_id=from_global(Prefix.AGENT, input.agent_id, path="agentId"),
        day_usd=input.day_usd,
        actor=work.actor,
    )
    return AgentPayload(agent=agent.id)  # type: ignore[arg-type]
