"""`parley schema`."""

from __future__ import annotations

from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from app.errors import Conflict
from graphql_schema.sdl import schema_text

MOST_LINES_SHOWN = 40

app = typer.Typer(help="Export the GraphQL schema.")


@app.callback()
def schema() -> None:
    """Export the GraphQL schema."""


@app.command()
def export(
    output: Annotated[Path, typer.Option(help="The file to write; - prints it.")] = Path("schema.graphql"),
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 when the file is stale.")] = False,
) -> None:
    """Write the schema in GraphQL's own language, in alphabetical order."""
    text = schema_text()
    if str(output) == "-":
        typer.echo(text, nl=False)
    elif check:
        _compare(output, text)
    else:
        output.write_text(text, encoding="utf-8")
        typer.echo(f"Wrote {output}.")


def _compare(file: Path, text: str) -> None:
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if before == text:
        typer.echo(f"{file} is up to date.")
        return
    difference = unified_diff(before.splitlines(), text.splitlines(), str(file), "the code", lineterm="", n=1)
    typer.echo("\n".join(islice(difference, MOST_LINES_SHOWN)), err=True)
    raise Conflict(f"{file} is stale. Run: make schema")
