"""Says whether asking leads nowhere, by what was said in the last hour. Pure: values in, a verdict and its
evidence out.

Four ways: the same question a third time, waiting in a circle, more exchanges than five without progress, more open
consultations than three of one agent. Different questions that bring something new are progress and may go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from app.consultations.likeness import SAME, SIMILAR, particulars, stems_of
from app.consultations.models import ExchangeKind, LoopKind

WINDOW = timedelta(hours=1)
MOST_SAME = 2  # times that the same may be asked
MOST_EXCHANGES = 5  # without progress
MOST_ACTIVE = 3  # of one agent at a time
NEW_STEMS = 2  # words of meaning that were not there before make a question a new one
_SHOWN = 300  # characters of a text in the evidence
# What one says who only asks again.
_AGAIN = stems_of(
    "again still unclear clear explain explained clarify clarification understand understood repeat help please sure "
    "really answer answered question already detail details elaborate tell know confused sorry exactly works work "
    "working problem issue same thanks thank hello okay possible try tried happens happening wrong stuck"
)
Alike = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Said:
    """One exchange. `first` is what its consultation began with."""

    consultation_id: UUID
    number: int
    kind: ExchangeKind
    text: str
    at: datetime
    first: str

    @property
    def is_asked(self) -> bool:
        return self.kind is not ExchangeKind.RESPONSE


@dataclass(frozen=True, slots=True)
class Verdict:
    """No kind: healthy. `progress`: many exchanges, but each brings something new."""

    kind: LoopKind | None = None
    description: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    progress: bool = False


HEALTHY = Verdict()


def detect(
    said: Said, history: Sequence[Said], *, active: int = 0, circle: Sequence[str] = (), alike: Alike
) -> Verdict:
    """`said` is asked now; `history` is what the same agent asked and was answered before. `active` are its other open
    consultations, `circle` the agents that would wait for each other."""
    recent = sorted((one for one in history if said.at - one.at <= WINDOW), key=lambda one: (one.at, one.number))
    return (
        _identical(said, recent, alike)
        or _circular(circle)
        or _too_many(active)
        or _stalled(said, recent, alike)
        or HEALTHY
    )


def _identical(said: Said, recent: Sequence[Said], alike: Alike) -> Verdict | None:
    same = [(one, alike(said.text, one.text)) for one in recent if one.is_asked]
    same = [(one, value) for one, value in same if value > SAME]
    if len(same) < MOST_SAME:
        return None
    asked = [{"number": one.number, "text": one.text[:_SHOWN], "likeness": round(value, 3)} for one, value in same]
    return Verdict(
        LoopKind.IDENTICAL,
        f"The same question was asked {len(same) + 1} times within an hour.",
        {"question": said.text[:_SHOWN], "askedBefore": asked, "threshold": SAME},
    )


def _circular(circle: Sequence[str]) -> Verdict | None:
    if not circle:
        return None
    return Verdict(LoopKind.CIRCULAR, f"They would wait for each other: {' → '.join(circle)}.", {"path": list(circle)})


def _too_many(active: int) -> Verdict | None:
    if active < MOST_ACTIVE:
        return None
    text = f"The agent has {active} open consultations; {MOST_ACTIVE} are the most at a time."
    return Verdict(LoopKind.TOO_MANY, text, {"active": active, "limit": MOST_ACTIVE})


def _stalled(said: Said, recent: Sequence[Said], alike: Alike) -> Verdict | None:
    thread = [*_thread(said, recent, alike), said]
    if len(thread) <= MOST_EXCHANGES:
        return None
    newest = range(len(thread) - MOST_EXCHANGES, len(thread))
    if any(_gets_on(thread, place, alike) for place in newest if thread[place].is_asked):
        return Verdict(progress=True)
    shown = [{"number": one.number, "kind": one.kind.value, "text": one.text[:_SHOWN]} for one in thread]
    text = f"{len(thread)} exchanges on one matter, and the last {MOST_EXCHANGES} brought nothing new."
    return Verdict(LoopKind.STALL, text, {"exchanges": shown[-12:], "count": len(thread), "limit": MOST_EXCHANGES})


def _thread(said: Said, recent: Sequence[Said], alike: Alike) -> list[Said]:
    """What was said on the same matter: in this consultation, and in others that began with the like of it."""
    others = {one.first for one in recent if one.consultation_id != said.consultation_id}
    same = {first for first in others if _one_matter(first, said.first, alike)}
    return [one for one in recent if one.consultation_id == said.consultation_id or one.first in same]


def _one_matter(one: str, other: str, alike: Alike) -> bool:
    """Alike, and not because each asks for something else in the same words: the one model here, the other there."""
    mine, its = stems_of(one) - _AGAIN, stems_of(other) - _AGAIN
    swapped = bool(mine - its and its - mine) or particulars(one) != particulars(other)
    return not swapped and alike(one, other) >= SIMILAR


def _gets_on(thread: Sequence[Said], place: int, alike: Alike) -> bool:
    """Whether a question brought something: it is quite another one, or another one whose answer was new."""
    said, before = thread[place], thread[:place]
    if _is_new(said, [one for one in before if one.is_asked], before, alike):
        return True
    answered = thread[place + 1] if place + 1 < len(thread) else None
    if answered is None or answered.is_asked or not _novel(said, before):
        return False
    return _is_new(answered, [one for one in before if not one.is_asked], [*before, said], alike)


def _is_new(said: Said, of_its_kind: Sequence[Said], before: Sequence[Said], alike: Alike) -> bool:
    """Other names, or other words in number, and like nothing that was said on its side before."""
    if any(alike(said.text, one.text) >= SIMILAR for one in of_its_kind):
        return False
    return _names(said, before) or len(_novel(said, before)) >= NEW_STEMS


def _names(said: Said, before: Sequence[Said]) -> bool:
    return bool(particulars(said.text) - frozenset().union(*(particulars(one.text) for one in before)))


def _novel(said: Said, before: Sequence[Said]) -> frozenset[str]:
    """Its words of meaning, and its names, that nobody has said before."""
    known = frozenset().union(*(stems_of(one.text) | particulars(one.text) for one in before))
    return (stems_of(said.text) | particulars(said.text)) - _AGAIN - known
