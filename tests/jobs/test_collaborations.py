"""Collaboration sessions from start to end: what follows what, what they cost, how they fail, and races."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select

from app.agents.models import AgentStatus
from app.budgets.errors import BudgetExhausted
from app.collaborations.errors import ParticipantsUnsuitable
from app.collaborations.models import Collaboration, CollaborationStatus, FailureDecision, StageKind, StageStatus
from app.config import Flags, Settings, load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import Conflict, Forbidden, InvalidInput
from app.groups import service as groups
from app.groups.spec import GroupSpec
from app.ids import Prefix, to_global
from app.inference.providers import Providers
from app.managed.collaboration_tools import COLLABORATION_TOOLS
from app.managed.execution import Execution
from app.tasks.errors import AgentUnavailable, ClaimLost
from app.tasks.models import Task, TaskPurpose, TaskStatus, ToolCall
from app.teams.flags import FeatureDisabled
from app.teams.models import Team
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.follow_ups import run_follow_ups
from tests.fixtures.sessions import Sessions
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import until_status

PASSED = {"tests_passed": True, "type_check_passed": True, "custom_checks": {}}
NOTHING: dict[str, list[str]] = {"files_created": [], "files_modified": [], "files_deleted": []}
YES, NO = {"choice": "yes", "reason": "It is fast."}, {"choice": "no", "reason": "It is stale."}


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    flags = Flags(task_delegation=True, collaboration=True)
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, pool_size=20, flags=flags)


@pytest.fixture
def sessions(desk: Desk) -> Sessions:
    return Sessions(desk)


async def test_workers_side_by_side_then_the_lead(sessions: Sessions, desk: Desk) -> None:
    one = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", ("worker:ada", "data", "Count."))
    assert one.status is CollaborationStatus.ACTIVE
    luke, ada = await sessions.tasks(one)
    assert {task.purpose for task in (luke, ada)} == {TaskPurpose.STAGE}
    assert "Count." in ada.instructions

    await sessions.answer("ada", "25 million.", cost="0.01", tokens=100)
    assert (await sessions.read(one)).status is CollaborationStatus.ACTIVE
    await sessions.answer("luke", "It can be done.", cost="0.02", tokens=50)
    assert (await sessions.read(one)).status is CollaborationStatus.SYNTHESIZING
    synthesis = await sessions.answer("kyra", "Do it.", cost="0.03")

    done = await sessions.read(one)
    assert (done.status, done.result, done.stages_completed) == (CollaborationStatus.COMPLETED, "Do it.", 3)
    assert "25 million." in synthesis.context
    assert "It can be done." in synthesis.context
    stages = await sessions.stages(one)
    assert [(stage.name, stage.status) for stage in stages] == [
        ("work", StageStatus.COMPLETED),
        ("data", StageStatus.COMPLETED),
        ("synthesis", StageStatus.COMPLETED),
    ]
    assert (
        sum(stage.cost for stage in stages) == sum(task.cost for task in await sessions.tasks(one)) == Decimal("0.06")
    )
    assert [seat.status for seat in await sessions.seats(one)] == ["completed"] * 3
    assert await desk.reserved() == 0
    kinds = [kind for kind in await sessions.kinds(one) if kind.startswith("collaboration.")]
    assert kinds == [
        "collaboration.started",
        *["collaboration.stage_started"] * 2,
        *["collaboration.stage_completed"] * 2,
        "collaboration.stage_started",
        "collaboration.stage_completed",
        "collaboration.completed",
    ]


async def test_each_other_pattern_to_its_end(sessions: Sessions) -> None:
    line = await sessions.start("pipeline", ("worker:luke", "quality"), ("worker:ada", "tests"), ("lead:kyra", "go"))
    await sessions.answer("luke", "2 issues.")
    await sessions.answer("ada", "89 %.")
    last = await sessions.answer("kyra", "Ship it.")
    assert "2 issues." in last.context
    assert "89 %." in last.context
    assert (await sessions.read(line)).result == "Ship it."

    review = await sessions.start("peer_review", "worker:luke", "reviewer:ada", max_rounds=2)
    await sessions.answer("luke", "Draft.")
    await sessions.answer("ada", "No.", {"verdict": "changes_requested", "feedback": "Too short."})
    revision = await sessions.answer("luke", "Longer draft.")
    assert "Too short." in revision.context
    assert "Draft." in revision.context
    await sessions.answer("ada", "Yes.", {"verdict": "approved", "feedback": ""})
    done = await sessions.read(review)
    assert (done.status, done.result, done.round) == (CollaborationStatus.COMPLETED, "Longer draft.", 2)

    storm = await sessions.start("brainstorm", "contributor:luke", "contributor:ada", "lead:kyra")
    for slug in ("ada", "luke", "kyra"):
        await sessions.answer(slug, f"From {slug}.")
    assert (await sessions.read(storm)).result == "From kyra."

    errand = await sessions.start("delegation", "worker:luke")
    await sessions.answer("luke", "89 %.")
    assert (await sessions.read(errand)).result == "89 %."
    assert len(await sessions.stages(errand)) == 1


async def test_votes_are_kept_and_a_consensus_says_that_it_did_not_converge(sessions: Sessions) -> None:
    one = await sessions.start(
        "consensus", "contributor:luke", "contributor:ada", "contributor:zara", max_rounds=2, threshold=1.0
    )
    for slug, vote in (("luke", YES), ("ada", NO), ("zara", YES)):
        await sessions.answer(slug, "Voted.", vote)
    second = await sessions.tasks(one)
    assert "It is stale." in second[-1].context
    for slug, vote in (("luke", YES), ("ada", NO), ("zara", YES)):
        await sessions.answer(slug, "Voted.", vote)

    done = await sessions.read(one)
    assert (done.status, done.converged, round(done.agreement or 0, 3)) == (CollaborationStatus.COMPLETED, False, 0.667)
    assert (done.result or "").startswith("No consensus: 2 of 3 votes for 'yes' after 2 rounds")
    votes = await sessions.votes(one)
    assert [(vote.round, vote.choice) for vote in votes] == [
        (1, "yes"), (1, "no"), (1, "yes"), (2, "yes"), (2, "no"), (2, "yes"),
    ]  # fmt: skip
    again = await sessions.start("consensus", "contributor:luke", "contributor:ada", options=("a", "b"))
    task = await sessions.work("luke", "Voted.", {"choice": "c", "reason": "?"})
    assert (task.status, task.error_code) == (TaskStatus.FAILED, "CONTRACT_VIOLATED")
    await sessions.cancel(again)


async def test_what_cannot_work_is_refused_and_leaves_nothing(sessions: Sessions, desk: Desk) -> None:
    for pattern, seats in (
        ("supervisor_worker", ["worker:luke"]),
        ("supervisor_worker", ["lead:kyra"]),
        ("pipeline", ["worker:luke"]),
        ("peer_review", ["worker:luke"]),
        ("peer_review", ["worker:luke", "worker:ada", "reviewer:zara"]),
        ("brainstorm", ["lead:kyra"]),
        ("consensus", ["contributor:luke", "lead:kyra"]),
        ("delegation", ["worker:luke", "worker:ada"]),
    ):
        with pytest.raises(ParticipantsUnsuitable, match=pattern):
            await sessions.start(pattern, *seats)
    for fields, path in (
        ({"max_rounds": 0}, "max_rounds"),
        ({"max_duration_seconds": 0}, "max_duration_seconds"),
        ({"goal": " "}, "goal"),
        ({"goal": "a\0b"}, "goal"),
        ({"options": ("a", "b")}, "options"),
        ({"max_cost_usd": Decimal("NaN")}, "max_cost_usd"),
    ):
        with pytest.raises(InvalidInput, match=path):
            await sessions.start("delegation", "worker:luke", **fields)
    with pytest.raises(InvalidInput, match="earlier stage"):
        await sessions.start("pipeline", ("worker:luke", "review"), ("worker:ada", "Review"))
    with pytest.raises(InvalidInput, match="takes part already"):
        await sessions.start("brainstorm", "lead:kyra", "contributor:luke", "contributor:luke")
    with pytest.raises(BudgetExhausted):
        await sessions.start("delegation", "worker:luke", max_cost_usd=Decimal(51))
    await desk.set_status("ada", AgentStatus.PAUSED)
    with pytest.raises(AgentUnavailable, match="paused"):
        await sessions.start("delegation", "worker:ada")
    await desk.set_status("ada", AgentStatus.ARCHIVED)
    with pytest.raises(AgentUnavailable, match="archived"):
        await sessions.start("delegation", "worker:ada")
    sessions.desk.settings = desk.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    with pytest.raises(FeatureDisabled):
        await sessions.start("delegation", "worker:luke")
    assert await desk.count() == 0
    assert await desk.reserved() == 0


async def test_the_cap_on_cost_stops_what_remains_and_keeps_what_was_made(sessions: Sessions, desk: Desk) -> None:
    one = await sessions.start(
        "supervisor_worker", "lead:kyra", "worker:luke", "worker:ada", max_cost_usd=Decimal("0.3")
    )
    held = await desk.claim("ada")
    assert held is not None
    await desk.heartbeat(held, progress="Half of it.")
    task = await desk.claim("luke")
    assert task is not None
    await desk.complete(task, "All of it.", cost="0.35")
    await sessions.run_follow_ups()

    done = await sessions.read(one)
    assert (done.status, done.error_code) == (CollaborationStatus.FAILED, "COST_LIMIT")
    assert "0.300000 USD" in (done.error_message or "")
    luke, ada = await sessions.stages(one)
    assert (ada.status, ada.output) == (StageStatus.CANCELLED, "Half of it.")
    assert luke.cost == Decimal("0.35")
    assert await desk.reserved() == 0
    assert (await desk.budget(task)).spent == Decimal("0.35")


async def test_the_cap_on_time_ends_it_and_more_of_both_can_be_given(sessions: Sessions, desk: Desk) -> None:
    one = await sessions.start("pipeline", "worker:luke", "worker:ada")
    await sessions.answer("luke", "First.")
    extended = await sessions.extend(one, seconds=60, cost_usd=Decimal("0.25"))
    assert (extended.max_duration_s, extended.max_cost) == (660, Decimal("0.75"))
    assert await desk.reserved() == 2 * Decimal("0.75") + Decimal("0.5"), "month, day, and what the stage may spend"
    with pytest.raises(BudgetExhausted):
        await sessions.extend(one, cost_usd=Decimal(50))
    assert (await sessions.read(one)).max_cost == Decimal("0.75")
    await desk.sql("update follow_up set due_at = now() - interval '1 second'")
    await sessions.run_follow_ups()
    assert (await sessions.read(one)).status is CollaborationStatus.ACTIVE, "its time is not over"

    await desk.sql("update collaboration set deadline = now() - interval '1 second'")
    await desk.sql(
        "insert into follow_up (id, team_id, kind, subject_id) "
        "select gen_random_uuid(), team_id, 'session_deadline', id from collaboration"
    )
    await sessions.run_follow_ups()

    done = await sessions.read(one)
    assert (done.status, done.error_code) == (CollaborationStatus.TIMED_OUT, "TIME_LIMIT")
    first, second = await sessions.stages(one)
    assert (first.output, second.status) == ("First.", StageStatus.CANCELLED)
    assert await desk.reserved() == 0
    with pytest.raises(Conflict, match="TIMED_OUT"):
        await sessions.extend(one, seconds=5)
    with pytest.raises(Conflict, match="TIMED_OUT"):
        await sessions.cancel(one)


async def test_work_hands_over_what_it_has_and_a_review_skips_what_is_optional_when_their_time_is_over(
    sessions: Sessions, desk: Desk
) -> None:
    template = {"template": "architect_developer_reviewer", "goal": "Parse the file.", "on_failure": "abort"}
    one = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", "reviewer:ada", **template)
    assert one.max_duration_s == 3_600
    await sessions.answer("kyra", "A plan.", {"tasks": [{"title": "parse", "description": "Parse it."}]})
    (work,) = [task for task in await sessions.tasks(one) if task.assignee_id == desk.agents["luke"].id]
    assert work.timeout_s == 600
    await sessions.time_out("luke", "Half of the parser.")

    first = await sessions.time_out("ada", "The tests pass so far.")
    again = await desk.claim("ada")
    assert again is not None
    said = {"verdict": "approved", "findings": [], "summary": "Good.", "verification": PASSED}
    await sessions.finish(again, "Good.", said | {"task_id": to_global(Prefix.TASK, again.id)})
    await sessions.run_follow_ups()
    await sessions.answer("kyra", "Made.")

    done = await sessions.read(one)
    assert (done.status, done.result) == (CollaborationStatus.COMPLETED, "Made.")
    _, half, late, review, _ = await sessions.stages(one)
    assert (half.status, half.output) == (StageStatus.COMPLETED, "Half of the parser.")
    assert half.data is not None
    assert (half.data["status"], half.data["blockers"]) == ("partial", ["The time ran out."])
    assert (late.status, late.superseded, review.attempt) == (StageStatus.TIMED_OUT, True, 2)
    assert "Half of the parser." in first.context
    assert (first.timeout_s, again.timeout_s) == (300, 300)
    assert first.contract_input is not None
    assert again.contract_input is not None
    assert first.contract_input["review_scope"]["focus_areas"] == ["security", "performance", "style", "logic"]
    assert not again.contract_input["review_scope"].get("focus_areas")
    assert again.contract_input["criteria"]["must_pass_tests"] is True
    assert "Skip every optional check" in again.instructions
    assert "The tests pass so far." in again.context
    assert await desk.reserved() == 0
    two = await sessions.start("pipeline", "worker:luke", "worker:ada", work_timeout_seconds=7)
    assert (await sessions.time_out("luke", "A draft.")).timeout_s == 7
    last = await sessions.answer("ada", "The rest.")
    assert "A draft." in last.context
    assert (await sessions.read(two)).status is CollaborationStatus.COMPLETED


async def test_what_a_review_found_reaches_who_revises_until_it_is_approved(sessions: Sessions, desk: Desk) -> None:
    """A rejection, too, is a new task for the developer; what the words leave out is told from the data."""
    template = {"template": "architect_developer_reviewer", "goal": "Parse the file."}
    one = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", "reviewer:ada", **template)
    await sessions.answer("kyra", "A plan.", {"tasks": [{"title": "parse", "description": "Parse it."}]})
    finding = {"finding_id": "f1", "severity": "major", "category": "bug", "file": "parser.py", "line": 7,
               "description": "It drops the last line.", "suggestion": "Read to the end."}  # fmt: skip
    reviews = [("changes_requested", [finding]), ("rejected", [finding | {"line": None}]), ("approved", [])]

    async def next_task(slug: str, result: str, output: dict[str, Any]) -> Task:
        task = await desk.claim(slug)
        assert task is not None
        await sessions.finish(task, result, output | {"task_id": to_global(Prefix.TASK, task.id)})
        await sessions.run_follow_ups()
        return task

    work, judged = [], []
    for verdict, findings in reviews:
        made = {"status": "completed", "changes": NOTHING, "summary": "A parser.", "blockers": ["No fuzzer."]}
        work.append(await next_task("luke", "Done.", made))
        said = {"verdict": verdict, "findings": findings, "summary": "I read it.", "verification": PASSED}
        judged.append(await next_task("ada", "Reviewed.", said))
    report = await sessions.answer("kyra", "Made.")

    done = await sessions.read(one)
    assert (done.status, done.round, done.result) == (CollaborationStatus.COMPLETED, 3, "Made.")
    assert "Done.\nA parser.\nBlocker: No fuzzer." in judged[0].context
    told = "Reviewed.\nI read it.\n- major (bug) in parser.py{}: It drops the last line. Suggestion: Read to the end."
    assert f"Verdict: changes_requested\n{told.format(':7')}" in work[1].context
    assert f"Verdict: rejected\n{told.format('')}" in work[2].context
    assert "Verdict: approved\nReviewed.\nI read it." in report.context


async def test_a_failed_stage_is_retried_reassigned_or_ends_the_session(sessions: Sessions, desk: Desk) -> None:
    """The lead is somebody's own program: it decides over the API."""
    await desk.agent("kyra", runtime="external")
    one = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", "worker:ada")
    await sessions.fail("luke")
    await sessions.answer("ada", "Mine.")
    assert (await sessions.read(one)).status is CollaborationStatus.ACTIVE, "it waits for a decision"
    failed = (await sessions.stages(one))[0]
    zara = await desk.agent("zara")

    with pytest.raises(Forbidden):
        await sessions.decide(failed, FailureDecision.RETRY, by=desk.agents["ada"].id)
    with pytest.raises(Conflict, match="takes part already"):
        await sessions.decide(failed, FailureDecision.REASSIGN, desk.agents["ada"].id)
    both = await asyncio.gather(
        *(sessions.decide(failed, FailureDecision.RETRY, by=desk.agents["kyra"].id) for _ in range(2)),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in both) == ["Collaboration", "Conflict"]
    await sessions.fail("luke")
    await sessions.decide((await sessions.stages(one))[-1], FailureDecision.REASSIGN, zara.id)
    await sessions.answer("zara", "Instead of luke.")
    last = await sessions.answer("kyra", "Together.")

    assert "Instead of luke." in last.context
    assert (await sessions.read(one)).result == "Together."
    stages = await sessions.stages(one)
    assert [(stage.attempt, stage.superseded) for stage in stages] == [
        (1, True),
        (1, False),
        (2, True),
        (3, False),
        (1, False),
    ]
    two = await sessions.start("delegation", "worker:luke", on_failure="abort")
    await sessions.fail("luke")
    assert (await sessions.read(two)).error_code == "STAGE_FAILED"
    three = await sessions.start("delegation", "worker:luke")
    await sessions.fail("luke")
    await sessions.decide((await sessions.stages(three))[0], FailureDecision.ABORT)
    assert (await sessions.read(three)).error_code == "ABORTED"
    assert await desk.reserved() == 0


