"""What a decision reads of the database: loads as they are now, and ratings of the last thirty days."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from app.config import Flags
from app.conversations import service as conversations
from app.conversations.service import NewConversation
from app.events.log import SYSTEM
from app.routing.facts import loads
from app.routing.load import Load
from app.teams.models import Team
from tests.fixtures.desk import Desk
from tests.fixtures.switchboard import REVIEW, Switchboard


async def test_load_counts_conversations_that_go_on_open_tasks_and_how_long_tasks_take(
    board: Switchboard, team: Team
) -> None:
    settings = board.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    desk = Desk(board.transaction, settings, team.id)
    kyra, _ = await desk.agent("kyra"), await desk.agent("luke")
    for seconds in (10, 20):
        done = await desk.complete(await desk.working("kyra", "luke"))
        took = "update task_attempt set started_at = ended_at - make_interval(secs => :s) where task_id = :id"
        await desk.sql(took, s=seconds, id=done.id)
    await desk.fail(await desk.working("kyra", "luke"), may_pass=False)
    await desk.delegate("kyra", "luke")
    started = [await _conversation(board, kyra.id) for _ in range(4)]
    await desk.sql("update conversation set updated_at = now() - interval '61 minutes' where id = :id", id=started[0])
    await desk.sql("update conversation set status = 'closed', closed_at = now() where id = :id", id=started[1])

    assert await loads(board.database, team.id) == {"kyra": Load(2, 0, 0.0), "luke": Load(0, 1, 15.0)}


async def test_ratings_count_for_thirty_days(board: Switchboard) -> None:
    await board.hire("kyra", "luke")
    rated = await board.route(REVIEW)
    await board.rate(rated, 1)

    past = []
    for age in ("29 days 23 hours", "30 days 1 hour"):
        async with board.transaction() as session:
            await session.execute(text(f"update routing_rating set created_at = now() - interval '{age}'"))
        scores = (await board.stored(await board.route(REVIEW))).scores
        past.append({one.candidate.slug: one.candidate.signals.past_performance for one in scores})

    assert past == [{"kyra": 0.7, "luke": 0.0}, {"kyra": 0.7, "luke": 0.7}]


async def _conversation(board: Switchboard, agent_id: Any) -> Any:
    async with board.transaction() as session:
        wanted = NewConversation(primary_agent_id=agent_id)
        return (await conversations.start(session, team_id=board.team_id, wanted=wanted, actor=SYSTEM)).id
