"""Everybody gives a view of their own, unseen by the others; the lead puts the views together. Pure."""

from __future__ import annotations

from app.collaborations.models import ParticipantRole, StageKind
from app.collaborations.patterns.state import Order, Orders, State, Step, Wait, all_done, missing, synthesized


def next_step(state: State) -> Step:
    lead = state.lead
    assert lead is not None
    views = [
        Order(StageKind.CONTRIBUTION, 1, seat.slot, seat.slot, seat.stage or "contribution")
        for seat in state.seats
        if seat.role is not ParticipantRole.LEAD
    ]
    if due := missing(state, views):
        return Orders(due, later=1)
    if not all_done(state, views):
        return Wait()
    reads = tuple(order.key for order in views)
    return synthesized(state, Order(StageKind.SYNTHESIS, 1, lead.slot, lead.slot, "synthesis", reads))