async def test_an_agent_that_went_away_fails_its_stage_not_the_job(sessions: Sessions, desk: Desk) -> None:
    one = await sessions.start("pipeline", "worker:luke", "worker:ada")
    await desk.set_status("ada", AgentStatus.PAUSED)
    await sessions.answer("luke")
    stage = (await sessions.stages(one))[-1]
    assert (stage.error_code, stage.task_id) == ("AGENT_UNAVAILABLE", None)
    await desk.set_status("ada", AgentStatus.ACTIVE)
    await sessions.decide(stage, FailureDecision.RETRY)
    await sessions.answer("ada", "Back.")
    assert (await sessions.read(one)).result == "Back."


async def test_ends_at_the_same_instant_advance_each_session_once(
    sessions: Sessions, desk: Desk, database: Database, transaction: Transactions
) -> None:
    """Six sessions whose workers all end at once, with four that advance them, while somebody cancels two of them."""
    slugs = [f"w{number}" for number in range(4)]
    started = [
        await sessions.start("brainstorm", "lead:kyra", *(f"contributor:{slug}" for slug in slugs)) for _ in range(6)
    ]

    async def work(slug: str) -> None:
        while (task := await desk.claim(slug)) is not None:
            with suppress(ClaimLost):  # its session was cancelled meanwhile
                await desk.complete(task, f"By {slug}.", cost="0.001")

    await asyncio.gather(*(work(slug) for slug in slugs), *(sessions.cancel(one) for one in started[:2]))
    async with asyncio.timeout(60):
        while None in [(await sessions.read(one)).finished_at for one in started]:
            await run_follow_ups(transaction, desk.settings, at_once=4)
            await work("kyra")
    await sessions.run_follow_ups()

    for one in started:
        done, stages = await sessions.read(one), await sessions.stages(one)
        kinds = [kind for kind in await sessions.kinds(one) if kind.startswith("collaboration.stage_")]
        assert kinds.count("collaboration.stage_started") == len(stages)
        assert len(kinds) == 2 * len(stages), "each stage was told of once when it began and once when it ended"
        assert sum(stage.cost for stage in stages) == sum(task.cost for task in await sessions.tasks(one))
        if one.id in {gone.id for gone in started[:2]}:
            assert done.status is CollaborationStatus.CANCELLED
        else:
            assert (done.status, len(stages)) == (CollaborationStatus.COMPLETED, 5)
    assert await desk.reserved() == 0
    assert await desk.open_count() == 0


