"""What a request for a report may look like: its fields, their limits, and what its template says of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, ValidationError

from app.agents.spec import Strict, problems_of, text
from app.contracts.documents import require_document
from app.errors import FieldProblem, InvalidInput
from app.reports.models import MAX_SECTIONS, MAX_TITLE, ReportFormat, ReportType
from app.reports.parameters import unfit
from app.reports.templates import TEMPLATES, Template

SECTIONS = 10
MOST_CONTEXT = 50_000
MOST_PARAMETERS_BYTES = 50_000


class ReportSpec(Strict):
    """`sections` are those optional ones of the template that have to be there as well."""

    type: ReportType
    title: Annotated[str, text(MAX_TITLE, 1)]
    parameters: dict[str, Any]
    sections: Annotated[tuple[Annotated[str, text(80, 1)], ...], Field(max_length=MAX_SECTIONS)] = ()
    max_sections: Annotated[int, Field(ge=1, le=MAX_SECTIONS)] = SECTIONS
    format: ReportFormat = ReportFormat.MARKDOWN
    context: Annotated[str, text(MOST_CONTEXT)] = ""
    budget_usd: Annotated[Decimal, Field(gt=0, le=10_000, decimal_places=6)] | None = None

    @property
    def template(self) -> Template:
        return TEMPLATES[self.type]

    @property
    def required(self) -> list[str]:
        """The sections that must be there, in the template's order."""
        wanted = {*self.template.required, *self.sections}
        return [name for name in self.template.sections if name in wanted]


def parse_report(fields: dict[str, Any]) -> ReportSpec:
    """Raises InvalidInput that names every wrong field."""
    parameters = require_document("parameters", fields.get("parameters", {}), most_bytes=MOST_PARAMETERS_BYTES)
    try:
        spec = ReportSpec.model_validate(fields | {"parameters": parameters})
    except ValidationError as error:
        raise _invalid(problems_of(error)) from None
    problems = [*unfit(spec.template, spec.parameters), *_unknown(spec)]
    if len(spec.required) > spec.max_sections:
        least = f"must be at least {len(spec.required)}: so many sections have to be there"
        problems.append(FieldProblem("max_sections", least))
    if problems:
        raise _invalid(problems)
    return spec


def _unknown(spec: ReportSpec) -> list[FieldProblem]:
    known = spec.template.sections
    return [
        FieldProblem(f"sections.{place}", f"'{name}' is no section of {spec.type.value}; it has {', '.join(known)}")
        for place, name in enumerate(spec.sections)
        if name not in known
    ]


def _invalid(problems: list[FieldProblem]) -> InvalidInput:
    return InvalidInput("; ".join(f"{one['path']}: {one['message']}" for one in problems), problems)
