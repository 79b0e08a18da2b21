"""Every pattern, driven through any order of ends: it comes to an end, orders nothing twice and loses no output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.collaborations.models import (
    CollaborationPattern,
    CollaborationTemplate,
    OnFailure,
    ParticipantRole,
    StageKind,
    StageStatus,
)
from app.collaborations.patterns.state import Fail, Finish, Order, Orders, Seat, Stage, State, Step, Synthesize, Wait
from app.collaborations.patterns.workflow import planned
from app.collaborations.steps import MOST_ATTEMPTS, Failed, next_step

LEAD, WORKER, REVIEWER, CONTRIBUTOR = ParticipantRole
BADLY = [StageStatus.FAILED, StageStatus.TIMED_OUT, StageStatus.CANCELLED]
OPTIONS = ("yes", "no", "later")
ADR = CollaborationTemplate.ARCHITECT_DEVELOPER_REVIEWER
SEATS: dict[Any, Any] = {
    CollaborationPattern.SUPERVISOR_WORKER: lambda n: [LEAD] + [WORKER] * n,
    CollaborationPattern.PIPELINE: lambda n: [WORKER] * n + [LEAD],
    CollaborationPattern.PEER_REVIEW: lambda n: [WORKER] + [REVIEWER] * min(n, 3),
    CollaborationPattern.BRAINSTORM: lambda n: [CONTRIBUTOR] * n + [LEAD],
    CollaborationPattern.CONSENSUS: lambda n: [CONTRIBUTOR] * (n + 1) + [LEAD] * (n % 2),
    CollaborationPattern.DELEGATION: lambda n: [WORKER],
    ADR: lambda n: [LEAD] + [WORKER] * n + [REVIEWER],
}


class Session:
    """A session without a database: it does what the steps say, and fate says how each stage ends."""

    def __init__(self, kind: Any, seats: int, rounds: int, fate: Any) -> None:
        self.template = kind if kind is ADR else None
        self.pattern = CollaborationPattern.SUPERVISOR_WORKER if kind is ADR else kind
        roles = SEATS[kind](seats)
        self.state = State(
            tuple(Seat(slot, role) for slot, role in enumerate(roles)), rounds, options=OPTIONS, threshold=2 / 3
        )
        self.fate = fate
        self.attempts: dict[Any, int] = {}
        self.made: list[str] = []
        self.on_failure = fate.draw(st.sampled_from(OnFailure))

    def run(self) -> Step:
        for _ in range(2_000):
            step = self.step()
            if isinstance(step, Finish | Fail):
                return step
            if isinstance(step, Wait):
                assert self.unfinished(), "it would wait for ever"
            assert self.step() == step, "who looks twice is told the same"
            for order in self.ordered(step):
                self.start(order)
            self.end_one(self.unfinished())
            for _ in range(self.fate.draw(st.integers(0, 2))):  # several may end before anybody looks
                self.end_one([one for one in self.unfinished() if not self.is_failed(one)])
        raise AssertionError("it does not end")

    def step(self) -> Step:
        failed = [Failed("x", "broke", self.attempts[one.key]) for one in self.state.stages if self.is_failed(one)]
        return next_step(self.pattern, self.template, self.state, failed=failed, on_failure=self.on_failure)

    @staticmethod
    def ordered(step: Step) -> tuple[Order, ...]:
        if isinstance(step, Synthesize):
            return (step.order,)
        return step.orders if isinstance(step, Orders) else ()

    def start(self, order: Order) -> None:
        assert self.state.find(order.key) is None, "ordered twice"
        assert 1 <= order.round <= self.state.rounds
        read = [self.state.find(key) for key in order.reads]
        assert all(stage is not None and stage.done for stage in read), "it reads what is not there"
        self.attempts[order.key] = self.attempts.get(order.key, 0) + 1
        assert self.attempts[order.key] <= MOST_ATTEMPTS
        stage = Stage(order.kind, order.round, order.part, order.slot, StageStatus.WORKING)
        self.state = replace(self.state, stages=(*self.state.stages, stage))

    def unfinished(self) -> list[Stage]:
        return [stage for stage in self.state.stages if not stage.done]

    @staticmethod
    def is_failed(stage: Stage) -> bool:
        return stage.status not in {StageStatus.WORKING, StageStatus.COMPLETED}

    def end_one(self, among: list[Stage]) -> None:
        """Any of these, whichever was first: it ends well or badly; a failed one is decided on."""
        if not among:
            return
        stage = self.fate.draw(st.sampled_from(among))
        others = tuple(one for one in self.state.stages if one is not stage)
        if self.is_failed(stage):
            decision = Stage(StageKind.DECISION, stage.round, len(self.state.stages), 0, StageStatus.COMPLETED, "retry")
            told = (decision,) if self.fate.draw(st.booleans()) else ()
            self.state = replace(self.state, stages=(*others, *told))  # another attempt
            return
        status = self.fate.draw(st.sampled_from([StageStatus.COMPLETED] * 5 + BADLY))
        output = f"<{len(self.made)}>"
        if status is StageStatus.COMPLETED:
            self.made.append(output)
        ended = replace(stage, status=status, output=output, data=self.data(stage.kind))
        self.state = replace(self.state, stages=(*others, ended))

    def data(self, kind: StageKind) -> dict[str, Any] | None:
        if kind is StageKind.VOTE:
            return {"choice": self.fate.draw(st.sampled_from(OPTIONS)), "reason": "so"}
        if kind is StageKind.REVIEW:
            return {"verdict": self.fate.draw(st.sampled_from(["approved", "changes_requested", "rejected"]))}
        if kind is StageKind.PLAN:
            needs = st.lists(st.integers(-2, 20), max_size=4)
            return {"tasks": [self._task(needs) for _ in range(self.fate.draw(st.integers(1, 5)))]}
        return None

    def _task(self, needs: Any) -> dict[str, Any]:
        return {"title": "t", "description": "d", "needs": self.fate.draw(needs)}


@pytest.mark.parametrize("kind", list(SEATS), ids=str)
@settings(max_examples=30, deadline=None)
@given(fate=st.data(), seats=st.integers(1, 4), rounds=st.integers(1, 4))
def test_it_ends_orders_nothing_twice_and_loses_nothing(kind: Any, fate: Any, seats: int, rounds: int) -> None:
    session = Session(kind, seats, rounds, fate)

    step = session.run()

    kept = [stage.output for stage in session.state.stages if stage.done and stage.kind is not StageKind.DECISION]
    assert sorted(kept) == sorted(session.made), "every output that was made is still there"
    if isinstance(step, Finish):
        assert not session.unfinished()
        assert step.output
        assert (step.converged is None) == (kind is not CollaborationPattern.CONSENSUS)
    else:
        assert isinstance(step, Fail)
        assert step.code in {"STAGE_FAILED", "ROUNDS_EXHAUSTED"}
        assert step.reason


def _state(*stages: Stage, roles: list[ParticipantRole], rounds: int = 5, **more: Any) -> State:
    return State(tuple(Seat(slot, role) for slot, role in enumerate(roles)), rounds, stages, **more)


def _done(kind: StageKind, part: int, output: str = "out", round: int = 1, **data: Any) -> Stage:
    return Stage(kind, round, part, part, StageStatus.COMPLETED, output, data or None)


def test_a_pipeline_hands_every_earlier_output_on() -> None:
    state = _state(_done(StageKind.STEP, 0), _done(StageKind.STEP, 1), roles=[WORKER] * 3)

    step = next_step(CollaborationPattern.PIPELINE, None, state)

    assert isinstance(step, Orders)
    assert [order.reads for order in step.orders] == [((StageKind.STEP, 1, 0), (StageKind.STEP, 1, 1))]


def test_a_review_that_asks_for_changes_leads_to_a_revision_and_approval_to_the_end() -> None:
    work = _done(StageKind.WORK, 0, "draft")
    asked = _state(work, _done(StageKind.REVIEW, 1, verdict="changes_requested"), roles=[WORKER, REVIEWER])
    revised = _done(StageKind.REVISION, 0, "better", round=2)
    approved = replace(asked, stages=(*asked.stages, revised, _done(StageKind.REVIEW, 1, round=2, verdict="approved")))
    last = replace(asked, rounds=1)

    step = next_step(CollaborationPattern.PEER_REVIEW, None, asked)
    assert isinstance(step, Orders)
    assert [(order.kind, order.round) for order in step.orders] == [(StageKind.REVISION, 2)]
    assert next_step(CollaborationPattern.PEER_REVIEW, None, approved) == Finish("better")
    ended = next_step(CollaborationPattern.PEER_REVIEW, None, last)
    assert isinstance(ended, Fail)
    assert (ended.code, ended.output) == ("ROUNDS_EXHAUSTED", "draft")


def test_a_consensus_says_whether_it_converged_and_how_far() -> None:
    def voted(*choices: str, round: int = 1) -> tuple[Stage, ...]:
        return tuple(
            _done(StageKind.VOTE, part, round=round, choice=choice, reason="so") for part, choice in enumerate(choices)
        )

    def step(*stages: Stage, rounds: int = 2) -> Step:
        state = _state(*stages, roles=[CONTRIBUTOR] * 3, rounds=rounds, options=OPTIONS, threshold=2 / 3)
        return next_step(CollaborationPattern.CONSENSUS, None, state)

    agreed = step(*voted("yes", "no", "yes"))
    assert isinstance(agreed, Finish)
    assert (agreed.converged, round(agreed.agreement or 0, 3)) == (True, 0.667)
    assert agreed.output == "Consensus: 2 of 3 votes for 'yes' after 1 round (67%); 67% were needed."
    again = step(*voted("yes", "no", "later"))
    assert isinstance(again, Orders)
    assert {order.round for order in again.orders} == {2}
    assert all(len(order.reads) == 3 for order in again.orders)
    ended = step(*voted("yes", "no", "later"), *voted("later", "no", "yes", round=2))
    assert isinstance(ended, Finish)
    assert ended.converged is False
    assert ended.output.startswith("No consensus: 1 of 3 votes for 'yes' after 2 rounds (33%)")


def test_a_plan_never_makes_tasks_wait_for_each_other() -> None:
    tasks = [{"title": "a", "description": "b", "needs": [1, 2, 99, -1]} for _ in range(3)]

    assert [task.needs for task in planned({"tasks": tasks})] == [(), (0,), (0, 1)]
    assert planned(None) == []


def test_stages_that_need_nothing_of_each_other_start_together() -> None:
    tasks = [{"title": str(n), "description": "d", "needs": [1] if n == 2 else []} for n in range(3)]
    plan = Stage(StageKind.PLAN, 1, 0, 0, StageStatus.COMPLETED, "plan", {"tasks": tasks})
    state = _state(plan, roles=[LEAD, WORKER, WORKER, REVIEWER])

    first = next_step(CollaborationPattern.SUPERVISOR_WORKER, ADR, state)

    assert isinstance(first, Orders)
    assert [(order.part, order.slot) for order in first.orders] == [(0, 1), (1, 2)]
    after = replace(state, stages=(plan, _done(StageKind.WORK, 0), replace(_done(StageKind.WORK, 1), slot=2)))
    then = next_step(CollaborationPattern.SUPERVISOR_WORKER, ADR, after)
    assert isinstance(then, Orders)
    assert [(order.part, order.slot, len(order.reads)) for order in then.orders] == [(2, 1, 2)]
