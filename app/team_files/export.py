"""Writes a team as a team file that, applied to it, changes nothing."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from uuid import UUID

import yaml
from sqlalchemy.ext.asyncio import AsyncSession

from app.collaborations.templates import SECTION, as_stored
from app.errors import NotFound
from app.team_files.current import CurrentTeam
from app.team_files.queries import agents_by_slug, current
from app.team_files.scalars import resolve
from app.teams.models import Team

WIDTH = 110
_ODD_LINE_BREAKS = re.compile("[\r\x85\u2028\u2029]")


async def export(session: AsyncSession, *, team_id: UUID) -> str:
    """Without archived agents, which are not part of a team's configuration."""
    team = await session.get(Team, team_id)
    if team is None:
        raise NotFound("This team no longer exists.")
    team_now = await current(session, team, await agents_by_slug(session, team_id))
    return await asyncio.to_thread(to_yaml, team_now)  # a large team takes a second


def to_yaml(team: CurrentTeam) -> str:
    described: dict[str, Any] = {"version": 1, **team.settings}
    for name in ("after_work_behavior", "message_policy"):
        described[name] = str(team.settings[name].value)
    for name in ("runtime_variables", "input_variables"):
        described[name] = {variable: str(kind) for variable, kind in team.settings[name].items()}
    if team.default_agent is not None:
        described["default_agent"] = team.default_agent
    described["feature_flags"] = dict(team.feature_flags)
    caps = {name: float(cap) for name, cap in team.budgets if cap is not None}
    if caps:
        described["budgets"] = caps
    described["agents"] = [agent.model_dump(mode="json", exclude_defaults=True) for agent in team.agents.values()]
    if team.groups:
        described["groups"] = [group.model_dump(mode="json", exclude_defaults=True) for group in team.groups]
    described["handoffs"] = [rule.model_dump(mode="json", exclude_defaults=True) for rule in team.rules]
    if team.templates:
        described[SECTION] = as_stored(team.templates)
    return yaml.dump(described, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=WIDTH)


class _Writer(yaml.SafeDumper):
    """Quotes whatever our reader would not take for text, and writes long texts as blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=_style(data))


def _style(text: str) -> str | None:
    if _ODD_LINE_BREAKS.search(text) or _is_no_text(text):
        return '"'
    return "|" if "\n" in text else None


def _is_no_text(text: str) -> bool:
    try:
        return not isinstance(resolve(text), str)
    except ValueError:
        return True


_Writer.add_representer(str, _Writer.represent_text)
