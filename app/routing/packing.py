"""A decision's candidates as one whole number each, so that a replay reads one row a decision instead of one an agent.

From the highest bit: skill match, past performance, personality fit, load balance, 14 bits each in ten-thousandths;
then 7 bits for the place among equal scores. Candidates lie in that order of places, so it is their index, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from app.routing.score import UNITS, Candidate, Signals, units

SIGNAL_BITS, PLACE_BITS = 14, 7
PLACES = (1 << PLACE_BITS) - 1  # more candidates than that are told apart by their index alone


def packed(candidates: Iterable[Candidate], ids: Mapping[str, UUID]) -> dict[str, Any]:
    """The columns of a decision that a replay reads; `ids` are the agents' by slug."""
    ordered = sorted(candidates, key=_among_equals)
    return {
        "candidate_ids": [ids[candidate.slug] for candidate in ordered],
        "candidate_signals": [pack(candidate.signals, place) for place, candidate in enumerate(ordered, 1)],
    }


def pack(signals: Signals, place: int) -> int:
    """`place` counts from 1; the first wins among equal scores."""
    number = 0
    for value in signals:
        number = number << SIGNAL_BITS | units(value)
    return number << PLACE_BITS | max(PLACES + 1 - place, 0)


def unpack(number: int) -> Signals:
    shifts = range(PLACE_BITS + 3 * SIGNAL_BITS, 0, -SIGNAL_BITS)
    return Signals(*((number >> shift & 2**SIGNAL_BITS - 1) / UNITS for shift in shifts))


def _among_equals(candidate: Candidate) -> tuple[float, float, str]:
    return -candidate.signals.skill_match, -candidate.signals.load_balance, candidate.slug
