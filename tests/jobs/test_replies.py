"""Replies: each strategy from message to message, once however many workers, also when nobody can answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from decimal import Decimal

import pytest

from app.agents.models import AgentStatus
from app.config import ScriptedReply, Settings
from app.conversations.models import ContributionStatus, ContributionUse, ReplyStatus
from app.db.engine import Database
from app.errors import Conflict
from app.follow_ups.models import FollowUpKind
from app.follow_ups.service import MAX_FAILURES, schedule
from app.ids import Prefix, to_global
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.routing.select import Strategy
from app.tasks.errors import ClaimLost
from app.tasks.models import TaskStatus
from tests.fixtures.desk import Desk
from tests.fixtures.hall import Hall, open_hall
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import PATIENCE_S, until_status

ALL = ("luke", "ada", "kyra")


@pytest.fixture
async def hall(desk: Desk, settings: Settings, database: Database) -> Hall:
    return await open_hall(desk, settings, database)


async def test_one_agent_answers_each_message_in_its_turn(hall: Hall) -> None:
    first = await hall.say("What is Valkey?", "kyra")
    second = await hall.say("And Redis?", "kyra")
    await hall.run_follow_ups(at_once=3)
    assert (await hall.read(second)).status is ReplyStatus.PENDING
    task = await hall.replies("kyra", "A database in memory.", cost="0.002")
    assert await hall.desk.claim("kyra") is None, "the second waits for its turn"
    await hall.run_follow_ups(at_once=3)
    await hall.replies("kyra", "Its ancestor.")
    await hall.run_follow_ups(at_once=3)

    assert await hall.said() == [
        (1, "Mia", "What is Valkey?"),
        (2, "Mia", "And Redis?"),
        (3, "Kyra", "A database in memory."),
        (4, "Kyra", "Its ancestor."),
    ]
    done, answer = await hall.read(first), await hall.message(3)
    assert (done.status, done.answer_id, done.cost) == (ReplyStatus.COMPLETED, answer.id, Decimal("0.002"))
    assert (answer.in_reply_to_id, answer.decision_id) == (first.message_id, first.decision_id)
    assert (answer.task_id, answer.cost, answer.agent_id) == (task.id, Decimal("0.002"), hall.desk.agents["kyra"].id)
    read = await hall.desk.read(task)
    assert (read.conversation_id, read.instructions, read.on_behalf_of) == (
        hall.conversation_id,
        "What is Valkey?",
        "a test",
    )
    outcome = await hall.routing._database.fetchrow(
        "select outcome, actual_cost from routing_decision where id = $1", first.decision_id
    )
    assert outcome is not None
    assert tuple(outcome) == ("answered", Decimal("0.002"))
    assert await hall.desk.reserved() == 0
    assert await hall.kinds() == [
        "conversation.started",
        *["message.added", "routing.decided"] * 2,
        "reply.started",
        *["message.added", "reply.completed", "step.decided", "reply.started"],
        *["message.added", "reply.completed", "step.decided"],
    ]


async def test_of_several_at_once_the_most_relevant_is_the_answer_and_the_others_can_be_read(hall: Hall) -> None:
    reply = await hall.say("How do I bake sourdough bread?", *ALL, strategy=Strategy.TOP_K)
    await hall.run_follow_ups()
    await hall.replies("luke", "Our quarterly taxes are due in March.", cost="0.001")
    await hall.replies("ada", "Mix flour and water, let the sourdough rest, then bake the bread.", cost="0.002")
    await hall.run_follow_ups(at_once=2)
    assert (await hall.read(reply)).status is ReplyStatus.RUNNING, "the third is waited for"
    await hall.fails("kyra")
    await hall.run_follow_ups(at_once=2)

    done = await hall.read(reply)
    assert (done.status, done.cost) == (ReplyStatus.COMPLETED, Decimal("0.003"))
    assert (await hall.said())[1:] == [(2, "Ada", "Mix flour and water, let the sourdough rest, then bake the bread.")]
    luke, ada, kyra = await hall.chosen(reply)
    assert (luke.use, ada.use, kyra.use) == (ContributionUse.UNUSED, ContributionUse.ANSWER, None)
    assert luke.text == "Our quarterly taxes are due in March."
    assert (luke.relevance or 0) < (ada.relevance or 0)
    assert (kyra.status, kyra.error) == (ContributionStatus.FAILED, "It broke.")


async def test_an_ensemble_is_merged_attributed_and_without_repeats(hall: Hall) -> None:
    reply = await hall.say("How do I bake sourdough bread?", *ALL, strategy=Strategy.ENSEMBLE)
    await hall.run_follow_ups()
    bake = "Mix flour and water, let the sourdough rest overnight, then bake the bread."
    await hall.replies("luke", bake)
    await hall.replies("ada", f"{bake}\n\nServe it with salted butter.")
    await hall.replies("kyra", bake.upper())
    await hall.run_follow_ups(at_once=3)

    answer = (await hall.said())[1][2]
    by_slug = dict(zip(ALL, await hall.chosen(reply), strict=True))
    assert answer.casefold().count("flour") == 1
    assert "Serve it with salted butter." in answer
    assert sorted(one.use for one in by_slug.values() if one.use) == ["duplicate", "merged", "merged"]
    assert "According to Ada (ada's craft):" in answer
    assert [one.text for one in by_slug.values()] == [bake, f"{bake}\n\nServe it with salted butter.", bake.upper()]
    assert (await hall.message(2)).task_id is None


async def test_a_cascade_goes_on_at_failure_timeout_and_refusal_until_somebody_answers(hall: Hall) -> None:
    reply = await hall.say("Anybody?", *ALL, strategy=Strategy.CASCADE, timeout_s=60)
    await hall.desk.set_status("luke", AgentStatus.PAUSED)
    await hall.run_follow_ups()
    assert await hall.desk.claim("kyra") is None
    await hall.desk.sql("update follow_up set due_at = now() where kind = 'contribution_overdue'")
    await hall.run_follow_ups(at_once=3)
    await hall.replies("kyra", "I am here.")
    await hall.desk.sql("update follow_up set due_at = now()")
    await hall.run_follow_ups(at_once=3)

    luke, ada, kyra = await hall.chosen(reply)
    assert (luke.status, luke.error) == (
        ContributionStatus.FAILED,
        "Luke is paused and takes no new tasks. Resume it, or ask another.",
    )
    assert (ada.status, ada.error) == (ContributionStatus.TIMED_OUT, "It took longer than 60 seconds.")
    assert (kyra.status, kyra.use) == (ContributionStatus.COMPLETED, ContributionUse.ANSWER)
    assert await hall.said() == [(1, "Mia", "Anybody?"), (2, "Kyra", "I am here.")]
    assert await hall.desk.reserved() == 0


async def test_when_nobody_can_answer_a_system_message_says_so_and_the_talk_goes_on(hall: Hall) -> None:
    failed = await hall.say("Anybody?", "luke", "ada", strategy=Strategy.CASCADE)
    after = await hall.say("Kyra?", "kyra")
    await hall.run_follow_ups()
    await hall.fails("luke")
    await hall.run_follow_ups()
    await hall.fails("ada")
    await hall.run_follow_ups()
    await hall.replies("kyra", "Yes?")
    await hall.run_follow_ups()
    await hall.say("Hello?", "kyra", to_nobody=True)
    await hall.run_follow_ups()

    said = "Nobody could answer this message. Luke: It broke. Ada: It broke."
    nobody = "Nobody could answer this message. No agent is active that could."
    assert (await hall.said())[2:] == [
        (3, "parley", said),
        (4, "Kyra", "Yes?"),
        (5, "Mia", "Hello?"),
        (6, "parley", nobody),
    ]
    assert ((await hall.read(failed)).status, (await hall.read(failed)).error) == (ReplyStatus.FAILED, said)
    assert (await hall.read(after)).status is ReplyStatus.COMPLETED


async def test_whatever_was_accepted_is_answered_or_fails_aloud(hall: Hall) -> None:
    """Many references, a reply too long to be repeated, and one whose references no task may have."""
    references = [f"https://example.org/{number}/" + "a" * 1_900 for number in range(50)]
    for text in ("See these.", "And these."):
        await hall.say(text, "kyra", artifacts=references)
        await hall.run_follow_ups()
        await hall.replies("kyra", "Seen.")
        await hall.run_follow_ups()
    await hall.desk.sql("update team set after_work = 'continue'")
    await hall.say("Go on.", "kyra")
    await hall.run_follow_ups()
    await hall.replies("kyra", "word " * 20_100)
    await hall.run_follow_ups()
    task = await hall.replies("kyra", "Done?")
    await hall.run_follow_ups()
    bad = await hall.say("And this?", "kyra")
    await hall.desk.sql("update message set artifacts = '{nonsense}' where text = 'And this?'")
    await hall.run_follow_ups()

    assert await hall.stuck() == []
    long = await hall.message(6)
    assert task.instructions.endswith(f"… ({len(long.text):,} characters in all: {to_global(Prefix.MESSAGE, long.id)})")
    assert (await hall.read(bad)).status is ReplyStatus.FAILED
    assert "Kyra: input_artifacts.0: must be a reference" in (await hall.said())[-1][2]


async def test_a_reply_whose_steps_fail_too_often_ends_aloud_and_the_next_takes_its_turn(hall: Hall) -> None:
    often = f"update follow_up set failures = {MAX_FAILURES}, due_at = now()"
    first, second, third = [await hall.say(text, "luke", "ada") for text in ("One?", "Two?", "Three?")]
    await hall.desk.sql(often + f" where subject_id = '{first.id}'")
    await hall.run_follow_ups()
    await hall.replies("luke", "Two.", cost="0.01")
    await hall.desk.sql(often + " where kind = 'reply_task_ended'")
    await hall.run_follow_ups()
    await hall.desk.sql(often + " where kind = 'contribution_overdue'")
    await hall.run_follow_ups(at_once=2)

    replies = [await hall.read(one) for one in (first, second, third)]
    assert [one.status for one in replies] == [ReplyStatus.FAILED] * 3
    assert replies[1].cost == Decimal("0.01")
    assert [(one.status, one.text) for one in await hall.chosen(second)] == [
        (ContributionStatus.COMPLETED, "Two."),
        (ContributionStatus.CANCELLED, None),
    ]
    assert {text.partition(":")[0] for _, _, text in (await hall.said())[3:]} == {"This message could not be answered"}
    assert len(await hall.said()) == 6
    assert await hall.stuck() == []
    assert await hall.desk.open_count() == 0
    assert await hall.desk.reserved() == 0


async def test_who_interrupts_stops_what_runs_and_what_waits(hall: Hall) -> None:
    running = await hall.say("One", "kyra", "luke", strategy=Strategy.ENSEMBLE)
    waiting = await hall.say("Two", "kyra")
    await hall.run_follow_ups()
    await hall.replies("luke", "One!", cost="0.05")
    await hall.run_follow_ups()
    task = await hall.desk.claim("kyra")
    assert task is not None
    below = await hall.desk.delegate(None, "ada", parent=task)
    new = await hall.say("Stop. Three", "ada", interrupt=True)
    await hall.run_follow_ups(at_once=3)
    await hall.replies("ada", "Three it is.")
    await hall.run_follow_ups(at_once=3)

    assert [(await hall.read(one)).status for one in (running, waiting, new)] == [
        ReplyStatus.CANCELLED,
        ReplyStatus.CANCELLED,
        ReplyStatus.COMPLETED,
    ]
    assert await hall.desk.status(task, below) == ["cancelled", "cancelled"]
    assert (await hall.desk.read(below)).conversation_id == hall.conversation_id
    assert [one[2] for one in await hall.said()] == ["One", "Two", "Stop. Three", "Three it is."]
    assert [(await hall.read(one)).cost for one in (running, waiting)] == [Decimal("0.05"), 0]
    outcomes = await hall.routing._database.fetch("select outcome, actual_cost from routing_decision order by id")
    assert [tuple(one) for one in outcomes] == [("failed", Decimal("0.05")), ("failed", 0), ("answered", 0)]
    assert await hall.desk.open_count() == 0
    assert await hall.desk.reserved() == 0


async def test_who_is_removed_stops_speaking_and_the_others_go_on(hall: Hall) -> None:
    both = await hall.say("Both?", "luke", "ada", strategy=Strategy.ENSEMBLE)
    queued = await hall.say("Luke?", "luke")
    cascade = await hall.say("Anybody?", "luke", "ada", strategy=Strategy.CASCADE)
    await hall.run_follow_ups()
    task = await hall.desk.claim("luke")
    assert task is not None
    await hall.remove("luke")
    with pytest.raises(ClaimLost):
        await hall.desk.complete(task, "I am still here.")
    await hall.replies("ada", "Ada alone.")
    await hall.run_follow_ups(at_once=2)
    assert await hall.desk.claim("luke") is None
    await hall.replies("ada", "Ada again.")
    await hall.run_follow_ups(at_once=2)

    assert (await hall.said())[3:] == [
        (4, "Ada", "Ada alone."),
        (5, "parley", "Nobody could answer this message. Luke: It was removed from the conversation."),
        (6, "Ada", "Ada again."),
    ]
    assert [(await hall.read(one)).status for one in (both, queued, cascade)] == [
        ReplyStatus.COMPLETED,
        ReplyStatus.FAILED,
        ReplyStatus.COMPLETED,
    ]
    gone = [next(iter(await hall.chosen(one))) for one in (both, queued, cascade)]
    assert [one.status for one in gone] == [ContributionStatus.CANCELLED] * 3
    assert await hall.desk.reserved() == 0


async def test_a_conversation_that_ends_with_its_work_leaves_nothing_to_answer(hall: Hall) -> None:
    await hall.desk.sql("update team set after_work = 'terminate'")
    first, second = await hall.say("One?", "kyra"), await hall.say("Two?", "kyra")
    await hall.run_follow_ups()
    await hall.replies("kyra", "Answer one.")
    await hall.run_follow_ups(at_once=2)

    assert await hall.desk.claim("kyra") is None
    assert [(await hall.read(one)).status for one in (first, second)] == [ReplyStatus.COMPLETED, ReplyStatus.CANCELLED]
    assert (await hall.read(second)).error == "The work is done."
    assert (await hall.kinds()).count("conversation.closed") == 1
    await hall.desk.sql(f"update reply set status = 'pending', finished_at = null where id = '{second.id}'")
    async with hall.desk.transaction() as session:
        schedule(session, FollowUpKind.START_REPLY, team_id=hall.desk.team_id, subject_id=second.id)
    await hall.run_follow_ups()
    assert (await hall.read(second)).status is ReplyStatus.CANCELLED, "what was left behind does not begin"
    assert len(await hall.said()) == 3


async def test_a_cancelled_reply_makes_room_for_the_next(hall: Hall) -> None:
    first, second, third = [await hall.say(text, "kyra") for text in ("One", "Two", "Three")]
    await hall.run_follow_ups()
    (task,) = await hall.desk.open_tasks()
    await hall.cancel(second)
    await hall.cancel(first)
    await hall.run_follow_ups(at_once=2)
    await hall.replies("kyra", "Three it is.")
    await hall.run_follow_ups(at_once=2)

    statuses = [(await hall.read(one)).status for one in (first, second, third)]
    assert statuses == [ReplyStatus.CANCELLED, ReplyStatus.CANCELLED, ReplyStatus.COMPLETED]
    assert await hall.desk.status(task) == ["cancelled"]
    assert [text for *_, text in await hall.said()] == ["One", "Two", "Three", "Three it is."]
    with pytest.raises(Conflict, match=r"already ended \(COMPLETED\)"):
        await hall.cancel(third)


async def test_an_interrupted_run_is_really_stopped(
    desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    """There is one place: the second can only be answered when the first, which would take an hour, has given it up."""
    slow = settings.model_copy(update={"offline_script": (ScriptedReply(agent="kyra", wait_s=600),)})
    hall = await open_hall(desk, settings, database, runtime="managed")
    async with workers(Execution(slow, database, Providers(settings)), slots=1):
        first = await hall.say("Think it over.", "kyra")
        await hall.run_follow_ups()
        (task,) = await desk.open_tasks()
        await until_status(desk, task, TaskStatus.IN_PROGRESS)
        second = await hall.say("Never mind. What is your craft?", "luke", interrupt=True)
        async with asyncio.timeout(PATIENCE_S):
            while (await hall.read(second)).status is not ReplyStatus.COMPLETED:
                await hall.run_follow_ups()
                await asyncio.sleep(0.02)

    assert (await hall.read(first)).status is ReplyStatus.CANCELLED
    assert "luke's craft" in (await hall.said())[-1][2]
    assert await desk.reserved() == 0


async def test_racing_senders_ends_and_closing_leave_one_sound_state(hall: Hall) -> None:
    """Whoever is first: at most one reply runs at a time, numbers have no gap, and what is closed holds nothing."""

    async def chat(number: int) -> None:
        await hall.say(f"Message {number}", "kyra", "luke", strategy=Strategy.TOP_K, interrupt=number % 3 == 0)

    async def answer(slug: str) -> None:
        for _ in range(12):
            if task := await hall.desk.claim(slug):
                with suppress(ClaimLost):
                    await hall.desk.complete(task, f"{slug} replies.")
            await hall.run_follow_ups()

    await asyncio.gather(*(chat(number) for number in range(9)), answer("kyra"), answer("luke"))
    for _ in range(20):
        await hall.run_follow_ups()
        for slug in ("kyra", "luke"):
            if task := await hall.desk.claim(slug):
                await hall.desk.complete(task, "At last.")
    said = await hall.said()

    assert [number for number, *_ in said] == list(range(1, len(said) + 1))
    open_ones = "select count(*) from reply where status in ('pending', 'running')"
    assert await hall.routing._database.fetchval(open_ones) == 0
    answered = "select count(*) from reply where status = 'completed'"
    agents_messages = "select count(*) from message where author = 'agent'"
    assert await hall.routing._database.fetchval(answered) == await hall.routing._database.fetchval(agents_messages)
    assert await hall.desk.count(TaskStatus.PENDING) == 0
    assert await hall.desk.reserved() == 0
    last = await hall.say("The end?", "kyra")
    await hall.run_follow_ups()
    await asyncio.gather(hall.close(), hall.run_follow_ups(at_once=2))
    await hall.run_follow_ups()
    assert (await hall.read(last)).status is ReplyStatus.CANCELLED
    assert await hall.desk.open_count() == 0
