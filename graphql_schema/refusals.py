"""Refusals as data: what a mutation answers when it did not happen, one type for each fact to branch on."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry.utils.str_converters import to_camel_case

from app import errors
from app.auth.idempotency import IdempotencyConflict as IdempotencyConflictError
from app.auth.roles import Permission, Role
from app.budgets.errors import BudgetExhausted as BudgetExhaustedError
from app.budgets.models import AccountKind
from app.routing import errors as routing_errors
from app.tasks import errors as task_errors
from app.teams.flags import FeatureDisabled as FeatureDisabledError
from app.teams.flags import FeatureFlag
from graphql_schema.scalars import Usd


@strawberry.interface(description="Why nothing happened. Nothing was changed.")
class Refusal:
    message: str = strawberry.field(description="For people: what is wrong and what to do next.")
    code: str = strawberry.field(
        description="For programs: the type's name in capitals, such as NOT_FOUND for NotFound. Stable."
    )


@strawberry.type(description="One wrong field of the input.")
class FieldProblem:
    path: str = strawberry.field(description="Where in the input, such as `skills.0.name`.")
    message: str = strawberry.field(description="What is wrong with it.")
    line: int | None = strawberry.field(description="Line of the file, from 1; null when the input is not a file.")


@strawberry.type(description="The input cannot be taken; each problem names its field.")
class InvalidInput(Refusal):
    problems: list[FieldProblem] = strawberry.field(description="Everything that is wrong, not only the first.")


@strawberry.type(description="The team has no such thing.")
class NotFound(Refusal):
    pass


@strawberry.type(description="The thing is not in a state that allows this, or somebody else was first.")
class Conflict(Refusal):
    pass


@strawberry.type(description="The idempotency key was used before, with another input.")
class IdempotencyConflict(Refusal):
    pass


@strawberry.type(description="The key's role does not allow this.")
class Forbidden(Refusal):
    permission: Permission | None = strawberry.field(
        description="The permission that is missing; null when the role has it, though not for this thing."
    )
    roles: list[Role] = strawberry.field(description="The roles that have it.")


@strawberry.type(description="A feature flag that this needs is off for the team.")
class FeatureDisabled(Refusal):
    flag: FeatureFlag = strawberry.field(description="The flag that is off.")


@strawberry.type(description="One delegation too many would follow the others.")
class DelegationDepthExceeded(Refusal):
    chain: list[str] = strawberry.field(description="Slugs of the agents, from the originating one to the one refused.")
    limit: int = strawberry.field(description="How many delegations may follow each other.")


@strawberry.type(
    description="Work would come back to an agent that waits for it, or tasks would wait for each other for ever."
)
class CycleDetected(Refusal):
    chain: list[str] = strawberry.field(
        description="The circle: slugs of agents when work would come back, titles of tasks when tasks would wait."
    )


@strawberry.type(
    description="The same agent would ask the same agent for the same thing once too often in one tree of tasks."
)
class OscillationDetected(Refusal):
    chain: list[str] = strawberry.field(description="Slugs of the agents, from the originating one to the one refused.")
    limit: int = strawberry.field(description="How often the same may be asked within one tree.")


@strawberry.type(description="The agent takes no new task and answers no message now.")
class AgentUnavailable(Refusal):
    reason: task_errors.UnavailableReason = strawberry.field(description="Why not.")


@strawberry.type(description="A message is for nobody: none was named, and the default agent is missing or not active.")
class NoAgentAvailable(Refusal):
    pass


@strawberry.type(description="More was asked for than the task above grants: authority only narrows.")
class AuthorityExceeded(Refusal):
    missing: list[str] = strawberry.field(description="Each grant that is missing, such as `the tool 'search'`.")


@strawberry.type(description="A budget has less left than was asked for. Nothing was reserved.")
class BudgetExhausted(Refusal):
    scope: AccountKind = strawberry.field(description="Whose budget.")
    cap: Usd = strawberry.field(description="What may be spent in all.")
    reserved: Usd = strawberry.field(description="What is set aside for work under way.")
    spent: Usd = strawberry.field(description="What was spent.")
    asked: Usd = strawberry.field(description="What was asked for.")


@strawberry.type(description="The claim does not hold the task any more: stop working on it. Nothing was changed.")
class ClaimLost(Refusal):
    pass


def _invalid(error: errors.AppError) -> Refusal:
    problems = [_problem(problem) for problem in error.details["problems"]]
    told = "; ".join(f"{problem.path}: {problem.message}" for problem in problems if problem.line is None)
    return InvalidInput(message=told or error.message, code=error.code, problems=problems)


def _problem(found: errors.FieldProblem) -> FieldProblem:
    """A path in a file or a document is in its own words, one in an input in the schema's."""
    as_it_is = found["line"] or isinstance(found, errors.DocumentProblem)
    path = found["path"] if as_it_is else ".".join(to_camel_case(part) for part in found["path"].split("."))
    return FieldProblem(path=path, message=found["message"], line=found["line"])


