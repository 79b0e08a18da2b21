"""Mutations of those who delegate and of those who intervene."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import strawberry

from app.auth.roles import Permission
from app.contracts.service import MOST_INPUT_BYTES
from app.discovery.queries import skill_matches_of
from app.errors import InvalidInput
from app.groups import delegation as group_delegation
from app.groups.delegation import NOBODY
from app.ids import Prefix, from_global
from app.routing.models import MAX_QUERY
from app.tasks import dead_letters, revival, service, transitions
from app.tasks.models import TaskPriority, TaskType
from app.tasks.service import Delegation
from app.tasks.spec import MAX_ARTIFACTS, MAX_DEPENDENCIES, MAX_INSTRUCTIONS, parse_task
from graphql_schema.context import Context
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import (
    AgentUnavailable,
    AllowanceExceeded,
    AuthorityExceeded,
    BudgetExhausted,
    ClaimLost,
    Conflict,
    CycleDetected,
    DelegationDepthExceeded,
    FeatureDisabled,
    NotFound,
    OscillationDetected,
    QuotaExceeded,
)
from graphql_schema.scalars import JSON, Usd
from graphql_schema.tasks.acting import LEFT_OUT, acting_as, given, may_direct, require_token, start_of
from graphql_schema.tasks.types import DeadLetter, Task

UNSET = strawberry.UNSET
_CONTRACT_INPUT_TEXT = f"it must fit the contract. At most {MOST_INPUT_BYTES:,} bytes, 20 deep."
_DELEGATION = (
    NotFound, Conflict, FeatureDisabled, DelegationDepthExceeded, CycleDetected, AgentUnavailable, AuthorityExceeded,
    BudgetExhausted,
)  # fmt: skip
_SPEC = (
    "type", "title", "instructions", "context", "expected_output", "input_artifacts", "priority", "max_tokens",
    "max_tool_calls", "timeout_seconds", "model_tier", "budget_usd", "tools",
)  # fmt: skip


@strawberry.input(description="Work for another agent.")
class DelegateTaskInput(MutationInput):
    type: TaskType = strawberry.field(description="What kind of work it is.")
    title: str = strawberry.field(description="What is wanted, 1 to 200 characters.")
    instructions: str = strawberry.field(description=f"What to do, 1 to {MAX_INSTRUCTIONS:,} characters.")
    assignee_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who is to do it; at most 5 open tasks at a time. Either this or groupId is needed."
    )
    group_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The group that is to do it: its coordinator takes it, or where it has none that is free, the "
        "member whose skills match best. Below the task only the group may be asked, unless agents or a parent say "
        "otherwise.",
    )
    creator_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Who delegates. Left out: the agent that works on the parent, or the one that the key acts as.",
    )
    parent_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The task that this is part of; it must be in progress. At most 3 deep, with the consultations, "
        f"sessions and reports on the way. {LEFT_OUT}",
    )
    claim_token: str | None = strawberry.field(
        default=None, description="The claim under which the parent is worked on; an agent's key needs it for a parent."
    )
    depends_on: list[strawberry.ID] = strawberry.field(
        default_factory=list,
        description=f"Tasks that must complete before this one starts; at most {MAX_DEPENDENCIES}.",
    )
    context: str = strawberry.field(
        default="", description=f"What helps to understand it, up to {MAX_INSTRUCTIONS:,} characters."
    )
    expected_output: str = strawberry.field(
        default="", description="What the result should look like, up to 10,000 characters."
    )
    input_artifacts: list[str] = strawberry.field(
        default_factory=list,
        description="References to what it works on: artifact:…, memory:…, file:…, task:… or https://…; at most "
        f"{MAX_ARTIFACTS}.",
    )
    contract: str | None = strawberry.field(
        default=None,
        description="Name of a contract, such as `reviewer`: the input must fit it now, and the output in the end. The "
        "task keeps the version that counts now.",
    )
    contract_input: JSON | None = strawberry.field(
        default=None, description=f"What it is given as data, as an object; {_CONTRACT_INPUT_TEXT}"
    )
    priority: TaskPriority = strawberry.field(default=TaskPriority.NORMAL, description="Which tasks go first.")
    max_tokens: int = strawberry.field(
        default=4_000, description="How many tokens one attempt may use, 1 to 10,000,000."
    )
    max_tool_calls: int = strawberry.field(
        default=10, description="How many tool calls one attempt may make, 0 to 10,000."
    )
    timeout_seconds: int = strawberry.field(
        default=120, description="How long one attempt may take, 1 to 86,400 seconds."
    )
    model_tier: int | None = strawberry.field(default=None, description="Tier of model, 0 to 2; null: the assignee's.")
    budget_usd: Usd | None = strawberry.field(
        default=None,
        description="Reserved for it and for what it delegates, from the parent's budget or the team's: above 0 to "
        "1,000,000 US dollars. Left out: the installation's usual amount, below a parent at most half of what is left.",
    )
    tools: list[str] | None = strawberry.field(
        default=None,
        description="The only tools that it may use, among those of the parent; null: all of these. For a managed "
        "agent each must be one of its own tools, or one that an agent of the team declares.",
    )
    agents: list[strawberry.ID] | None = strawberry.field(
        default=None, description="The only agents that may be asked below it, among those of the parent; null: all."
    )


@strawberry.input(description="Which task to cancel, and why.")
class CancelTaskInput(MutationInput):
    task_id: strawberry.ID = strawberry.field(description="Which task.")
    reason: str = strawberry.field(default="", description="Why, for the event log; up to 500 characters.")


@strawberry.input(description="Which task to run again, and why.")
class RetryTaskInput(MutationInput):
    task_id: strawberry.ID = strawberry.field(description="Which task.")
    reason: str = strawberry.field(default="", description="Why, for the event log; up to 500 characters.")


@strawberry.input(description="Which task, and who is to do it.")
class ReassignTaskInput(MutationInput):
    task_id: strawberry.ID = strawberry.field(description="Which task.")
    assignee_id: strawberry.ID = strawberry.field(description="Who is to do it now.")
    reason: str = strawberry.field(default="", description="Why, for the event log; up to 500 characters.")


@strawberry.input(description="Which dead letter, and what to change in its task. What is absent stays as it was.")
class ReplayDeadLetterInput(MutationInput):
    dead_letter_id: strawberry.ID = strawberry.field(description="Which dead letter.")
    assignee_id: strawberry.ID | None = strawberry.field(default=UNSET, description="Another agent.")
    title: str | None = strawberry.field(default=UNSET, description="Another title, 1 to 200 characters.")
    instructions: str | None = strawberry.field(
        default=UNSET, description=f"Other instructions, 1 to {MAX_INSTRUCTIONS:,} characters."
    )
    context: str | None = strawberry.field(
        default=UNSET, description=f"Another context, up to {MAX_INSTRUCTIONS:,} characters."
    )
    expected_output: str | None = strawberry.field(
        default=UNSET, description="Another expected output, up to 10,000 characters."
    )
    input_artifacts: list[str] | None = strawberry.field(
        default=UNSET, description=f"Other references, at most {MAX_ARTIFACTS}."
    )
    contract: str | None = strawberry.field(
        default=UNSET, description="Another contract, or the same in the version that counts now."
    )
    contract_input: JSON | None = strawberry.field(
        default=UNSET, description=f"What it is given as data instead; {_CONTRACT_INPUT_TEXT}"
    )
    priority: TaskPriority | None = strawberry.field(default=UNSET, description="Another priority.")
    max_tokens: int | None = strawberry.field(default=UNSET, description="Another limit of tokens, 1 to 10,000,000.")
    max_tool_calls: int | None = strawberry.field(
        default=UNSET, description="Another limit of tool calls, 0 to 10,000."
    )
    timeout_seconds: int | None = strawberry.field(
        default=UNSET, description="Another time limit, 1 to 86,400 seconds."
    )
    model_tier: int | None = strawberry.field(default=UNSET, description="Another tier of model, 0 to 2.")
    budget_usd: Usd | None = strawberry.field(
        default=UNSET, description="Another budget, above 0 to 1,000,000 US dollars."
    )
    note: str = strawberry.field(default="", description="What to remember about it; up to 500 characters.")


@strawberry.input(description="Which dead letter to give up.")
class DiscardDeadLetterInput(MutationInput):
    dead_letter_id: strawberry.ID = strawberry.field(description="Which dead letter.")
    note: str = strawberry.field(default="", description="What to remember about it; up to 500 characters.")


@strawberry.type(description="The task after the change.")
class TaskPayload(Payload):
    task: Task = entity("The task, as it is now.")


@strawberry.type(description="The dead letter after the change.")
class DeadLetterPayload(Payload):
    dead_letter: DeadLetter = entity("The dead letter, as it is now.")
    task: Task | None = entity("The task that takes its work up again; null when it was discarded.")


def _ids(prefix: Prefix, texts: list[strawberry.ID], path: str) -> frozenset[UUID]:
    return frozenset(from_global(prefix, text, path=f"{path}.{at}") for at, text in enumerate(texts))


def _optional(prefix: Prefix, text: Any, path: str) -> UUID | None:
    return from_global(prefix, text, path=path) if text else None


def _note(text: str, path: str = "reason") -> str:
    if len(text) > 500 or "\x00" in text:
        raise InvalidInput.of(path, "must be at most 500 characters long")
    return text


async def _matches(context: Context, input: DelegateTaskInput) -> dict[str, float] | None:
    """How well each agent's skills match a task for a group; reckoned before the transaction."""
    if (input.assignee_id is None) == (input.group_id is None):
        raise InvalidInput.of("assigneeId", "or groupId is needed, and only one of them")
    if input.group_id is None:
        return None
    services = context.services
    text = f"{input.title}\n{input.instructions}"[:MAX_QUERY].strip()
    return await skill_matches_of(services.team_indexes, services.embedder, context.principal.team_id, text)


@mutation(
    "Delegates a task. Every rule is checked and its budget reserved before it exists; a refusal leaves nothing.",
    needs=Permission.DELEGATE_TASKS,
    refusals=(*_DELEGATION, AllowanceExceeded, QuotaExceeded, OscillationDetected, ClaimLost),
    prepare=_matches,
)
async def delegate_task(work: Work, input: DelegateTaskInput) -> TaskPayload:
    creator = _optional(Prefix.AGENT, input.creator_id, "creatorId")
    require_token(work.principal, input.parent_id, input.claim_token)
    start = await start_of(work, input.parent_id, input.claim_token, path="parentId")
    wanted = Delegation(
        spec=parse_task(given(input, *_SPEC)),
        assignee_id=_optional(Prefix.AGENT, input.assignee_id, "assigneeId") or NOBODY,
        creator_id=acting_as(work.principal, creator, Permission.DELEGATE_TASKS),
        parent_id=start.task_id,
        depends_on=_ids(Prefix.TASK, input.depends_on, "dependsOn"),
        agents=None if input.agents is None else _ids(Prefix.AGENT, input.agents, "agents"),
        claim_token=start.claim_token,
        contract=input.contract,
        contract_input=input.contract_input,
        allowance_of=start.allowance_of,
        directives=may_direct(work.principal),
    )
    settings = work.context.services.settings
    common: dict[str, Any] = {"team_id": work.team_id, "wanted": wanted, "settings": settings, "actor": work.actor}
    group_id = _optional(Prefix.GROUP, input.group_id, "groupId")
    if group_id is None:
        task = await service.delegate(work.session, **common)
    else:
        task = await group_delegation.delegate(work.session, group_id=group_id, matches=work.prepared, **common)
    return TaskPayload(task=task.id)  # type: ignore[arg-type]


