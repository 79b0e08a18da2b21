"""Handoffs of conversations: by request and by rule, with a return on every exit, once however many workers."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from app.agents import service as agents
from app.agents.models import AgentStatus
from app.agents.spec import SkillSpec
from app.config import Settings
from app.conversations import service as conversations
from app.conversations.handoffs import service, values
from app.conversations.handoffs.errors import HandoffCycle, HandoffOscillation
from app.conversations.handoffs.models import (
    ContextVariable,
    ConversationHandoff,
    HandoffOutcome,
    ReturnPolicy,
    StepDecision,
)
from app.conversations.handoffs.service import Request
from app.conversations.handoffs.stack import MAX_DEPTH
from app.conversations.models import Conversation, ConversationStatus, ReplyStatus
from app.conversations.participants import MOST_PARTICIPANTS
from app.db.engine import Database
from app.errors import AppError, Conflict, InvalidInput, NotFound
from app.groups import service as groups
from app.groups.spec import GroupSpec
from app.handoffs import service as rules
from app.handoffs.decision import DecidedBy
from app.handoffs.spec import HandoffRuleSpec
from app.tasks.errors import AgentUnavailable
from app.tasks.transitions import complete
from app.teams import service as teams
from app.teams.models import AfterWork
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.hall import Hall, open_hall


@pytest.fixture
async def hall(desk: Desk, settings: Settings, database: Database) -> Hall:
    return await open_hall(desk, settings, database)


async def hand(hall: Hall, to: str, reason: str = "a bug", by: str | None = None, **more: Any) -> ConversationHandoff:
    wanted = Request(hall.conversation_id, (await hall.desk.agent(to)).id, reason, **more)
    async with hall.desk.transaction() as session:
        return await service.request(
            session,
            team_id=hall.desk.team_id,
            wanted=wanted,
            settings=hall.desk.settings,
            actor=ACTOR,
            acting_as=(await hall.desk.agent(by)).id if by else None,
        )


async def give_back(hall: Hall, to: str | None = None, result: str = "") -> ConversationHandoff:
    agent_id = (await hall.desk.agent(to)).id if to else None
    async with hall.desk.transaction() as session:
        return await service.give_back(
            session,
            team_id=hall.desk.team_id,
            conversation_id=hall.conversation_id,
            result=result,
            to_agent_id=agent_id,
            actor=ACTOR,
        )


async def primary(hall: Hall) -> str:
    async with hall.desk.transaction() as session:
        agent_id = (await session.get_one(Conversation, hall.conversation_id)).primary_agent_id
    return next(slug for slug, agent in hall.desk.agents.items() if agent.id == agent_id)


async def handoffs(hall: Hall) -> list[ConversationHandoff]:
    async with hall.desk.transaction() as session:
        return list(await session.scalars(select(ConversationHandoff).order_by(ConversationHandoff.number)))


async def outcomes(hall: Hall) -> list[HandoffOutcome | None]:
    return [one.outcome for one in await handoffs(hall)]


async def set_rules(hall: Hall, *specs: HandoffRuleSpec, **fields: Any) -> None:
    async with hall.desk.transaction() as session:
        team = await teams.lock(session, hall.desk.team_id)
        await teams.change(session, team=team, fields=fields, actor=ACTOR)
        await rules.replace(session, team=team, rules=specs, actor=ACTOR)


def rule(source: str, target: str, condition: str, priority: int = 1) -> HandoffRuleSpec:
    return HandoffRuleSpec(from_agent=source, to_agent=target, condition=condition, priority=priority, trusts_text=True)


async def test_agents_hand_over_only_so_often_before_the_user_speaks(hall: Hall) -> None:
    """Each handoff starts a reply that the team pays for, whatever reason is given for it."""
    await hall.say("Go.", "kyra")
    limit = hall.desk.settings.handoff_steps
    for number in range(limit):
        giver, taker = ("kyra", "luke") if number % 2 == 0 else ("luke", "kyra")
        await hand(hall, taker, f"reason {number}", by=giver, policy=ReturnPolicy.NONE, replies=False)
    with pytest.raises(Conflict, match="PARLEY_HANDOFF_STEPS"):
        await hand(hall, "luke", "one more", by="kyra", policy=ReturnPolicy.NONE)
    assert len(await handoffs(hall)) == limit

    await hall.say("Well?", "kyra")
    await hand(hall, "luke", "one more", by="kyra", policy=ReturnPolicy.NONE)


async def test_only_rules_that_say_so_compare_with_what_a_text_says(hall: Hall) -> None:
    """A value given as data decides both rules; the newest one counts, whoever gave it."""
    wary = HandoffRuleSpec(from_agent="kyra", to_agent="luke", condition="score > 5")
    await set_rules(hall, wary, runtime_variables={"score": "number"})
    await hall.say("Go.", "kyra")
    await hall.run_follow_ups()
    await hall.replies("kyra", "score: 9")
    await hall.run_follow_ups()
    assert await primary(hall) == "kyra"

    await hall.say("Go on.", "kyra")
    await hall.run_follow_ups()
    task = await hall.desk.claim("kyra")
    assert task is not None
    async with hall.desk.transaction() as session:
        claim = {"team_id": hall.desk.team_id, "task_id": task.id, "claim_token": task.claim_token}
        await complete(session, **claim, result="Measured.", output={"score": 9}, actor=ACTOR)
    await hall.run_follow_ups()

    assert await primary(hall) == "luke"


async def decisions(hall: Hall) -> list[StepDecision]:
    async with hall.desk.transaction() as session:
        return list(await session.scalars(select(StepDecision).order_by(StepDecision.id)))


async def test_a_handoff_is_announced_answered_and_returned(hall: Hall) -> None:
    await hall.say("My build is broken.", "kyra")
    await hall.run_follow_ups()
    await hall.replies("kyra", "Luke knows more.")
    await hall.run_follow_ups()
    made = await hand(hall, "luke", "a bug", summary="The build breaks at linking.")
    assert await primary(hall) == "luke"
    await hall.run_follow_ups(at_once=3)
    task = await hall.replies("luke", "The linker lacks a library.")
    await hall.run_follow_ups(at_once=3)
    assert "My build is broken." in (await hall.desk.read(task)).context
    assert (await hall.desk.read(task)).instructions.endswith("The build breaks at linking.")
    ended = await give_back(hall, result="Fixed the linker.")

    assert (ended.id, ended.outcome, await primary(hall)) == (made.id, HandoffOutcome.RETURNED, "kyra")
    assert [text for _, _, text in await hall.said()] == [
        "My build is broken.",
        "Luke knows more.",
        "Kyra handed the conversation over to Luke.\n\nThe build breaks at linking.",
        "The linker lacks a library.",
        "The conversation is back with Kyra.\n\nFixed the linker.",
    ]
    roles = await hall.routing._database.fetch(
        "select agent.slug, part.role from conversation_participant as part join agent on agent.id = agent_id "
        "order by 1"
    )
    assert [tuple(row) for row in roles] == [("kyra", "primary"), ("luke", "handoff_source")]
    with pytest.raises(Conflict, match="nobody had this conversation before"):
        await give_back(hall)


@pytest.mark.parametrize("policy", [ReturnPolicy.CALLER, ReturnPolicy.ORCHESTRATOR, ReturnPolicy.HUMAN])
async def test_it_comes_back_when_its_time_is_over(hall: Hall, policy: ReturnPolicy) -> None:
    await hand(hall, "luke", policy=policy, timeout_s=60)
    await hall.run_follow_ups()
    assert await hall.desk.claim("luke") is not None  # and never says a word
    waiting = await hall.say("Hello?", "ada")
    await hall.desk.sql("update conversation_handoff set due_at = now()")
    await hall.desk.sql("update follow_up set due_at = now() where kind = 'handoff_due'")

    await hall.run_follow_ups(at_once=3)

    assert await outcomes(hall) == [HandoffOutcome.TIMED_OUT]
    assert await primary(hall) == "kyra"
    await hall.replies("ada", "I am here.")
    await hall.run_follow_ups()
    assert (await hall.read(waiting)).status is ReplyStatus.COMPLETED
    assert await hall.desk.open_count() == 0
    assert await hall.desk.reserved() == 0
    last = (await hall.said())[-2][2]
    assert ("A person is asked to go on" in last) is (policy is ReturnPolicy.HUMAN)
    assert last.endswith("Why: Its time was over.")


async def test_it_comes_back_when_who_took_over_fails(hall: Hall) -> None:
    await hand(hall, "luke")
    await hall.run_follow_ups()
    await hall.fails("luke")
    await hall.run_follow_ups(at_once=3)

    assert await outcomes(hall) == [HandoffOutcome.FAILED]
    assert await primary(hall) == "kyra"


@pytest.mark.parametrize("status", [AgentStatus.PAUSED, AgentStatus.ARCHIVED])
async def test_it_comes_back_when_who_took_over_is_stopped(hall: Hall, status: AgentStatus) -> None:
    await hand(hall, "luke")
    await hand(hall, "ada", "a query")
    await hall.desk.set_status("luke", status)
    await hall.run_follow_ups(at_once=3)

    assert await outcomes(hall) == [HandoffOutcome.AGENT_UNAVAILABLE, HandoffOutcome.CANCELLED]
    assert await primary(hall) == "kyra"
    assert await hall.desk.open_count() == 0


async def test_it_comes_back_further_when_the_caller_is_stopped_too(hall: Hall) -> None:
    await hand(hall, "luke", replies=False)
    await hand(hall, "ada", "a query", replies=False)
    await hall.desk.sql("update agent set status = 'paused' where slug = 'luke'")
    await hall.desk.set_status("ada", AgentStatus.PAUSED)
    await hall.run_follow_ups(at_once=2)

    assert await primary(hall) == "kyra"
    assert (await outcomes(hall))[1] is HandoffOutcome.AGENT_UNAVAILABLE


async def test_who_is_stopped_while_it_gets_the_conversation_back_does_not_keep_it(
    hall: Hall, database: Database
) -> None:
    """First the return comes before the stop, then the other way round, and a worker always looks too early."""
    await hall.desk.sql(f"update team set default_agent_id = '{(await hall.desk.agent('ada')).id}'")
    which = {"team_id": hall.desk.team_id, "conversation_id": hall.conversation_id}
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"

    await hand(hall, "luke", replies=False)
    async with hall.desk.transaction() as session:
        await service.give_back(session, **which, actor=ACTOR)
        stopping = asyncio.create_task(hall.desk.set_status("kyra", AgentStatus.PAUSED))
        while not stopping.done() and not await database.fetchval(waiting):  # noqa: ASYNC110 - Postgres tells nobody
            await asyncio.sleep(0.01)
        await hall.run_follow_ups()
    await stopping
    await hall.run_follow_ups()
    assert await primary(hall) == "ada"

    await hall.desk.set_status("kyra", AgentStatus.ACTIVE)
    for slug, policy in (("kyra", ReturnPolicy.NONE), ("luke", ReturnPolicy.CALLER)):
        await hand(hall, slug, "another bug", policy=policy, replies=False)
    async with hall.desk.transaction() as session:
        kyra = await agents.lock(session, hall.desk.team_id, (await hall.desk.agent("kyra")).id)
        await give_back(hall)  # waits for nobody
        kyra.status = AgentStatus.PAUSED
    await hall.run_follow_ups()
    assert await primary(hall) == "ada"


async def test_returns_at_once_have_one_effect(hall: Hall) -> None:
    await hand(hall, "luke", replies=False)

    found = await asyncio.gather(*(give_back(hall) for _ in range(5)), return_exceptions=True)

    assert sum(isinstance(one, ConversationHandoff) for one in found) == 1
    assert all(isinstance(one, ConversationHandoff | Conflict) for one in found)
    assert len(await hall.said()) == 2


async def test_a_stack_is_returned_to_any_agent_in_it(hall: Hall) -> None:
    await hand(hall, "luke", replies=False)
    await hand(hall, "ada", "a query", replies=False)
    with pytest.raises(HandoffCycle, match="kyra → luke → ada → kyra"):
        await hand(hall, "kyra", "back to you", replies=False)

    await give_back(hall, to="kyra")

    assert await outcomes(hall) == [HandoffOutcome.RETURNED, HandoffOutcome.RETURNED]
    assert await primary(hall) == "kyra"


async def test_bad_handoffs_are_refused_and_change_nothing(hall: Hall, desk: Desk) -> None:
    before = await hall.said()
    await desk.set_status("ada", AgentStatus.PAUSED)

    async def refused(kind: type[AppError], to: str = "luke", **more: Any) -> None:
        with pytest.raises(kind):
            await hand(hall, to, **more)

    await refused(Conflict, "kyra")
    await refused(AgentUnavailable, "ada")
    await refused(InvalidInput, reason=" ")
    await refused(InvalidInput, reason="x" * 501)
    await refused(InvalidInput, summary="x" * 1_000_000)
    await refused(InvalidInput, timeout_s=0)
    async with hall.desk.transaction() as session:
        with pytest.raises(NotFound):
            await service.request(
                session,
                team_id=hall.desk.team_id,
                wanted=Request(hall.conversation_id, UUID(int=0), "x"),
                settings=hall.desk.settings,
                actor=ACTOR,
            )
    await hall.close()
    await refused(Conflict)
    with pytest.raises(Conflict):
        await give_back(hall)
    assert await hall.said() == before
    assert await handoffs(hall) == []


async def test_ping_pong_is_refused_until_the_user_speaks(hall: Hall) -> None:
    for _ in range(hall.desk.settings.handoff_repeats):
        await hand(hall, "luke", "Same thing", replies=False)
        await give_back(hall)
    with pytest.raises(HandoffOscillation, match="kyra → luke"):
        await hand(hall, "luke", "same thing", replies=False)
    await hand(hall, "luke", "another thing", replies=False)
    await give_back(hall)

    await hall.say("Go on.", "kyra")

    await hand(hall, "luke", "same thing", replies=False)
    assert await primary(hall) == "luke"


async def test_closing_cancels_what_is_away(hall: Hall) -> None:
    await hand(hall, "luke")
    await hall.close()
    await hall.run_follow_ups(at_once=2)

    assert await outcomes(hall) == [HandoffOutcome.CANCELLED]
    assert await hall.desk.open_count() == 0


async def test_rules_hand_over_until_nothing_fires(hall: Hall) -> None:
    await set_rules(
        hall,
        rule("kyra", "luke", "research complete and source_count >= {{ min_sources }}"),
        rule("luke", "ada", "draft complete and word_count >= 800"),
        rule("ada", "previous_agent", "revisions needed and revision_count < 1", 2),
        context_variables={"min_sources": 5},
        runtime_variables={"source_count": "number", "word_count": "number"},
    )
    await hall.say("Write about ferries.", "kyra")
    said = [
        ("kyra", "Research complete.\n\nsource_count: 7"),
        ("luke", "The draft is complete. word_count below.\nword_count: 900"),
        ("ada", "Revisions are needed in part two."),
        ("luke", "The draft is complete again.\nword_count: 950"),
        ("ada", "Revisions are needed, still."),
    ]
    for slug, text in said:
        await hall.run_follow_ups(at_once=3)
        await hall.replies(slug, text)
    await hall.run_follow_ups(at_once=3)

    made = await decisions(hall)
    slugs = {agent.id: slug for slug, agent in hall.desk.agents.items()}
    assert [one.to_agent_id and slugs[one.to_agent_id] for one in made] == ["luke", "ada", "luke", "ada", None]
    assert [one.decided_by for one in made] == [DecidedBy.RULE] * 4 + [DecidedBy.AFTER_WORK]
    assert made[4].after_work is AfterWork.RETURN_TO_USER
    assert "1 < 1" in made[4].tried[0]["reason"]
    assert await primary(hall) == "ada"
    first = await hall.message(2)
    assert (first.handoff_triggered, first.handoff_target_id) == (True, hall.desk.agents["luke"].id)
    last = await hall.message((await hall.said())[-1][0])
    assert (last.handoff_triggered, last.handoff_target_id) == (False, None)
    assert await hall.desk.open_count() == 0
    async with hall.desk.transaction() as session:
        history = await session.scalars(select(ContextVariable).order_by(ContextVariable.id))
        assert [(one.name, one.value) for one in history] == [
            ("source_count", 7),
            ("word_count", 900),
            ("word_count", 950),
        ]
        assert (await values.given(session, hall.conversation_id))["word_count"] == 950


async def test_a_rule_hands_over_to_one_of_a_group(hall: Hall) -> None:
    """Its coordinator; while that is away whoever's skills fit the reply; and where nobody is left the user."""
    await hall.desk.agent("mona", skills=[SkillSpec(name="Linker errors")])
    await hall.desk.agent("nils", skills=[SkillSpec(name="French cooking")])
    await hall.desk.agent("luke")
    crew = GroupSpec(slug="crew", name="Crew", coordinator="luke", agents=("mona", "nils", "kyra"))
    async with hall.desk.transaction() as session:
        await groups.save(session, team_id=hall.desk.team_id, spec=crew, actor=ACTOR)
    await set_rules(
        hall,
        HandoffRuleSpec(from_agent="kyra", to_group="crew", condition="needs a specialist"),
        rule("luke", "kyra", "true"),
    )

    async def replies(slug: str, text: str) -> None:
        await hall.run_follow_ups(at_once=3)
        await hall.replies(slug, text)
        await hall.run_follow_ups(at_once=3)

    await hall.say("My build is broken.", "kyra")
    await replies("kyra", "This needs a specialist.")
    assert await primary(hall) == "luke"
    await replies("luke", "Back to you.")
    await hall.desk.set_status("luke", AgentStatus.PAUSED)
    await replies("kyra", "It needs a specialist for linker errors.")
    assert await primary(hall) == "mona"
    await give_back(hall, "kyra")
    for slug in ("mona", "nils"):
        await hall.desk.set_status(slug, AgentStatus.PAUSED)
    await hall.say("And now?", "kyra")
    await replies("kyra", "It still needs a specialist.")

    assert await primary(hall) == "kyra"
    made = [one for one in await decisions(hall) if "specialist" in one.tried[0]["condition"]]
    assert [one.decided_by for one in made] == [DecidedBy.RULE] * 2 + [DecidedBy.AFTER_WORK]
    assert made[0].reason.endswith("(Luke coordinates the group 'crew'.)")
    assert "Mona's skills match best of 2 free members of the group 'crew'" in made[1].reason
    assert made[2].tried[0]["reason"] == "It holds, but nobody in the group 'crew' is free to take over."


