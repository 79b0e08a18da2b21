"""One works, others review, the first revises, until all of them approve or the rounds run out. Pure."""

from __future__ import annotations

from app.collaborations.models import ParticipantRole, StageKind
from app.collaborations.patterns.state import Fail, Finish, Key, Order, Orders, State, Step, Wait, all_done, missing

APPROVED = "approved"


def next_step(state: State) -> Step:
    (worker,) = state.seated(ParticipantRole.WORKER)
    reviewers = state.seated(ParticipantRole.REVIEWER)
    round = max(state.last_round(StageKind.WORK), state.last_round(StageKind.REVISION), 1)
    made = Order(StageKind.WORK if round == 1 else StageKind.REVISION, round, worker.slot, worker.slot, "work")
    work = state.find(made.key)
    if work is None:
        return Orders((made,), later=len(reviewers))
    if not work.done:
        return Wait()
    reviews = [Order(StageKind.REVIEW, round, seat.slot, seat.slot, "review", (made.key,)) for seat in reviewers]
    if due := missing(state, reviews):
        return Orders(due)
    if not all_done(state, reviews):
        return Wait()
    if all(verdict_of(state, order.key) == APPROVED for order in reviews):
        return Finish(work.output)
    if round >= state.rounds:
        return Fail("ROUNDS_EXHAUSTED", f"Not approved in {_rounds(round)}; the last work is kept.", work.output)
    reads = (made.key, *(order.key for order in reviews))
    revision = Order(StageKind.REVISION, round + 1, worker.slot, worker.slot, "revision", reads)
    return Orders((revision,), later=len(reviewers))


def verdict_of(state: State, key: Key) -> str | None:
    stage = state.find(key)
    return str(stage.data["verdict"]) if stage and stage.data and "verdict" in stage.data else None


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"