@pytest.fixture
async def worker(settings: Settings, database: Database, workers: Workers) -> AsyncIterator[None]:
    """A worker as `parley worker` runs it, with managed agents on the offline model."""
    async with workers(Execution(settings, database, Providers(settings)), slots=5):
        yield


async def until_ended(sessions: Sessions, *wanted: Collaboration) -> list[Collaboration]:
    async with asyncio.timeout(60):
        while None in [(await sessions.read(one)).finished_at for one in wanted]:  # noqa: ASYNC110 - read as users do
            await asyncio.sleep(0.05)
    return [await sessions.read(one) for one in wanted]


async def test_every_pattern_on_the_offline_model(sessions: Sessions, desk: Desk, worker: None) -> None:
    """A line `Options:` of a participant's own narrows what the offline model may choose."""
    yes, approved = "Options: yes", "Options: approved"
    context = "The cache is slow. The cache is cheap."
    started = [
        await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", "worker:ada", context=context),
        await sessions.start("pipeline", ("worker:luke", "read"), ("worker:ada", "judge"), context=context),
        await sessions.start("peer_review", "worker:luke", ("reviewer:ada", None, approved)),
        await sessions.start("peer_review", "worker:luke", "reviewer:ada", max_rounds=2),
        await sessions.start("brainstorm", "lead:kyra", "contributor:luke", "contributor:ada", context=context),
        await sessions.start("consensus", ("contributor:luke", None, yes), ("contributor:ada", None, yes)),
        await sessions.start(
            "consensus", "lead:kyra", ("contributor:luke", None, yes), ("contributor:ada", None, "Options: no"),
            max_rounds=2,
        ),
        await sessions.start("delegation", "worker:luke"),
        await sessions.start(
            "supervisor_worker", "lead:kyra", "worker:luke", "worker:ada", ("reviewer:zara", None, approved),
            template="architect_developer_reviewer", goal="Read the file. Parse the file. Test the parser.",
        ),
    ]  # fmt: skip

    ended = await until_ended(sessions, *started)

    codes = {one.id: one.error_code for one in ended}
    assert [codes[one.id] for one in started] == [None, None, None, "ROUNDS_EXHAUSTED", None, None, None, None, None]
    assert all(one.result for one in ended), "what was made is kept, also where the rounds ran out"
    assert [one.converged for one in ended[5:7]] == [True, False]
    assert (ended[6].result or "").startswith("No consensus: 1 of 2 votes for 'yes' after 2 rounds (50%)")
    for one in started:
        stages = await sessions.stages(one)
        assert {stage.status for stage in stages} == {StageStatus.COMPLETED}
        assert sum(stage.tokens_used for stage in stages) == sum(task.tokens_used for task in await sessions.tasks(one))
    plan, *work, review, report = await sessions.stages(started[-1])
    assert (plan.kind, review.kind, report.kind) == (StageKind.PLAN, StageKind.REVIEW, StageKind.REPORT)
    assert {stage.kind for stage in work} == {StageKind.WORK}
    assert await desk.reserved() == 0