async def test_rules_that_only_pass_it_to_and_fro_end_with_the_user(hall: Hall) -> None:
    hall.desk.settings = hall.desk.settings.model_copy(update={"handoff_repeats": 2})
    await set_rules(hall, rule("kyra", "luke", "true"), rule("luke", "kyra", "true"))
    await hall.say("Go.", "kyra")
    for slug in ("kyra", "luke", "kyra", "luke", "kyra"):
        await hall.run_follow_ups()
        await hall.replies(slug, "Your turn.")
    await hall.run_follow_ups()

    assert [one.decided_by for one in await decisions(hall)] == [DecidedBy.RULE] * 4 + [DecidedBy.AFTER_WORK]
    assert "handed over to luke 2 times" in (await decisions(hall))[-1].tried[0]["reason"]
    assert await hall.desk.open_count() == 0


async def test_synchronisation_points_remember_what_was_completed(hall: Hall) -> None:
    condition = "research_a complete and research_b complete"
    await set_rules(hall, rule("kyra", "ada", condition), rule("luke", "ada", condition))
    await hall.say("Begin.", "kyra")
    await hall.run_follow_ups()
    await hall.replies("kyra", "Research A is complete.")
    await hall.run_follow_ups()
    assert await primary(hall) == "kyra"
    await hall.say("And you?", "luke")
    await hall.run_follow_ups()
    await hall.replies("luke", "Research B is complete.")
    await hall.run_follow_ups()

    assert await primary(hall) == "ada"
    assert [one.decided_by for one in await decisions(hall)] == [DecidedBy.AFTER_WORK, DecidedBy.RULE]


