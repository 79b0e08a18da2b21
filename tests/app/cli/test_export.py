"""`parley export session` prints a session, or one agent's run, as one document."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from jsonschema import Draft202012Validator
from sqlalchemy import select

from app.clock import now
from app.config import Flags, load_settings
from app.db.engine import Database
from app.db.transaction import AfterCommit, Transactions
from app.events import partitions
from app.ids import Prefix, to_global
from app.teams.models import Team
from tests.app.cli.conftest import Answer
from tests.fixtures.desk import Desk
from tests.fixtures.sessions import Sessions

T = TypeVar("T")
SCHEMA = json.loads(Path("docs/multi-agent-session.schema.json").read_text())


async def _session_and_task(desk: Desk) -> tuple[str, str]:
    sessions = Sessions(desk)
    made = await sessions.start("delegation", "worker:luke")
    task = await sessions.answer("luke", "Found it.")
    return to_global(Prefix.COLLABORATION, made.id), to_global(Prefix.TASK, task.id)


async def _on_a_desk(url: str, do: Callable[[Desk], Awaitable[T]]) -> T:
    async def dispatch(pending: AfterCommit) -> None:
        """Nobody listens."""

    settings = load_settings(DATABASE_URL=url, flags=Flags(collaboration=True))
    database = Database(settings)
    transaction = Transactions(database, dispatch)
    async with transaction() as session:
        await partitions.ensure(session, now())
        team = (await session.scalars(select(Team))).one()
    found = await do(Desk(transaction, settings, team.id))
    await database.close()
    return found


def test_a_session_and_a_task_are_printed_by_the_schema(
    parley_on_database: Callable[..., Answer], database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "team.yaml"
    file.write_text("version: 1\nname: Writers\nagents:\n  - name: Ada\n")
    parley_on_database("team", "apply", str(file), "--team", "writers", "--create")
    session, task = asyncio.run(_on_a_desk(database_url, _session_and_task))

    documents = [json.loads(parley_on_database("export", "session", one).out) for one in (session, task)]
    refused = parley_on_database("export", "session", "agent_" + "0" * 32)
    missing = parley_on_database("export", "session", "collab_" + "0" * 32)

    for document in documents:
        Draft202012Validator(SCHEMA).validate(document)
    assert [one["session_id"] for one in documents] == [session, task]
    assert [one["output"] for one in documents] == ["Found it.", "Found it."]
    assert (refused.code, missing.code) == (1, 1)
    assert "There is no such collaboration session" in missing.err
