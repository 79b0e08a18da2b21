"""What the writer of a report is told, and what is remembered of one. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.memories.models import MAX_TEXT
from app.reports.models import ReportFormat
from app.reports.parsing import Part
from app.reports.spec import ReportSpec
from app.reports.templates import Template, title_of

MOST_OF_FIRST = 40_000  # characters of a first version that its repair is shown
_BEGINNING = 600
_FORMS = {
    ReportFormat.MARKDOWN: "Write Markdown. Each section begins with a heading of the second level, such as `## {}`.",
    ReportFormat.JSON: "Write one JSON object and nothing else. Each section is a key in it, such as `{}`; its value "
    "is a text, a list or an object.",
    ReportFormat.BULLET_POINTS: "Write a list of points and nothing else. Each section is an outermost point, such as "
    "`- {}`, with points of its own further in.",
}


def instructions(spec: ReportSpec) -> str:
    return "\n\n".join(
        [
            f"Write a report of the type {spec.type.value}: {spec.template.description}",
            _parameters(spec.template, spec.parameters),
            outline(spec.template, spec.required, spec.max_sections, spec.format),
        ]
    )


def outline(template: Template, required: Sequence[str], max_sections: int, form: ReportFormat) -> str:
    heading = required[0] if form is ReportFormat.JSON else title_of(required[0])
    free = [name for name in template.sections if name not in required]
    lines = [_FORMS[form].format(heading), "", "Sections that must be there, none of them empty:"]
    lines += [f"- {name} ({title_of(name)})" for name in required]
    if free and len(required) < max_sections:
        lines += ["", "Sections that may be there, where there is something to say:"]
        lines += [f"- {name} ({title_of(name)})" for name in free]
    return "\n".join([*lines, "", f"At most {max_sections} sections in all."])


def repair(first_instructions: str, problems: Sequence[str]) -> str:
    listed = "\n".join(f"- {problem}" for problem in problems)
    return (
        f"{first_instructions}\n\nThere is a first version, in the context. It cannot be taken as it is:\n{listed}\n\n"
        "Write the whole report again, complete, with what was good in the first version kept."
    )


def with_first_version(context: str, text: str) -> str:
    return f"{context}\n\nThe first version:\n{text[:MOST_OF_FIRST]}".strip()


def remembered(title: str, template: Template, parts: Sequence[Part]) -> str:
    """How such a report was put together, and how each of its sections begins."""
    head = f"How the report '{title}' ({template.type.value}) was made: {', '.join(part.name for part in parts)}."
    lines = [f"{part.name}: {_beginning(part.content)}" for part in parts]
    return "\n".join([head, *lines])[:MAX_TEXT].strip()


def _parameters(template: Template, given: dict[str, Any]) -> str:
    lines = [
        f"- {one.name}: {json.dumps(given[one.name], ensure_ascii=False)} ({one.description.rstrip('.').lower()})"
        for one in template.parameters
        if given.get(one.name) is not None
    ]
    return "\n".join(["It is about:", *lines])


def _beginning(text: str) -> str:
    plain = " ".join(text[: 2 * _BEGINNING].split())
    return plain if len(plain) <= _BEGINNING else plain[: _BEGINNING - 1] + "…"
