"""A consultation that a task asks for is part of that task: its budget pays, its limits bind, its chain goes on."""

from __future__ import annotations

from decimal import Decimal

import pytest

from app.budgets.errors import BudgetExhausted
from app.config import Flags, Settings
from app.consultations.models import ConsultationStatus
from app.db.engine import Database
from app.tasks.errors import CycleDetected, DelegationDepthExceeded
from tests.fixtures.consultations import Consultations
from tests.fixtures.desk import Desk

SECURITY = "Which vulnerabilities does a security review of authentication code find?"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    flags = Flags(agent_collaboration=True, expert_gate=True, task_delegation=True, collaboration=True)
    return settings.model_copy(update={"flags": flags})


@pytest.fixture
async def consultations(desk: Desk, database: Database) -> Consultations:
    made = Consultations(desk, database)
    await made.team()
    return made


async def test_the_task_pays_for_questions_and_clarifications(consultations: Consultations, desk: Desk) -> None:
    task = await desk.working("pm", "devops", budget_usd="0.4")
    with pytest.raises(BudgetExhausted, match="The task's budget"):
        await consultations.ask("devops", SECURITY, task=task, budget_usd=Decimal(30))
    asked = await consultations.ask("devops", SECURITY, task=task)
    assert asked.specialist_id == desk.agents["security"].id
    assert (await desk.budget(task)).reserved == Decimal("0.2"), "half of what is left"

    await consultations.answer("security", "Injection, mostly.", cost="0.05")
    await consultations.clarify(asked, "And what else does one find in login code?", by="devops", task=task)

    account = await desk.budget(task)
    assert (account.spent, account.reserved) == (Decimal("0.05"), Decimal("0.175"))


async def test_whom_the_task_may_not_ask_is_not_consulted(consultations: Consultations, desk: Desk) -> None:
    bound = await desk.working("pm", "devops", may_ask=("qa",), tools=("ask_person",))
    nobody = await consultations.ask("devops", SECURITY, task=bound)
    assert (nobody.status, nobody.specialist_id) == (ConsultationStatus.ESCALATED, None)

    free = await desk.working("pm", "devops", may_ask=("security",), tools=("ask_person",))
    await consultations.ask("devops", f"{SECURITY} In the new service?", task=free)
    answering = await desk.claim("security")
    assert answering is not None
    assert (answering.allowed_tools, answering.allowed_agents) == (["ask_person"], [desk.agents["security"].id])
    assert (answering.origin_id, answering.chain_root_id) == (free.id, free.id)


async def test_depth_and_cycles_hold_across_consultations(consultations: Consultations, desk: Desk) -> None:
    """pm → devops → (consultation) security → qa is three; a fourth is refused."""
    task = await desk.working("pm", "devops", budget_usd="10")
    await consultations.ask("devops", SECURITY, task=task)
    answering = await desk.claim("security")
    assert answering is not None
    with pytest.raises(CycleDetected):
        await desk.delegate(None, "pm", parent=answering)
    third = await desk.working(None, "qa", parent=answering)

    with pytest.raises(DelegationDepthExceeded) as deep:
        await desk.delegate(None, "backend", parent=third)
    with pytest.raises(DelegationDepthExceeded):
        await consultations.ask("qa", "How do Docker volumes work in a deployment?", task=third)

    assert deep.value.details["chain"] == ["pm", "devops", "security", "qa", "backend"]
