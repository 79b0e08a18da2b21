"""The eight types of reports: which sections each must and may have, and what it is told about. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.reports.models import ReportType
from app.tasks.models import TaskType

MOST_TEXT = 2_000
MOST_ITEMS = 50
MOST_ITEM = 500


@dataclass(frozen=True, slots=True)
class Parameter:
    """`many`: a list of texts. Of `choices` one has to be taken."""

    name: str
    description: str
    required: bool = False
    many: bool = False
    least: int = 1
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """`deep`: it takes the strongest model whatever is asked."""

    type: ReportType
    description: str
    task_type: TaskType
    required: tuple[str, ...]
    optional: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    deep: bool = False

    @property
    def sections(self) -> tuple[str, ...]:
        return self.required + self.optional

    def output_schema(self) -> dict[str, Any]:
        """What a report in JSON looks like, as JSON Schema (draft 2020-12)."""
        content = {"type": ["string", "array", "object"], "minLength": 1}
        return {
            "type": "object",
            "required": list(self.required),
            "properties": {name: content for name in self.sections},
        }


def title_of(name: str) -> str:
    """`severity_breakdown` as a heading."""
    return name.replace("_", " ").capitalize()


_ALL: Sequence[Template] = (
    Template(
        ReportType.CODE_REVIEW,
        "What is good and what is wrong in some code.",
        TaskType.REVIEW,
        ("summary", "findings", "severity_breakdown", "recommendations"),
        ("test_coverage", "performance_notes", "security_notes"),
        (
            Parameter("files", "The files, folders or changes to look at.", required=True, many=True),
            Parameter("focus", "What to look for above all, such as security.", many=True),
        ),
    ),
    Template(
        ReportType.SECURITY_AUDIT,
        "Which weaknesses a system has, and how to close them.",
        TaskType.REVIEW,
        ("summary", "scope", "vulnerabilities", "severity_breakdown", "remediation"),
        ("threat_model", "tested_controls", "compliance_notes"),
        (
            Parameter("targets", "The systems, services or files to audit.", required=True, many=True),
            Parameter("standards", "What to measure by, such as OWASP ASVS.", many=True),
        ),
        deep=True,
    ),
    Template(
        ReportType.RESEARCH_SUMMARY,
        "What is known of a topic, from which sources.",
        TaskType.RESEARCH,
        ("executive_summary", "findings", "sources", "recommendations"),
        ("methodology", "limitations", "next_steps"),
        (
            Parameter("topic", "What to look into.", required=True),
            Parameter("questions", "What has to be answered.", many=True),
            Parameter("depth", "How far to go.", choices=("overview", "standard", "comprehensive")),
        ),
    ),
    Template(
        ReportType.DATA_ANALYSIS,
        "What data says, and how far it can be trusted.",
        TaskType.ANALYZE,
        ("summary", "data_description", "findings", "conclusions"),
        ("methodology", "data_quality", "visualizations", "limitations"),
        (
            Parameter("dataset", "Which data.", required=True),
            Parameter("questions", "What has to be answered.", many=True),
            Parameter("metrics", "What to measure.", many=True),
        ),
    ),
    Template(
        ReportType.RISK_ASSESSMENT,
        "What can go wrong, how likely and how bad that is, and what helps.",
        TaskType.ANALYZE,
        ("risk_matrix", "identified_risks", "mitigations", "residual_risk"),
        ("probability_analysis", "impact_analysis", "historical_context"),
        (
            Parameter("subject", "What is at risk.", required=True),
            Parameter("categories", "Kinds of risk to look at.", many=True),
            Parameter("horizon", "How far ahead to look."),
        ),
        deep=True,
    ),
    Template(
        ReportType.PERFORMANCE_REPORT,
        "How well something performs, and what holds it back.",
        TaskType.ANALYZE,
        ("summary", "metrics", "bottlenecks", "recommendations"),
        ("baseline_comparison", "trends", "capacity_outlook", "methodology"),
        (
            Parameter("subject", "What is measured.", required=True),
            Parameter("metrics", "What to measure.", many=True),
            Parameter("period", "Which time to look at."),
        ),
    ),
    Template(
        ReportType.COMPARISON,
        "Options side by side, and which one to take.",
        TaskType.ANALYZE,
        ("summary", "options", "criteria", "comparison_matrix", "recommendation"),
        ("trade_offs", "cost_analysis", "assumptions"),
        (
            Parameter("options", "What is compared.", required=True, many=True, least=2),
            Parameter("criteria", "What to compare by.", many=True),
        ),
    ),
    Template(
        ReportType.ACTION_PLAN,
        "Who does what by when to reach a goal.",
        TaskType.PLAN,
        ("objective", "actions", "timeline", "responsibilities", "success_criteria"),
        ("risks", "dependencies", "budget"),
        (
            Parameter("goal", "What is to be reached.", required=True),
            Parameter("constraints", "What has to be kept to.", many=True),
            Parameter("horizon", "By when."),
        ),
    ),
)
TEMPLATES: Mapping[ReportType, Template] = {template.type: template for template in _ALL}