async def test_a_reply_under_way_keeps_the_rules_that_it_began_with(hall: Hall) -> None:
    await set_rules(hall, rule("kyra", "luke", "draft complete"))
    await hall.say("Write.", "kyra")
    await hall.run_follow_ups()
    await set_rules(hall, rule("kyra", "ada", "draft complete"))
    await hall.replies("kyra", "The draft is complete.")
    await hall.run_follow_ups()

    assert await primary(hall) == "luke"


async def test_after_work_ends_or_goes_on_within_bounds(hall: Hall) -> None:
    await set_rules(hall, after_work=AfterWork.CONTINUE)
    await hall.desk.sql("update team set after_work = 'continue'")
    hall.desk.settings = hall.desk.settings.model_copy(update={"handoff_steps": 3})
    reply = await hall.say("Count.", "kyra")
    for number in ("One.", "Two.", "Three."):
        await hall.run_follow_ups()
        await hall.replies("kyra", number)
    await hall.run_follow_ups()
    assert await hall.desk.claim("kyra") is None
    assert [one.after_work for one in await decisions(hall)] == [
        AfterWork.CONTINUE,
        AfterWork.CONTINUE,
        AfterWork.RETURN_TO_USER,
    ]
    assert (await hall.read(reply)).status is ReplyStatus.COMPLETED

    await hall.desk.sql("update team set after_work = 'terminate'")
    await hall.say("Enough.", "kyra")
    await hall.run_follow_ups()
    await hall.replies("kyra", "Goodbye.")
    await hall.run_follow_ups()
    async with hall.desk.transaction() as session:
        conversation = await session.get_one(Conversation, hall.conversation_id)
    assert conversation.status is ConversationStatus.CLOSED
    assert await hall.desk.open_count() == 0


