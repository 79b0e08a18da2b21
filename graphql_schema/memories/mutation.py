"""Mutations of memory."""

from __future__ import annotations

from typing import Any

import strawberry

from app.auth.roles import Permission
from app.conversations.queries import require_speaking_with
from app.errors import check_text
from app.ids import Prefix, from_global
from app.memories import service
from app.memories.models import MAX_SUBJECT, MAX_TEXT, MemoryKind
from app.memories.service import MOST_EPISODES, MOST_OF_AGENT, MOST_OF_TEAM, USUAL_IMPORTANCE, Source
from graphql_schema.context import Context
from graphql_schema.memories.types import Memory
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import Conflict, MemoryFull, NotFound
from graphql_schema.scalars import DateTime
from graphql_schema.tasks.acting import acting_as


@strawberry.input(description="What is to be remembered.")
class RememberInput(MutationInput):
    text: str = strawberry.field(
        description=f"One fact, event or rule, 1 to {MAX_TEXT:,} characters. The same text is kept once, whatever its "
        "case, spacing and full stop."
    )
    kind: MemoryKind | None = strawberry.field(
        default=None,
        description="What kind it is. Null: its words and their meaning decide, and say how sure they are; what is not "
        "surely of the team stays with the agent.",
    )
    agent_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Who learned it; needed for a private one. An agent's key is taken for that agent. Null: nobody of "
        "the team, so that it is the team's.",
    )
    subject: str | None = strawberry.field(
        default=None,
        description=f"The user that a USER_PROFILE is about, by the `userId` of conversations with them, 1 to "
        f"{MAX_SUBJECT} characters. An agent's key tells only of users with whom that agent has an open conversation.",
    )
    importance: float = strawberry.field(default=USUAL_IMPORTANCE, description="0 trivial to 1 vital.")
    expires_at: DateTime | None = strawberry.field(
        default=None, description="When to forget it, in the future. Null: never."
    )
    task_id: strawberry.ID | None = strawberry.field(default=None, description="The task in which it was learned.")
    conversation_id: strawberry.ID | None = strawberry.field(
        default=None, description="The conversation in which it was learned."
    )


@strawberry.input(description="What is to be forgotten.")
class ForgetInput(MutationInput):
    memory_id: strawberry.ID = strawberry.field(description="Which memory.")


@strawberry.type(description="What is remembered now.")
class RememberPayload(Payload):
    memory: Memory = entity("The memory, as it is now.")
    merged: bool = strawberry.field(
        description="Whether the same was remembered before; then it counts as told once more."
    )


@strawberry.type(description="What is forgotten now.")
class ForgetPayload(Payload):
    memory_id: strawberry.ID = strawberry.field(description="The id that the memory had.")


async def _read(context: Context, input: RememberInput) -> tuple[Any, Any]:
    principal, library = context.principal, context.services.library
    if principal.agent_id is not None and input.subject is not None:
        user_id = check_text("subject", input.subject, least=1, most=MAX_SUBJECT)
        await require_speaking_with(
            context.services.database, team_id=principal.team_id, agent_id=principal.agent_id, user_id=user_id
        )
    meaning = await library.meaning(check_text("text", input.text, least=1, most=MAX_TEXT))
    return meaning, await library.likeness(meaning) if input.kind is None else {}


@mutation(
    f"Remembers something. The team may have {MOST_OF_TEAM:,} memories and each agent {MOST_OF_AGENT:,} of its own; of "
    f"episodes each keeps {MOST_EPISODES:,}, and the least important and oldest give way.",
    needs=Permission.WRITE_MEMORIES,
    refusals=(NotFound, Conflict, MemoryFull),
    prepare=_read,
)
async def remember(work: Work, input: RememberInput) -> RememberPayload:
    meaning, likeness = work.prepared
    named = from_global(Prefix.AGENT, input.agent_id, path="agentId") if input.agent_id else None
    task_id = from_global(Prefix.TASK, input.task_id, path="taskId") if input.task_id else None
    given = input.conversation_id
    conversation_id = from_global(Prefix.CONVERSATION, given, path="conversationId") if given else None
    done = await service.remember(
        work.session,
        team_id=work.team_id,
        kind=input.kind,
        text=input.text,
        agent_id=acting_as(work.principal, named, Permission.WRITE_MEMORIES),
        source=Source(task_id, conversation_id),
        actor=work.actor,
        subject=input.subject,
        importance=input.importance,
        expires_at=input.expires_at,
        meaning=meaning,
        likeness=likeness,
    )
    return RememberPayload(memory=done.memory.id, merged=done.merged)  # type: ignore[arg-type]


@mutation(
    "Forgets a memory for good; its text is in no event. An agent's key may forget that agent's own, and what "
    "that agent told the team.",
    needs=Permission.WRITE_MEMORIES,
    refusals=(NotFound,),
)
async def forget(work: Work, input: ForgetInput) -> ForgetPayload:
    await service.forget(
        work.session,
        team_id=work.team_id,
        memory_id=from_global(Prefix.MEMORY, input.memory_id, path="memoryId"),
        actor=work.actor,
        agent_id=work.principal.agent_id,
    )
    return ForgetPayload(memory_id=input.memory_id)