def _forbidden(error: errors.AppError) -> Refusal:
    permission = error.details.get("permission")
    return Forbidden(
        message=error.message,
        code=error.code,
        permission=Permission[permission] if permission else None,
        roles=[Role[name] for name in error.details.get("roles", ())],
    )


def _disabled(error: errors.AppError) -> Refusal:
    return FeatureDisabled(message=error.message, code=error.code, flag=FeatureFlag[error.details["flag"]])


def _unavailable(error: errors.AppError) -> Refusal:
    reason = task_errors.UnavailableReason[error.details["reason"]]
    return AgentUnavailable(message=error.message, code=error.code, reason=reason)


def _exhausted(error: errors.AppError) -> Refusal:
    details = error.details | {"scope": AccountKind[error.details["scope"]]}
    return BudgetExhausted(message=error.message, code=error.code, **details)


def _detailed(kind: Any) -> Any:
    return lambda error: kind(message=error.message, code=error.code, **error.details)


def _plain(kind: Any) -> Any:
    return lambda error: kind(message=error.message, code=error.code)


REFUSALS: dict[type[errors.AppError], tuple[type[Refusal], Any]] = {
    errors.InvalidInput: (InvalidInput, _invalid),
    errors.NotFound: (NotFound, _plain(NotFound)),
    errors.Conflict: (Conflict, _plain(Conflict)),
    errors.Forbidden: (Forbidden, _forbidden),
    IdempotencyConflictError: (IdempotencyConflict, _plain(IdempotencyConflict)),
    FeatureDisabledError: (FeatureDisabled, _disabled),
    task_errors.DelegationDepthExceeded: (DelegationDepthExceeded, _detailed(DelegationDepthExceeded)),
    task_errors.CycleDetected: (CycleDetected, _detailed(CycleDetected)),
    task_errors.OscillationDetected: (OscillationDetected, _detailed(OscillationDetected)),
    task_errors.AgentUnavailable: (AgentUnavailable, _unavailable),
    task_errors.AuthorityExceeded: (AuthorityExceeded, _detailed(AuthorityExceeded)),
    task_errors.ClaimLost: (ClaimLost, _plain(ClaimLost)),
    BudgetExhaustedError: (BudgetExhausted, _exhausted),
    routing_errors.AgentNotActive: (AgentUnavailable, _unavailable),
    routing_errors.NoAgentAvailable: (NoAgentAvailable, _plain(NoAgentAvailable)),
}


def refusal_of(error: errors.AppError, among: tuple[type[Refusal], ...]) -> Refusal | None:
    """The refusal that shows this error, if the mutation's result can hold it."""
    for kind in type(error).__mro__:
        if kind in REFUSALS and REFUSALS[kind][0] in among:
            made: Refusal = REFUSALS[kind][1](error)
            return made
    return None