async def test_callers_set_declared_variables_only(hall: Hall) -> None:
    await set_rules(hall, input_variables={"topic": "text", "limit": "number"})

    async def give(variables: Any) -> None:
        async with hall.desk.transaction() as session:
            await values.set_by_caller(
                session,
                team_id=hall.desk.team_id,
                conversation_id=hall.conversation_id,
                variables=variables,
                actor=ACTOR,
            )

    await give({"topic": "ferries", "limit": 3})
    await give({"topic": "ferries", "limit": 4})
    for bad in ({"topics": "x"}, {"limit": "x"}, {"limit": True}, {"limit": 1e99}, {"topic": "\0"}, [1], "x"):
        with pytest.raises(InvalidInput):
            await give(bad)
    async with hall.desk.transaction() as session:
        assert await values.given(session, hall.conversation_id) == {"topic": "ferries", "limit": 4}
        assert len(list(await session.scalars(select(ContextVariable)))) == 3


async def pass_on(hall: Hall, *texts: tuple[str, str]) -> None:
    """Agents reply one after the other, with all that follows."""
    await hall.run_follow_ups()
    for slug, text in texts:
        await hall.replies(slug, text)
        await hall.run_follow_ups()


async def test_a_crowd_keeps_nobody_from_taking_over(hall: Hall, desk: Desk) -> None:
    """The limit of those who take part counts for invitations, not for a handoff or the return to who was removed."""
    await set_rules(hall, rule("kyra", "luke", "research complete"))
    for number in range(MOST_PARTICIPANTS - 1):
        extra = await desk.agent(f"extra{number}", runtime="external")
        await desk.sql(
            "insert into conversation_participant (id, team_id, conversation_id, agent_id, role) values "
            f"(gen_random_uuid(), '{desk.team_id}', '{hall.conversation_id}', '{extra.id}', 'invited')"
        )
    reply = await hall.say("Go.", "kyra")
    await pass_on(hall, ("kyra", "Research complete."))
    assert (await hall.read(reply)).status is ReplyStatus.COMPLETED
    assert await primary(hall) == "luke"
    await hall.say("Still there?", "luke")  # who takes part already makes no crowd

    async def change(add: str, remove: str) -> None:
        ids = [[(await desk.agent(slug)).id] for slug in (add, remove)]
        async with desk.transaction() as session:
            await conversations.change_agents(
                session,
                team_id=desk.team_id,
                conversation_id=hall.conversation_id,
                add=ids[0],
                remove=ids[1],
                actor=ACTOR,
            )

    with pytest.raises(Conflict):
        await change("ada", "kyra")
    await desk.sql("update conversation_participant set left_at = now() where role = 'handoff_source'")
    await give_back(hall)
    assert await primary(hall) == "kyra"


