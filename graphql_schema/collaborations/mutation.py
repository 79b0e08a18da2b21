"""Mutations of collaboration sessions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import strawberry

from app.agents.models import AgentRuntime
from app.auth.roles import Permission, Role
from app.collaborations import queries, service, templates, transitions
from app.collaborations.models import (
    CollaborationPattern,
    CollaborationTemplate,
    FailureDecision,
    OnFailure,
    ParticipantRole,
)
from app.collaborations.service import Origin
from app.collaborations.spec import Extension, parse_collaboration
from app.contracts.documents import require_document
from app.conversations import queries as conversations
from app.discovery.queries import skill_matches_of
from app.errors import Forbidden as ForbiddenError
from app.errors import InvalidInput, check_text
from app.ids import Prefix, from_global
from app.routing.models import MAX_QUERY
from app.tasks.queries import require_runtime
from app.tasks.transitions import submit
from graphql_schema.collaborations.types import CollaborationSession, CollaborationStage
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
    ParticipantsUnsuitable,
)
from graphql_schema.scalars import JSON, Usd
from graphql_schema.tasks.acting import LEFT_OUT, acting_as, given, may_direct, parsed, require_token, start_of
from graphql_schema.tasks.types import Task
from graphql_schema.tasks.work import Result, usage_of

MOST_REASON = 500
_SPEC = (
    "pattern", "goal", "template", "context", "max_duration_seconds", "max_cost_usd", "max_rounds",
    "work_timeout_seconds", "review_timeout_seconds", "on_failure", "options", "threshold",
)  # fmt: skip


@strawberry.input(description="Who takes part in a session, and as what.")
class CollaborationParticipantInput:
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Which agent; it must be active. Either this or groupId is needed."
    )
    group_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The group of which somebody takes part: its coordinator, or where it has none that is free, the "
        "member whose skills match the goal and the instructions best. Who takes part already is not picked.",
    )
    role: ParticipantRole = strawberry.field(description="What it is there for.")
    stage: str | None = strawberry.field(
        default=None,
        description="Name of its stage, 1 to 120 characters, each once. In a pipeline an agent may have several.",
    )
    instructions: str = strawberry.field(
        default="", description="What only this participant is told, beside the goal; up to 20,000 characters."
    )


@strawberry.input(description="A goal, who works on it, and within which caps.")
class StartCollaborationInput(MutationInput):
    pattern: CollaborationPattern | None = strawberry.field(
        default=None, description="How they work together: needed without teamTemplate, and only then."
    )
    goal: str = strawberry.field(description="What they are to reach, 1 to 20,000 characters. All are told.")
    participants: list[CollaborationParticipantInput] | None = strawberry.field(
        default=None,
        description="Who takes part, 1 to 20, in their order; the pattern says how many of which role. Needed without "
        "teamTemplate, and only then.",
    )
    team_template: str | None = strawberry.field(
        default=None,
        description="Slug of a template of the team, see teamTemplates: it says pattern, participants and caps. What "
        "is given here besides counts instead of the template's. Null: none.",
    )
    template: CollaborationTemplate | None = strawberry.field(
        default=None, description="Lays the stages down; null: the pattern alone."
    )
    conversation_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The open conversation that it is for, where it is found again; its participants are not told what "
        "was said there. An agent's key names one in which its agent takes part. Null: none.",
    )
    parent_id: strawberry.ID | None = strawberry.field(
        default=None,
        description=f"The task that starts it; it must be in progress. Its budget pays, its limits bind. {LEFT_OUT}",
    )
    claim_token: str | None = strawberry.field(
        default=None, description="The claim under which that task is worked on; an agent's key needs it for a parent."
    )
    context: str = strawberry.field(default="", description="Background for all of them, up to 50,000 characters.")
    max_duration_seconds: int | None = strawberry.field(
        default=None, description="How long it may take, 1 to 86,400 seconds; null: 600, of a template 3,600."
    )
    max_cost_usd: Usd | None = strawberry.field(
        default=None,
        description="What it may cost in all, up to 10,000; null: 0.50, below a task at most half of what is left. "
        "Reserved now from the task that starts it, else from the team's day; the rest comes back.",
    )
    max_rounds: int | None = strawberry.field(
        default=None, description="How many rounds a review or a vote may take, 1 to 20; null: 5, of a template 3."
    )
    work_timeout_seconds: int | None = strawberry.field(
        default=None,
        description="How long one attempt at a piece of work, a stage of a pipeline or a contribution may take, 1 to "
        "86,400 seconds; then what there is of it counts. Null: until the session ends, of a template 600.",
    )
    review_timeout_seconds: int | None = strawberry.field(
        default=None,
        description="How long one attempt at a review may take, 1 to 86,400 seconds; then it is done once more "
        "without the optional checks. Null: until the session ends, of a template 300.",
    )
    on_failure: OnFailure | None = strawberry.field(
        default=None, description="What happens when a stage fails for good; null: ASK."
    )
    options: list[str] | None = strawberry.field(
        default=None,
        description="What a CONSENSUS chooses among: 2 to 10, each 1 to 200 characters in one line without `|`. Null: "
        "`yes` and `no`.",
    )
    threshold: float | None = strawberry.field(
        default=None,
        description="Share of the votes that makes a CONSENSUS, above 0.5 to 1; null: two thirds.",
    )


@strawberry.input(description="Which session, and why.")
class CancelCollaborationInput(MutationInput):
    collaboration_id: strawberry.ID = strawberry.field(description="Which session.")
    reason: str = strawberry.field(default="", description="Why; up to 500 characters.")


@strawberry.input(description="What a session gets in addition.")
class ExtendCollaborationInput(MutationInput):
    collaboration_id: strawberry.ID = strawberry.field(description="Which session.")
    seconds: int | None = strawberry.field(
        default=None, description="So much longer, from 1; in all it may take up to 86,400 seconds."
    )
    cost_usd: Usd | None = strawberry.field(
        default=None, description="So much more money, up to 10,000, from the team's day or the task that started it."
    )


@strawberry.input(description="Which failed stage, and what becomes of it.")
class DecideSubtaskFailureInput(MutationInput):
    stage_id: strawberry.ID = strawberry.field(description="Which stage, `stage_0190…`.")
    decision: FailureDecision = strawberry.field(description="What becomes of it.")
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who takes over; for REASSIGN, and only for it."
    )
    reason: str = strawberry.field(default="", description="Why, for the event log; up to 500 characters.")


@strawberry.input(description="What an agent of one's own made in its stage.")
class SubmitStageOutputInput(MutationInput):
    collaboration_id: strawberry.ID = strawberry.field(description="Which session.")
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Whose stage; left out with a key that acts as one agent."
    )
    stage_id: strawberry.ID | None = strawberry.field(
        default=None, description="Which stage, `stage_0190…`; null: of those under way the one that was ordered first."
    )
    result: str = strawberry.field(description="The result in words, 1 to 1,000,000 characters.")
    output: JSON | None = strawberry.field(
        default=None,
        description="The result as data, as an object, at most 1,000,000 bytes, 20 deep: a vote or a verdict. Must fit "
        "the task's outputSchema or contract.",
    )
    tokens_used: int = strawberry.field(default=0, description="Tokens that it took, in all.")
    cost_usd: Usd = strawberry.field(default=Usd(0), description="What it cost, in all.")  # type: ignore[arg-type]
    model: str | None = strawberry.field(default=None, description="The model that worked; up to 120 characters.")


@strawberry.type(description="The session after the change.")
class CollaborationPayload(Payload):
    collaboration: CollaborationSession = entity("The session, as it is now.")


@strawberry.type(description="The stage and its task after the change.")
class StageOutputPayload(Payload):
    stage: CollaborationStage = entity("The stage. The session takes the output over a moment later.")
    task: Task = entity("Its task: it has failed when the output does not fit.")


def _collaboration_id(text: strawberry.ID) -> Any:
    return from_global(Prefix.COLLABORATION, text, path="collaborationId")


def _seats(input: StartCollaborationInput) -> list[dict[str, Any]]:
    return [
        given(one, "role", "stage", "instructions")
        | _optional(Prefix.AGENT, "agent_id", one.agent_id, f"participants.{at}.agentId")
        | _optional(Prefix.GROUP, "group_id", one.group_id, f"participants.{at}.groupId")
        for at, one in enumerate(input.participants or ())
    ]


def _optional(prefix: Prefix, name: str, text: strawberry.ID | None, path: str) -> dict[str, Any]:
    return {} if text is None else {name: from_global(prefix, text, path=path)}


async def _matches(context: Context, input: StartCollaborationInput) -> dict[str, float] | None:
    """How well each agent's skills match a session in which a group takes part; reckoned before the transaction."""
    if input.team_template is None and all(one.group_id is None for one in input.participants or ()):
        return None
    services = context.services
    goal = input.goal[:MAX_QUERY].strip()
    if not goal:
        return None  # refused later, in the words of its field
    return await skill_matches_of(services.team_indexes, services.embedder, context.principal.team_id, goal)


