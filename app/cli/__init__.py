"""The `parley` command. Each command is a module beside this one, imported only when it is called: `command` is a
single one, `app` a family of them."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from app.errors import AppError, ConfigurationError, InvalidInput

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
# name: its line in `parley --help`. The line stands here because importing all commands takes two seconds.
COMMANDS = {
    "dev": "Run everything on this machine: database, Redis, API and worker.",
    "serve": "Run the API.",
    "worker": "Run a worker, which executes the tasks.",
    "queue": "List what waits, what runs and what failed last.",
    "migrate": "Bring the database up to date.",
    "keys": "Create, list and revoke API keys.",
    "team": "Apply a team file, or export a team as one.",
    "export": "Print what happened as documents for other programs.",
    "schema": "Export the GraphQL schema.",
    "settings": "List every setting with its value and where it comes from.",
    "doctor": "Say what is wrong with this installation and how to mend it.",
}


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    try:
        build(given)(given, prog_name="parley")
    except AppError as error:
        complain(error)
        sys.exit(MISUSED if isinstance(error, ConfigurationError) else FAILED)
    except PermissionError as error:
        complain(AppError(f"No permission for {error.filename}."))
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def build(arguments: list[str]) -> typer.Typer:
    """The command tree with the called command in full and the others as their line of help."""
    root = typer.Typer(
        help="Parley: a self-hosted GraphQL server through which teams of AI agents work together.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(_root)
    for name, line in COMMANDS.items():
        if arguments[:1] == [name]:
            module = _imported(f"app.cli.{name}")
            if hasattr(module, "app"):
                root.add_typer(module.app, name=name, no_args_is_help=True)
            else:
                root.command(name)(module.command)
        else:
            root.command(name, help=line)(_not_called)
    return root


def _imported(name: str) -> ModuleType:
    """What importing makes stays, so nothing is gained by looking for garbage meanwhile: a tenth of the time."""
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.enable()


def complain(error: AppError) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[red]{escape(error.message)}[/red]")
    problems = error.problems if isinstance(error, InvalidInput) and len(error.problems) > 1 else []
    for problem in problems:
        place = f"line {problem['line']}, " if problem["line"] else ""
        console.print("  " + escape(f"{place}{problem['path']}: {problem['message']}"))


def _not_called() -> None:
    raise AssertionError


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"parley {version('parley')}")
        raise typer.Exit


def _root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass
