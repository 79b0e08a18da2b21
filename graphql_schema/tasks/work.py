"""Mutations of those who work: an agent's own program claims its tasks, reports, and ends them, under its claim."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from uuid import UUID

import strawberry
from pydantic import Field

from app.agents.models import AgentRuntime
from app.agents.spec import Strict, text
from app.auth.roles import Permission
from app.contracts.documents import require_document
from app.errors import InvalidInput, Unavailable
from app.ids import Prefix, from_global
from app.tasks import claiming, outputs, queries, tool_calls, transitions
from app.tasks.claiming import LEASE_S
from app.tasks.failures import Failure, ReportedFailure, Usage
from app.tasks.models import TaskType
from app.tasks.outputs import Checked
from app.tasks.spec import MAX_ARTIFACTS, Reference
from app.tasks.tool_calls import ToolCallSpec
from graphql_schema.context import Context
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import AuthorityExceeded, ClaimLost, Conflict, NotFound
from graphql_schema.scalars import JSON, DateTime, Usd
from graphql_schema.tasks.acting import acting_as, given, parsed, uuid_of
from graphql_schema.tasks.mutation import TaskPayload
from graphql_schema.tasks.types import Task, ToolCall

DEFAULT_LEASE_S = 30
MOST_WAIT_S = 10
MOST_ARGUMENTS = 100_000  # bytes
_POLL_S = 0.25
_LEASE_TEXT = f"How long the claim holds without a heartbeat, {LEASE_S[0]} to {LEASE_S[-1]} seconds."
_TOKENS_TEXT = "Tokens that this attempt has used so far, in all, 0 to 2,000,000,000."
_MODEL_TEXT = "The model that works on it, up to 120 characters; null: as before."
_COST_TEXT = (
    "What this attempt has cost so far, in all, up to 1,000,000 US dollars. Beyond the task's budget the task fails, "
    "and the part beyond is not booked but claimed: a person decides."
)


class Result(Strict):
    result: Annotated[str, text(1_000_000, 1)]
    result_artifacts: Annotated[tuple[Reference, ...], Field(max_length=MAX_ARTIFACTS)] = ()


class _Progress(Strict):
    progress: Annotated[str, text(10_000)]


@strawberry.input(description="Who looks for work.")
class ClaimTaskInput(MutationInput):
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Whose task to take; left out with a key that acts as one agent."
    )
    types: list[TaskType] | None = strawberry.field(
        default=None, description="Only these types of task; all by default."
    )
    lease_seconds: int = strawberry.field(default=DEFAULT_LEASE_S, description=_LEASE_TEXT)
    wait_seconds: int = strawberry.field(
        default=0, description=f"How long to wait for a task when there is none, 0 to {MOST_WAIT_S} seconds."
    )


@strawberry.input(description="A task and the claim that holds it.")
class ClaimedTaskInput(MutationInput):
    task_id: strawberry.ID = strawberry.field(description="Which task.")
    claim_token: str = strawberry.field(description="What claimTask gave.")


@strawberry.input(description="A sign of life.")
class HeartbeatTaskInput(ClaimedTaskInput):
    lease_seconds: int = strawberry.field(default=DEFAULT_LEASE_S, description=_LEASE_TEXT)
    progress: str | None = strawberry.field(
        default=None, description="How far it is, up to 10,000 characters; null: as before. Told to whoever follows."
    )
    tokens_used: int = strawberry.field(default=0, description=_TOKENS_TEXT)
    cost_usd: Usd = strawberry.field(default=Usd(0), description=_COST_TEXT)  # type: ignore[arg-type]
    model: str | None = strawberry.field(default=None, description=_MODEL_TEXT)


@strawberry.input(description="A tool call that was made.")
class RecordToolCallInput(ClaimedTaskInput):
    name: str = strawberry.field(description="The tool's name, 1 to 120 characters.")
    arguments: JSON | None = strawberry.field(
        default=None, description="What it was called with, as an object: at most 100,000 bytes, 20 deep."
    )
    result: str | None = strawberry.field(default=None, description="What it answered, up to 100,000 characters.")
    error: str | None = strawberry.field(default=None, description="Why it failed, up to 10,000 characters.")
    created_task_id: strawberry.ID | None = strawberry.field(
        default=None, description="The task that the call delegated."
    )
    started_at: DateTime | None = strawberry.field(default=None, description="When it was called; null: now.")


@strawberry.input(description="The result of a task.")
class CompleteTaskInput(ClaimedTaskInput):
    result: str = strawberry.field(description="The result in words, 1 to 1,000,000 characters.")
    output: JSON | None = strawberry.field(
        default=None,
        description="The result as data, as an object: at most 1,000,000 bytes, 20 deep. Must fit the task's contract.",
    )
    result_artifacts: list[str] = strawberry.field(
        default_factory=list, description=f"References to what was made; at most {MAX_ARTIFACTS}."
    )
    tokens_used: int = strawberry.field(default=0, description=_TOKENS_TEXT)
    cost_usd: Usd = strawberry.field(default=Usd(0), description=_COST_TEXT)  # type: ignore[arg-type]
    model: str | None = strawberry.field(default=None, description=_MODEL_TEXT)


@strawberry.input(description="Why an attempt failed.")
class FailTaskInput(ClaimedTaskInput):
    message: str = strawberry.field(description="What went wrong, 1 to 10,000 characters.")
    error_code: str = strawberry.field(
        default="FAILED",
        description="For programs: capitals, digits and underscores, up to 64; no word of Parley's, such as TIMED_OUT.",
    )
    may_pass: bool = strawberry.field(
        default=True, description="Whether another attempt may succeed. At most two more follow, after 2 and 8 seconds."
    )
    tokens_used: int = strawberry.field(default=0, description=_TOKENS_TEXT)
    cost_usd: Usd = strawberry.field(default=Usd(0), description=_COST_TEXT)  # type: ignore[arg-type]
    model: str | None = strawberry.field(default=None, description=_MODEL_TEXT)


@strawberry.type(description="A task to work on, or none.")
class ClaimTaskPayload(Payload):
    task: Task | None = entity("The task; null when there is none to do.")
    claim_token: str | None = strawberry.field(
        default=None, description="Show it with every later call for this task; null without a task."
    )


@strawberry.type(description="The call, and the task after it.")
class ToolCallPayload(Payload):
    tool_call: ToolCall = entity("The call.")
    task: Task = entity("The task: it has failed when this call was one too many.")


def _claim(work: Work, input: ClaimedTaskInput) -> dict[str, Any]:
    """What every write under a claim names."""
    return {
        "team_id": work.team_id,
        "task_id": from_global(Prefix.TASK, input.task_id, path="taskId"),
        "claim_token": uuid_of(input.claim_token, path="claimToken"),
        "actor": work.actor,
        "agent_id": work.principal.agent_id,
    }


def usage_of(input: Any) -> Usage:
    fields = {"tokens": input.tokens_used, "cost": input.cost_usd, "model": input.model, "self_reported": True}
    return parsed(Usage, fields)


def _lease(seconds: int) -> int:
    if seconds not in LEASE_S:
        raise InvalidInput.of("leaseSeconds", f"must be {LEASE_S[0]} to {LEASE_S[-1]}")
    return seconds


def _worker_id(context: Context, input: ClaimTaskInput) -> UUID:
    named = from_global(Prefix.AGENT, input.agent_id, path="agentId") if input.agent_id else None
    agent_id = acting_as(context.principal, named, Permission.WORK_TASKS)
    if agent_id is None:
        raise InvalidInput.of("agentId", "is needed with a key that does not act as one agent")
    return agent_id


async def _wait_for_work(context: Context, input: ClaimTaskInput) -> None:
    """Until there is a task, the wait is over or this process ends. Neither a transaction nor a connection is held."""
    if not 0 <= input.wait_seconds <= MOST_WAIT_S:
        raise InvalidInput.of("waitSeconds", f"must be 0 to {MOST_WAIT_S}")
    agent_id, services = _worker_id(context, input), context.services
    _lease(input.lease_seconds)
    if input.wait_seconds == 0:
        return
    closing, left = asyncio.ensure_future(services.closing.wait()), asyncio.ensure_future(context.left())
    try:
        for _ in range(int(input.wait_seconds / _POLL_S)):
            if await queries.has_work(
                services.database, team_id=context.principal.team_id, agent_id=agent_id, types=input.types
            ):
                return
            await asyncio.wait((closing, left), timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
            if left.done():  # a task claimed now would be nobody's until its lease runs out
                raise Unavailable("The client left before there was a task.")
            if closing.done():
                return
    finally:
        closing.cancel()
        left.cancel()


@mutation(
    "Takes the agent's next task, if there is one: most urgent first, then oldest. The claim holds until its lease "
    "runs out; heartbeats extend it. Each task goes to one claimer.",
    needs=Permission.WORK_TASKS,
    refusals=(NotFound, Conflict),
    prepare=_wait_for_work,
)
async def claim_task(work: Work, input: ClaimTaskInput) -> ClaimTaskPayload:
    agent_id, lease_s = _worker_id(work.context, input), _lease(input.lease_seconds)
    await queries.require_runtime(work.session, team_id=work.team_id, agent_id=agent_id, runtime=AgentRuntime.EXTERNAL)
    task = await claiming.claim_next(
        work.session, team_id=work.team_id, agent_id=agent_id, types=input.types, lease_s=lease_s, actor=work.actor
    )
    if task is None:
        return ClaimTaskPayload(task=None)
    return ClaimTaskPayload(task=task.id, claim_token=str(task.claim_token))  # type: ignore[arg-type]


@mutation(
    "Extends the claim and tells how far the work is. Past its time or limits the task ends here: look at its status.",
    needs=Permission.WORK_TASKS,
    refusals=(NotFound, ClaimLost),
)
async def heartbeat_task(work: Work, input: HeartbeatTaskInput) -> TaskPayload:
    told = parsed(_Progress, {"progress": input.progress}).progress if input.progress is not None else None
    task = await transitions.heartbeat(
        work.session, **_claim(work, input), lease_s=_lease(input.lease_seconds), progress=told, usage=usage_of(input)
    )
    return TaskPayload(task=task.id)  # type: ignore[arg-type]


@mutation(
    "Keeps a tool call of the attempt. One more than the task allows fails it for good: look at the task's status.",
    needs=Permission.WORK_TASKS,
    refusals=(NotFound, ClaimLost, AuthorityExceeded),
)
async def record_tool_call(work: Work, input: RecordToolCallInput) -> ToolCallPayload:
    created = from_global(Prefix.TASK, input.created_task_id, path="createdTaskId") if input.created_task_id else None
    if input.arguments is not None:
        require_document("arguments", input.arguments, most_bytes=MOST_ARGUMENTS)
    call = parsed(ToolCallSpec, given(input, "name", "arguments", "result", "error", "started_at"))
    task, kept = await tool_calls.record(work.session, **_claim(work, input), call=call, created_task_id=created)
    return ToolCallPayload(tool_call=kept.id, task=task.id)  # type: ignore[arg-type]


async def _check_output(context: Context, input: CompleteTaskInput) -> Checked | None:
    if input.output is None:
        return None
    async with context.services.transaction() as session:
        required = await outputs.required_by(
            session,
            team_id=context.principal.team_id,
            task_id=from_global(Prefix.TASK, input.task_id, path="taskId"),
            claim_token=uuid_of(input.claim_token, path="claimToken"),
        )
    return await outputs.check(required, require_document("output", input.output)) if required else None


@mutation(
    "Ends a task with its result, settles its budget, and cancels what it left open below it. A result that comes "
    "after the task's time or beyond its limits does not count, and one whose output does not fit the task's contract "
    "fails it: look at its status.",
    needs=Permission.WORK_TASKS,
    refusals=(NotFound, ClaimLost),
    prepare=_check_output,
)
async def complete_task(work: Work, input: CompleteTaskInput) -> TaskPayload:
    made = parsed(Result, given(input, "result", "result_artifacts"))
    output = None if input.output is None else require_document("output", input.output)
    task = await transitions.complete(
        work.session,
        **_claim(work, input),
        result=made.result,
        output=output,
        artifacts=made.result_artifacts,
        usage=usage_of(input),
        checked=work.prepared,
    )
    return TaskPayload(task=task.id)  # type: ignore[arg-type]


@mutation(
    "Ends an attempt that failed. It is tried again after a wait when that may help, up to twice; else the task fails "
    "and becomes a dead letter.",
    needs=Permission.WORK_TASKS,
    refusals=(NotFound, ClaimLost),
)
async def fail_task(work: Work, input: FailTaskInput) -> TaskPayload:
    told = parsed(ReportedFailure, {"code": input.error_code, "message": input.message, "may_pass": input.may_pass})
    failure = Failure(told.code, told.message, told.may_pass)
    task = await transitions.fail(work.session, **_claim(work, input), failure=failure, usage=usage_of(input))
    return TaskPayload(task=task.id)  # type: ignore[arg-type]
