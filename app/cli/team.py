"""`parley team`: applies team files and exports teams as such."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import SLUG_PATTERN
from app.cli.work import OPERATOR, TeamOption, find_team, run_in_transaction
from app.contracts import service as contracts
from app.errors import InvalidInput, NotFound
from app.handoffs.spec import HandoffRuleSpec
from app.team_files import service as team_files
from app.team_files.export import export as export_team
from app.team_files.result import TeamFileResult
from app.teams import service as teams
from app.teams.models import MAX_SLUG, Team

app = typer.Typer(help="Apply a team file, or export a team as one.")


@app.command()
def apply(
    file: Annotated[Path, typer.Argument(help="The team file; - reads it from standard input.", allow_dash=True)],
    team: TeamOption = None,
    create: Annotated[bool, typer.Option("--create", help="Make the team if there is none of that slug.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change and change nothing.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Archive the agents that the file does not name.")] = False,
) -> None:
    """Bring a team to what its file says. Applying the same file again changes nothing."""
    text = _text_of(file)

    async def work(session: AsyncSession) -> tuple[str, TeamFileResult]:
        found = await _found_or_made(session, team, create=create)
        slug = found.slug
        result = await team_files.apply(
            session, team_id=found.id, text=text, actor=OPERATOR, prune=prune, dry_run=dry_run
        )
        if dry_run:  # the team itself may have been made for it
            await session.rollback()
        return slug, result

    try:
        slug, result = run_in_transaction(work)
    except InvalidInput as error:
        _show_problems(file, error)
        raise typer.Exit(1) from None
    console = Console(highlight=False, soft_wrap=True)
    for line in summary(slug, result, dry_run=dry_run):
        console.print(line)


@app.command()
def export(team: TeamOption = None) -> None:
    """Print a team as a team file that, applied to it, changes nothing."""

    async def work(session: AsyncSession) -> str:
        return await export_team(session, team_id=(await find_team(session, team)).id)

    typer.echo(run_in_transaction(work), nl=False)


def summary(slug: str, result: TeamFileResult, *, dry_run: bool) -> Iterator[str]:
    for agent in result.created:
        yield f"[green]+ agent {agent}[/green]"
    for agent in result.updated:
        yield f"[yellow]~ agent {agent}[/yellow]: {', '.join(result.changed_fields[agent])}"
    for agent in result.archived:
        yield f"[red]- agent {agent}[/red] (archived)"
    for field in result.changed_team_fields:
        yield f"[yellow]~ team[/yellow]: {field}"
    for sign, colour, rules in (
        ("+", "green", result.rule_changes.added),
        ("-", "red", result.rule_changes.removed),
        ("~", "yellow", result.rule_changes.reprioritised),
    ):
        yield from (f"[{colour}]{sign} handoff[/{colour}] {_told(rule)}" for rule in rules)
    state = "would change" if dry_run else "is up to date now"
    yield f"Team {slug} {state}." if result.changed else f"Team {slug} is up to date; nothing to change."


def _told(rule: HandoffRuleSpec) -> str:
    return escape(f"{rule.from_agent} → {rule.target} when {rule.condition} (priority {rule.priority})")


def _text_of(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(f"Cannot read {file}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text (byte {error.start}).") from None


def _show_problems(file: Path, error: InvalidInput) -> None:
    """As compilers do, so that editors find the place."""
    for problem in error.problems:
        place = f"{file}:{problem['line']}" if problem["line"] else str(file)
        typer.echo(f"{place}: {problem['path']}: {problem['message']}", err=True)
    if not error.problems:
        typer.echo(error.message, err=True)


async def _found_or_made(session: AsyncSession, slug: str | None, *, create: bool) -> Team:
    """An installation's first team is made without being asked for; later, a slip of the pen must not make one."""
    first = not await session.scalar(select(exists().where(Team.id.is_not(None))))
    if slug is None or not (create or first):
        return await find_team(session, slug)
    if len(slug) > MAX_SLUG or not re.fullmatch(SLUG_PATTERN, slug):
        raise InvalidInput.of("--team", "may hold only lower-case letters, digits and inner hyphens, 63 at most")
    team = await teams.create(session, slug=slug, name=slug, actor=OPERATOR)
    await contracts.add_built_in(session, team_id=team.id)
    return team
