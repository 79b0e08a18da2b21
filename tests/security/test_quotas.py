"""Nobody fills a queue for others: questions to people, inboxes and first tasks have a quota for each sender."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.config import Settings, load_settings
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley

ASK = """mutation ($input: AskPersonInput!) { askPerson(input: $input) {
  __typename ... on QuotaExceeded { code limit setting message }
} }"""
SEND = """mutation ($input: SendAgentMessageInput!) { sendAgentMessage(input: $input) {
  __typename ... on QuotaExceeded { limit setting } ... on InboxFull { limit }
} }"""
DELEGATE = """mutation ($input: DelegateTaskInput!) { delegateTask(input: $input) {
  __typename ... on TaskPayload { task { id } } ... on QuotaExceeded { limit setting } ... on Refusal { message }
} }"""
CANCEL = """mutation ($input: CancelTaskInput!) { cancelTask(input: $input) { __typename } }"""


@pytest.fixture
def parley_settings(database_url: str, redis_url: str) -> Settings:
    return load_settings(
        DATABASE_URL=database_url, REDIS_URL=redis_url, port=0, log_level="error", inbox_limit=5,
        questions_per_sender=2, inbox_limit_per_sender=3, first_tasks_per_sender=2,
    )  # fmt: skip


async def names(parley: Parley, document: str, *inputs: dict[str, Any], role: Role = Role.ADMIN) -> list[str]:
    answers = [await parley.run(document, {"input": one}, role=role) for one in inputs]
    return [next(iter(answer.values()))["__typename"] for answer in answers]


async def test_each_sender_has_its_own_quota_of_questions(parley: Parley) -> None:
    asked = [{"question": f"Which market, {number}?"} for number in range(3)]
    assert await names(parley, ASK, *asked, role=Role.AGENT) == [
        "AskPersonPayload",
        "AskPersonPayload",
        "QuotaExceeded",
    ]
    assert await names(parley, ASK, *asked, role=Role.INTEGRATOR) == [
        "AskPersonPayload", "AskPersonPayload", "QuotaExceeded",
    ]  # fmt: skip
    refused = (await parley.run(ASK, {"input": asked[0]}, role=Role.AGENT))["askPerson"]
    assert (refused["limit"], refused["setting"]) == (2, "PARLEY_QUESTIONS_PER_SENDER")
    assert "PARLEY_QUESTIONS_PER_SENDER" in refused["message"]
    assert await parley.value("select count(*) from attention_item") == 4

    async with parley.transaction() as session:
        answered = "update attention_item set state = 'answered', closed_at = now(), closed_by = 'Mina'"
        await session.execute(text(answered))
    assert await names(parley, ASK, asked[0], role=Role.AGENT) == ["AskPersonPayload"]


async def test_one_sender_does_not_fill_an_inbox_alone(parley: Parley) -> None:
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (parley.home.kyra, parley.home.luke))
    sent = [{"fromAgentId": luke, "toAgentId": kyra, "body": f"Hello {number}"} for number in range(4)]

    assert await names(parley, SEND, *sent) == ["AgentMessagePayload"] * 3 + ["QuotaExceeded"]

    assert await parley.value("select count(*) from inbox_entry") == 3
    back = {"fromAgentId": kyra, "toAgentId": luke, "body": "Enough."}
    assert await names(parley, SEND, back) == ["AgentMessagePayload"]


async def test_open_first_tasks_of_one_creator_are_limited(parley: Parley) -> None:
    async with parley.transaction() as session:
        await session.execute(text("""update team set flags = '{"task_delegation": true}'"""))
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (parley.home.kyra, parley.home.luke))
    task = {"type": "RESEARCH", "title": "Look", "instructions": "Look it up.", "assigneeId": luke, "creatorId": kyra}
    made = [(await parley.run(DELEGATE, {"input": task}))["delegateTask"] for _ in range(3)]

    assert [one["__typename"] for one in made] == ["TaskPayload", "TaskPayload", "QuotaExceeded"]
    assert (made[2]["limit"], made[2]["setting"]) == (2, "PARLEY_FIRST_TASKS_PER_SENDER")
    assert await parley.value("select count(*) from task") == 2

    await names(parley, CANCEL, {"taskId": made[0]["task"]["id"]})
    assert await names(parley, DELEGATE, task) == ["TaskPayload"]