@mutation(
    "Cancels an open task and all open work below it, and gives back what is left of their budgets. An agent's key may "
    "cancel what that agent delegated.",
    needs=Permission.CANCEL_TASKS,
    refusals=(NotFound, Conflict),
)
async def cancel_task(work: Work, input: CancelTaskInput) -> TaskPayload:
    task = await transitions.cancel(
        work.session,
        team_id=work.team_id,
        task_id=from_global(Prefix.TASK, input.task_id, path="taskId"),
        reason=_note(input.reason),
        actor=work.actor,
        agent_id=work.principal.agent_id,
    )
    return TaskPayload(task=task.id)  # type: ignore[arg-type]


@mutation(
    "Runs a task again that failed, timed out or was cancelled, or at once one that waits for its next attempt. What "
    "is left of its budget is reserved anew.",
    needs=Permission.CONTROL_TASKS,
    refusals=_DELEGATION,
)
async def retry_task(work: Work, input: RetryTaskInput) -> TaskPayload:
    task = await revival.retry(
        work.session,
        team_id=work.team_id,
        task_id=from_global(Prefix.TASK, input.task_id, path="taskId"),
        settings=work.context.services.settings,
        actor=work.actor,
        reason=_note(input.reason),
    )
    return TaskPayload(task=task.id)  # type: ignore[arg-type]


@mutation(
    "Gives an open task to another agent. Whoever worked on it loses the claim.",
    needs=Permission.CONTROL_TASKS,
    refusals=_DELEGATION,
)
async def reassign_task(work: Work, input: ReassignTaskInput) -> TaskPayload:
    task = await revival.reassign(
        work.session,
        team_id=work.team_id,
        task_id=from_global(Prefix.TASK, input.task_id, path="taskId"),
        assignee_id=from_global(Prefix.AGENT, input.assignee_id, path="assigneeId"),
        actor=work.actor,
        reason=_note(input.reason),
    )
    return TaskPayload(task=task.id)  # type: ignore[arg-type]


@mutation(
    "Takes up the work of a dead letter in a new task, with changes where given. It keeps the version of its contract, "
    "unless a contract is named.",
    needs=Permission.CONTROL_TASKS,
    refusals=(*_DELEGATION, OscillationDetected),
)
async def replay_dead_letter(work: Work, input: ReplayDeadLetterInput) -> DeadLetterPayload:
    letter, task = await revival.replay(
        work.session,
        team_id=work.team_id,
        letter_id=from_global(Prefix.DEAD_LETTER, input.dead_letter_id, path="deadLetterId"),
        edits=given(input, *(name for name in _SPEC if name not in {"type", "tools"})),
        assignee_id=_optional(Prefix.AGENT, input.assignee_id, "assigneeId"),
        **given(input, "contract", "contract_input"),
        settings=work.context.services.settings,
        actor=work.actor,
        note=_note(input.note, "note"),
    )
    return DeadLetterPayload(dead_letter=letter.id, task=task.id)  # type: ignore[arg-type]


@mutation("Gives a dead letter up.", needs=Permission.CONTROL_TASKS, refusals=(NotFound, Conflict))
async def discard_dead_letter(work: Work, input: DiscardDeadLetterInput) -> DeadLetterPayload:
    letter = await dead_letters.discard(
        work.session,
        team_id=work.team_id,
        letter_id=from_global(Prefix.DEAD_LETTER, input.dead_letter_id, path="deadLetterId"),
        note=_note(input.note, "note"),
        actor=work.actor,
    )
    return DeadLetterPayload(dead_letter=letter.id, task=None)  # type: ignore[arg-type]
