"""One stage after the other; each is given the outputs of all before it. Pure."""

from __future__ import annotations

from app.collaborations.models import StageKind
from app.collaborations.patterns.state import Finish, Order, Orders, State, Step, Wait


def next_step(state: State) -> Step:
    seats = sorted(state.seats, key=lambda seat: seat.slot)
    for place, seat in enumerate(seats):
        stage = state.find((StageKind.STEP, 1, seat.slot))
        if stage is None:
            reads = tuple((StageKind.STEP, 1, before.slot) for before in seats[:place])
            order = Order(StageKind.STEP, 1, seat.slot, seat.slot, seat.stage or f"stage {place + 1}", reads)
            return Orders((order,), later=len(seats) - place - 1)
        if not stage.done:
            return Wait()
    last = state.find((StageKind.STEP, 1, seats[-1].slot))
    assert last is not None
    return Finish(last.output)