async def _conversation(work: Work, input: StartCollaborationInput) -> UUID | None:
    if input.conversation_id is None:
        return None
    found = from_global(Prefix.CONVERSATION, input.conversation_id, path="conversationId")
    await conversations.require_open(
        work.session, team_id=work.team_id, conversation_id=found, agent_id=work.principal.agent_id
    )
    return found


def _reason(text: str) -> str:
    return check_text("reason", text, most=MOST_REASON)


@mutation(
    "Starts a collaboration session. Every rule is checked and its budget reserved before it exists; a refusal leaves "
    "nothing. Its first stages start at once. An agent's key can start sessions that its agent leads.",
    needs=Permission.START_COLLABORATIONS,
    refusals=(
        NotFound, Conflict, FeatureDisabled, ParticipantsUnsuitable, AgentUnavailable, BudgetExhausted,
        AllowanceExceeded, AuthorityExceeded, DelegationDepthExceeded, CycleDetected, OscillationDetected, ClaimLost,
    ),
    prepare=_matches,
)  # fmt: skip
async def start_collaboration(work: Work, input: StartCollaborationInput) -> CollaborationPayload:
    require_token(work.principal, input.parent_id, input.claim_token)
    fields = given(input, *_SPEC) | ({} if input.participants is None else {"participants": _seats(input)})
    if input.team_template is not None:
        spec = await templates.fill(work.session, team_id=work.team_id, slug=input.team_template, given=fields)
    else:
        spec = parse_collaboration(fields)
    if work.principal.role is Role.AGENT:
        lead = next((one.agent_id for one in spec.participants if one.role is ParticipantRole.LEAD), None)
        if lead is None:
            raise InvalidInput.of("participants", "must have this key's agent as lead")
        acting_as(work.principal, lead, Permission.START_COLLABORATIONS)
    made = await service.start(
        work.session,
        team_id=work.team_id,
        spec=spec,
        settings=work.context.services.settings,
        actor=work.actor,
        origin=Origin(
            conversation_id=await _conversation(work, input),
            start=await start_of(work, input.parent_id, input.claim_token, path="parentId"),
            agent_id=work.principal.agent_id,
            directives=may_direct(work.principal),
        ),
        matches=work.prepared,
    )
    return CollaborationPayload(collaboration=made.id)  # type: ignore[arg-type]