async def test_managed_and_external_agents_side_by_side(sessions: Sessions, desk: Desk, worker: None) -> None:
    """In every pattern, max's own program and managed agents take turns; it works on whatever comes, in any order."""
    for slug in ("max", "max2"):
        await desk.agent(slug, runtime="external")
    approved = {"verdict": "approved", "feedback": "Fine."}
    developed = {"status": "completed", "changes": NOTHING, "summary": "Parsed."}
    reviewed = {"verdict": "approved", "findings": [], "summary": "Good.", "verification": PASSED}
    template = {"template": "architect_developer_reviewer", "goal": "Read the file. Parse the file."}
    no = ("contributor:luke", None, "Options: no")
    started = [
        await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", "worker:max"),
        await sessions.start("supervisor_worker", "lead:max", "worker:luke"),
        await sessions.start("pipeline", ("worker:luke", "read"), ("worker:max", "judge"), ("worker:ada", "ship")),
        await sessions.start("peer_review", "worker:luke", "reviewer:max"),
        await sessions.start("brainstorm", "lead:kyra", "contributor:luke", "contributor:max"),
        await sessions.start("consensus", "lead:kyra", no, "contributor:max"),
        await sessions.start("delegation", "lead:kyra", "worker:max"),
        await sessions.start("supervisor_worker", "lead:kyra", "worker:max", "reviewer:max2", **template),
    ]

    def output(task: Task) -> dict[str, Any] | None:
        own = {"task_id": to_global(Prefix.TASK, task.id)}
        if task.contract_id is not None:
            return own | (developed if task.assignee_id == desk.agents["max"].id else reviewed)
        properties = (task.output_schema or {}).get("properties", {})
        return NO if "choice" in properties else approved if "verdict" in properties else None

    async def own_program(slug: str) -> None:
        while True:
            task = await desk.claim(slug)
            if task is None:
                await asyncio.sleep(0.05)
            else:
                await sessions.finish(task, f"By {slug}.", output(task))

    programs = [asyncio.create_task(own_program(slug)) for slug in ("max", "max2")]
    ended = await until_ended(sessions, *started)
    for program in programs:
        program.cancel()

    assert [(one.status, one.error_code) for one in ended] == [(CollaborationStatus.COMPLETED, None)] * len(started)
    for one in started:
        stages = await sessions.stages(one)
        assert "By max." in {stage.output for stage in stages}
        assert len(stages) == 1 or len({stage.agent_id for stage in stages}) > 1
    vote = ended[5]
    assert (vote.converged, vote.round) == (True, 1)
    assert (vote.result or "").startswith("Consensus: 2 of 2 votes for 'no' after 1 round (100%)")
    assert {vote.reason == NO["reason"] for vote in await sessions.votes(vote)} == {True, False}
    assert await desk.reserved() == 0


