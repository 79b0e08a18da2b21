"""Mutations of those who ask a person, and of the people who answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import strawberry

from app.attention.models import MAX_ANSWER, MAX_DETAIL, MAX_OPTION, MAX_OPTIONS, MAX_PERSON, AttentionKind
from app.attention.service import MAX_NOTE, Subject
from app.auth.roles import Permission, Role, allowed
from app.conversations.locks import lock_conversation
from app.errors import InvalidInput, check_text
from app.events.log import Actor
from app.ids import Prefix, from_global
from app.interventions import answering, assigning
from app.interventions.answering import Answer
from app.tasks import questions
from app.tasks.questions import DEADLINE_S, MAX_QUESTION, MOST_QUESTIONS, QuestionSpec
from graphql_schema.attention.types import AttentionItem
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import (
    AgentUnavailable,
    AlreadyAnswered,
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
from graphql_schema.scalars import Usd
from graphql_schema.tasks.acting import acting_as, given, parsed, uuid_of
from graphql_schema.tasks.types import Task

_SPEC = ("question", "kind", "context", "options", "deadline_seconds", "default_answer")
_PERSON_TEXT = f"The person who does it, 1 to {MAX_PERSON} characters. Left out: the key's name."


@strawberry.input(description="A question for a person.")
class AskPersonInput(MutationInput):
    question: str = strawberry.field(description=f"What to ask, 1 to {MAX_QUESTION:,} characters.")
    kind: AttentionKind = strawberry.field(
        default=AttentionKind.QUESTION, description="QUESTION, CLARIFICATION, APPROVAL or ESCALATION."
    )
    context: str = strawberry.field(default="", description=f"What helps to answer, up to {MAX_DETAIL:,} characters.")
    options: list[str] = strawberry.field(
        default_factory=list,
        description=f"Answers to choose from, at most {MAX_OPTIONS} of 1 to {MAX_OPTION} characters, each once. None: "
        "free words, or for an APPROVAL approve and reject.",
    )
    deadline_seconds: int | None = strawberry.field(
        default=None, description=f"How long it waits, {DEADLINE_S[0]} to {DEADLINE_S[-1]:,}. Left out: for ever."
    )
    default_answer: str | None = strawberry.field(
        default=None, description="What counts when the deadline passes; one of the options, where there are some."
    )
    task_id: strawberry.ID | None = strawberry.field(
        default=None, description="The task that asks and waits. It needs the claimToken."
    )
    claim_token: str | None = strawberry.field(
        default=None, description="The claim under which the task is worked on, as claimTask gave it."
    )
    conversation_id: strawberry.ID | None = strawberry.field(
        default=None, description="The conversation that it belongs to; a task's own counts."
    )
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who asks. Left out: the agent that the key acts as, or the task's assignee."
    )


@strawberry.input(description="An answer to something that needs a person.")
class AnswerAttentionInput(MutationInput):
    attention_id: strawberry.ID = strawberry.field(description="What is answered, `attn_0190…`.")
    option: str | None = strawberry.field(
        default=None,
        description="One of its options; needed where it has some. A dead letter's: replay or discard. A "
        "consultation's: answer, redirect or close.",
    )
    text: str = strawberry.field(
        default="",
        description=f"The answer in words, up to {MAX_ANSWER:,} characters; to a dead letter a note of up to 500.",
    )
    cap_usd: Usd | None = strawberry.field(
        default=None,
        description="The new cap, more than the present one and up to 1,000,000 US dollars, to raise a budget; only "
        "for that. It needs the permission CONFIGURE_TEAM.",
    )
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who is asked instead, to redirect a consultation; only for that."
    )
    person: str | None = strawberry.field(default=None, description=_PERSON_TEXT)


@strawberry.input(description="Who is to answer something that needs a person.")
class AssignAttentionInput(MutationInput):
    attention_id: strawberry.ID = strawberry.field(description="What is assigned, `attn_0190…`.")
    assignee: str | None = strawberry.field(
        default=None, description=f"The person's name, 1 to {MAX_PERSON} characters. Null: whoever comes first."
    )
    note: str = strawberry.field(default="", description=f"Why, up to {MAX_NOTE} characters.")
    person: str | None = strawberry.field(default=None, description=_PERSON_TEXT)


@strawberry.type(description="What was asked.")
class AskPersonPayload(Payload):
    attention_item: AttentionItem | None = entity(
        "The item, closed already where the task has asked the same before. Null: the task was past its time or its "
        "limits and has ended instead."
    )
    task: Task | None = entity("The task that asked; pending while it waits. Null: no task asked.")


@strawberry.type(description="What needs a person, after the change.")
class AttentionPayload(Payload):
    attention_item: AttentionItem = entity("The item, as it is now.")


@mutation(
    "Puts a question into the queue of everything that needs a person. With a task and its claim, the task is put "
    "aside: it is pending, holds no claim and no worker, and can be claimed again when the question is closed; open "
    "work below it is cancelled. The same question of the same task is answered from the record, and the task goes on "
    f"at once. A task may ask {MOST_QUESTIONS} times.",
    needs=Permission.ASK_PEOPLE,
    refusals=(NotFound, Conflict, ClaimLost, QuotaExceeded),
)
async def ask_person(work: Work, input: AskPersonInput) -> AskPersonPayload:
    wanted = parsed(QuestionSpec, given(input, *_SPEC))
    if (input.task_id is None) != (input.claim_token is None):
        raise InvalidInput.of("claimToken", "goes with a taskId, and a taskId with it")
    named = from_global(Prefix.AGENT, input.agent_id, path="agentId") if input.agent_id else None
    agent_id = acting_as(work.principal, named, Permission.ASK_PEOPLE)
    common: dict[str, Any] = {"team_id": work.team_id, "wanted": wanted, "agent_id": agent_id, "actor": work.actor}
    if input.task_id is None or input.claim_token is None:
        limit = work.context.services.settings.questions_per_sender
        subject = await _subject(work, input.conversation_id)
        item = await questions.ask(work.session, **common, limit=limit, subject=subject)
        return AskPersonPayload(attention_item=item.id, task=None)  # type: ignore[arg-type]
    task, asked = await questions.ask_from_task(
        work.session,
        **common,
        task_id=from_global(Prefix.TASK, input.task_id, path="taskId"),
        claim_token=uuid_of(input.claim_token, path="claimToken"),
    )
    return AskPersonPayload(attention_item=asked.id if asked else None, task=task.id)  # type: ignore[arg-type]


@mutation(
    "Answers something that needs a person; exactly once, whoever else answers at the same moment. A task that waits "
    "goes on, a dead letter is replayed or discarded, a budget is raised, a claimed cost is booked, all with the "
    "answer or not at all. Booking a claimed cost needs the permission CONFIGURE_TEAM.",
    needs=Permission.ANSWER_ATTENTION,
    refusals=(
        NotFound, Conflict, AlreadyAnswered, FeatureDisabled, DelegationDepthExceeded, CycleDetected, AgentUnavailable,
        AuthorityExceeded, BudgetExhausted, OscillationDetected,
    ),
)  # fmt: skip
async def answer_attention(work: Work, input: AnswerAttentionInput) -> AttentionPayload:
    if input.cap_usd is not None:
        work.principal.require(Permission.CONFIGURE_TEAM)
    item = await answering.answer(
        work.session,
        team_id=work.team_id,
        item_id=_item(input.attention_id),
        given=Answer(
            input.option,
            input.text,
            input.cap_usd,
            from_global(Prefix.AGENT, input.agent_id, path="agentId") if input.agent_id else None,
            may_configure=allowed(work.principal.role, Permission.CONFIGURE_TEAM),
        ),
        settings=work.context.services.settings,
        actor=person(work, input.person),
    )
    return AttentionPayload(attention_item=item.id)  # type: ignore[arg-type]


@mutation(
    "Says who is to answer something that needs a person. Anybody who may answer still can.",
    needs=Permission.ANSWER_ATTENTION,
    refusals=(NotFound, AlreadyAnswered),
)
async def assign_attention(work: Work, input: AssignAttentionInput) -> AttentionPayload:
    item = await assigning.assign(
        work.session,
        team_id=work.team_id,
        item_id=_item(input.attention_id),
        assignee=input.assignee,
        note=input.note,
        settings=work.context.services.settings,
        actor=person(work, input.person),
    )
    return AttentionPayload(attention_item=item.id)  # type: ignore[arg-type]


async def _subject(work: Work, conversation_id: str | None) -> Subject:
    if conversation_id is None:
        return Subject()
    found = from_global(Prefix.CONVERSATION, conversation_id, path="conversationId")
    if work.principal.role is Role.AGENT:
        raise InvalidInput.of("conversationId", "is for other keys; an agent asks from its task")
    await lock_conversation(work.session, team_id=work.team_id, conversation_id=found)
    return Subject(conversation_id=found)


def _item(text: str) -> UUID:
    return from_global(Prefix.ATTENTION, text, path="attentionId")


def person(work: Work, name: str | None) -> Actor:
    """A key may be shared by many people: what they do is kept under their own names."""
    if name is None:
        return work.actor
    return Actor(check_text("person", name, least=1, most=MAX_PERSON), work.actor.api_key_id)
