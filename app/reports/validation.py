"""Whether a report keeps to its template, and what is missing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.reports.formats import parse
from app.reports.models import KEPT_SECTIONS, ReportFormat, SectionKind
from app.reports.objects import has_object
from app.reports.parsing import Part
from app.reports.templates import Template, title_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """`missing` are the names of sections that are not there or say nothing. Without problems it is valid."""

    parts: tuple[Part, ...]
    missing: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        return not self.problems


def examine(
    text: str, form: ReportFormat, template: Template, *, required: Sequence[str], max_sections: int
) -> Verdict:
    parts = parse(text, form, template.sections)
    said = {part.name: bool(part.content) for part in parts}
    absent = [name for name in required if name not in said]
    empty = [name for name, filled in said.items() if not filled]
    problems = [f"The section {name} ({title_of(name)}) is missing." for name in absent]
    problems += [f"The section {name} ({title_of(name)}) says nothing." for name in empty]
    if form is ReportFormat.JSON and not has_object(text):
        problems.insert(0, "The text holds no JSON object that can be read.")
    if len(parts) > max_sections:
        problems.append(f"There are {len(parts)} sections; at most {max_sections} were asked for.")
    missing = [*absent, *(name for name in empty if name in required)]
    return Verdict(tuple(parts[:KEPT_SECTIONS]), tuple(missing), tuple(problems))


def kind_of(name: str, template: Template, required: Sequence[str]) -> SectionKind:
    if name in required:
        return SectionKind.REQUIRED
    return SectionKind.OPTIONAL if name in template.sections else SectionKind.ADDITIONAL
