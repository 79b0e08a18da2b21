"""Errands: done once by one of many, at their time, never dropped; and the end of an agent's own work as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import now
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errands.models import Errand, ErrandKind
from app.errands.service import MOST_FAILURES, Do, ask, do_next
from app.errors import Conflict
from app.observability.metrics import ERRAND_FAILURES
from app.tasks import revival
from app.tasks.models import TaskPurpose
from jobs import errand_runner
from jobs.errand_runner import ErrandRunner
from jobs.errands import deeds
from tests.fixtures.desk import ACTOR, Desk

PATIENCE_S = 20.0


class Done:
    """What was done, told to whoever waits for it."""

    def __init__(self) -> None:
        self.subjects: list[UUID] = []
        self._news = asyncio.Condition()

    async def add(self, subject: UUID) -> None:
        async with self._news:
            self.subjects.append(subject)
            self._news.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(condition)


@asynccontextmanager
async def runners(database: Database, transaction: Transactions, do: Do, count: int = 1) -> AsyncIterator[None]:
    made = [ErrandRunner(database, transaction, {ErrandKind.TASK_ENDED: do}) for _ in range(count)]
    working = [asyncio.create_task(one.run()) for one in made]
    try:
        yield
    finally:
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)


async def left(transaction: Transactions) -> list[Errand]:
    async with transaction() as session:
        return list(await session.scalars(select(Errand)))


async def order(desk: Desk, subjects: list[UUID], after_s: float = 0) -> None:
    async with desk.transaction() as session:
        for subject in subjects:
            due = now() + timedelta(seconds=after_s) if after_s else None
            ask(session, ErrandKind.TASK_ENDED, team_id=desk.team_id, subject_id=subject, due_at=due)


async def test_many_runners_do_each_errand_once(desk: Desk, database: Database, transaction: Transactions) -> None:
    """What a deed writes is committed with it: the rows are the proof, not what ran in memory."""
    await desk.sql("create table done (subject uuid)")
    subjects = [UUID(int=number) for number in range(60)]
    told = Done()

    async def do(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        await session.execute(text("insert into done values (:subject)"), {"subject": subject})
        await told.add(subject)

    await order(desk, subjects)
    async with runners(database, transaction, do, count=3):
        await told.until(lambda: len(told.subjects) >= len(subjects))
        async with asyncio.timeout(PATIENCE_S):
            while await left(transaction):  # noqa: ASYNC110 - the last ones are being committed
                await asyncio.sleep(0.01)

    async with transaction() as session:
        rows = list(await session.scalars(text("select subject from done order by subject")))
    assert rows == subjects


async def test_one_that_fails_is_put_off_and_holds_up_no_other(
    desk: Desk, database: Database, transaction: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errand_runner, "POLL_S", 0.05)
    bad, good = UUID(int=1), UUID(int=2)
    tried, told = Done(), Done()

    async def do(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        await tried.add(subject)
        if subject == bad and tried.subjects.count(bad) < 2:
            raise RuntimeError("not today")
        await told.add(subject)

    await order(desk, [bad, good])
    async with runners(database, transaction, do):
        await told.until(lambda: good in told.subjects)
        await tried.until(lambda: bad in tried.subjects)
        async with asyncio.timeout(PATIENCE_S):
            while not (found := [one for one in await left(transaction) if one.failures]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert "not today" in (found[0].error or "")
        await told.until(lambda: bad in told.subjects)


async def test_one_that_kills_its_connection_is_put_off_and_at_last_done_otherwise(
    desk: Desk, transaction: Transactions
) -> None:
    subject, tried, resorted = UUID(int=3), Done(), Done()
    await order(desk, [subject])

    async def die(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        await tried.add(subject)
        await session.execute(text("select pg_terminate_backend(pg_backend_pid())"))

    async def resort(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        await resorted.add(subject)

    deeds, resorts = {ErrandKind.TASK_ENDED: die}, {ErrandKind.TASK_ENDED: resort}
    before = ERRAND_FAILURES.labels(ErrandKind.TASK_ENDED)._value.get()
    for failures in (0, MOST_FAILURES - 1):
        await desk.sql(f"update errand set failures = {failures}, due_at = now()")
        at = now()
        assert await do_next(transaction, deeds, resorts)
        (errand,) = await left(transaction)
        assert errand.failures == failures + 1
        assert errand.due_at - at >= timedelta(seconds=min(2**failures, 60))
    assert ERRAND_FAILURES.labels(ErrandKind.TASK_ENDED)._value.get() == before + 2
    await desk.sql("update errand set due_at = now()")
    assert await do_next(transaction, deeds, resorts)

    assert (len(tried.subjects), resorted.subjects) == (2, [subject])
    assert await left(transaction) == []


async def test_an_errand_waits_for_its_time_and_survives_a_runner_that_is_cut_off(
    desk: Desk, database: Database, transaction: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errand_runner, "POLL_S", 0.05)
    told, started = Done(), asyncio.Event()
    subject = UUID(int=7)

    async def hang(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        started.set()
        await asyncio.Event().wait()

    async def do(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        await told.add(subject)

    await order(desk, [subject], after_s=0.4)
    async with runners(database, transaction, do):
        with suppress(TimeoutError):
            async with asyncio.timeout(0.15):
                await told.until(lambda: bool(told.subjects))
    assert told.subjects == []
    async with runners(database, transaction, hang), asyncio.timeout(PATIENCE_S):
        await started.wait()
    async with runners(database, transaction, do):
        await told.until(lambda: told.subjects == [subject])


async def test_the_end_of_own_work_is_told_to_its_owner_once(
    desk: Desk, database: Database, transaction: Transactions
) -> None:
    told = Done()

    async def of_stage(session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
        await told.add(task_id)

    done = await desk.assign("kyra", TaskPurpose.STAGE)
    failed = await desk.assign("luke", TaskPurpose.STAGE)
    cancelled = await desk.assign("ada", TaskPurpose.STAGE)
    claimed, other = await desk.claim("kyra"), await desk.claim("luke")
    assert claimed is not None
    assert other is not None
    await desk.complete(claimed, cost="0.001")
    await desk.fail(other, may_pass=False)
    await desk.cancel(cancelled)

    runner = ErrandRunner(database, transaction, deeds({TaskPurpose.STAGE: of_stage}))
    working = asyncio.create_task(runner.run())
    await told.until(lambda: len(told.subjects) == 3)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)

    assert set(told.subjects) == {done.id, failed.id, cancelled.id}
    assert await desk.letters() == [], "whoever ordered it decides, not a person with a dead letter"
    assert await desk.reserved() == 0
    with pytest.raises(Conflict, match="is a stage"):
        async with transaction() as session:
            await revival.retry(session, team_id=desk.team_id, task_id=failed.id, settings=desk.settings, actor=ACTOR)


async def test_from_own_work_three_delegations_lead_down(desk: Desk, transaction: Transactions) -> None:
    """Own work is the origin: the first delegation from it is the first hop. It takes no place among the five."""
    for _ in range(6):
        await desk.assign("kyra")
    own = await desk.claim("kyra")
    assert own is not None
    parent, made = own, [own]
    for slug in ("luke", "ada", "zara"):
        parent = await desk.working(None, slug, parent=parent)
        made.append(parent)

    assert [task.depth for task in made] == [0, 1, 2, 3]
    assert [task.grandparent_id for task in made] == [None, None, own.id, made[1].id]
    assert {task.root_id for task in made} == {own.id}
    await desk.cancel(own)
    assert await desk.status(*made) == ["cancelled"] * 4
    async with transaction() as session:
        assert await session.scalar(select(func.count()).select_from(Errand)) == 1
