"""Managed agents write to each other and read their inboxes: by the rules of the API, every call on record."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import select, text
from sqlalchemy.dialects import postgresql

from app.config import Settings
from app.db.engine import Database
from app.inference.providers import Providers
from app.inference.request import Tool
from app.managed import briefing
from app.managed.execution import Execution
from app.managed.message_tools import MESSAGE_TOOLS, ROOM, mail_notice
from app.managed.tool import Desk as ToolDesk
from app.messages import inbox, service
from app.messages.channels import TEAM, Channel, direct
from app.messages.models import MAX_BODY, AgentMessage, ChannelKind, InboxEntry
from app.messages.service import Outgoing
from app.messages.spec import MessageSpec
from app.tasks.models import Task, TaskStatus, ToolCall
from app.tasks.run import Made, Run
from tests.fixtures.desk import ACTOR, Desk
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import until_status


@pytest.fixture
def offline(settings: Settings, database: Database, workers: Workers) -> Any:
    return lambda: workers(Execution(settings, database, Providers(settings)))


def tool(name: str, **arguments: Any) -> str:
    return f"@tool {name} {json.dumps(arguments)}"


async def tool_calls(desk: Desk, task: Task) -> list[ToolCall]:
    async with desk.transaction() as session:
        return list(await session.scalars(select(ToolCall).where(ToolCall.task_id == task.id).order_by(ToolCall.id)))


async def received(desk: Desk, slug: str) -> list[tuple[AgentMessage, InboxEntry]]:
    agent = await desk.agent(slug)
    both = select(AgentMessage, InboxEntry).join(InboxEntry, InboxEntry.message_id == AgentMessage.id)
    async with desk.transaction() as session:
        rows = await session.execute(both.where(InboxEntry.agent_id == agent.id).order_by(InboxEntry.position))
        return [(message, entry) for message, entry in rows]


async def say(desk: Desk, sender: str, channel: Channel, body: str = "Hello") -> AgentMessage:
    async with desk.transaction() as session:
        wanted = Outgoing((await desk.agent(sender)).id, channel, MessageSpec(body=body))
        return await service.send(
            session, team_id=desk.team_id, wanted=wanted, limit=1_000, sender_limit=1_000, actor=ACTOR
        )


async def test_messages_go_and_come_within_the_rules_and_on_record(desk: Desk, offline: Any) -> None:
    for slug in ("kyra", "luke", "ada"):
        await desk.agent(slug)
    instructions = "\n".join(
        (
            tool("send_agent_message", to_agent="@Ada", message="Is the cache warm?", message_type="info_request"),
            tool("send_agent_message", channel="task", message="On my way."),
            tool("send_agent_message", to_agent="luke", message="Note to self."),
            tool("send_agent_message", to_agent="nobody", message="Hello?"),
            tool("send_agent_message", message="For whom?"),
            tool("get_agent_inbox"),
            tool("get_agent_inbox"),
        )
    )
    await say(desk, "ada", direct((await desk.agent("luke")).id), "Mind the step.")
    async with offline():
        task = await desk.delegate("kyra", "luke", instructions=instructions)
        await until_status(desk, task, TaskStatus.COMPLETED)

    asked, told, itself, nobody, aimless, inbox_call, again = await tool_calls(desk, task)
    ((question, _),) = await received(desk, "ada")
    ((status, _),) = await received(desk, "kyra")
    ((_, read),) = await received(desk, "luke")
    assert (asked.error, told.error) == (None, None)
    assert (question.body, question.type, question.task_id) == ("Is the cache warm?", "info_request", task.id)
    assert (status.body, status.channel_kind, status.task_id) == ("On my way.", ChannelKind.TASK, task.id)
    assert (itself.error or "").startswith("INVALID_INPUT: ")
    assert "There are: ada, kyra" in (nobody.error or "")
    assert (aimless.error or "").startswith("INVALID_INPUT: to_agent")
    assert "notification from ada" in (inbox_call.result or "")
    assert (inbox_call.result or "").endswith("Mind the step.")
    assert again.result == "There are no messages."
    assert read.read_at is not None


async def test_a_policy_an_authority_and_a_missing_flag_hold_for_tools_too(desk: Desk, offline: Any) -> None:
    for slug in ("kyra", "luke", "ada", "max"):
        await desk.agent(slug)
    both = "\n".join(
        tool("send_agent_message", **where, message="Hello") for where in ({"to_agent": "ada"}, {"channel": "team"})
    )
    own = await desk.delegate("kyra", "luke", instructions=both)
    await desk.sql("""update team set flags = '{"task_delegation": false}'""")
    async with offline():
        await until_status(desk, own, TaskStatus.COMPLETED)
        await desk.sql("update team set flags = '{}'")
        narrow = await desk.delegate("kyra", "luke", instructions=both, may_ask=("max",))
        silent = await desk.delegate("kyra", "luke", instructions=both, tools=("get_agent_inbox",))
        for task in (narrow, silent):
            await until_status(desk, task, TaskStatus.COMPLETED)
        await desk.sql("update team set message_policy = 'hub_and_spoke'")
        spoke = await desk.delegate("kyra", "luke", instructions=both)
        await until_status(desk, spoke, TaskStatus.COMPLETED)

    codes = {
        name: [(call.error or "").split(":")[0] for call in await tool_calls(desk, task)]
        for name, task in {"narrow": narrow, "silent": silent, "spoke": spoke, "own": own}.items()
    }
    assert codes == {
        "narrow": ["AUTHORITY_EXCEEDED", "AUTHORITY_EXCEEDED"],
        "silent": [],
        "spoke": ["NO_DIRECT_MESSAGES", "NO_DIRECT_MESSAGES"],
        "own": ["", ""],
    }
    assert len(await received(desk, "ada")) == 2


async def test_an_answer_never_marks_as_read_what_it_had_no_room_to_show(desk: Desk, offline: Any) -> None:
    for slug in ("kyra", "luke"):
        await desk.agent(slug)
    for body in ("first", "w" * (MAX_BODY - 10), "x" * 9_000, "y" * 9_000):
        await say(desk, "kyra", TEAM, body)
    async with offline():
        asking = "\n".join([tool("get_agent_inbox")] * 3)
        task = await desk.delegate("kyra", "luke", instructions=asking, max_tokens=100_000)
        await until_status(desk, task, TaskStatus.COMPLETED)

    newest, long, oldest = [call.result or "" for call in await tool_calls(desk, task)]
    assert (newest.count("y" * 9_000), newest.count("x" * 9_000)) == (1, 1)
    assert newest.endswith("2 more are unread.")
    assert len(long.split("\n\n")[0]) == ROOM
    assert oldest.endswith("first")
    async with desk.transaction() as session:
        luke = (await desk.agent("luke")).id
        left = await inbox.read(session, team_id=desk.team_id, agent_id=luke, unread_only=True, most=5)
    assert left == []


async def test_an_agent_that_has_mail_is_told_so_if_it_may_read_it(desk: Desk, settings: Settings) -> None:
    await say(desk, "kyra", direct((await desk.agent("luke")).id))
    task = await desk.delegate("kyra", "luke")
    async with desk.transaction() as session:
        unread = (await briefing.read(session, task, settings)).unread
    by_name = {one.name: cast(Tool, SimpleNamespace(name=one.name)) for one in MESSAGE_TOOLS}

    assert "messages from colleagues: 1." in mail_notice(unread, [*by_name.values()])
    assert mail_notice(unread, [by_name["send_agent_message"]]) == mail_notice(0, [*by_name.values()]) == ""


async def test_mail_that_a_lost_attempt_was_shown_is_unread_for_the_next_one(
    desk: Desk, settings: Settings, database: Database
) -> None:
    """Only completing the task counts as having read, and everything that it was shown, over several calls."""
    for slug in ("kyra", "luke"):
        await desk.agent(slug)
    luke = await desk.agent("luke")
    for number in range(3):
        await say(desk, "kyra", direct(luke.id), f"News {number}")
    await desk.delegate("kyra", "luke")
    unread = "select count(*) from inbox_entry where read_at is null"

    async def attempt() -> tuple[Run, list[str]]:
        task = await desk.claim("luke")
        assert task is not None
        run = Run(task, desk.transaction, ACTOR)
        inbox_tool = MESSAGE_TOOLS[1].bound(ToolDesk(run, settings, database))
        calls = [{"limit": 2}, {"limit": 2}, {}, {"unread_only": False, "limit": 1}]
        return run, [await inbox_tool.call(arguments) for arguments in calls]

    lost, shown = await attempt()
    await desk.fail(lost.task)
    await desk.make_ready()
    assert await database.fetchval(unread) == 3
    run, again = await attempt()
    assert await database.fetchval(unread) == 3
    status = await run.complete(Made("Done."))

    assert again == shown
    assert (shown[0].count("News"), "1 more are unread." in shown[0]) == (2, True)
    assert (shown[1].count("News"), "more" in shown[1]) == (1, False)
    assert shown[2] == "There are no messages."
    assert "News 2" in shown[3]
    assert (status, await database.fetchval(unread)) == (TaskStatus.COMPLETED, 0)
    told = "select count(*) from event where kind = 'inbox.acknowledged' and (changes ->> 'acknowledged')::int = 3"
    assert await database.fetchval(told) == 1


async def test_a_page_of_a_long_inbox_is_not_sorted(desk: Desk) -> None:
    luke = await desk.agent("luke")
    asked = inbox.page(InboxEntry.agent_id == luke.id, 10).compile(
        dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}
    )
    async with desk.transaction() as session:
        for other_way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin"):  # an empty table is as well read whole
            await session.execute(text(f"set local enable_{other_way} = off"))
        plan = "\n".join(await session.scalars(text(f"explain {asked}")))

    assert "Index Scan Backward using ix_inbox_entry_newest" in plan
    assert "Sort" not in plan
