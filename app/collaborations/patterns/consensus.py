"""Everybody votes unseen by the others, then again with all votes and reasons in view, until enough agree or the
rounds run out. Which of the two it was is said. Pure."""

from __future__ import annotations

from app.collaborations.convergence import Agreement, agreement
from app.collaborations.models import ParticipantRole, StageKind
from app.collaborations.patterns.state import (
    Finish,
    Order,
    Orders,
    Stage,
    State,
    Step,
    Synthesize,
    Wait,
    all_done,
    missing,
)


def next_step(state: State) -> Step:
    voters = [seat for seat in state.seats if seat.role is not ParticipantRole.LEAD]
    round = max(state.last_round(StageKind.VOTE), 1)
    ballot = [Order(StageKind.VOTE, round, seat.slot, seat.slot, "vote", _before(state, round)) for seat in voters]
    if due := missing(state, ballot):
        return Orders(due, later=1)
    if not all_done(state, ballot):
        return Wait()
    found = agreement(state.options, [choice_of(stage) for stage in state.of(StageKind.VOTE, round)])
    converged = found.reaches(state.threshold)
    if not converged and round < state.rounds:
        again = tuple(
            Order(StageKind.VOTE, round + 1, seat.slot, seat.slot, "vote", _before(state, round + 1)) for seat in voters
        )
        return Orders(again, later=1)
    return _close(state, round, found, converged)


def choice_of(stage: Stage) -> str:
    return str((stage.data or {}).get("choice", ""))


def _before(state: State, round: int) -> tuple[tuple[StageKind, int, int], ...]:
    return tuple(stage.key for stage in state.of(StageKind.VOTE, round - 1))


def _close(state: State, round: int, found: Agreement, converged: bool) -> Step:
    said = _said(state, round, found, converged)
    if state.lead is None:
        return Finish(said, found.share, converged)
    reads = tuple(stage.key for stage in state.of(StageKind.VOTE, round))
    order = Order(StageKind.SYNTHESIS, round, state.lead.slot, state.lead.slot, "synthesis", reads, said)
    stage = state.find(order.key)
    if stage is None:
        return Synthesize(order)
    return Finish(f"{said}\n\n{stage.output}", found.share, converged) if stage.done else Wait()


def _said(state: State, round: int, found: Agreement, converged: bool) -> str:
    rounds = "1 round" if round == 1 else f"{round} rounds"
    counted = f"{found.votes} of {found.cast} votes for '{found.option}' after {rounds} ({found.share:.0%})"
    needed = f"{state.threshold:.0%} were needed"
    return f"Consensus: {counted}; {needed}." if converged else f"No consensus: {counted}; {needed}."
