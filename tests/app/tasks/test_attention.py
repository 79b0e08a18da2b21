"""What needs a person: closed exactly once, by whichever door, with what follows from it or not at all."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, text

from app.attention import service as attention
from app.attention.errors import AlreadyAnswered
from app.attention.models import AttentionItem, AttentionKind, AttentionState, AttentionStep
from app.budgets.caps import set_team_caps
from app.budgets.models import AccountKind
from app.errors import Conflict, InvalidInput
from app.events.log import Actor
from app.interventions import answering
from app.interventions.answering import Answer
from app.tasks import dead_letters, questions, revival
from app.tasks.errors import ClaimLost
from app.tasks.failures import Usage
from app.tasks.models import Task, TaskStatus
from app.tasks.questions import MOST_QUESTIONS, QuestionSpec
from app.teams.models import Team
from tests.fixtures.desk import ACTOR, Desk

MINA, OMAR = Actor("Mina"), Actor("Omar")


async def asked(desk: Desk, task: Task, question: str = "Which market?", **more: Any) -> AttentionItem:
    async with desk.transaction() as session:
        claim = {"team_id": desk.team_id, "task_id": task.id, "claim_token": task.claim_token}
        wanted = QuestionSpec(question=question, **more)
        _, item = await questions.ask_from_task(session, **claim, wanted=wanted, actor=ACTOR)
    assert item is not None
    return item


async def answer(desk: Desk, item: AttentionItem, actor: Actor = MINA, **given: Any) -> AttentionItem | AlreadyAnswered:
    try:
        async with desk.transaction() as session:
            return await answering.answer(
                session,
                team_id=desk.team_id,
                item_id=item.id,
                given=Answer(**given),
                settings=desk.settings,
                actor=actor,
            )
    except AlreadyAnswered as refused:
        return refused


async def expire(desk: Desk, item: AttentionItem) -> None:
    async with desk.transaction() as session:
        await answering.due(session, desk.team_id, item.id)


async def items(desk: Desk) -> list[AttentionItem]:
    async with desk.transaction() as session:
        mine = select(AttentionItem).where(AttentionItem.team_id == desk.team_id).order_by(AttentionItem.id)
        return list(await session.scalars(mine))


async def history(desk: Desk, item_id: UUID) -> list[tuple[str, str]]:
    async with desk.transaction() as session:
        steps = await session.scalars(
            select(AttentionStep).where(AttentionStep.item_id == item_id).order_by(AttentionStep.id)
        )
        return [(step.action.value, step.actor) for step in steps]


async def test_a_task_that_asks_waits_without_a_claim_and_goes_on_with_the_answer(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    below = await desk.delegate(None, "ada", parent=task)
    item = await asked(desk, task, context="It matters for the price.")

    waiting = await desk.read(task)
    nothing = await desk.claim("luke")
    with pytest.raises(ClaimLost):
        await desk.complete(task)
    await answer(desk, item, text="The French one.")
    again = await desk.claim("luke")
    assert again is not None
    known = await asked(desk, again, "  which   MARKET?")

    assert (waiting.status, waiting.waiting_for, waiting.claim_token) == (TaskStatus.PENDING, 1, None)
    assert nothing is None
    assert await desk.status(below) == ["cancelled"]
    assert (again.id, again.attempts_allowed - again.attempts_made) == (task.id, 2)
    assert (known.id, known.closed_by, questions.in_words(known)) == (
        item.id, "Mina", "Mina answered: The French one.",
    )  # fmt: skip
    assert await desk.status(again) == ["in_progress"]
    assert await history(desk, item.id) == [("opened", "a test"), ("answered", "Mina")]
    assert (await desk.kinds(task))[-3:] == ["task.put_aside", "task.requeued", "task.claimed"]
    await desk.complete(again)


async def test_of_many_who_answer_at_once_one_wins_and_the_others_are_told_who_and_what(desk: Desk) -> None:
    item = await asked(desk, await desk.working("kyra", "luke"), options=("yes", "no"))

    people = [Actor(f"person {number}") for number in range(8)]
    ends = await asyncio.gather(
        *(answer(desk, item, who, option="yes" if at % 2 else "no") for at, who in enumerate(people)),
        attention_assigned(desk, item),
    )

    won = [end for end in ends[:-1] if isinstance(end, AttentionItem)]
    lost = [end for end in ends[:-1] if isinstance(end, AlreadyAnswered)]
    (kept,) = await items(desk)
    assert (len(won), len(lost)) == (1, 7)
    assert {(one.details["answered_by"], one.details["option"]) for one in lost} == {(kept.closed_by, kept.option)}
    assert [action for action, _ in await history(desk, item.id)].count("answered") == 1
    (task,) = await desk.open_tasks()
    assert (task.waiting_for, task.status) == (0, TaskStatus.PENDING)


async def attention_assigned(desk: Desk, item: AttentionItem) -> None:
    try:
        async with desk.transaction() as session:
            which = {"team_id": desk.team_id, "item_id": item.id}
            await attention.assign(session, **which, assignee="Mina", note="she knows", actor=OMAR)
    except AlreadyAnswered:
        return


@pytest.mark.parametrize("default", ["no", None])
async def test_a_deadline_that_passes_while_somebody_answers_has_one_outcome(desk: Desk, default: str | None) -> None:
    for _ in range(4):
        task = await desk.working("kyra", "luke")
        item = await asked(desk, task, options=("yes", "no"), deadline_seconds=60, default_answer=default)
        await expire(desk, item)
        assert (await desk.read(task)).waiting_for == 1, "it was not time yet"
        await desk.sql("update attention_item set deadline = now()")

        said, _ = await asyncio.gather(answer(desk, item, option="yes"), expire(desk, item))

        kept = (await items(desk))[-1]
        steps = [action for action, _ in await history(desk, item.id)]
        if isinstance(said, AlreadyAnswered):
            assert (kept.state, kept.option, kept.closed_by) == (AttentionState.EXPIRED, default, "parley")
        else:
            assert (kept.state, kept.option, kept.closed_by) == (AttentionState.ANSWERED, "yes", "Mina")
        assert (len(steps), (await desk.read(task)).waiting_for) == (2, 0)
        await desk.cancel(task)


async def test_what_ends_while_it_waits_takes_its_question_back(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    item = await asked(desk, task)

    said, _ = await asyncio.gather(answer(desk, item, text="Now?"), desk.cancel(task))

    (kept,) = await items(desk)
    assert await desk.status(task) == ["cancelled"]
    assert kept.state is (AttentionState.WITHDRAWN if isinstance(said, AlreadyAnswered) else AttentionState.ANSWERED)
    other = await desk.working("kyra", "luke")
    withdrawn = await asked(desk, other)
    await desk.cancel(other)
    async with desk.transaction() as session:
        which = {"team_id": desk.team_id, "task_id": other.id}
        await revival.retry(session, **which, settings=desk.settings, actor=ACTOR)
    again = await desk.claim("luke")
    assert again is not None
    assert (await asked(desk, again)).id != withdrawn.id


async def test_a_dead_letter_is_resolved_by_either_door_and_only_once(desk: Desk) -> None:
    for _ in range(3):
        await desk.fail(await desk.working("kyra", "luke"), may_pass=False)
    parent = await desk.working("kyra", "luke")
    await desk.delegate(None, "ada", parent=parent)
    sub = await desk.claim("ada")
    assert sub is not None
    await desk.fail(sub, may_pass=False)
    replayed, discarded, raced, subtask = await items(desk)
    letters = await desk.letters()

    await answer(desk, replayed, option="replay", text="Once more.")
    async with desk.transaction() as session:
        which = {"team_id": desk.team_id, "letter_id": letters[1].id}
        await dead_letters.discard(session, **which, note="Not worth it.", actor=OMAR)
    late = await answer(desk, discarded, option="replay")
    both = await asyncio.gather(
        *(answer(desk, raced, who, option=what) for who in (MINA, OMAR) for what in ("discard", "replay"))
    )

    states = {letter.id: letter.state.value for letter in await desk.letters()}
    kept = await items(desk)
    assert [one.kind for one in kept] == [AttentionKind.DEAD_LETTER] * 3 + [AttentionKind.FAILED_SUBTASK]
    assert [(one.option, one.closed_by) for one in kept[:2]] == [("replay", "Mina"), ("discard", "Omar")]
    assert kept[1].answer == "Not worth it."
    assert isinstance(late, AlreadyAnswered)
    assert late.details["answered_by"] == "Omar"
    assert sum(isinstance(one, AttentionItem) for one in both) == 1
    assert (states[letters[0].id], states[letters[1].id]) == ("replayed", "discarded")
    assert states[letters[2].id] == {"replay": "replayed", "discard": "discarded"}[kept[2].option or ""]
    assert kept[3].state is AttentionState.OPEN
    assert subtask.dead_letter_id == letters[3].id


async def test_a_budget_near_its_cap_is_raised_from_its_item_once(desk: Desk) -> None:
    async with desk.transaction() as session:
        own = {AccountKind.TEAM_DAY: Decimal(10), AccountKind.TEAM_MONTH: Decimal(1000)}
        await set_team_caps(session, team_id=desk.team_id, own=own, settings=desk.settings, actor=ACTOR)
    await desk.delegate("kyra", "luke", budget_usd="8.5")
    (item,) = await items(desk)

    with pytest.raises(InvalidInput, match="capUsd"):
        await answer(desk, item, option="raise")
    with pytest.raises(InvalidInput, match="more than the present 10"):
        await answer(desk, item, option="raise", cap=Decimal(9))
    ends = await asyncio.gather(
        answer(desk, item, MINA, option="raise", cap=Decimal(50)),
        answer(desk, item, OMAR, option="raise", cap=Decimal(70)),
    )
    await desk.delegate("kyra", "luke", budget_usd="48" if isinstance(ends[1], AttentionItem) else "32")
    async with desk.transaction() as session:
        cap = await session.scalar(select(Team.day_budget_usd).where(Team.id == desk.team_id))
        await set_team_caps(
            session, team_id=desk.team_id, own={AccountKind.TEAM_DAY: Decimal(500)}, settings=desk.settings, actor=OMAR
        )

    first, second = await items(desk)
    assert sum(isinstance(one, AttentionItem) for one in ends) == 1
    assert (cap, first.closed_by) in {(Decimal(50), "Mina"), (Decimal(70), "Omar")}
    assert (second.state, second.option, second.closed_by) == (AttentionState.ANSWERED, "raise", "Omar")
    assert item.deadline is not None
    assert (item.kind, item.default_answer) == (AttentionKind.BUDGET_RAISE, "leave")


async def test_what_may_be_asked_and_answered_has_limits(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    for number in range(MOST_QUESTIONS):
        item = await asked(desk, task, f"Question {number}? " + "x" * 1_900, kind=AttentionKind.APPROVAL)
        for wrong in ({}, {"text": "maybe"}, {"option": "perhaps"}, {"option": "approve", "cap": Decimal(1)}):
            with pytest.raises(InvalidInput):
                await answer(desk, item, **wrong)
        assert item.options == ["approve", "reject"]
        assert (len(item.title), item.detail.startswith(f"Question {number}?")) == (200, True)
        await answer(desk, item, option="approve")
        again = await desk.claim("luke")
        assert again is not None
        task = again
    with pytest.raises(Conflict, match="has asked 10 times"):
        await asked(desk, task, "One more?")
    for wrong_question in (
        {"question": " "},
        {"question": "x\0"},
        {"question": "?", "kind": "budget_raise"},
        {"question": "?", "options": ("a", "a")},
        {"question": "?", "options": ("a",), "default_answer": "b", "deadline_seconds": 5},
        {"question": "?", "default_answer": "b"},
        {"question": "?", "deadline_seconds": 0},
    ):
        with pytest.raises(ValueError, match="validation error"):
            QuestionSpec.model_validate(wrong_question)
    assert await desk.status(task) == ["in_progress"]


async def test_what_an_attempt_used_before_it_asked_is_charged_and_limits_hold(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", max_tokens=100)
    async with desk.transaction() as session:
        claim = {"team_id": desk.team_id, "task_id": task.id, "claim_token": task.claim_token, "actor": ACTOR}
        wanted, spent = QuestionSpec(question="May I?"), Usage(tokens=40, cost=Decimal("0.25"))
        await questions.ask_from_task(session, **claim, wanted=wanted, usage=spent)
    assert (await desk.budget(task)).spent == Decimal("0.25")
    await answer(desk, (await items(desk))[0], text="Yes.")
    again = await desk.claim("luke")
    assert again is not None
    async with desk.transaction() as session:
        claim["claim_token"] = again.claim_token
        wanted = QuestionSpec(question="And this?")
        _, item = await questions.ask_from_task(session, **claim, wanted=wanted, usage=Usage(tokens=101))

    assert item is None
    assert await desk.status(task) == ["failed"]
    assert [one.kind for one in await items(desk)] == [AttentionKind.QUESTION, AttentionKind.DEAD_LETTER]
    async with desk.transaction() as session:
        assert await session.scalar(text("select count(*) from follow_up where kind = 'attention_due'")) == 0