async def test_a_rule_hands_over_what_the_target_does_not_have(hall: Hall) -> None:
    await set_rules(hall, rule("kyra", "luke", "research complete"))
    await hall.say("One.", "kyra")
    await hall.say("Two.", "kyra")
    await pass_on(hall, ("kyra", "Research complete."), ("kyra", "Research complete."), ("luke", "I go on."))

    assert len(await handoffs(hall)) == 1
    assert "luke has the conversation already" in (await decisions(hall))[1].tried[0]["reason"]
    assert await hall.desk.open_count() == 0


async def test_a_guest_passes_on_what_the_primary_agent_has(hall: Hall) -> None:
    await set_rules(hall, rule("ada", "luke", "research complete"))
    await hall.say("Ada?", "ada")
    await pass_on(hall, ("ada", "Research complete."), ("luke", "Done it."))
    assert (await hall.said())[2][2] == "Ada handed the conversation over from Kyra to Luke."

    await give_back(hall)

    assert await primary(hall) == "kyra"


@pytest.mark.parametrize("policy", [ReturnPolicy.CALLER, ReturnPolicy.HUMAN])
async def test_a_rule_that_hands_back_returns_the_call(hall: Hall, policy: ReturnPolicy) -> None:
    await set_rules(hall, rule("luke", "previous_agent", "fix complete"))
    await hand(hall, "luke", timeout_s=60, policy=policy)
    await pass_on(hall, ("luke", "Fix complete."))

    assert (await outcomes(hall), await primary(hall)) == ([HandoffOutcome.RETURNED], "kyra")
    task = await hall.desk.claim("kyra")
    assert (task is not None) is (policy is ReturnPolicy.CALLER)
    await hall.desk.sql("update follow_up set due_at = now() where kind = 'handoff_due'")
    before = await hall.said()
    await hall.run_follow_ups()
    assert await hall.said() == before


