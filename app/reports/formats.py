"""Which parser reads which format. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from app.reports import parsing
from app.reports.bullets import parse_bullets
from app.reports.markdown import parse_markdown
from app.reports.models import ReportFormat
from app.reports.objects import parse_json
from app.reports.parsing import Parser, Part

PARSERS: Mapping[ReportFormat, Parser] = {
    ReportFormat.MARKDOWN: parse_markdown,
    ReportFormat.JSON: parse_json,
    ReportFormat.BULLET_POINTS: parse_bullets,
}


def parse(text: str, form: ReportFormat, known: Collection[str]) -> list[Part]:
    return parsing.parse(text, form, known, PARSERS)