async def calls_of(desk: Desk, *tasks: Task) -> list[str]:
    async with desk.transaction() as session:
        made = select(ToolCall.name).where(ToolCall.task_id.in_([task.id for task in tasks]))
        return list(await session.scalars(made))


async def test_an_agent_starts_a_session_and_reports_what_it_came_to(
    sessions: Sessions, desk: Desk, worker: None
) -> None:
    """Whoever starts it leads it. What works for a session is not offered the tool: sessions never nest."""
    for slug in ("kyra", "luke", "ada", "zara"):
        await desk.agent(slug)
    nested = '@tool start_collaboration {"pattern": "delegation"}'
    wanted = {
        "pattern": "brainstorm",
        "goal": "How do we cache?",
        "participants": [
            {"agent": "@Luke", "role": "contributor", "instructions": nested},
            {"agent": "ada", "role": "contributor"},
        ],
    }
    unsuitable = wanted | {"pattern": "peer_review"}
    told = "\n".join(f"@tool start_collaboration {json.dumps(one)}" for one in (unsuitable, wanted))
    task = await desk.delegate("zara", "kyra", instructions=f"Find out.\n{told}", max_tokens=100_000)
    await until_status(desk, task, TaskStatus.COMPLETED)

    async with desk.transaction() as session:
        started = (await session.scalars(select(Collaboration))).one()
        refused, made = await session.scalars(select(ToolCall).order_by(ToolCall.id))
    (done,) = await until_ended(sessions, started)

    assert (refused.error or "").startswith("PARTICIPANTS_UNSUITABLE: ")
    assert "Started as collab_" in (made.result or "")
    assert (done.status, done.lead_id) == (CollaborationStatus.COMPLETED, desk.agents["kyra"].id)
    stages = await sessions.tasks(started)
    assert [tool.name for tool in COLLABORATION_TOOLS if tool.offered(stages[0])] == []
    assert await calls_of(desk, *stages) == [], "what an agent wrote is no directive"
    assert {(stage.origin_id, stage.chain_root_id) for stage in stages} == {(task.id, task.id)}
    asked = f'@tool check_collaboration {{"session_id": "{to_global(Prefix.COLLABORATION, started.id)}"}}'
    after = await desk.delegate("zara", "kyra", instructions=f"Tell.\n{asked}", max_tokens=100_000)
    other = await desk.delegate("zara", "luke", instructions=f"Tell.\n{asked}", max_tokens=100_000)
    read = await until_status(desk, after, TaskStatus.COMPLETED)
    peeked = await until_status(desk, other, TaskStatus.COMPLETED)
    assert "COMPLETED: " in (read.result or "")
    assert "You lead no such session" in (peeked.result or "")


