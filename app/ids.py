"""Identifiers: UUIDv7 keys in the database, readable typed ids (`agent_0190…`) outside."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

import uuid_utils.compat as uuid_utils

from app.errors import InvalidInput


class Prefix(StrEnum):
    """The word before the underscore; one per kind of node."""

    TEAM = "team"
    AGENT = "agent"
    API_KEY = "key"
    EVENT = "event"
    HANDOFF_RULE = "rule"
    CONTRACT = "contract"
    TASK = "task"
    ATTEMPT = "attempt"
    TOOL_CALL = "call"
    DEAD_LETTER = "letter"
    ROUTING_DECISION = "decision"
    ROUTING_POLICY = "policy"
    CONVERSATION = "conversation"
    MESSAGE = "message"
    COLLABORATION = "collab"
    STAGE = "stage"
    VOTE = "vote"
    PARTICIPANT = "participant"
    REPLY = "reply"
    CONTRIBUTION = "contribution"
    HANDOFF = "handoff"
    STEP_DECISION = "step"
    CONTEXT_VARIABLE = "variable"
    MEMORY = "mem"
    GROUP = "group"
    AGENT_MESSAGE = "amsg"
    INBOX_ENTRY = "entry"
    ATTENTION = "attn"
    ATTENTION_STEP = "astep"
    REPORT = "report"
    CONSULTATION = "consult"
    EXCHANGE = "exchange"
    CONSULTATION_USE = "use"
    LOOP = "loop"


_PREFIXES = frozenset(prefix.value for prefix in Prefix)


def new_id() -> UUID:
    return uuid_utils.uuid7()


def to_global(prefix: Prefix, value: UUID) -> str:
    return f"{prefix}_{value.hex}"


def parse_global(text: str, *, path: str = "id") -> tuple[Prefix, UUID]:
    """Split a global id into its kind and key; raises InvalidInput for anything else."""
    head, _, tail = text.rpartition("_")
    if head not in _PREFIXES:
        raise InvalidInput.of(path, f"'{text[:80]}' is not an id; take it from the field `id`, such as agent_0190…")
    try:
        if len(tail) != 32:
            raise ValueError
        return Prefix(head), UUID(hex=tail)
    except ValueError:
        raise InvalidInput.of(path, f"'{text[:80]}' is not an id; expected {head}_ and 32 hexadecimal digits") from None


def from_global(prefix: Prefix, text: str, *, path: str = "id") -> UUID:
    """The key behind a global id of one kind; raises InvalidInput when it is of another."""
    if text.rpartition("_")[0] not in _PREFIXES:
        slug = " Look it up by its slug: agent(slug:)." if prefix is Prefix.AGENT else ""
        raise InvalidInput.of(path, f"'{text[:80]}' is not an id; expected {prefix}_….{slug}")
    found, value = parse_global(text, path=path)
    if found is not prefix:
        raise InvalidInput.of(path, f"'{text[:80]}' is the id of a {found.name.lower()}; expected {prefix}_…")
    return value
