"""Feature flags: off by default, set for the installation, overridable per team."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from app.config import Flags
from app.errors import AppError


class FeatureFlag(StrEnum):
    AGENT_COLLABORATION = "agent_collaboration"
    EXPERT_GATE = "expert_gate"
    ENSEMBLE_MODE = "ensemble_mode"
    TASK_DELEGATION = "task_delegation"
    COLLABORATION = "collaboration"


class FeatureDisabled(AppError):
    code = "FEATURE_DISABLED"

    def __init__(self, flag: FeatureFlag) -> None:
        super().__init__(
            f"The feature flag {flag.value} is off for this team. An admin can turn it on with setFeatureFlags.",
            flag=flag.name,
        )


def is_on(flag: FeatureFlag, installation: Flags, team: Mapping[str, bool]) -> bool:
    """The team's word counts; without one, the installation's."""
    return bool(team.get(flag.value, getattr(installation, flag.value)))


def require(flag: FeatureFlag, installation: Flags, team: Mapping[str, bool]) -> None:
    if not is_on(flag, installation, team):
        raise FeatureDisabled(flag)
