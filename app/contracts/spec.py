"""What a contract may look like: the one definition of its fields and limits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ValidationError

from app.agents.spec import Slug, Strict, problems_of, text
from app.contracts.built_in import BUILT_IN
from app.contracts.documents import require_document
from app.contracts.models import MAX_DESCRIPTION
from app.contracts.schemas import MOST_BYTES, problems_with
from app.errors import FieldProblem, InvalidInput


class ContractSpec(Strict):
    name: Slug
    description: Annotated[str, text(MAX_DESCRIPTION)] = ""
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None


def parse_contract(fields: dict[str, Any]) -> ContractSpec:
    """Raises InvalidInput that names every wrong field. Takes its time: call it before the transaction."""
    try:
        spec = ContractSpec.model_validate(fields)
    except ValidationError as error:
        raise _refusal(problems_of(error)) from None
    if spec.name in BUILT_IN:
        raise InvalidInput.of("name", f"'{spec.name}' is the name of a built-in contract; choose another")
    if spec.input_schema is None and spec.output_schema is None:
        raise InvalidInput.of("outputSchema", "is needed, or inputSchema, or both")
    problems: list[FieldProblem] = []
    for at, schema in (("inputSchema", spec.input_schema), ("outputSchema", spec.output_schema)):
        if schema is not None:
            problems += problems_with(require_document(at, schema, most_bytes=MOST_BYTES), at)
    if problems:
        raise _refusal(problems)
    return spec


def _refusal(problems: list[FieldProblem]) -> InvalidInput:
    return InvalidInput("; ".join(f"{found['path']}: {found['message']}" for found in problems), problems)
