"""The workers work side by side, then the lead puts their results together. Pure."""

from __future__ import annotations

from app.collaborations.models import ParticipantRole, StageKind
from app.collaborations.patterns.state import Order, Orders, State, Step, Wait, all_done, missing, synthesized


def next_step(state: State) -> Step:
    lead = state.lead
    assert lead is not None
    work = [
        Order(StageKind.WORK, 1, seat.slot, seat.slot, seat.stage or "work")
        for seat in state.seated(ParticipantRole.WORKER)
    ]
    if due := missing(state, work):
        return Orders(due, later=1)
    if not all_done(state, work):
        return Wait()
    reads = tuple(order.key for order in work)
    return synthesized(state, Order(StageKind.SYNTHESIS, 1, lead.slot, lead.slot, "synthesis", reads))
