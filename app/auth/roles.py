"""Who may do what: one table from role to permissions."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    ADMIN = "admin"
    OPERATOR = "operator"
    INTEGRATOR = "integrator"
    ANALYST = "analyst"
    AGENT = "agent"


class Permission(StrEnum):
    """What an operation needs, as a verb and its object; refusals name it."""

    READ_TEAM = "read the team"
    READ_EVENTS = "read the team's events"
    WRITE_AGENTS = "create and change agents"
    CONTROL_AGENTS = "pause and resume agents"
    CONFIGURE_TEAM = "configure the team"
    MANAGE_KEYS = "manage API keys"
    WRITE_CONTRACTS = "save and delete contracts"
    DELEGATE_TASKS = "delegate tasks"
    WORK_TASKS = "work on tasks"
    CANCEL_TASKS = "cancel tasks"
    CONTROL_TASKS = "retry and reassign tasks and resolve dead letters"
    ROUTE_MESSAGES = "route messages and tell what became of them"
    RATE_RESPONSES = "rate responses"
    START_COLLABORATIONS = "start collaboration sessions"
    CONTROL_COLLABORATIONS = "cancel and extend collaboration sessions and decide on their failed stages"
    SEND_MESSAGES = "send messages in conversations"
    MANAGE_CONVERSATIONS = "start, change and close conversations"
    WRITE_MEMORIES = "remember and forget"
    MESSAGE_AGENTS = "send messages between agents and acknowledge them"
    CONSULT_AGENTS = "ask for consultations, answer and rate them"
    ASK_PEOPLE = "ask a person"
    ANSWER_ATTENTION = "answer and assign what needs a person, and override decisions"


_READS = {Permission.READ_TEAM, Permission.READ_EVENTS}
_CONVERSES = {Permission.SEND_MESSAGES, Permission.MANAGE_CONVERSATIONS}
_TASKS = {Permission.DELEGATE_TASKS, Permission.WORK_TASKS, Permission.CANCEL_TASKS}
_COLLABORATIONS = {Permission.START_COLLABORATIONS, Permission.CONTROL_COLLABORATIONS}
PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.ADMIN: frozenset(Permission),
    Role.OPERATOR: frozenset(
        _READS
        | _CONVERSES
        | {Permission.CONTROL_AGENTS, Permission.CANCEL_TASKS, Permission.CONTROL_TASKS, Permission.RATE_RESPONSES}
        | {Permission.CONTROL_COLLABORATIONS, Permission.WRITE_MEMORIES}
        | {Permission.ASK_PEOPLE, Permission.ANSWER_ATTENTION}
    ),
    Role.INTEGRATOR: frozenset(
        _READS
        | _TASKS
        | _CONVERSES
        | {Permission.WRITE_AGENTS, Permission.CONTROL_AGENTS, Permission.WRITE_CONTRACTS, Permission.CONTROL_TASKS}
        | {Permission.ROUTE_MESSAGES, Permission.RATE_RESPONSES, Permission.WRITE_MEMORIES, Permission.MESSAGE_AGENTS}
        | {Permission.ASK_PEOPLE, Permission.ANSWER_ATTENTION, Permission.CONSULT_AGENTS}
        | _COLLABORATIONS
    ),
    Role.ANALYST: frozenset(_READS),
    Role.AGENT: frozenset(
        {Permission.READ_TEAM, Permission.SEND_MESSAGES, Permission.WRITE_MEMORIES, Permission.MESSAGE_AGENTS}
        | {Permission.ASK_PEOPLE, Permission.CONSULT_AGENTS}
        | _TASKS
        | _COLLABORATIONS
    ),
}


def allowed(role: Role, permission: Permission) -> bool:
    return permission in PERMISSIONS[role]


def roles_with(permission: Permission) -> list[Role]:
    return [role for role in Role if allowed(role, permission)]
