"""Work that a task starts is part of it: paid by it, bound by it, and counted in its chain of agents."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select

from app.budgets.errors import AllowanceExceeded, BudgetExhausted
from app.budgets.models import AccountKind, BudgetAccount
from app.collaborations import service as collaborations
from app.collaborations.models import Collaboration
from app.collaborations.service import Origin
from app.collaborations.spec import parse_collaboration
from app.config import Flags, Settings, load_settings
from app.errors import AppError, Conflict, InvalidInput
from app.ids import Prefix, to_global
from app.reports import service as reports
from app.reports.models import Report, ReportType
from app.reports.service import Ordered
from app.reports.spec import parse_report
from app.tasks.errors import (
    AuthorityExceeded,
    ClaimLost,
    CycleDetected,
    DelegationDepthExceeded,
    OscillationDetected,
)
from app.tasks.models import Task, TaskPurpose
from app.tasks.starts import Start, find_start
from tests.fixtures.desk import ACTOR, Desk


@pytest.fixture
def settings(database_url: str) -> Settings:
    flags = Flags(task_delegation=True, collaboration=True)
    return load_settings(DATABASE_URL=database_url, pool_size=20, flags=flags)


async def start_session(desk: Desk, start: Start, lead: str, *others: str, **fields: Any) -> Collaboration:
    seats = [{"agent_id": (await desk.agent(lead)).id, "role": "lead"}]
    seats += [{"agent_id": (await desk.agent(slug)).id, "role": "worker"} for slug in others]
    spec = parse_collaboration({"pattern": "delegation", "goal": "Do it.", "participants": seats} | fields)
    async with desk.transaction() as session:
        return await collaborations.start(
            session, team_id=desk.team_id, spec=spec, settings=desk.settings, actor=ACTOR, origin=Origin(start=start)
        )


async def ask_report(desk: Desk, start: Start, assignee: str, by: str, **fields: Any) -> Report:
    given = {"type": ReportType.RESEARCH_SUMMARY, "title": "Sum up", "parameters": {"topic": "caches"}} | fields
    order = Ordered((await desk.agent(assignee)).id, (await desk.agent(by)).id, start=start)
    async with desk.transaction() as session:
        return await reports.request(
            session, team_id=desk.team_id, spec=parse_report(given), order=order, settings=desk.settings, actor=ACTOR
        )


async def account(desk: Desk, account_id: Any) -> BudgetAccount:
    async with desk.transaction() as session:
        return await session.get_one(BudgetAccount, account_id)


async def day(desk: Desk) -> tuple[Decimal, Decimal]:
    async with desk.transaction() as session:
        mine = select(BudgetAccount).where(BudgetAccount.kind == AccountKind.TEAM_DAY)
        found = (await session.scalars(mine)).one()
        return found.reserved, found.spent


async def task_of(desk: Desk, report: Report) -> Task:
    async with desk.transaction() as session:
        return await session.get_one(Task, report.task_id)


async def test_a_session_is_carved_from_its_task_and_goes_on_when_that_ends(desk: Desk) -> None:
    task = await desk.working("zara", "kyra", budget_usd="1", tools=("ask_person",), may_ask=("luke",))
    with pytest.raises(BudgetExhausted, match="The task's budget"):
        await start_session(desk, Start(task.id), "kyra", "luke", max_cost_usd=Decimal(30))
    usual = await start_session(desk, Start(task.id), "kyra", "luke", goal="Another one.")
    made = await start_session(desk, Start(task.id), "kyra", "luke", max_cost_usd=Decimal("0.3"))
    assert (usual.max_cost, made.allowed_tools) == (Decimal("0.5"), ["ask_person"])
    assert made.allowed_agents == [desk.agents["luke"].id]
    assert ((await desk.budget(task)).reserved, await day(desk)) == (Decimal("0.8"), (1, 0))

    await desk.complete(task, cost="0.1")

    held = await account(desk, made.budget_id)
    team_day = await account(desk, held.parent_id)
    assert (team_day.kind, await day(desk)) == (AccountKind.TEAM_DAY, (Decimal("0.8"), Decimal("0.1")))
    closed = await desk.budget(task)
    assert (closed.reserved, closed.held, closed.closed_at is not None) == (0, 0, True)


async def test_work_goes_on_through_the_ends_of_several_tasks(desk: Desk) -> None:
    top = await desk.working("zara", "kyra", budget_usd="1")
    below = await desk.working(None, "luke", parent=top, budget_usd="0.6")
    report = await ask_report(desk, Start(below.id), "ada", "luke", budget_usd=Decimal("0.4"))

    await desk.complete(below, cost="0.1")
    above = await desk.budget(top)
    assert (above.reserved, above.spent) == (Decimal("0.4"), Decimal("0.1"))
    await desk.complete(top, cost="0.2")
    assert await day(desk) == (Decimal("0.4"), Decimal("0.3"))
    written = await desk.claim("ada")
    assert written is not None
    assert written.id == report.task_id
    await desk.complete(written, cost="0.25")

    assert await day(desk) == (0, Decimal("0.55"))


async def test_tasks_and_what_they_started_end_at_once(desk: Desk) -> None:
    """Whoever is first: nothing waits for each other, everything is counted once, and nothing stays reserved."""
    ending: list[tuple[Task, str]] = []
    for number in range(8):
        top = await desk.working("zara", f"top-{number}", budget_usd="1")
        below = await desk.working(None, f"below-{number}", parent=top, budget_usd="0.6")
        await ask_report(desk, Start(below.id), f"writer-{number}", f"below-{number}", budget_usd=Decimal("0.2"))
        await ask_report(desk, Start(top.id), f"editor-{number}", f"top-{number}", budget_usd=Decimal("0.2"))
        writing, editing = await desk.claim(f"writer-{number}"), await desk.claim(f"editor-{number}")
        assert writing is not None
        assert editing is not None
        ending += [(top, "0.01"), (below, "0.02"), (writing, "0.04"), (editing, "0.08")]

    async def end(task: Task, cost: str) -> None:
        with suppress(ClaimLost):  # a task that ends cancels what it delegated
            await desk.complete(task, cost=cost)

    await asyncio.gather(*(end(task, cost) for task, cost in ending))

    costs = [(await desk.read(task)).cost for task, _ in ending]
    assert await day(desk) == (0, sum(costs))
    assert sum(costs) >= 8 * Decimal("0.13")
    assert await desk.reserved() == 0


@pytest.mark.parametrize("kind", ["session", "report"])
async def test_authority_and_claims_bind_what_a_task_starts(desk: Desk, kind: str) -> None:
    async def start(which: Start, *slugs: str) -> Any:
        if kind == "session":
            return await start_session(desk, which, "kyra", *slugs)
        return await ask_report(desk, which, slugs[0], "kyra")

    task = await desk.working("zara", "kyra", may_ask=("luke",))
    for slug in ("ada", "luke"):
        await desk.agent(slug)
    refusals: list[tuple[type[AppError], Start, str]] = [
        (AuthorityExceeded, Start(task.id), "ada"),
        (CycleDetected, Start((await desk.working("zara", "kyra")).id), "zara"),
        (ClaimLost, Start(task.id, claim_token=task.id), "luke"),
        (Conflict, Start((await desk.delegate("zara", "kyra")).id), "luke"),
    ]
    before = await desk.reserved()
    for refusal, which, slug in refusals:
        with pytest.raises(refusal):
            await start(which, slug)
    assert await desk.reserved() == before
    await start(Start(task.id, claim_token=task.claim_token), "luke")


async def test_depth_holds_across_sessions_and_reports(desk: Desk) -> None:
    """zara → kyra → (session) luke → (report) ada is three; a fourth is refused."""
    task = await desk.working("zara", "kyra", budget_usd="10")
    await start_session(desk, Start(task.id), "kyra", "luke", max_cost_usd=Decimal(5))
    stage = await desk.claim("luke")
    assert stage is not None
    assert (stage.purpose, stage.origin_id, stage.chain_root_id) == (TaskPurpose.STAGE, task.id, task.id)
    report = await ask_report(desk, Start(stage.id), "ada", "luke")
    writing = await desk.claim("ada")
    assert writing is not None
    assert writing.id == report.task_id

    with pytest.raises(DelegationDepthExceeded) as deep:
        await desk.delegate(None, "otto", parent=writing)
    with pytest.raises(CycleDetected) as circle:
        await desk.delegate(None, "kyra", parent=writing)

    assert deep.value.details["chain"] == ["zara", "kyra", "luke", "ada", "otto"]
    assert circle.value.details["chain"] == ["zara", "kyra", "luke", "ada", "kyra"]
    with pytest.raises(Conflict, match="sessions never nest"):
        await start_session(desk, Start(stage.id), "luke", "otto")


async def test_repetitions_count_across_the_chain(desk: Desk) -> None:
    top = await desk.working("zara", "kyra", budget_usd="10")
    for _ in range(2):
        await ask_report(desk, Start(top.id), "luke", "kyra")
        await start_session(desk, Start(top.id), "kyra", "ada")
    with pytest.raises(OscillationDetected):
        await ask_report(desk, Start(top.id), "luke", "kyra")
    with pytest.raises(OscillationDetected, match="has started the same session"):
        await start_session(desk, Start(top.id), "kyra", "ada")
    await ask_report(desk, Start(top.id), "luke", "kyra", parameters={"topic": "queues"})

    stages = [await desk.claim("ada"), await desk.claim("ada")]
    for stage in stages:
        await desk.delegate(None, "otto", parent=stage, instructions="The same.")
    with pytest.raises(OscillationDetected):
        await desk.delegate(None, "otto", parent=stages[0], instructions="the  same.")


async def test_a_key_starts_below_its_claim_or_on_its_allowance(desk: Desk) -> None:
    kyra = await desk.agent("kyra")

    async def find() -> Start:
        async with desk.transaction() as session:
            return await find_start(session, team_id=desk.team_id, agent_id=kyra.id, path="parentId")

    assert await find() == Start(allowance_of=kyra.id)
    first = await desk.working("zara", "kyra")
    assert await find() == Start(task_id=first.id)
    second = await desk.working("zara", "kyra")
    with pytest.raises(InvalidInput) as several:
        await find()
    (problem,) = several.value.problems
    assert problem["path"] == "parentId"
    assert all(to_global(Prefix.TASK, task.id) in problem["message"] for task in (first, second))


async def test_an_allowance_counts_what_is_under_way_and_what_was_spent(desk: Desk) -> None:
    await desk.agent("kyra")
    await desk.sql("update agent set day_allowance_usd = 1")
    by_kyra = Start(allowance_of=desk.agents["kyra"].id)
    report = await ask_report(desk, by_kyra, "luke", "kyra", budget_usd=Decimal("0.6"))
    with pytest.raises(AllowanceExceeded) as refused:
        await start_session(desk, by_kyra, "kyra", "luke", max_cost_usd=Decimal("0.5"))
    assert refused.value.details == {
        "agent": "kyra", "allowance": Decimal(1), "used": Decimal("0.6"), "asked": Decimal("0.5"),
    }  # fmt: skip
    assert await day(desk) == (Decimal("0.6"), 0)

    await desk.claim("luke")
    await desk.complete(await task_of(desk, report), cost="0.2")

    await start_session(desk, by_kyra, "kyra", "luke", max_cost_usd=Decimal("0.8"))
    with pytest.raises(AllowanceExceeded):
        await ask_report(desk, by_kyra, "luke", "kyra", budget_usd=Decimal("0.01"))
    await desk.sql(
        "update budget_account set created_at = created_at - interval '1 day' where granted_to_id is not null"
    )
    await ask_report(desk, by_kyra, "luke", "kyra", budget_usd=Decimal("0.01"))
