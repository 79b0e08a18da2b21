"""Architect, developers, reviewers: a plan, its tasks as soon as what they need is done, a review, revisions until it
is approved or the rounds run out, and a report. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.collaborations.models import ParticipantRole, StageKind
from app.collaborations.patterns.peer_review import APPROVED, verdict_of
from app.collaborations.patterns.state import (
    Fail,
    Key,
    Order,
    Orders,
    Seat,
    State,
    Step,
    Wait,
    all_done,
    missing,
    synthesized,
)

MOST_TASKS = 12


@dataclass(frozen=True, slots=True)
class Planned:
    """A task of the plan; `needs` are the places of earlier ones, from 0."""

    title: str
    description: str
    needs: tuple[int, ...]


def next_step(state: State) -> Step:
    lead, developers = state.lead, state.seated(ParticipantRole.WORKER)
    assert lead is not None
    plan = Order(StageKind.PLAN, 1, lead.slot, 0, "plan")
    drawn = state.find(plan.key)
    if drawn is None:
        return Orders((plan,), later=len(developers) + 2)
    if not drawn.done:
        return Wait()
    round = max(state.last_round(StageKind.REVISION), 1)
    work = _work(plan.key, planned(drawn.data), developers) if round == 1 else _revisions(state, round)
    if not all_done(state, work):
        due = missing(state, [order for order in work if _ready(state, order)])
        return Orders(due, later=2) if due else Wait()
    return _review(state, lead, round, work)


def planned(data: dict[str, Any] | None) -> list[Planned]:
    """The plan's tasks in order. A task can only need earlier ones: what else it names is passed over, so that no
    two wait for each other."""
    tasks = (data or {}).get("tasks") or []
    return [
        Planned(
            str(task["title"]),
            str(task["description"]),
            tuple(sorted({number - 1 for number in task.get("needs") or () if 1 <= number <= place})),
        )
        for place, task in enumerate(tasks[:MOST_TASKS])
    ]


def _work(plan: Key, tasks: list[Planned], developers: list[Seat]) -> list[Order]:
    """Each developer in turn gets a task."""
    return [
        Order(
            StageKind.WORK,
            1,
            developers[place % len(developers)].slot,
            place,
            task.title[:120] or "work",
            (plan, *((StageKind.WORK, 1, need) for need in task.needs)),
            task.description,
        )
        for place, task in enumerate(tasks)
    ]


def _ready(state: State, order: Order) -> bool:
    found = [state.find(key) for key in order.reads]
    return all(stage is not None and stage.done for stage in found)


def _revisions(state: State, round: int) -> list[Order]:
    """Whoever worked revises its own work, by the reviews of the round before."""
    before = _latest_work(state, round - 1)
    reviews = tuple(stage.key for stage in state.of(StageKind.REVIEW, round - 1))
    slots = sorted({stage.slot for stage in before})
    own = {slot: tuple(stage.key for stage in before if stage.slot == slot) for slot in slots}
    return [Order(StageKind.REVISION, round, slot, slot, "revision", own[slot] + reviews) for slot in slots]


def _latest_work(state: State, round: int) -> list[Any]:
    return state.of(StageKind.WORK if round == 1 else StageKind.REVISION, round)


def _review(state: State, lead: Seat, round: int, work: list[Order]) -> Step:
    made = tuple(order.key for order in work)
    reviews = [
        Order(StageKind.REVIEW, round, seat.slot, seat.slot, "review", made)
        for seat in state.seated(ParticipantRole.REVIEWER)
    ]
    if due := missing(state, reviews):
        return Orders(due, later=1)
    if not all_done(state, reviews):
        return Wait()
    if all(verdict_of(state, order.key) == APPROVED for order in reviews):
        reads = (*made, *(order.key for order in reviews))
        return synthesized(state, Order(StageKind.REPORT, round, lead.slot, lead.slot, "report", reads))
    if round >= state.rounds:
        kept = "\n\n".join(stage.output for stage in _latest_work(state, round))
        return Fail("ROUNDS_EXHAUSTED", f"Not approved after {round} rounds; the last work is kept.", kept)
    return Orders(missing(state, _revisions(state, round + 1)), later=2)
