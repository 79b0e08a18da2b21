"""A report as a document: Markdown, HTML or JSON. Pure. What agents wrote is hostile: in HTML all of it is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from html import escape

from app.ids import Prefix, to_global
from app.reports.queries import Written

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit}dt{font-weight:600}"
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# Nothing is loaded, nothing runs, nothing is sent: the one style is known by its hash.
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; sandbox"


def as_markdown(written: Written) -> str:
    report = written.report
    parts = [f"# {_line(report.title)}", f"{report.type.value} · {report.status.value}"]
    if report.problems:
        parts.append("\n".join(f"> {_line(problem)}" for problem in report.problems))
    parts += [f"## {_line(section.title)}\n\n{section.content}" for section in written.sections]
    return "\n\n".join(parts) + "\n"


def as_html(written: Written) -> str:
    report, title = written.report, escape(written.report.title)
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in report.problems)
    sections = "".join(
        f"<section><h2>{escape(section.title)}</h2><pre>{escape(section.content)}</pre></section>"
        for section in written.sections
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{title}</h1><p>{report.type.value} · {report.status.value}</p>"
        f"{f'<ul>{problems}</ul>' if problems else ''}{sections}</body></html>\n"
    )


def as_json(written: Written) -> str:
    report = written.report
    told = {
        "id": to_global(Prefix.REPORT, report.id),
        "type": report.type.name,
        "title": report.title,
        "status": report.status.name,
        "parameters": report.parameters,
        "missingSections": report.missing_sections,
        "problems": report.problems,
        "createdAt": report.created_at.isoformat(),
        "endedAt": report.finished_at.isoformat() if report.finished_at else None,
        "sections": [
            {"name": one.name, "title": one.title, "kind": one.kind.name, "content": one.content}
            for one in written.sections
        ],
    }
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


FORMS: Mapping[str, tuple[str, Callable[[Written], str]]] = {
    "md": ("text/markdown; charset=utf-8", as_markdown),
    "html": ("text/html; charset=utf-8", as_html),
    "json": ("application/json; charset=utf-8", as_json),
}


def _line(text: str) -> str:
    return " ".join(text.split())
