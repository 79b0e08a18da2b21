"""Context variables of a conversation: what they are now, and what sets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import case, func, select, true
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app.conversations.handoffs import stack
from app.conversations.handoffs.models import ContextVariable, ConversationHandoff, StepDecision
from app.conversations.locks import lock_conversation, refuse_closed
from app.conversations.models import Conversation, Message, MessageAuthor
from app.conversations.narration import tell
from app.errors import FieldProblem, InvalidInput
from app.events.kinds import EventKind
from app.events.log import Actor
from app.handoffs.condition.problem import hint
from app.handoffs.decision import Values
from app.handoffs.state import loads
from app.handoffs.variables import VariableSource, reported
from app.teams.models import Team
from app.teams.values import same
from app.teams.variables import MAX_VARIABLES, Value, VariableKind, checked, kind_of


async def given(session: AsyncSession, conversation_id: UUID, *, with_text: bool = True) -> dict[str, Value]:
    """What callers and replies set, the newest value of each name; what a reply set wins over what a caller gave.
    Without text: not what was only read in a reply's text."""
    later = case((ContextVariable.source.in_((VariableSource.RUNTIME, VariableSource.TEXT)), 1), else_=0)
    place = func.row_number().over(
        partition_by=ContextVariable.name, order_by=(later.desc(), ContextVariable.id.desc())
    )
    ranked = (
        select(ContextVariable.name, ContextVariable.value, place.label("place"))
        .where(ContextVariable.conversation_id == conversation_id)
        .where(true() if with_text else ContextVariable.source != VariableSource.TEXT)
        .subquery()
    )
    newest = select(ranked.c.name, ranked.c.value).where(ranked.c.place == 1)
    return {name: value for name, value in await session.execute(newest)}


async def told(session: AsyncSession, *, team_id: UUID, conversation_id: UUID) -> dict[str, Value]:
    """What an agent is told of them: all but the system's."""
    team = await session.get_one(Team, team_id)
    return {**team.context_variables, **await given(session, conversation_id)}


async def all_values(session: AsyncSession, conversation: Conversation, team: Team, reply: Message) -> Values:
    """From all sources, as they are after this reply."""
    system: dict[str, Value] = {**await loads(session, team.id), **await _system(session, conversation, reply)}
    common = {**system, **team.context_variables}
    return Values(
        trusted={**common, **await given(session, conversation.id, with_text=False)},
        with_text={**common, **await given(session, conversation.id)},
    )


async def take_reported(
    session: AsyncSession, conversation: Conversation, team: Team, reply: Message, output: Any
) -> None:
    """Keep the run-time variables that a reply sets: by the fields of its output, or by lines of its text, which only
    rules that trust texts look at."""
    by_data: dict[str, Value] = {}
    for name, value in output.items() if isinstance(output, dict) else ():
        kind = team.runtime_variables.get(name)
        if kind is not None and isinstance(value, bool | int | float | str) and kind_of(value) == kind:
            try:
                by_data[name] = checked(value)
            except ValueError:
                continue
    lines = reported(reply.text, team.runtime_variables)
    by_text = {name: value for name, value in lines.items() if name not in by_data}
    for values, source in ((by_text, VariableSource.TEXT), (by_data, VariableSource.RUNTIME)):
        await keep(session, conversation, values, source, set_by=reply.author_name, message_id=reply.id)


async def set_by_caller(
    session: AsyncSession, *, team_id: UUID, conversation_id: UUID, variables: Any, actor: Actor
) -> Conversation:
    """A caller's values for the team's input variables; raises Conflict, NotFound or InvalidInput."""
    team = await session.get_one(Team, team_id)
    values = checked_input(variables, team.input_variables)
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    refuse_closed(conversation)
    if changed := await keep(session, conversation, values, VariableSource.INPUT, set_by=actor.name):
        tell(session, EventKind.CONVERSATION_VARIABLES_SET, conversation, actor, variables=changed)
    return conversation


def checked_input(variables: Any, kinds: Mapping[str, str]) -> dict[str, Value]:
    """Raises InvalidInput that names every wrong one."""
    if not isinstance(variables, dict) or len(variables) > MAX_VARIABLES:
        raise InvalidInput.of("variables", f'must be an object such as {{"topic": "ferries"}}, at most {MAX_VARIABLES}')
    problems: list[FieldProblem] = []
    found: dict[str, Value] = {}
    for name, value in variables.items():
        path = f"variables.{name[:80]}"
        if name not in kinds:
            words = f"the team declares no such input variable{hint(name[:80], kinds)}"
            problems.append(FieldProblem(path, words))
            continue
        try:
            found[name] = checked(value)
        except ValueError as error:
            problems.append(FieldProblem(path, str(error)))
        else:
            if kind_of(found[name]) is not VariableKind(kinds[name]):
                problems.append(FieldProblem(path, f"must be {kinds[name]}"))
    if problems:
        raise InvalidInput("These variables do not fit the team.", problems)
    return found


async def keep(
    session: AsyncSession,
    conversation: Conversation,
    values: Mapping[str, Value],
    source: VariableSource,
    *,
    set_by: str,
    message_id: UUID | None = None,
) -> dict[str, Value]:
    """Of a held conversation. What is set to the value that it has makes no history; returns what changed."""
    with_text = source is VariableSource.TEXT
    before = await given(session, conversation.id, with_text=with_text) if values else {}
    changed = {name: value for name, value in values.items() if not (name in before and same(before[name], value))}
    session.add_all(
        ContextVariable(
            team_id=conversation.team_id,
            conversation_id=conversation.id,
            name=name,
            value=value,
            source=source,
            message_id=message_id,
            set_by=set_by,
        )
        for name, value in changed.items()
    )
    await session.flush()
    return changed


async def _system(session: AsyncSession, conversation: Conversation, reply: Message) -> dict[str, Value]:
    here = Message.conversation_id == conversation.id
    mine = here & (Message.agent_id == reply.agent_id)
    since = await stack.last_user_number(session, conversation)
    steps = here & (Message.author == MessageAuthor.AGENT) & (Message.number > since)
    handoffs = ConversationHandoff.conversation_id == conversation.id
    step, earlier = aliased(Message), aliased(Message)
    had_it = select(earlier.id).where(
        earlier.conversation_id == conversation.id,
        earlier.agent_id == StepDecision.to_agent_id,
        earlier.number < step.number,
    )
    sent_back = (
        select(func.count())
        .select_from(StepDecision)
        .join(step, step.id == StepDecision.message_id)
        .where(StepDecision.conversation_id == conversation.id, step.agent_id == reply.agent_id, had_it.exists())
    )
    return {
        "iteration_count": await _count(session, mine & (Message.number < reply.number)),
        "step_count": await _count(session, steps),
        "handoff_count": await _count(session, handoffs),
        "revision_count": await session.scalar(sent_back) or 0,
        "reply_words": len(reply.text.split()),
    }


async def _count(session: AsyncSession, rows: Any) -> int:
    return await session.scalar(select(func.count()).where(rows)) or 0