async def test_what_a_rule_passed_on_comes_back_when_who_took_over_cannot_begin(hall: Hall) -> None:
    await set_rules(hall, rule("kyra", "luke", "research complete"))
    await hall.say("One.", "kyra")
    await pass_on(hall, ("kyra", "Research complete."))
    await hall.fails("luke")
    await hall.run_follow_ups(at_once=3)
    assert (await outcomes(hall), await primary(hall)) == ([HandoffOutcome.FAILED], "kyra")

    await hall.say("Again.", "kyra")
    await pass_on(hall, ("kyra", "Research complete."), ("luke", "It is mine now."))
    await hall.say("And?", "luke")
    await hall.run_follow_ups()
    await hall.fails("luke")
    await hall.run_follow_ups()
    assert (await outcomes(hall))[1:] == [None]
    assert await primary(hall) == "luke"
    await hall.close()
    assert (await outcomes(hall))[1:] == [HandoffOutcome.CANCELLED]


async def test_handoffs_that_need_not_come_back_do_not_gather(hall: Hall) -> None:
    for turn in range(MAX_DEPTH + 3):
        await hand(hall, "kyra" if turn % 2 else "luke", f"turn {turn}", policy=ReturnPolicy.NONE, replies=False)

    found = await outcomes(hall)

    assert found == [HandoffOutcome.CANCELLED] * 3 + [None] * MAX_DEPTH


