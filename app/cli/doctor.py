"""`parley doctor`: looks at everything Parley stands on and says how to mend what is wrong."""

from __future__ import annotations

import asyncio

import typer
from rich.console import Console
from rich.markup import escape

from app.cli.checkup import Finding, database_findings, redis_findings
from app.cli.connection import reachable_settings


def command() -> None:
    """Say what is wrong with this installation and how to mend it. Exit code 1 when anything is."""
    settings = reachable_settings()
    console = Console(highlight=False, soft_wrap=True)
    findings = asyncio.run(_examine(settings.database_url, settings.redis_url))
    for finding in findings:
        mark, colour = ("ok     ", "green") if finding.mend is None else ("problem", "red")
        console.print(f"[{colour}]{mark}[/{colour}]  {escape(finding.subject):<11} {escape(finding.found)}")
        if finding.mend is not None:
            console.print(f"                     → {escape(finding.mend)}")
    if any(finding.mend is not None for finding in findings):
        raise typer.Exit(1)


async def _examine(database_url: str | None, redis_url: str | None) -> list[Finding]:
    return [*await database_findings(database_url), *await redis_findings(redis_url)]
