"""What passes between the transports and the executor: an operation to run, and the answer as ready JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
from graphql import DocumentNode, OperationDefinitionNode, OperationType


@dataclass(slots=True, eq=False)
class Document:
    """A parsed, validated document within the limits. Cached by its text; the planner fills `plans` and
    `id_variables`: the variables whose ids decide which types `node` and `nodes` read."""

    text: str
    ast: DocumentNode
    operations: dict[str | None, OperationDefinitionNode]
    plans: dict[Any, Any] = field(default_factory=dict)
    id_variables: tuple[str, ...] | None = None


@dataclass(slots=True)
class Operation:
    """One operation that a client asked for, its document found and the operation in it chosen."""

    document: Document
    node: OperationDefinitionNode
    name: str | None
    variables: dict[str, Any]
    prepared: Any = None  # the executor's
    many_values: bool = False  # in the variables

    @property
    def type(self) -> OperationType:
        return self.node.operation


@dataclass(slots=True)
class Answer:
    """The JSON of a response. `refused` means that nothing was executed: such an answer has no `data` entry.

    `status` is the HTTP status that fits a refusal best (400, 401, 403, 429, 503 …); None for an executed operation.
    """

    body: bytes
    refused: bool = False
    status: int | None = None
    cost: int = 1
    retry_after_s: int | None = None


def refusal(
    message: str, code: str, *, status: int = 400, retry_after_s: int | None = None, **extensions: Any
) -> Answer:
    """A request error: nothing was executed."""
    error = {"message": message, "extensions": {"code": code, **extensions}}
    return Answer(orjson.dumps({"errors": [error]}), refused=True, status=status, retry_after_s=retry_after_s)
