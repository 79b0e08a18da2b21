"""What may be asked and answered: the fields, their limits, and their secrets taken out before anybody sees them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from app.agents.spec import Strict, problems_of, text
from app.consultations.models import MAX_ANSWER, MAX_LESSONS, MAX_QUESTION, STARS, ConsultationReason, Urgency
from app.errors import InvalidInput
from app.redaction import Redaction, redact

MOST_ITEMS = 20
_SHORT = 100  # characters: no text has a lower limit
T = TypeVar("T", bound=BaseModel)
Line = Annotated[str, text(2_000, 1)]
Lines = Annotated[tuple[Line, ...], Field(max_length=MOST_ITEMS)]
Words = Annotated[tuple[Annotated[str, text(120, 1)], ...], Field(max_length=MOST_ITEMS)]


class Snippet(Strict):
    """A piece of a file; `line` is where it begins."""

    code: Annotated[str, text(10_000, 1)]
    file: Annotated[str, text(500)] = ""
    line: Annotated[int, Field(ge=1, le=10_000_000)] | None = None


class Given(Strict):
    """What the requester gives along with its question."""

    current_task: Annotated[str, text(2_000)] = ""
    concern: Annotated[str, text(2_000)] = ""
    attempted_approaches: Lines = ()
    files: Annotated[tuple[Annotated[str, text(500, 1)], ...], Field(max_length=50)] = ()
    snippets: Annotated[tuple[Snippet, ...], Field(max_length=MOST_ITEMS)] = ()
    errors: Lines = ()
    project_type: Annotated[str, text(200)] = ""
    tech_stack: Words = ()


class ConsultationSpec(Strict):
    question: Annotated[str, text(MAX_QUESTION, 1)]
    reason: ConsultationReason = ConsultationReason.OTHER
    urgency: Urgency = Urgency.NORMAL
    given: Given = Given()
    budget_usd: Annotated[Decimal, Field(gt=0, le=10_000, decimal_places=6)] | None = None


class Answer(Strict):
    """What a specialist answers; the shape of its task's output."""

    answer: Annotated[str, text(MAX_ANSWER, 1)]
    additional_context: Annotated[str, text(MAX_ANSWER)] = ""
    references: Annotated[tuple[Annotated[str, text(500, 1)], ...], Field(max_length=MOST_ITEMS)] = ()
    suggested_next_steps: Annotated[tuple[Annotated[str, text(1_000, 1)], ...], Field(max_length=MOST_ITEMS)] = ()


class Question(Strict):
    text: Annotated[str, text(MAX_QUESTION, 1)]


class Rating(Strict):
    rating: Annotated[int, Field(ge=STARS[0], le=STARS[-1])]
    lessons: Annotated[str, text(MAX_LESSONS)] = ""


def _strings(most: int, longest: int) -> dict[str, Any]:
    return {"type": "array", "maxItems": most, "items": {"type": "string", "minLength": 1, "maxLength": longest}}


ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["answer"],
    "properties": {
        "answer": {"type": "string", "minLength": 1, "maxLength": MAX_ANSWER},
        "additional_context": {"type": "string", "maxLength": MAX_ANSWER},
        "references": _strings(MOST_ITEMS, 500),
        "suggested_next_steps": _strings(MOST_ITEMS, 1_000),
    },
    "additionalProperties": False,
}


def what_to_redact(emails: bool) -> Redaction:
    return Redaction.SECRETS_AND_EMAILS if emails else Redaction.SECRETS


def parse(kind: type[T], fields: dict[str, Any], what: Redaction) -> T:
    """Checked, and then without secrets: what is refused for its length is refused for what was given. Raises
    InvalidInput that names every wrong field, and never its value."""
    try:
        checked = kind.model_validate(fields)
    except ValidationError as error:
        problems = problems_of(error)
        raise InvalidInput("; ".join(f"{one['path']}: {one['message']}" for one in problems), problems) from None
    return checked.model_copy(update=_clean(checked, what))


def _clean(checked: BaseModel, what: Redaction) -> dict[str, Any]:
    return {name: _value(value, what) for name, value in checked}


def _value(value: Any, what: Redaction) -> Any:
    if isinstance(value, BaseModel):
        return value.model_copy(update=_clean(value, what))
    if isinstance(value, tuple):
        return tuple(_value(one, what) for one in value)
    return _cleaned(value, what) if type(value) is str else value


def _cleaned(text: str, what: Redaction) -> str:
    """A mark may be longer than what it stands for: a text that filled its limit loses its last words."""
    return redact(text, what)[: max(len(text), _SHORT)]
