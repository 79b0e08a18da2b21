"""What a person decides on an escalated consultation: answers it, has another agent asked, or closes it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.attention import service as attention
from app.attention.models import AttentionItem, AttentionState
from app.config import Settings
from app.consultations import outcomes, queries
from app.consultations.models import Consultation, ConsultationExchange, ConsultationStatus, LoopResolution
from app.consultations.narration import tell
from app.consultations.ordering import order
from app.consultations.record import ANSWER, CLOSE, REDIRECT
from app.consultations.spec import Answer
from app.errors import Conflict, InvalidInput
from app.events.kinds import EventKind
from app.events.log import Actor
from app.routing import overrides
from app.tasks.availability import refuse_inactive
from app.tasks.models import Task
from app.teams import service as teams

MAX_REASON = 500  # of a redirection, from which routing learns
_RESOLUTION = {
    ANSWER: LoopResolution.RESOLVED,
    REDIRECT: LoopResolution.CONTINUED,
    CLOSE: LoopResolution.CLOSED,
}


async def settle(
    session: AsyncSession,
    item: AttentionItem,
    *,
    option: str,
    text: str,
    to_agent_id: UUID | None,
    settings: Settings,
    actor: Actor,
) -> None:
    """With the answer or not at all; of two people one wins. `text` has no secrets any more. Raises AlreadyAnswered,
    InvalidInput, NotFound, AgentUnavailable, BudgetExhausted or Conflict."""
    if option == ANSWER and not text:
        raise InvalidInput.of("text", "is needed: what is the answer?")
    if (option == REDIRECT) != (to_agent_id is not None):
        raise InvalidInput.of("agentId", f"is needed to {REDIRECT} a consultation, and only for that")
    assert item.consultation_id is not None
    await teams.share(session, item.team_id)
    seen = await queries.find(session, team_id=item.team_id, consultation_id=item.consultation_id)
    if to_agent_id == seen.requester_id:
        raise InvalidInput.of("agentId", "asks itself; name another agent")
    held = {seen.requester_id, *({to_agent_id} if to_agent_id else ())}
    known = {one: await agents.lock(session, item.team_id, one) for one in sorted(held)}
    row = await queries.find(session, team_id=item.team_id, consultation_id=item.consultation_id, lock=True)
    item = await attention.locked_open(session, team_id=item.team_id, item_id=item.id)
    if row.status is not ConsultationStatus.ESCALATED:
        raise Conflict(f"This consultation is {row.status.value} and waits for nobody.")
    attention.close(session, item, AttentionState.ANSWERED, option=option, answer=text, actor=actor)
    await outcomes.resolve_loops(session, row, _RESOLUTION[option], text)
    if option == ANSWER:
        given = Answer(answer=text)
        await outcomes.answered(session, row, given, author=actor.name, actor=actor)
    elif option == CLOSE:
        await outcomes.closed(session, row, text or "A person closed it.", actor)
    else:
        assert to_agent_id is not None
        chosen, requester = known[to_agent_id], known[row.requester_id]
        refuse_inactive(chosen)
        said = await queries.exchanges(session, row.id)
        question, before = _last_question(said)
        await order(
            session,
            row,
            specialist=chosen,
            requester=requester,
            question=question.content,
            package=question.package or {},
            settings=settings,
            actor=actor,
            before=before,
            origin=await session.get(Task, row.asking_task_id) if row.asking_task_id else None,
            is_redirected=True,
        )
        await _learn(session, row, text or "A person asked another agent.", actor)
        told = {"specialist": chosen.slug, "reason": text}
        tell(session, EventKind.CONSULTATION_REDIRECTED, row, actor, **told)
    await session.flush()


def _last_question(
    said: list[ConsultationExchange],
) -> tuple[ConsultationExchange, list[ConsultationExchange]]:
    asked = max(place for place, one in enumerate(said) if one.package is not None)
    return said[asked], said[:asked]


async def _learn(session: AsyncSession, row: Consultation, reason: str, actor: Actor) -> None:
    """As from any other override, unless routing had chosen this very agent."""
    if row.decision_id is None or row.specialist_id is None:
        return
    try:
        await overrides.record(
            session,
            team_id=row.team_id,
            decision_id=row.decision_id,
            agent_id=row.specialist_id,
            reason=reason[:MAX_REASON],
            actor=actor,
        )
    except Conflict:
        return
