"""`parley settings`: the table of all settings, for people on a terminal and as the page `docs/settings.md`."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any

import typer
from pydantic_core import PydanticUndefined
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.config import Settings, environment_name, load_settings

SECRET = ("database_url", "redis_url", "demo_key")


def command(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/settings.md instead.")] = False,
) -> None:
    """List every setting with its value and where it comes from. Passwords are hidden."""
    if markdown:
        typer.echo(page(), nl=False)
        return
    current = load_settings()
    table = Table("Variable", "Value", "Meaning", box=None, pad_edge=False)
    for field, about in Settings.model_fields.items():
        name = environment_name(field)
        value = _shown(field, getattr(current, field))
        colour = "green" if name in os.environ else "dim"
        table.add_row(f"[bold]{name}[/bold]", f"[{colour}]{escape(value)}[/{colour}]", escape(about.description or ""))
    console = Console()
    console.print(table)
    console.print("\n[green]green[/green]: set in the environment; [dim]dim[/dim]: the default")


def page() -> str:
    lines = [
        "# Settings",
        "",
        "Every setting is an environment variable. A wrong one stops the start and names itself. `parley settings`",
        "shows the values in force. This page is made from the code by `make schema`; a test fails when it is stale.",
        "",
        "| Variable | Default | Meaning |",
        "|---|---|---|",
    ]
    for field, about in Settings.model_fields.items():
        default = "unset" if about.default in (None, PydanticUndefined) else f"`{_plain(about.default)}`"
        lines.append(f"| `{environment_name(field)}` | {default} | {about.description} |")
    return "\n".join(lines) + "\n"


def _shown(field: str, value: Any) -> str:
    if value is None:
        return "unset"
    if field == "demo_key":
        return "(hidden)"
    return re.sub(r"://([^:/@]*):[^@]*@", r"://\1:(hidden)@", _plain(value)) if field in SECRET else _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.model_dump_json() if hasattr(value, "model_dump_json") else value)
