"""Reads what an agent is given to answer a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.agents.models import Skill as SkillRow
from app.conversations.context import MOST_MESSAGES, MOST_OF_ONE, Context, Identity, Skill, Turn, assemble
from app.conversations.models import Contribution, Message, MessageAuthor, Reply
from app.ids import Prefix, to_global
from app.teams.models import Team


async def context_of(
    session: AsyncSession,
    *,
    question: Message,
    agent_id: UUID,
    memories: Sequence[str] = (),
    variables: Mapping[str, Any] | None = None,
) -> Context:
    """As of now: what was said before the question, and what agents have said since; not what users will ask next."""
    known = select(
        Message.id,
        Message.number,
        Message.author,
        Message.author_name,
        func.left(Message.text, MOST_OF_ONE + 1),
        func.length(Message.text),
        Message.artifacts,
    ).where(
        Message.conversation_id == question.conversation_id,
        Message.id != question.id,
        or_(Message.number < question.number, Message.author != MessageAuthor.USER),
    )
    rows = (await session.execute(known.order_by(Message.number.desc()).limit(MOST_MESSAGES))).all()
    turns = [_turn(*row) for row in reversed(rows)]
    earlier = max(turns[0].number - 1, 0) if len(turns) == MOST_MESSAGES else 0
    asked = _turn(
        question.id,
        question.number,
        question.author,
        question.author_name,
        question.text,
        len(question.text),
        question.artifacts,
    )
    identity = await identity_of(session, agent_id)
    return assemble(identity, asked, turns, earlier=earlier, memories=memories, variables=variables)


async def identity_of(session: AsyncSession, agent_id: UUID) -> Identity:
    row = await session.execute(
        select(Agent, Team.name).join(Team, Team.id == Agent.team_id).where(Agent.id == agent_id)
    )
    agent, team = row.one()
    skills = await session.scalars(select(SkillRow).where(SkillRow.agent_id == agent_id).order_by(SkillRow.position))
    return Identity(
        name=agent.name,
        type=agent.custom_type or agent.type.value,
        team=team,
        role=agent.role,
        tagline=agent.tagline,
        personality=agent.personality,
        formality=agent.formality,
        humor=agent.humor,
        technical_depth=agent.technical_depth,
        skills=tuple(Skill(skill.name, skill.description) for skill in skills),
    )


async def asked_by(session: AsyncSession, *, team_id: UUID, task_id: UUID) -> tuple[Reply, Message]:
    """The reply that a task works for, and the message that it answers."""
    row = await session.execute(
        select(Reply, Message)
        .join(Contribution, Contribution.reply_id == Reply.id)
        .join(Message, Message.id == Reply.message_id)
        .where(Contribution.team_id == team_id, Contribution.task_id == task_id)
    )
    reply, message = row.one()
    return reply, message


def _turn(
    message_id: UUID, number: int, author: MessageAuthor, name: str, text: str, length: int, artifacts: list[str]
) -> Turn:
    return Turn(to_global(Prefix.MESSAGE, message_id), number, author.value, name, text, length, tuple(artifacts))
