"""Answers what needs a person, exactly once, with what follows from the answer; and closes what nobody answered.

What an item is about is locked before the item: the team, or the task, or the dead letter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.errors import AlreadyAnswered
from app.attention.models import MAX_ANSWER, AttentionItem, AttentionKind, AttentionState
from app.auth.roles import Permission, roles_with
from app.budgets.caps import set_team_caps
from app.budgets.models import BudgetAccount
from app.budgets.near_cap import RAISE
from app.collaborations import transitions as collaborations
from app.collaborations.models import FailureDecision
from app.config import Settings
from app.consultations import people
from app.consultations.spec import what_to_redact
from app.errors import Conflict, Forbidden, InvalidInput, check_text
from app.events.log import SYSTEM, Actor
from app.interventions import corrections
from app.redaction import redact
from app.tasks import dead_letters, questions, revival
from app.tasks.claims import BOOK
from app.tasks.dead_letters import REPLAY
from app.tasks.locks import locked
from app.tasks.redacting import without_secrets
from app.teams import service as teams
from app.teams.models import MOST_BUDGET_USD

MAX_NOTE = 500  # of an answer that is kept as a note or a reason elsewhere


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the item's options, words, or both. `cap` is the new cap of a budget that is raised, `agent_id` who
    is asked instead where a consultation is redirected."""

    option: str | None = None
    text: str = ""
    cap: Decimal | None = None
    agent_id: UUID | None = None
    may_configure: bool = False  # whether who answers may change what the team spends


async def answer(
    session: AsyncSession, *, team_id: UUID, item_id: UUID, given: Answer, settings: Settings, actor: Actor
) -> AttentionItem:
    """Raises AlreadyAnswered, which says who and what, InvalidInput, NotFound, or what the deed itself refuses."""
    item = await attention.find(session, team_id=team_id, item_id=item_id)
    attention.refuse_closed(item)
    given = _checked(item, given)
    if item.consultation_id is not None:
        clean = redact(given.text, what_to_redact(settings.redact_emails))
        await people.settle(
            session,
            item,
            option=given.option or "",
            text=clean,
            to_agent_id=given.agent_id,
            settings=settings,
            actor=actor,
        )
        return item
    if given.agent_id is not None:
        raise InvalidInput.of("agentId", "is only for a consultation that is redirected")
    if item.dead_letter_id is not None:
        await _resolve_letter(session, item, given, settings, actor)
    elif item.stage_id is not None:
        await _decide_stage(session, item, given, settings, actor)
    elif item.kind is AttentionKind.COST_CLAIM:
        await _decide_claim(session, item, given, actor)
    elif item.kind is AttentionKind.BUDGET_RAISE:
        await _decide_budget(session, item, given, settings, actor)
    else:
        await _close(session, item, AttentionState.ANSWERED, given.option, given.text, actor)
    return item


async def due(session: AsyncSession, team_id: UUID, item_id: UUID) -> None:
    """The deadline of an item has come: unless somebody was faster, what counts then counts now."""
    item = await attention.find(session, team_id=team_id, item_id=item_id)
    over = await session.scalar(select(func.clock_timestamp() >= item.deadline))
    if item.state is AttentionState.OPEN and over:
        await _expire(session, item)


async def _expire(session: AsyncSession, item: AttentionItem) -> None:
    chosen = item.default_answer if item.default_answer in item.options else None
    words = None if chosen else item.default_answer
    try:
        await _close(session, item, AttentionState.EXPIRED, chosen, words, SYSTEM)
    except AlreadyAnswered:  # between the look and the lock
        return


def _is_free(item: AttentionItem) -> bool:
    return item.dead_letter_id is None and item.stage_id is None


