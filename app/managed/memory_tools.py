"""The tool with which managed agents keep what they learn."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import Strict
from app.conversations.sight import user_of
from app.errors import InvalidInput
from app.ids import Prefix, to_global
from app.managed.tool import AgentTool, Desk, Done
from app.memories import service
from app.memories.models import MAX_TEXT, MemoryKind
from app.memories.service import USUAL_IMPORTANCE, Source
from app.tasks.locks import held


class Remember(Strict):
    text: Annotated[str, Field(description="One fact, event or rule, in a sentence of its own.", max_length=MAX_TEXT)]
    kind: Annotated[
        MemoryKind | None,
        Field(
            description="private: for yourself; shared: for the whole team; user_profile: about the user of this "
            "conversation. Left out: it is found out."
        ),
    ] = None
    importance: Annotated[float, Field(description="0 trivial to 1 vital.", ge=0, le=1)] = USUAL_IMPORTANCE


async def _remember(session: AsyncSession, desk: Desk, asked: Remember) -> Done:
    """The claim is held first: a shelf comes after tasks in the order of locks."""
    run = desk.run
    await held(session, team_id=run.task.team_id, task_id=run.task.id, claim_token=run.token)
    subject = await _user(session, run.task.conversation_id) if asked.kind is MemoryKind.USER_PROFILE else None
    done = await service.remember(
        session,
        team_id=run.task.team_id,
        kind=asked.kind,
        text=asked.text,
        agent_id=run.task.assignee_id,
        source=Source(run.task.id, run.task.conversation_id),
        actor=run.actor,
        subject=subject,
        importance=asked.importance,
    )
    memory = done.memory
    known = "was known already" if done.merged else "is remembered"
    return Done(f"It {known} as {memory.kind.value} ({to_global(Prefix.MEMORY, memory.id)}).")


async def _user(session: AsyncSession, conversation_id: UUID | None) -> str:
    """An agent keeps a profile only of the user whom it works for."""
    user_id = await user_of(session, conversation_id) if conversation_id else None
    if user_id is None:
        raise InvalidInput.of("kind", "user_profile is for a conversation whose user is known by an id; this is none")
    return user_id


MEMORY_TOOLS = (
    AgentTool(
        name="remember",
        description="Keep something that will matter beyond this task. You, or the whole team, will know it then.",
        arguments=Remember,
        act=_remember,
    ),
)
