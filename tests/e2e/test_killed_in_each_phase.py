"""Kill the worker inside the transaction of each phase of a reply, an ensemble, a handoff and a consultation: whatever
it was at is done once by the next worker, and no conversation or consultation is left in between."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.agents import service as agents
from app.agents.spec import AgentSpec, SkillSpec
from app.auth.roles import Role
from app.events.log import SYSTEM
from app.ids import Prefix, to_global
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from tests.fixtures.installation import SOAK, Installation, ParleyProcess

PATIENCE_S = 90.0
# Where the worker is when it is killed: the table that it is just writing to, and the row by which that is known.
PHASES = {
    "agents are asked": ("task", "insert", "true"),
    "a task is taken up": ("task", "update", "new.status = 'in_progress' and old.status = 'pending'"),
    "a task ends": ("task", "update", "new.status = 'completed' and old.status = 'in_progress'"),
    "a reply is taken over": ("contribution", "update", "new.status = 'completed' and old.status <> 'completed'"),
    "the answer is said": ("message", "insert", "new.author = 'agent'"),
    "what follows is decided": ("step_decision", "insert", "true"),
    "the conversation passes on": ("conversation_handoff", "insert", "true"),
    "a question is taken up": ("consultation", "update", "new.status = 'in_progress' and old.status = 'pending'"),
    "a consultation is answered": ("consultation_exchange", "insert", "new.kind = 'response'"),
}
SHORT = ("the answer is said", "the conversation passes on", "a consultation is answered")
TRAP = """
create function fall_asleep() returns trigger language plpgsql as $$ begin perform pg_sleep(120); return new; end $$;
create trigger trap before {operation} on {table} for each row
    when (new.team_id = '{team}' and {condition}) execute function fall_asleep();"""
NO_TRAP = "drop function if exists fall_asleep() cascade"
ASLEEP = "select pid from pg_stat_activity where wait_event = 'PgSleep'"
OPEN = """select (select count(*) from reply where team_id = $1 and finished_at is null)
    + (select count(*) from consultation where team_id = $1 and finished_at is null)"""
START = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
SAY = "mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename ... on Refusal { code } } }"
ASK = """mutation ($input: RequestConsultationInput!) { requestConsultation(input: $input) {
  ... on ConsultationPayload { consultation { status } } ... on Refusal { code message } } }"""
RULE = """mutation ($from: ID!, $to: ID!) {
  saveHandoffRule(input: {fromAgentId: $from, toAgentId: $to, condition: "draft complete"}) { __typename }
}"""
SCRIPT = "Write it."


async def until(installation: Installation, sql: str, wanted: bool, *arguments: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while bool(await installation.database.fetchval(sql, *arguments)) is not wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def execute(installation: Installation, *statements: str) -> None:
    async with installation.transaction() as session:
        for statement in statements:
            await session.execute(text(statement))


async def kill_asleep(installation: Installation, worker: ParleyProcess) -> None:
    """Its transaction ends with it, as when the machine is gone; leases run out at once, for the test's sake."""
    await until(installation, ASLEEP, True)
    await asyncio.to_thread(worker.kill)
    await execute(
        installation,
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'",
        NO_TRAP,
        "update task set lease_until = now() where lease_until is not null",
    )


