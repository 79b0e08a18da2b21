"""What an agent sees when it answers a message: one function, for the worker that asks its model and for the person who
wants to know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.context import Context, Identity, wording
from app.conversations.handoffs import values
from app.conversations.models import Conversation, Message, MessageAuthor
from app.conversations.reading import context_of
from app.errors import NotFound
from app.inference import prompt
from app.inference.sizes import CHARACTERS_PER_TOKEN
from app.memories.library import Library, texts_of
from app.memories.recall import Recalled

MAX_MEMORIES = 4_000  # characters of all memories together
SHARE_OF_MEMORIES = 0.1
TITLE = 200
Open = Callable[[], AbstractAsyncContextManager[AsyncSession]]


@dataclass(frozen=True, slots=True)
class Sight:
    """The parts of it, and the two texts that a language model is given."""

    context: Context
    question: Message
    identity: prompt.Identity
    assignment: prompt.Assignment

    @property
    def instructions(self) -> str:
        return prompt.identity(self.identity)

    @property
    def prompt(self) -> str:
        return prompt.assignment(self.assignment)


async def see(open_: Open, library: Library | None, *, question: Message, agent_id: UUID, max_tokens: int) -> Sight:
    """As of now. No transaction is open while memories are sought, which may ask an embedder far away."""
    memories: Sequence[Recalled] = ()
    if library is not None:
        async with open_() as session:
            user = await user_of(session, question.conversation_id)
        memories = await library.recall(team_id=question.team_id, agent_id=agent_id, text=question.text, subject=user)
    told = texts_of(memories, most_characters=room_for_memories(max_tokens))
    async with open_() as session:
        known = await values.told(session, team_id=question.team_id, conversation_id=question.conversation_id)
        context = await context_of(session, question=question, agent_id=agent_id, memories=told, variables=known)
    return Sight(context, question, identity_with(context.identity, context.memories), _assignment(context, question))


async def user_of(session: AsyncSession, conversation_id: UUID) -> str | None:
    """Whose profile agents may know while they work for a conversation; nobody's where the user has no id."""
    return await session.scalar(select(Conversation.user_id).where(Conversation.id == conversation_id))


async def newest_question(session: AsyncSession, *, team_id: UUID, conversation_id: UUID) -> Message | None:
    """What a user said last; raises NotFound."""
    mine = (Conversation.team_id == team_id) & (Conversation.id == conversation_id)
    if await session.scalar(select(Conversation.id).where(mine)) is None:
        raise NotFound("There is no such conversation in this team.")
    said = select(Message).where(Message.conversation_id == conversation_id, Message.author == MessageAuthor.USER)
    return await session.scalar(said.order_by(Message.number.desc()).limit(1))


def room_for_memories(max_tokens: int) -> int:
    """Characters: so many, and never more than their share of what may be used."""
    return min(MAX_MEMORIES, int(max_tokens * CHARACTERS_PER_TOKEN * SHARE_OF_MEMORIES))


def title_of(question: Message) -> str:
    line = " ".join(f"Reply to {question.author_name}: {question.text}".split())
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"


def identity_with(known: Identity, memories: Sequence[str]) -> prompt.Identity:
    return prompt.Identity(
        name=known.name,
        type=known.type,
        team=known.team,
        role=known.role,
        tagline=known.tagline,
        personality=known.personality,
        formality=known.formality,
        humor=known.humor,
        technical_depth=known.technical_depth,
        skills=[prompt.Skill(skill.name, skill.description) for skill in known.skills],
        memories=memories,
    )


def _assignment(context: Context, question: Message) -> prompt.Assignment:
    skills = "\n".join(f"{skill.name}: {skill.description or skill.name}" for skill in context.identity.skills)
    own = [prompt.Source(f"what {context.identity.name} knows", skills)] if skills else []
    return prompt.Assignment(
        type="reply",
        title=title_of(question),
        instructions=context.question.text,
        context=wording(context),
        expected_output="A reply to this message of the conversation.",
        sources=[*own, *(prompt.Source("a reference", reference) for reference in question.artifacts)],
        requested_by=question.author_name,
        agent=context.identity.name,
    )
