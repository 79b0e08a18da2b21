"""Refusals as data: what a mutation answers when it did not happen, one type for each fact to branch on."""

from __future__ import annotations

from typing import Any

import strawberry

from app import errors
from app.attention import errors as attention_errors
from app.attention.models import AttentionState
from app.auth.idempotency import IdempotencyConflict as IdempotencyConflictError
from app.auth.roles import Permission, Role
from app.budgets.errors import AllowanceExceeded as AllowanceExceededError
from app.budgets.errors import BudgetExhausted as BudgetExhaustedError
from app.budgets.models import AccountKind
from app.collaborations.errors import ParticipantsUnsuitable as ParticipantsUnsuitableError
from app.collaborations.models import CollaborationPattern, ParticipantRole
from app.consultations import errors as consultation_errors
from app.handoffs import errors as handoff_errors
from app.memories import errors as memory_errors
from app.messages import errors as message_errors
from app.routing import errors as routing_errors
from app.tasks import errors as task_errors
from app.teams.flags import FeatureDisabled as FeatureDisabledError
from app.teams.flags import FeatureFlag
from graphql_schema.errors import in_words_of_the_schema
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


@strawberry.type(description="Something in a condition that cannot be taken, and where it stands.")
class ConditionProblem:
    message: str = strawberry.field(description="What is wrong, with the nearest known name where one is meant.")
    line: int = strawberry.field(description="Line of the condition, from 1.")
    column: int = strawberry.field(description="Character of the line, from 1.")
    offset: int = strawberry.field(description="Character of the whole condition, from 0.")
    length: int = strawberry.field(description="How many characters it concerns; 0 at the end of the condition.")
    expected: list[str] = strawberry.field(description="What could stand there; may be empty.")