def _checked(item: AttentionItem, given: Answer) -> Answer:
    text = check_text("text", given.text, most=MAX_ANSWER if _is_free(item) else MAX_NOTE)
    if given.option is not None and given.option not in item.options:
        raise InvalidInput.of("option", f"must be one of: {', '.join(item.options)}" if item.options else "has none")
    if given.option is None and (item.options or not text):
        among = f"must be one of: {', '.join(item.options)}" if item.options else "or text is needed"
        raise InvalidInput.of("option", among)
    raises = item.kind is AttentionKind.BUDGET_RAISE and given.option == RAISE
    if raises != (given.cap is not None):
        raise InvalidInput.of("capUsd", f"is needed to {RAISE} a budget, and only for that")
    if given.cap is not None and not 0 <= given.cap <= MOST_BUDGET_USD:
        raise InvalidInput.of("capUsd", f"must be 0 to {MOST_BUDGET_USD:,}")
    return replace(given, text=text)


async def _close(
    session: AsyncSession,
    item: AttentionItem,
    state: AttentionState,
    option: str | None,
    text: str | None,
    actor: Actor,
) -> None:
    """A task that waits is locked first and goes on in the same transaction."""
    task = None
    if item.holds_task and item.task_id is not None:
        task, at = await locked(session, team_id=item.team_id, task_id=item.task_id)
        text = without_secrets(task, text)
    item = await attention.locked_open(session, team_id=item.team_id, item_id=item.id)
    attention.close(session, item, state, option=option, answer=text, actor=actor)
    if task is not None:
        questions.freed(session, task, item, at=at, actor=actor)


async def _resolve_letter(
    session: AsyncSession, item: AttentionItem, given: Answer, settings: Settings, actor: Actor
) -> None:
    """By the same door as replayDeadLetter and discardDeadLetter, which closes the item."""
    assert item.dead_letter_id is not None
    which: dict[str, Any] = {"team_id": item.team_id, "letter_id": item.dead_letter_id}
    how: dict[str, Any] = {"note": given.text, "actor": actor}
    try:
        if given.option == REPLAY:
            await revival.replay(session, **which, **how, edits={}, assignee_id=None, settings=settings)
        else:
            await dead_letters.discard(session, **which, **how)
    except Conflict:
        attention.refuse_closed(await attention.find(session, team_id=item.team_id, item_id=item.id))
        raise
    await session.flush()


async def _decide_stage(
    session: AsyncSession, item: AttentionItem, given: Answer, settings: Settings, actor: Actor
) -> None:
    """By the same door as whoever decides on the stage itself."""
    assert item.stage_id is not None
    assert given.option is not None
    try:
        await collaborations.decide(
            session,
            team_id=item.team_id,
            stage_id=item.stage_id,
            decision=FailureDecision(given.option),
            to_agent_id=None,
            reason=given.text,
            settings=settings,
            actor=actor,
            agent_id=None,
        )
    except Conflict:
        attention.refuse_closed(await attention.find(session, team_id=item.team_id, item_id=item.id))
        raise
    await session.flush()


async def _decide_claim(session: AsyncSession, item: AttentionItem, given: Answer, actor: Actor) -> None:
    assert given.option is not None
    if given.option == BOOK and not given.may_configure:
        raise Forbidden(
            "Booking a cost beyond a budget changes what the team spends. Use a key that may configure the team.",
            permission=Permission.CONFIGURE_TEAM.name,
            roles=[role.name for role in roles_with(Permission.CONFIGURE_TEAM)],
        )
    await corrections.decide_claim(session, item, option=given.option, note=given.text, actor=actor)


async def _decide_budget(
    session: AsyncSession, item: AttentionItem, given: Answer, settings: Settings, actor: Actor
) -> None:
    """The team's row is held before the item, as by whoever sets budgets; so no account is waited for in a circle."""
    team = await teams.lock(session, item.team_id)
    item = await attention.locked_open(session, team_id=team.id, item_id=item.id)
    account = await session.get_one(BudgetAccount, item.budget_id)
    if given.cap is not None and given.cap <= account.cap:
        raise InvalidInput.of("capUsd", f"must be more than the present {account.cap:.2f}")
    attention.close(session, item, AttentionState.ANSWERED, option=given.option, answer=given.text, actor=actor)
    if given.cap is not None:
        own = {account.kind: given.cap}
        await set_team_caps(session, team_id=team.id, own=own, settings=settings, actor=actor)
