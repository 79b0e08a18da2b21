"""What a specialist is told, what a person reads of a consultation, and what the team remembers of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.attention.models import MAX_DETAIL
from app.consultations.models import Consultation, ConsultationExchange, ExchangeKind
from app.memories.models import MAX_TEXT

_LISTS = (
    ("errors", "Error messages:"),
    ("attempted_approaches", "Tried already:"),
    ("files", "Files that belong to it:"),
    ("decisions", "What the team has decided or knows:"),
    ("best_practices", "Good practice in this team:"),
    ("similar_consultations", "How the like was answered before:"),
)


def instructions(question: str, *, requester: str, reason: str, clarifies: bool = False) -> str:
    what = "wants to know more about your answer" if clarifies else "asks for your advice"
    return (
        f"Your colleague {requester} {what} ({reason.replace('_', ' ')}). Answer the question, shortly and to the "
        "point, from what you know and from the context, which was chosen for it. Say what you do not know.\n\n"
        f"{question}"
    )


def context(package: dict[str, Any], before: Sequence[ConsultationExchange] = ()) -> str:
    """The package as text, and what was said on the matter already."""
    parts = [
        f"The task at hand: {package['current_task']}" if package.get("current_task") else "",
        f"The concern: {package['concern']}" if package.get("concern") else "",
        *(_listed(heading, package.get(name, ())) for name, heading in _LISTS),
        "\n\n".join(_snippet(one) for one in package.get("snippets", ())),
        f"Project: {package['project_type']}" if package.get("project_type") else "",
        f"Technology: {', '.join(package['tech_stack'])}" if package.get("tech_stack") else "",
        "\n\n".join(f"{one.author} ({one.kind.value}): {one.content}" for one in before),
    ]
    return "\n\n".join(part for part in parts if part)


def history(consultation: Consultation, exchanges: Sequence[ConsultationExchange], why: str) -> str:
    """All that was said, for the person who decides; what is longer than an item may be loses its middle."""
    said = [f"{one.number}. {one.author} ({one.kind.value}): {_full(one)}" for one in exchanges]
    text = "\n\n".join([why, f"Asked because of: {consultation.reason.value.replace('_', ' ')}", *said])
    if len(text) <= MAX_DETAIL:
        return text
    half = MAX_DETAIL // 2 - 10
    return f"{text[:half]}\n\n[…]\n\n{text[-half:]}"


def remembered(
    consultation: Consultation, exchanges: Sequence[ConsultationExchange], *, requester: str, specialist: str
) -> str:
    """Question and last answer, so that the next one who asks the like finds both."""
    answers = [one for one in exchanges if one.kind is ExchangeKind.RESPONSE]
    answer = answers[-1] if answers else None
    lines = [
        f"Consultation ({consultation.reason.value.replace('_', ' ')}). {requester} asked: {consultation.question}",
        f"{specialist} answered: {answer.content if answer else ''}",
        f"Next: {'; '.join(answer.next_steps)}" if answer and answer.next_steps else "",
        f"Lesson: {consultation.lessons}" if consultation.lessons else "",
    ]
    return "\n".join(line for line in lines if line)[:MAX_TEXT].strip()


def delivered(exchange: ConsultationExchange) -> str:
    """What the requester is told."""
    parts = [exchange.content, exchange.additional_context]
    parts += [_listed("References:", exchange.references), _listed("Suggested next steps:", exchange.next_steps)]
    return "\n\n".join(part for part in parts if part)


def _full(exchange: ConsultationExchange) -> str:
    return " ".join(filter(None, (exchange.content, exchange.additional_context)))


def _listed(heading: str, items: Sequence[str]) -> str:
    return "\n".join([heading, *(f"- {item}" for item in items)]) if items else ""


def _snippet(one: dict[str, Any]) -> str:
    place = f":{one['line']}" if one.get("line") else ""
    return f"{one.get('file') or 'A piece of code'}{place}\n{one['code']}"