async def test_an_agent_starts_sessions_of_groups_and_templates_within_what_its_task_may(
    sessions: Sessions, desk: Desk, worker: None
) -> None:
    """The task may ask luke alone and use one tool: so may all that works for its sessions."""
    for slug in ("kyra", "luke", "ada", "zara"):
        await desk.agent(slug)
    crew, ada = {"group": "crew", "role": "worker"}, {"agent": "ada", "role": "worker"}
    gates = [
        {"slug": slug, "name": slug, "pattern": "delegation", "participants": [{"agent": lead, "role": "lead"}, crew]}
        for slug, lead in (("gate", "kyra"), ("zaras", "zara"))
    ]
    async with desk.transaction() as session:
        (await session.get_one(Team, desk.team_id)).collaboration_templates = gates
        spec = GroupSpec(slug="crew", name="Crew", agents=("luke",))
        await groups.save(session, team_id=desk.team_id, spec=spec, actor=ACTOR)
    own = crew | {"instructions": '@tool delegate_task {"agent": "ada", "title": "a", "instructions": "b"}'}
    asked: list[dict[str, Any]] = [
        {"team_template": "Gate"},
        {"pattern": "delegation", "participants": [own]},
        {"team_template": "zaras"},
        {"team_template": "gate", "participants": [crew]},
        {"pattern": "delegation", "participants": [ada]},
        {"pattern": "delegation", "participants": [{"group": "crow", "role": "worker"}]},
        {"pattern": "delegation", "participants": [crew | ada]},
        {"pattern": "delegation"},
        {},
    ]
    told = "\n".join(f"@tool start_collaboration {json.dumps({'goal': 'Cache?'} | one)}" for one in asked)
    only: dict[str, Any] = {"tools": ["start_collaboration"], "may_ask": ["luke"]}
    task = await desk.delegate("zara", "kyra", instructions=told, max_tokens=100_000, **only)
    await until_status(desk, task, TaskStatus.COMPLETED)

    async with desk.transaction() as session:
        started = list(await session.scalars(select(Collaboration).order_by(Collaboration.id)))
        calls = list(await session.scalars(select(ToolCall).where(ToolCall.task_id == task.id).order_by(ToolCall.id)))
    by_template, by_group = await until_ended(sessions, *started)
    assert [(call.error or "NONE").split(":")[0] for call in calls] == [
        "NONE", "NONE", "CONFLICT", "INVALID_INPUT", "AUTHORITY_EXCEEDED", "NOT_FOUND", "INVALID_INPUT",
        "PARTICIPANTS_UNSUITABLE", "INVALID_INPUT",
    ]  # fmt: skip
    assert "the agent 'ada'" in (calls[4].error or "")
    assert (by_template.team_template, by_template.status) == ("gate", CollaborationStatus.COMPLETED)
    assert {one.lead_id for one in started} == {desk.agents["kyra"].id}
    assert await calls_of(desk, *await sessions.tasks(by_group)) == []
    for stage in [*await sessions.tasks(by_template), *await sessions.tasks(by_group)]:
        assert (stage.assignee_id, stage.allowed_agents) == (desk.agents["luke"].id, [desk.agents["luke"].id])
        assert stage.allowed_tools == ["start_collaboration"]


