"""One agent does one piece of work. Pure."""

from __future__ import annotations

from app.collaborations.models import ParticipantRole, StageKind
from app.collaborations.patterns.state import Finish, Order, Orders, State, Step, Wait


def next_step(state: State) -> Step:
    (worker,) = state.seated(ParticipantRole.WORKER)
    order = Order(StageKind.WORK, 1, worker.slot, worker.slot, worker.stage or "work")
    stage = state.find(order.key)
    if stage is None:
        return Orders((order,))
    return Finish(stage.output) if stage.done else Wait()
