"""Consultations from the question to what is learned: the six ways of asking on the offline model, choosing, loops,
people, crashes, races, and secrets that are kept nowhere."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pydantic.alias_generators import to_snake
from sqlalchemy import select, text

from app.agents.models import AgentStatus
from app.attention.errors import AlreadyAnswered
from app.config import Flags, Settings
from app.consultations import outcomes, transitions
from app.consultations import spec as consulted
from app.consultations.models import (
    ConsultationOutcome,
    ConsultationPhase,
    ConsultationReason,
    ConsultationStatus,
    ExchangeKind,
    LoopKind,
    LoopResolution,
)
from app.db.engine import Database
from app.errors import Conflict, Forbidden, InvalidInput
from app.events.models import Event
from app.ids import Prefix, to_global
from app.inference.providers import Providers
from app.interventions import answering
from app.interventions.answering import Answer
from app.managed.execution import Execution
from app.memories import service as memories
from app.memories.models import MemoryKind
from app.memories.service import Source
from app.messages import service as messages
from app.messages.channels import direct
from app.messages.service import Outgoing
from app.messages.spec import MessageSpec
from app.reports.models import Report
from app.routing.service import WORDS_ONLY
from app.tasks import questions, revival
from app.tasks.errors import AgentUnavailable, CycleDetected, PutAside
from app.tasks.failures import NOTHING
from app.tasks.models import Task, TaskPriority, TaskPurpose, TaskStatus, ToolCall
from app.tasks.questions import QuestionSpec
from app.tasks.run import Run
from app.tasks.sweeper import sweep
from app.teams.flags import FeatureDisabled
from tests.fixtures.consultations import MINA, Consultations
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.follow_ups import run_follow_ups
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import PATIENCE_S, until_status

Status = ConsultationStatus


@pytest.fixture
def settings(settings: Settings) -> Settings:
    flags = Flags(agent_collaboration=True, expert_gate=True, task_delegation=True, collaboration=True)
    return settings.model_copy(update={"flags": flags})


@pytest.fixture
def consultations(desk: Desk, database: Database) -> Consultations:
    return Consultations(desk, database)


class Scenario(NamedTuple):
    reason: ConsultationReason
    asks: str
    answers: str
    question: str
    known: str
    context: dict[str, Any]


def documented() -> list[Scenario]:
    """The six usual questions, as the page for integrators shows them."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", Path("docs/consult.md").read_text(), re.S | re.M)
    return [
        Scenario(
            ConsultationReason[one["reason"]],
            one["asks"],
            one["answers"],
            one["question"],
            one["teamKnows"],
            {to_snake(name): value for name, value in one["context"].items()},
        )
        for one in yaml.safe_load(block)
    ]


SCENARIOS = documented()


@pytest.mark.parametrize("one", SCENARIOS, ids=lambda one: one.reason.value)
async def test_while_the_embedder_is_away_words_and_subjects_find_specialist_and_memories(
    consultations: Consultations, desk: Desk, database: Database, one: Scenario
) -> None:
    await consultations.team()
    for other in SCENARIOS:
        async with desk.transaction() as session:
            what: dict[str, Any] = {"team_id": desk.team_id, "kind": MemoryKind.SHARED, "actor": ACTOR}
            await memories.remember(session, text=other.known, **what)
    consultations.embedder.fails = True

    row = await consultations.ask(one.asks, one.question, reason=one.reason, **one.context)

    assert (await consultations.slug(row), row.status) == (one.answers, Status.PENDING), row.chosen_because
    (first,) = await consultations.exchanges(row)
    assert (first.package or {})["decisions"] == [one.known]
    assert await database.fetchval("select warning from routing_decision") == WORDS_ONLY


