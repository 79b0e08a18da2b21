"""The templates of reports, as the graph shows them."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.reports.models import ReportType
from app.reports.templates import MOST_ITEM, MOST_ITEMS, MOST_TEXT, TEMPLATES, Parameter, Template
from graphql_schema.context import Info
from graphql_schema.planner.mapping import python
from graphql_schema.reports import enums as _enums  # noqa: F401 - published before a field uses them
from graphql_schema.scalars import JSON


@strawberry.type(description="Something that a request has to say of a report, or may.")
class ReportParameter:
    name: str = strawberry.field(description="Its key in `parameters`.")
    description: str = strawberry.field(description="What it means.")
    required: bool = strawberry.field(description="Whether a request must give it.")
    many: bool = strawberry.field(
        description=f"Whether it is a list of texts, up to {MOST_ITEMS} of up to {MOST_ITEM} characters each; else it "
        f"is one text of up to {MOST_TEXT:,} characters."
    )
    least: int = strawberry.field(description="How many texts a list must have at least, from 1.")
    choices: list[str] = strawberry.field(description="The texts among which one has to be chosen; none: any.")

    @classmethod
    def of(cls, one: Parameter) -> ReportParameter:
        return cls(
            name=one.name,
            description=one.description,
            required=one.required,
            many=one.many,
            least=one.least,
            choices=list(one.choices),
        )


@strawberry.type(description="What a type of report looks like.")
class ReportTemplate:
    type: ReportType = strawberry.field(description="Of which type.")
    description: str = strawberry.field(description="What such a report is for.")
    required_sections: list[str] = strawberry.field(description="The names of the sections that must be there.")
    optional_sections: list[str] = strawberry.field(
        description="The names of further sections; a request may ask for them."
    )
    parameters: list[ReportParameter] = strawberry.field(description="What a request says of it.")
    output_schema: JSON = strawberry.field(
        description="JSON Schema (draft 2020-12) of such a report in the format JSON."
    )

    @classmethod
    def of(cls, template: Template) -> ReportTemplate:
        return cls(
            type=template.type,
            description=template.description,
            required_sections=list(template.required),
            optional_sections=list(template.optional),
            parameters=[ReportParameter.of(one) for one in template.parameters],
            output_schema=JSON(template.output_schema()),
        )


_TYPE = strawberry.argument(description="Only this type; null: all eight.")


@python("The templates of reports, which are the same for every team: eight, or the one of a type.", cost=8)
async def report_templates(
    self: Any, info: Info, type: Annotated[ReportType | None, _TYPE] = None
) -> list[ReportTemplate]:
    return [ReportTemplate.of(one) for one in TEMPLATES.values() if type in (None, one.type)]
