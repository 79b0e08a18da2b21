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


_READS = {Permission.READ_TEAM, Permission.READ_EVENTS}
_TASKS = {Permission.DELEGATE_TASKS, Permission.WORK_TASKS, Permission.CANCEL_TASKS}
PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.ADMIN: frozenset(Permission),
    Role.OPERATOR: frozenset(
        _READS
        | {Permission.CONTROL_AGENTS, Permission.CANCEL_TASKS, Permission.CONTROL_TASKS, Permission.RATE_RESPONSES}
    ),
    Role.INTEGRATOR: frozenset(
        _READS
        | _TASKS
        | {Permission.WRITE_AGENTS, Permission.CONTROL_AGENTS, Permission.WRITE_CONTRACTS, Permission.CONTROL_TASKS}
        | {Permission.ROUTE_MESSAGES, Permission.RATE_RESPONSES}
    ),
    Role.ANALYST: frozenset(_READS),
    Role.AGENT: frozenset({Permission.READ_TEAM} | _TASKS),
}


def allowed(role: Role, permission: Permission) -> bool:
    return permission in PERMISSIONS[role]


def roles_with(permission: Permission) -> list[Role]:
    return [role for role in Role if allowed(role, permission)]
