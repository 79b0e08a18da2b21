"""A failed stage of a session asks a person, once, unless a managed lead decides; either door closes the item."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from app.attention.errors import AlreadyAnswered
from app.attention.models import AttentionItem, AttentionKind, AttentionState
from app.collaborations.models import CollaborationStatus, FailureDecision
from app.config import Flags, Settings, load_settings
from app.errors import Conflict
from app.events.log import Actor
from app.interventions import answering
from app.interventions.answering import Answer
from tests.fixtures.desk import Desk
from tests.fixtures.sessions import Sessions

MINA = Actor("Mina")


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    flags = Flags(task_delegation=True, collaboration=True)
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, pool_size=20, flags=flags)


async def items(desk: Desk) -> list[AttentionItem]:
    async with desk.transaction() as session:
        return list(await session.scalars(select(AttentionItem).order_by(AttentionItem.id)))


async def answer(desk: Desk, item: AttentionItem, option: str) -> Any:
    async with desk.transaction() as session:
        which = {"team_id": desk.team_id, "item_id": item.id}
        given = Answer(option, "Because.")
        return await answering.answer(session, **which, given=given, settings=desk.settings, actor=MINA)


async def test_a_failed_stage_is_decided_from_the_queue_or_past_it(desk: Desk) -> None:
    sessions = Sessions(desk)
    one = await sessions.start("pipeline", "worker:luke", "worker:ada")
    await sessions.fail("luke")
    (first,) = await items(desk)
    await answer(desk, first, "retry")
    await sessions.fail("luke")
    second = (await items(desk))[-1]
    stage = (await sessions.stages(one))[-1]
    ends = await asyncio.gather(
        answer(desk, second, "retry"), sessions.decide(stage, FailureDecision.RETRY), return_exceptions=True
    )
    await sessions.answer("luke")
    two = await sessions.start("delegation", "worker:luke")
    await sessions.fail("luke")
    third = (await items(desk))[-1]
    await answer(desk, third, "abort")
    three = await sessions.start("delegation", "worker:luke")
    await sessions.fail("luke")
    await sessions.cancel(three)

    kept = await items(desk)
    assert [(item.kind, item.options) for item in kept] == [(AttentionKind.FAILED_SUBTASK, ["retry", "abort"])] * 4
    assert (kept[0].option, kept[0].answer, kept[0].closed_by) == ("retry", "Because.", "Mina")
    assert (first.stage_id, first.collaboration_id) == ((await sessions.stages(one))[0].id, one.id)
    refused = [end for end in ends if isinstance(end, Exception)]
    assert len(refused) == 1
    assert isinstance(refused[0], AlreadyAnswered | Conflict)
    assert kept[1].state is AttentionState.ANSWERED
    assert [stage.attempt for stage in await sessions.stages(one)] == [1, 2, 3, 1]
    ended = await sessions.read(two)
    assert (ended.status, ended.error_message) == (CollaborationStatus.FAILED, "Because.")
    assert kept[3].state is AttentionState.WITHDRAWN


async def test_nobody_is_asked_while_a_managed_lead_decides(desk: Desk) -> None:
    sessions = Sessions(desk)
    one = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", "worker:ada")
    await sessions.fail("luke")
    meanwhile = await items(desk)
    await sessions.fail("kyra")
    (asked,) = await items(desk)

    assert meanwhile == []
    assert (asked.state, asked.stage_id) == (AttentionState.OPEN, (await sessions.stages(one))[0].id)
