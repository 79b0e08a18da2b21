"""Builders of team files' tests."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.db.transaction import Transactions
from app.errors import InvalidInput
from app.events.log import Actor
from app.team_files import service
from app.team_files.export import export
from app.team_files.parse import parse
from app.team_files.result import TeamFileResult
from app.teams.models import Team

Apply = Callable[..., Awaitable[TeamFileResult]]
Export = Callable[[], Awaitable[str]]
Complaints = Callable[[str], list[tuple[int, str, str]]]

PAIR = """\
name: Writers
default_agent: writer
context_variables: {min_words: 800, strict: true}
runtime_variables: {word_count: number}
agents:
  - name: writer
    role: Writes
    skills: [{name: Drafting, description: Writes first drafts}]
  - name: reviewer
    type: reviewer
handoffs:
  - {from_agent: writer, to_agent: reviewer, condition: "word_count >= {{ min_words }}"}
"""


@pytest.fixture
def pair() -> str:
    """A file of two agents and one rule."""
    return PAIR


@pytest.fixture
def apply_file(transaction: Transactions, team: Team, actor: Actor) -> Apply:
    async def apply(text: str, **options: Any) -> TeamFileResult:
        async with transaction() as session:
            return await service.apply(session, team_id=team.id, text=text, actor=actor, **options)

    return apply


@pytest.fixture
def export_file(transaction: Transactions, team: Team) -> Export:
    async def write() -> str:
        async with transaction() as session:
            return await export(session, team_id=team.id)

    return write


@pytest.fixture
def complaints() -> Complaints:
    """Line, path and message of all that is wrong with a text."""

    def read(text: str) -> list[tuple[int, str, str]]:
        try:
            parse(text)
        except InvalidInput as error:
            return [(problem["line"], problem["path"], problem["message"]) for problem in error.problems]
        return []

    return read


@pytest.fixture
def flow_yaml() -> Callable[[Any], str]:
    """Plain values as one line of YAML, every text quoted and escaped: independent of how we export."""

    def write(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{write(key)}: {write(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(write, value)) + "]"
        if isinstance(value, str):
            return '"' + "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08X}" for c in value) + '"'
        return json.dumps(value)

    return write
