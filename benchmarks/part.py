"""The interface of a benchmark part: its name, what it needs, how it measures and how its figures are printed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.testbed import Testbed

Figures = dict[str, Any]
OpenTestbed = Callable[[], AbstractContextManager[Testbed]]


class Depth(StrEnum):
    """How long a run may take: QUICK shows that a part works, NORMAL how fast, FULL that memory stays flat."""

    QUICK = "quick"
    NORMAL = "normal"
    FULL = "full"


@dataclass(frozen=True)
class Need:
    """A program that may be missing on this machine. `missing` returns the reason, or None if it is here."""

    name: str
    missing: Callable[[], str | None]


@dataclass(frozen=True)
class Part:
    """One benchmark. Without `needs` it is left out; without `options` it runs with fewer contenders.

    `measure` returns figures that fit into JSON; a part that needs Postgres or servers opens a testbed, which has a
    database of its own and stops everything that was started in it. `table` gets the figures as JSON returns them.
    """

    name: str
    measure: Callable[[OpenTestbed, Depth], Figures]
    table: Callable[[Figures], str]
    needs: tuple[Need, ...] = ()
    options: tuple[Need, ...] = ()