async def test_the_six_ways_of_asking_end_to_end_on_the_offline_model(
    consultations: Consultations, desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    await consultations.team()
    assert {one.reason for one in SCENARIOS} == set(ConsultationReason) - {ConsultationReason.OTHER}
    for one in SCENARIOS:
        async with desk.transaction() as session:
            what: dict[str, Any] = {"team_id": desk.team_id, "kind": MemoryKind.SHARED, "actor": ACTOR}
            await memories.remember(session, text=one.known, **what)
    asked = []
    for one in SCENARIOS:
        row = await consultations.ask(one.asks, one.question, reason=one.reason, **one.context)
        assert (await consultations.slug(row), row.status) == (one.answers, Status.PENDING), row.chosen_because
        asked.append(row)
        async with workers(Execution(settings, database, Providers(settings))):
            task = await desk.read(await _task(desk, row))
            assert task.purpose is TaskPurpose.CONSULTATION
            await until_status(desk, task, TaskStatus.COMPLETED)
        await consultations.run_follow_ups()

    for row, one in zip(asked, SCENARIOS, strict=True):
        done = await consultations.read(row)
        first, answer = await consultations.exchanges(row)
        assert (done.status, done.outcome, done.successful) == (Status.COMPLETED, ConsultationOutcome.SUCCESSFUL, True)
        assert (first.kind, first.content) == (ExchangeKind.QUESTION, one.question)
        assert one.known in (first.package or {})["decisions"]
        assert (answer.kind, answer.author) == (ExchangeKind.RESPONSE, one.answers.title())
        assert one.known.rstrip(".") in f"{answer.content} {answer.additional_context}"
        assert done.response_seconds is not None
        phases = [use.phase for use in await consultations.uses(row)]
        assert phases == [
            ConsultationPhase.REQUEST, ConsultationPhase.ROUTING, ConsultationPhase.ANSWER, ConsultationPhase.DELIVERY,
        ]  # fmt: skip
        assert done.tokens == sum(use.tokens for use in await consultations.uses(row)) > 0
        assert done.memory_id is not None
    assert (await consultations.kinds()) == [
        f"consultation.{kind}" for _ in SCENARIOS for kind in ("requested", "begun", "answered")
    ]


async def _task(desk: Desk, row: Any) -> Any:
    return next(task for task in await desk.open_tasks() if task.id == row.task_id)


async def test_parley_decides_who_answers_and_a_suggestion_is_a_hint(consultations: Consultations, desk: Desk) -> None:
    await consultations.team()
    question = "How should I structure the Docker volumes for the deployment?"
    by_itself = await consultations.ask("backend", question)
    overruled = await consultations.ask("backend", f"{question} On Kubernetes?", suggest="pm")
    followed = await consultations.ask("frontend", question, suggest="devops")
    await desk.set_status("security", AgentStatus.PAUSED)
    away = await consultations.ask("qa", "Is this authentication code secure?", suggest="security")
    itself = await consultations.ask("devops", f"@devops {question}", suggest="devops")

    assert [await consultations.slug(one) for one in (by_itself, overruled, followed)] == ["devops"] * 3
    assert (by_itself.suggestion_followed, overruled.suggestion_followed) == (None, False)
    assert "Devops was chosen for deployment" in overruled.chosen_because
    assert "Pm was suggested, but its skills do not match" in overruled.chosen_because
    assert (followed.suggestion_followed, followed.urgency.value) == (True, "normal")
    assert await consultations.slug(away) != "security"
    assert "Security was suggested, but is not active" in away.chosen_because
    assert await consultations.slug(itself) != "devops"
    assert "asks itself" in itself.chosen_because
    assert by_itself.decision_id is not None


async def test_what_nobody_can_answer_goes_to_a_person(consultations: Consultations) -> None:
    await consultations.team("frontend", "backend")
    row = await consultations.ask("frontend", "Which whisky goes with oysters?", urgency="critical")
    assert (row.status, row.specialist_id, row.task_id) == (Status.ESCALATED, None, None)
    (item,) = await consultations.waiting()
    assert (item.options, item.consultation_id) == (["answer", "redirect", "close"], row.id)
    assert "Which whisky goes with oysters?" in item.detail

    await consultations.decide("answer", "A peaty one. My password is hunter2!")

    done = await consultations.read(row)
    assert (done.status, done.outcome, done.successful) == (Status.COMPLETED, ConsultationOutcome.ESCALATED, False)
    assert (await consultations.exchanges(row))[-1].content == "A peaty one. My password is [redacted:password]"
    assert (await consultations.exchanges(row))[-1].author == "Mina"
    assert await consultations.kinds() == [
        "consultation.requested", "consultation.escalated", "consultation.answered",
    ]  # fmt: skip


async def test_a_loop_is_kept_with_its_evidence_and_a_person_decides(consultations: Consultations, desk: Desk) -> None:
    await consultations.team("frontend", "backend", "security")
    question = "Which fields does the User model have?"
    for asked in (question, "What fields does the User model have?"):
        await consultations.ask("frontend", asked)
        await consultations.answer("backend", "id and username")
    third = await consultations.ask("frontend", f"Please: {question}")

    assert (third.status, third.loop_detected, third.task_id) == (Status.ESCALATED, True, None)
    (loop,) = await consultations.loops()
    assert (loop.kind, loop.resolution) == (LoopKind.IDENTICAL, LoopResolution.ESCALATED)
    assert loop.evidence["askedBefore"][0]["text"] == question
    assert all(one["likeness"] > 0.95 for one in loop.evidence["askedBefore"])
    with pytest.raises(InvalidInput, match="agentId"):
        await consultations.decide("redirect")
    with pytest.raises(InvalidInput, match="asks itself"):
        await consultations.decide("redirect", to="frontend")
    with pytest.raises(InvalidInput, match="text"):
        await consultations.decide("answer")
    await consultations.decide("redirect", "She knows the accounts.", to="security")
    moved = await consultations.read(third)
    assert (await consultations.slug(moved), moved.status) == ("security", Status.PENDING)
    await consultations.answer("security", "Also email.")

    done = await consultations.read(third)
    assert (done.status, done.outcome, done.loop_detected) == (Status.COMPLETED, ConsultationOutcome.SUCCESSFUL, True)
    (loop,) = await consultations.loops()
    assert (loop.resolution, loop.notes) == (LoopResolution.CONTINUED, "She knows the accounts.")
    assert (await consultations.kinds())[-5:] == [
        "consultation.loop_detected", "consultation.escalated", "consultation.redirected",
        "consultation.begun", "consultation.answered",
    ]  # fmt: skip
    assert await desk.open_count() == 0


async def test_asking_in_a_circle_is_found_before_anybody_is_asked(consultations: Consultations, desk: Desk) -> None:
    await consultations.team()
    await consultations.ask("frontend", "Which fields does the User model of the database schema have?")
    await consultations.ask("backend", "Is this authentication code secure?")
    circle = await consultations.ask("security", "Which user interface pages and forms call the API?")
    (loop,) = await consultations.loops()
    assert (circle.status, loop.kind) == (Status.ESCALATED, LoopKind.CIRCULAR)
    assert loop.evidence["path"] == ["security", "frontend", "backend", "security"]

    # Work for a consultation does not come back to who waits for its answer.
    answering = await desk.claim("backend")
    assert answering is not None
    with pytest.raises(CycleDetected) as refused:
        await desk.delegate(None, "frontend", parent=answering)
    assert refused.value.details["chain"] == ["frontend", "backend", "frontend"]
    below = await desk.delegate(None, "qa", parent=answering)
    given = {"task_id": below.id, "assignee_id": (await desk.agent("frontend")).id}
    with pytest.raises(CycleDetected, match="frontend → backend → frontend"):
        async with desk.transaction() as session:
            await revival.reassign(session, team_id=desk.team_id, **given, actor=ACTOR)
    await desk.cancel(below)
    # Waiting for delegated work counts as well.
    await consultations.answer("security", "Yes.")
    working = await desk.working("pm", "devops")
    await desk.delegate(None, "qa", parent=working)
    back = await consultations.ask("qa", "How are Docker volumes and containers deployed?")
    assert (await consultations.loops())[-1].evidence["path"] == ["qa", "devops", "qa"]
    assert back.status is Status.ESCALATED


async def test_a_fourth_open_one_and_exchanges_without_progress_are_loops(consultations: Consultations) -> None:
    await consultations.team("frontend", "backend")
    topics = ("User model", "Order endpoint", "database schema of invoices", "session expiry of the API")
    rows = [await consultations.ask("frontend", f"What about the {topic} of the backend?") for topic in topics]
    assert [row.status for row in rows] == [*[Status.PENDING] * 3, Status.ESCALATED]
    (loop,) = await consultations.loops()
    assert (loop.kind, loop.evidence) == (LoopKind.TOO_MANY, {"active": 3, "limit": 3})
    await consultations.decide("close", "One after the other, please.")
    assert (await consultations.read(rows[3])).status is Status.CLOSED

    for _ in range(3):
        await consultations.answer("backend", "It has an id.")
    for again in (
        "I do not understand, explain.",
        "Still unclear, please explain again.",
        "Not clear to me yet, sorry.",
    ):
        stuck = await consultations.clarify(rows[0], again)
        if stuck.status is Status.PENDING:
            await consultations.answer("backend", "It has an id, as I said.")
    done = await consultations.read(rows[0])
    assert (done.status, done.exchange_count) == (Status.ESCALATED, 7)
    (item,) = await consultations.waiting()
    assert (await consultations.loops())[-1].kind is LoopKind.STALL
    assert all(text in item.detail for text in ("What about the User model", "Not clear to me yet", "as I said"))
    with pytest.raises(Conflict, match="escalated"):
        await consultations.clarify(rows[0], "And now?")
    with pytest.raises(Forbidden):
        await consultations.clarify(rows[1], "Mine?", by="backend")


async def test_of_two_people_one_wins_and_the_other_is_told(consultations: Consultations) -> None:
    await consultations.team("frontend", "backend")
    row = await consultations.ask("frontend", "Which whisky goes with oysters?")
    both = await asyncio.gather(
        consultations.decide("answer", "A peaty one."),
        consultations.decide("close", actor=ACTOR),
        consultations.decide("redirect", to="backend", actor=ACTOR),
        return_exceptions=True,
    )

    refused = [one for one in both if isinstance(one, AlreadyAnswered)]
    done = await consultations.read(row)
    assert len(refused) == 2, both
    assert done.status in (Status.COMPLETED, Status.CLOSED, Status.PENDING)
    assert done.exchange_count == (2 if done.status is Status.COMPLETED else 1)


async def test_a_worker_that_dies_while_answering_leaves_one_answer_or_a_person(
    consultations: Consultations, desk: Desk, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await consultations.team("frontend", "backend")
    row = await consultations.ask("frontend", "Which fields does the User model have?")
    assert await desk.claim("backend") is not None
    await desk.sql("update task set lease_until = now() where status = 'in_progress'")
    await sweep(desk.transaction)
    await consultations.run_follow_ups()
    assert (await consultations.read(row)).status is Status.IN_PROGRESS
    await desk.make_ready()
    task = await desk.claim("backend")
    assert task is not None
    async with desk.transaction() as session:
        await transitions.tasks.complete(
            session, **desk._claim(task), result="id", output={"answer": "id and username"}
        )
    true = outcomes.remember

    async def die(*_: object, **__: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(outcomes, "remember", die)
    with suppress(asyncio.CancelledError):
        await run_follow_ups(desk.transaction, settings)
    assert (await consultations.read(row)).status is Status.IN_PROGRESS
    monkeypatch.setattr(outcomes, "remember", true)
    await asyncio.gather(*(consultations.run_follow_ups() for _ in range(3)))

    async def once_more() -> None:
        async with desk.transaction() as session:
            await transitions.advance(session, team_id=desk.team_id, task_id=task.id)

    await asyncio.gather(*(once_more() for _ in range(5)))
    assert [one.kind for one in await consultations.exchanges(row)] == [ExchangeKind.QUESTION, ExchangeKind.RESPONSE]
    assert await consultations.kinds() == ["consultation.requested", "consultation.begun", "consultation.answered"]

    lost = await consultations.ask("frontend", "Which endpoints of the API does the backend have?")
    for _ in range(3):
        await desk.make_ready()
        again = await desk.claim("backend")
        assert again is not None
        await desk.fail(again)
    await consultations.run_follow_ups()
    assert (await consultations.read(lost)).status is Status.ESCALATED
    assert "could not answer. FAILED: It broke." in ((await consultations.read(lost)).escalation_reason or "")
    assert await desk.letters() == []
    assert len(await consultations.waiting()) == 1


async def test_who_stops_leaves_its_questions_to_a_person_and_what_is_cancelled_is_closed(
    consultations: Consultations, desk: Desk
) -> None:
    await consultations.team("frontend", "backend")
    left = await consultations.ask("frontend", "Which fields does the User model have?")
    await desk.set_status("backend", AgentStatus.PAUSED)
    await consultations.run_follow_ups()
    assert (await consultations.read(left)).escalation_reason == "Backend was asked and is paused."
    assert await desk.open_count() == 0
    with pytest.raises(AgentUnavailable):
        await consultations.decide("redirect", to="backend")
    await desk.set_status("backend", AgentStatus.ACTIVE)
    await consultations.decide("redirect", to="backend")
    await desk.cancel(await _task(desk, await consultations.read(left)))
    await consultations.run_follow_ups()

    done = await consultations.read(left)
    assert (done.status, done.summary, done.successful) == (Status.CLOSED, "not needed", False)


async def test_a_specialist_that_answers_after_all_needs_no_person_any_more(
    consultations: Consultations, desk: Desk, settings: Settings
) -> None:
    await consultations.team("frontend", "backend")
    row = await consultations.ask("frontend", "Which fields does the User model have?")
    task = await desk.claim("backend")
    assert task is not None
    team: dict[str, Any] = {"team_id": desk.team_id, "actor": ACTOR}
    async with desk.transaction() as session:
        wanted = QuestionSpec(question="May I tell?")
        claim = {"task_id": task.id, "claim_token": task.claim_token}
        await questions.ask_from_task(session, **claim, wanted=wanted, **team)
    (item,) = await consultations.waiting()
    async with desk.transaction() as session:
        told: dict[str, Any] = {"consultation_id": row.id, "agent_id": task.assignee_id, "settings": settings}
        await transitions.answer(session, given=consulted.Answer(answer="id"), usage=NOTHING, **told, **team)

    assert (await consultations.read(row)).status is Status.COMPLETED
    assert await consultations.waiting() == []
    with pytest.raises(AlreadyAnswered, match="withdrawn by a test"):
        async with desk.transaction() as session:
            await answering.answer(session, item_id=item.id, given=Answer(text="Yes."), settings=settings, **team)


async def test_a_persons_answer_is_neither_the_specialists_merit_nor_its_to_explain(
    consultations: Consultations, desk: Desk
) -> None:
    await consultations.team("frontend", "backend")
    row = await consultations.ask("frontend", "Which fields does the User model have?")
    await desk.set_status("backend", AgentStatus.PAUSED)
    await consultations.run_follow_ups()
    await desk.set_status("backend", AgentStatus.ACTIVE)
    await consultations.decide("answer", "It has id and email.")

    with pytest.raises(Conflict, match="A person answered"):
        await consultations.clarify(row, "Is email unique?")
    rated = await consultations.rate(row, 5)

    assert (rated.rating, await consultations.slug(rated)) == (5, "backend")
    async with desk.transaction() as session:
        assert await session.scalar(text("select count(*) from routing_rating")) == 0


async def test_a_good_answer_is_found_by_who_asks_the_like_and_a_poor_one_is_forgotten(
    consultations: Consultations, desk: Desk
) -> None:
    await consultations.team("frontend", "backend", "qa")
    first = await consultations.ask("frontend", "Which fields does the User model have?", urgency="critical")
    task = await desk.claim("backend")
    assert task is not None
    assert task.priority is TaskPriority.URGENT
    await desk.sql("update task set status = 'pending', claim_token = null, lease_until = null, deadline = null")
    steps = {"suggested_next_steps": ["Show the username."], "references": ["models/user.py:15"]}
    await consultations.answer("backend", "It has id, username and email.", "0.02", 70, **steps)
    rated = await consultations.rate(first, 5, "Look into models/user.py first.")
    assert (rated.cost, rated.tokens > 70, rated.rating) == (Decimal("0.02"), True, 5)
    with pytest.raises(Conflict, match="rated already"):
        await consultations.rate(first, 4)
    (memory,) = await consultations.memories()
    assert memory.kind is MemoryKind.PROCEDURAL
    assert "Lesson: Look into models/user.py first." in memory.text

    second = await consultations.ask("qa", "What fields are in the User model, for my tests?")
    (package,) = [one.package for one in await consultations.exchanges(second)]
    assert package is not None
    assert [text for text in package["similar_consultations"] if "id, username and email" in text]
    await consultations.answer("backend", "No idea.")
    await consultations.rate(second, 1)
    assert [one.id for one in await consultations.memories()] == [memory.id]
    assert (await consultations.read(second)).memory_id is None


async def test_refusals_leave_nothing_behind(consultations: Consultations, desk: Desk, settings: Settings) -> None:
    await consultations.team("frontend", "backend")
    before = await desk.count()
    with pytest.raises(InvalidInput, match="question"):
        await consultations.ask("frontend", "x" * 4_001)
    with pytest.raises(InvalidInput, match="files"):
        await consultations.ask("frontend", "What?", files=["x" * 501])
    with pytest.raises(InvalidInput, match="rating"):
        await consultations.rate(await consultations.ask("frontend", "Which whisky goes with oysters?"), 6)
    for number in range(4):
        await consultations.ask("frontend", f"Which whisky goes with oysters {number}?")
    with pytest.raises(Conflict, match="5 consultations of Frontend wait for a person"):
        await consultations.ask("frontend", "Which whisky goes with cake?")
    await desk.set_status("frontend", AgentStatus.PAUSED)
    with pytest.raises(AgentUnavailable):
        await consultations.ask("frontend", "Which fields does the User model have?")
    await desk.sql("""update team set flags = '{"agent_collaboration": false}'""")
    with pytest.raises(FeatureDisabled):
        await consultations.ask("backend", "Which pages of the user interface are there?")
    assert await desk.count() == before
    assert len(await consultations.waiting()) == 5


async def test_two_that_ask_at_once_cannot_wait_for_each_other(consultations: Consultations) -> None:
    await consultations.team("frontend", "backend")
    rows = await asyncio.gather(
        consultations.ask("frontend", "Which fields does the User model of the backend have?"),
        consultations.ask("backend", "Which forms and pages does the user interface have?"),
        *(consultations.ask("frontend", f"Which endpoint of the API has version {n}?") for n in range(4)),
    )

    asking = [row.requester_id for row in rows if row.status is Status.PENDING]
    assert asking in ([rows[1].requester_id], [rows[0].requester_id] * 3)
    assert {loop.kind for loop in await consultations.loops()} <= {LoopKind.CIRCULAR, LoopKind.TOO_MANY}


SECRETS = {
    "question": "hunter2-question", "current_task": "sk-proj-AAAABBBBCCCCDDDD1111", "concern": "AKIAIOSFODNN7EXAMPLE",
    "attempt": "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "file": "xoxb-123456789012-abcdefghijkl",
    "code": "topsecret-code", "error": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "stack": "glpat-abcdefghijklmnopqrst",
    "answer": "s3cr3t-answer", "extra": "wJalrXUtnFEMIK7MDENGbPxRfiCY", "reference": "pg-pass-99",
    "step": "AIzaSyA1234567890abcdefghijklmnopqrstuv", "lesson": "hunter2-lesson", "clarify": "hunter2-clarify",
    "person": "hunter2-person", "email": "jane.doe@example.com", "progress": "hunter2-progress",
    "key": "MIIEowIBAAKCAQEA", "below": "hunter2-below",
}  # fmt: skip


async def test_secrets_in_every_field_are_kept_nowhere(
    consultations: Consultations, desk: Desk, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = SECRETS
    await consultations.team("frontend", "backend")
    row = await consultations.ask(
        "frontend",
        f"Which fields does the User model have? password={secret['question']} {secret['email']}",
        current_task=f"Build with {secret['current_task']}",
        concern=f"aws {secret['concern']}",
        attempted_approaches=[f"Token {secret['attempt']}"],
        files=[f"config/{secret['file']}.py"],
        snippets=[{"file": "db.py", "code": f'connect("postgres://app:{secret["code"]}@db/main")'}],
        errors=[f"401 for Bearer {secret['error']}", f"-----BEGIN PRIVATE KEY-----\n{secret['key']}"],
        project_type=f"password: {secret['question']}",
        tech_stack=[secret["stack"]],
    )
    task = await desk.claim("backend")
    assert task is not None
    await desk.heartbeat(task, f"password = {secret['progress']}")
    said = {name: f"password={secret['below']}" for name in ("title", "instructions", "context", "expected_output")}
    await desk.delegate(None, "helper", parent=task, **said, input_artifacts=[f"https://a:{secret['below']}@host/x"])
    async with desk.transaction() as session:
        output = {
            "answer": f"Use password={secret['answer']}",
            "additional_context": f"aws_secret_access_key = {secret['extra']}",
            "references": [f"redis://:{secret['reference']}@cache/0"],
            "suggested_next_steps": [f"Call it with {secret['step']}"],
        }
        await transitions.tasks.complete(
            session, **desk._claim(task), result=f"password={secret['answer']}", output=output
        )
    await consultations.run_follow_ups()
    await consultations.clarify(row, f"Is password={secret['clarify']} right?")
    await consultations.answer("backend", f"Yes, it is password: {secret['answer']}")
    await consultations.rate(row, 4, f"The password is {secret['lesson']}")
    told = [f"secret={secret['question']}"]
    lost = await consultations.ask("frontend", "Which whisky goes with oysters?", errors=told)
    await consultations.decide("answer", f"Never tell. api_key={secret['person']}")

    assert await kept_anywhere(desk, secret) == []
    printed = capsys.readouterr()
    logged = caplog.text + printed.out + printed.err
    assert [name for name, value in secret.items() if value in logged] == []
    (first, *_) = await consultations.exchanges(row)
    assert "[redacted:password]" in first.content
    assert (await consultations.read(lost)).status is Status.COMPLETED


async def kept_anywhere(desk: Desk, secrets: dict[str, str]) -> list[tuple[str, str]]:
    """Which tables hold which of them; there is an event at least to look at."""
    found = []
    async with desk.transaction() as session:
        assert await session.scalar(select(Event.id).limit(1)) is not None
        for table in list(await session.scalars(text("select tablename from pg_tables where schemaname = 'public'"))):
            everything = await session.scalar(text(f'select string_agg(t::text, chr(10)) from "{table}" as t'))
            found += [(table, name) for name, value in secrets.items() if value in (everything or "")]
    return found


TOLD_BY_TOOLS: dict[str, dict[str, Any]] = {
    "send_agent_message": {"to_agent": "frontend", "message": "password={}", "subject": "password={}"},
    "remember": {"text": "The staging password is {}9!", "kind": "shared"},
    "delegate_task": {"agent": "helper", "title": "password={}", "instructions": "password={}"},
    "request_report": {
        "agent": "helper", "type": "research_summary", "title": "password={}", "context": "password={}",
        "parameters": {"topic": "password={}"},
    },
    "start_collaboration": {
        "pattern": "delegation", "goal": "password={}",
        "participants": [{"agent": "helper", "role": "worker", "instructions": "password={}"}],
    },
    "ask_person": {"question": "Is password={} right?", "context": "password={}"},
}  # fmt: skip


def with_secret(given: Any, secret: str) -> Any:
    return json.loads(json.dumps(given).replace("{}", secret))


async def test_whatever_the_work_for_a_consultation_tells_others_has_no_secrets(
    consultations: Consultations, desk: Desk, settings: Settings, database: Database
) -> None:
    secrets = {name: f"hunter2-{name}" for name in (*TOLD_BY_TOOLS, "message", "memory", "answer", "note", "cancel")}
    await consultations.team("frontend", "backend")
    await desk.agent("helper")
    row = await consultations.ask("frontend", "Which fields does the User model have?")
    task = await desk.claim("backend")
    assert task is not None
    lent = Execution(settings, database, Providers(settings), consultations.consulting.library)
    run = Run(task, desk.transaction, ACTOR)
    briefed = await lent._brief(run)
    tools = {tool.name: tool for tool in lent._tools(run, briefed)}
    letter = await dead_letter_below(desk, task)
    for name, given in TOLD_BY_TOOLS.items():
        with suppress(PutAside):
            await tools[name].call(with_secret(given, secrets[name]))
    team: dict[str, Any] = {"team_id": desk.team_id, "actor": ACTOR}
    async with desk.transaction() as session:
        spec = MessageSpec(body=f"password={secrets['message']}", task_id=task.id)
        said = Outgoing(task.assignee_id, direct((await desk.agent("frontend")).id), spec)
        await messages.send(session, wanted=said, limit=10, sender_limit=10, **team)
        what: dict[str, Any] = {"kind": MemoryKind.SHARED, "source": Source(task.id)}
        await memories.remember(session, text=f"password={secrets['memory']}", **what, **team)
    (item,) = [one for one in await consultations.waiting() if one.holds_task]
    async with desk.transaction() as session:
        given = Answer(text=f"No, password={secrets['answer']}")
        await answering.answer(session, item_id=item.id, given=given, settings=settings, **team)
    async with desk.transaction() as session:
        why = f"password={secrets['cancel']}"
        await transitions.tasks.cancel(session, task_id=task.id, reason=why, **team)
    await consultations.run_follow_ups()
    async with desk.transaction() as session:
        again: dict[str, Any] = {"edits": {"title": f"password={secrets['note']}"}, "assignee_id": None}
        note = f"password={secrets['note']}"
        _, replay = await revival.replay(session, letter_id=letter.id, **again, settings=settings, note=note, **team)

    assert await kept_anywhere(desk, secrets) == []
    async with desk.transaction() as session:
        (report,) = await session.scalars(select(Report))
        writing = await session.get_one(Task, report.task_id)
    assert (report.consultation_id, writing.redacts) == (row.id, task.redacts)  # it keeps the audience
    closed = await consultations.read(row)
    assert (closed.status, closed.summary) == (Status.CLOSED, "password=[redacted:password]")
    assert (replay.parent_id, replay.redacts, replay.title) == (None, task.redacts, "password=[redacted:password]")


async def dead_letter_below(desk: Desk, task: Any) -> Any:
    await desk.delegate(None, "helper", parent=task)
    below = await desk.claim("helper")
    assert below is not None
    await desk.fail(below, may_pass=False)
    (letter,) = await desk.letters()
    return letter


async def test_a_refusal_that_quotes_a_secret_is_kept_without_it(
    consultations: Consultations, desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    await consultations.team("frontend", "backend")
    ask = f"@tool request_consultation {json.dumps({'question': 'password=hunter2 ' + 'x' * 4_000})}"
    execution = Execution(settings, database, Providers(settings), consulting=consultations.consulting)
    async with workers(execution):
        task = await desk.delegate("pm", "frontend", instructions=f"Build it.\n{ask}")
        kept = "select error from tool_call where task_id = $1"
        async with asyncio.timeout(PATIENCE_S):
            while (told := await database.fetchval(kept, task.id)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    assert "question: 'password=[redacted:password]" in told


async def test_an_agent_asks_waits_for_the_answer_and_rates_it(
    consultations: Consultations, desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    await consultations.team("frontend", "backend")
    wanted = {"question": "Which fields does the User model have?", "concern": "token=abcdef123", "current_task": "x"}
    ask = f"@tool request_consultation {json.dumps(wanted)}"
    execution = Execution(settings, database, Providers(settings), consulting=consultations.consulting)
    async with workers(execution):
        task = await desk.delegate("pm", "frontend", instructions=f"Build it.\n{ask}")
        await until_status(desk, task, TaskStatus.COMPLETED)
        async with desk.transaction() as session:
            (call,) = await session.scalars(select(ToolCall).where(ToolCall.task_id == task.id))
        assert call.arguments["concern"] == "token=[redacted:password]"
        assert "Backend was chosen" in (call.result or "")
        name = (call.result or "").split("It is ")[1].split(".")[0]
        async with asyncio.timeout(20):
            while not await consultations.memories():
                await consultations.run_follow_ups()
                await asyncio.sleep(0.05)
        lines = [
            "@tool check_consultation " + json.dumps({"consultation_id": name, "wait_seconds": 9}),
            "@tool rate_consultation " + json.dumps({"consultation_id": name, "rating": 5}),
        ]
        mine = await desk.delegate("pm", "frontend", instructions="\n".join(["Read.", *lines]))
        others = await desk.delegate("frontend", "backend", instructions="\n".join(["Read.", *lines]))
        read = await until_status(desk, mine, TaskStatus.COMPLETED)
        refused = await until_status(desk, others, TaskStatus.COMPLETED)

    assert "check_consultation: COMPLETED" in (read.result or "")
    assert "You asked for no such consultation." in (refused.result or "")
    assert "Only the agent that asked may do this." in (refused.result or "")
    assert name.startswith(to_global(Prefix.CONSULTATION, task.id)[:8])
    assert MINA.name == "Mina"