async def test_a_named_agent_gets_it_whatever_the_policy(hall: Hall) -> None:
    await hall.desk.sql(f"update team set default_agent_id = '{(await hall.desk.agent('kyra')).id}'")
    await hand(hall, "luke", replies=False)
    await hand(hall, "ada", "a query", policy=ReturnPolicy.ORCHESTRATOR, replies=False)
    await give_back(hall, to="luke")
    assert (await primary(hall), await outcomes(hall)) == ("luke", [None, HandoffOutcome.RETURNED])

    await hand(hall, "ada", "a query", policy=ReturnPolicy.ORCHESTRATOR, replies=False)
    await give_back(hall)

    assert await primary(hall) == "kyra"
    assert await outcomes(hall) == [HandoffOutcome.RETURNED] * 3


@pytest.mark.parametrize("status", [AgentStatus.PAUSED, AgentStatus.ARCHIVED])
async def test_a_stopped_agent_keeps_no_conversation(hall: Hall, status: AgentStatus) -> None:
    await hand(hall, "luke", policy=ReturnPolicy.NONE)
    await hall.run_follow_ups()
    await hall.replies("luke", "Hi.")
    await hall.run_follow_ups()
    await hall.desk.set_status("luke", status)
    await hall.run_follow_ups(at_once=3)
    assert (await primary(hall), await outcomes(hall)) == ("kyra", [HandoffOutcome.AGENT_UNAVAILABLE])

    await hall.desk.sql("update team set default_agent_id = null")
    await hall.desk.set_status("kyra", status)
    await hall.run_follow_ups(at_once=3)
    assert await primary(hall) == "kyra"  # nobody had it before, and the team has no default agent
    await hall.desk.sql(f"update team set default_agent_id = '{(await hall.desk.agent('ada')).id}'")
    await hall.desk.sql(
        "insert into follow_up (id, kind, team_id, subject_id) select gen_random_uuid(), 'agent_stopped', team_id, id "
        "from agent where slug = 'kyra'"
    )
    await hall.run_follow_ups(at_once=3)

    assert await primary(hall) == "ada"
    assert (await hall.said())[-1][2].endswith(f"Kyra is {status.value}.")
    assert await hall.desk.open_count() == 0