async def test_a_managed_lead_is_asked_what_becomes_of_a_failure(sessions: Sessions, desk: Desk, worker: None) -> None:
    for slug in ("kyra", "luke", "ada"):
        await desk.agent(slug)
    broken = ("worker:luke", None, "@fail final The disk is full.")

    def start(own: str = "", **more: str) -> Any:
        return sessions.start("supervisor_worker", ("lead:kyra", None, own), broken, **more)

    again, other, stop = await start("@wait 0"), await start("Options: reassign"), await start("Options: abort")
    retried, reassigned, aborted = await until_ended(sessions, again, other, stop)

    assert (retried.error_code, aborted.error_code) == ("STAGE_FAILED", "ABORTED")
    assert "tried 3 times" in (retried.error_message or "")
    kinds = [stage.kind for stage in await sessions.stages(again)]
    assert kinds == [StageKind.WORK, StageKind.DECISION, StageKind.WORK, StageKind.DECISION, StageKind.WORK]
    first, decision, second = (await sessions.stages(other))[:3]
    assert (first.superseded, second.agent_id) == (True, desk.agents["ada"].id)
    assert decision.data is not None
    assert decision.data["decision"] == "reassign"
    (asked,) = [task for task in await sessions.tasks(other) if task.id == decision.task_id]
    assert "The disk is full." in asked.context
    assert "The disk is full." not in asked.instructions
    assert reassigned.error_code == "STAGE_FAILED", "the seat's own instructions fail whoever has it"
    assert await desk.reserved() == 0
