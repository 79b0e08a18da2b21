"""What a pattern looks at and what it answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.collaborations.models import ParticipantRole, StageKind, StageStatus

Key = tuple[StageKind, int, int]


@dataclass(frozen=True, slots=True)
class Seat:
    """A participant: where it sits, what it is there for, and the name of its stage where it has one."""

    slot: int
    role: ParticipantRole
    stage: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage that was ordered. One that failed counts as open: somebody decides, and it is done or ordered again."""

    kind: StageKind
    round: int
    part: int
    slot: int
    status: StageStatus
    output: str = ""
    data: dict[str, Any] | None = None

    @property
    def key(self) -> Key:
        return (self.kind, self.round, self.part)

    @property
    def done(self) -> bool:
        return self.status is StageStatus.COMPLETED


@dataclass(frozen=True, slots=True)
class State:
    """A session as its pattern sees it. `threshold` is the share of votes that makes a consensus."""

    seats: tuple[Seat, ...]
    rounds: int
    stages: tuple[Stage, ...] = ()
    options: tuple[str, ...] = ()
    threshold: float = 1.0

    @property
    def lead(self) -> Seat | None:
        return next((seat for seat in self.seats if seat.role is ParticipantRole.LEAD), None)

    def seated(self, *roles: ParticipantRole) -> list[Seat]:
        return [seat for seat in self.seats if seat.role in roles]

    def find(self, key: Key) -> Stage | None:
        return next((stage for stage in self.stages if stage.key == key), None)

    def of(self, kind: StageKind, round: int) -> list[Stage]:
        """The stages of a kind in a round, side by side."""
        return sorted((one for one in self.stages if (one.kind, one.round) == (kind, round)), key=lambda one: one.part)

    def last_round(self, kind: StageKind) -> int:
        return max((stage.round for stage in self.stages if stage.kind is kind), default=0)


@dataclass(frozen=True, slots=True)
class Order:
    """A stage to be ordered. `reads` are the stages whose outputs it is given, `ask` what only this one is told to do,
    `about` what it is given to know, `choices` whom it may name."""

    kind: StageKind
    round: int
    slot: int
    part: int
    name: str
    reads: tuple[Key, ...] = ()
    ask: str = ""
    about: str = ""
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return (self.kind, self.round, self.part)


@dataclass(frozen=True, slots=True)
class Orders:
    """Stages that start now, side by side; about `later` more are still to be paid after them."""

    orders: tuple[Order, ...]
    later: int = 0


@dataclass(frozen=True, slots=True)
class Synthesize:
    """The last stage: somebody puts everything together."""

    order: Order


@dataclass(frozen=True, slots=True)
class Finish:
    """`agreement` and `converged` are a consensus's own."""

    output: str
    agreement: float | None = None
    converged: bool | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """What was made so far is kept; `output` is the best of it."""

    code: str
    reason: str
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """For stages that are open."""


Step = Orders | Synthesize | Finish | Fail | Wait


def missing(state: State, wanted: Iterable[Order]) -> tuple[Order, ...]:
    """Those that were not ordered yet: what stands among the stages is never ordered again."""
    return tuple(order for order in wanted if state.find(order.key) is None)


def all_done(state: State, wanted: Iterable[Order]) -> bool:
    found = [state.find(order.key) for order in wanted]
    return all(stage is not None and stage.done for stage in found)


def synthesized(state: State, order: Order) -> Step:
    """Have the last stage done; its output is the session's."""
    stage = state.find(order.key)
    if stage is None:
        return Synthesize(order)
    return Finish(stage.output) if stage.done else Wait()
