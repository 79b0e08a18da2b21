"""Following one task, its tree, and the tasks of one agent: what comes, to whom, in which order, once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlalchemy import select

from app.auth.roles import Role
from app.clock import now
from app.config import Flags
from app.events import partitions
from app.events.models import Event
from app.ids import Prefix, to_global
from app.tasks import dead_letters, revival
from app.tasks.models import Task
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.parley import Parley, TeamKit
from tests.fixtures.streams import Connect, SocketClient, Writer

ITEM = """
__typename
... on Event { id kind changes cursor agent { slug } task { title status result } }
... on CaughtUp { cursor }
... on Gap { cursor message }
"""
TASK = f"""
subscription Task($task: ID!, $after: Cursor) {{ taskEvents(taskId: $task, after: $after) {{ {ITEM} }} }}
"""
TREE = f"""
subscription Tree($task: ID!, $after: Cursor) {{
  taskEvents(taskId: $task, includeDescendants: true, after: $after) {{ {ITEM} }}
}}
"""
AGENT = f"""
subscription Agent($agent: ID!, $after: Cursor) {{ agentTaskEvents(agentId: $agent, after: $after) {{ {ITEM} }} }}
"""


def desk_of(parley: Parley, writer: Writer, team: TeamKit) -> Desk:
    settings = parley.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    return Desk(writer.transaction, settings, team.id, {"kyra": team.kyra, "luke": team.luke})


@pytest.fixture
def desk(parley: Parley, writer: Writer) -> Desk:
    return desk_of(parley, writer, parley.home)


def task_id(task: Task) -> str:
    return to_global(Prefix.TASK, task.id)


async def agent_id(desk: Desk, slug: str) -> str:
    return to_global(Prefix.AGENT, (await desk.agent(slug)).id)


async def reassign(desk: Desk, task: Task, slug: str) -> None:
    agent = await desk.agent(slug)
    async with desk.transaction() as session:
        await revival.reassign(session, team_id=desk.team_id, task_id=task.id, assignee_id=agent.id, actor=ACTOR)


async def told(socket: SocketClient, count: int, id: str = "1") -> list[str]:
    """The next events in short, markers left out: which task, what happened."""
    found: list[str] = []
    while len(found) < count:
        item = await socket.item(id)
        if item["__typename"] == "Event":
            found.append(f"{item['task']['title']} {item['kind'].removeprefix('TASK_').lower()}")
    return found


async def refusal(socket: SocketClient, query: str, **variables: str) -> str:
    name = str(sorted(variables.items()))
    await socket.subscribe(query, variables, id=name)
    message = await socket.receive(name)
    assert message["type"] == "error", message
    return str(message["payload"][0]["extensions"]["code"])


async def test_a_task_is_replayed_then_live_and_says_what_a_dashboard_shows(
    connect: Connect, writer: Writer, desk: Desk
) -> None:
    start = await writer.say(0)
    task = await desk.working("kyra", "luke", title="caches")
    await desk.heartbeat(task, "halfway", tokens=100, cost="0.01")
    await desk.working("kyra", "ada", title="another")
    await writer.settle()
    async with connect(role=Role.ANALYST) as socket:
        await socket.subscribe(TASK, {"task": task_id(task), "after": start})
        replayed = [await socket.item() for _ in range(4)]
        await desk.complete(task, "V" * 501, tokens=900, cost="0.03")
        done = await socket.item()
        broken = await desk.working("kyra", "luke", title="broken")
        await desk.fail(broken, may_pass=False)
        await writer.settle()
        await socket.subscribe(TASK, {"task": task_id(broken), "after": done["cursor"]}, id="broken")
        failed = [await socket.item("broken") for _ in range(4)]

    created, claimed, progressed, marker = replayed
    kyra = await agent_id(desk, "kyra")
    assert created["changes"] == {
        "status": "PENDING", "title": "caches", "type": "RESEARCH", "priority": "NORMAL", "creatorId": kyra,
    }  # fmt: skip
    assert claimed["changes"] == {"status": "IN_PROGRESS", "attempt": 1}
    assert progressed["changes"] == {
        "status": "IN_PROGRESS", "progress": "halfway", "tokensUsed": 100, "cost": 0.01,
    }  # fmt: skip
    assert marker["__typename"] == "CaughtUp"
    assert done["kind"] == "TASK_COMPLETED"
    assert done["changes"] == {"status": "COMPLETED", "result": "V" * 499 + "…", "tokensUsed": 900, "cost": 0.03}
    assert done["task"] == {"title": "caches", "status": "COMPLETED", "result": "V" * 501}
    assert [event["kind"] for event in failed] == [
        "TASK_CREATED", "TASK_CLAIMED", "TASK_FAILED", "TASK_DEAD_LETTERED",
    ]  # fmt: skip
    assert failed[2]["changes"] == {
        "status": "FAILED", "errorCode": "FAILED", "error": "It broke.", "progress": "", "tokensUsed": 0, "cost": 0,
    }  # fmt: skip


async def test_a_tree_is_followed_from_any_of_its_tasks(connect: Connect, writer: Writer, desk: Desk) -> None:
    """Given top > middle > leaf, a side task below top and a tree beside; half is replayed, half comes live."""
    start = await writer.say(0)
    top = await desk.working("kyra", "luke", title="top")
    middle = await desk.working(None, "ada", parent=top, title="middle")
    beside = await desk.working("kyra", "zoe", title="beside")
    await writer.settle()
    async with connect() as socket:
        for name, query, task in (
            ("only top", TASK, top), ("top", TREE, top), ("middle", TREE, middle), ("beside", TREE, beside),
        ):  # fmt: skip
            await socket.subscribe(query, {"task": task_id(task), "after": start}, id=name)
        replayed = {name: await told(socket, count, name) for name, count in
                    (("only top", 2), ("top", 4), ("middle", 2), ("beside", 2))}  # fmt: skip
        for name in replayed:
            assert (await socket.item(name))["__typename"] == "CaughtUp"
        leaf = await desk.working(None, "otto", parent=middle, title="leaf")
        side = await desk.delegate(None, "mia", parent=top, title="side")
        await socket.subscribe(TREE, {"task": task_id(leaf), "after": start}, id="leaf")
        await socket.subscribe(TREE, {"task": task_id(side), "after": start}, id="side")
        for task in (beside, leaf, middle, top):
            await desk.complete(task)
        live = {name: await told(socket, count, name) for name, count in (
            ("only top", 1), ("top", 7), ("middle", 4), ("beside", 1), ("leaf", 3), ("side", 2))}  # fmt: skip
        await socket.subscribe(TREE, {"task": task_id(top), "after": start}, id="again")
        cursors = [(await socket.item("again"))["cursor"] for _ in range(11)]
        await socket.subscribe(TREE, {"task": task_id(middle), "after": start}, id="middle again")
        assert await told(socket, 6, "middle again") == replayed["middle"] + live["middle"]
        whole = replayed["top"] + live["top"]
        for place, cursor in enumerate(cursors):
            await socket.subscribe(TREE, {"task": task_id(top), "after": cursor}, id=cursor)
            assert await told(socket, len(whole) - place - 1, cursor) == whole[place + 1 :]
            assert (await socket.item(cursor))["__typename"] == "CaughtUp"

    assert replayed == {
        "only top": ["top created", "top claimed"],
        "top": ["top created", "top claimed", "middle created", "middle claimed"],
        "middle": ["middle created", "middle claimed"],
        "beside": ["beside created", "beside claimed"],
    }
    below = ["leaf created", "leaf claimed"]
    assert live == {
        "only top": ["top completed"],
        "top": [*below, "side created", "leaf completed", "middle completed", "side cancelled", "top completed"],
        "middle": [*below, "leaf completed", "middle completed"],
        "beside": ["beside completed"],
        "leaf": [*below, "leaf completed"],
        "side": ["side created", "side cancelled"],
    }


async def test_an_agent_hears_of_what_it_gave_and_has_until_it_is_taken_away(
    connect: Connect, writer: Writer, desk: Desk
) -> None:
    """The same live as in a replay; what is no task's, and a person's word on a dead letter, is left out."""
    start = await writer.say(0)
    heard = {
        "kyra": ["one created", "one claimed", "one reassigned", "one claimed", "one completed", "two created",
                 "two claimed", "two failed", "two dead_lettered"],
        "luke": ["one created", "one claimed", "below created", "below cancelled", "one reassigned", "two created",
                 "two claimed", "two failed", "two dead_lettered"],
        "ada": ["below created", "below cancelled"],
        "mia": ["one reassigned", "one claimed", "one completed"],
    }  # fmt: skip
    async with connect() as socket:
        for slug in heard:
            await socket.subscribe(AGENT, {"agent": await agent_id(desk, slug), "after": start}, id=slug)
            await socket.caught_up(slug)
        one = await desk.working("kyra", "luke", title="one")
        await desk.delegate(None, "ada", parent=one, title="below")
        await reassign(desk, one, "mia")
        taken = await desk.claim("mia")
        assert taken is not None
        await desk.complete(taken)
        two = await desk.working("kyra", "luke", title="two")
        await desk.fail(two, may_pass=False)
        (letter,) = await desk.letters()
        async with desk.transaction() as session:
            await dead_letters.discard(session, team_id=desk.team_id, letter_id=letter.id, note="", actor=ACTOR)
        await writer.say(1)
        await writer.settle()

        for slug, expected in heard.items():
            live = await told(socket, len(expected), slug)
            await socket.subscribe(AGENT, {"agent": await agent_id(desk, slug), "after": start}, id=slug + " again")
            replayed = await told(socket, len(expected), slug + " again")
            assert (slug, live) == (slug, expected) == (slug, replayed)
            assert (await socket.item(slug + " again"))["__typename"] == "CaughtUp"
        await socket.subscribe(TASK, {"task": task_id(two), "after": start}, id="two")
        assert (await told(socket, 5, "two"))[-1] == "two dead_letter_discarded"
        moved = await desk.delegate("kyra", "luke", title="three")  # nothing more came before it
        assert [await told(socket, 1, slug) for slug in ("kyra", "luke")] == [["three created"]] * 2
        await reassign(desk, moved, "ada")
        assert await told(socket, 1, "ada") == ["three reassigned"]


async def test_who_may_follow_which_task(parley: Parley, connect: Connect, writer: Writer, desk: Desk) -> None:
    """The agent's key is luke's."""
    abroad = await desk_of(parley, writer, parley.other).working("kyra", "luke")
    has = await desk.working("kyra", "luke", title="has")
    below = await desk.working(None, "ada", parent=has, title="below")
    leaf = await desk.delegate(None, "otto", parent=below, title="leaf")
    gave = await desk.delegate("luke", "mia", title="gave")
    apart = await desk.working("kyra", "zoe", title="apart")
    moved = await desk.working(None, "pia", parent=apart, title="moved")
    under = await desk.delegate(None, "mia", parent=moved, title="under what moved")
    await reassign(desk, moved, "luke")
    async with connect(role=Role.AGENT) as luke, connect(role=Role.OPERATOR) as person:
        for task in (has, below, leaf, gave, moved, under):
            await luke.subscribe(TREE, {"task": task_id(task)}, id=task.title)
            await luke.caught_up(task.title)
        await luke.subscribe(AGENT, {"agent": parley.home.agent_id})
        await luke.caught_up()

        assert await refusal(luke, TREE, task=task_id(apart)) == "FORBIDDEN"
        assert await refusal(luke, AGENT, agent=await agent_id(desk, "kyra")) == "FORBIDDEN"
        for socket in (luke, person):
            assert await refusal(socket, TASK, task=task_id(abroad)) == "NOT_FOUND"
            assert await refusal(socket, TASK, task=f"task_{uuid4().hex}") == "NOT_FOUND"
            assert await refusal(socket, TASK, task=parley.home.agent_id) == "INVALID_INPUT"
            assert await refusal(socket, AGENT, agent=task_id(has)) == "INVALID_INPUT"
        assert await refusal(person, AGENT, agent=parley.other.agent_id) == "NOT_FOUND"
        await reassign(desk, has, "zoe")
        assert await refusal(luke, TASK, task=task_id(has)) == "FORBIDDEN"


async def test_a_cursor_older_than_retention(connect: Connect, writer: Writer, desk: Desk) -> None:
    long_ago = datetime(2025, 3, 5, tzinfo=UTC)
    async with writer.transaction() as session:
        await partitions.ensure(session, long_ago)
    start = await writer.say(0)
    task = await desk.working("kyra", "luke", title="old")
    await desk.sql("update event set at = :at where task_id = :id", at=long_ago, id=task.id)
    async with writer.transaction() as session:
        await partitions.drop_expired(session, now(), 30)
    await desk.complete(task)
    await writer.settle()

    async with connect() as socket:
        for name, query, variables in (
            ("task", TASK, {"task": task_id(task)}),
            ("tree", TREE, {"task": task_id(task)}),
            ("agent", AGENT, {"agent": await agent_id(desk, "luke")}),
        ):
            await socket.subscribe(query, {**variables, "after": start}, id=name)
            items = [await socket.item(name) for _ in range(3)]

            assert [item["__typename"] for item in items] == ["Gap", "Event", "CaughtUp"]
            assert items[1]["kind"] == "TASK_COMPLETED"


async def test_all_followers_see_one_order_while_writers_race(connect: Connect, writer: Writer, desk: Desk) -> None:
    """Three subscribers with words of their own, one of them late, against the log's own order."""
    start = await writer.say(0)
    top = await desk.working("kyra", "luke", title="top")
    tree = [top, *[await desk.working(None, f"agent-{n}", parent=top, title=f"sub {n}") for n in range(5)]]
    beside = await desk.working("kyra", "zoe", title="beside")
    variables = {"task": task_id(top), "after": start}
    total = 2 * len(tree) + 10 * len(tree)

    async def write(task: Task) -> None:
        for number in range(10):
            await desk.heartbeat(task, str(number))

    async def follow(query: str, late: bool) -> list[str]:
        async with connect() as socket:
            if late:
                await halfway.wait()
            await socket.subscribe(query, variables)
            found: list[str] = []
            while len(found) < total:
                item = await socket.item()
                if item["__typename"] == "Event":
                    found.append(item["id"])
                if len(found) == total // 2:
                    halfway.set()
            return found

    halfway = asyncio.Event()
    others = [TREE.replace("Tree", "Second"), TREE.replace("Tree", "Third")]
    *_, first, second, late = await asyncio.gather(
        *map(write, [*tree, beside]), follow(TREE, False), follow(others[0], False), follow(others[1], True)
    )

    async with desk.transaction() as session:
        order = select(Event.id).where(Event.task_id.in_([task.id for task in tree]))
        stored = list(await session.scalars(order.order_by(Event.position, Event.id)))
    assert first == second == late == [to_global(Prefix.EVENT, one) for one in stored]
