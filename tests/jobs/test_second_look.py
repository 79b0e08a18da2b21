"""A language model that judges replies: its word decides, its price is the reply's, and without it embedding judges."""

from __future__ import annotations

import json
from decimal import Decimal

from sqlalchemy import select

from app.config import HandoffJudge, Settings
from app.conversations.handoffs.models import StepDecision
from app.db.engine import Database
from app.handoffs import service as rules
from app.handoffs.decision import DecidedBy
from app.handoffs.spec import HandoffRuleSpec
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.tasks.models import Task, TaskStatus
from app.teams import service as teams
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.hall import Hall, open_hall
from tests.fixtures.openai_server import Reply, calls, fails, openai_server, says
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import until_status

MODEL = "openai:gpt-4o-mini"


def judges(*confidences: float, following: str = "nobody") -> Reply:
    told = json.dumps({"confidences": confidences, "next_agent": following})
    return calls(("final_result", told), usage=(1_000, 100))


async def replied(hall: Hall, text: str) -> StepDecision:
    """What was decided after kyra's reply to a message."""
    reply = await hall.say(text, "kyra", interrupt=True)
    await hall.run_follow_ups()
    async with hall.desk.transaction() as session:
        asked = await session.get_one(Task, (await hall.chosen(reply))[0].task_id)
    task = await until_status(hall.desk, asked, TaskStatus.COMPLETED)
    assert task.cost > Decimal(0)
    await hall.run_follow_ups()
    async with hall.desk.transaction() as session:
        answer = (await hall.read(reply)).answer_id
        return (await session.scalars(select(StepDecision).where(StepDecision.message_id == answer))).one()


async def test_a_model_judges_where_it_is_asked_to(
    desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    chosen = settings.model_copy(
        update={"model_tier_0": MODEL, "model_tier_1": MODEL, "handoff_judge": HandoffJudge.MODEL}
    )
    desk.settings = chosen
    hall = await open_hall(desk, chosen, database, runtime="managed")
    await desk.sql("update agent set runtime = 'external' where slug <> 'kyra'")
    async with desk.transaction() as session:
        team = await teams.lock(session, desk.team_id)
        rule = HandoffRuleSpec(from_agent="kyra", to_agent="luke", condition="draft complete")
        await rules.replace(session, team=team, rules=[rule], actor=ACTOR)

    async with openai_server() as server:
        providers = Providers(chosen, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-test"})
        async with workers(Execution(chosen, database, providers), settings=chosen):
            server.script(says("It is all there."), judges(0.9))
            fired = await replied(hall, "Write it.")
            assert "1. draft complete" in server.asked[1]["messages"][-1]["content"]
            server.script(says("The draft is complete, says nobody."), judges(0.1, following="ada"))
            named = await replied(hall, "Again.")
            server.script(says("The draft is complete."), fails(400))
            judged = await replied(hall, "And again.")
            server.script(says("It is all there."))
            known = await replied(hall, "Once more.")
            assert len(server.asked) == 1, "the same reply under the same rules is read once"
            async with desk.transaction() as session:
                figures = rule.model_copy(update={"condition": "reply_words > 1000"})
                await rules.replace(session, team=await teams.lock(session, desk.team_id), rules=[figures], actor=ACTOR)
            server.script(says("Ask Ada about it."), judges(following="ada"))
            unruled = await replied(hall, "So?")
        await providers.close()

    agents = {agent.id: slug for slug, agent in desk.agents.items()}
    decisions = (fired, named, judged, known, unruled)
    assert [(one.decided_by, one.to_agent_id and agents[one.to_agent_id]) for one in decisions] == [
        (DecidedBy.RULE, "luke"),
        (DecidedBy.ANALYSIS, "ada"),
        (DecidedBy.RULE, "luke"),
        (DecidedBy.AFTER_WORK, None),
        (DecidedBy.ANALYSIS, "ada"),
    ]
    assert fired.judge == f"model-1/{MODEL}"
    assert [one.tried[0]["clauses"][0]["confidence"] for one in (fired, known)] == [0.9, 0.9]
    assert known.tried[0]["reason"] == "It holds, but luke has the conversation already."
    assert judged.tried[0]["clauses"][0]["reason"].startswith("the reply says")
    assert len(await database.fetch("select digest from clause_verdict")) == 6
