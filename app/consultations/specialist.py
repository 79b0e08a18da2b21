"""Who answers: the best of the scored agents, or the one that was suggested where it is about as good. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

MARGIN = 0.05  # of the overall score that a suggested agent may be behind the best


@dataclass(frozen=True, slots=True)
class Scored:
    agent_id: UUID
    name: str
    overall: float
    skill_match: float
    skills: Sequence[str]


@dataclass(frozen=True, slots=True)
class Suggestion:
    agent_id: UUID
    name: str
    active: bool = True


@dataclass(frozen=True, slots=True)
class Specialist:
    """No agent: nobody suits. `followed` is None where nobody was suggested."""

    agent_id: UUID | None
    because: str
    followed: bool | None = None


def choose_specialist(
    scored: Sequence[Scored],
    *,
    chosen: UUID | None,
    requester_id: UUID,
    suggested: Suggestion | None = None,
    skill_floor: float = 0.0,
) -> Specialist:
    """`scored` are the active agents but the one that asks; `chosen` is whom routing took for a matching skill."""
    known = {one.agent_id: one for one in scored if one.agent_id != requester_id}
    best = known.get(chosen) if chosen is not None else None
    if suggested is None:
        return Specialist(best.agent_id, _praise(best)) if best else Specialist(None, _NOBODY)
    hint = known.get(suggested.agent_id)
    refused = _refusal(suggested, hint, best, requester_id, skill_floor)
    if refused is None and hint is not None:
        about = "the best match" if best is None or best.agent_id == hint.agent_id else f"about as good as {best.name}"
        return Specialist(hint.agent_id, f"{_praise(hint)} It was suggested and is {about}.", followed=True)
    if best is None:
        return Specialist(None, f"{_NOBODY} {refused}", followed=False)
    return Specialist(best.agent_id, f"{_praise(best)} {refused}", followed=False)


_NOBODY = "No active agent's skills match the question."


def _praise(one: Scored) -> str:
    skills = f" for {', '.join(one.skills[:5])}" if one.skills else ""
    return f"{one.name} was chosen{skills} (score {one.overall:.2f}, skill match {one.skill_match:.2f})."


def _refusal(
    suggested: Suggestion, hint: Scored | None, best: Scored | None, requester_id: UUID, skill_floor: float
) -> str | None:
    """Why a suggestion is not followed."""
    said = f"{suggested.name} was suggested, but"
    if suggested.agent_id == requester_id:
        return f"{said} asks itself."
    if not suggested.active:
        return f"{said} is not active."
    if hint is None or hint.skill_match < skill_floor:
        return f"{said} its skills do not match the question."
    if best is not None and hint.overall < best.overall - MARGIN:
        return f"{said} has a score of {hint.overall:.2f} only."
    return None
