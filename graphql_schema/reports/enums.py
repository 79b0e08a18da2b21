"""Enums of reports in the schema."""

from __future__ import annotations

from app.reports import models
from app.reports.templates import TEMPLATES
from graphql_schema.publish_enum import publish_enum

publish_enum(
    models.ReportType,
    "What a report is. Each type has a template; see reportTemplates.",
    {kind: template.description for kind, template in TEMPLATES.items()},
)
publish_enum(
    models.ReportFormat,
    "How a report is written.",
    {
        models.ReportFormat.MARKDOWN: "Each section under a heading.",
        models.ReportFormat.JSON: "One object with a key for each section.",
        models.ReportFormat.BULLET_POINTS: "Each section an outermost point, with points of its own.",
    },
)
publish_enum(
    models.ReportStatus,
    "Where a report stands.",
    {
        models.ReportStatus.WORKING: "It is being written.",
        models.ReportStatus.REPAIRING: "It did not keep to its template and is written again, once.",
        models.ReportStatus.VALID: "It keeps to its template.",
        models.ReportStatus.INVALID: "It does not keep to its template, also after the repair; see problems.",
        models.ReportStatus.FAILED: "Its task failed or was cancelled; see problems.",
    },
)
publish_enum(
    models.SectionKind,
    "What a section is to the template.",
    {
        models.SectionKind.REQUIRED: "It must be there: by the template, or because the request asks for it.",
        models.SectionKind.OPTIONAL: "The template names it; it may be there.",
        models.SectionKind.ADDITIONAL: "The template does not name it.",
    },
    name="ReportSectionKind",
)