@strawberry.type(description="The condition of a rule cannot be read, or names a variable that does not exist.")
class InvalidCondition(Refusal):
    problems: list[ConditionProblem] = strawberry.field(
        description="Where and why: the first thing that cannot be read, or every variable that does not fit."
    )


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
    description="Work would come back to an agent that waits for it, tasks would wait for each other for ever, or "
    "groups would lie in each other."
)
class CycleDetected(Refusal):
    chain: list[str] = strawberry.field(
        description="The circle: slugs of agents when work would come back, titles of tasks when tasks would wait, "
        "slugs of groups when groups would lie in each other."
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


@strawberry.type(
    description="A message is for nobody: none was named, and the default agent is missing, not active or left out."
)
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


@strawberry.type(
    description="An agent's key would start work outside any task for more than the agent's daily allowance. Nothing "
    "was reserved. Claim a task and start the work below it, or have an admin grant more with setAgentAllowance."
)
class AllowanceExceeded(Refusal):
    agent: str = strawberry.field(description="The slug of the agent.")
    allowance: Usd = strawberry.field(description="What it may spend in a UTC day outside any task.")
    used: Usd = strawberry.field(description="What of that is spent or reserved today.")
    asked: Usd = strawberry.field(description="What was asked for.")


@strawberry.type(description="The sender has as much open as it may have at a time. Nothing was done.")
class QuotaExceeded(Refusal):
    limit: int = strawberry.field(description="The most at a time.")
    setting: str = strawberry.field(description="The setting of the installation that says so.")


@strawberry.type(description="The claim does not hold the task any more: stop working on it. Nothing was changed.")
class ClaimLost(Refusal):
    pass


@strawberry.type(description="The pattern of a collaboration session cannot work with these participants.")
class ParticipantsUnsuitable(Refusal):
    pattern: CollaborationPattern = strawberry.field(description="The pattern.")
    role: ParticipantRole | None = strawberry.field(
        description="The role of which there are too few or too many; null: the participants in all."
    )
    least: int = strawberry.field(description="How many there must be at least.")
    most: int = strawberry.field(description="How many there may be at most.")
    found: int = strawberry.field(description="How many there are.")


@strawberry.type(description="There is no room for another memory: forget some, or give them a time to expire.")
class MemoryFull(Refusal):
    limit: int = strawberry.field(description="How many memories there may be.")


@strawberry.type(
    description="Back-pressure: an inbox holds as many unread messages as it may. Nobody got the message; send it "
    "again when some were acknowledged or have expired."
)
class InboxFull(Refusal):
    agents: list[str] = strawberry.field(description="Slugs of the agents whose inboxes are full.")
    limit: int = strawberry.field(description="How many unread messages an inbox holds.")


@strawberry.type(description="The team works hub and spoke: its agents do not write to each other.")
class NoDirectMessages(Refusal):
    pass


@strawberry.type(description="The sender is no member of the channel.")
class NotInChannel(Refusal):
    pass


@strawberry.type(description="The channel takes no messages: what it belongs to is over, or nobody else is in it.")
class ChannelClosed(Refusal):
    pass


@strawberry.type(description="Another agent was asked, and only that one can answer the consultation.")
class NotConsulted(Refusal):
    asked: str | None = strawberry.field(description="The slug of the agent that was asked; null: nobody is, now.")


@strawberry.type(description="Somebody else answered first, or the deadline passed, or it is not needed any more.")
class AlreadyAnswered(Refusal):
    status: AttentionState = strawberry.field(description="Where it stands; never OPEN.")
    answered_by: str = strawberry.field(description="Who was first; `parley` for a deadline.")
    option: str | None = strawberry.field(description="The option that was chosen; null: none.")
    answer: str | None = strawberry.field(description="What was said; null: nothing.")


def _invalid(error: errors.InvalidInput) -> Refusal:
    message, problems = in_words_of_the_schema(error)
    return InvalidInput(message=message, code=error.code, problems=[FieldProblem(**one) for one in problems])


def _condition(error: errors.AppError) -> Refusal:
    problems = [ConditionProblem(**problem) for problem in error.details["problems"]]
    return InvalidCondition(message=error.message, code=error.code, problems=problems)


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


def _already_answered(error: errors.AppError) -> Refusal:
    details = error.details | {"status": AttentionState[error.details["status"]]}
    return AlreadyAnswered(message=error.message, code=error.code, **details)


def _unsuitable(error: errors.AppError) -> Refusal:
    role = error.details["role"]
    known = {"pattern": CollaborationPattern[error.details["pattern"]], "role": ParticipantRole[role] if role else None}
    return ParticipantsUnsuitable(message=error.message, code=error.code, **(error.details | known))


def _detailed(kind: Any) -> Any:
    return lambda error: kind(message=error.message, code=error.code, **error.details)


def _plain(kind: Any) -> Any:
    return lambda error: kind(message=error.message, code=error.code)


REFUSALS: dict[type[errors.AppError], tuple[type[Refusal], Any]] = {
    errors.InvalidInput: (InvalidInput, _invalid),
    errors.NotFound: (NotFound, _plain(NotFound)),
    errors.Conflict: (Conflict, _plain(Conflict)),
    errors.Forbidden: (Forbidden, _forbidden),
    errors.QuotaExceeded: (QuotaExceeded, _detailed(QuotaExceeded)),
    IdempotencyConflictError: (IdempotencyConflict, _plain(IdempotencyConflict)),
    FeatureDisabledError: (FeatureDisabled, _disabled),
    handoff_errors.InvalidCondition: (InvalidCondition, _condition),
    task_errors.DelegationDepthExceeded: (DelegationDepthExceeded, _detailed(DelegationDepthExceeded)),
    task_errors.CycleDetected: (CycleDetected, _detailed(CycleDetected)),
    task_errors.OscillationDetected: (OscillationDetected, _detailed(OscillationDetected)),
    task_errors.AgentUnavailable: (AgentUnavailable, _unavailable),
    task_errors.AuthorityExceeded: (AuthorityExceeded, _detailed(AuthorityExceeded)),
    task_errors.ClaimLost: (ClaimLost, _plain(ClaimLost)),
    ParticipantsUnsuitableError: (ParticipantsUnsuitable, _unsuitable),
    BudgetExhaustedError: (BudgetExhausted, _exhausted),
    AllowanceExceededError: (AllowanceExceeded, _detailed(AllowanceExceeded)),
    attention_errors.AlreadyAnswered: (AlreadyAnswered, _already_answered),
    memory_errors.MemoryFull: (MemoryFull, _detailed(MemoryFull)),
    routing_errors.AgentNotActive: (AgentUnavailable, _unavailable),
    message_errors.InboxFull: (InboxFull, _detailed(InboxFull)),
    message_errors.NoDirectMessages: (NoDirectMessages, _plain(NoDirectMessages)),
    message_errors.NotInChannel: (NotInChannel, _plain(NotInChannel)),
    message_errors.ChannelClosed: (ChannelClosed, _plain(ChannelClosed)),
    consultation_errors.NotConsulted: (NotConsulted, _detailed(NotConsulted)),
    routing_errors.NoAgentAvailable: (NoAgentAvailable, _plain(NoAgentAvailable)),
}


def refusal_of(error: errors.AppError, among: tuple[type[Refusal], ...]) -> Refusal | None:
    """The refusal that shows this error, if the mutation's result can hold it."""
    for kind in type(error).__mro__:
        if kind in REFUSALS and REFUSALS[kind][0] in among:
            made: Refusal = REFUSALS[kind][1](error)
            return made
    return None
