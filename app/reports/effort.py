"""Which model tier a report deserves: the middle one, or the strongest for what is deep, long or hard. Pure."""

from __future__ import annotations

from app.reports.spec import ReportSpec
from app.routing.complexity import complexity_of
from app.routing.tier import TOP_FROM

MIDDLE, TOP = 1, 2
MANY_SECTIONS = 7  # that have to be there


def tier_of(spec: ReportSpec) -> int:
    asked = f"{spec.title}\n{_told(spec)}\n{spec.context}"
    hard = complexity_of(asked).overall >= TOP_FROM
    return TOP if spec.template.deep or hard or len(spec.required) >= MANY_SECTIONS else MIDDLE


def _told(spec: ReportSpec) -> str:
    lists = (value if isinstance(value, list) else [value] for value in spec.parameters.values())
    return "\n".join(str(item) for items in lists for item in items)
