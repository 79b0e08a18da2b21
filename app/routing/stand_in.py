"""Who answers when nobody matches: the default agent; where that is left out, the current agent, or else nobody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

NOBODY = "No agent is active that could answer."
NO_MATCH = "No agent matches this well enough, so the default agent answers."
NO_DEFAULT = "No agent matches this well enough, and the team has no active default agent."
CURRENT_INSTEAD = "No agent matches this well enough and the default agent is left out, so the current agent answers."
NOBODY_INSTEAD = (
    "No agent matches this well enough and the default agent is left out, so nobody answers. Name an agent."
)
ALL_LEFT_OUT = "Every active agent is left out, so nobody answers."


@dataclass(frozen=True)
class StandIn:
    """`slug` is None when nobody steps in."""

    slug: str | None
    default_left_out: bool = False

    def told(self, *, anybody: bool) -> str:
        """What the user is told when it steps in. `anybody`: whether anybody was there to be compared."""
        if self.default_left_out:
            return CURRENT_INSTEAD if self.slug is not None else NOBODY_INSTEAD if anybody else ALL_LEFT_OUT
        return NO_MATCH if self.slug is not None else NO_DEFAULT if anybody else NOBODY


def stand_in(
    default: str | None, *, current: str | None, candidates: Collection[str], left_out: Collection[str]
) -> StandIn:
    """`candidates` are the active agents but those left out; a default agent that is not active is given as None."""
    if default not in left_out:
        return StandIn(default)
    return StandIn(current if current in candidates else None, default_left_out=True)
