"""`parley export`: prints what happened as documents for other programs."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from app.cli.work import TeamOption, find_team, run_in_transaction
from app.collaborations.record import read_session, read_task
from app.collaborations.trace import session_trace, task_trace
from app.errors import InvalidInput
from app.ids import Prefix, parse_global

app = typer.Typer(help="Print what happened as documents for other programs.")


@app.callback()
def family() -> None:
    """Print what happened as documents for other programs."""


@app.command()
def session(
    id: Annotated[
        str, typer.Argument(help="A collaboration session (collab_…), or a task (task_…) as one of its own.")
    ],
    team: TeamOption = None,
) -> None:
    """Print a session as a MultiAgentSession document, JSON by docs/multi-agent-session.schema.json."""
    kind, key = parse_global(id)

    async def work(opened: AsyncSession) -> dict[str, Any]:
        found = await find_team(opened, team)
        if kind is Prefix.COLLABORATION:
            return session_trace(await read_session(opened, team_id=found.id, collaboration_id=key))
        if kind is Prefix.TASK:
            return task_trace(await read_task(opened, team_id=found.id, task_id=key))
        raise InvalidInput.of("id", "must be that of a collaboration session or of a task")

    typer.echo(json.dumps(run_in_transaction(work), ensure_ascii=False, indent=2))
