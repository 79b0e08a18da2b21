"""Shows a person what is being done while it is done, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

WORTH_SAYING_S = 1.0


class Steps:
    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def step(self, doing: str, done: str, *, others_write: bool = False) -> Iterator[None]:
        """A spinner on a terminal, a line elsewhere and where `others_write` too; `done` stays on the screen."""
        started = time.monotonic()
        if self.console.is_terminal and not others_write:
            with self.console.status(f"{doing} …"):
                yield
        else:
            self.console.print(f"{doing} …", highlight=False)
            yield
        took = time.monotonic() - started
        note = f" [dim]({took:.1f} s)[/dim]" if took >= WORTH_SAYING_S else ""
        self.console.print(f"[green]✓[/green] {done}{note}", highlight=False)