@mutation(
    "Stops an open session and all its work; what was made is kept. An agent's key may cancel what its agent leads.",
    needs=Permission.CONTROL_COLLABORATIONS,
    refusals=(NotFound, Conflict),
)
async def cancel_collaboration(work: Work, input: CancelCollaborationInput) -> CollaborationPayload:
    made = await transitions.cancel(
        work.session,
        team_id=work.team_id,
        collaboration_id=_collaboration_id(input.collaboration_id),
        reason=_reason(input.reason),
        actor=work.actor,
        agent_id=work.principal.agent_id,
    )
    return CollaborationPayload(collaboration=made.id)  # type: ignore[arg-type]


@mutation(
    "Gives an open session more time or more money. An agent's key cannot: its caps are set by others.",
    needs=Permission.CONTROL_COLLABORATIONS,
    refusals=(NotFound, Conflict, FeatureDisabled, BudgetExhausted),
)
async def extend_collaboration(work: Work, input: ExtendCollaborationInput) -> CollaborationPayload:
    if work.principal.role is Role.AGENT:
        raise ForbiddenError("An agent does not extend sessions. Ask an operator, an integrator or an admin.")
    made = await transitions.extend(
        work.session,
        team_id=work.team_id,
        collaboration_id=_collaboration_id(input.collaboration_id),
        more=parsed(Extension, given(input, "seconds", "cost_usd")),
        settings=work.context.services.settings,
        actor=work.actor,
    )
    return CollaborationPayload(collaboration=made.id)  # type: ignore[arg-type]


@mutation(
    "Says what becomes of a stage that failed for good. An agent's key may decide in sessions that its agent leads.",
    needs=Permission.CONTROL_COLLABORATIONS,
    refusals=(NotFound, Conflict, FeatureDisabled, AgentUnavailable, AuthorityExceeded),
)
async def decide_subtask_failure(work: Work, input: DecideSubtaskFailureInput) -> CollaborationPayload:
    made = await transitions.decide(
        work.session,
        team_id=work.team_id,
        stage_id=from_global(Prefix.STAGE, input.stage_id, path="stageId"),
        decision=input.decision,
        to_agent_id=from_global(Prefix.AGENT, input.agent_id, path="agentId") if input.agent_id else None,
        reason=_reason(input.reason),
        settings=work.context.services.settings,
        actor=work.actor,
        agent_id=work.principal.agent_id,
    )
    return CollaborationPayload(collaboration=made.id)  # type: ignore[arg-type]


@mutation(
    "Completes the stage that an agent of one's own has under way in a session, in one call. Claiming its task and "
    "completing it comes to the same. An output that does not fit fails the stage: look at its task.",
    needs=Permission.WORK_TASKS,
    refusals=(NotFound, Conflict),
)
async def submit_stage_output(work: Work, input: SubmitStageOutputInput) -> StageOutputPayload:
    named = from_global(Prefix.AGENT, input.agent_id, path="agentId") if input.agent_id else None
    agent_id = acting_as(work.principal, named, Permission.WORK_TASKS)
    if agent_id is None:
        raise InvalidInput.of("agentId", "is needed with a key that does not act as one agent")
    made = parsed(Result, given(input, "result"))
    output = None if input.output is None else require_document("output", input.output)
    await require_runtime(work.session, team_id=work.team_id, agent_id=agent_id, runtime=AgentRuntime.EXTERNAL)
    stage_id, task_id = await queries.open_task_of(
        work.session,
        team_id=work.team_id,
        collaboration_id=_collaboration_id(input.collaboration_id),
        agent_id=agent_id,
        stage_id=from_global(Prefix.STAGE, input.stage_id, path="stageId") if input.stage_id else None,
    )
    await submit(
        work.session,
        team_id=work.team_id,
        task_id=task_id,
        result=made.result,
        output=output,
        usage=usage_of(input),
        actor=work.actor,
    )
    return StageOutputPayload(stage=stage_id, task=task_id)  # type: ignore[arg-type]