@pytest.mark.timeout(600)
async def test_whatever_it_was_at_is_done_once(installation: Installation) -> None:
    team = installation.team
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (team.kyra, team.luke))
    on = (FeatureFlag.AGENT_COLLABORATION, FeatureFlag.EXPERT_GATE, FeatureFlag.ENSEMBLE_MODE)
    async with installation.transaction() as session:
        await teams.set_flags(session, team_id=team.id, changes=dict.fromkeys(on, True), actor=SYSTEM)
        ada = AgentSpec(slug="ada", name="Ada", skills=(SkillSpec(name="talking"),))
        await agents.create(session, team_id=team.id, spec=ada, actor=SYSTEM)
    worker = installation.another("worker")
    headers = {"Authorization": f"Bearer {team.secrets[Role.ADMIN]}"}
    phases = list(PHASES) if SOAK else SHORT
    async with httpx.AsyncClient(base_url=installation.server.url, timeout=30, headers=headers) as client:

        async def run(query: str, **variables: Any) -> Any:
            body = (await client.post("/graphql", json={"query": query, "variables": variables})).json()
            assert "errors" not in body, body
            return body["data"]

        async def say(**wanted: Any) -> None:
            talk = (await run(START))["startConversation"]["conversation"]["id"]
            said = (await run(SAY, input={"conversationId": talk, **wanted}))["sendMessage"]
            assert said == {"__typename": "SendMessagePayload"}

        async def ask(question: str) -> None:
            asked = await run(ASK, input={"requesterId": kyra, "question": question})
            assert asked == {"requestConsultation": {"consultation": {"status": "PENDING"}}}

        await run(RULE, **{"from": kyra, "to": luke})
        try:
            for phase in phases:
                table, operation, condition = PHASES[phase]
                trap = TRAP.format(table=table, operation=operation, condition=condition, team=team.id)
                await ask(f"Who is best at talking while {phase}?")
                await execute(installation, *trap.strip().split("\n", 1))
                await say(text=SCRIPT, agentId=kyra)
                await say(text="Let us go talking.", strategy="ENSEMBLE", threshold=0)
                worker.launch()
                await kill_asleep(installation, worker)
                worker.launch()
                await until(installation, OPEN, False, team.id)
                worker.end()
        finally:
            worker.end()
            await execute(installation, NO_TRAP)

    wrong = {
        "a reply that did not become exactly one message": """
            select reply.id from reply left join message on message.in_reply_to_id = reply.message_id
            where reply.team_id = $1 group by reply.id
            having count(message.id) <> 1 or reply.status <> 'completed'""",
        "an agent that was asked twice for one reply": """
            select reply_id from contribution where team_id = $1 group by reply_id, agent_id having count(*) > 1""",
        "a task that did not end exactly once": """
            select task.id from task left join event on event.task_id = task.id and event.kind in
                ('task.completed', 'task.failed', 'task.timed_out', 'task.cancelled')
            where task.team_id = $1 group by task.id having count(event.id) <> 1""",
        "an answer that was decided on other than once": """
            select message.id from message left join step_decision decision on decision.message_id = message.id
            where message.team_id = $1 and author = 'agent' group by message.id having count(decision.id) <> 1""",
        "a decision to hand over without its handoff": """
            select decision.id from step_decision decision left join conversation_handoff handoff
                on handoff.message_id = decision.message_id
            where decision.team_id = $1 and decision.to_agent_id is not null
            group by decision.id having count(handoff.id) <> 1""",
        "a conversation whose primary agent is not who took over last": """
            select handoff.id from conversation_handoff handoff join conversation talk on talk.id = conversation_id
            where handoff.team_id = $1 and talk.primary_agent_id <> handoff.to_agent_id""",
        "a consultation that was not answered exactly once": """
            select one.id from consultation one left join consultation_exchange said
                on said.consultation_id = one.id and said.kind = 'response'
            where one.team_id = $1 group by one.id
            having count(said.id) <> 1 or one.status <> 'completed' or one.exchange_count <> 2""",
        "a consultation that was told of otherwise than once in order": """
            select consultation_id from event where team_id = $1 and consultation_id is not null
            group by consultation_id having string_agg(kind, ' ' order by position, id)
                <> 'consultation.requested consultation.begun consultation.answered'""",
        "money that is still reserved": "select id from budget_account where team_id = $1 and reserved <> 0",
    }
    rows = installation.database.fetch
    assert {what: found for what, sql in wrong.items() if (found := await rows(sql, team.id))} == {}
    said = await rows("select author_name, count(*) from message where text = any($2) and team_id = $1 group by 1 "
                      "order by 1", team.id, ["The draft is complete.", "I have read it."])  # fmt: skip
    assert [tuple(row) for row in said] == [("Kyra", len(phases)), ("Luke", len(phases))]
    several = "select count(*) from contribution where team_id = $1 and place = 2 and status = 'completed'"
    assert await installation.database.fetchval(several, team.id) == len(phases)
